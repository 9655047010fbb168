"""Model choice: cross-validation in which Gram matrices are shared."""

from mercer.select.curves import cross_validate, learning_curve, validation_curve
from mercer.select.rounds import Staged
from mercer.select.search import KernelSearchCV
from mercer.select.tune import tune

__all__ = [
    "KernelSearchCV",
    "Staged",
    "cross_validate",
    "learning_curve",
    "tune",
    "validation_curve",
]
