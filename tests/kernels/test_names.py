"""Kernels by name, wherever a kernel is accepted."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import KernelPCA, KernelRidge, as_kernel, gram
from mercer.kernels import (
    DTW,
    RBF,
    Anova,
    Categorical,
    ChiSquared,
    Cosine,
    Exponential,
    FromFunction,
    GlobalAlignment,
    Gower,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Mismatch,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
    Spline,
    Subsequence,
    Substring,
    Wavelet,
    WeightedDegree,
    WeisfeilerLehman,
    Words,
)
from mercer.kernels.names import NAMES
from tests.cases import WORDS, table

WANTED = {
    "linear": Linear(),
    "polynomial": Polynomial(),
    "poly": Polynomial(),
    "rbf": RBF(),
    "gaussian": RBF(),
    "exponential": Exponential(),
    "laplacian": Laplacian(),
    "matern": Matern(),
    "rational_quadratic": RationalQuadratic(),
    "periodic": Periodic(),
    "anova": Anova(),
    "spline": Spline(),
    "wavelet": Wavelet(),
    "dtw": DTW(),
    "global_alignment": GlobalAlignment(),
    "sigmoid": Sigmoid(),
    "cosine": Cosine(),
    "chi_squared": ChiSquared(),
    "intersection": Intersection(),
    "words": Words(),
    "spectrum": Spectrum(),
    "mismatch": Mismatch(),
    "weighted_degree": WeightedDegree(),
    "subsequence": Subsequence(),
    "substring": Substring(),
    "weisfeiler_lehman": WeisfeilerLehman(),
    "categorical": Categorical(),
    "gower": Gower(),
    "precomputed": Precomputed(),
}


def test_the_names_are_these():
    assert {name: as_kernel(name) for name in NAMES} == WANTED


@pytest.mark.parametrize("name", ["RBF", "Rbf", "rbf"])
def test_names_are_understood_in_any_case(name):
    assert as_kernel(name) == RBF()


def test_a_kernel_is_a_kernel():
    kernel = RBF(gamma=1.0)
    assert as_kernel(kernel) is kernel


def test_a_function_becomes_a_kernel():
    assert as_kernel(min) == FromFunction(min)


SERIES = ("dtw", "global_alignment")
GRAPHS = [[(i, (i + 1) % n) for i in range(n)] for n in range(3, 15)]
TEXTS = [word + " and more" for word in WORDS + WORDS[:5]]


@pytest.mark.parametrize("name", sorted(set(WANTED) - {"precomputed"}))
@pytest.mark.filterwarnings("ignore:KernelPCA.*(Sigmoid|DTW):UserWarning")
def test_names_are_accepted_wherever_a_kernel_is(name):
    numbers = as_kernel(name).domain == "vectors" or name in SERIES
    X = abs(table(12, 2)) if numbers else GRAPHS if name == "weisfeiler_lehman" else TEXTS
    gram(name, X)
    KernelPCA(kernel=name, n_components=1).fit(X)
    if as_kernel(name).definiteness == "psd":
        KernelRidge(name).fit(X, np.arange(12.0))
