"""The Gaussian density: estimation, marginals, conditionals, entropy and divergence."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, eigh, solve_triangular
from sklearn.utils import check_random_state

from mercer._array import as_index, as_table
from mercer._estimator import check_weights
from mercer._floats import EPS
from mercer.bayes._moments import LOG_2PI, weighted_mean

SYMMETRIC = 1e-10  # difference of Σ and Σᵀ, relative to the variances


class Gaussian:
    """The normal distribution N(μ, Σ) of vectors.

    p(x) = exp(−½ (x − μ)ᵀΣ⁻¹(x − μ)) / √det(2πΣ). Σ may be singular: then there are samples and
    marginals, but no density.

    Parameters
    ----------
    mean : array of shape (d,)
        μ.
    covariance : array of shape (d, d)
        Σ, symmetric and positive semidefinite.

    Examples
    --------
    >>> from mercer.bayes import Gaussian
    >>> joint = Gaussian([0.0, 1.0], [[2.0, 1.0], [1.0, 4.0]])
    >>> joint.marginal([1])
    Gaussian(mean=[1.0], covariance=[[4.0]])
    >>> joint.conditional({1: 3.0})
    Gaussian(mean=[0.5], covariance=[[1.75]])
    """

    def __init__(self, mean: Any, covariance: Any):
        self.mean = _vector(mean, "mean")
        self.covariance = _covariance(covariance, len(self.mean))

    def __repr__(self) -> str:
        return f"Gaussian(mean={self.mean.tolist()}, covariance={self.covariance.tolist()})"

    # ------------------------------------------------------------ estimation
    @classmethod
    def fit(
        cls,
        X: Any,
        prior: NormalInverseWishart | None = None,
        *,
        ddof: int = 0,
        sample_weight: Any = None,
    ) -> Gaussian:
        """Estimate μ and Σ from rows.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        prior : NormalInverseWishart, default=None
            None is maximum likelihood; a prior gives the most probable (μ, Σ), MAP.
        ddof : {0, 1}, default=0
            Σ is the sum of squares over n − ddof: 0 maximises the likelihood, 1 has no bias.
            A prior admits 0 only.
        sample_weight : array of shape (n,), default=None
            How often each row counts.
        """
        X = _table(X)
        weight = check_weights(sample_weight, len(X))
        n = float(weight.sum())
        _check_ddof(ddof, n, prior)
        mean = weighted_mean(X, weight)
        rows = X - mean
        scatter = (rows.T * weight) @ rows
        if prior is not None:
            return cls(*prior.updated(mean, scatter, n).mode())
        return cls(mean, scatter / (n - ddof))

    # ------------------------------------------------------------ density
    @cached_property
    def _factor(self) -> tuple[np.ndarray, np.ndarray]:
        """Deviations s and the Cholesky factor L of the correlations: Σ = diag(s) LLᵀ diag(s)."""
        s = np.sqrt(np.diagonal(self.covariance))
        d = len(s)
        if (s > 0).all():
            try:
                L = cholesky(self.covariance / s[:, None] / s, lower=True)
            except np.linalg.LinAlgError:
                L = np.zeros((d, d))
            if np.diagonal(L).min() ** 2 > d * EPS:
                return s, L
        raise ValueError(
            "covariance is singular: there is no density; take a marginal of fewer columns, or "
            "estimate with a prior"
        )

    def _whiten(self, rows: np.ndarray) -> np.ndarray:
        """Return y with ‖y‖² = (x − μ)ᵀΣ⁻¹(x − μ), as columns."""
        s, L = self._factor
        return solve_triangular(L, ((rows - self.mean) / s).T, lower=True)

    @property
    def log_determinant(self) -> float:
        """The logarithm of det Σ."""
        s, L = self._factor
        return 2.0 * float(np.log(s).sum() + np.log(np.diagonal(L)).sum())

    def log_density(self, X: Any) -> np.ndarray:
        """Return log p(x) of each row."""
        rows = _rows(X, len(self.mean))
        squares = np.sum(self._whiten(rows) ** 2, axis=0)
        return -0.5 * (squares + self.log_determinant + len(self.mean) * LOG_2PI)

    def density(self, X: Any) -> np.ndarray:
        """Return p(x) of each row, which underflows far from μ."""
        return np.exp(self.log_density(X))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows, shape (n_samples, d)."""
        values, vectors = eigh(self.covariance)  # a singular covariance has a root as well
        noise = check_random_state(random_state).standard_normal((n_samples, len(self.mean)))
        return self.mean + (noise * np.sqrt(np.maximum(values, 0.0))) @ vectors.T

    # ------------------------------------------------------------ parts
    def marginal(self, indices: Any) -> Gaussian:
        """Return the distribution of some of the variables, in the order that is given."""
        index = self._index(indices, "indices")
        return _trusted(self.mean[index], self.covariance[np.ix_(index, index)])

    def conditional(self, given: Any, values: Any = None) -> Gaussian:
        """Return the distribution of the other variables if some are known.

        μ_a + Σ_ab Σ_bb⁻¹ (x_b − μ_b) and the Schur complement Σ_aa − Σ_ab Σ_bb⁻¹ Σ_ba.

        Parameters
        ----------
        given : dict or array of int
            ``{index: value}``, or the indices alone.
        values : array, default=None
            The values, if ``given`` holds indices.
        """
        if isinstance(given, Mapping):
            given, values = list(given), list(given.values())
        known = self._index(given, "given")
        values = _vector(values, "values")
        if len(values) != len(known):
            raise ValueError(f"values must be {len(known)} numbers, as given; got {len(values)}")
        other = np.setdiff1d(np.arange(len(self.mean)), known)
        if not len(other):
            raise ValueError("given must leave at least one variable")
        return self._schur(other, known, values)

    def _schur(self, other: np.ndarray, known: np.ndarray, values: np.ndarray) -> Gaussian:
        part = self.marginal(known)
        s, L = part._factor
        half = solve_triangular(L, self.covariance[np.ix_(known, other)] / s[:, None], lower=True)
        mean = self.mean[other] + half.T @ part._whiten(values[None])[:, 0]
        Sigma = self.covariance[np.ix_(other, other)] - half.T @ half
        # a variance that is 0 may round to less
        np.fill_diagonal(Sigma, np.maximum(np.diagonal(Sigma), 0.0))
        return _trusted(mean, Sigma)

    def _index(self, indices: Any, name: str) -> np.ndarray:
        index = as_index(indices, len(self.mean), name)
        if len(index) == 0 or len(np.unique(index)) < len(index):
            raise ValueError(f"{name} must name at least one variable, each once; got {indices!r}")
        return index

    # ------------------------------------------------------------ information
    def entropy(self) -> float:
        """Return −E log p(x) = ½ log det(2πeΣ), in nats."""
        return 0.5 * (self.log_determinant + len(self.mean) * (LOG_2PI + 1.0))

    def kl(self, other: Gaussian) -> float:
        """Return the divergence E log p(x) − E log q(x) of another Gaussian q, in nats."""
        if len(other.mean) != len(self.mean):
            raise ValueError(f"other must have {len(self.mean)} variables; got {len(other.mean)}")
        s, L = self._factor
        unit, M = other._factor
        ratio = solve_triangular(M, L * (s / unit)[:, None], lower=True)
        shift = other._whiten(self.mean[None])
        logs = other.log_determinant - self.log_determinant
        return 0.5 * float(np.sum(ratio**2) + np.sum(shift**2) - len(s) + logs)


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


def _trusted(mean: np.ndarray, covariance: np.ndarray) -> Gaussian:
    """Return a Gaussian without checks: what follows from a covariance is one, up to rounding."""
    part = Gaussian.__new__(Gaussian)
    part.mean, part.covariance = mean, 0.5 * (covariance + covariance.T)
    return part


def _vector(values: Any, name: str) -> np.ndarray:
    vector = np.atleast_1d(np.asarray(values))
    if vector.ndim != 1 or vector.dtype.kind not in "biuf" or not np.isfinite(vector).all():
        raise ValueError(f"{name} must be a vector of finite numbers; got {values!r}")
    return vector.astype(np.float64)


def _covariance(values: Any, d: int) -> np.ndarray:
    Sigma = np.atleast_2d(np.asarray(values))
    if Sigma.shape != (d, d) or Sigma.dtype.kind not in "biuf" or not np.isfinite(Sigma).all():
        raise ValueError(
            f"covariance must be {d} × {d} finite numbers, as mean has {d}; got {Sigma.dtype} of "
            f"shape {Sigma.shape}"
        )
    Sigma = Sigma.astype(np.float64)
    s = np.sqrt(np.maximum(np.diagonal(Sigma), 0.0))
    excess = np.abs(Sigma - Sigma.T) - SYMMETRIC * s[:, None] * s
    if (np.diagonal(Sigma) < 0).any() or (excess > 0).any():
        raise ValueError("covariance must be symmetric with variances ≥ 0")
    unit = np.where(s > 0, s, 1.0)
    least = float(eigh(Sigma / unit[:, None] / unit, eigvals_only=True)[0])
    if least < -SYMMETRIC * d:
        raise ValueError(
            f"covariance must be positive semidefinite; its correlations have the eigenvalue "
            f"{least:.3g}"
        )
    return 0.5 * (Sigma + Sigma.T)


def _table(X: Any) -> np.ndarray:
    table = as_table(X, "X", "Gaussian")
    return np.asarray(table.toarray() if sp.issparse(table) else table, dtype=np.float64)


def _rows(X: Any, d: int) -> np.ndarray:
    rows = _table(X)
    if rows.shape[1] != d:
        raise ValueError(f"X must have {d} columns; got {rows.shape[1]}")
    return rows


def _check_ddof(ddof: int, n: float, prior: Any) -> None:
    if ddof not in (0, 1):
        raise ValueError(f"ddof must be 0 or 1; got {ddof!r}")
    if ddof and prior is not None:
        raise ValueError("ddof=1 is for estimates without a prior; got both")
    if n <= ddof:
        raise ValueError(f"ddof=1 needs more than one row (n_samples={n:g})")
