"""Kernel ridge for many λ from one matrix: the work of about one decomposition for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from mercer.gram import gram
from mercer.gram.base import require_finite
from mercer.kernels import Precomputed
from mercer.solvers import _lapack
from mercer.solvers._factors import EIGEN_UP_TO, BandForm, DeflatedForm, EigenForm, LowRankForm
from mercer.solvers._scaled import Factor, ScaledSystem, refine, scaled_matrix
from mercer.solvers.pivoted import randomly_pivoted_cholesky

GOAL = 0.1  # of the tolerance: how far the refinement goes before the proof
DOUBLE_UP_TO = 2000  # points; float32 saves less below than the steps that it costs
LOW_RANK = 0.6  # of the points: the rank up to which a factor of low rank is the cheapest
DIRECTIONS = 64  # that are kept out of float32
SMALLEST = 1e-10  # of the largest direction: less is noise


@dataclass(frozen=True)
class RidgePath:
    """Solutions of (K + λW⁻¹)α + b = y, Σα = 0 on the training rows, for many λ.

    Parameters
    ----------
    alpha : array of shape (m, t, n_lams)
        Coefficients of the m training rows.
    intercept : array of shape (t, n_lams)
        Offsets b.
    values : array of shape (n, t, n_lams)
        K α + b for every row of K: fitted values of the training rows, predictions of the others.
    residual : array of shape (n_lams,)
        ‖W^½(y − Kα − b) − λW^-½α‖ / ‖W^½y‖, recomputed in float64 from α and b.
    tolerance : float
        What the residual should not exceed.
    route : tuple of str
        The factor that served each λ: "low rank", "band float32", "band float64" or "eigenvectors".
    """

    alpha: np.ndarray
    intercept: np.ndarray
    values: np.ndarray
    residual: np.ndarray
    tolerance: float
    route: tuple[str, ...]

    @property
    def proved(self) -> np.ndarray:
        """For each λ, whether its residual is within the tolerance."""
        return self.residual <= self.tolerance


def ridge_path(
    K: np.ndarray,
    Y: np.ndarray,
    lams: Any,
    *,
    weight: np.ndarray | None = None,
    train: np.ndarray | None = None,
    fit_intercept: bool = True,
    part: PartialFactor | None = None,
    double_up_to: int = DOUBLE_UP_TO,
    tolerance: float = 1e-8,
    memory: int | float | str | None = None,
) -> RidgePath:
    """Minimise Σᵢ wᵢ(yᵢ − f(xᵢ) − b)² + λ‖f‖² over training rows, for all λ.

    Where a factor of low rank leaves less of K than λ, it serves. Else the matrix of the training
    rows, scaled by the weights and centred, goes to band form: of many rows in float32, but for
    what is large in it. Conjugate gradients in float64 make the solutions of all λ exact at once.
    What float32 cannot serve goes to a band form in float64, and what has no Cholesky factor at
    all (an indefinite kernel) to eigenvectors. Up to 300 rows start with these.

    Parameters
    ----------
    K : array of shape (n, n)
        The Gram matrix in float32 or float64; it is not changed.
    Y : array of shape (n, t)
        Targets; those of rows that are not trained on are not looked at.
    lams : sequence of n_lams floats > 0
        The λ.
    weight : array of shape (n,), default=None
        Weights ≥ 0; rows of weight 0 are left out, and their α is 0.
    train : array of int, default=None
        The training rows; None means all.
    part : PartialFactor, default=None
        What `partial_factor` returns of K and the smallest λ, for those who ask for several sets
        of training rows; None: it is computed.
    double_up_to : int, default=2000
        The number of training rows up to which the band form is in float64.

    Returns
    -------
    RidgePath
        Coefficients, offsets, fitted and held-out values, and the residuals that prove them.
    """
    lams = check_lams(lams, "lams")
    train = np.arange(len(K)) if train is None else np.asarray(train)
    weight = np.ones(len(K)) if weight is None else np.asarray(weight, dtype=np.float64)
    chosen = np.flatnonzero(weight[train] > 0)
    if not len(chosen):
        raise ValueError("train must hold at least one row of positive weight; got none")
    K = np.ascontiguousarray(K, dtype=np.float64)
    block = _TrainingBlock(K, train[chosen], memory)
    system = ScaledSystem(block.product, Y[block.rows], weight[block.rows], fit_intercept)
    if part is None:
        part = partial_factor(K, float(lams.min()))
    attempts = _attempts(system, block, part, double_up_to)
    X, route = _ladder(system, attempts, lams, tolerance)
    alpha = np.zeros((len(lams), Y.shape[1], len(train)))
    alpha[..., chosen] = X * system.root
    f = block.values(alpha[..., chosen])  # (n_lams, t, n)
    b = system.intercept(f[..., block.rows])
    residual = system.residual(X, f[..., block.rows], b, lams)
    f += b[..., None]
    return RidgePath(alpha.T, b.T, f.T, residual, tolerance, route)


def check_lams(lams: Any, name: str) -> np.ndarray:
    """Return the λ as an array, or say what is wrong."""
    try:
        values = np.asarray(lams)
    except ValueError:  # lists of different lengths
        values = np.empty(0)
    # of a list with one text in it NumPy makes text, of one with True in it 1
    if any(isinstance(lam, (bool, np.bool_)) for lam in np.ravel(np.asarray(lams, dtype=object))):
        values = np.empty(0)
    values = values.astype(np.float64) if values.dtype.kind in "iuf" else np.empty(0)
    if values.ndim != 1 or not len(values) or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"{name} must be a list of finite numbers > 0; got {lams!r}")
    return values


class _TrainingBlock(NamedTuple):
    """The training rows and columns of a Gram matrix."""

    K: np.ndarray
    rows: np.ndarray
    memory: Any

    def extend(self, V: np.ndarray) -> np.ndarray:
        """Return K[:, rows] V without a copy of K."""
        if len(self.rows) == len(self.K) and (np.diff(self.rows) == 1).all():
            return _lapack.matmul(self.K, np.asfortranarray(V))
        padded = np.zeros((len(self.K), V.shape[1]), order="F")
        padded[self.rows] = V
        return _lapack.matmul(self.K, padded)

    def product(self, V: np.ndarray) -> np.ndarray:
        return self.extend(V)[self.rows]

    def values(self, alpha: np.ndarray) -> np.ndarray:
        """Return K[:, rows] α for α of shape (n_lams, t, m)."""
        f = self.extend(alpha.reshape(-1, alpha.shape[-1]).T)
        return f.T.reshape(*alpha.shape[:2], -1)


# ---------------------------------------------------------------- factors, the cheapest first
class PartialFactor(NamedTuple):
    """K ≈ LLᵀ, from some of its rows."""

    L: np.ndarray  # (n, r)
    leaves_little: bool  # whether the trace of K − LLᵀ is at most λ


def partial_factor(K: np.ndarray, lam: float) -> PartialFactor:
    """Return a factor that leaves no more than λ; of less rank where that is out of reach."""
    if len(K) <= EIGEN_UP_TO:
        return PartialFactor(np.empty((len(K), 0)), False)
    require_finite(K.min() + K.max())
    most = max(int(LOW_RANK * len(K)), 2 * DIRECTIONS)
    go_on = _Outlook(lam, most)
    L, _ = randomly_pivoted_cholesky(
        gram(Precomputed(), K), most, np.random.RandomState(0), go_on=go_on
    )
    return PartialFactor(L, go_on.reached)


class _Outlook:
    """Whether a remainder of λ is not reached yet, but within reach of a rank.

    The logarithm of the remainder falls more and more slowly with the rank: if it does not get
    there at its last pace, it never does.
    """

    def __init__(self, lam: float, rank: int):
        self.goal, self.rank, self.reached = np.log(lam), rank, False
        self.path: list[tuple[int, float]] = []

    def __call__(self, r: int, rest: float) -> bool:
        self.reached = rest <= 0.0 or bool(np.log(rest) <= self.goal)
        if self.reached:
            return False
        self.path.append((r, float(np.log(rest))))
        if r < 2 * DIRECTIONS:
            return True
        before, level = self.path[len(self.path) // 2 - 1]  # of the latter half of the way
        pace = (self.path[-1][1] - level) / (r - before)
        return bool(self.path[-1][1] + pace * (self.rank - r) <= self.goal)


class _Attempt(NamedTuple):
    name: str
    factor: Callable[[np.ndarray], Factor]  # of the λ that are left
    steps: int  # of conjugate gradients that it is worth


def _attempts(
    system: ScaledSystem, block: _TrainingBlock, part: PartialFactor, double_up_to: int
) -> Iterator[_Attempt]:
    """Yield what to try, the cheapest first, until every λ is served."""
    m = len(block.rows)

    def whole(make: Callable[..., Factor], dtype: Any = np.float64) -> Callable[..., Factor]:
        def factor(lams: np.ndarray) -> Factor:
            matrix = scaled_matrix(block.K, block.rows, system, dtype, memory=block.memory)
            # A is s times too large: conjugate gradients find the length of each step themselves
            return make(matrix.A, matrix.s * lams)

        return factor

    if m > EIGEN_UP_TO:
        F = system.project(part.L[block.rows].T * system.root)  # (r, m)
        if part.leaves_little:
            yield _Attempt("low rank", lambda lams: LowRankForm(F, lams), 12)
        if m > double_up_to:
            yield _Attempt("band float32", lambda lams: _deflated(system, block, F, lams), 16)
        yield _Attempt("band float64", whole(BandForm), 4)
    yield _Attempt("eigenvectors", whole(EigenForm.of), 4)


def _deflated(
    system: ScaledSystem, block: _TrainingBlock, F: np.ndarray, lams: np.ndarray
) -> DeflatedForm:
    """Return the form in float32, but for the leading directions of FᵀF."""
    F = F[: 2 * DIRECTIONS]
    sizes, V = eigh(F @ F.T)
    large = sizes > SMALLEST * sizes.max(initial=0.0)
    large[:-DIRECTIONS] = False
    U = (V[:, large] / np.sqrt(sizes[large])).T @ F
    AU = system.apply(U)
    values, V = eigh(U @ AU.T)
    kept = values > SMALLEST * values.max(initial=0.0)
    values, U, AU = values[kept], V.T[kept] @ U, V.T[kept] @ AU
    W = AU / np.sqrt(values)[:, None]
    matrix = scaled_matrix(block.K, block.rows, system, np.float32, memory=block.memory, without=W)
    band = BandForm(matrix.A, matrix.s * lams)
    return DeflatedForm(U, AU, values, band, matrix.s, lams)


def _ladder(
    system: ScaledSystem, attempts: Iterator[_Attempt], lams: np.ndarray, tolerance: float
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Try each factor on the λ that the ones before could not serve."""
    X = np.zeros((len(lams), *system.target.shape))
    route = np.full(len(lams), "", dtype=object)
    todo = np.arange(len(lams))
    for attempt in attempts:
        factor = attempt.factor(lams[todo])
        goal = GOAL * tolerance
        X[todo], done = refine(system, lams[todo], factor, goal=goal, steps=attempt.steps)
        route[todo] = attempt.name
        todo = todo[~done]
        if not len(todo):
            break
    return X, tuple(route)
