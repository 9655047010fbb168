"""Many λ from one matrix: every solution is that of its own linear system."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import RBF, Laplacian, Linear, Sigmoid
from mercer.solvers.ridge_path import partial_factor, ridge_path
from tests.cases import table

LAMS = np.geomspace(1e-6, 1e3, 7)


def direct(K, Y, lam, weight, fit_intercept=True):
    """Solve [[K + λW⁻¹, 1], [1ᵀ, 0]] [α; b] = [Y; 0] for one λ."""
    n, t = Y.shape
    A = K + np.diag(lam / weight)
    if not fit_intercept:
        return np.linalg.solve(A, Y), np.zeros(t)
    bordered = np.block([[A, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(bordered, np.vstack([Y, np.zeros((1, t))]))
    return solution[:n], solution[n]


def problem(n, t=2, seed=0):
    X = table(n, 5, seed)
    rng = np.random.default_rng(seed)
    Y = np.column_stack([np.sin(X[:, k]) + 3.0 for k in range(t)]) + 0.1 * rng.normal(size=(n, t))
    return X, Y, rng.uniform(0.2, 3.0, n)


def check(path, K, Y, weight, lams, rows=None, fit_intercept=True, rtol=1e-6):
    rows = np.arange(len(K)) if rows is None else rows
    square = K[np.ix_(rows, rows)]
    for k, lam in enumerate(lams):
        alpha, b = direct(square, Y[rows], lam, weight[rows], fit_intercept)
        values = K[:, rows] @ alpha + b
        np.testing.assert_allclose(path.values[..., k], values, atol=rtol * np.abs(Y).max())
        np.testing.assert_allclose(path.intercept[:, k], b, atol=rtol * np.abs(Y).max())
        own = K[:, rows] @ path.alpha[..., k] + path.intercept[:, k]
        np.testing.assert_allclose(path.values[..., k], own, atol=1e-9 * np.abs(Y).max())


# sizes: eigenvectors, the first band form, and one whose last panel is narrow
@pytest.mark.parametrize("n", [1, 2, 40, 301, 337])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_solution_is_that_of_its_own_system(n, fit_intercept):
    X, Y, weight = problem(n)
    K = RBF(gamma=0.2)(X)
    path = ridge_path(K, Y, LAMS, weight=weight, fit_intercept=fit_intercept)
    assert path.alpha.shape == (n, 2, len(LAMS))
    assert path.proved.all()
    check(path, K, Y, weight, LAMS, fit_intercept=fit_intercept)
    if fit_intercept:
        size = np.abs(path.alpha).sum(axis=0).max() + 1.0
        np.testing.assert_allclose(path.alpha.sum(axis=0), 0.0, atol=1e-10 * size)


@pytest.mark.parametrize("kernel", [RBF(gamma=1e-3), Laplacian(), RBF(gamma=5.0), Linear()])
def test_smooth_and_rough_kernels(kernel):
    X, Y, weight = problem(320, t=1)
    K = kernel.bind(X)(X)
    lams = np.geomspace(1e-3, 1e3, 5)
    path = ridge_path(K, Y, lams, weight=weight)
    assert path.proved.all()
    check(path, K, Y, weight, lams)


@pytest.mark.parametrize(
    ("gamma", "double_up_to", "route"),
    [(1e-3, 2000, "low rank"), (1.0, 2000, "band float64"), (1.0, 0, "band float32")],
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_each_factor_serves_where_it_is_cheapest(gamma, double_up_to, route, fit_intercept):
    X, Y, weight = problem(400)
    K = RBF(gamma=gamma)(X)
    train = np.flatnonzero(np.arange(400) % 5)
    path = ridge_path(
        K, Y, LAMS[1:], weight=weight, train=train, double_up_to=double_up_to,
        fit_intercept=fit_intercept,
    )  # fmt: skip
    assert set(path.route) == {route}
    assert path.proved.all()
    check(path, K, Y, weight, LAMS[1:], rows=train, fit_intercept=fit_intercept)


def test_float32_serves_what_is_small_against_the_largest_eigenvalue():
    X, Y, weight = problem(500, t=1)
    K = RBF(gamma=0.3)(X) + 1e3  # the constant alone is 5 · 10¹⁰ times the smallest λ
    lams = np.array([1e-5, 1e-3])
    path = ridge_path(K, Y, lams, weight=weight, fit_intercept=False, double_up_to=0)
    assert set(path.route) == {"band float32"}
    assert path.proved.all()


def test_folds_share_a_factor_of_all_rows():
    X, Y, weight = problem(420)
    K = RBF(gamma=2e-3)(X)
    part = partial_factor(K, LAMS[0])
    assert part.leaves_little
    np.testing.assert_allclose(part.L @ part.L.T, K, atol=1.01 * LAMS[0])
    train = np.flatnonzero(np.arange(420) % 3)
    own = ridge_path(K, Y, LAMS, weight=weight, train=train)
    shared = ridge_path(K, Y, LAMS, weight=weight, train=train, part=part)
    np.testing.assert_array_equal(shared.values, own.values)


def test_held_out_rows_are_predicted():
    X, Y, weight = problem(400)
    K = RBF(gamma=0.2)(X)
    train = np.flatnonzero(np.arange(400) % 5)
    path = ridge_path(K, Y, LAMS, weight=weight, train=train)
    check(path, K, Y, weight, LAMS, rows=train)
    wild = Y.copy()
    wild[::5] = np.nan  # targets that are held out are not looked at
    again = ridge_path(K, wild, LAMS, weight=weight, train=train)
    np.testing.assert_array_equal(again.values, path.values)


@pytest.mark.parametrize("n", [50, 330])
def test_a_weight_of_zero_is_no_row(n):
    X, Y, weight = problem(n)
    weight[::4] = 0.0
    K = RBF(gamma=0.2)(X)
    path = ridge_path(K, Y, LAMS, weight=weight)
    assert (path.alpha[::4] == 0.0).all()
    rows = np.flatnonzero(weight)
    without = ridge_path(K, Y, LAMS, weight=weight, train=rows)
    np.testing.assert_allclose(path.alpha[rows], without.alpha, rtol=1e-9)
    np.testing.assert_allclose(path.values, without.values, rtol=1e-9)


def test_single_precision_input_is_solved_as_it_is():
    X, Y, weight = problem(320)
    K = RBF(gamma=0.2)(X).astype(np.float32)
    path = ridge_path(K, Y, LAMS, weight=weight)
    assert path.proved.all()
    check(path, K.astype(np.float64), Y, weight, LAMS)


@pytest.mark.parametrize("n", [60, 320])
def test_duplicated_rows_and_constant_targets(n):
    X, Y, _ = problem(n)
    X[n // 2 :] = X[: n - n // 2]
    Y[:, 0], Y[:, 1] = 7.0, 0.0
    path = ridge_path(RBF(gamma=0.2)(X), Y, LAMS)
    assert path.proved.all()
    np.testing.assert_allclose(path.values[:, 0], 7.0, rtol=1e-8)
    np.testing.assert_array_equal(path.values[:, 1], 0.0)


@pytest.mark.parametrize("n", [60, 320])
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_the_size_of_the_kernel_does_not_matter(n, scale):
    X, Y, _ = problem(n)
    K = RBF(gamma=0.2)(X)
    small = ridge_path(K, Y, LAMS[2:])
    path = ridge_path(scale * K, Y, scale * LAMS[2:])
    assert path.proved.all()
    np.testing.assert_allclose(path.values, small.values, rtol=1e-6)


@pytest.mark.parametrize("n", [40, 320])
def test_an_indefinite_kernel_is_solved_by_eigenvectors(n):
    X, Y, weight = problem(n)
    K = Sigmoid(scale=2.0, bias=-1.0)(X)
    path = ridge_path(K, Y, [0.1, 1.0], weight=weight)
    assert set(path.route) == {"eigenvectors"}
    check(path, K, Y, weight, [0.1, 1.0], rtol=1e-5)


def test_what_cannot_be_proved_is_not_called_proved():
    _, Y, _ = problem(320)
    unsymmetric = RBF(gamma=0.2)(table(320, 5)) + 0.3 * np.triu(table(320, 320), 1)
    path = ridge_path(unsymmetric, Y, [1e-3])
    assert not path.proved.any()
    assert path.residual[0] > 1e-3


def test_the_argument_is_left_alone():
    X, Y, _ = problem(320)
    K = RBF(gamma=0.2)(X)
    before = K.copy()
    ridge_path(K, Y, LAMS)
    np.testing.assert_array_equal(K, before)


@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(301, 360),
    t=st.integers(1, 3),
    seed=st.integers(0, 100),
    gamma=st.sampled_from([1e-4, 0.05, 1.0, 30.0]),
    fit_intercept=st.booleans(),
)
def test_any_smooth_problem_is_proved(n, t, seed, gamma, fit_intercept):
    X, Y, weight = problem(n, t, seed)
    K = RBF(gamma=gamma)(X)
    path = ridge_path(K, Y, LAMS, weight=weight, fit_intercept=fit_intercept)
    assert path.proved.all()
    residual = Y - path.values[..., 2] - LAMS[2] / weight[:, None] * path.alpha[..., 2]
    root = np.sqrt(weight)[:, None]
    assert np.linalg.norm(root * residual) <= 1.01e-8 * np.linalg.norm(root * Y)


# ---------------------------------------------------------------- bad input
@pytest.mark.parametrize("lams", [[], [0.0], [-1.0], [np.nan], [np.inf], 1.0, [[1.0]]])
def test_a_penalty_must_be_positive(lams):
    with pytest.raises(ValueError, match=r"lams must be a list of finite numbers > 0; got"):
        ridge_path(np.eye(3), np.ones((3, 1)), lams)


def test_no_rows_are_an_error():
    with pytest.raises(ValueError, match="at least one row of positive weight"):
        ridge_path(np.eye(3), np.ones((3, 1)), [1.0], weight=np.zeros(3))


@pytest.mark.parametrize("n", [3, 320])
def test_values_that_are_not_finite_are_an_error(n):
    K = np.eye(n)
    K[1, 0] = K[0, 1] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        ridge_path(K, np.arange(n)[:, None], [1.0])
