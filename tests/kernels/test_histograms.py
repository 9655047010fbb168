"""Kernels of histograms: their sums, column by column, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import chi2_kernel

from mercer import SVC, check_kernel
from mercer.kernels import ChiSquared, Intersection
from tests.compare import assert_close
from tests.kernels.everywhere import assert_works_everywhere


def chi_squared(kernel, x, y):
    terms = ((a - b) ** 2 / (a + b) for a, b in zip(x, y, strict=True) if a + b > 0)
    return math.exp(-kernel.gamma * math.fsum(terms))


def intersection(kernel, x, y):
    return math.fsum(map(min, x, y))


FORMULAS = {ChiSquared(): chi_squared, ChiSquared(gamma=0.2): chi_squared}
FORMULAS[Intersection()] = intersection
every_kernel = pytest.mark.parametrize("kernel", FORMULAS, ids=repr)


def by_loops(kernel, X, Y):
    value = FORMULAS[kernel]
    return np.array([[value(kernel, x, y) for y in Y.tolist()] for x in X.tolist()])


def histograms(n, d=7, seed=0):
    rows = np.random.default_rng(seed).poisson(0.8, size=(n, d)).astype(float)
    rows[n // 2] = 0.0
    return rows


@every_kernel
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_values_are_the_formula(kernel, dtype, form, small_tiles):
    X, Y = histograms(12), histograms(9, seed=1)
    got = kernel(form(X.astype(dtype)), form(Y.astype(dtype)))
    assert got.dtype == dtype
    assert_close(got, by_loops(kernel, X, Y))


@every_kernel
def test_zeros_that_are_stored_change_nothing(kernel):
    X = sp.csr_array(histograms(6))
    X.data[::2] = 0.0
    assert_close(kernel(X), kernel(X.toarray()))


@every_kernel
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_diagonal_is_that_of_the_matrix(kernel, form):
    X = form(histograms(8))
    assert_close(kernel.diagonal(X), np.diagonal(kernel(X)))


def test_chi_squared_is_that_of_scikit_learn():
    X = histograms(20)
    assert_close(ChiSquared(gamma=0.3)(X), chi2_kernel(X, gamma=0.3))


@every_kernel
def test_matrices_are_positive_semidefinite(kernel):
    for seed in range(5):
        assert check_kernel(kernel, histograms(30, seed=seed)).ok


@every_kernel
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_negative_values_are_refused(kernel, form):
    X = histograms(5)
    X[1, 2] = -0.5
    with pytest.raises(ValueError, match=rf"{type(kernel).__name__}.*≥ 0; got -0.5"):
        SVC(kernel).fit(form(X), [0, 1, 0, 1, 0])
    model = SVC(kernel).fit(form(abs(X)), [0, 1, 0, 1, 0])
    with pytest.raises(ValueError, match=r"got -0\.5"):
        model.predict(form(X))


@every_kernel
def test_other_columns_are_refused(kernel):
    with pytest.raises(ValueError, match="same number of columns; got 7 and 3"):
        kernel(histograms(4), histograms(4, 3))


@every_kernel
def test_machines_take_them_alone_and_in_expressions(kernel, tmp_path):
    assert_works_everywhere(kernel, histograms(30), tmp_path)
