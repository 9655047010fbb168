"""mercer: kernel machines with a proof with every fit."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer import (
        assess,
        bayes,
        datasets,
        io,
        kernels,
        losses,
        norms,
        optimize,
        penalties,
        plot,
        schoenberg,
    )
    from mercer.bayes import GMM, GaussianBayes, em
    from mercer.boosting import AdaBoost
    from mercer.distances import check_distance
    from mercer.feature_space import feature_distance, mean_distance, rkhs_inner, rkhs_norm
    from mercer.gram import Gram, center_rows, gram
    from mercer.io import load, save
    from mercer.kernels import as_kernel
    from mercer.linear import (
        Lasso,
        LinearRegression,
        LogisticRegression,
        PenaltyRegression,
        Ridge,
        lasso_path,
    )
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
    from mercer.maps import (
        EmpiricalMap,
        KernelPCAMap,
        Nystrom,
        PolynomialMap,
        RandomFourier,
    )
    from mercer.nets import Autoencoder, MLPClassifier, MLPRegressor
    from mercer.report import write_report
    from mercer.result import Certificate, Solution, Status
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
    from mercer.tables import TableEncoder
    from mercer.testing import check_gram, check_kernel, check_loss, check_solver

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
    "TableEncoder",
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
    "datasets",
    "em",
    "feature_distance",
    "gram",
    "io",
    "kernels",
    "lasso_path",
    "learning_curve",
    "load",
    "losses",
    "mean_distance",
    "norms",
    "optimize",
    "penalties",
    "plot",
    "rkhs_inner",
    "rkhs_norm",
    "save",
    "schoenberg",
    "tune",
    "validation_curve",
    "write_report",
]

_LAZY = {
    "mercer.kernels": ("as_kernel",),
    "mercer.losses": ("as_loss",),
    "mercer.plot": (),
    "mercer.datasets": (),
    "mercer.schoenberg": (),
    "mercer.distances": ("check_distance",),
    "mercer.feature_space": ("feature_distance", "mean_distance", "rkhs_inner", "rkhs_norm"),
    "mercer.gram": ("Gram", "center_rows"),
    "mercer.machines": (
        "KNN",
        "SVC",
        "SVR",
        "KernelLogistic",
        "KernelMachine",
        "KernelRidge",
        "KernelRidgeClassifier",
        "KNNRegressor",
        "LinearSVC",
        "OneClassSVM",
        "Perceptron",
    ),
    "mercer.result": ("Certificate", "Solution", "Status"),
    "mercer.tables": ("TableEncoder",),
    "mercer.report": ("write_report",),
    "mercer.testing": ("check_gram", "check_kernel", "check_loss", "check_solver"),
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
    "mercer.io": ("load", "save"),
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
"""Everything is loaded when it is first asked for, so that the command starts at once."""


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


class _Package(ModuleType):
    """The package, in which ``gram`` is the function although a folder has that name too."""

    @property
    def gram(self) -> Any:
        return import_module("mercer.gram").gram

    @gram.setter
    def gram(self, module: ModuleType) -> None:
        """Keep the function: the import system binds the folder's name here."""


sys.modules[__name__].__class__ = _Package
