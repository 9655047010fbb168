"""Support vector machines: the duality gap and the bounds, from coefficients and offsets alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tests.audit.claim import SLACK, Case, Claim, audits, rounding
from tests.audit.exact import EPS, exact, kernel_matrix, largest, product


class Problem(NamedTuple):
    """min ½βᵀKβ − zᵀβ + ε‖β‖₁ with lo ≤ β ≤ hi and Σβ = total: one machine."""

    about: str
    K: np.ndarray
    beta: np.ndarray
    b: Any
    z: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    eps: float = 0.0
    total: Any = 0.0

    @property
    def rounding_of_bounds(self) -> Any:
        """What is no room: the sum of all coefficients is known no better."""
        bounds = np.abs(np.concatenate([self.lo, self.hi]))
        return 8 * EPS * bounds[np.isfinite(bounds)].sum()


def claims_of_margin(p: Problem, tolerance: float) -> Iterator[Claim]:
    """The gap of primal and dual is small beside both, no pair of points can be improved."""
    r = p.z - p.K @ p.beta - p.b
    slack = np.maximum(0.0, np.where(p.hi > 0, r - p.eps, 0.0))
    slack = np.maximum(slack, np.where(p.lo < 0, -r - p.eps, 0.0))
    cost = np.where(r > 0, p.hi, -p.lo)
    norm2 = p.beta @ (p.z - p.b - r)
    losses = np.where(slack > 0, np.where(np.isinf(cost), 0.0, cost) * slack, 0.0)
    sizes = np.abs(p.beta).sum()
    if (
        np.isinf(p.hi).any() or np.isinf(p.lo).any()
    ):  # a hard margin: scaled until there is no slack
        losses, norm2 = np.zeros(1), norm2 / max(1.0 - slack.max(initial=0.0), 1e-100) ** 2
    primal = 0.5 * norm2 + losses.sum() + p.b * p.total
    dual = p.z @ p.beta - p.eps * sizes - 0.5 * (p.beta @ (p.z - p.b - r))
    scale = max(abs(primal), abs(dual))
    allowed = SLACK * tolerance * scale + rounding(abs(p.b) * sizes)
    yield Claim(f"gap, {p.about}", abs(primal - dual), allowed)
    yield Claim(f"pair, {p.about}", _worst_pair(p, r), SLACK * tolerance + rounding(abs(p.b)))
    yield Claim(
        f"sum, {p.about}", abs(p.beta.sum() - p.total), len(p.z) * EPS * 64 * (sizes + p.total)
    )
    outside = max((p.lo - p.beta).max(), (p.beta - p.hi).max())
    yield Claim(f"box, {p.about}", outside, p.rounding_of_bounds)


def _worst_pair(p: Problem, r: np.ndarray) -> Any:
    """Return how much faster one coefficient wants to rise than another to fall."""
    up = r + np.where(p.beta >= 0, -p.eps, p.eps)
    down = r + np.where(p.beta > 0, -p.eps, p.eps)
    room = p.rounding_of_bounds
    rising, falling = up[p.beta < p.hi - room], down[p.beta > p.lo + room]
    if not len(rising) or not len(falling):
        return exact(0.0)
    return max(rising.max() - falling.min(), exact(0.0))


# ---------------------------------------------------------------- machines
def support_columns(model: Any, rows: np.ndarray, n: int) -> np.ndarray:
    """Return coefficients of the support vectors spread over all rows."""
    whole = np.zeros((len(rows), n), dtype=np.longdouble)
    whole[:, model.support_] = rows
    return whole


def class_factors(model: Any, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the factor of each row's class; balanced classes have the same sum of weights."""
    given = getattr(model, "class_weight", None)
    if given is None:
        return np.ones(len(y))
    totals = {label: exact(weight)[y == label].sum() for label in model.classes_}
    if given == "balanced":
        share = sum(totals.values()) / len(totals)
        given = {label: share / total for label, total in totals.items()}
    return exact([given.get(label, 1.0) for label in y.tolist()])


def pair_coefficients(model: Any) -> Iterator[tuple[Any, Any, np.ndarray]]:
    """Yield the two classes of each problem (None: all others) and its row of coefficients."""
    classes, rows = model.classes_, exact(model.dual_coef_)
    if len(classes) == 2:
        yield classes[1], classes[0], rows[0]
    elif model.multiclass == "ovr":
        yield from ((label, None, row) for label, row in zip(classes, rows, strict=True))
    else:  # LIBSVM's table: of a vector of class i the pair with j stands in row j − 1, or j
        owner = np.repeat(np.arange(len(classes)), model.n_support_)
        for i, j in combinations(range(len(classes)), 2):
            row = np.where(owner == i, rows[j - 1], 0) + np.where(owner == j, rows[i], 0)
            yield classes[i], classes[j], row


@audits("SVC")
def audit_classifier(case: Case) -> Iterator[Claim]:
    model, y = case.model, np.asarray(case.y)
    K = kernel_matrix(model.kernel_, case.X, case.X)
    weight = exact(case.weight)
    share = weight * class_factors(model, y, case.weight)
    C = exact(model.C if model.lam is None else 1 / (2 * exact(model.lam) * weight.sum()))
    bound = np.where(share > 0, C, 0.0) if np.isinf(C) else C * share
    for (plus, minus, row), b in zip(pair_coefficients(model), model.intercept_, strict=True):
        inside = (y == plus) | ((y == minus) if minus is not None else True)
        z = np.where(y == plus, 1.0, -1.0)[inside]
        beta = support_columns(model, row[None], len(y))[0]
        # what it says of other classes' rows must be nothing
        yield Claim(f"rows of others, {plus}", largest(beta[~inside]), 0.0)
        zero, high = np.zeros(inside.sum()), bound[inside]
        lo, hi = np.where(z > 0, zero, -high), np.where(z > 0, high, zero)
        problem = Problem(
            f"{plus} against {minus}", K[np.ix_(inside, inside)], beta[inside], exact(b),
            z, lo, hi,
        )  # fmt: skip
        yield from claims_of_margin(problem, case.tolerance)


@audits("SVR")
def audit_regressor(case: Case) -> Iterator[Claim]:
    model, C = case.model, exact(case.model.C) * exact(case.weight)
    beta = support_columns(model, exact(model.dual_coef_), len(C))[0]
    K, z = kernel_matrix(model.kernel_, case.X, case.X), exact(case.y)
    b, eps = exact(model.intercept_[0]), exact(model.epsilon)
    yield from claims_of_margin(Problem("regression", K, beta, b, z, -C, C, eps), case.tolerance)


@audits("NuSVC")
def audit_shares_of_classes(case: Case) -> Iterator[Claim]:
    """The ν-problem in its own unit: f = ρ · what is kept, whose two sums are fixed."""
    model, y, weight = case.model, np.asarray(case.y), exact(case.weight)
    K, inverse = kernel_matrix(model.kernel_, case.X, case.X), np.atleast_1d(model.C_)
    offsets = zip(model.intercept_, inverse, strict=True)
    for (plus, minus, row), (b, C) in zip(pair_coefficients(model), offsets, strict=True):
        inside = (y == plus) | ((y == minus) if minus is not None else True)
        rho, w = 1 / exact(C), weight[inside]
        z = np.where(y == plus, 1.0, -1.0)[inside]
        beta = rho * support_columns(model, row[None], len(y))[0]
        yield Claim(f"rows of others, {plus}", largest(beta[~inside]), 0.0)
        beta, size = beta[inside], exact(model.nu) * w.sum()
        f = K[np.ix_(inside, inside)] @ beta
        slack = np.maximum(0.0, rho - z * (f + rho * exact(b)))
        primal = 0.5 * (beta @ f) - rho * size + w @ slack
        dual = -0.5 * (beta @ f)
        about = f"{plus} against {minus}"
        allowed = SLACK * case.tolerance * max(abs(primal), abs(dual)) + rounding(rho * size)
        yield Claim(f"gap, {about}", abs(primal - dual), allowed)
        room = SLACK * case.tolerance * size
        yield Claim(f"sum, {about}", abs(beta.sum()), room)
        yield Claim(f"size, {about}", abs(np.abs(beta).sum() - size), room)
        outside = max((z * beta - w).max(), (-z * beta).max())
        yield Claim(f"box, {about}", outside, 64 * EPS * w.max())


@audits("NuSVR")
def audit_shares_of_targets(case: Case) -> Iterator[Claim]:
    model, C = case.model, exact(case.model.C) * exact(case.weight)
    beta = support_columns(model, exact(model.dual_coef_), len(C))[0]
    K, y = kernel_matrix(model.kernel_, case.X, case.X), exact(case.y)
    b, eps, size = exact(model.intercept_[0]), exact(model.epsilon_), exact(model.nu) * C.sum()
    f = K @ beta
    slack = np.maximum(0.0, np.abs(y - f - b) - eps)
    primal, dual = 0.5 * (beta @ f) + size * eps + C @ slack, y @ beta - 0.5 * (beta @ f)
    scale = SLACK * case.tolerance * max(abs(primal), abs(dual))
    yield Claim(
        "gap", abs(primal - dual), scale + rounding(np.abs(beta) @ np.abs(y) + abs(b) * size)
    )
    yield Claim("sum", abs(beta.sum()), SLACK * case.tolerance * size)
    yield Claim("size", np.abs(beta).sum() - size, SLACK * case.tolerance * size)
    yield Claim("box", (np.abs(beta) - C).max(), 64 * EPS * C.max())


@audits("OneClassSVM")
def audit_novelty(case: Case) -> Iterator[Claim]:
    model, weight = case.model, exact(case.weight)
    beta = support_columns(model, exact(model.dual_coef_), len(weight))[0]
    K, zero = kernel_matrix(model.kernel_, case.X, case.X), np.zeros(len(weight))
    total = exact(model.nu) * weight.sum()
    b = exact(model.intercept_[0]) - exact(1e-9)  # moved by 1e-9 (1 + |b|): boundary points are in
    b = b / (1 + exact(1e-9) * np.sign(b))
    problem = Problem("novelty", K, beta, b, zero, zero, weight, 0.0, total)
    # the shift is not undone to the last digit, which shows where all kernel values are 0
    for claim in claims_of_margin(problem, case.tolerance):
        yield claim._replace(allowed=claim.allowed + rounding(total) * 1e-9)


@audits("LinearSVC")
def audit_linear_machine(case: Case) -> Iterator[Claim]:
    """No function has an objective much below: the gradient bounds what strong convexity leaves.

    The coefficients of the dual are not public. Of ‖w‖₁ the losses give a dual point. ½‖w‖² is
    1-strongly convex, so that every subgradient g of the objective at w bounds its distance from
    the least by ½‖g‖².
    """
    model, y, X = case.model, np.asarray(case.y), exact(case.X)
    bias = exact(model.intercept_scaling if model.fit_intercept else 0.0)
    A = np.hstack([X, np.full((len(X), 1), bias)])
    C = exact(model.C) * exact(case.weight) * class_factors(model, y, case.weight)
    positive = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    for label, w, b in zip(positive, exact(model.coef_), exact(model.intercept_), strict=True):
        sign = np.where(y == label, 1.0, -1.0)
        w = np.append(w, b / bias if bias else 0.0)
        slack = np.maximum(0.0, 1.0 - sign * product(A, w))
        if model.penalty == "l1":
            yield _of_kinks(f"gap, {label}", A, sign, slack, w, C, case.tolerance)
            continue
        if model.loss != "squared_hinge":
            continue  # its kinks leave the subgradient open: see the dual of the kernel machine
        primal = 0.5 * (w @ w) + C @ slack**2
        gradient = w - 2.0 * ((C * slack * sign) @ A)
        # a gap of g is known of w, not the gradient: ‖w − w*‖² ≤ 2 gap, and ∇ moves by H‖w − w*‖
        bend = 1.0 + 2.0 * (C @ (A**2).sum(axis=1))
        gap = SLACK * case.tolerance * primal + rounding(primal)
        yield Claim(f"gradient, {label}", gradient @ gradient, 2.0 * bend * gap * SLACK)


def _of_kinks(
    about: str,
    A: np.ndarray,
    sign: np.ndarray,
    slack: np.ndarray,
    w: np.ndarray,
    C: np.ndarray,
    tolerance: float,
) -> Claim:
    """The objective ‖w‖₁ + Σ C slack² is near that of the dual point su, u = 2 C slack.

    Its objective is s Σu − s² Σu²/(4C), and s is small enough for |Aᵀ(s u y)| ≤ 1, but for what the
    last digits of u and of the coefficients are in a sum of terms so large.
    """
    losses = (C * slack**2).sum()
    primal = np.abs(w).sum() + losses
    u = 2.0 * C * slack * sign
    steepest = (np.abs(u @ A) - rounding(1.0) * (np.abs(u) @ np.abs(A))).max()
    s = 1.0 / max(steepest, exact(1.0))
    dual = 2.0 * s * (C * slack).sum() - s**2 * losses
    return Claim(about, primal - dual, SLACK * tolerance * C.sum() + rounding(primal, C.sum()))
