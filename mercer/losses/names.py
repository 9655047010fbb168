"""Losses ℓ(y, f) and costs φ(r) of residuals by name."""

from __future__ import annotations

from typing import Any

from mercer._parameters import as_object
from mercer.losses import residual
from mercer.losses.base import Loss
from mercer.losses.classification import Hinge, Logistic, SquaredHinge
from mercer.losses.regression import Absolute, EpsilonInsensitive, Huber, Quantile, Squared

NAMES: dict[str, type[Loss]] = {
    "absolute": Absolute,
    "epsilon_insensitive": EpsilonInsensitive,
    "hinge": Hinge,
    "huber": Huber,
    "logistic": Logistic,
    "quantile": Quantile,
    "squared": Squared,
    "squared_hinge": SquaredHinge,
}

PENALTIES: dict[str, type[residual.Penalty]] = {
    "absolute": residual.Absolute,
    "dead_zone": residual.DeadZone,
    "huber": residual.Huber,
    "large_error": residual.LargeError,
    "log_barrier": residual.LogBarrier,
    "squared": residual.Squared,
}


def as_loss(loss: Any) -> Loss:
    """Return a loss from a loss or a name such as ``"hinge"``.

    Examples
    --------
    >>> from mercer.losses import as_loss
    >>> as_loss("hinge")
    Hinge()
    """
    return as_object(loss, Loss, NAMES, "hinge")


def as_penalty(penalty: Any) -> residual.Penalty:
    """Return a penalty from a penalty or a name such as ``"huber"``.

    Examples
    --------
    >>> from mercer.penalties import as_penalty
    >>> as_penalty("huber")
    Huber()
    """
    return as_object(penalty, residual.Penalty, PENALTIES, "huber")
