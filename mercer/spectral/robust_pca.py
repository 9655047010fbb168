"""Robust principal component analysis: a low-rank table with a few gross errors."""

from __future__ import annotations

from contextlib import nullcontext
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, eigh

from mercer._array import largest_size
from mercer._floats import TINY, safe_norm
from mercer._limits import Limits
from mercer._sklearn import Interval
from mercer._state import Attribute, Floats, Integers, SizeOf
from mercer._threads import one_blas_thread
from mercer.result import Certificate, Solution, Status
from mercer.solvers import fix_signs
from mercer.spectral._base import NOT_NEGATIVE, POSITIVE, LinearProjection, final_status
from mercer.spectral._covariance import by_singular_values

RELAXATION = 1.6  # over-relaxation: a third fewer steps than 1, on every problem tried
CHECK_EVERY = 10  # steps; a check costs about as much as a step
RAISE, RAISE_UNTIL = 1.5, 1000  # of μ where feasibility lags behind the gap; then it stays
ONE_THREAD_UP_TO = 1000  # rows or columns; a second BLAS thread waits longer on these than it works


class RobustPCA(LinearProjection):
    """Robust PCA: X = L + S with L of low rank and S sparse.

    min ‖L‖_* + λ‖S‖₁ subject to L + S = X, with ‖L‖_* the sum of the singular values. Entries that
    are wrong by any amount go into S and leave the components of L alone. The problem is convex:
    the certificate bounds how far the split is from the best one.

    Parameters
    ----------
    lam : float or None, default=None
        λ > 0, the price of an entry of S; None is 1/√max(n, d), which recovers L and S if the rank
        is small enough and the errors lie at random (Candès, Li, Ma and Wright).
    center : bool, default=False
        Whether the medians of the columns are subtracted first; the convex problem itself knows
        no centre, and means would follow the gross errors.
    tol : float, default=1e-7
        What the relative duality gap and ‖X − L − S‖/‖X‖ must not exceed.
    max_iter : int, default=10000
        Most steps; −1 is no limit.
    time_limit : float or None, default=None
        Seconds for the fit; then the best so far is kept, with a warning.

    Attributes
    ----------
    low_rank_, sparse_ : array of shape (n, d)
        L and S; their sum is X − mean_ up to the feasibility in the certificate.
    rank_ : int
        The rank of L.
    components_ : array of shape (rank_, d)
        Orthonormal directions that span the rows of L.
    singular_values_ : array of shape (rank_,)
        Singular values of L, falling.
    mean_ : array of shape (d,)
        The medians that were subtracted, or zeros.
    n_iter_ : int
        Steps of the solver.
    certificate_ : Certificate
        ``feasibility, primal, dual, relative_gap``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RobustPCA
    >>> X = np.outer(np.arange(1.0, 9.0), np.ones(6))
    >>> X[2, 3] += 50.0
    >>> pca = RobustPCA().fit(X)
    >>> pca.rank_, np.argwhere(np.abs(pca.sparse_) > 1e-3).tolist(), pca.certificate_.ok
    (1, [[2, 3]], True)
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "rank_": SizeOf("components"),
        "singular_values_": Floats("components"),
        "low_rank_": Floats("rows", "columns"),
        "sparse_": Floats("rows", "columns"),
        "n_iter_": Integers(),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": [POSITIVE, None],
        "center": ["boolean"],
        "tol": [POSITIVE],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "time_limit": [NOT_NEGATIVE, None],
    }

    def __init__(
        self,
        *,
        lam: float | None = None,
        center: bool = False,
        tol: float = 1e-7,
        max_iter: int = 10000,
        time_limit: float | None = None,
    ):
        self.lam = lam
        self.center = center
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit

    def fit(self, X: Any, y: Any = None) -> RobustPCA:
        """Split the table; ``y`` is not used."""
        self._validate_params()
        X = self._fit_table(X).astype(np.float64)
        limits = Limits.of(self.max_iter, self.time_limit)
        self.mean_ = np.median(X, axis=0) if self.center else np.zeros(X.shape[1])
        X -= self.mean_
        lam = max(X.shape) ** -0.5 if self.lam is None else float(self.lam)
        scale = largest_size(X) or 1.0  # the problem has no unit, squares have a range
        solution = split_low_rank_sparse(X / scale, lam, tol=self.tol, limits=limits, unit=scale)
        self._keep(solution, scale)
        self._accept(solution)
        return self

    def _keep(self, solution: Solution, scale: float) -> None:
        L, S, _ = solution.value
        axes = by_singular_values(L)
        self.rank_ = axes.rank
        self.components_ = fix_signs(axes.vectors).T
        self.singular_values_ = scale * axes.sizes
        self.low_rank_, self.sparse_ = scale * L, scale * S
        self.n_iter_ = solution.stats["steps"]

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows of the span that have these scores, shape (m, d)."""
        return np.asarray(X) @ self.components_ + self.mean_


# -------------------------------------------------------------------- the split
class Split(NamedTuple):
    """L + S ≈ X, and the multipliers Y of the constraint."""

    L: np.ndarray
    S: np.ndarray
    Y: np.ndarray


def split_low_rank_sparse(
    X: np.ndarray, lam: float, *, tol: float, limits: Limits, unit: float = 1.0
) -> Solution:
    """Minimise ‖L‖_* + λ‖S‖₁ subject to L + S = X.

    Alternating directions on the augmented Lagrangian: a step shrinks singular values, then
    entries. With a penalty μ that stays in the end it converges for every X, and the dual point
    that ends the loop proves it.

    Parameters
    ----------
    X : array of shape (n, d)
        Entries of size about one, so that no square overflows.
    lam : float
        λ > 0.
    tol : float
        What the relative duality gap and the relative ‖X − L − S‖ must not exceed.
    unit : float, default=1.0
        What X is measured in: the proof is in the unit of the data.

    Returns
    -------
    Solution
        ``value`` is the `Split`.
    """
    split, status, steps = Split(np.zeros_like(X), X.copy(), np.zeros_like(X)), Status.OPTIMAL, 0
    if X.any():
        with one_blas_thread() if min(X.shape) <= ONE_THREAD_UP_TO else nullcontext():
            split, status, steps = _alternate(X, lam, tol, limits)
    certificate = split_gap(X, split, lam, tolerance=tol, unit=unit)
    return Solution(split, final_status(status, certificate), certificate, stats={"steps": steps})


def _alternate(X: np.ndarray, lam: float, tol: float, limits: Limits) -> tuple[Split, Status, int]:
    # the size of a typical entry: gross errors move the mean of roots far less than the mean
    mu = 0.5 / float(np.mean(np.sqrt(np.abs(X)))) ** 2
    L, S, Y, step = np.zeros_like(X), np.zeros_like(X), np.zeros_like(X), 0
    status: Status | None = None
    try:
        while status is None:
            L, values = shrink_values(X - S + Y / mu, 1.0 / mu)
            mixed = X - RELAXATION * L - (1.0 - RELAXATION) * (X - S) + Y / mu
            S = shrink_entries(mixed, lam / mu)
            Y = mu * (mixed - S)  # λ times a subgradient of ‖S‖₁: within ±λ
            step += 1
            status = limits.stopped(step)
            if step % CHECK_EVERY == 0:
                left, gap = _left(X, L, S), _bounds(X, L, Y, lam, float(values.sum())).gap
                status = Status.OPTIMAL if max(left, gap) <= tol else status
                mu *= RAISE if left > gap and step <= RAISE_UNTIL else 1.0
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return Split(L, S, Y), status, step


def shrink_entries(A: np.ndarray, threshold: float) -> np.ndarray:
    """Return sign(a) max(|a| − t, 0) of all entries, the proximal map of t‖·‖₁."""
    return A - np.clip(A, -threshold, threshold)


def shrink_values(A: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Return A with its singular values shrunk by t, the proximal map of t‖·‖_*, and the values.

    Only the values above t are needed. They come from the smaller of AAᵀ and AᵀA: squaring costs
    digits of values that are far below t, and those are dropped.
    """
    if A.shape[0] < A.shape[1]:
        L, values = shrink_values(A.T, threshold)
        return L.T, values
    squares, V = _above(A.T @ A, threshold**2)
    values = np.sqrt(squares) - threshold
    return (A @ V) * (values / np.sqrt(squares)) @ V.T, values


def _above(G: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenpairs of a symmetric matrix with values above a floor."""
    try:
        return eigh(G, subset_by_value=(floor, np.inf), check_finite=False)
    except LinAlgError:  # LAPACK's fastest driver gives up on some clusters, the other does not
        values, V = np.linalg.eigh(G)
        return values[values > floor], V[:, values > floor]


# -------------------------------------------------------------------- the proof
class _Bounds(NamedTuple):
    """The optimum lies between these; ``gap`` is their relative distance."""

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        return (self.primal - self.dual) / max(self.primal, TINY)


def _bounds(X: np.ndarray, L: np.ndarray, Y: np.ndarray, lam: float, nuclear: float) -> _Bounds:
    """Return the objective of L and X − L, and that of Y scaled to be dual feasible."""
    excess = max(_largest_value(Y), float(np.abs(Y).max(initial=0.0)) / lam, TINY)
    primal = nuclear + lam * float(np.abs(X - L).sum())
    return _Bounds(primal, float((Y * X).sum()) / excess)


def _left(X: np.ndarray, L: np.ndarray, S: np.ndarray) -> float:
    return safe_norm(X - L - S) / max(safe_norm(X), TINY)


def _largest_value(Y: np.ndarray) -> float:
    square = Y.T @ Y if Y.shape[0] >= Y.shape[1] else Y @ Y.T
    return float(np.sqrt(max(float(np.linalg.eigvalsh(square)[-1]), 0.0)))


def split_gap(
    X: np.ndarray, split: Split, lam: float, *, tolerance: float, unit: float = 1.0
) -> Certificate:
    """Prove that L and S solve the split: feasibility, and a gap from a feasible dual point.

    Every Y with ‖Y‖₂ ≤ 1 and |Y| ≤ λ bounds the optimum from below by ⟨Y, X⟩; the multipliers are
    scaled to be such a point. The upper bound is the objective of L and X − L, which is feasible
    whatever is left of X − L − S.
    """
    L, S, Y = split
    nuclear = float(np.linalg.svd(L, compute_uv=False).sum())
    bounds, left = _bounds(X, L, Y, lam, nuclear), _left(X, L, S)
    parts = {
        "feasibility": left,
        "primal": bounds.primal * unit,
        "dual": bounds.dual * unit,
        "relative_gap": bounds.gap,
        "nuclear_norm": nuclear * unit,
        "nonzero_share": float(np.count_nonzero(S) / S.size),
    }
    about = f"min ‖L‖_* + {lam:.4g} ‖S‖₁, L + S = X of shape {X.shape[0]} × {X.shape[1]}"
    return Certificate("relative duality gap", max(bounds.gap, left), tolerance, about, parts)
