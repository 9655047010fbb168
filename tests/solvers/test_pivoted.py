"""Cholesky factors with pivots: exact on the points they come from, never above the matrix."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import gram
from mercer.kernels import RBF, Laplacian, Linear, Precomputed
from mercer.solvers.pivoted import (
    factor_from_points,
    pivoted_cholesky,
    randomly_pivoted_cholesky,
)
from tests.cases import table

N = 200
X = table(N, 3)
K = RBF(gamma=0.3)(X)
kernels = pytest.mark.parametrize(
    "kernel", [RBF(gamma=0.3), Laplacian(gamma=0.5), Linear()], ids=repr
)


def drawn(G, rank):
    return randomly_pivoted_cholesky(G, rank, np.random.RandomState(0))


@kernels
def test_a_drawn_factor_is_exact_when_it_is_whole(kernel):
    F, points = drawn(gram(kernel, X), N)
    assert len(np.unique(points)) == F.shape[1]
    np.testing.assert_allclose(F @ F.T, kernel(X), atol=1e-6)


def test_a_drawn_factor_never_exceeds_the_matrix():
    F, points = drawn(gram(RBF(gamma=0.3), X), 30)
    assert F.shape == (N, 30)
    np.testing.assert_allclose((F @ F.T)[points], K[points], atol=1e-10)
    assert np.linalg.eigvalsh(K - F @ F.T).min() > -1e-10
    assert np.trace(K - F @ F.T) < 0.2 * N


def test_a_drawn_factor_of_zeros_is_empty():
    F, points = drawn(gram(Precomputed(), np.zeros((4, 4))), 3)
    assert F.shape == (4, 0)
    assert len(points) == 0


def test_a_factor_from_points_is_the_matrix_on_their_rows():
    points = np.array([3, 50, 120])
    F = factor_from_points(gram(RBF(gamma=0.3), X), points)
    np.testing.assert_allclose((F @ F.T)[points], K[points], atol=1e-12)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_pivoted_factor_has_as_many_rows_as_the_matrix_has_rank(overwrite):
    A = np.asfortranarray(X @ X.T)
    wanted = A.copy()
    U, order = pivoted_cholesky(A, overwrite=overwrite)
    assert U.shape == (3, N)
    np.testing.assert_allclose(U.T @ U, wanted[np.ix_(order, order)], atol=1e-10)
    assert overwrite or (wanted == A).all()


@pytest.mark.parametrize("A", [np.zeros((3, 3)), np.diag([1e-9, 1e-10, 0.0])])
def test_what_is_below_the_limit_is_no_rank(A):
    assert pivoted_cholesky(A, 1e-8)[0].shape == (0, 3)
