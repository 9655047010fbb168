"""Kernel ridge with λ chosen by the exact leave-one-out error, from one decomposition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mercer._array import SMALL, format_bytes, parse_memory, ranges
from mercer._floats import EPS
from mercer._limits import UNLIMITED
from mercer.gram import Gram, fresh_array
from mercer.result import Solution, Status
from mercer.solvers._factors import EigenForm
from mercer.solvers._scaled import ScaledSystem, refine, scaled_matrix
from mercer.solvers.ridge_near import NearFactors

GRID = (1e-9, 10.0)  # of the largest eigenvalue: what is tried first
FURTHEST = 1e6  # of the largest eigenvalue: beyond, only the mean is left
N_GRID = 30  # values in the grid
N_MORE = 10  # values that a grid is extended by
GOAL = 1e-12  # of the refinement, relative to the targets
BLOCK = 2**22  # values of a block of squared eigenvectors


class LooErrors(NamedTuple):
    """Errors of every λ that was tried, over rows (by weight) and targets."""

    lams: np.ndarray
    loo: np.ndarray
    """Mean squared leave-one-out error for each λ."""

    gcv: np.ndarray
    """Generalised cross-validation error for each λ."""

    @property
    def best(self) -> float:
        """The λ of the smallest leave-one-out error."""
        return float(self.lams[self.loo.argmin()])

    def merged(self, more: LooErrors) -> LooErrors:
        """Return the errors of both, by rising λ."""
        lams, loo, gcv = (np.concatenate(pair) for pair in zip(self, more, strict=True))
        order = lams.argsort()
        return LooErrors(lams[order], loo[order], gcv[order])


@dataclass(frozen=True, kw_only=True)
class LooSolution(Solution):
    """The solution for the λ of the smallest leave-one-out error, and the errors of all."""

    errors: LooErrors

    left_out: np.ndarray
    """y − f(x) of each row by the fit without it, for that λ, shape (n, t)."""


Errors = TypeVar("Errors", bound=Any)
"""Errors of λ: with ``lams``, ``best`` and ``merged``."""


def search_lam(errors: Callable[[np.ndarray], Errors], top: float, *, lowest: float) -> Errors:
    """Try a grid of λ, and go on beyond a border at which the best one lies.

    Parameters
    ----------
    errors : callable
        Takes λ, rising, and returns their errors: from a decomposition that all of them share.
    top : float
        The largest eigenvalue of the matrix that λ is added to, which is the unit of λ.
    lowest : float
        The λ, relative to ``top``, below which there is nothing but rounding.
    """
    lams = top * np.geomspace(*GRID, N_GRID)
    ratio, found = lams[1] / lams[0], errors(lams)
    while True:
        more = _beyond(found, ratio)
        more = more[(more >= lowest * top) & (more <= FURTHEST * top)]
        if not len(more):
            return found
        found = found.merged(errors(more))


def _beyond(found: Any, ratio: float, count: int = N_MORE) -> np.ndarray:
    """Return the next λ beyond the border at which the best one lies; none if it lies inside."""
    if found.best == found.lams[0]:
        return found.best / ratio ** np.arange(count, 0, -1)
    if found.best == found.lams[-1]:
        return found.best * ratio ** np.arange(1, count + 1)
    return np.empty(0)


def solve_ridge_loo(
    K: Gram,
    Y: np.ndarray,
    weight: np.ndarray,
    lams: np.ndarray | None = None,
    *,
    fit_intercept: bool = True,
    tolerance: float = 1e-8,
    memory: int | float | str | None = None,
    near: float | None = None,
) -> LooSolution:
    """Solve kernel ridge regression for the λ of the smallest leave-one-out error.

    With G the matrix that takes y to α (offset included), the error at a point that is left out
    is αᵢ / Gᵢᵢ: exact, also with weights. The eigenvectors V and eigenvalues s of the weighted,
    centred matrix give Gᵢᵢ = wᵢ Σₖ Vᵢₖ² / (sₖ + λ) for every λ.

    Parameters
    ----------
    K : Gram of shape (n, n)
        The training Gram matrix, float64.
    Y : array of shape (n, t)
        Targets of t problems that share λ.
    weight : array of shape (n,)
        Weights > 0.
    lams : array, default=None
        The λ > 0 to try. None is 30 values, evenly in the logarithm, from 10⁻⁹ to 10 times the
        largest eigenvalue, and 10 more beyond a border at which the optimum lies.
    near : float, default=None
        A λ that is good for much the same matrix: one goes from there, in steps of the grid, as
        long as the error falls. That takes less time than to try them all.

    Returns
    -------
    LooSolution
        ``value`` (n, t) and ``intercept`` (t,) for the best λ; ``errors`` of all.
    """
    if fit_intercept and len(Y) < 2:
        raise ValueError(
            "leave-one-out needs at least two rows of positive weight: with one sample "
            "(n_samples=1) nothing is left; give lam a number"
        )
    _require_memory(2 * 8 * len(Y) ** 2, memory)  # the matrix and its eigenvectors
    system = ScaledSystem(lambda V: K @ V, Y, weight, fit_intercept)
    found = (
        None
        if near is None or lams is not None
        else _solve_near(K, system, near, tolerance, memory)
    )
    if found is not None:
        return found
    spectrum = _Spectrum.of(K, system, memory)
    if lams is not None:
        errors = spectrum.errors(system, lams)
    else:
        top = float(np.abs(spectrum.own_values).max(initial=0.0))
        if top <= len(Y) * EPS * spectrum.size:  # rounding alone: no λ is better than another
            errors = spectrum.errors(system, np.array([spectrum.size or 1.0]))
        else:
            errors = search_lam(partial(spectrum.errors, system), top, lowest=10.0 * len(Y) * EPS)
    return _solve(K, system, spectrum, errors, tolerance)


def _require_memory(needed: int, memory: int | float | str | None) -> None:
    if (memory is not None or needed >= SMALL) and needed > parse_memory(memory):
        raise MemoryError(
            f"leave-one-out needs the whole matrix and its eigenvectors, {format_bytes(needed)}; "
            f"the budget is {format_bytes(parse_memory(memory))}: give lam a number, or raise "
            f"memory"
        )


def _solve_near(
    K: Gram, system: ScaledSystem, near: float, tolerance: float, memory: Any
) -> LooSolution | None:
    """Return the solution for the best λ about one; None where a matrix has no factor."""
    A = fresh_array(K, memory)
    factors = NearFactors(scaled_matrix(A, np.arange(len(A)), system, np.float64, out=A), system)
    ratio = (GRID[1] / GRID[0]) ** (1.0 / (N_GRID - 1))
    lowest, highest = factors.lowest * ratio, FURTHEST * factors.norm / ratio
    if not 0.0 < lowest <= near <= highest:
        return None
    more, found = near * ratio ** np.arange(-1.0, 2.0), None
    while len(more):
        tried = _errors_near(factors, system, more)
        if tried is None:
            return None
        found = tried if found is None else found.merged(tried)
        more = _beyond(found, ratio, 1)
        more = more[(more >= factors.lowest) & (more <= FURTHEST * factors.norm)]
    assert found is not None
    best = found.best
    form, condition = factors.last_form(best)
    lam = np.array([best])
    X, _ = refine(system, lam, form, goal=GOAL, steps=3)
    alpha, b, certificate = system.proved(
        K, X[0], best / system.weight, condition=condition, tolerance=tolerance
    )
    status = Status.OPTIMAL if certificate.ok else Status.ILL_CONDITIONED
    left_out = (X[0] / (system.root * factors.diagonal(best))).T
    return LooSolution(alpha, status, certificate, intercept=b, errors=found, left_out=left_out)


def _errors_near(factors: NearFactors, system: ScaledSystem, lams: np.ndarray) -> LooErrors | None:
    """Return the errors of some λ; None where a matrix has no factor."""
    figures, scale = [], system.Y.shape[1] * system.weight.sum()
    for lam in lams.tolist():
        found = factors.inverse(lam)
        if found is None:
            return None
        X, diagonal, trace = found
        left_out = X / (system.root * diagonal)
        loo = float((left_out**2 @ system.weight).sum())
        gcv = float((X**2).sum()) / (trace / len(diagonal)) ** 2
        figures.append((loo / scale, gcv / scale))
    loo, gcv = np.transpose(figures)
    return LooErrors(lams, loo, gcv)


class _Spectrum(NamedTuple):
    values: np.ndarray  # of P D K D P + c uuᵀ, u ∝ D1
    vectors: np.ndarray
    extra: float  # c
    size: float  # the trace of D K D before it was centred

    @classmethod
    def of(cls, K: Gram, system: ScaledSystem, memory: int | float | str | None) -> _Spectrum:
        """Decompose the matrix of a system."""
        A = fresh_array(K, memory)
        size = float(np.abs(np.diagonal(A)) @ system.weight)
        matrix = scaled_matrix(A, np.arange(len(A)), system, np.float64, out=A)
        stored = A.nbytes if K.holds_array else 0
        most = UNLIMITED if memory is None else parse_memory(memory) - stored
        form = EigenForm.of(matrix.A, np.zeros(1), most)
        return cls(form.values / matrix.s, form.vectors, matrix.c, size)

    @property
    def own_values(self) -> np.ndarray:
        """The eigenvalues of P D K D P, without that of u."""
        if not self.extra:
            return self.values
        return np.delete(self.values, np.abs(self.values - self.extra).argmin())

    def _shares(self, lams: np.ndarray) -> np.ndarray:
        """Return 1/(value + λ), 0 where that is no number, (n, n_lams)."""
        shifted = self.values[:, None] + lams
        return np.divide(1.0, shifted, out=np.zeros_like(shifted), where=shifted != 0)

    def errors(self, system: ScaledSystem, lams: np.ndarray) -> LooErrors:
        """Return the errors of every λ."""
        n, t = system.Y.shape
        inverse = self._shares(lams)
        C = self.vectors.T @ system.target.T  # (n, t)
        products = (C[:, :, None] * inverse[:, None]).reshape(n, -1)
        X = (self.vectors @ products).reshape(n, t, -1)
        diagonal, trace = self._inverse(inverse, system, lams)
        left_out = X / (system.root[:, None, None] * diagonal[:, None])
        loo = np.einsum("itl,itl,i->l", left_out, left_out, system.weight)
        gcv = np.einsum("itl,itl->l", X, X) / (trace / n) ** 2
        scale = t * system.weight.sum()
        return LooErrors(lams, loo / scale, gcv / scale)

    def left_out(self, system: ScaledSystem, X: np.ndarray, lam: np.ndarray) -> np.ndarray:
        """Return the leave-one-out residuals of the solution X, shape (t, n), for one λ."""
        inverse = self._shares(lam)
        diagonal, _ = self._inverse(inverse, system, lam)
        return (X / (system.root * diagonal[:, 0])).T

    def _inverse(
        self, inverse: np.ndarray, system: ScaledSystem, lams: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the diagonal and the trace of (P D K D P + λ)⁻¹ on the range of P."""
        n = len(inverse)
        diagonal = np.empty_like(inverse)
        for part in ranges(n, max(1, BLOCK // n)):
            np.matmul(self.vectors[part] ** 2, inverse, out=diagonal[part])
        if system.unit is None:
            return diagonal, inverse.sum(axis=0)
        of_unit = 1.0 / (self.extra + lams)
        diagonal -= system.unit[:, None] ** 2 * of_unit
        return diagonal, inverse.sum(axis=0) - of_unit


def _solve(
    K: Gram, system: ScaledSystem, spectrum: _Spectrum, errors: LooErrors, tolerance: float
) -> LooSolution:
    """Solve for the best λ and prove it."""
    lam = np.array([errors.best])
    factor = EigenForm(spectrum.values, spectrum.vectors, lam)
    X, _ = refine(system, lam, factor, goal=GOAL, steps=3)
    values = spectrum.own_values
    sizes = np.abs(values + errors.best)
    condition = float(sizes.max() / sizes.min()) if sizes.all() else np.inf
    alpha, b, certificate = system.proved(
        K, X[0], errors.best / system.weight, condition=condition, tolerance=tolerance
    )
    status = Status.OPTIMAL if certificate.ok else Status.ILL_CONDITIONED
    # the eigenvalue that was put in is as large as the entries that were rounded in centring
    rounding = 4.0 * len(values) * EPS * np.abs(spectrum.values).max()
    if values.min() < -rounding:
        status = Status.INDEFINITE
    left_out = spectrum.left_out(system, X[0], lam)
    return LooSolution(alpha, status, certificate, intercept=b, errors=errors, left_out=left_out)
