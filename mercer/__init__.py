"""mercer: kernel machines with a proof with every fit."""

import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import Any as _Any

__version__ = "0.1.0"

_NAMES = {
    "kernels": "as_kernel dtw_distance",
    "gram": "center_rows Gram",
    "losses": "as_loss",
    "machines": (
        "GraphSpreading KernelLogistic KernelMachine KernelRidge KernelRidgeClassifier KNN "
        "KNNRegressor LaplacianRidge LaplacianRidgeClassifier LaplacianSVC LinearSVC "
        "MetricRidge MetricRidgeClassifier NearestNeighbors NuSVC NuSVR OneClassSVM Perceptron SVC "
        "SVR"
    ),
    "linear": (
        "elastic_net_path ElasticNet Lasso lasso_path LinearRegression LogisticRegression "
        "PenaltyRegression QuantileRegression Ridge"
    ),
    "penalties": "",
    "bayes": "em GaussianBayes GMM",
    "nets": "Autoencoder MLPClassifier MLPRegressor",
    "boosting": "AdaBoost",
    "spectral": (
        "CCA ICA Isomap KernelCCA KernelFDA KernelICA KernelKMeans KernelPCA LDA LLE "
        "LocalSIR MDS PCA RandomProjection RobustPCA SIR SparsePCA SpectralClustering "
        "SpectralEmbedding SupervisedPCA Whitening"
    ),
    "maps": "EmpiricalMap KernelPCAMap Nystrom PolynomialMap RandomFourier",
    "select": "cross_validate KernelSearchCV learning_curve tune validation_curve",
    "assess": "",
    "plot": "",
    "report": "write_report",
    "datasets": "",
    "tables": "TableEncoder",
    "checks": "check_table",
    "io": "load save",
    "norms": "",
    "rows": "",
    "optimize": "",
    "distances": "check_distance",
    "schoenberg": "",
    "feature_space": "feature_distance mean_distance rkhs_inner rkhs_norm",
    "_warm": "prepare",
    "testing": "check_gram check_kernel check_loss check_solver",
    "result": "Certificate Solution Status",
}
"""Everything is loaded when it is first asked for, so that the command starts at once.

``__init__.pyi`` says the same to type checkers.
"""

_FOLDERS = """
assess bayes datasets io kernels losses norms optimize penalties plot rows schoenberg
"""
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = sorted([*_HOME, *_FOLDERS.split(), "gram"])


def __getattr__(name: str) -> _Any:
    """Load a folder, or a name from it."""
    if name in _HOME:
        return getattr(_import_module(f"mercer.{_HOME[name]}"), name)
    if name in _NAMES:
        return _import_module(f"mercer.{name}")
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(_ModuleType):
    """The package, in which ``gram`` is the function although a folder has that name too.

    It is sent to other processes by its name, as any module is: cloudpickle, which joblib, Dask and
    Ray use for functions that mention ``mercer``, knows plain modules alone.
    """

    def __reduce__(self) -> tuple[_Any, tuple[str]]:
        return _import_module, (self.__name__,)

    @property
    def gram(self) -> _Any:
        return _import_module("mercer.gram").gram

    @gram.setter
    def gram(self, module: _ModuleType) -> None:
        """Keep the function: the import system binds the folder's name here."""


_sys.modules[__name__].__class__ = _Package
