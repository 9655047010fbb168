"""mercer: kernel machines with a proof with every fit."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mercer import kernels, losses, plot, schoenberg
from mercer.distances import check_distance
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
from mercer.testing import check_gram, check_kernel, check_loss, check_solver

if TYPE_CHECKING:
    from mercer import assess, bayes, norms, optimize, penalties
    from mercer.bayes import GMM, GaussianBayes, em
    from mercer.boosting import AdaBoost
    from mercer.linear import (
        Lasso,
        LinearRegression,
        LogisticRegression,
        PenaltyRegression,
        Ridge,
        lasso_path,
    )
    from mercer.maps import (
        EmpiricalMap,
        KernelPCAMap,
        Nystrom,
        PolynomialMap,
        RandomFourier,
    )
    from mercer.nets import Autoencoder, MLPClassifier, MLPRegressor
    from mercer.select import (
        KernelSearchCV,
        cross_validate,
        learning_curve,
        tune,
        validation_curve,
    )
    from mercer.spectral import (
        CCA,
        ICA,
        LDA,
        LLE,
        MDS,
        PCA,
        SIR,
        Isomap,
        KernelCCA,
        KernelFDA,
        KernelICA,
        KernelKMeans,
        KernelPCA,
        LocalSIR,
        RandomProjection,
        RobustPCA,
        SparsePCA,
        SpectralClustering,
        SpectralEmbedding,
        SupervisedPCA,
        Whitening,
    )

__version__ = "0.1.0.dev0"

__all__ = [
    "CCA",
    "GMM",
    "ICA",
    "KNN",
    "LDA",
    "LLE",
    "MDS",
    "PCA",
    "SIR",
    "SVC",
    "SVR",
    "AdaBoost",
    "Autoencoder",
    "Certificate",
    "EmpiricalMap",
    "GaussianBayes",
    "Gram",
    "Isomap",
    "KNNRegressor",
    "KernelCCA",
    "KernelFDA",
    "KernelICA",
    "KernelKMeans",
    "KernelLogistic",
    "KernelMachine",
    "KernelPCA",
    "KernelPCAMap",
    "KernelRidge",
    "KernelRidgeClassifier",
    "KernelSearchCV",
    "Lasso",
    "LinearRegression",
    "LinearSVC",
    "LocalSIR",
    "LogisticRegression",
    "MLPClassifier",
    "MLPRegressor",
    "Nystrom",
    "OneClassSVM",
    "PenaltyRegression",
    "Perceptron",
    "PolynomialMap",
    "RandomFourier",
    "RandomProjection",
    "Ridge",
    "RobustPCA",
    "Solution",
    "SparsePCA",
    "SpectralClustering",
    "SpectralEmbedding",
    "Status",
    "SupervisedPCA",
    "Whitening",
    "as_kernel",
    "as_loss",
    "assess",
    "bayes",
    "center_rows",
    "check_distance",
    "check_gram",
    "check_kernel",
    "check_loss",
    "check_solver",
    "cross_validate",
    "em",
    "feature_distance",
    "gram",
    "kernels",
    "lasso_path",
    "learning_curve",
    "losses",
    "mean_distance",
    "norms",
    "optimize",
    "penalties",
    "plot",
    "rkhs_inner",
    "rkhs_norm",
    "schoenberg",
    "tune",
    "validation_curve",
]

_LAZY = {
    "mercer.linear": (
        "Lasso",
        "LinearRegression",
        "LogisticRegression",
        "PenaltyRegression",
        "Ridge",
        "lasso_path",
    ),
    "mercer.penalties": (),
    "mercer.boosting": ("AdaBoost",),
    "mercer.nets": ("Autoencoder", "MLPClassifier", "MLPRegressor"),
    "mercer.bayes": ("GMM", "GaussianBayes", "em"),
    "mercer.assess": (),
    "mercer.norms": (),
    "mercer.optimize": (),
    "mercer.maps": (
        "EmpiricalMap",
        "KernelPCAMap",
        "Nystrom",
        "PolynomialMap",
        "RandomFourier",
    ),
    "mercer.select": (
        "KernelSearchCV",
        "cross_validate",
        "learning_curve",
        "tune",
        "validation_curve",
    ),
    "mercer.spectral": (
        "MDS",
        "LLE",
        "Isomap",
        "KernelKMeans",
        "SpectralClustering",
        "SpectralEmbedding",
        "CCA",
        "ICA",
        "LDA",
        "PCA",
        "SIR",
        "KernelCCA",
        "KernelFDA",
        "KernelICA",
        "KernelPCA",
        "LocalSIR",
        "RandomProjection",
        "RobustPCA",
        "SparsePCA",
        "SupervisedPCA",
        "Whitening",
    ),
}
"""What is loaded when it is first asked for: the rest starts without it."""


def __getattr__(name: str) -> Any:
    """Load a lazy package, or a name from it."""
    for package, names in _LAZY.items():
        if name in names:
            return getattr(import_module(package), name)
        if package == f"mercer.{name}":
            return import_module(package)
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
