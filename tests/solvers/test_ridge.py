"""The ridge system: α and b satisfy it, also when the matrix does not want to."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Status, check_solver, gram
from mercer.kernels import RBF, Linear, Precomputed, Sigmoid
from mercer.solvers import solve_ridge
from tests.cases import STORAGES, table

X = table(15, 3)
Y = np.column_stack([X[:, 0], np.sin(X[:, 1])])
ONE = np.ones(15)


def bordered(K, Y, ridge):
    """Solve [[K + Λ, 1], [1ᵀ, 0]] [α; b] = [Y; 0] by least squares of least norm."""
    n = len(K)
    A = np.block([[K + np.diag(ridge), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.lstsq(A, np.vstack([Y, np.zeros((1, Y.shape[1]))]), rcond=1e-12)[0]
    return solution[:n], solution[n]


@pytest.mark.parametrize("store", STORAGES.values(), ids=STORAGES.keys())
def test_every_storage_gives_the_solution(store):
    kernel = RBF(gamma=0.5)
    ridge = np.linspace(0.1, 1.0, 15)
    solution = check_solver(solve_ridge, store(kernel, X), Y, ridge)
    alpha, b = bordered(kernel(X), Y, ridge)
    assert solution.status is Status.OPTIMAL
    np.testing.assert_allclose(solution.value, alpha, atol=1e-11)
    np.testing.assert_allclose(solution.intercept, b, atol=1e-11)


def test_without_an_intercept():
    solution = check_solver(solve_ridge, gram(RBF(gamma=0.5), X), Y, ONE, fit_intercept=False)
    wanted = np.linalg.solve(RBF(gamma=0.5)(X) + np.eye(15), Y)
    np.testing.assert_allclose(solution.value, wanted, atol=1e-12)
    np.testing.assert_array_equal(solution.intercept, [0.0, 0.0])


def test_the_condition_is_estimated():
    # LAPACK estimates the condition in the 1-norm, from below and rarely by more than a factor 3
    K = RBF(gamma=0.5)(X)
    estimate = solve_ridge(gram(RBF(gamma=0.5), X), Y, ONE).certificate.condition_estimate
    truth = np.linalg.cond(K + np.eye(15), 1)
    assert truth / 3 < estimate < truth * 1.01


@pytest.mark.parametrize("constant", [1.0, 0.1, -1e6, 1e-9])
@pytest.mark.parametrize("lam", [1e-6, 1.0, 1e3])
def test_constant_targets_are_the_intercept(constant, lam):
    targets = np.full((15, 1), constant)
    weights = np.linspace(0.5, 2.0, 15)
    solution = check_solver(solve_ridge, gram(RBF(), X), targets, lam / weights)
    assert solution.status is Status.OPTIMAL
    np.testing.assert_allclose(solution.intercept, constant, rtol=1e-9)


def test_targets_far_from_zero_are_no_problem():
    solution = solve_ridge(gram(RBF(), X), 1e6 + Y, ONE)
    assert solution.status is Status.OPTIMAL
    near = solve_ridge(gram(RBF(), X), Y, ONE)
    np.testing.assert_allclose(solution.value, near.value, atol=1e-8)


@pytest.mark.parametrize("lam", [1e-3, 1.0])
def test_an_indefinite_matrix_is_solved_and_said_to_be_indefinite(lam):
    kernel = Sigmoid(scale=2.0, bias=-1.0)
    solution = check_solver(solve_ridge, gram(kernel, X), Y, lam * ONE)
    assert solution.status is Status.INDEFINITE
    alpha, b = bordered(kernel(X), Y, lam * ONE)
    np.testing.assert_allclose(solution.value, alpha, atol=1e-7)
    np.testing.assert_allclose(solution.intercept, b, atol=1e-7)


# ---------------------------------------------------------------- singular systems, λ = 0
def twice(rows):
    return np.vstack([rows, rows])


@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Linear()], ids=repr)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_contradicting_duplicates_without_a_penalty_are_finite_and_admitted(kernel, fit_intercept):
    targets = np.vstack([Y, -Y])
    G = gram(kernel, twice(X))
    solution = check_solver(solve_ridge, G, targets, np.zeros(30), fit_intercept=fit_intercept)
    assert np.isfinite(solution.value).all()
    assert np.isfinite(solution.intercept).all()
    assert solution.status in (Status.ILL_CONDITIONED, Status.INDEFINITE)
    # the best that can be done with f(x) = y and f(x) = −y is f(x) = 0
    assert np.abs(G @ solution.value + solution.intercept).max() < 1e-6


def test_agreeing_duplicates_without_a_penalty_are_interpolated():
    G = gram(RBF(gamma=2.0), twice(X))
    solution = check_solver(solve_ridge, G, twice(Y), np.zeros(30))
    np.testing.assert_allclose(G @ solution.value + solution.intercept, twice(Y), atol=1e-6)


def test_ones_outside_the_range_of_the_matrix():
    # a linear kernel on centred rows: 1 is orthogonal to every column of K, and b is the mean
    rows = np.linspace(-1.0, 1.0, 7)[:, None]
    solution = check_solver(solve_ridge, gram(Linear(), rows), 3 * rows + 2, np.zeros(7))
    np.testing.assert_allclose(solution.intercept, 2.0, atol=1e-9)
    f = gram(Linear(), rows) @ solution.value
    np.testing.assert_allclose(f, 3 * rows, atol=1e-9)


def test_a_matrix_of_zeros():
    solution = check_solver(
        solve_ridge, gram(Precomputed(), np.zeros((4, 4))), np.arange(4.0)[:, None], np.zeros(4)
    )
    assert np.isfinite(solution.value).all()
    np.testing.assert_allclose(solution.intercept, 1.5)  # the mean is the best constant
    assert not solution.status.ok


def test_a_matrix_that_is_not_symmetric_is_never_called_solved():
    solution = solve_ridge(gram(Precomputed(), table(6, 6)), table(6, 1, seed=1), np.ones(6))
    assert not solution.status.ok
