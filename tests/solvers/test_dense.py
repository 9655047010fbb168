"""Turns of pairwise and Newton steps: the optimum, the start along C, and points held out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.certify import duality_gap
from mercer.kernels import RBF, Linear, Polynomial, Sigmoid
from mercer.margin import MarginProblem
from mercer.result import Status
from mercer.solvers import DenseMatrix, Limits, SmoState, follow
from mercer.solvers._turn_loops import rescale
from mercer.solvers.dense import solve_dense
from tests import naive
from tests.cases import two_classes

X, SIGN = two_classes(120)
Y = np.sin(2 * X[:, 0]) + 0.1 * SIGN
KERNELS = [RBF(gamma=0.5), RBF(gamma=0.01), Linear(), Polynomial(degree=4)]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def classify(C, n=120):
    return MarginProblem.classify(SIGN[:n], np.full(n, float(C)))


def regress(C, epsilon):
    return MarginProblem.regress(Y, np.full(120, float(C)), epsilon)


def cold(problem):
    return SmoState(np.zeros(len(problem.z)), problem.z)


def check(K, problem, state, tol):
    """Assert that a state is feasible, that e = z − Kβ, and that it is optimal."""
    assert state.status is Status.OPTIMAL
    assert (state.beta >= problem.lo).all()
    assert (state.beta <= problem.hi).all()
    e = problem.z - K @ state.beta
    scale = 1.0 + np.abs(K).max() * np.abs(state.beta).sum()
    np.testing.assert_allclose(state.e, e, atol=1e-12 * scale)
    assert abs(state.beta.sum() - problem.total) <= 1e-12 * (1 + np.abs(state.beta).sum())
    assert problem.offset(state.beta, state.e)[1] <= tol


# ---------------------------------------------------------------- the optimum
@every_kernel
@pytest.mark.parametrize("C", [0.01, 1.0, 1e3])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_classification(kernel, C, tol):
    K, problem = kernel(X), classify(C)
    state = solve_dense(DenseMatrix.of(K), problem, tol, Limits(), cold(problem))
    check(K, problem, state, tol)


@every_kernel
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 10.0])
def test_regression(kernel, epsilon):
    K, problem = kernel(X), regress(3.0, epsilon)
    state = solve_dense(DenseMatrix.of(K), problem, 1e-6, Limits(), cold(problem))
    check(K, problem, state, 1e-6)


def test_the_optimum_is_that_of_a_generic_solver():
    n = 16
    K, problem = RBF(gamma=0.5)(X[:n]), classify(30.0, n)
    state = solve_dense(DenseMatrix.of(K), problem, 1e-9, Limits(), cold(problem))
    _, least = naive.margin_solution(K, problem)
    assert duality_gap(state.beta, state.e, problem, tolerance=1).dual == pytest.approx(-least)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_points_that_are_clear_are_left_out_of_the_steps(dtype):
    """Above a few hundred points steps run on a part, whose rows are gathered when used."""
    rows, sign = two_classes(700, overlap=0.5)
    K = RBF(gamma=0.5)(rows).astype(dtype)
    problem = MarginProblem.classify(sign, np.full(700, 5.0))
    matrix = DenseMatrix.of(K)
    assert len(matrix.room) == 700 * 700
    state = solve_dense(matrix, problem, 1e-4, Limits(), cold(problem))
    check(K.astype(np.float64), problem, state, 1e-4)


def test_values_beyond_single_precision():
    K = Polynomial(degree=5)(1e5 * X)
    problem = classify(1e-20)
    matrix = DenseMatrix.of(K)
    assert matrix.rows.dtype == np.float64
    state = solve_dense(matrix, problem, 1e-3, Limits(), cold(problem))
    assert np.isfinite(state.beta).all()


def test_an_indefinite_matrix_ends():
    K = Sigmoid(scale=2.0, bias=-1.0)(X)
    problem = classify(10.0)
    state = solve_dense(
        DenseMatrix.of(K), problem, 1e-6, Limits.of(20_000, 5.0, 2**40), cold(problem)
    )
    assert np.isfinite(state.beta).all()
    assert (np.abs(state.beta) <= 10.0).all()


# ---------------------------------------------------------------- along C
@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), RBF(gamma=0.01), Linear()], ids=repr)
@settings(max_examples=15)
@given(
    Cs=st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=4),
    epsilon=st.sampled_from([None, 0.0, 0.2]),
)
def test_a_start_from_other_bounds_ends_at_the_same_optimum(kernel, Cs, epsilon):
    K = kernel(X)
    matrix, state, last = DenseMatrix.of(K), None, 1.0
    for C in Cs:
        problem = classify(C) if epsilon is None else regress(C, epsilon)
        state = follow(matrix, problem, 1e-5, Limits(), state, C / last)
        check(K, problem, state, 1e-5)
        fresh = follow(matrix, problem, 1e-5, Limits())
        duals = [duality_gap(s.beta, s.e, problem, tolerance=1).dual for s in (state, fresh)]
        assert duals[0] == pytest.approx(duals[1], rel=1e-4)
        last = C


def test_a_poor_start_on_a_matrix_of_low_rank():
    """The dual is known to 1e-9 only: steps that gain less than that still lead to the end."""
    K = Polynomial(degree=4)(X)
    matrix = DenseMatrix.of(K)
    first = follow(matrix, regress(0.25, 0.2), 1e-5, Limits())
    problem = regress(80.0, 0.2)
    state = follow(matrix, problem, 1e-5, Limits(), first, 320.0)
    assert state.status is Status.OPTIMAL
    assert problem.offset(state.beta, problem.z - K @ state.beta)[1] <= 1e-5


def test_without_a_point_at_its_bound_more_room_changes_nothing():
    K = RBF(gamma=50.0)(X)  # nearly the identity: all points are free
    matrix = DenseMatrix.of(K)
    first = follow(matrix, classify(1e3), 1e-6, Limits())
    second = follow(matrix, classify(1.1e3), 1e-6, Limits(), first, 1.1)
    np.testing.assert_allclose(first.beta, second.beta, atol=1e-6)
    beta, e = first.beta.copy(), first.e.copy()
    rescale(K, *classify(1e5), 100.0, beta, e)
    np.testing.assert_array_equal(first.beta, beta)


def test_the_prediction_is_exact_while_the_sets_stay():
    """With all sets as they are the solution is linear in C."""
    K = RBF(gamma=0.5)(X)
    problem = classify(1.0)
    start = solve_dense(DenseMatrix.of(K), problem, 1e-10, Limits(), cold(problem))
    near = classify(1.0 + 1e-9)
    beta, e = start.beta.copy(), start.e.copy()
    rescale(K, *near, 1.0 + 1e-9, beta, e)
    np.testing.assert_allclose(e, near.z - K @ beta, atol=1e-12)
    assert near.offset(beta, e)[1] < 1e-11


# ---------------------------------------------------------------- held out
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_points_without_room_take_no_part_but_have_their_values(C):
    out = np.arange(120) % 5 == 0
    K, kept = RBF(gamma=0.5)(X), ~out
    bound = np.where(out, 0.0, C)
    z = np.where(out, 0.0, SIGN)
    whole = follow(DenseMatrix.of(K), MarginProblem.classify(z, bound), 1e-8, Limits())
    part = MarginProblem.classify(SIGN[kept], bound[kept])
    alone = follow(DenseMatrix.of(K[np.ix_(kept, kept)]), part, 1e-8, Limits())
    assert not whole.beta[out].any()
    np.testing.assert_allclose(-whole.e[out], K[np.ix_(out, kept)] @ alone.beta, atol=1e-6)


# ---------------------------------------------------------------- limits
def test_limits_are_kept():
    K, problem = RBF(gamma=0.01)(X), classify(1e6)
    matrix = DenseMatrix.of(K)
    few = solve_dense(matrix, problem, 1e-12, Limits(max_iter=10), cold(problem))
    assert few.status is Status.MAX_ITER
    assert few.steps == 10
    # the loops come back after a few steps, and somebody looks at the clock
    late, stopped = (
        solve_dense(matrix, problem, 1e-12, limits, cold(problem), operations=1.0)
        for limits in (Limits.of(-1, 0.0, 2**40), Limits(interrupted=True))
    )
    assert late.status is Status.TIME_LIMIT
    assert stopped.status is Status.INTERRUPTED
    assert 0 < stopped.steps < 5000


def test_a_hard_margin_that_does_not_exist_is_found_out():
    rows = np.vstack([X[:20], X[:20]])
    sign = np.repeat([1.0, -1.0], 20)
    problem = MarginProblem.classify(sign, np.full(40, np.inf))
    matrix = DenseMatrix.of(RBF(gamma=0.5)(rows))
    state = solve_dense(matrix, problem, 1e-3, Limits.of(-1, 10.0, 2**40), cold(problem))
    assert state.status is Status.NOT_SEPARABLE


@pytest.mark.parametrize("size", [1.0, 1e25])
def test_values_that_must_not_be_written_to_give_the_same(size):
    rows, z = two_classes(40, 2)
    K = size * RBF(gamma=0.5)(rows)  # beyond the range of float32 steps are in full precision
    problem = MarginProblem.classify(z, 10.0 / size)
    fixed = K.copy()
    fixed.flags.writeable = False
    free = solve_dense(DenseMatrix.of(K), problem, 1e-6, Limits(), cold(problem))
    same = solve_dense(DenseMatrix.of(fixed), problem, 1e-6, Limits(), cold(problem))
    np.testing.assert_array_equal(same.beta, free.beta)
    full = solve_dense(
        DenseMatrix.of(fixed).in_full_precision(), problem, 1e-6, Limits(), cold(problem)
    )
    np.testing.assert_allclose(full.beta, free.beta, atol=1e-5 * 10.0 / size)
    np.testing.assert_array_equal(fixed, K)
