"""Losses by name."""

from __future__ import annotations

from typing import Any

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


def as_loss(loss: Any) -> Loss:
    """Return a loss from a loss or a name such as ``"hinge"``.

    Examples
    --------
    >>> from mercer.losses import as_loss
    >>> as_loss("hinge")
    Hinge()
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        if loss.lower() not in NAMES:
            raise ValueError(f"loss must be one of {sorted(NAMES)} or a Loss; got {loss!r}")
        return NAMES[loss.lower()]()
    if isinstance(loss, type) and issubclass(loss, Loss):
        raise TypeError(f"loss must be a Loss object: write {loss.__name__}(), with brackets")
    raise TypeError(f"loss must be a Loss or a name such as 'hinge'; got {type(loss).__name__}")
