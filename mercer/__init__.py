"""mercer: kernel machines with a proof with every fit."""

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
from mercer.select import (
    KernelSearchCV,
    cross_validate,
    learning_curve,
    tune,
    validation_curve,
)
from mercer.spectral import KernelPCA
from mercer.testing import check_gram, check_kernel, check_loss, check_solver

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
