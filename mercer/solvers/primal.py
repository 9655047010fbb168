"""Newton's method for smooth losses in a reproducing kernel Hilbert space.

min over α and b of  P = R(Kα + b) + λ αᵀKα.  With slopes U and curvature H = SSᵀ of the risk R and
ρ = 2λα + U, Newton's step is

    d = −ρ/(2λ) + S e,   (2λI + SᵀKS) e = SᵀKρ/(2λ),

where S has the offset eliminated. The system is solved by conjugate gradients that see K through
products only, with a low-rank copy of K as their guide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

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
    guide = guide or guide_of(K, risk.n_outputs, limits.memory)
    run = _PrimalRun(K, risk, lam, fit_intercept, guide, start, exact_up_to)
    target = tol
    for _ in range(ROUNDS):
        status = run.solve(target, limits)
        certificate = run.prove(tol, about)
        if certificate.ok or limits.stopped(run.steps):
            break
        target *= 0.1  # the estimate of the gap was too good: go on
    if certificate.ok:
        status = Status.OPTIMAL
    elif np.isnan(certificate.value):
        status = Status.INDEFINITE
    alpha, b = run.at.alpha, run.at.b
    stats = {"steps": run.steps, "products": run.products}
    return Solution(alpha, status, certificate, intercept=b, stats=stats, state=(alpha, b))


def guide_of(K: Gram, n_outputs: int, memory: int = UNLIMITED) -> Guide:
    """Return the easy copy of K that `solve_primal` would make for itself, in so many bytes."""
    n = K.shape[0]
    fits = max(LEAST_RANK, memory // (8 * GUIDE_COPIES * n))
    return Guide.of(K, min(n, RANK, fits, max(50, REDUCED // n_outputs)))


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
        guide: Guide,
        start: Any,
        exact_up_to: int,
    ):
        self.K, self.risk, self.lam, self.free = K, risk, lam, free
        self.guide, self.steps, self.products = guide, 0, 0
        alpha = np.zeros((K.shape[0], risk.n_outputs))
        self.large = alpha.size > exact_up_to
        b = np.zeros(risk.n_outputs)
        if start is not None:
            alpha, b = (np.array(part, dtype=np.float64) for part in start)
        self.at = self._point(alpha, b, K @ alpha if alpha.any() else np.zeros_like(alpha))

    def _point(self, alpha: np.ndarray, b: np.ndarray, F: np.ndarray) -> _PrimalPoint:
        if self.free:
            b = self.risk.offset(F, b)
        value = self.risk.value(F + b) + self.lam * float((alpha * F).sum())
        return _PrimalPoint(alpha, b, F, value)

    # ------------------------------------------------------------ the loop
    def solve(self, tol: float, limits: Limits) -> Status:
        """Take Newton steps until the gap is small; return why they ended."""
        target = 0.5 * tol if self.large else SETTLED
        here = kept = self._model()
        idle, value = 0, here.at.value
        while kept.gap > target and idle < (1 if kept.gap <= 0.5 * tol else PATIENCE):
            stopped = limits.stopped(self.steps)
            if stopped:
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
            # where rounding hides what the objective gains, the gap tells which point is better
            least = max(1e-14, LEAST_GAIN * min(kept.gap, 1.0))
            falls = here.at.value < value - least * abs(value)
            better = falls or here.gap < 0.9 * kept.gap
            idle, value = 0 if better else idle + 1, min(value, here.at.value)
            kept = here if better else kept
        self.at = kept.at
        return limits.stopped(self.steps) or Status.ILL_CONDITIONED

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

    def prove(self, tol: float, about: str) -> Certificate:
        """Prove the point where the run stands."""
        return fenchel_gap(
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
