"""Machines of any convex loss: Σ w ℓ(y, f + b) + λ‖f‖², from coefficients and offset alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tests.audit.claim import SLACK, Case, Claim, audits, rounding
from tests.audit.exact import EPS, exact, kernel_matrix, largest, norm, product
from tests.audit.margins import class_factors


def _columns(values: Any) -> np.ndarray:
    values = exact(values)
    return values[:, None] if values.ndim == 1 else values


# ---------------------------------------------------------------- squared error
@audits("KernelRidge", "KernelRidgeClassifier", "MetricRidge", "MetricRidgeClassifier")
def audit_ridge(case: Case) -> Iterator[Claim]:
    """(K + λ/w) α + b = y on the rows that count, and Σα = 0 if there is an offset."""
    model, weight, y = case.model, exact(case.weight), np.asarray(case.y)
    if hasattr(model, "classes_"):
        weight = weight * class_factors(model, y, case.weight)
        y = _signs(model.classes_, y)
    used = weight > 0
    alpha, Y = _columns(model.dual_coef_), _columns(y)
    yield Claim("rows without weight", largest(alpha[~used]), 0.0)
    alpha, Y = alpha[used], Y[used]
    K = kernel_matrix(model.kernel_, case.X, case.X)[np.ix_(used, used)]
    ridge = exact(model.lam_) / weight[used]
    residual = Y - exact(model.intercept_) - K @ alpha - ridge[:, None] * alpha
    # a kernel value is known to float64 only, and so is what it is summed to
    terms = np.abs(K) @ np.abs(alpha) + np.abs(exact(model.intercept_))
    allowed = SLACK * case.tolerance * norm(Y) + rounding(norm(terms))
    yield Claim("residual", norm(residual), allowed)
    if model.fit_intercept:
        unit = (np.abs(np.diagonal(K)) + ridge).mean()
        sums = largest(alpha.sum(axis=0))
        noise = rounding(largest(np.abs(alpha).sum(axis=0)))
        yield Claim("balance", unit * sums, SLACK * case.tolerance * norm(Y) + unit * noise)


def _signs(classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ±1 for each class against the rest; of two classes one column."""
    columns = [np.where(y == label, 1.0, -1.0) for label in classes]
    return np.column_stack(columns[1:] if len(classes) == 2 else columns)


# ---------------------------------------------------------------- losses of one number
class Loss(NamedTuple):
    """ℓ(y, f), its slope where it has one, and its conjugate ℓ*(v) with where that is finite."""

    value: Callable[[Any, Any], Any]
    slope: Callable[[Any, Any], Any] | None
    conjugate: Callable[[Any, Any], Any]
    domain: Callable[[Any], tuple[Any, Any]]


def _entropy(p: Any) -> Any:
    """Return p log p, 0 at 0."""
    return np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0)


def _logistic_value(y: Any, f: Any) -> Any:
    m = y * f
    return np.maximum(-m, 0.0) + np.log1p(np.exp(-np.abs(m)))


def _logistic_slope(y: Any, f: Any) -> Any:
    m = y * f
    tail = np.exp(-np.abs(m))
    return -y * np.where(m > 0, tail / (1 + tail), 1 / (1 + tail))


def _huber_value(y: Any, f: Any) -> Any:
    r = np.abs(y - f)
    return np.where(r <= 1, r * r, 2 * r - 1)


def _between(low: float, high: float) -> Callable[[Any], tuple[Any, Any]]:
    return lambda y: (np.full(len(y), low), np.full(len(y), high))


def _by_sign(y: Any) -> tuple[Any, Any]:
    return np.where(y > 0, -1.0, 0.0), np.where(y > 0, 0.0, 1.0)


LOSSES = {
    "squared": Loss(
        lambda y, f: (y - f) ** 2,
        lambda y, f: -2 * (y - f),
        lambda y, v: v * y + v * v / 4,
        _between(-np.inf, np.inf),
    ),
    "huber": Loss(
        _huber_value,
        lambda y, f: -2 * np.clip(y - f, -1, 1),
        lambda y, v: v * y + v * v / 4,
        _between(-2.0, 2.0),
    ),
    "logistic": Loss(
        _logistic_value,
        _logistic_slope,
        lambda y, v: _entropy(-y * v) + _entropy(1 + y * v),
        _by_sign,
    ),
    "hinge": Loss(lambda y, f: np.maximum(0.0, 1 - y * f), None, lambda y, v: v * y, _by_sign),
    "absolute": Loss(lambda y, f: np.abs(y - f), None, lambda y, v: v * y, _between(-1.0, 1.0)),
    "quantile": Loss(lambda y, f: np.abs(y - f) / 2, None, lambda y, v: v * y, _between(-0.5, 0.5)),
}


def _one_output(case: Case, name: str, y: Any, alpha: Any, b: Any, weight: Any) -> Iterator[Claim]:
    """Fenchel's duality: a dual point U near −2λα, or the slopes, leaves a gap that is small.

    gap = Σ w[ℓ(g) + ℓ*(u/w)] − ug + λ(α + U/2λ)ᵀK(α + U/2λ), and Σu = 0 if there is an offset.
    """
    loss, used, lam = LOSSES[name], weight > 0, exact(case.model.lam)
    K = kernel_matrix(case.model.kernel_, case.X, case.X)[np.ix_(used, used)]
    a, w, t = alpha[used], weight[used], exact(y)[used]
    g = K @ a + b
    primal = (w * loss.value(t, g)).sum() + lam * (a @ (g - b))
    scale = abs(primal) + 4 * EPS / case.tolerance * np.abs(2 * lam * a * g).sum()
    starts = [-2 * lam * a] + ([w * loss.slope(t, g)] if loss.slope else [])
    low, high = (w * side for side in loss.domain(t))
    gaps = []
    for start in starts:
        u = _feasible(start, low, high, case.model.fit_intercept)
        delta = a + u / (2 * lam)
        young = w * (loss.value(t, g) + loss.conjugate(t, u / w)) - u * g
        gaps.append(young.sum() + lam * (delta @ K @ delta))
    yield Claim(f"gap, {name}", min(gaps), SLACK * case.tolerance * scale + rounding(scale))


def _feasible(u: Any, low: Any, high: Any, balanced: bool) -> Any:
    """Return u inside its bounds; with the sum 0, the side that is too large is scaled down."""
    u = np.clip(u, low, high)
    up, down = np.maximum(u, 0).sum(), np.maximum(-u, 0).sum()
    if not balanced or up == down:
        return u
    if min(up, down) == 0:
        return np.zeros_like(u)
    return np.where(u > 0, u * min(1, down / up), u * min(1, up / down))


def _spread(model: Any, n: int) -> np.ndarray:
    columns = _columns(model.dual_coef_)
    alpha = np.zeros((n, columns.shape[1]), dtype=np.longdouble)
    alpha[model.support_] = columns
    return alpha


@audits("KernelMachine")
def audit_machine(case: Case) -> Iterator[Claim]:
    model, weight = case.model, exact(case.weight)
    alpha, b = _spread(model, len(weight)), np.atleast_1d(exact(model.intercept_))
    Y = _signs(model.classes_, np.asarray(case.y)) if hasattr(model, "classes_") else case.y
    for y, a, offset in zip(_columns(Y).T, alpha.T, b, strict=True):
        yield from _one_output(case, model.loss, y, a, offset, weight)


@audits("KernelLogistic")
def audit_logistic(case: Case) -> Iterator[Claim]:
    model, y = case.model, np.asarray(case.y)
    weight = exact(case.weight) * class_factors(model, y, case.weight)
    alpha, b = _spread(model, len(y)), np.atleast_1d(exact(model.intercept_))
    if len(model.classes_) == 2:
        sign = np.where(y == model.classes_[1], 1.0, -1.0)
        yield from _one_output(case, "logistic", sign, alpha[:, 0], b[0], weight)
    else:
        yield from _softmax_claims(case, y, alpha, b, weight)


def _softmax_claims(case: Case, y: Any, alpha: Any, b: Any, weight: Any) -> Iterator[Claim]:
    """The same of several classes: u = w (p − 1[y = c])."""
    used, lam = weight > 0, exact(case.model.lam)
    K = kernel_matrix(case.model.kernel_, case.X, case.X)[np.ix_(used, used)]
    a, w = alpha[used], weight[used, None]
    G = product(K, a) + b
    P = np.exp(G - G.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    hit = y[used, None] == case.model.classes_[None, :]
    U = w * (P - hit)
    primal = -(w * np.where(hit, np.log(P), 0.0)).sum() + lam * (a * (K @ a)).sum()
    scale = primal + 4 * EPS / case.tolerance * np.abs(U * G).sum()
    q = np.clip(hit - 2 * lam * a / w, 0.0, 1.0)  # the dual point −2λα as probabilities
    young = w[:, 0] * (-np.where(hit, np.log(P), 0.0).sum(axis=1))
    by_alpha = (young + w[:, 0] * _entropy(q).sum(axis=1) - (w * (q - hit) * G).sum(axis=1)).sum()
    delta = a + U / (2 * lam)
    gap = min(by_alpha, lam * (delta * (K @ delta)).sum())
    yield Claim("gap, softmax", gap, SLACK * case.tolerance * scale + rounding(scale))
    if case.model.fit_intercept:
        allowed = 2 * w.sum() * SLACK * case.tolerance * scale + rounding(np.abs(U).sum()) ** 2
        yield Claim("slope in b, softmax", largest(U.sum(axis=0)) ** 2, allowed)
