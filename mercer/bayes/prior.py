"""The conjugate prior of a Gaussian's mean and covariance."""

from __future__ import annotations

from typing import Any

import numpy as np


class NormalInverseWishart:
    """The prior μ | Σ ~ N(mean, Σ/strength), Σ ~ inverse Wishart(scale, dof).

    Its posterior is of the same family: with n rows of mean x̄ and scatter S the strength becomes
    κ + n, the degrees of freedom ν + n, the mean (κ m + n x̄)/(κ + n) and the scale
    Ψ + S + κn/(κ + n) (x̄ − m)(x̄ − m)ᵀ.

    Parameters
    ----------
    mean : array of shape (d,)
        m, where μ is expected.
    scale : array of shape (d, d)
        Ψ, positive definite: (ν + d + 2) times the most probable covariance.
    strength : float, default=1.0
        κ ≥ 0, how many rows the mean is worth.
    dof : float, default=None
        ν > d − 1, how many rows the covariance is worth; None is d + 2.

    Examples
    --------
    >>> from mercer.bayes import Gaussian, NormalInverseWishart
    >>> prior = NormalInverseWishart([0.0], [[1.0]], strength=1.0, dof=1.0)
    >>> Gaussian.fit([[3.0], [3.0]], prior=prior).mean
    array([2.])
    """

    def __init__(self, mean: Any, scale: Any, *, strength: float = 1.0, dof: float | None = None):
        self.mean = np.atleast_1d(np.asarray(mean, dtype=np.float64))
        d = len(self.mean)
        self.scale = np.atleast_2d(np.asarray(scale, dtype=np.float64))
        self.strength = float(strength)
        self.dof = float(d + 2 if dof is None else dof)
        self._check(d)

    def _check(self, d: int) -> None:
        if self.mean.ndim != 1 or not np.isfinite(self.mean).all():
            raise ValueError(f"mean must be a vector of finite numbers; got {self.mean!r}")
        if self.scale.shape != (d, d) or not np.isfinite(self.scale).all():
            raise ValueError(
                f"scale must be {d} × {d} finite numbers; got shape {self.scale.shape}"
            )
        symmetric = np.allclose(self.scale, self.scale.T, rtol=1e-10, atol=0.0)
        if not symmetric or np.linalg.eigvalsh(self.scale)[0] <= 0:
            raise ValueError("scale must be symmetric and positive definite")
        if not (np.isfinite(self.strength) and self.strength >= 0):
            raise ValueError(f"strength must be ≥ 0 and finite; got {self.strength}")
        if not (np.isfinite(self.dof) and self.dof > d - 1):
            raise ValueError(f"dof must be finite and more than d − 1 = {d - 1}; got {self.dof}")

    def updated(self, mean: np.ndarray, scatter: np.ndarray, n: float) -> NormalInverseWishart:
        """Return the posterior after n rows with this mean and this scatter about it."""
        if mean.shape != self.mean.shape:
            raise ValueError(f"X must have {len(self.mean)} columns, as prior; got {len(mean)}")
        strength = self.strength + n
        shift = mean - self.mean
        scale = self.scale + scatter + (self.strength * n / strength) * np.outer(shift, shift)
        center = self.mean + (n / strength) * shift
        scale = 0.5 * (scale + scale.T)
        return NormalInverseWishart(center, scale, strength=strength, dof=self.dof + n)

    def mode(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the most probable mean and covariance, m and Ψ/(ν + d + 2)."""
        return self.mean, self.scale / (self.dof + len(self.mean) + 2.0)

    def __repr__(self) -> str:
        return (
            f"NormalInverseWishart(mean={self.mean.tolist()}, scale={self.scale.tolist()}, "
            f"strength={self.strength}, dof={self.dof})"
        )
