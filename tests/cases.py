"""What is under test, as tables. One new line in a table puts the whole suite behind it.

- A new kernel: one line in `KERNELS` (or `OBJECT_KERNELS`, if it is not a kernel on vectors).
- A new Gram storage: one line in `STORAGES`.
- A new estimator: one line in `ESTIMATORS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer import (
    CCA,
    GMM,
    ICA,
    KNN,
    LDA,
    LLE,
    MDS,
    PCA,
    SIR,
    SVC,
    SVR,
    AdaBoost,
    Autoencoder,
    ElasticNet,
    EmpiricalMap,
    GaussianBayes,
    Gram,
    GraphSpreading,
    Isomap,
    KernelCCA,
    KernelFDA,
    KernelICA,
    KernelKMeans,
    KernelLogistic,
    KernelMachine,
    KernelPCA,
    KernelPCAMap,
    KernelRidge,
    KernelRidgeClassifier,
    KNNRegressor,
    LaplacianRidge,
    LaplacianRidgeClassifier,
    LaplacianSVC,
    Lasso,
    LinearRegression,
    LinearSVC,
    LocalSIR,
    LogisticRegression,
    MetricRidge,
    MetricRidgeClassifier,
    MLPClassifier,
    MLPRegressor,
    NearestNeighbors,
    NuSVC,
    NuSVR,
    Nystrom,
    OneClassSVM,
    PenaltyRegression,
    PolynomialMap,
    QuantileRegression,
    RandomFourier,
    RandomProjection,
    Ridge,
    RobustPCA,
    SparsePCA,
    SpectralClustering,
    SpectralEmbedding,
    SupervisedPCA,
    Whitening,
    gram,
)
from mercer.kernels import (
    RBF,
    Anova,
    Constant,
    Cosine,
    Exponential,
    FromFeatureMap,
    FromFunction,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    PowerSeries,
    Precomputed,
    RankOne,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
    Spline,
    Subsequence,
    Substring,
    Wavelet,
    WeightedDegree,
)


# ---------------------------------------------------------------- functions for kernels
def cosine(x: Any, y: Any) -> float:
    """Return cos(x₁ − y₁) = cos x₁ cos y₁ + sin x₁ sin y₁, a kernel."""
    return math.cos(float(x[0]) - float(y[0]))


def squares_and_product(x: Any) -> list[float]:
    """Return the explicit map of (x·y)² for the first two columns (one column: x²)."""
    a, b = float(x[0]), float(x[-1])
    return [a * a, b * b, 2**0.5 * a * b]


def first_plus_one(x: Any) -> float:
    return float(x[0]) + 1.0


def shared_letters(a: str, b: str) -> float:
    """Return the number of letters that two words share: Σ over letters of 1[in a] 1[in b]."""
    return float(len(set(a) & set(b)))


def letter_counts(word: str) -> list[int]:
    return [word.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"]


def word_length(word: str) -> int:
    return len(word)


# ---------------------------------------------------------------- kernels
def _by_name(kernels: list[Kernel]) -> dict[str, Kernel]:
    return {repr(kernel): kernel for kernel in kernels}


KERNELS = _by_name(
    [
        # the plain ones
        Linear(),
        Linear(bias=2.0),
        Linear(bias=-1.0),
        Polynomial(),
        Polynomial(degree=2, bias=0.0),
        Polynomial(degree=5, scale=0.1, bias=0.5),
        Polynomial(degree=0),
        Sigmoid(scale=0.5, bias=-0.2),
        RBF(),
        RBF(gamma="auto"),
        RBF(gamma=0.3),
        Exponential(),
        Exponential(gamma=0.7),
        Laplacian(),
        Laplacian(gamma=0.4),
        Matern(2.5),
        Exponential(0.5, exponent=0.5, p=1.5),
        RationalQuadratic(0.7),
        Periodic(2.5, gamma=0.8),
        Anova(1, gamma=0.5),
        Spline(),
        Wavelet(),
        Constant(3.0),
        Cosine(),
        # the algebra
        0.5 * RBF(gamma=0.1) + Polynomial(degree=2) * Linear(),
        RBF(gamma=0.5) * Laplacian(gamma=0.2) + 1.0,
        RBF(gamma=0.5) - 0.3 * Exponential(gamma=1.0),
        (Linear(bias=1.0) + RBF()) ** 3,
        (0.1 * Linear()).exp(),
        Linear().normalized(),
        Polynomial(degree=3, bias=0.5).normalized(),
        (0.3 * Linear() + RBF(gamma=0.2)).exp().normalized(),
        PowerSeries(RBF(gamma=0.5), [1.0, 0.0, 0.5, 0.25]),
        PowerSeries(Linear(), [0.5, -1.0, 0.25]),
        # what the user has: a function, a feature map
        FromFunction(cosine),
        FromFunction(cosine, definiteness="psd"),
        FromFeatureMap(squares_and_product),
        RankOne(first_plus_one),
        RankOne(first_plus_one) * RBF(gamma=0.3) + FromFunction(cosine, definiteness="psd"),
        FromFeatureMap(squares_and_product).normalized() ** 2,
    ]
)

OBJECT_KERNELS = _by_name(
    [
        FromFunction(shared_letters),
        FromFunction(shared_letters, definiteness="psd"),
        FromFeatureMap(letter_counts),
        RankOne(word_length),
        Spectrum(2),
        Substring(0.5).normalized() + 0.1 * WeightedDegree(3),
        Subsequence(2, 0.5),
        FromFeatureMap(letter_counts).normalized() + 0.1 * FromFunction(shared_letters) ** 2,
    ]
)

WORDS = ["kernel", "trick", "margin", "a", "lagrange", "kernel", "eigenvalue"]


# ---------------------------------------------------------------- samples
def table(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Return n rows of d columns, of size about one."""
    return np.random.default_rng(seed).normal(size=(n, d))


def sparse_table(n: int, d: int, seed: int = 0) -> sp.csr_array:
    """Return the same with three cells in four empty, and one row that is all empty."""
    rows = table(n, d, seed) * (np.random.default_rng(seed + 1).random((n, d)) < 0.25)
    rows[n // 2] = 0.0
    return sp.csr_array(rows)


def two_classes(n: int, d: int = 2, seed: int = 0, overlap: float = 1.0) -> Any:
    """Return rows and labels ±1 of two round clouds whose centres are two apart."""
    rng = np.random.default_rng(seed)
    sign = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return overlap * rng.normal(size=(n, d)) + sign[:, None] / d**0.5, sign


def _near_duplicates() -> np.ndarray:
    """Rows of norm 10⁴ in pairs that differ by 10⁻³."""
    rows = 1e4 * table(6, 3)
    return np.vstack([rows, rows + 1e-3 * table(6, 3, seed=1)])


SAMPLES: dict[str, Any] = {
    "float64": table(9, 3),
    "float32": table(9, 3).astype(np.float32),
    "CSR float64": sparse_table(9, 8),
    "CSR float32": sparse_table(9, 8).astype(np.float32),
    "one row": table(1, 3),
    "one column": table(7, 1),
    "duplicated rows": np.vstack([table(4, 3)] * 2),
    "all rows equal": np.full((5, 2), 0.3),
    "constant columns": np.hstack([table(6, 2), np.ones((6, 2))]),
    "fewer rows than columns": table(3, 11),
    "a row of zeros": np.vstack([table(4, 3), np.zeros((1, 3))]),
    "Fortran order": np.asfortranarray(table(6, 3)),
}

EXTREME_SAMPLES: dict[str, Any] = {
    "offset 1e6": 1e6 + table(9, 3),
    "offset 1e6, float32": (1e6 + 10 * table(9, 3)).astype(np.float32),
    "near duplicates of large norm": _near_duplicates(),
    "near duplicates of large norm, float32": _near_duplicates().astype(np.float32),
    "scale 1e-20": 1e-20 * table(9, 3),
    "scale 1e-20, float32": (1e-20 * table(9, 3)).astype(np.float32),
    "scale 1e20": 1e20 * table(9, 3),
    "scale 1e20, float32": (1e20 * table(9, 3)).astype(np.float32),
    "CSR, scale 1e20, float32": (1e20 * sparse_table(9, 8)).astype(np.float32),
    "columns of very different size": table(9, 3) * np.array([1e-6, 1.0, 1e6]),
}

SCALE_FREE_KERNELS = _by_name(
    [
        RBF(),
        Exponential(),
        Laplacian(),
        RationalQuadratic(),
        Linear().normalized(),
        Polynomial(2, bias=0.0).normalized(),
    ]
)
"""Kernels that mean the same on data of any size: these must survive `EXTREME_SAMPLES`."""


def new_points(X: Any) -> Any:
    """Return other rows of the same kind as X."""
    return X[::2] * X.dtype.type(0.5)


# ---------------------------------------------------------------- storages and estimators
def _stored(storage: str, memory: Any = None) -> Callable[..., Gram]:
    return lambda kernel, X, Y=None: gram(kernel, X, Y, storage=storage, memory=memory)


def _few_rows(kernel: Kernel, X: Any, Y: Any = None) -> Gram:
    """A cache that holds only two rows: most of them are computed again and again."""
    width = X.shape[0] if Y is None else Y.shape[0]
    return gram(kernel, X, Y, storage="cached", memory=2 * 8 * width)


def _triangle(kernel: Kernel, X: Any, Y: Any = None) -> Gram:
    """Half of a symmetric matrix; there is none of a matrix of new points."""
    half = Y is None and kernel.symmetric
    return gram(kernel, X, Y, storage="triangle" if half else "blocked")


def _precomputed(kernel: Kernel, X: Any, Y: Any = None) -> Gram:
    train = kernel(X if Y is None else Y)
    if Y is None:
        return gram(Precomputed(), train)
    return gram(Precomputed(), kernel.bind(Y)(X, Y), train)


STORAGES: dict[str, Callable[..., Gram]] = {
    "dense": _stored("dense"),
    "triangle": _triangle,
    "cached": _stored("cached"),
    "cached, two rows": _few_rows,
    "blocked": _stored("blocked"),
    "precomputed": _precomputed,
}

ESTIMATORS = [
    LinearRegression(),
    LinearRegression(positive=True),
    LinearRegression(norm="l1"),
    LinearRegression(norm="linf", fit_intercept=False),
    PenaltyRegression(),
    PenaltyRegression("dead_zone"),
    PenaltyRegression("large_error", random_state=0),
    QuantileRegression(0.7),
    QuantileRegression(0.3, lam=0.05),
    Ridge(),
    Ridge(positive=True),
    Lasso(),
    Lasso(0.05, fit_intercept=False),
    Lasso(0.05, positive=True),
    ElasticNet(0.1),
    ElasticNet(0.1, l1_ratio=0.0, positive=True),
    LogisticRegression(),
    LogisticRegression(lam=0.1, class_weight="balanced"),
    LogisticRegression(solver="lbfgs"),
    LogisticRegression(lam=0.1, l1_ratio=1.0),
    LogisticRegression(l1_ratio=0.5),
    AdaBoost(20),
    Autoencoder((), activation="tanh", lam=0.01, random_state=0),
    Autoencoder((), 2, activation="linear", random_state=0),
    MLPClassifier(activation="tanh", lam=0.01, solver="lbfgs", random_state=0),
    MLPClassifier(
        8, activation="tanh", solver="adam", learning_rate=0.1, max_epochs=3000, random_state=0
    ),
    MLPRegressor(20, activation="sigmoid", lam=0.01, random_state=0),
    MLPRegressor((9, 5), activation="tanh", lam=0.01, random_state=0),
    GaussianBayes(),
    GaussianBayes(order=1, tied=True),
    GMM(),
    GMM(2, covariance="diagonal", random_state=0),
    GMM(2, covariance="tied", random_state=0),
    MDS(),
    MDS(3, transform="logarithm"),
    LLE(method="modified"),
    Isomap(radius=3.0, metric="l1"),
    Isomap(6),
    LLE(),
    SpectralEmbedding(n_neighbors=5),
    SpectralEmbedding(affinity="rbf"),
    SpectralClustering(2, n_neighbors=5, random_state=0),
    SpectralClustering(3, affinity=RBF(gamma=0.5), random_state=0),
    KernelKMeans(3, random_state=0),
    KernelKMeans(2, kernel="linear", random_state=0),
    KernelLogistic(),
    KernelMachine(),
    KernelMachine("huber", lam=0.1),
    KernelMachine("quantile", lam=0.1),
    KernelMachine("logistic", fit_intercept=False),
    KernelMachine("hinge", lam=0.1),
    KernelMachine("hinge", lam=0.1, fit_intercept=False),
    KernelRidge(),
    KernelRidge("linear", lam=0.1, fit_intercept=False),
    KernelRidgeClassifier(),
    MetricRidge(rounds=2, lam=0.1, random_state=0),
    MetricRidgeClassifier("laplacian", rounds=1, lam=0.1, random_state=0),
    KernelRidge(0.5 * RBF(gamma=0.1) + Laplacian() * Linear(bias=1.0).normalized()),
    PCA(),
    PCA(2, route="gram", whiten=True),
    PCA(0.9, route="svd"),
    KernelPCA(),
    KernelPCA(kernel="linear", n_components=2),
    Whitening(),
    Whitening(shrinkage=0.1, method="zca"),
    LDA(),
    LDA(shrinkage="auto"),
    KernelFDA(),
    KernelFDA(kernel="linear", lam=0.01),
    CCA(),
    KernelCCA(kernel_y="rbf"),
    RandomProjection(2, random_state=0),
    RandomProjection(kind="sparse", random_state=0),
    RobustPCA(),
    EmpiricalMap(n_components=20, random_state=0),
    KernelPCAMap(),
    Nystrom(10, random_state=0),
    Nystrom(20, landmarks="cholesky", random_state=0),
    PolynomialMap(),
    RandomFourier(random_state=0),
    SparsePCA(),
    SVC(),
    SVR(),
    OneClassSVM(),
    NuSVC(nu=0.3),
    NuSVR(),
    LinearSVC(penalty="l1"),
    LinearSVC(random_state=0),
    KNN(),
    KNNRegressor(kernel="rbf"),
    NearestNeighbors(3),
    # -1 is a class of the conformance suite, as it is of many who come from ±1
    LaplacianSVC(unlabelled=None),
    LaplacianSVC("linear", fit_intercept=True, multiclass="ovo", unlabelled=None),
    LaplacianRidge(),
    LaplacianRidgeClassifier(unlabelled=None),
    GraphSpreading(5, unlabelled=None),
    GraphSpreading(5, clamp=True, unlabelled=None),
    ICA(random_state=0),
    ICA(2, contrast="exp", algorithm="deflation", random_state=0),
    KernelICA(n_restarts=0, random_state=0),
    SIR(),
    LocalSIR(2),
    SupervisedPCA(),
    SupervisedPCA(2, kernel_y="rbf"),
]
