"""mercer: kernel machines with a proof with every fit."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mercer import kernels, losses, plot
from mercer.feature_space import feature_distance, mean_distance, rkhs_inner, rkhs_norm
from mercer.gram import Gram, center_rows, gram
from mercer.kernels import as_kernel
from mercer.losses import as_loss
from mercer.machines import (
    KNN,
    SVC,
    SVR,
    KernelLogistic,
    KernelMachine,
    KernelRidge,
    KernelRidgeClassifier,
    KNNRegressor,
    LinearSVC,
    OneClassSVM,
    Perceptron,
)
from mercer.result import Certificate, Solution, Status
from mercer.spectral import KernelPCA
from mercer.testing import check_gram, check_kernel, check_loss, check_solver

if TYPE_CHECKING:
    from mercer.select import (
        KernelSearchCV,
        cross_validate,
        learning_curve,
        tune,
        validation_curve,
    )

__version__ = "0.1.0.dev0"

__all__ = [
    "KNN",
    "SVC",
    "SVR",
    "Certificate",
    "Gram",
    "KNNRegressor",
    "KernelLogistic",
    "KernelMachine",
    "KernelPCA",
    "KernelRidge",
    "KernelRidgeClassifier",
    "KernelSearchCV",
    "LinearSVC",
    "OneClassSVM",
    "Perceptron",
    "Solution",
    "Status",
    "as_kernel",
    "as_loss",
    "center_rows",
    "check_gram",
    "check_kernel",
    "check_loss",
    "check_solver",
    "cross_validate",
    "feature_distance",
    "gram",
    "kernels",
    "learning_curve",
    "losses",
    "mean_distance",
    "plot",
    "rkhs_inner",
    "rkhs_norm",
    "tune",
    "validation_curve",
]

_SELECT = {"KernelSearchCV", "cross_validate", "learning_curve", "tune", "validation_curve"}


def __getattr__(name: str) -> Any:
    """Load the choice of parameters when it is first asked for: its imports cost a fifth more."""
    if name in _SELECT or name == "select":
        module = import_module("mercer.select")
        return module if name == "select" else getattr(module, name)
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
