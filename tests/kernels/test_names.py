"""Kernels by name, wherever a kernel is accepted."""

from __future__ import annotations

import pytest

from mercer import KernelPCA, KernelRidge, as_kernel, gram
from mercer.kernels import (
    RBF,
    Categorical,
    Exponential,
    FromFunction,
    Gower,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from mercer.kernels.names import NAMES
from tests.cases import table

WANTED = {
    "linear": Linear(),
    "polynomial": Polynomial(),
    "poly": Polynomial(),
    "rbf": RBF(),
    "gaussian": RBF(),
    "exponential": Exponential(),
    "laplacian": Laplacian(),
    "matern": Matern(),
    "sigmoid": Sigmoid(),
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


@pytest.mark.parametrize("name", sorted(set(WANTED) - {"precomputed"}))
@pytest.mark.filterwarnings("ignore:KernelPCA.*Sigmoid:UserWarning")
def test_names_are_accepted_wherever_a_kernel_is(name):
    X = table(12, 2)
    gram(name, X)
    KernelPCA(kernel=name, n_components=1).fit(X)
    if as_kernel(name).definiteness == "psd":
        KernelRidge(name).fit(X, X[:, 0])
