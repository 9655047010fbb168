"""Directions that a response tells: their matrices from rows and responses, by their formulas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.audit.claim import ROUNDINGS, SLACK, Case, Claim, audits
from tests.audit.exact import EPS, exact, largest, norm, squared_distances
from tests.audit.spectral import centered_rows, eigen_claims


@audits("SIR", "LocalSIR")
def audit_slices(case: Case) -> Iterator[Claim]:
    """B v = λ T v on the range of T, and vᵀTv' = δ, for columns of mean 0 and deviation 1.

    T is their shrunk covariance, B that of the means of slices, or of near rows in a slice.
    """
    model, X = case.model, centered_rows(case.X)
    unit = np.sqrt((X**2).mean(axis=0))
    # columns below 1e-300 have no part: 1 over their deviation is no number of float64
    constant = (unit <= 8 * EPS * np.abs(exact(case.X)).max(axis=0)) | (unit < 1e-300)
    unit = np.where(constant, 1, unit)
    Z = np.where(constant, 0, X / unit)
    n, d = Z.shape
    codes = _slices(np.asarray(case.y), model.n_slices)
    M = _means(Z, X, codes, getattr(model, "n_neighbors", n))
    s = exact(model.shrinkage_)
    T, B = (Z.T @ Z) / n, (M.T @ M) / n
    T = (1 - s) * T + s * (np.trace(T) / d) * np.eye(d)
    values, V = exact(model.eigenvalues_), exact(model.components_).T * unit[:, None]
    sizes, U = np.linalg.eigh(T.astype(np.float64))
    kept = sizes > d * EPS * max(sizes.max(), 0)
    half = exact(U[:, kept] / np.sqrt(sizes[kept])).T
    # the entries of T and B are known to rounding, which the inverse root of T magnifies
    blur = ROUNDINGS * EPS * d * sizes.max() / sizes[kept].min(initial=np.inf)
    allowed = SLACK * case.tolerance * largest(values) + blur
    for k, v in enumerate(V.T):
        yield Claim(f"direction {k}", norm(half @ (B @ v - values[k] * (T @ v))), allowed)
    skew = largest(V.T @ T @ V - np.eye(V.shape[1]))
    yield Claim("variances of the scores", skew, SLACK * case.tolerance + blur)


def _slices(y: np.ndarray, most: int) -> np.ndarray:
    """Return the slice of each row: its value, or the part of all rows that its middle lies in."""
    values = np.unique(y)
    if len(values) <= most:
        return np.searchsorted(values, y)
    middle = [(2 * (y < value).sum() + (y == value).sum()) * most // (2 * len(y)) for value in y]
    return np.array(middle)


def _means(Z: np.ndarray, X: np.ndarray, codes: np.ndarray, k: int) -> np.ndarray:
    """Return for each row the mean of the k rows of its slice that are nearest to it, in X."""
    D, M = squared_distances(X, X), np.empty_like(Z)
    for i, own in enumerate(codes):
        inside = np.flatnonzero(codes == own)
        M[i] = Z[inside[np.argsort(D[i, inside], kind="stable")[:k]]].mean(axis=0)
    return M


@audits("SupervisedPCA")
def audit_supervised(case: Case) -> Iterator[Claim]:
    """XᵀHLHX v = λ v and vᵀv' = δ, with the kernel matrix L of the response."""
    model, A = case.model, centered_rows(case.X)
    y = centered_rows(np.asarray(case.y).reshape(len(A), -1))
    L = y @ y.T
    if model.kernel_y == "rbf":
        L = np.exp(-squared_distances(y, y) / max(y.var() * y.shape[1], 1e-4000))
    rows = L - L.mean(axis=0)
    L = rows - rows.mean(axis=1, keepdims=True)
    yield from _scaled_claims(A, L, model, case)


def _scaled_claims(A: np.ndarray, L: np.ndarray, model: Any, case: Case) -> Iterator[Claim]:
    """Look at eigenvalues in their own unit: those of tiny rows are no numbers of float64."""
    Q = A.T @ L @ A
    yield Claim("a value that is no number", float(not np.isfinite(model.eigenvalues_).all()), 0.0)
    yield from eigen_claims(Q, model.eigenvalues_, exact(model.components_).T, case)
