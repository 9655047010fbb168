"""The public names, all of them: one that comes or goes is a decision, not an accident."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import mercer
import mercer.kernels

NAMES = {
    "write_report",
    "TableEncoder",
    "Lasso",
    "LinearRegression",
    "LogisticRegression",
    "PenaltyRegression",
    "Ridge",
    "lasso_path",
    "ElasticNet",
    "NearestNeighbors",
    "QuantileRegression",
    "elastic_net_path",
    "penalties",
    "AdaBoost",
    "Autoencoder",
    "MLPClassifier",
    "MLPRegressor",
    "GMM",
    "GaussianBayes",
    "bayes",
    "dtw_distance",
    "em",
    "MDS",
    "LLE",
    "Isomap",
    "KernelKMeans",
    "SpectralClustering",
    "SpectralEmbedding",
    "check_distance",
    "check_table",
    "rows",
    "schoenberg",
    "ICA",
    "KernelICA",
    "SIR",
    "LocalSIR",
    "SupervisedPCA",
    "Whitening",
    "LDA",
    "KernelFDA",
    "KernelCCA",
    "CCA",
    "RandomFourier",
    "PolynomialMap",
    "Nystrom",
    "KernelPCAMap",
    "EmpiricalMap",
    "RandomProjection",
    "SparsePCA",
    "RobustPCA",
    "KNN",
    "KNNRegressor",
    "PCA",
    "SVC",
    "SVR",
    "Certificate",
    "Gram",
    "GraphSpreading",
    "KernelLogistic",
    "KernelMachine",
    "KernelPCA",
    "KernelRidge",
    "KernelRidgeClassifier",
    "KernelSearchCV",
    "LaplacianRidge",
    "LaplacianRidgeClassifier",
    "LaplacianSVC",
    "LinearSVC",
    "MetricRidge",
    "MetricRidgeClassifier",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Perceptron",
    "Solution",
    "Status",
    "as_kernel",
    "as_loss",
    "assess",
    "center_rows",
    "check_gram",
    "check_kernel",
    "check_loss",
    "check_solver",
    "cross_validate",
    "datasets",
    "feature_distance",
    "gram",
    "io",
    "kernels",
    "learning_curve",
    "load",
    "losses",
    "mean_distance",
    "norms",
    "optimize",
    "plot",
    "prepare",
    "rkhs_inner",
    "rkhs_norm",
    "save",
    "tune",
    "validation_curve",
}

KERNEL_NAMES = {
    "DTW",
    "RBF",
    "Anova",
    "ChiSquared",
    "Categorical",
    "Constant",
    "Cosine",
    "Exp",
    "Exponential",
    "Fisher",
    "FromFeatureMap",
    "FromFunction",
    "GlobalAlignment",
    "Intersection",
    "Gower",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "MeanEmbedding",
    "Mismatch",
    "Normalized",
    "Periodic",
    "On",
    "Ordinal",
    "Polynomial",
    "Power",
    "PowerSeries",
    "Precomputed",
    "Product",
    "RankOne",
    "RationalQuadratic",
    "Sigmoid",
    "Sobolev",
    "Spline",
    "Sum",
    "VectorKernel",
    "Wavelet",
    "Spectrum",
    "Subsequence",
    "Substring",
    "WeightedDegree",
    "WeisfeilerLehman",
    "Words",
    "as_kernel",
    "dtw_distance",
}

PUBLIC = [(mercer, name) for name in sorted(NAMES)]
PUBLIC += [(mercer.kernels, name) for name in sorted(KERNEL_NAMES)]
every_name = pytest.mark.parametrize(
    ("module", "name"), PUBLIC, ids=[f"{module.__name__}.{name}" for module, name in PUBLIC]
)


def test_the_names_of_the_library_are_these():
    assert set(mercer.__all__) == NAMES


def test_type_checkers_are_told_of_the_same_names():
    stub = ast.parse(Path(mercer.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    told = {alias.asname: (node.module, alias.name) for node in imports for alias in node.names}
    assert set(told) == NAMES
    for name, (module, inside) in told.items():
        assert name == inside, "only a name that is imported as itself is exported by a stub"
        assert getattr(import_module(module), inside) is getattr(mercer, name)


def test_nothing_else_is_shown():
    assert set(dir(mercer)) == NAMES


def test_the_names_of_the_kernels_are_these():
    assert set(mercer.kernels.__all__) == KERNEL_NAMES


@pytest.mark.parametrize("module", [mercer, mercer.kernels], ids=lambda m: m.__name__)
def test_names_are_listed_once(module):
    assert len(module.__all__) == len(set(module.__all__))


@every_name
def test_a_public_name_can_be_imported_and_is_explained(module, name):
    documentation = inspect.getdoc(getattr(module, name))
    assert documentation, f"{name} has no docstring"
    assert documentation.splitlines()[0].rstrip().endswith("."), "one sentence comes first"


@every_name
def test_the_public_methods_of_a_public_class_are_explained(module, name):
    owner = getattr(module, name)
    if not inspect.isclass(owner):
        return
    own = {n: m for n, m in vars(owner).items() if not n.startswith("_") and callable(m)}
    assert [n for n, m in own.items() if not inspect.getdoc(getattr(owner, n))] == []


def test_the_version_is_there():
    assert mercer.__version__
