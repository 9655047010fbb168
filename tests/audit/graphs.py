"""Machines with a graph of all rows: the whole objective, from coefficients and the graph alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import linprog

from tests.audit.claim import SLACK, Case, Claim, audits, rounding
from tests.audit.exact import exact, kernel_matrix, largest
from tests.audit.margins import class_factors
from tests.audit.risks import _columns, _feasible, _signs


def _laplacian(model: Any) -> np.ndarray:
    """Return Lᵖ of the graph that the model shows."""
    W = exact(model.graph_)
    d = W.sum(axis=1)
    if not model.normalized:
        L = np.diag(d) - W
    else:
        root = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
        L = np.diag((d > 0) * exact(1.0)) - root[:, None] * W * root
    return np.linalg.matrix_power(L, int(model.power))


def _claims_of_graph(model: Any) -> Iterator[Claim]:
    W = exact(model.graph_)
    yield Claim("graph is symmetric", largest(W - W.T), 0.0)
    yield Claim("graph has no negative weight", -W.min(initial=0.0), 0.0)


def _known(model: Any, y: np.ndarray) -> np.ndarray:
    return np.ones(len(y), bool) if model.unlabelled is None else y != model.unlabelled


def _problems(model: Any) -> Iterator[tuple[Any, Any]]:
    classes = model.classes_
    if len(classes) == 2:
        yield classes[1], classes[0]
    elif model.multiclass == "ovr":
        yield from ((label, None) for label in classes)
    else:
        yield from combinations(classes, 2)


@audits("LaplacianSVC")
def audit_laplacian_svc(case: Case) -> Iterator[Claim]:
    """½‖f‖² + ½λfᵀLᵖf + Σ loss is near a bound from below.

    Any forces β within their bounds and any values g give the bound
    Σ zβ − ½λgᵀLᵖg − ½aᵀKa with a = β − λLᵖg. Here β is what f itself says, and g is f; or both are
    near to that, and a is α: where kernel values are huge, what is small in β is large in a.
    """
    model, y = case.model, np.asarray(case.y)
    yield from _claims_of_graph(model)
    K, M = kernel_matrix(model.kernel_, case.X, case.X), exact(model.lam_graph) * _laplacian(model)
    values, V = np.linalg.eigh(M.astype(np.float64))
    kept = np.abs(values) > 1e-12 * np.abs(values).max()
    inverse, free = (V[:, kept] / values[kept]) @ V[:, kept].T, V[:, ~kept]
    known = _known(model, y)
    C = np.zeros(len(y), dtype=np.longdouble)
    C[known] = exact(model.C) * class_factors(model, y[known], np.ones(known.sum()))
    for (plus, minus), row, b in zip(
        _problems(model), exact(model.dual_coef_), exact(model.intercept_), strict=True
    ):
        alpha = np.zeros(len(y), dtype=np.longdouble)
        alpha[model.support_] = row
        inside = known & ((y == plus) | ((y == minus) if minus is not None else True))
        z, bound = np.where(y == plus, 1.0, -1.0), np.where(inside, C, 0.0)
        f = K @ alpha
        low, high = np.where(z > 0, 0.0, -bound), np.where(z > 0, bound, 0.0)
        beta = _feasible(alpha + M @ f, low, high, model.fit_intercept)
        primal = (alpha @ f + f @ M @ f) / 2 + bound @ np.maximum(0.0, 1.0 - z * (f + b))
        forces = _forces_of(alpha, alpha + M @ f, low, high, model.fit_intercept, free)
        near = f + exact(inverse @ (forces - alpha - M @ f).astype(np.float64))
        dual = max(_least(z @ v, v, g, M, K) for v, g in ((beta, f), (forces, near)))
        size = np.abs(alpha) @ np.abs(K) @ np.abs(alpha)
        allowed = SLACK * case.tolerance * max(abs(primal), abs(dual)) + rounding(size)
        yield Claim(f"gap, {plus} against {minus}", primal - dual, allowed)


def _forces_of(
    alpha: np.ndarray, raw: np.ndarray, low: Any, high: Any, balanced: bool, free: np.ndarray
) -> np.ndarray:
    """Return forces within their bounds, near to some, that differ from α by what a graph can do.

    ``free`` are the functions that cost nothing: no values g make a difference along them.
    """
    n = len(alpha)
    fixed, sums = free.T, free.T @ alpha.astype(np.float64)
    if balanced:
        fixed, sums = np.vstack([fixed, np.ones(n)]), np.append(sums, 0.0)
    eye, zero = np.eye(n), np.zeros((len(fixed), n))
    found = linprog(
        np.append(np.zeros(n), np.ones(n)),
        A_ub=np.block([[eye, -eye], [-eye, -eye]]),
        b_ub=np.concatenate([raw, -raw]).astype(np.float64),
        A_eq=np.hstack([fixed, zero]),
        b_eq=sums,
        bounds=[*zip(low, high, strict=True), *[(0, None)] * n],
    )
    forces = np.clip(exact(found.x[:n]) if found.status == 0 else raw, low, high)
    return _feasible(forces, low, high, balanced)


def _least(linear: Any, beta: np.ndarray, g: np.ndarray, M: np.ndarray, K: np.ndarray) -> Any:
    """Return a bound from below, of any forces and any values."""
    a = beta - M @ g
    return linear - (g @ M @ g) / 2 - (a @ K @ a) / 2


@audits("LaplacianRidge", "LaplacianRidgeClassifier")
def audit_laplacian_ridge(case: Case) -> Iterator[Claim]:
    """The gradient Σ ρᵢ k(·, xᵢ) of the whole objective is small beside that of y alone."""
    model, y = case.model, np.asarray(case.y)
    yield from _claims_of_graph(model)
    weight = np.ones(len(y), dtype=np.longdouble)
    if hasattr(model, "classes_"):
        known = _known(model, y)
        weight[~known] = 0.0
        weight[known] = class_factors(model, y[known], np.ones(known.sum()))
        y = _signs(model.classes_, y)
    Y, alpha = _columns(y), _columns(model.dual_coef_)
    K, lam = kernel_matrix(model.kernel_, case.X, case.X), exact(model.lam)
    b, f = exact(model.intercept_), K @ alpha
    graph = exact(model.lam_graph) * (_laplacian(model) @ f)
    rho = alpha + (graph - weight[:, None] * (Y - f - b)) / lam
    start = weight[:, None] * Y / lam
    norm, size = (np.sqrt(max((V * (K @ V)).sum(), exact(0.0))) for V in (rho, start))
    # f is known to float64 only: what that moves, divided by λ, is a gradient too
    noise = rounding(largest(np.abs(K) @ np.abs(alpha)) + largest(b)) * (weight.max() / lam + 1)
    reach = np.sqrt(np.abs(K).sum())
    yield Claim("gradient", norm, SLACK * case.tolerance * size + noise * reach)
    if model.fit_intercept:
        sums = largest((weight[:, None] * (Y - f - b)).sum(axis=0))
        terms = np.abs(Y).sum() + (np.abs(K) @ np.abs(alpha)).sum()
        yield Claim("balance", sums, rounding(terms + len(Y) * largest(b)))


@audits("GraphSpreading")
def audit_spreading(case: Case) -> Iterator[Claim]:
    """The shares are those of the dense solution, up to what the residual allows."""
    model, y = case.model, np.asarray(case.y)
    yield from _claims_of_graph(model)
    W, known = np.asarray(exact(model.graph_), dtype=np.float64), _known(model, y)
    Y = (known[:, None] & (y[:, None] == model.classes_)) * 1.0
    if model.clamp:
        wanted = Y  # every row of these tables has a label
        error = 0.0
    else:
        d = W.sum(axis=1)
        root = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
        alpha = float(model.alpha)
        A = np.eye(len(W)) - alpha * root[:, None] * W * root
        wanted = np.linalg.solve(A, (1 - alpha) * Y)
        error = float(case.tolerance) * np.linalg.norm(Y)  # 1 − α is the least eigenvalue
    total = wanted.sum(axis=1)
    reached = total > 2 * error
    shares = wanted[reached] / total[reached, None]
    apart = np.abs(model.label_distributions_[reached] - shares).max(axis=1, initial=0.0)
    allowed = 2 * SLACK * len(model.classes_) * error / total[reached] + rounding(1.0)
    yield Claim("shares", (apart - allowed).max(initial=0.0), 0.0)
