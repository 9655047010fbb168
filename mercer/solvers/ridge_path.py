"""Kernel ridge for many λ from one matrix: the work of about one decomposition for all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.solvers import _lapack
from mercer.solvers._factors import BandForm, EigenForm
from mercer.solvers._scaled import Factor, ScaledSystem, refine, scaled_matrix

EIGEN_UP_TO = 300  # points; eigenvectors are the fastest factor below
GOAL = 0.1  # of the tolerance: how far the refinement goes before the proof


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
        The factor that served each λ: "band float32", "band float64" or "eigenvectors".
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
    tolerance: float = 1e-8,
    memory: int | float | str | None = None,
) -> RidgePath:
    """Minimise Σᵢ wᵢ(yᵢ − f(xᵢ) − b)² + λ‖f‖² over training rows, for all λ.

    The matrix of the training rows, scaled by the weights and centred, goes to band form in
    float32; conjugate gradients in float64 make the solutions of all λ exact at once. A λ that
    float32 cannot serve goes to a band form in float64, and what has no Cholesky factor at all
    (an indefinite kernel) to eigenvectors. Up to 300 rows start with these.

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
    X, route = _ladder(system, block, lams, tolerance)
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
    # of a list with one text in it NumPy makes text
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


_Attempt = tuple[Callable[..., Factor], Any, int]


def _ladder(
    system: ScaledSystem, block: _TrainingBlock, lams: np.ndarray, tolerance: float
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Try each factor on the λ that the ones before could not serve."""
    X = np.zeros((len(lams), *system.target.shape))
    route = np.full(len(lams), "", dtype=object)
    todo = np.arange(len(lams))
    for name, (make, dtype, steps) in _factors_for(len(block.rows)).items():
        if len(todo):
            matrix = scaled_matrix(block.K, block.rows, system, dtype, memory=block.memory)
            # A is s times too large: conjugate gradients find the length of each step themselves
            factor = make(matrix.A, matrix.s * lams[todo])
            goal = GOAL * tolerance
            X[todo], done = refine(system, lams[todo], factor, goal=goal, steps=steps)
            route[todo] = name
            todo = todo[~done]
    return X, tuple(route)


def _factors_for(m: int) -> dict[str, _Attempt]:
    """Return the factors to try, the cheapest first: how, in which precision, how many steps."""
    eigen: dict[str, _Attempt] = {"eigenvectors": (EigenForm.of, np.float64, 4)}
    if m <= EIGEN_UP_TO:
        return eigen
    return {
        "band float32": (BandForm, np.float32, 8),
        "band float64": (BandForm, np.float64, 4),
        **eigen,
    }
