"""Points whose features lie near given points of a feature space."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._array import ranges
from mercer.gram import gram
from mercer.kernels import RBF, Kernel, Linear
from mercer.solvers.ridge import solve_ridge
from mercer.solvers.ridge_loo import solve_ridge_loo

METHODS = ("auto", "fixed_point", "distances", "ridge")
BLOCK_VALUES = 2**21  # kernel values of a block of rows
MOST_STEPS = 300  # of the fixed point
STEP_TOLERANCE = 1e-9  # a step of less than this share of the size of the data ends it
NEIGHBOURS = 10  # points whose distances place a pre-image
LOO_UP_TO = 2000  # points from which the weight of the penalty is chosen


class FeaturePoints(NamedTuple):
    """m points Σᵢ cᵢ φ(xᵢ) of feature space, by their scores and by their coefficients."""

    kernel: Kernel
    X: Any  # (n, d), the training rows
    training_scores: np.ndarray  # (n, k)
    scores: np.ndarray  # (m, k)
    directions: np.ndarray  # (n, k): coefficients of the orthonormal directions
    means: np.ndarray  # (n,): K 1/n
    total: float  # 1ᵀK1/n²

    def coefficients(self, part: slice) -> np.ndarray:
        """Return c, shape (rows, n), with Σc = 1: the mean plus the directions."""
        C = self.scores[part] @ self.directions.T
        return C + (1.0 - C.sum(axis=1, keepdims=True)) / C.shape[1]

    def squared_norms(self) -> np.ndarray:
        """Return ‖Σ cᵢ φ(xᵢ)‖², from ‖mean‖², its inner products with the directions, and ‖z‖²."""
        along_mean = self.scores @ (self.directions.T @ (self.means - self.total))
        return self.total + 2.0 * along_mean + np.einsum("ij,ij->i", self.scores, self.scores)

    def blocks(self) -> list[slice]:
        return ranges(len(self.scores), max(1, BLOCK_VALUES // len(self.training_scores)))

    def nearest(self, count: int) -> np.ndarray:
        """Return the training points whose scores are nearest, shape (m, count)."""
        own = np.einsum("ij,ij->i", self.training_scores, self.training_scores)
        parts = [
            np.argsort(own - 2.0 * self.scores[p] @ self.training_scores.T, axis=1)[:, :count]
            for p in self.blocks()
        ]
        return np.vstack(parts)


def choose_method(kernel: Kernel, method: str) -> str:
    """Return the way to a pre-image that a kernel allows, or say why there is none."""
    if kernel.domain != "vectors":
        raise ValueError(
            f"pre-images are rows of numbers, and {kernel!r} is a kernel on other objects"
        )
    plain = getattr(kernel, "is_plain", True)  # no metric
    if method == "auto":
        ways: dict[type[Kernel], str] = {RBF: "fixed_point", Linear: "exact"}
        return ways.get(type(kernel), "ridge") if plain else "ridge"
    if method in ("fixed_point", "distances") and not (plain and isinstance(kernel, RBF)):
        raise ValueError(
            f"preimage={method!r} needs the Gaussian kernel RBF(); got {kernel!r}: "
            f"use preimage='ridge'"
        )
    return method


def preimages(points: FeaturePoints, method: str) -> np.ndarray:
    """Return rows x whose φ(x) lie near the points, shape (m, d)."""
    find = {
        "exact": _combinations,
        "fixed_point": _fixed_points,
        "distances": _by_distances,
        "ridge": by_regression,
    }
    return find[method](points)


def _combinations(points: FeaturePoints) -> np.ndarray:
    """φ(x) = x: the same combination of the rows."""
    return np.vstack([_times(points.coefficients(p), points.X) for p in points.blocks()])


def _times(C: np.ndarray, X: Any) -> np.ndarray:
    return np.asarray((X.T @ C.T).T if sp.issparse(X) else C @ X)


# ------------------------------------------------------------------------ Gaussian kernel
def _fixed_points(points: FeaturePoints) -> np.ndarray:
    """Maximise ρ(x) = Σ cᵢ k(x, xᵢ), that is, minimise ‖φ(x) − Σ cᵢ φ(xᵢ)‖, since k(x, x) = 1.

    x ← Σ cᵢ k(x, xᵢ) xᵢ / ρ(x) has the stationary points of ρ as its fixed points; a step that
    does not raise ρ (some cᵢ are negative) is halved until it does.
    """
    start = _dense_rows(points.X, points.nearest(1)[:, 0])
    return np.vstack(
        [
            _ascend(points.kernel, points.X, points.coefficients(p), start[p])
            for p in points.blocks()
        ]
    )


def _dense_rows(X: Any, index: np.ndarray) -> np.ndarray:
    rows = X[index]
    return (rows.toarray() if sp.issparse(rows) else np.asarray(rows)).astype(np.float64)


def _ascend(kernel: Kernel, X: Any, C: np.ndarray, start: np.ndarray) -> np.ndarray:
    best, trial = start.copy(), start.copy()
    height = np.full(len(start), -np.inf)
    open_rows = np.arange(len(start))
    size = np.abs(start).max(initial=0.0)
    for _ in range(MOST_STEPS):
        W = C[open_rows] * kernel(trial[open_rows], X)
        rho = W.sum(axis=1)
        risen = rho > height[open_rows]
        up, down = open_rows[risen], open_rows[~risen]
        height[up], best[up] = rho[risen], trial[up]
        aimed = rho[risen] > 0
        trial[up[aimed]] = _times(W[risen][aimed], X) / rho[risen][aimed, None]
        trial[down] = (trial[down] + best[down]) / 2.0
        moved = np.abs(trial[open_rows] - best[open_rows]).max(axis=1, initial=0.0)
        open_rows = open_rows[moved > STEP_TOLERANCE * size]
        if len(open_rows) == 0:
            break
    return best


def _by_distances(points: FeaturePoints) -> np.ndarray:
    """Place each point by its distances to its neighbours, which k(x, y) = e^(−γ‖x−y‖²) tells.

    With the neighbours' centred coordinates A = U S Vᵀ, ‖x − xⱼ‖² = dⱼ² for all j gives by
    differences the linear least squares problem 2A (x − mean) = a − d² − mean(a − d²) with
    aⱼ = ‖Aⱼ‖².
    """
    neighbours = points.nearest(min(NEIGHBOURS, len(points.training_scores)))
    squares, norms = _squared_distances(points, neighbours), points.squared_norms()
    # the point lies inside the sphere of features: what is compared is its direction
    cosines = (norms[:, None] + 1.0 - squares) / (2.0 * np.sqrt(norms)[:, None])
    d2 = -np.log(np.clip(cosines, 1e-12, 1.0)) / float(points.kernel.get_params()["gamma"])
    return np.array(
        [_place(_dense_rows(points.X, near), d) for near, d in zip(neighbours, d2, strict=True)]
    )


def _squared_distances(points: FeaturePoints, neighbours: np.ndarray) -> np.ndarray:
    """Return ‖Σ cᵢφ(xᵢ) − φ(xⱼ)‖² for the neighbours j, from rows of the kernel at these."""
    out = np.empty(neighbours.shape)
    norms = points.squared_norms()
    for p in points.blocks():
        used, place = np.unique(neighbours[p], return_inverse=True)
        inner = points.coefficients(p) @ np.asarray(points.kernel(points.X, points.X[used]))
        mine = np.take_along_axis(inner, place.reshape(neighbours[p].shape), axis=1)
        out[p] = norms[p][:, None] + 1.0 - 2.0 * mine
    return np.maximum(out, 0.0)


def _place(rows: np.ndarray, d2: np.ndarray) -> np.ndarray:
    mean = rows.mean(axis=0)
    A = rows - mean
    right = np.einsum("ij,ij->i", A, A) - d2
    return mean + np.linalg.lstsq(2.0 * A, right - right.mean(), rcond=1e-10)[0]


# ------------------------------------------------------------------------ any kernel
def by_regression(points: FeaturePoints, *, loo_up_to: int = LOO_UP_TO) -> np.ndarray:
    """Learn x from the scores by kernel ridge regression, λ chosen by leave-one-out."""
    S = points.training_scores
    rows = points.X.toarray() if sp.issparse(points.X) else points.X
    Y = np.asarray(rows, dtype=np.float64)
    kernel = RBF().bind(S)
    solution = _fit_ridge(kernel, S, Y, loo_up_to)
    new = gram(kernel, points.scores, S, storage="blocked", dtype=np.float64)
    return np.asarray(new @ solution.value) + solution.intercept


def _fit_ridge(kernel: Kernel, S: np.ndarray, Y: np.ndarray, loo_up_to: int) -> Any:
    n = len(S)
    some = np.linspace(0, n - 1, min(n, loo_up_to)).astype(int)
    K = gram(kernel, S[some], dtype=np.float64)
    solution = solve_ridge_loo(K, Y[some], np.ones(len(some)))
    if len(some) == n:
        return solution
    lam = solution.errors.best * n / len(some)
    return solve_ridge(gram(kernel, S, dtype=np.float64), Y, np.full(n, lam))
