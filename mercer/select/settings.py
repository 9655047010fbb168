"""Candidates as machines with all their parameters set, for routes that fit many at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer.select.routes import Candidate, Group, unfitted


class Setting(NamedTuple):
    """A candidate and its machine with all parameters set, not fitted."""

    candidate: Candidate
    machine: Any


def set_up(group: Group, plain: Callable[[Any], bool]) -> tuple[list[Setting], list[Candidate]]:
    """Return the candidates with their machines, and those that fits of their own must serve."""
    settings, apart = [], []
    for candidate in group.candidates:
        machine = unfitted(group.estimator)
        try:
            machine.set_params(**candidate.params)
            machine._validate_params()
            usable = _is_finite(group.y) and plain(machine)
        except Exception:  # the fit will fail in the same way, and that is recorded
            usable = False
        if usable:
            settings.append(Setting(candidate, machine))
        else:
            apart.append(candidate)
    return settings, apart


def _is_finite(y: Any) -> bool:
    return y is not None and (y.dtype.kind != "f" or bool(np.isfinite(y).all()))
