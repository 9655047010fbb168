"""Principal axes of a centred table: by AᵀA, by products with it, or by the triangle of A = QR.

AᵀA squares the condition number: eigenvalues below RESOLVED times the largest have lost digits.
They are found again: the table is projected on the axes that remain, where they are the large
ones, and the same is done there. So every route has the accuracy of a singular value
decomposition, and only what is unresolved pays for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular

from mercer._array import format_bytes, largest_size, parse_memory
from mercer._floats import EPS
from mercer.certify import eigen_residual
from mercer.result import Certificate
from mercer.solvers import fix_signs, symmetric_eigenpairs
from mercer.spectral._centered import Centered, Moments, centered, moments, scatter_moments
from mercer.spectral._lanczos import deflated, leading_by_products

RESOLVED = 1e-5
ROUNDINGS = 32  # of ‖X‖: a singular value below is what rounding has made of 0,
LEAKAGE = (
    4 / RESOLVED**0.5
)  # and so are these of ‖A‖: axes in the rest of σ have ε‖A‖/σ of its axis
FORMED_UP_TO = 1500  # columns of A: AᵀA is formed below, whatever is asked for
FEW = 8  # times as many columns as components make products faster than forming AᵀA
SKEWED = 1e-3  # σ/σ₁ from where v = Aᵀu/σ may need to be made orthogonal again
SAFE_SQUARES = 1e-200, 1e200  # tables of other sizes are brought to about 1 first
WORKING_COPIES = 4  # of AᵀA: itself, a sum, the eigenvectors, LAPACK's own


class Axes(NamedTuple):
    """Principal axes with their proof."""

    components: np.ndarray  # (k, d), orthonormal rows
    singular: np.ndarray  # (k,), falling, > 0
    discarded: float  # the sum of the squared singular values that are left out
    certificate: Certificate


class Pairs(NamedTuple):
    """Right singular vectors and singular values of A, and the operator that proves them."""

    vectors: np.ndarray  # (p, k)
    singular: np.ndarray  # (k,)
    operator: Any  # AᵀA
    method: str
    complete: bool  # whether all singular values that are not 0 are here


def chosen_side(route: str, shape: tuple[int, int]) -> str:
    """Return "covariance" or "gram": the smaller matrix, unless the route is one of them."""
    if route in ("covariance", "gram"):
        return route
    return "covariance" if shape[1] <= shape[0] else "gram"


def is_formed(route: str, shape: tuple[int, int], k: int | None) -> bool:
    """Tell whether AᵀA is formed."""
    p = shape[1] if chosen_side(route, shape) == "covariance" else shape[0]
    return route != "svd" and not (p > FORMED_UP_TO and k is not None and k * FEW <= p)


def first_look(X: Any, route: str, k: int | None) -> tuple[Any, Moments, int]:
    """Return X·2^(−e) of a size that can be squared, its moments, and e (mostly 0)."""
    about = _moments_for(X, route, k)
    if _is_safe(about) or largest_size(X) == 0.0:
        return X, about, 0
    e = int(np.clip(np.frexp(largest_size(X))[1], -1000, 1000))
    X = X.astype(np.float64) * np.ldexp(1.0, -e)
    return X, _moments_for(X, route, k), e


def _is_safe(about: Moments) -> bool:
    low, high = SAFE_SQUARES
    return low < about.squares and about.raw < high


def _moments_for(X: Any, route: str, k: int | None) -> Moments:
    """Return the moments, with the scatter in the same pass where it is needed anyway."""
    is_dense = isinstance(X, np.ndarray)
    if is_dense and chosen_side(route, X.shape) == "covariance" and is_formed(route, X.shape, k):
        return scatter_moments(X)
    return moments(X)


def principal_axes(
    X: Any,
    about: Moments,
    k: int | None,
    choose: Callable[[np.ndarray], int],
    *,
    route: str,
    tolerance: float,
    random_state: int | None,
) -> Axes:
    """Return principal axes of a table, as far as their variance is not 0.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        The table, of a size that can be squared.
    about : Moments
        Its mean and squares.
    k : int or None
        How many are wanted at most; None means that it takes all to know.
    choose : callable
        Says how many of the singular values that were found are kept.
    route : {"auto", "covariance", "gram", "svd"}
        "auto" is "covariance" or "gram", whichever matrix is smaller.
    """
    A = centered(X, about.mean, transposed=chosen_side(route, X.shape) == "gram")
    floor = EPS * (ROUNDINGS * np.sqrt(about.raw) + LEAKAGE * np.sqrt(about.squares))
    if route == "svd":
        pairs = _by_triangle(A)
    elif is_formed(route, X.shape, k):
        pairs = _by_matrix(A, k, floor, about.scatter)
    else:
        pairs = _by_products(A.for_many_passes(), int(k or 0), floor, tolerance, random_state)
    return _finish(A, _above(pairs, floor), choose, about.squares, tolerance)


# ---------------------------------------------------------------- three ways to the pairs
def _by_triangle(A: Centered) -> Pairs:
    _require_room(A.shape[1])
    R = A.triangle()
    _, singular, Vt = np.linalg.svd(R, full_matrices=False)
    return Pairs(Vt.T, singular, R.T @ R, "QR, then the singular values of R", True)


def _by_matrix(A: Centered, k: int | None, floor: float, G: np.ndarray | None) -> Pairs:
    """Return pairs from the eigenvectors of AᵀA, formed."""
    p = A.shape[1]
    _require_room(p)
    operator = A.gram() if G is None else G
    if k is not None and k * FEW <= p:
        solution = symmetric_eigenpairs(operator, k)
        if solution.certificate.ok and solution.state[-1] > RESOLVED * solution.state[0]:
            return Pairs(solution.value, np.sqrt(solution.state), operator, "matrix formed", False)
    vectors, singular = _resolved(A, operator, k or p, floor)
    complete = len(singular) < (k or p + 1)
    return Pairs(vectors, singular, operator, "matrix formed", complete)


def _resolved(A: Centered, G: np.ndarray, k: int, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return at least k pairs, each from a projection of A in which it is large."""
    basis: np.ndarray | None = None
    found: list[tuple[np.ndarray, np.ndarray]] = []
    while True:
        values, vectors = (part[..., ::-1] for part in eigh(G, driver="evd", check_finite=False))
        vectors = vectors if basis is None else basis @ vectors
        sharp = values > max(RESOLVED * values[0], floor**2)
        found.append((vectors[:, sharp], np.sqrt(values[sharp])))
        if sharp.all() or not sharp.any() or sum(len(s) for _, s in found) >= k:
            return _joined(found)
        basis = vectors[:, ~sharp]
        G = A.gram(basis)


def _by_products(A: Centered, k: int, floor: float, tolerance: float, seed: Any) -> Pairs:
    """Return pairs from products with AᵀA, which is never formed."""
    operator = A.gram_operator()
    found: list[tuple[np.ndarray, np.ndarray]] = []
    vectors, singular = np.empty((A.shape[1], 0)), np.empty(0)
    while len(singular) < k:
        rest = deflated(operator, vectors) if found else operator
        values, new = leading_by_products(rest, k - len(singular), tolerance, seed)
        sharp = values > max(RESOLVED * values[0], floor**2)
        if not sharp.any():
            break
        found.append((new[:, sharp], np.sqrt(values[sharp])))
        vectors, singular = _joined(found)
    return Pairs(vectors, singular, operator, "products only", len(singular) < k)


def _joined(found: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    vectors = np.hstack([part for part, _ in found])
    singular = np.concatenate([part for _, part in found])
    order = np.argsort(-singular, kind="stable")
    return vectors[:, order], singular[order]


def _require_room(p: int) -> None:
    needed, allowed = WORKING_COPIES * 8 * p * p, parse_memory(None)
    if needed > allowed:
        raise MemoryError(
            f"all components of this table need a matrix of {p}×{p} and working copies, "
            f"{format_bytes(needed)}, and {format_bytes(allowed)} are allowed: ask for "
            f"n_components ≤ {p // FEW}, which needs no such matrix"
        )


# ---------------------------------------------------------------- components and their proof
def _above(pairs: Pairs, floor: float) -> Pairs:
    """Leave out what rounding has made of 0."""
    keep = pairs.singular > floor
    return pairs._replace(
        vectors=pairs.vectors[:, keep],
        singular=pairs.singular[keep],
        complete=pairs.complete or not keep.all(),
    )


def _finish(
    A: Centered, pairs: Pairs, choose: Callable[[np.ndarray], int], squares: float, tolerance: float
) -> Axes:
    """Turn pairs into components, with the proof that these are eigenvectors."""
    k = choose(pairs.singular)
    vectors, singular, operator = pairs.vectors[:, :k], pairs.singular[:k], pairs.operator
    if A.transposed:
        vectors = orthonormal(A.times(vectors / singular), singular)
        operator = A.covariance_operator()
    vectors = fix_signs(vectors)
    left = pairs.singular[k:]
    discarded = float(left @ left if pairs.complete else max(squares - singular @ singular, 0.0))
    proof = eigen_residual(operator, singular**2, vectors, tolerance=tolerance, trace=squares)
    share = discarded / squares if squares > 0 else 0.0
    parts = {**proof.parts, "discarded": share, "method": pairs.method}
    return Axes(vectors.T, singular, discarded, replace(proof, parts=parts))


def orthonormal(V: np.ndarray, singular: np.ndarray) -> np.ndarray:
    """Take out of each column what rounding has put there of the columns before it.

    A column belongs to a singular value σ and has about ε σ₁/σ of the first one in it.
    """
    if len(singular) == 0 or singular[-1] > SKEWED * singular[0]:
        return V
    for _ in range(2):
        L = cholesky(V.T @ V, lower=True, check_finite=False)
        V = solve_triangular(L, V.T, lower=True, check_finite=False).T
    return V
