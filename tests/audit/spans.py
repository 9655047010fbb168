"""Machines in the span of landmarks: the gradient there, and what is said of all functions.

f = Σ βⱼ k(·, zⱼ). A function of the span is known by its values v at the landmarks, ‖f‖² = vᵀK⁻¹v
with K = k(Z, Z); landmarks that are combinations of others have β = 0 and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.audit.claim import SLACK, Case, Claim, audits, rounding
from tests.audit.exact import EPS, exact, kernel_diagonal, kernel_matrix, norm
from tests.audit.margins import (
    Problem,
    claims_of_margin,
    class_factors,
    pair_coefficients,
    support_columns,
)
from tests.audit.spectral import centered_matrix

INDEPENDENT = 1e-8  # share of a diagonal entry that others leave: else a landmark says nothing new


class Landmarks:
    """Those in use, and the Cholesky factor of their kernel values."""

    def __init__(self, kernel: Any, Z: Any, coefs: np.ndarray):
        self.kernel, Z = kernel, exact(Z)
        K = kernel_matrix(kernel, Z, Z)
        some = np.flatnonzero(coefs.any(axis=1))
        self.kept = some if len(some) else _independent(K)
        self.Z, self.K = Z[self.kept], K[np.ix_(self.kept, self.kept)]
        self.L = _cholesky(self.K)

    def values(self, X: Any) -> np.ndarray:
        return kernel_matrix(self.kernel, X, self.Z)

    def size(self, values: np.ndarray) -> Any:
        """Return ‖f‖ of functions by their values at the landmarks."""
        return norm(_solved(self.L, values))

    def noise(self, terms: np.ndarray) -> Any:
        """Return what rounding of sums of terms of these sizes may be as a function."""
        inverse = _solved(self.L, np.eye(len(self.L), dtype=np.longdouble))
        return rounding(norm(np.abs(inverse) @ terms))


def _cholesky(A: np.ndarray) -> np.ndarray:
    """Return L of A = LLᵀ; a pivot below rounding counts as that."""
    L = np.zeros_like(A)
    for j in range(len(A)):
        pivot = A[j, j] - L[j, :j] @ L[j, :j]
        L[j, j] = np.sqrt(max(pivot, EPS * A[j, j], exact(np.finfo(float).tiny)))
        L[j + 1 :, j] = (A[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
    return L


def _independent(K: np.ndarray) -> np.ndarray:
    kept: list[int] = []
    for j in range(len(K)):
        L = _cholesky(K[np.ix_([*kept, j], [*kept, j])])
        if L[-1, -1] ** 2 > INDEPENDENT * K[j, j]:
            kept.append(j)
    return np.array(kept, dtype=int)


def _solved(L: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return L⁻¹ V."""
    out = np.zeros_like(V)
    for i in range(len(L)):
        out[i] = (V[i] - L[i, :i] @ out[:i]) / L[i, i]
    return out


def _columns(values: Any) -> np.ndarray:
    values = exact(values)
    return values[:, None] if values.ndim == 1 else values


@audits("KernelRidge of landmarks", "KernelRidgeClassifier of landmarks")
def audit_ridge_in_a_span(case: Case) -> Iterator[Claim]:
    """Σ w e k(·, z) − λ f vanishes on the landmarks, e = y − f − b, and Σ w e if there is b."""
    model, weight, Y = case.model, exact(case.weight), _columns_of_targets(case)
    if hasattr(model, "classes_"):
        weight = weight * class_factors(model, np.asarray(case.y), case.weight)
    beta, b, w = _columns(model.dual_coef_), exact(model.intercept_), weight[:, None]
    at = Landmarks(model.kernel_, model.X_fit_, beta)
    beta, K = beta[at.kept], at.values(case.X)
    yield Claim("landmarks of the proof", len(at.kept), model.certificate_.landmarks)
    f, lam = K @ beta, exact(model.lam_)
    errors = Y - f - b
    level = (w * Y).sum(axis=0) / w.sum() if model.fit_intercept else 0.0
    size = at.size(K.T @ (w * (Y - level)))
    terms = w * (np.abs(Y) + np.abs(b) + np.abs(K) @ np.abs(beta))
    noise = at.noise(np.abs(K).T @ terms + lam * np.abs(at.K) @ np.abs(beta))
    gradient = at.size(K.T @ (w * errors) - lam * at.K @ beta)
    yield Claim("gradient in the span", gradient, SLACK * case.tolerance * size + noise)
    if model.fit_intercept:
        sums = norm((w * errors).sum(axis=0))
        yield Claim(
            "balance", sums, SLACK * case.tolerance * norm(w * (Y - level)) + rounding(terms.sum())
        )
    yield from _restriction_claims(case, at, w * errors, lam)


def _columns_of_targets(case: Case) -> np.ndarray:
    if not hasattr(case.model, "classes_"):
        return _columns(case.y)
    y, classes = np.asarray(case.y), case.model.classes_
    columns = [np.where(y == label, 1.0, -1.0) for label in classes]
    return exact(np.column_stack(columns[1:] if len(classes) == 2 else columns))


def _restriction_claims(case: Case, at: Landmarks, q: np.ndarray, lam: Any) -> Iterator[Claim]:
    """How much lower functions out of the span could be: at most qᵀ(K − K̂)q / λ."""
    parts = case.model.certificate_.parts
    if parts["restriction"] == "estimate" or isinstance(parts["restriction_gap"], str):
        return
    whole = kernel_matrix(case.model.kernel_, case.X, case.X)
    outside = (q * (whole @ q)).sum() - at.size(at.values(case.X).T @ q) ** 2
    noise = rounding((np.abs(q) * (np.abs(whole) @ np.abs(q))).sum())
    noise += at.noise(np.abs(at.values(case.X)).T @ np.abs(q)) ** 2
    objective = exact(parts.get("objective", parts.get("primal")))
    said = exact(parts["restriction_gap"]) * objective * lam
    yield Claim("functions out of the span", outside, SLACK * said + noise * 1e3)


@audits("KernelLogistic of landmarks")
def audit_logistic_in_a_span(case: Case) -> Iterator[Claim]:
    """The slopes u as a point of the dual leave λ‖f + Σ u k / 2λ‖² in the span."""
    model, y = case.model, np.asarray(case.y)
    w = exact(case.weight) * class_factors(model, y, case.weight)
    beta, b, lam = _columns(model.dual_coef_), exact(model.intercept_), exact(model.lam)
    at = Landmarks(model.kernel_, model.support_vectors_, beta)
    K, beta = at.values(case.X), beta[at.kept]
    G = K @ beta + b
    if len(model.classes_) == 2:
        G = np.hstack([np.zeros_like(G), G])
    top = G.max(axis=1, keepdims=True)
    P = np.exp(G - top)
    total = P.sum(axis=1, keepdims=True)
    hit = y[:, None] == model.classes_[None, :]
    losses = (np.log(total) + top - (G * hit).sum(axis=1, keepdims=True))[:, 0]
    P, wide = P / total, w[:, None]
    U = _balanced(wide * (P - hit), P, wide) if model.fit_intercept else wide * (P - hit)
    Q = np.where(wide > 0, hit + U / np.where(wide > 0, wide, 1.0), P)
    if Q.min() < 0:  # no point of the dual
        return
    young = w @ (losses + np.where(Q > 0, Q * np.log(np.where(Q > 0, Q, 1.0)), 0.0).sum(axis=1))
    young -= (U * G).sum()
    U = U[:, 1:] if len(model.classes_) == 2 else U
    primal = w @ losses + lam * (beta * (at.K @ beta)).sum()
    scale = primal + 4 * EPS / case.tolerance * (np.abs(U).sum() + (wide * np.abs(G)).sum())
    gap = young + at.size(K.T @ U + 2 * lam * at.K @ beta) ** 2 / (4 * lam)
    noise = at.noise(np.abs(K).T @ np.abs(U) + 2 * lam * np.abs(at.K) @ np.abs(beta)) ** 2
    yield Claim(
        "gap in the span", gap, SLACK * case.tolerance * scale + rounding(scale) + noise / (4 * lam)
    )
    if model.fit_intercept:
        allowed = 2 * w.sum() * SLACK * case.tolerance * scale + rounding(w.sum()) ** 2
        yield Claim("slope in b", norm((wide * (P - hit)).sum(axis=0)) ** 2, allowed)


def _balanced(U: np.ndarray, P: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return slopes moved along the curvature w (diag p − ppᵀ) so that each column's sum is 0."""
    bend = np.diag((w * P).sum(axis=0)) - (w * P).T @ P
    excess = U.sum(axis=0)
    v = np.linalg.lstsq(bend.astype(float), excess.astype(float), rcond=1e-12)[0]
    return U - w * (P * v - P * (P @ v)[:, None])


@audits("KernelPCA of landmarks")
def audit_components_in_a_span(case: Case) -> Iterator[Claim]:
    """K̃v = λv in the span, unit vectors, and eigenvalues over all functions that are no larger."""
    model, values = case.model, exact(case.model.eigenvalues_)
    V = exact(model.eigenvectors_)[:, values > 0] / np.sqrt(values[values > 0])
    at = Landmarks(model.kernel_, model.X_fit_, V)
    V, K, top = V[at.kept], at.values(case.X), np.abs(values).max(initial=0.0)
    scores = K @ V - (K @ V).mean(axis=0)
    image = K.T @ scores
    noise = at.noise(np.abs(K).T @ (np.abs(K) @ np.abs(V)) + top * np.abs(at.K) @ np.abs(V))
    for k, value in enumerate(values[values > 0]):
        rest = at.size(image[:, [k]] - value * at.K @ V[:, [k]])
        yield Claim(f"eigenpair {k}", rest, SLACK * case.tolerance * top + noise)
    skew = np.abs(V.T @ at.K @ V - np.eye(V.shape[1])).max(initial=0.0)
    unit = rounding((np.abs(V).T @ np.abs(at.K) @ np.abs(V)).max(initial=0.0))
    yield Claim("orthogonality", skew, SLACK * case.tolerance + unit)
    whole = kernel_matrix(model.kernel_, case.X, case.X)
    all_values = np.linalg.eigvalsh(np.asarray(centered_matrix(whole), dtype=float))[::-1]
    missed = exact(model.certificate_.eigenvalues_at_most_above)
    above = (all_values[: len(values)] - values).max()
    size = rounding(kernel_diagonal(model.kernel_, case.X).sum())
    yield Claim("eigenvalues over all functions", above, SLACK * missed + size)
    yield Claim("the largest eigenvalues", (values - all_values[: len(values)]).max(), size)


@audits("SVC by cells")
def audit_cells(case: Case) -> Iterator[Claim]:
    """Each cell and pair of classes is a machine of its own."""
    model, y, weight = case.model, np.asarray(case.y), exact(case.weight)
    bound = exact(model.C) * weight * class_factors(model, y, case.weight)
    K, cells, owner = kernel_matrix(model.kernel_, case.X, case.X), _cells(model, case.X), {}
    owner = dict(zip(model.support_.tolist(), model.support_cells_.tolist(), strict=True))
    strangers = sum(cells[row] != cell for row, cell in owner.items())
    yield Claim("cells of support vectors", strangers, 0)
    for number, (plus, minus, row) in enumerate(pair_coefficients(model)):
        whole = support_columns(model, row[None], len(y))[0]
        for cell in np.unique(cells[weight > 0]):
            own = (cells == cell) & (weight > 0) & ((y == plus) | (y == minus))
            z, b = np.where(y == plus, 1.0, -1.0)[own], exact(model.cell_intercepts_[cell, number])
            about = f"{plus} against {minus} in cell {cell}"
            if len(np.unique(z)) < 2:  # it votes for the class that is there
                yield Claim(f"vote, {about}", abs(b - z[:1].sum()), 0.0)
                continue
            high, zero = bound[own], np.zeros(len(z))
            lo, hi = np.where(z > 0, zero, -high), np.where(z > 0, high, zero)
            problem = Problem(about, K[np.ix_(own, own)], whole[own], b, z, lo, hi)
            yield from claims_of_margin(problem, case.tolerance)


def _cells(model: Any, X: Any) -> np.ndarray:
    """Go down the heap of cuts, left where v·x is at most the threshold."""
    thresholds, found = np.asarray(model.cell_thresholds_), []
    for x in np.asarray(X):
        node = 0
        while node < len(thresholds):
            place = 0.0
            for value, v in zip(x, model.cell_directions_[node], strict=True):
                place += float(value) * float(v)
            node = 2 * node + 1 + (place > thresholds[node])
        found.append(node - len(thresholds))
    return np.array(found)
