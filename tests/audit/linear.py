"""Linear models: what their equations, gaps and gradients are off by, from w and b alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from tests.audit.claim import SLACK, Case, Claim, audits, rounding
from tests.audit.exact import EPS, exact, largest, norm
from tests.audit.margins import class_factors

PROGRAM = 1e-6  # what a linear program in float64 may be off by, relative


class Rows(NamedTuple):
    """The rows that count, about their weighted mean if there is an intercept."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray
    mean: np.ndarray
    r: np.ndarray  # y − Xc − b
    noise: np.ndarray  # what rounding leaves in each residual

    @property
    def centered(self) -> np.ndarray:
        return self.X - self.mean


def rows_of(case: Case) -> Rows:
    """Return rows, weights and residuals."""
    used, model = case.weight > 0, case.model
    X, y, w = exact(case.X)[used], exact(case.y)[used], exact(case.weight)[used]
    mean = (w @ X) / w.sum() if model.fit_intercept else np.zeros(X.shape[1])
    coef, b = exact(model.coef_), exact(model.intercept_)
    noise = rounding(np.abs(X) @ np.abs(coef) + np.abs(y) + np.abs(b))
    return Rows(X, y, w, exact(mean), y - X @ coef - b, noise)


@audits("LinearRegression")
def audit_linear(case: Case) -> Iterator[Claim]:
    rows, norm_name = rows_of(case), case.model.norm
    if case.model.positive:
        yield from _positive_slopes(case, rows, exact(0))
    elif norm_name == "l2":
        yield from _right_angles(case, rows)
    elif norm_name == "l1":
        yield from _least_by_program(case, rows, 0.0)
    else:
        yield from _least_largest(case, rows)


def _right_angles(case: Case, rows: Rows) -> Iterator[Claim]:
    """The residual is at right angles to every column, up to the rounding of its terms."""
    length = np.sqrt(rows.w @ rows.r**2)
    blur = np.sqrt(rows.w @ rows.noise**2)
    for j, column in enumerate(rows.centered.T):
        size = np.sqrt(rows.w @ column**2)
        terms = rounding(np.sqrt(rows.w @ rows.X[:, j] ** 2)) * length
        allowed = SLACK * case.tolerance * size * length + size * blur + terms
        yield Claim(f"right angle to column {j}", abs((rows.w * rows.r) @ column), allowed)
    if case.model.fit_intercept:
        yield Claim("mean residual", abs(rows.w @ rows.r), rows.w @ rows.noise)


def _scaled(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and targets of size one, in float64, for a linear program."""
    A = rows.centered
    A = A / np.maximum(np.abs(A).max(axis=0), np.finfo(np.longdouble).tiny)
    return A.astype(np.float64), (rows.y / max(largest(rows.y), 1e-4000)).astype(np.float64)


def _least_by_program(case: Case, rows: Rows, a: float) -> Iterator[Claim]:
    """Σ w max(0, |r| − a) is no larger than what HiGHS finds for the same program."""
    value = rows.w @ np.maximum(np.abs(rows.r) - exact(a), 0.0)
    A, y = _scaled(rows)
    unit, n, free = largest(rows.y), len(y), int(case.model.fit_intercept)
    w = (rows.w / rows.w.max()).astype(np.float64)
    columns = np.hstack([A, np.ones((n, free))])
    eye = np.eye(n)
    tube = float(exact(a) / unit) if unit > 0 else 0.0
    found = linprog(
        np.concatenate([np.zeros(columns.shape[1]), w]),
        np.vstack([np.hstack([columns, -eye]), np.hstack([-columns, -eye])]),
        np.concatenate([y + tube, tube - y]),
        bounds=[(None, None)] * columns.shape[1] + [(0, None)] * n,
    )
    if found.status == 0:
        least = exact(found.fun) * unit * rows.w.max()
        slack = PROGRAM * unit * rows.w.sum() + rows.w @ rows.noise
        yield Claim("least sum", value, least * (1 + PROGRAM) + slack)


def _least_largest(case: Case, rows: Rows) -> Iterator[Claim]:
    """max |r| is no larger than what HiGHS finds."""
    A, y = _scaled(rows)
    free, n = int(case.model.fit_intercept), len(y)
    columns, one = np.hstack([A, np.ones((n, free))]), np.ones((n, 1))
    found = linprog(
        np.concatenate([np.zeros(columns.shape[1]), [1.0]]),
        np.vstack([np.hstack([columns, -one]), np.hstack([-columns, -one])]),
        np.concatenate([y, -y]),
        bounds=[(None, None)] * columns.shape[1] + [(0, None)],
    )
    if found.status == 0:
        least = exact(found.fun) * largest(rows.y)
        slack = PROGRAM * largest(rows.y) + rows.noise.max()
        yield Claim("least largest", largest(rows.r), least * (1 + PROGRAM) + slack)


@audits("PenaltyRegression")
def audit_penalty(case: Case) -> Iterator[Claim]:
    rows, name = rows_of(case), case.model.penalty
    if name == "dead_zone":
        yield from _least_by_program(case, rows, 1.0)
        return
    inside = np.abs(rows.r) <= 1.0
    outside = np.sign(rows.r) if name == "huber" else np.zeros(len(rows.r))
    u = rows.w * 2 * np.where(inside, rows.r, outside)
    # on the edge of the bend a rounding of r decides between two slopes
    unsure = rows.w * np.where(np.abs(np.abs(rows.r) - 1) <= rows.noise, 2.0, 0.0)
    blur = 2 * rows.w @ rows.noise + unsure.sum()
    allowed = SLACK * case.tolerance * np.abs(u).sum() + blur
    for j, column in enumerate(rows.centered.T):
        size = largest(column) + rounding(largest(rows.X[:, j]))
        yield Claim(f"gradient of column {j}", abs(u @ column), allowed * size)
    if case.model.fit_intercept:
        yield Claim("gradient of the offset", abs(u.sum()), allowed)


@audits("Ridge")
def audit_ridge(case: Case) -> Iterator[Claim]:
    """Xᵀ W (y − Xc − b) = λ c, relative to Xᵀ W y."""
    rows, coef = rows_of(case), exact(case.model.coef_)
    if case.model.positive:
        yield from _positive_slopes(case, rows, exact(case.model.lam_))
        return
    A, wide = rows.centered, np.sqrt(rows.w)[:, None] * rows.X
    y = rows.y - ((rows.w @ rows.y) / rows.w.sum() if case.model.fit_intercept else 0)
    residual = A.T @ (rows.w * rows.r) - exact(case.model.lam_) * coef
    terms = norm(np.abs(A).T @ (rows.w * rows.noise))
    terms += rounding(norm(wide) * np.sqrt(rows.w @ rows.r**2))
    allowed = SLACK * case.tolerance * norm(A.T @ (rows.w * y)) + terms
    yield Claim("normal equations", norm(residual), allowed)


@audits("Lasso")
def audit_lasso(case: Case) -> Iterator[Claim]:
    """The residual, scaled into the dual, leaves a gap that is small beside the value at w = 0."""
    rows, coef, lam = rows_of(case), exact(case.model.coef_), exact(case.model.lam)
    total = rows.w.sum()
    y = rows.y - ((rows.w @ rows.y) / total if case.model.fit_intercept else 0)
    primal = (rows.w @ rows.r**2) / (2 * total) + lam * np.abs(coef).sum()
    # a correlation is known up to the rounding of the residuals
    blur = np.abs(rows.centered).T @ (rows.w * rows.noise)
    slopes = rows.centered.T @ (rows.w * rows.r)
    # of coefficients ≥ 0 a slope may be as far below 0 as it likes
    slopes = slopes if case.model.positive else np.abs(slopes)
    steepest = np.maximum(slopes - blur, 0).max() / total
    if case.model.positive:
        yield Claim("a coefficient below 0", -min(coef.min(), 0), 0.0)
    theta = rows.r * (min(1, lam / steepest) if steepest > 0 else 1)
    dual = (rows.w @ (y * theta)) / total - (rows.w @ theta**2) / (2 * total)
    start = (rows.w @ y**2) / (2 * total)
    terms = (rows.w @ (rows.noise * (np.abs(rows.r) + np.abs(y) + rows.noise))) / total
    terms += lam * rounding(np.abs(coef).sum())
    yield Claim("gap", primal - dual, SLACK * case.tolerance * start + 4 * terms)


@audits("LogisticRegression")
def audit_logistic(case: Case) -> Iterator[Claim]:
    """The gradient of the penalised likelihood is small beside that at 0, column by column."""
    model, y = case.model, np.asarray(case.y)
    if model.l1_ratio:
        yield from _gap_of_likelihood(case)
        return
    w = exact(case.weight) * class_factors(model, y, case.weight)
    used = w > 0
    X, y, w = exact(case.X)[used], y[used], w[used]
    coef, b = exact(model.coef_), exact(model.intercept_)
    G = X @ coef.T + b
    if len(model.classes_) == 2:
        sign = np.where(y == model.classes_[1], 1, -1)[:, None]
        U = w[:, None] * -sign / (1 + np.exp(np.clip(sign * G, -11000, 11000)))
        bend = w[:, None] * 0.25
        first = norm(w / 2)
    else:
        P = np.exp(G - G.max(axis=1, keepdims=True))
        hit = y[:, None] == model.classes_[None, :]
        U = w[:, None] * (P / P.sum(axis=1, keepdims=True) - hit)
        bend, first = w[:, None] * 0.5, norm(w[:, None] * (1 / exact(len(hit[0])) - hit))
    noise = bend * rounding(np.abs(X) @ np.abs(coef).T + np.abs(b)) + 4 * EPS * np.abs(U)
    mean = (w @ X) / w.sum() if model.fit_intercept else np.zeros(X.shape[1])
    A = X - mean
    gradient = A.T @ U + exact(model.lam) * coef.T
    for j in range(X.shape[1]):
        blur = largest(np.abs(A[:, j]) @ noise) + rounding(largest(X[:, j])) * np.abs(U).sum()
        blur += rounding(exact(model.lam) * largest(coef[:, j]))
        size = norm(A[:, j]) + np.sqrt(exact(model.lam))
        allowed = 4 * SLACK * case.tolerance * first * size + blur
        yield Claim(f"gradient of column {j}", largest(gradient[j]), allowed)
    if model.fit_intercept:
        allowed = 4 * SLACK * case.tolerance * first * np.sqrt(exact(len(X))) + noise.sum()
        yield Claim("gradient of the offset", largest(U.sum(axis=0)), allowed)


# ---------------------------------------------------------------- signs and kinks
def _positive_slopes(case: Case, rows: Rows, lam: Any) -> Iterator[Claim]:
    """Aᵀ W r − λc is 0 where c > 0, and not above 0 where c = 0, beside columns and residual."""
    coef = exact(case.model.coef_)
    yield Claim("a coefficient below 0", -min(coef.min(), 0), 0.0)
    residual = np.sqrt(rows.w @ rows.r**2 + lam * coef @ coef)
    blur = np.sqrt(rows.w @ rows.noise**2)
    for j, column in enumerate(rows.centered.T):
        slope = (rows.w * rows.r) @ column - lam * coef[j]
        size = np.sqrt(rows.w @ column**2 + lam)
        terms = rounding(np.sqrt(rows.w @ rows.X[:, j] ** 2)) * residual
        terms += rounding(lam * np.abs(coef[j]))
        allowed = SLACK * case.tolerance * size * residual + size * blur + terms
        yield Claim(f"slope of column {j}", abs(slope) if coef[j] > 0 else max(slope, 0), allowed)


@audits("ElasticNet")
def audit_elastic_net(case: Case) -> Iterator[Claim]:
    """The residual is a point of the dual: of ‖w‖₁ once it is shrunk, of ‖w‖² as it is."""
    rows, model, coef = rows_of(case), case.model, exact(case.model.coef_)
    total = rows.w.sum()
    l1, ridge = (exact(model.lam) * exact(share) for share in (model.l1_ratio, 1 - model.l1_ratio))
    y = rows.y - ((rows.w @ rows.y) / total if model.fit_intercept else 0)
    primal = (rows.w @ rows.r**2) / (2 * total) + l1 * np.abs(coef).sum() + ridge / 2 * coef @ coef
    blur = np.abs(rows.centered).T @ (rows.w * rows.noise) / total
    slopes = rows.centered.T @ (rows.w * rows.r) / total
    if ridge > 0:
        over = np.maximum((slopes if model.positive else np.abs(slopes)) - l1 - blur, 0)
        theta, conjugate = rows.r, (over**2).sum() / (2 * ridge)
    else:
        steepest = np.maximum((slopes if model.positive else np.abs(slopes)) - blur, 0).max()
        theta, conjugate = rows.r * (min(1, l1 / steepest) if steepest > 0 else 1), 0
    dual = (rows.w @ (y * theta)) / total - (rows.w @ theta**2) / (2 * total) - conjugate
    start = (rows.w @ y**2) / (2 * total)
    terms = (rows.w @ (rows.noise * (np.abs(rows.r) + np.abs(y) + rows.noise))) / total
    terms += l1 * rounding(np.abs(coef).sum()) + ridge * rounding(coef @ coef)
    yield Claim("gap", primal - dual, SLACK * case.tolerance * start + 4 * terms)


@audits("QuantileRegression")
def audit_quantile(case: Case) -> Iterator[Claim]:
    """The mean of max(qr, (q − 1)r) and λ‖w‖₁ are no larger than what HiGHS finds."""
    rows, model = rows_of(case), case.model
    q, lam, share = exact(model.q), exact(model.lam), rows.w / rows.w.sum()
    coef = np.abs(exact(model.coef_)).sum()
    value = share @ np.maximum(q * rows.r, (q - 1) * rows.r) + lam * coef
    scale = np.maximum(np.abs(rows.centered).max(axis=0), np.finfo(np.longdouble).tiny)
    A, y = _scaled(rows)
    (n, d), unit, free = A.shape, largest(rows.y), int(model.fit_intercept)
    weight, kinks = share.astype(np.float64), (lam / scale).astype(np.float64)
    if not np.isfinite(kinks).all():
        return
    found = linprog(
        np.concatenate([kinks, kinks, np.zeros(free), model.q * weight, (1 - model.q) * weight]),
        A_eq=np.hstack([A, -A, np.ones((n, free)), np.eye(n), -np.eye(n)]),
        b_eq=y,
        bounds=[(0, None)] * 2 * d + [(None, None)] * free + [(0, None)] * 2 * n,
    )
    if found.status == 0:
        slack = PROGRAM * unit + share @ rows.noise + rounding(lam * coef)
        yield Claim("least mean", value, exact(found.fun) * unit * (1 + PROGRAM) + slack)


def _gap_of_likelihood(case: Case) -> Iterator[Claim]:
    """The probabilities, balanced and drawn to the labels, are a point of the dual problem.

    Of p and the labels h, u = w(p − h) sums to 0 where there is an offset, and Xᵀu is a slope of
    the penalty: of λ‖W‖₁ once p is near enough to h. The dual value is −Σ w Σ p ln p, less what the
    square costs.
    """
    model, y = case.model, np.asarray(case.y)
    w = exact(case.weight) * class_factors(model, y, case.weight)
    X, y, w = exact(case.X)[w > 0], y[w > 0], w[w > 0]
    coef, b = exact(model.coef_).T, exact(np.atleast_1d(model.intercept_))
    if len(model.classes_) == 2:  # (0, f) are the scores of two classes
        coef, b = np.hstack([0 * coef, coef]), np.append(exact(0), b)
    hit = (y[:, None] == model.classes_[None, :]).astype(np.longdouble)
    G = X @ coef + b
    G -= G.max(axis=1, keepdims=True)
    P = np.exp(G) / np.exp(G).sum(axis=1, keepdims=True)
    noise = rounding(np.abs(X) @ np.abs(coef) + np.abs(b)).max(axis=1)
    own = exact(model.coef_)
    l1, ridge = (exact(model.lam) * exact(share) for share in (model.l1_ratio, 1 - model.l1_ratio))
    loss = np.log(np.exp(G).sum(axis=1)) - (hit * G).sum(axis=1)
    primal = w @ loss + l1 * np.abs(own).sum() + ridge / 2 * (own**2).sum()
    if model.fit_intercept:
        P = _balanced(P, hit, w)
    A = X - (w @ X) / w.sum() if model.fit_intercept else X
    blur = (np.abs(A).T @ (w * noise) + rounding(np.abs(X).T @ w))[:, None]
    slopes = A.T @ (w[:, None] * (P - hit))
    if len(model.classes_) == 2:
        slopes = slopes[:, 1:]
    steep = np.maximum(np.abs(slopes) - blur, 0)
    near = hit + (P - hit) * min(1, l1 / max(steep.max(), l1))
    dual = _entropy(near, w)
    if ridge > 0:  # the slopes may be steeper than λ: the better point counts
        cost = (np.maximum(steep - l1, 0) ** 2).sum() / (2 * ridge)
        dual = max(dual, _entropy(P, w) - cost)
    start = w.sum() * np.log(exact(len(model.classes_)))
    terms = w @ (noise * (1 + noise)) + rounding(start, l1 * np.abs(own).sum())
    yield Claim("probabilities", -min(P.min(), 0), 0.0)
    yield Claim("gap", primal - dual, SLACK * case.tolerance * start + 4 * terms)


def _entropy(P: np.ndarray, w: np.ndarray) -> Any:
    return -(w @ (P * np.log(np.where(P > 0, P, 1))).sum(axis=1))


def _balanced(P: np.ndarray, hit: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return probabilities with Σ w(p − h) = 0, changed as a shift of the scores changes them."""
    H = np.einsum("i,ic,cd->cd", w, P, np.eye(P.shape[1])) - np.einsum("i,ic,id->cd", w, P, P)
    missing = w @ (P - hit)
    shift = np.linalg.lstsq(H.astype(np.float64), missing.astype(np.float64), rcond=None)[0]
    return P - P * (shift - (P @ shift)[:, None])
