"""Weights of columns by the evidence for them (automatic relevance).

Targets that are a Gaussian process with covariance s²(K_w + λ/weights) around a constant have the
density p(Y | w, λ, s). The offset and the s of each target are at their best values in closed form,
so that weights w, λ and the exponent of the kernel are what remains to be found, by gradients. Many
columns have no gradient that a plain kernel could see among the others; the evidence sees them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import minimize

from mercer._limits import Limits
from mercer.kernels.gradients import distance_slopes
from mercer.kernels.radial import Radial
from mercer.kernels.sample import Pair, Sample
from mercer.machines._metric_rows import TargetRows

STEPS = 20  # of the search for weights
LOG_WEIGHTS = (-14.0, 6.0)  # of categories, beside that of plain ones
LOG_LAMS = (-14.0, 5.0)
LEAST_EXPONENT = 0.25
PARTS = 32  # of 1, to which logarithms are rounded: where steps end differs by more than rounding
IMPOSSIBLE = 1e10  # the value where the matrix is not positive definite


class Relevance(NamedTuple):
    """What the evidence decides: weights of categories, λ, and the exponent if it is open."""

    weights: np.ndarray
    lam: float
    exponent: float | None

    @classmethod
    def of(cls, theta: np.ndarray, n: int) -> Self:
        more = theta[n + 1 :]
        weights, lam = np.exp(theta[:n]), float(np.exp(theta[n]))
        return cls(weights, lam, float(more[0]) if len(more) else None)

    @property
    def theta(self) -> np.ndarray:
        """All of it in one array, weights and λ by their logarithms."""
        more = [] if self.exponent is None else [self.exponent]
        return np.r_[np.log(self.weights), np.log(self.lam), more]

    @classmethod
    def mean(cls, found: list[Self]) -> Self:
        """Return the mean of several, on the scales on which they were searched."""
        theta = np.mean([one.theta for one in found], axis=0)
        return cls.of(theta, len(found[0].weights))

    def kernel(self, plain: Radial, metric: np.ndarray | None) -> Radial:
        """Return a kernel with this exponent and a metric."""
        more: dict[str, Any] = {"metric": metric}
        if self.exponent is not None:
            more["exponent"] = self.exponent
        return type(plain)(**plain.get_params(deep=False) | more)


@dataclass
class Evidence:
    """The negative logarithm of the evidence, for each entry of the targets.

    Parameters
    ----------
    plain : Radial
        A bound kernel without a metric.
    part : TargetRows
        The rows.
    """

    plain: Radial
    part: TargetRows

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and its gradient."""
        found = Relevance.of(theta, self.part.category.max() + 1)
        K, slopes, rows = self._values(found)
        value, G = self._of_matrix(K, found.lam / self.part.weight)
        if G is None:
            return IMPOSSIBLE, np.zeros_like(theta)
        of_lam = found.lam * float(np.diagonal(G) @ (1.0 / self.part.weight))
        more = [] if found.exponent is None else [_slope_of_exponent(K, found.exponent, G)]
        slopes *= G
        of_columns = distance_slopes(rows, slopes, self.plain.p)
        return value, np.r_[np.bincount(self.part.category, of_columns), of_lam, more]

    def _values(self, found: Relevance) -> tuple[np.ndarray, np.ndarray, Sample]:
        """Return kernel values, how they change with the statistic, and the rows as weighed."""
        kernel = found.kernel(self.plain, None)
        rows = Sample(self.part.rows.data * found.weights[self.part.category] ** (1.0 / kernel.p))
        K = np.empty((len(rows), len(rows)))
        kernel._fill_statistic(Pair(rows, rows, kernel._uses(), K.dtype), K)
        slopes = K.copy()
        kernel.epilogue(K)
        kernel.slope(slopes)
        return K, slopes, rows

    def _of_matrix(self, K: np.ndarray, noise: np.ndarray) -> tuple[float, np.ndarray | None]:
        """Return the value and its derivative by the entries of K."""
        C = K + np.diag(noise)
        L, failed = dpotrf(C, lower=1, clean=1, overwrite_a=1)
        if failed:
            return IMPOSSIBLE, None
        log_det = 2.0 * float(np.log(np.diagonal(L)).sum())
        lower, _ = dpotri(L, lower=1, overwrite_c=1)
        P = np.tril(lower) + np.tril(lower, -1).T  # the inverse
        n, t = self.part.Y.shape
        ones = P.sum(axis=1)
        residuals = self.part.Y - (ones @ self.part.Y) / ones.sum()
        alpha = P @ residuals
        sizes = np.einsum("it,it->t", residuals, alpha)
        value = 0.5 * (n * float(np.log(sizes).sum()) + t * log_det)
        P *= 0.5 * t
        P -= (0.5 * n * alpha / sizes) @ alpha.T
        return value / (n * t), P / (n * t)


def _slope_of_exponent(K: np.ndarray, q: float, G: np.ndarray) -> float:
    """Return how the value changes with q, of kernels exp(−E) with E = (γ · distance)^q."""
    E = -np.log(np.clip(K, 1e-300, 1.0))
    change = E * np.log(E, out=np.zeros_like(E), where=E > 0)
    change *= K
    return -float(np.vdot(G, change)) / q


def most_evident(
    plain: Radial, part: TargetRows, start: Relevance, limits: Limits, steps: int = STEPS
) -> Relevance:
    """Return weights, λ and exponent with the most evidence that so many steps from a start find.

    Targets that are constant say nothing and are left out; if all are, the start is returned.
    """
    spread = part.Y.std(axis=0)
    varies = spread > 1e-12 * np.abs(part.Y).max(initial=0.0)
    if not varies.any():
        return start
    part = part._replace(Y=part.Y[:, varies] / spread[varies])
    d = len(start.weights)
    bounds = [LOG_WEIGHTS] * d + [LOG_LAMS]
    bounds += [] if start.exponent is None else [(LEAST_EXPONENT, float(plain.p))]
    theta = np.clip(start.theta, *np.transpose(bounds))

    def stop(_: np.ndarray) -> None:
        if limits.stopped():
            raise StopIteration

    options = {"maxiter": steps}
    objective: Any = Evidence(plain, part)
    found = minimize(
        objective, theta, jac=True, method="L-BFGS-B", bounds=bounds, callback=stop, options=options
    )
    return Relevance.of(np.round(found.x * PARTS) / PARTS, d)
