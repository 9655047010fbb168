"""Losses ℓ(y, f): value, derivative, curvature and convex conjugate."""

from mercer.losses.base import Loss, Tube
from mercer.losses.classification import Hinge, Logistic, SquaredHinge
from mercer.losses.names import as_loss
from mercer.losses.regression import Absolute, EpsilonInsensitive, Huber, Quantile, Squared
from mercer.losses.risk import Curvature, Risk, ScalarRisk, SoftmaxRisk

__all__ = [
    "Absolute",
    "Curvature",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Quantile",
    "Risk",
    "ScalarRisk",
    "SoftmaxRisk",
    "Squared",
    "SquaredHinge",
    "Tube",
    "as_loss",
]
