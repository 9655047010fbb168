"""Margin problems: the optimum by an independent solver, and a proof that says when it is not."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import gram
from mercer.certify import duality_gap
from mercer.kernels import RBF, Laplacian, Linear, Polynomial, RationalQuadratic, Sigmoid
from mercer.margin import MarginProblem
from mercer.result import Status
from mercer.solvers import Limits, SmoState, margin, solve_margin
from mercer.solvers.dense import DenseMatrix, solve_dense
from mercer.solvers.many import solve_many
from mercer.solvers.margin import Sizes
from tests import naive
from tests.cases import STORAGES, table, two_classes

X, SIGN = two_classes(16)
KERNELS = [Linear(), RBF(gamma=0.5), Polynomial(degree=2), Laplacian(gamma=0.3) + Linear()]
EVERYONE = np.arange(16)

PROBLEMS = {
    "classification": MarginProblem.classify(SIGN, np.full(16, 1.0)),
    "classification, large C": MarginProblem.classify(SIGN, np.full(16, 50.0)),
    "classification, weights": MarginProblem.classify(SIGN, np.linspace(0.1, 3.0, 16)),
    "regression": MarginProblem.regress(np.sin(2 * X[:, 0]), np.full(16, 2.0), 0.1),
    "regression, no tube": MarginProblem.regress(np.sin(2 * X[:, 0]), np.full(16, 2.0), 0.0),
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def solved(kernel, problem, tol=1e-8, rows=X, **options):
    index = np.arange(len(rows))
    return solve_margin(gram(kernel, rows), index, problem, tol=tol, **options)


# ---------------------------------------------------------------- the optimum
@every_problem
@every_kernel
def test_the_optimum_is_that_of_a_generic_solver(kernel, problem):
    beta, least = naive.margin_solution(kernel(X), problem)
    solution = solved(kernel, problem)
    assert solution.certificate.dual == pytest.approx(-least, rel=1e-6, abs=1e-8)
    # f is unique where β may not be
    np.testing.assert_allclose(kernel(X) @ solution.value, kernel(X) @ beta, atol=1e-3)


def test_novelty_detection_is_that_of_a_generic_solver():
    problem = MarginProblem(np.zeros(16), np.zeros(16), np.ones(16), 0.0, total=5.0)
    start = np.repeat([1.0, 0.0], [5, 11])
    K = RBF(gamma=0.5)(X)
    solution = solved(RBF(gamma=0.5), problem, start=SmoState(start, -K @ start))
    beta, least = naive.margin_solution(K, problem, total=5.0)
    assert solution.certificate.dual == pytest.approx(-least, rel=1e-6)
    np.testing.assert_allclose(solution.value, beta, atol=1e-4)
    assert solution.certificate.kkt["sum"] < 1e-12


def test_a_sum_that_is_not_kept_shows_in_the_proof():
    problem = MarginProblem.classify(np.array([1.0, -1.0]), np.ones(2))
    proof = duality_gap(np.array([0.5, 0.0]), problem.z, problem, tolerance=1e-3)
    assert proof.kkt["sum"] == 0.5


@every_problem
@pytest.mark.parametrize("store", STORAGES.values(), ids=STORAGES.keys())
def test_every_storage_gives_the_same(store, problem):
    kernel = RBF(gamma=0.5)
    got = solve_margin(store(kernel, X), EVERYONE, problem, tol=1e-8)
    wanted = solved(kernel, problem)
    assert got.status is Status.OPTIMAL
    np.testing.assert_allclose(got.value, wanted.value, atol=1e-7)
    assert got.intercept == pytest.approx(wanted.intercept, abs=1e-7)


def test_a_problem_on_some_points_is_the_problem_of_these_points():
    some = np.array([1, 2, 5, 8, 9, 11, 12, 15])
    problem = MarginProblem.classify(SIGN[some], np.ones(8))
    part = solve_margin(gram(RBF(gamma=0.5), X), some, problem, tol=1e-8)
    alone = solved(RBF(gamma=0.5), problem, rows=X[some])
    np.testing.assert_allclose(part.value, alone.value, atol=1e-8)


# ---------------------------------------------------------------- the proof
@every_problem
@every_kernel
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_the_proof_is_what_the_formulas_say(kernel, problem, tol):
    solution = solved(kernel, problem, tol)
    proof, K, beta, b = solution.certificate, kernel(X), solution.value, solution.intercept
    primal = naive.margin_primal(K, problem, beta, b)
    dual = problem.z @ beta - problem.eps * np.abs(beta).sum() - 0.5 * beta @ K @ beta
    assert proof.ok
    assert proof.primal == pytest.approx(primal, rel=1e-9)
    assert proof.dual == pytest.approx(dual, rel=1e-9)
    assert proof.gap == pytest.approx(primal - dual, abs=1e-9 * primal)
    assert proof.relative_gap <= tol
    assert proof.kkt["pair"] <= tol
    assert max(proof.kkt.values()) <= 2 * tol


@every_problem
@pytest.mark.parametrize("size", [1e-2, 1.0])
def test_a_solution_that_is_moved_is_not_proved(problem, size):
    K = RBF(gamma=0.5)(X)
    beta = solved(RBF(gamma=0.5), problem).value.copy()
    step = size * np.random.default_rng(0).normal(size=16)
    moved = beta + step - step.mean()
    proof = duality_gap(moved, problem.z - K @ moved, problem, tolerance=1e-3)
    assert not proof.ok
    assert proof.kkt["pair"] > 1e-3


@every_problem
def test_the_proof_of_nothing_fails(problem):
    proof = duality_gap(np.zeros(16), problem.z, problem, tolerance=1e-3)
    assert not proof.ok
    assert proof.dual == 0.0
    assert proof.n_free == proof.n_bounded == 0


def test_a_coefficient_outside_its_bounds_is_listed():
    problem = PROBLEMS["classification"]
    beta = solved(RBF(gamma=0.5), problem).value + 0.25 * SIGN  # half of each sign: the sum stays
    proof = duality_gap(beta, problem.z - RBF(gamma=0.5)(X) @ beta, problem, tolerance=1e-3)
    assert proof.kkt["box"] == pytest.approx(0.25)


@given(
    st.integers(4, 30),
    st.integers(0, 2**16),
    st.floats(0.01, 100.0),
    st.sampled_from(KERNELS),
    st.sampled_from([1e-2, 1e-5]),
)
def test_the_solution_is_feasible_and_the_gap_is_never_negative(n, seed, C, kernel, tol):
    rows, sign = two_classes(n, seed=seed)
    bounds = C * np.random.default_rng(seed).uniform(0.5, 2.0, n)
    solution = solved(kernel, MarginProblem.classify(sign, bounds), tol, rows)
    alpha, proof = sign * solution.value, solution.certificate
    assert (alpha >= 0).all()
    assert (alpha <= bounds).all()
    assert abs(solution.value.sum()) <= 1e-12 * bounds.sum()
    assert proof.ok
    assert proof.gap >= 0
    assert proof.dual <= proof.primal * (1 + 1e-12)
    assert proof.n_free + proof.n_bounded == np.count_nonzero(alpha)


@given(st.integers(4, 30), st.integers(0, 2**16), st.floats(0.01, 100.0), st.floats(0.0, 0.5))
def test_regression_is_feasible_too(n, seed, C, epsilon):
    rows = table(n, 2, seed)
    problem = MarginProblem.regress(np.sin(rows[:, 0]), np.full(n, C), epsilon)
    solution = solved(RBF(gamma=0.5), problem, 1e-5, rows)
    assert np.abs(solution.value).max() <= C
    assert abs(solution.value.sum()) <= 1e-12 * n * C
    assert solution.certificate.ok
    assert solution.certificate.gap >= 0


# ---------------------------------------------------------------- single and double precision
LARGE = Sizes(dense=False)


def large_route(kernel, rows, problem, tol, storage="blocked", sizes=LARGE):
    """Solve in float32 rows as large problems do; return the solution and the float64 Grams."""
    doubles = []

    def exact():
        doubles.append(gram(kernel, rows, storage=storage))
        return doubles[-1]

    K = gram(kernel, rows, storage=storage, dtype=np.float32)
    index = np.arange(len(rows))
    solution = solve_margin(K, index, problem, tol=tol, exact=exact, sizes=sizes)
    return solution, doubles


@pytest.mark.parametrize("storage", ["cached", "blocked"])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_steps_in_single_precision_are_proved_in_double(storage, C):
    rows, sign = two_classes(120)
    problem = MarginProblem.classify(sign, np.full(120, C))
    solution, _ = large_route(RBF(gamma=0.5), rows, problem, 1e-3, storage)
    e = sign - RBF(gamma=0.5)(rows) @ solution.value
    by_hand = duality_gap(solution.value, e, problem, tolerance=1e-3)
    assert solution.status is Status.OPTIMAL
    assert by_hand.ok
    assert by_hand.gap == pytest.approx(solution.certificate.gap, rel=1e-6, abs=1e-9)


def test_where_single_precision_is_too_coarse_the_solve_goes_on_in_double():
    rows, sign = two_classes(120)
    problem = MarginProblem.classify(sign, np.full(120, 1000.0))
    solution, doubles = large_route(RBF(gamma=0.5), rows, problem, 1e-7)
    assert solution.status is Status.OPTIMAL
    assert len(doubles) == 1


def test_points_clear_of_the_margin_need_no_proof_of_their_own():
    rows, sign = two_classes(300, overlap=0.4)
    problem = MarginProblem.classify(sign, np.ones(300))
    whole, _ = large_route(RBF(gamma=0.5), rows, problem, 1e-3)
    part, _ = large_route(RBF(gamma=0.5), rows, problem, 1e-3, sizes=LARGE._replace(check_all=0))
    assert whole.certificate.checked == 300
    assert part.certificate.checked < 300
    for figure in ("primal", "dual", "gap"):
        assert part.certificate.parts[figure] == pytest.approx(whole.certificate.parts[figure])


def checked_residuals(C, dtype, drift, kernel=KERNELS[1]):
    """A solution whose residuals have drifted, proved with points left out where that is safe."""
    rows, sign = two_classes(300, overlap=0.4)
    sign[::10] *= -1  # whose coefficients reach any bound
    problem = MarginProblem.classify(sign, np.full(300, C))
    beta = solved(kernel, problem, rows=rows, tol=1e-6).value
    K = gram(kernel, rows, storage="blocked", dtype=dtype)
    exact = sign - K.in_double().toarray() @ beta
    state = SmoState(beta, exact + drift * np.random.default_rng(0).normal(size=300))
    e, checked = margin.exact_residuals(K, np.arange(300), problem, state, check_all=0)
    return problem, beta, e, checked, exact


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("drift", [1e-3, 1.0])
def test_points_that_are_left_out_have_fresh_residuals(dtype, drift):
    *_, e, checked, exact = checked_residuals(1.0, dtype, drift)
    assert checked < 300
    np.testing.assert_allclose(e, exact, atol=1e-5)


@pytest.mark.parametrize("C", [1.0, 1e3, 1e5])
def test_points_that_are_left_out_have_no_loss(C):
    """Larger coefficients ask for more distance from the margin."""
    problem, beta, e, checked, exact = checked_residuals(C, np.float32, 1e-3)
    assert checked < 300
    b, _ = problem.offset(beta, e)
    # what was computed again agrees to the rounding of float64, all else has nothing to lose
    left_out = np.abs(e - exact) > 1e-13 * np.abs(beta).sum()
    assert left_out.sum() <= 300 - checked
    assert problem.clear(beta, exact - b, 0.0)[left_out].all()
    gaps = [problem.figures(beta, r, b).gap for r in (e, exact)]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-10 * np.abs(beta).sum())


def test_where_nothing_is_known_of_float32_every_point_is_checked():
    *_, e, checked, exact = checked_residuals(1.0, np.float32, 1e-3, RationalQuadratic(gamma=0.5))
    assert checked == 300
    np.testing.assert_allclose(e, exact, atol=1e-10)


def test_points_that_many_problems_leave_out_have_no_loss():
    """Of large problems side by side those are left out that float32 cannot have told wrongly."""
    rows, sign = two_classes(900, overlap=0.4)
    sign[::7] *= -1
    K = gram(RBF(gamma=2.0), rows, storage="blocked", dtype=np.float32)
    parts = [(np.arange(900), MarginProblem.classify(sign, np.full(900, C))) for C in (1.0, 10.0)]
    for (_, problem), found in zip(
        parts, solve_many(K, parts, tol=1e-3, limits=Limits(), about=["", ""]), strict=True
    ):
        beta, e = found.value, found.state.e
        exact = sign - K.in_double().toarray() @ beta
        assert found.certificate.checked < 900
        left_out = np.abs(e - exact) > 1e-13 * np.abs(beta).sum()
        assert problem.clear(beta, exact - found.intercept, 0.0)[left_out].all()
        assert found.certificate.gap == pytest.approx(
            duality_gap(beta, exact, problem, tolerance=1e-3).gap, rel=1e-6, abs=1e-9
        )


# ---------------------------------------------------------------- Newton steps
def test_newton_steps_end_at_the_optimum_and_stay_in_the_box():
    rows, sign = two_classes(80)
    problem, K = MarginProblem.classify(sign, np.ones(80)), gram(RBF(gamma=0.5), rows)
    rough = margin.solve_smo(
        K, np.arange(80), problem, 1e-2, Limits(), SmoState(np.zeros(80), sign)
    )
    state = solve_dense(DenseMatrix.of(K.toarray()), problem, 1e-3, Limits(), rough)
    beta, e = state.beta, state.e
    np.testing.assert_allclose(e, sign - K.toarray() @ beta, atol=1e-10)
    assert (beta >= problem.lo).all()
    assert (beta <= problem.hi).all()
    assert abs(beta.sum()) < 1e-12
    before, after = (duality_gap(v, sign - K @ v, problem, tolerance=1) for v in (rough.beta, beta))
    assert after.dual >= before.dual
    assert after.kkt["free"] < 1e-10


def test_an_indefinite_kernel_is_left_alone_by_newton():
    rows, sign = two_classes(30)
    kernel = Sigmoid(scale=2.0, bias=-1.0)
    problem = MarginProblem.classify(sign, np.ones(30))
    solution = solved(kernel, problem, 1e-3, rows)
    assert np.isfinite(solution.value).all()
    assert (np.abs(solution.value) <= 1.0).all()


# ---------------------------------------------------------------- offsets without free points
def test_the_offset_lies_in_the_middle_if_no_vector_is_free():
    # two points with a tiny C: both at the bound, any b with |b| ≤ 1 − … is optimal
    problem = MarginProblem.classify(np.array([1.0, -1.0]), np.full(2, 1e-3))
    solution = solved(Linear(), problem, rows=np.array([[1.0], [-1.0]]))
    assert solution.certificate.n_bounded == 2
    assert solution.certificate.n_free == 0
    assert solution.intercept == pytest.approx(0.0, abs=1e-12)
    assert solution.certificate.ok


def test_points_that_may_not_move_have_no_pair_to_violate():
    problem = MarginProblem.classify(np.array([1.0, 1.0, -1.0]), np.array([1.0, 2.0, 0.0]))
    b, violation = problem.offset(np.zeros(3), problem.z)
    assert violation == 0.0
    assert np.isfinite(b)


# ---------------------------------------------------------------- no time left
@every_problem
def test_a_start_that_is_out_of_time_is_returned_as_it_is(problem):
    K = gram(RBF(gamma=0.5), X)
    before = solve_margin(K, EVERYONE, problem, limits=Limits(max_iter=1)).state
    beta = before.beta.copy()
    found = solve_margin(K, EVERYONE, problem, limits=Limits(deadline=0.0), start=before)
    np.testing.assert_array_equal(found.value, beta)
    assert found.status is Status.TIME_LIMIT
    assert not found.certificate.ok


@pytest.mark.parametrize("storage", ["blocked", "dense"])
def test_a_proof_that_takes_too_long_proves_nothing(storage, monkeypatch):
    """The solve ends in time; all that is computed after it comes too late."""
    K = gram(RBF(gamma=0.5), X, storage=storage, dtype=np.float32)
    solve, ended = margin.solve_smo, []

    def solve_smo(*given):
        state = solve(*given)
        ended.append(given[4])
        given[4].deadline = 0.0
        return state

    monkeypatch.setattr(margin, "solve_smo", solve_smo)
    limits, sizes = Limits(deadline=time.monotonic() + 60.0), Sizes(dense=False)
    problem = PROBLEMS["classification"]
    found = solve_margin(K, EVERYONE, problem, limits=limits, sizes=sizes)
    assert ended
    assert np.isnan(found.certificate.value)
    assert found.status is Status.TIME_LIMIT
