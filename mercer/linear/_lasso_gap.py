"""The duality gap of the lasso and the elastic net."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer._floats import TINY


class Gap(NamedTuple):
    """What proves a solution for one λ."""

    primal: float
    dual: float
    gap: float
    relative: float  # to the objective of w = 0
    violation: float  # largest |xᵀr| / λ − 1 of a column

    @classmethod
    def of(cls, rr: float, ry: float, l1: float, steepest: float, lam: float, yy: float) -> Gap:
        """Return the gap from r·r, r·y, ‖w‖₁, max |xᵀr| and λ.

        The dual point is r, shrunk so that |xᵀr| ≤ λ: the gap is ½‖r − sr‖² + λ‖w‖₁ − s r·(y − r).
        """
        s = 1.0 if steepest <= lam else lam / steepest
        primal = 0.5 * rr + lam * l1
        dual = s * ry - 0.5 * s * s * rr
        gap = max(primal - dual, 0.0)
        return cls(primal, dual, gap, gap / max(0.5 * yy, TINY), steepest / max(lam, TINY) - 1.0)

    def or_less(self, gap: float, yy: float) -> Gap:
        """Return the gap that another dual point proves, if that is less."""
        if not gap < self.gap:
            return self
        return self._replace(dual=self.primal - gap, gap=gap, relative=gap / max(0.5 * yy, TINY))


def young_gap(slopes: np.ndarray, w: np.ndarray, lam: float, ridge: float, positive: bool) -> float:
    """Return the gap of the elastic net for the dual point y − Xw, from the slopes Xᵀr − μw.

    With c = Xᵀr it is the sum over the coefficients of λ|w| + ½μw² − wc + (|c| − λ)₊² / 2μ: of
    terms that are never negative.
    """
    c = slopes + ridge * w
    held = np.clip(c, -np.inf if positive else -lam, lam)
    over = c - held - ridge * w
    terms = lam * np.abs(w) - w * held + over * over / (2.0 * ridge)
    return max(float(terms.sum()), 0.0)
