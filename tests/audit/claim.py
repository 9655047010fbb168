"""What an auditor says: claims with how far they are from true, and a register by estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tests.audit.exact import EPS

SLACK = 1.05  # of a tolerance: figures near it round to either side
ROUNDINGS = 256  # roundings of float64 that a figure of a proof may have gone through


class Claim(NamedTuple):
    """A sentence that a proof stands for: a size, recomputed, that must not exceed another."""

    about: str
    size: Any
    allowed: Any

    @property
    def holds(self) -> bool:
        """Whether it is true; a size that is not a number is not small."""
        return bool(self.size <= self.allowed)

    def __str__(self) -> str:
        return f"{self.about}: {float(self.size):.3g}, claimed ≤ {float(self.allowed):.3g}"


class Case(NamedTuple):
    """A fitted model and what it was fitted to."""

    model: Any
    X: Any
    y: Any
    weight: np.ndarray

    @property
    def tolerance(self) -> float:
        """The tolerance of the proof."""
        return float(self.model.certificate_.tolerance)


Auditor = Callable[[Case], Iterator[Claim]]
AUDITORS: dict[str, Auditor] = {}


def audits(*names: str) -> Callable[[Auditor], Auditor]:
    """Register the auditor of estimators by the names of their classes."""

    def register(auditor: Auditor) -> Auditor:
        AUDITORS.update(dict.fromkeys(names, auditor))
        return auditor

    return register


def false_claims(case: Case) -> list[str]:
    """Return the claims of a fitted model that are not true."""
    return [str(c) for c in auditor_of(case.model)(case) if not c.holds]


def auditor_of(model: Any) -> Auditor:
    """Return the auditor of an estimator, of the route that a fitted one has taken."""
    name = type(model).__name__
    if getattr(model, "cell_thresholds_", None) is not None:
        name += " by cells"
    elif "landmarks" in model.certificate_.parts:
        name += " of landmarks"
    return AUDITORS.get(name) or AUDITORS[type(model).__name__]


def rounding(*sizes: Any) -> Any:
    """Return what rounding in float64 may leave of terms of these sizes."""
    return ROUNDINGS * EPS * sum(sizes)
