"""Newton's method for smooth losses in a reproducing kernel Hilbert space.

min over α and b of  P = R(Kα + b) + λ αᵀKα.  With slopes U and curvature H = SSᵀ of the risk R and
ρ = 2λα + U, Newton's step is

    d = −ρ/(2λ) + S e,   (2λI + SᵀKS) e = SᵀKρ/(2λ),

where S has the offset eliminated. The system is solved by conjugate gradients that see K through
products only, with a low-rank copy of K as their guide. Where K is not held, so that each product
computes it again, the minimum over functions of a few points, which the guide's rows are enough
for, is where the steps begin, and what is returned if there is no time for more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq

from mercer._clock import OutOfTimeError
from mercer._floats import TINY
from mercer._limits import UNLIMITED, Limits
from mercer.certify import fenchel_gap
from mercer.gram import Gram, require_finite
from mercer.losses import Risk
from mercer.result import Certificate, Solution, Status
from mercer.solvers.precondition import (
    FixedOffset,
    FreeOffset,
    Guide,
    Woodbury,
    newton_system,
)

RANK = 400  # points of the low-rank copy of K
REDUCED = 1000  # rows of the small matrix of the preconditioner, for all outputs together
SMALL = 1000  # coefficients of a problem that is solved to rounding
MAX_CG = 300  # products for one Newton step
SETTLED = 1e-16  # relative gap at which nothing but rounding is left
LEAST_GAIN = 1e-4  # of the gap: steps that gain less only follow rounding errors
PATIENCE = 5  # steps in a row that bring nothing before the solve is given up
GUIDE_COPIES = 3  # of the factor live at once: kernel values, itself, itself with weights
LEAST_RANK = 10
SHORTEST = 1e-12  # part of a step
ROUNDS = 4  # of going on until the proof holds


def solve_primal(
    K: Gram,
    risk: Risk,
    lam: float,
    *,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    limits: Limits | None = None,
    guide: Guide | None = None,
    start: Any = None,
    exact_up_to: int = SMALL,
    about: str = "",
) -> Solution:
    """Minimise R(Kα + b) + λ αᵀKα for a smooth convex risk R, and prove it.

    Parameters
    ----------
    K : Gram of shape (n, n)
        The training Gram matrix, float64.
    risk : Risk
        Σ w ℓ(y, ·) with t outputs.
    tol : float, default=1e-6
        The relative duality gap at which the solve is done; small problems go on to rounding.
    guide : Guide, default=None
        What `guide_of` returns, if several problems share it.
    start : tuple of arrays, default=None
        α of shape (n, t) and b of shape (t,) to start from.
    exact_up_to : int, default=1000
        How many coefficients a small problem has.

    Returns
    -------
    Solution
        ``value`` has shape (n, t), ``intercept`` shape (t,).
    """
    limits = limits or Limits()
    require_finite(float(K.diagonal().sum()))
    make_guide = lambda: guide or guide_of(K, risk.n_outputs, limits.memory)  # noqa: E731
    run = _PrimalRun(K, risk, lam, fit_intercept, make_guide, start, exact_up_to)
    target = tol
    for _ in range(ROUNDS):
        status = run.solve(target, limits)
        certificate = run.prove(tol, about, limits)
        if certificate.ok or limits.stopped(run.steps):
            break
        target *= 0.1  # the estimate of the gap was too good: go on
    if certificate.ok:
        status = Status.OPTIMAL
    elif np.isnan(certificate.value) and not limits.stopped(run.steps):
        status = Status.INDEFINITE
    alpha, b = run.at.alpha, run.at.b
    stats = {"steps": run.steps, "products": run.products}
    return Solution(alpha, status, certificate, intercept=b, stats=stats, state=(alpha, b))


def guide_of(K: Gram, n_outputs: int, memory: int = UNLIMITED) -> Guide:
    """Return the easy copy of K that `solve_primal` would make for itself, in so many bytes."""
    n = K.shape[0]
    fits = max(LEAST_RANK, memory // (8 * GUIDE_COPIES * n))
    return Guide.of(K, min(n, RANK, fits, max(50, REDUCED // n_outputs)))


def guide_in_time(K: Gram, n_outputs: int, limits: Limits) -> Guide | None:
    """Return the guide; None if there is no time even for that."""
    try:
        with limits.for_solving():
            return guide_of(K, n_outputs, limits.memory)
    except OutOfTimeError:
        return None


def gap_in_time(limits: Limits, K: Gram, *given: Any, **options: Any) -> Certificate:
    """Return the proof `fenchel_gap` of a point; one that proves nothing if it takes too long."""
    try:
        with limits.for_proof():
            return fenchel_gap(K, *given, **options)
    except OutOfTimeError:
        parts = {"gap": np.nan, "storage": K.storage, **options["extra"]}
        about = f"{options['about']}: no time was left for the proof"
        return Certificate("relative duality gap", np.nan, options["tolerance"], about, parts)


def _lowest(slope: Callable[[float], float]) -> float:
    """Return about where a convex function on [0, 1] is least, from its slope; 1 if in doubt."""
    with np.errstate(over="ignore", invalid="ignore"):
        first, last, end = slope(0.0), slope(1.0), 1.0
        while not np.isfinite(last) and end > SHORTEST:
            end *= 0.5
            last = slope(end)
        if not last > 0.1 * abs(first) or not first < 0.0:  # Newton's own step, or only rounding
            return end
        return float(brentq(slope, 0.0, end, xtol=SHORTEST, rtol=1e-2, maxiter=1000))


@dataclass
class _PrimalPoint:
    """Coefficients, offset, F = Kα and the objective."""

    alpha: np.ndarray
    b: np.ndarray
    F: np.ndarray
    value: float


@dataclass
class _Model:
    """What is known of the objective around a point."""

    at: _PrimalPoint
    curve: FreeOffset | FixedOffset
    slopes: np.ndarray
    rho: np.ndarray
    K_rho: np.ndarray
    gap: float  # estimated, relative to the objective


class _PrimalRun:
    def __init__(
        self,
        K: Gram,
        risk: Risk,
        lam: float,
        free: bool,
        guide: Callable[[], Guide],
        start: Any,
        exact_up_to: int,
    ):
        self.K, self.risk, self.lam, self.free = K, risk, lam, free
        self.make_guide, self.steps, self.products = guide, 0, 0
        alpha = np.zeros((K.shape[0], risk.n_outputs))
        self.large = alpha.size > exact_up_to
        self.coarse_first = start is None and self.large and not K.holds_array
        b = np.zeros(risk.n_outputs)
        if start is not None:
            alpha, b = (np.array(part, dtype=np.float64) for part in start)
        self.at = self._point(alpha, b, K @ alpha if alpha.any() else np.zeros_like(alpha))

    @cached_property
    def guide(self) -> Guide:
        """The easy copy of K, made when the clock runs."""
        return self.make_guide()

    def _point(self, alpha: np.ndarray, b: np.ndarray, F: np.ndarray) -> _PrimalPoint:
        if self.free:
            b = self.risk.offset(F, b)
        value = self.risk.value(F + b) + self.lam * float((alpha * F).sum())
        return _PrimalPoint(alpha, b, F, value)

    # ------------------------------------------------------------ the loop
    def solve(self, tol: float, limits: Limits) -> Status:
        """Take Newton steps until the gap is small; return why they ended."""
        try:
            with limits.for_solving():
                if self.coarse_first:
                    self.at, self.coarse_first = self._coarse(tol, limits), False
                self._walk(tol, limits)
        except OutOfTimeError:
            pass
        return limits.stopped(self.steps) or Status.ILL_CONDITIONED

    def _coarse(self, tol: float, limits: Limits) -> _PrimalPoint:
        """Return the best function of the guide's points; F and the objective are those of K."""
        held, guide = _Factored(self.guide.L), self.guide
        few = _PrimalRun(held, self.risk, self.lam, self.free, lambda: guide.alone, None, 0)  # type: ignore[arg-type]
        few.solve(tol, limits)
        return replace(few.at, alpha=guide.on_points(few.at.alpha))

    def _walk(self, tol: float, limits: Limits) -> None:
        target = 0.5 * tol if self.large else SETTLED
        here = kept = self._model()
        idle, value = 0, here.at.value
        try:
            while kept.gap > target and idle < (1 if kept.gap <= 0.5 * tol else PATIENCE):
                if limits.stopped(self.steps):
                    break
                try:
                    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is no step
                        self.at = self._moved(here, limits)
                        self.steps += 1
                        here = self._model()
                except KeyboardInterrupt:
                    limits.interrupted = True
                    continue
                except np.linalg.LinAlgError:  # rounding leaves no direction: ILL_CONDITIONED
                    break
                # where rounding hides what the objective gains, the gap tells which is better
                least = max(1e-14, LEAST_GAIN * min(kept.gap, 1.0))
                falls = here.at.value < value - least * abs(value)
                better = falls or here.gap < 0.9 * kept.gap
                idle, value = 0 if better else idle + 1, min(value, here.at.value)
                kept = here if better else kept
        finally:
            self.at = kept.at

    def _model(self) -> _Model:
        """Return the quadratic model of the objective at the point where the run stands."""
        at, lam = self.at, self.lam
        G = at.F + at.b
        slopes = self.risk.slopes(G)
        curve = (FreeOffset if self.free else FixedOffset)(self.risk.curvature(G))
        rho = 2.0 * lam * at.alpha + curve.settle(slopes)
        K_rho = self.K @ rho
        # the duality gap with the settled slopes as the dual point
        gap = float((rho * K_rho).sum()) / (4.0 * lam)
        return _Model(at, curve, slopes, rho, K_rho, gap / max(abs(at.value), TINY))

    def _moved(self, model: _Model, limits: Limits) -> _PrimalPoint:
        """Return the point after a Newton step to the lowest point of its ray."""
        at, twice = model.at, 2.0 * self.lam
        d = self._direction(model, limits)
        Kd = self.K @ d
        if not np.isfinite(Kd).all():
            raise np.linalg.LinAlgError("the step overflows")
        db = model.curve.shift(model.slopes, Kd)
        linear, quadratic = float((at.alpha * Kd).sum()), float((d * Kd).sum())
        G, change = at.F + at.b, Kd + db

        def slope(length: float) -> float:
            risk = float((self.risk.slopes(G + length * change) * change).sum())
            return risk + twice * (linear + length * quadratic)

        length = _lowest(slope)
        return self._point(at.alpha + length * d, at.b + length * db, at.F + length * Kd)

    def _direction(self, model: _Model, limits: Limits) -> np.ndarray:
        e, products = newton_system(
            lambda V: self.K @ V,
            Woodbury(model.curve, self.guide, self.lam),
            model.rho,
            model.K_rho,
            accuracy=max(1e-12, min(0.05, model.gap**0.5 if self.large else model.gap)),
            max_iter=MAX_CG,
            go_on=lambda: limits.stopped(self.steps) is None,
        )
        self.products += products
        return model.curve.root(e) - model.rho / (2.0 * self.lam)

    def prove(self, tol: float, about: str, limits: Limits) -> Certificate:
        """Prove the point where the run stands, if there is time for it."""
        return gap_in_time(
            limits,
            self.K,
            self.at.alpha,
            self.at.b,
            self.risk,
            self.lam,
            tolerance=tol,
            fit_intercept=self.free,
            about=about,
            extra={"steps": self.steps, "products": self.products},
        )


class _Factored:
    """LLᵀ as a matrix that is held."""

    holds_array = True

    def __init__(self, L: np.ndarray):
        self.L, self.shape = L, (len(L), len(L))

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return self.L @ (self.L.T @ V)
