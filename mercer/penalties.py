"""Penalties φ(r) of the residuals of a regression: what an error r = y − f costs."""

from mercer.losses.names import as_penalty
from mercer.losses.residual import (
    Absolute,
    DeadZone,
    Huber,
    LargeError,
    LogBarrier,
    Penalty,
    Squared,
)

__all__ = [
    "Absolute",
    "DeadZone",
    "Huber",
    "LargeError",
    "LogBarrier",
    "Penalty",
    "Squared",
    "as_penalty",
]

for _kind in (Absolute, DeadZone, Huber, LargeError, LogBarrier, Penalty, Squared):
    _kind.__module__ = __name__  # by this name model files and pickles know them
