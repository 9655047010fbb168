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
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from mercer._array import format_bytes, largest_size, parse_memory
from mercer._floats import EPS
from mercer.certify import eigen_residual
from mercer.result import Certificate
from mercer.solvers import fix_signs, symmetric_eigenpairs
from mercer.spectral._centered import Centered, centered
from mercer.spectral._moments import TableMoments, moments, scatter_moments

RESOLVED = 1e-5
ROUNDINGS = 32  # of ‖X‖: a singular value below is what rounding has made of 0,
LEAKAGE = (
    4 / RESOLVED**0.5
)  # and so are these of ‖A‖: axes in the rest of σ have ε‖A‖/σ of its axis
FORMED_UP_TO = 1500  # columns of A: AᵀA is formed below, whatever is asked for
COLUMNS_PER_COMPONENT = 8  # so many, and products are faster than forming AᵀA
SKEWED = 1e-3  # σ/σ₁ from where v = Aᵀu/σ may need to be made orthogonal again
SAFE_SQUARES = 1e-200, 1e200  # tables of other sizes are brought to about 1 first
WORKING_COPIES = 4  # of AᵀA: itself, a sum, the eigenvectors, LAPACK's own
SAFETY = 0.1  # a Lanczos run aims at this share of the tolerance
LANCZOS_RESTARTS = 100
PROBE_STEPS = 8
MISSED_MARGIN = 1e-6  # relative: a quotient of the probe above the last eigenvalue that was found


Choice = Callable[[np.ndarray], int]  # how many of these singular values are kept


class ProvedAxes(NamedTuple):
    """Principal axes with their proof."""

    components: np.ndarray  # (k, d), orthonormal rows
    singular: np.ndarray  # (k,), falling, > 0
    discarded: float  # the sum of the squared singular values that are left out
    certificate: Certificate


class SingularPairs(NamedTuple):
    """Right singular vectors and singular values of A, and the operator that proves them."""

    vectors: np.ndarray  # (p, k)
    singular: np.ndarray  # (k,)
    operator: Any  # AᵀA
    method: str
    complete: bool  # whether all singular values that are not 0 are here


class PcaRoute(NamedTuple):
    """Which matrix the axes come from: XᵀX ("covariance"), XXᵀ ("gram") or, by QR, none ("svd")."""

    name: str = "auto"  # the smaller of the first two
    formed_up_to: int = FORMED_UP_TO

    def side(self, shape: tuple[int, int]) -> str:
        """Return "covariance" or "gram": the smaller matrix, unless the route is one of them."""
        if self.name in ("covariance", "gram"):
            return self.name
        return "covariance" if shape[1] <= shape[0] else "gram"

    def forms(self, shape: tuple[int, int], k: int | None) -> bool:
        """Tell whether AᵀA is formed for k components (None: all)."""
        p = shape[1] if self.side(shape) == "covariance" else shape[0]
        few = k is not None and k * COLUMNS_PER_COMPONENT <= p
        return self.name != "svd" and not (few and p > self.formed_up_to)


def first_look(X: Any, route: PcaRoute, k: int | None) -> tuple[Any, TableMoments, int]:
    """Return X·2^(−e) of a size that can be squared, its moments, and e (mostly 0)."""
    about = _moments_for(X, route, k)
    if _is_safe(about) or largest_size(X) == 0.0:
        return X, about, 0
    e = size_exponent(X)
    X = X.astype(np.float64) * np.ldexp(1.0, -e)
    return X, _moments_for(X, route, k), e


def size_exponent(X: Any) -> int:
    """Return e with a largest entry of X·2^(−e) of about 1."""
    return int(np.clip(np.frexp(largest_size(X))[1], -1000, 1000))


def _is_safe(about: TableMoments) -> bool:
    low, high = SAFE_SQUARES
    return low < about.squares and about.raw < high


def _moments_for(X: Any, route: PcaRoute, k: int | None) -> TableMoments:
    """Return the moments, with the scatter in the same pass where it is needed anyway."""
    needs_scatter = route.side(X.shape) == "covariance" and route.forms(X.shape, k)
    return scatter_moments(X) if needs_scatter and isinstance(X, np.ndarray) else moments(X)


def proved_axes(
    X: Any,
    about: TableMoments,
    k: int | None,
    choose: Choice,
    *,
    route: PcaRoute,
    tolerance: float,
    random_state: int | None,
) -> ProvedAxes:
    """Return principal axes of a table, as far as their variance is not 0.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        The table, of a size that can be squared.
    about : TableMoments
        Its mean and squares.
    k : int or None
        How many are wanted at most; None means that it takes all to know.
    choose : callable
        Says how many of the singular values that were found are kept.
    """
    A = centered(X, about.mean, transposed=route.side(X.shape) == "gram")
    floor = EPS * (ROUNDINGS * np.sqrt(about.raw) + LEAKAGE * np.sqrt(about.squares))
    if route.name == "svd":
        pairs = _by_triangle(A)
    elif route.forms(X.shape, k):
        pairs = _by_matrix(A, k, floor, about.scatter)
    else:
        pairs = _by_products(A.for_many_passes(), int(k or 0), floor, tolerance, random_state)
    return _finish(A, _above(pairs, floor), choose, about.squares, tolerance)


# ---------------------------------------------------------------- three ways to the pairs
def _by_triangle(A: Centered) -> SingularPairs:
    require_room(A.shape[1])
    R = A.triangle()
    _, singular, Vt = np.linalg.svd(R, full_matrices=False)
    return SingularPairs(Vt.T, singular, R.T @ R, "QR, then the singular values of R", True)


def _by_matrix(A: Centered, k: int | None, floor: float, G: np.ndarray | None) -> SingularPairs:
    """Return pairs from the eigenvectors of AᵀA, formed."""
    p = A.shape[1]
    require_room(p)
    operator = A.gram() if G is None else G
    if k is not None and k * COLUMNS_PER_COMPONENT <= p:
        solution = symmetric_eigenpairs(operator, k)
        values = solution.eigenvalues
        if solution.status.ok and values[-1] > RESOLVED * values[0]:
            roots = np.sqrt(values)
            return SingularPairs(solution.value, roots, operator, "matrix formed", False)
    vectors, singular = _resolved(A, operator, k or p, floor)
    complete = len(singular) < (k or p + 1)
    return SingularPairs(vectors, singular, operator, "matrix formed", complete)


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


def _by_products(A: Centered, k: int, floor: float, tolerance: float, seed: Any) -> SingularPairs:
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
    return SingularPairs(vectors, singular, operator, "products only", len(singular) < k)


def _joined(found: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    vectors = np.hstack([part for part, _ in found])
    singular = np.concatenate([part for _, part in found])
    order = np.argsort(-singular, kind="stable")
    return vectors[:, order], singular[order]


def require_room(p: int, memory: Any = None) -> None:
    """Raise if AᵀA with p columns, and what LAPACK needs beside it, does not fit."""
    needed, allowed = WORKING_COPIES * 8 * p * p, parse_memory(memory)
    if needed > allowed:
        raise MemoryError(
            f"all components of this table need a matrix of {p}×{p} and working copies, "
            f"{format_bytes(needed)}, and {format_bytes(allowed)} are allowed: ask for "
            f"n_components ≤ {p // COLUMNS_PER_COMPONENT}, which needs no such matrix"
        )


# ---------------------------------------------------------------- components and their proof
def _above(pairs: SingularPairs, floor: float) -> SingularPairs:
    """Leave out what rounding has made of 0."""
    keep = pairs.singular > floor
    return pairs._replace(
        vectors=pairs.vectors[:, keep],
        singular=pairs.singular[keep],
        complete=pairs.complete or not keep.all(),
    )


def _finish(
    A: Centered,
    pairs: SingularPairs,
    choose: Choice,
    squares: float,
    tolerance: float,
) -> ProvedAxes:
    """Turn pairs into components, with the proof that these are eigenvectors."""
    k = choose(pairs.singular)
    vectors, singular, operator = pairs.vectors[:, :k], pairs.singular[:k], pairs.operator
    if A.transposed:
        vectors = reorthogonalised(A.times(vectors / singular), singular)
        operator = A.covariance_operator()
    vectors = fix_signs(vectors)
    left = pairs.singular[k:]
    discarded = float(left @ left if pairs.complete else max(squares - singular @ singular, 0.0))
    proof = eigen_residual(operator, singular**2, vectors, tolerance=tolerance, trace=squares)
    share = discarded / squares if squares > 0 else 0.0
    parts = {**proof.parts, "discarded": share, "method": pairs.method}
    return ProvedAxes(vectors.T, singular, discarded, replace(proof, parts=parts))


def reorthogonalised(V: np.ndarray, singular: np.ndarray) -> np.ndarray:
    """Take out of each column what rounding has put there of the columns before it.

    A column belongs to a singular value σ and has about ε σ₁/σ of the first one in it.
    """
    if len(singular) == 0 or singular[-1] > SKEWED * singular[0]:
        return V
    for _ in range(2):
        L = cholesky(V.T @ V, lower=True, check_finite=False)
        V = solve_triangular(L, V.T, lower=True, check_finite=False).T
    return V


# ---------------------------------------------------------------- one vector at a time
def leading_by_products(
    G: LinearOperator, k: int, tolerance: float, seed: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues of a positive semidefinite operator, and the vectors.

    A product with a table in the cache or with a sparse one costs nearly as much for each vector
    of a block as for a single one. A Lanczos run (ARPACK) then needs several times fewer vectors
    than a block method, but it can miss copies of a repeated eigenvalue. A few steps more, from a
    random vector free of what was found, would show them; then, or where ARPACK gives up, the
    block method of the library takes over.
    """
    rng = np.random.default_rng(seed)
    try:
        start = rng.uniform(-1, 1, G.shape[0])
        values, vectors = eigsh(
            G, k, which="LA", v0=start, tol=SAFETY * tolerance, maxiter=LANCZOS_RESTARTS
        )
    except ArpackError:  # no convergence, or a matrix of zeros
        return _by_blocks(G, k, tolerance)
    order = np.argsort(-values)
    values, vectors = values[order], np.linalg.qr(vectors[:, order])[0]
    if missed_size(G, vectors, rng) > (1.0 + MISSED_MARGIN) * values[-1]:
        return _by_blocks(G, k, tolerance)
    return values, vectors


def _by_blocks(G: LinearOperator, k: int, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    solution = symmetric_eigenpairs(G, k, tolerance=tolerance)
    return solution.eigenvalues, solution.value


def missed_size(G: LinearOperator, P: np.ndarray, rng: np.random.Generator) -> float:
    """Return a lower bound of the largest eigenvalue of G outside of the span of P.

    A few Lanczos steps from a random vector: the largest Ritz value.
    """
    rest = deflated(G, P)
    Q = np.zeros((G.shape[0], PROBE_STEPS + 1))
    T = np.zeros((PROBE_STEPS, PROBE_STEPS))
    v = rng.standard_normal(G.shape[0])
    for j in range(PROBE_STEPS):
        v = v - Q @ (Q.T @ v)
        length = float(np.linalg.norm(v))
        if length == 0.0:
            break
        Q[:, j] = v / length
        v = rest @ Q[:, j]
        T[:, j] = (Q.T @ v)[:PROBE_STEPS]
    return float(np.linalg.eigvalsh(T, UPLO="U")[-1])


def deflated(G: LinearOperator, P: np.ndarray) -> LinearOperator:
    """Return (I − PPᵀ) G (I − PPᵀ)."""

    def apply(V: np.ndarray) -> np.ndarray:
        V = G @ (V - P @ (P.T @ V))
        return V - P @ (P.T @ V)

    return LinearOperator(G.shape, matvec=apply, matmat=apply, dtype=np.float64)
