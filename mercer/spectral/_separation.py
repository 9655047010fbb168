"""Contrasts of independent component analysis, and the rotations that make them stationary.

For whitened signals z and y = W z with W orthogonal the objective is Σᵢ Dᵢ E G(yᵢ), Dᵢ = ±1: the
sign that makes E G(yᵢ) a measure of how far yᵢ is from Gaussian.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mercer._array import n_threads, ranges, run_tiles
from mercer.spectral import _contrast_loops as loops
from mercer.spectral._rotations import Descent, RotationPoint, descend

TILE = 1024  # samples that are unmixed together
SERIAL_VALUES = 2**17  # values below which threads cost more than they save
ROUGH_STEPS = 12  # fixed-point steps in single precision at most
ROUGH_SLOPE = 2e-4  # derivative at which the descent in double precision takes over
MOST_FLIPS = 20  # changes of the signs D at most: then they stay
LEAST_CURVATURE = 0.02  # curvature that steps reckon with at least


# ------------------------------------------------------------------------ contrasts
class Contrast(NamedTuple):
    """A function G of signals with variance one."""

    G: Callable[[np.ndarray], np.ndarray]
    loop: Any  # g(y) and the sums of G and g' of a tile
    rough: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # g(y) and the sums of g'


def _tanh(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    g = np.tanh(Y)
    return g, Y.shape[1] - np.einsum("ij,ij->i", g, g)


def _gauss(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    squares = Y * Y
    e = np.exp(-0.5 * squares)
    return Y * e, e.sum(axis=1) - np.einsum("ij,ij->i", squares, e)


def _cube(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    squares = Y * Y
    return Y * squares, 3.0 * squares.sum(axis=1)


def _log_cosh(y: np.ndarray) -> np.ndarray:
    return np.logaddexp(y, -y) - np.log(2.0)


CONTRASTS = {
    "logcosh": Contrast(_log_cosh, loops.logcosh, _tanh),
    "exp": Contrast(lambda y: -np.exp(-0.5 * y * y), loops.gauss, _gauss),
    "kurtosis": Contrast(lambda y: 0.25 * y**4, loops.quartic, _cube),
}


def contrast_of(given: Any) -> Contrast:
    """Return a contrast by its name, or that of a function y ↦ (G(y), g(y), g′(y))."""
    return CONTRASTS[given] if isinstance(given, str) else _own_contrast(given)


def _own_contrast(function: Callable[[np.ndarray], Any]) -> Contrast:
    def parts(Y: np.ndarray) -> list[np.ndarray]:
        values = [np.asarray(part) for part in function(Y)]
        if [part.shape for part in values] != [Y.shape] * 3:
            raise ValueError(
                f"contrast must return three arrays of the shape of its argument, {Y.shape}: G(y) "
                f"and its two derivatives; got shapes {[part.shape for part in values]}"
            )
        return values

    def loop(Y: np.ndarray, g: np.ndarray, value: np.ndarray, slope: np.ndarray) -> None:
        G, g[...], bend = parts(Y)
        value += G.sum(axis=-1)
        slope += bend.sum(axis=-1)

    def rough(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, g, bend = parts(Y)
        return g.astype(Y.dtype), bend.sum(axis=1)

    return Contrast(lambda y: parts(y)[0], loop, rough)


def check_contrast(function: Callable[[np.ndarray], Any]) -> None:
    """Raise unless the three values of a function are G and its first two derivatives."""
    y, h = np.linspace(-3.0, 3.0, 61), 1e-5
    low, mid, high = ([np.asarray(part) for part in function(at)] for at in (y - h, y, y + h))
    for k, name in ((0, "g is not the derivative of G"), (1, "g′ is not the derivative of g")):
        slope = (high[k] - low[k]) / (2.0 * h)
        if not np.abs(slope - mid[k + 1]).max() <= 1e-4 * max(1.0, float(np.abs(slope).max())):
            raise ValueError(f"contrast must return G, g = G′ and g′: {name}")


@cache
def gaussian_figures(name: Any) -> tuple[float, float]:
    """Return E G(ν) of a Gaussian ν, and the spread of G(ν) that ν² does not explain."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    weights = weights / weights.sum()
    values = contrast_of(name).G(nodes)
    mean, shared = weights @ values, weights @ (values * (nodes**2 - 1.0))
    return float(mean), float(np.sqrt(weights @ (values - mean) ** 2 - shared**2 / 2.0))


# ------------------------------------------------------------------------ moments
class ContrastMoments(NamedTuple):
    """E G(y), E g'(y), M = E g(y) yᵀ and, if asked for, E y yᵀ of some signals."""

    value: np.ndarray  # (k,)
    slope: np.ndarray  # (k,)
    M: np.ndarray  # (k, k)
    covariance: np.ndarray  # (k, k)

    @property
    def signs(self) -> np.ndarray:
        """D: with these signs a rotation into another signal lowers the contrast."""
        return np.where(self.bend > 0.0, -1.0, 1.0)

    @property
    def bend(self) -> np.ndarray:
        """E g'(yᵢ) − E g(yᵢ)yᵢ: half the second derivative by the angle to a Gaussian signal."""
        return self.slope - np.diag(self.M)

    def ordered(self, order: np.ndarray) -> ContrastMoments:
        """Return the moments of the signals in another order."""
        M, covariance = (A[np.ix_(order, order)] for A in (self.M, self.covariance))
        return ContrastMoments(self.value[order], self.slope[order], M, covariance)


Source = Callable[[slice], np.ndarray]  # the signals of some samples, shape (k, len)
Shape = tuple[int, int]


def moments(
    source: Source,
    shape: Shape,
    contrast: Any,
    *,
    rough: bool = False,
    covariance: bool = False,
    workers: int | None = None,
) -> ContrastMoments:
    """Return the moments of signals of a shape (k, n), tile by tile, in double precision.

    Rough ones are E g'(y) and M in the precision of the source; the rest stays 0. Each worker adds
    to sums of its own.
    """
    k, n = shape
    G = contrast_of(contrast)
    workers = workers or (n_threads() if n * k > SERIAL_VALUES else 1)
    sums = [np.zeros((workers, *part)) for part in ((k,), (k,), (k, k), (k, k))]

    def add(tile: slice, worker: int) -> None:
        Y = source(tile)
        value, slope, M, C = (part[worker] for part in sums)
        if rough:
            g, slopes = G.rough(Y)
            slope += slopes
        else:
            g = np.empty_like(Y)
            G.loop(Y, g, value, slope)
        M += g @ Y.T
        if covariance:
            C += Y @ Y.T

    run_tiles(add, ranges(n, TILE), workers)
    return ContrastMoments(*(part.sum(axis=0) / n for part in sums))


def turned(W: np.ndarray, Z: np.ndarray) -> Source:
    """Return the source y = W z."""
    return lambda tile: W @ Z[:, tile]


# ------------------------------------------------------------------------ all signals together
class SeparationContrast:
    """The negative of Σᵢ Dᵢ E G(yᵢ) over all signals at once, as an objective of rotations."""

    def __init__(self, Z: np.ndarray, contrast: Any):
        self.Z, self.contrast = Z, contrast
        self.signs, self.flips = np.zeros(len(Z)), 0

    def at(self, W: np.ndarray) -> RotationPoint:
        """Evaluate the objective with the signs as they are."""
        found = self._moments(W)
        if not self.signs.any():
            self.signs = found.signs
        return self._point(found)

    def settle(self, point: RotationPoint) -> RotationPoint:
        """Let the signs follow the signals, a limited number of times."""
        found: ContrastMoments = point.facts[0]
        if self.flips >= MOST_FLIPS or np.array_equal(found.signs, self.signs):
            return point
        self.signs, self.flips = found.signs, self.flips + 1
        return self._point(found)

    def _moments(self, W: np.ndarray) -> ContrastMoments:
        return moments(turned(W, self.Z), self.Z.shape, self.contrast)

    def _point(self, found: ContrastMoments) -> RotationPoint:
        DM = self.signs[:, None] * found.M
        bend = np.abs(found.bend)
        curvature = np.maximum(bend[:, None] + bend, LEAST_CURVATURE)
        value = -float(self.signs @ found.value)
        return RotationPoint(value, DM.T - DM, curvature, (found, self.signs))


class OneSignal(SeparationContrast):
    """The same for the first signal alone: only planes with the first axis count."""

    def __init__(self, Z: np.ndarray, contrast: Any):
        super().__init__(Z, contrast)
        self.signs = np.zeros(1)

    def _moments(self, W: np.ndarray) -> ContrastMoments:
        y = np.ascontiguousarray(W[:1] @ self.Z)
        g, value, slope = np.empty_like(y), np.zeros(1), np.zeros(1)
        contrast_of(self.contrast).loop(y, g, value, slope)
        n = y.shape[1]
        return ContrastMoments(value / n, slope / n, ((g @ self.Z.T) @ W.T) / n, np.zeros((1, 1)))

    def _point(self, found: ContrastMoments) -> RotationPoint:
        k = found.M.shape[1]
        slope, D = np.zeros((k, k)), self.signs[0]
        slope[0, 1:], slope[1:, 0] = -D * found.M[0, 1:], D * found.M[0, 1:]
        curvature = np.full((k, k), max(abs(float(found.bend[0])), LEAST_CURVATURE))
        return RotationPoint(-float(D * found.value[0]), slope, curvature, (found, self.signs))


# ------------------------------------------------------------------------ algorithms
def rough_rotation(W: np.ndarray, Z: np.ndarray, contrast: Any, steps: int) -> np.ndarray:
    """Return W after FastICA's symmetric fixed-point steps in single precision.

    W ← D · polar(E g(y) yᵀ − diag E g'(y)) W: large steps that find the basin soon; where the
    derivatives are small the descent in double precision does better.
    """
    Z = Z.astype(np.float32)
    for _ in range(steps):
        found = moments(turned(W.astype(np.float32), Z), Z.shape, contrast, rough=True)
        D = found.signs
        DM = D[:, None] * found.M
        if np.abs(DM - DM.T).max() <= ROUGH_SLOPE:
            break
        U, _, Vt = np.linalg.svd(found.M - np.diag(found.slope))
        W = D[:, None] * (U @ (Vt @ W))
    return W


def separate(Z: np.ndarray, contrast: Any, W: np.ndarray, tol: float, max_iter: int) -> Descent:
    """Find all signals together, from W."""
    if len(W) > 1:
        W = rough_rotation(W, Z, contrast, min(ROUGH_STEPS, max_iter))
    return descend(SeparationContrast(Z, contrast), W, tol=tol, max_iter=max_iter)


def deflate(Z: np.ndarray, contrast: Any, W: np.ndarray, tol: float, max_iter: int) -> Descent:
    """Find one signal after the other, each uncorrelated with those before it."""
    found, basis, ends = [], W, []
    start, tol = np.eye(len(W)), tol / max(len(W), 1) ** 0.5  # whatever axes the rest is seen from
    Z = W @ Z
    while len(Z):
        ends.append(descend(OneSignal(Z, contrast), start, tol=tol, max_iter=max_iter))
        turned = ends[-1].W
        found.append(turned[0] @ basis)
        basis, Z, start = turned[1:] @ basis, turned[1:] @ Z, start[1:, 1:]
    worst = next((end for end in ends if not end.status.ok), ends[-1] if ends else None)
    if worst is None:
        return descend(SeparationContrast(Z, contrast), W, tol=tol, max_iter=0)
    return Descent(np.array(found), worst.point, max(e.n_iter for e in ends), worst.status)
