"""Linear programs: known vertices, and a proof of every outcome."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from mercer import Status
from mercer._limits import Limits
from mercer.optimize import linear_program
from mercer.optimize._program import CORE, Highs, Program
from mercer.optimize.linear_program import solve_program
from tests.compare import refuses


def random_program(seed, m=6, d=4):
    rng = np.random.default_rng(seed)
    A, c = rng.standard_normal((m, d)), rng.standard_normal(d)
    return c, A, rng.standard_normal(m)


# ---------------------------------------------------------------- solutions
def test_a_known_vertex():
    # max 3x + 5y over x ≤ 4, 2y ≤ 12, 3x + 2y ≤ 18: the corner (2, 6) with multipliers 0, 3/2, 1
    A, b = [[1.0, 0.0], [0.0, 2.0], [3.0, 2.0]], [4.0, 12.0, 18.0]
    solution = linear_program([-3.0, -5.0], A, b)
    assert solution.status is Status.OPTIMAL
    np.testing.assert_allclose(solution.value, [2.0, 6.0])
    assert solution.certificate.primal == pytest.approx(-36.0)
    np.testing.assert_allclose(solution.multipliers.inequality, [0.0, 1.5, 1.0])


def test_equalities_and_free_variables():
    # the point of x + y = 2 with the least |x| + |y|, written with t ≥ ±x, is any with x, y ≥ 0
    solution = linear_program([1.0, 1.0], A_eq=[[1.0, 1.0]], b_eq=[2.0], bounds=None)
    assert solution.certificate.primal == pytest.approx(2.0)
    assert solution.multipliers.equality == pytest.approx([-1.0])


def test_the_corner_of_a_box():
    solution = linear_program([1.0, -1.0, 0.0], bounds=[(-1, 5), (None, 7), (2, 2)])
    assert solution.value.tolist() == [-1.0, 7.0, 2.0]
    assert solution.certificate.gap == 0.0


@given(seed=st.integers(0, 10_000))
def test_every_outcome_is_scipys_and_is_proved(seed):
    c, A, b = random_program(seed)
    solution, reference = linear_program(c, A, b), linprog(c, A, b)
    expected = {0: Status.OPTIMAL, 2: Status.INFEASIBLE, 3: Status.UNBOUNDED}
    assert solution.status is expected[reference.status]
    assert solution.certificate.ok


@given(seed=st.integers(0, 10_000))
def test_solutions_satisfy_the_conditions_of_optimality(seed):
    c, A, b = random_program(seed)
    b = np.abs(b)  # 0 is feasible
    solution = linear_program(c, A, b, bounds=(-1, 1))
    x, lam = solution.value, solution.multipliers.inequality
    reduced = c + A.T @ lam
    assert solution.status is Status.OPTIMAL
    assert (A @ x <= b + 1e-9).all()
    assert (lam >= 0).all()
    assert np.abs(lam * (A @ x - b)).max() < 1e-9
    assert ((reduced > -1e-9) | (x > 1 - 1e-9)).all()
    assert ((reduced < 1e-9) | (x < -1 + 1e-9)).all()


def test_sparse_rows_are_the_same_rows():
    c, A, b = random_program(3)
    dense = linear_program(c, A, np.abs(b), bounds=(-1, 1))
    sparse = linear_program(c, sp.csr_matrix(A), np.abs(b), bounds=(-1, 1))
    np.testing.assert_allclose(sparse.value, dense.value)


# ---------------------------------------------------------------- no solution
def test_a_contradiction_is_shown():
    # x + y ≤ 1 and x + y ≥ 3
    A, b = np.array([[1.0, 1.0], [-1.0, -1.0]]), np.array([1.0, -3.0])
    solution = linear_program([1.0, 0.0], A, b, bounds=None)
    lam = solution.multipliers.inequality
    assert solution.status is Status.INFEASIBLE
    assert solution.certificate.ok
    assert (lam >= 0).all()
    np.testing.assert_allclose(A.T @ lam, 0.0, atol=1e-12)  # 0·x ≤ λᵀb < 0
    assert lam @ b < 0
    assert solution.certificate.violation == pytest.approx(2.0)


def test_equalities_that_contradict_each_other():
    solution = linear_program([1.0], A_eq=[[1.0], [1.0]], b_eq=[1.0, 2.0])
    assert solution.status is Status.INFEASIBLE
    assert solution.certificate.ok


def test_bounds_that_contradict_each_other():
    solution = linear_program([1.0, 1.0], bounds=[(0, 1), (2, 1)])
    assert solution.status is Status.INFEASIBLE
    assert "variable 1" in solution.certificate.about


def test_a_ray_shows_that_costs_fall_without_end():
    A, c = np.array([[1.0, -1.0]]), np.array([-1.0, 0.0])
    solution = linear_program(c, A, [2.0])
    x, ray = solution.value, solution.ray
    assert solution.status is Status.UNBOUNDED
    assert solution.certificate.ok
    for t in (0.0, 1.0, 1e6):
        assert A @ (x + t * ray) <= 2.0 + 1e-9
        assert (x + t * ray >= -1e-9).all()
    assert c @ ray < 0


def test_limits():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((300, 200))
    for status, option in (
        (Status.MAX_ITER, {"max_iter": 3}),
        (Status.TIME_LIMIT, {"time_limit": 1e-5}),
    ):
        solution = linear_program(-np.ones(200), A, np.ones(300), bounds=(0, 1), **option)
        assert solution.status is status
        assert not solution.certificate.ok


# ---------------------------------------------------------------- the run
def large(seed=0, m=300, d=200):
    A = np.random.default_rng(seed).standard_normal((m, d))
    return -np.ones(d), A, np.ones(m)


def solved(c, A, b, E=None, e=None, bounds=(0, 1), limits=None, **options):
    """Solve a program as `linear_program` does, with options of HiGHS."""
    program = Program.of(c, A, b, E, e, bounds)
    return solve_program(program, Highs(limits or Limits(), **options), 1e-7)


def test_the_trace_leads_from_the_start_to_the_solution():
    solution = solved(*large(), watched=np.inf)
    trace = solution.stats["trace"]
    assert len(trace["values"]) > 3
    assert (np.diff(trace["iterations"]) >= 0).all()
    assert (np.diff(trace["seconds"]) >= 0).all()
    assert trace["values"][-1] == solution.certificate.primal
    assert trace["gradient_norms"][-1] == solution.certificate.value
    assert trace["gradient_norms"][0] > 1e-3
    # what multipliers prove on the way never exceeds the optimum
    assert (trace["bounds"] <= solution.certificate.primal + 1e-6).all()


def test_stages_change_nothing():
    c, A, b = large(1)
    in_stages = linear_program(c, A, b, bounds=(0, 1))
    at_once = solved(c, A, b, first=10**8)
    np.testing.assert_allclose(in_stages.value, at_once.value, atol=1e-9)
    assert len(at_once.stats["trace"]["values"]) == 2


@pytest.mark.parametrize("m", [1, 6])
def test_without_the_private_door_the_answer_is_the_same(m):
    c, A, b = random_program(5, m=m)
    inside = linear_program(c, A, np.abs(b), A_eq=A[:1], b_eq=[0.0], bounds=(-1, 1))
    outside = solved(c, A, np.abs(b), A[:1], [0.0], (-1, 1), core=None)
    np.testing.assert_allclose(inside.value, outside.value, atol=1e-9)
    both = (solution.multipliers for solution in (inside, outside))
    for mine, theirs in zip(*both, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)
    assert len(outside.stats["trace"]["values"]) == 2
    assert solved(*large(), limits=Limits(3), core=None).status is Status.MAX_ITER


def test_a_limit_keeps_the_last_point():
    """The dual simplex method stops outside of the constraints, beyond the optimum."""
    best = linear_program(*large(), bounds=(0, 1))
    early = linear_program(*large(), bounds=(0, 1), max_iter=best.stats["iterations"] // 2)
    assert early.status is Status.MAX_ITER
    assert early.value.any()
    assert early.certificate.dual <= best.certificate.primal + 1e-9
    assert (
        early.certificate.dual
        > linear_program(*large(), bounds=(0, 1), max_iter=1).certificate.dual
    )


class Impatient(Limits):
    """Limits whose user presses Ctrl-C."""

    calls = 0

    def stopped(self, steps=0):
        self.calls += 1
        if self.calls == 40:
            raise KeyboardInterrupt
        return super().stopped(steps)


@pytest.mark.skipif(CORE is None, reason="this SciPy cannot be interrupted")
def test_an_interrupt_keeps_the_last_point():
    solution = solved(*large(), limits=Impatient())
    assert solution.status is Status.INTERRUPTED
    assert not solution.certificate.ok
    assert solution.stats["iterations"] <= 41


@pytest.mark.parametrize(
    "program", [([1.0, 0.0], [[1.0, 1.0], [-1.0, -1.0]], [1.0, -3.0]), ([-1.0], None, None)]
)
def test_a_program_without_a_solution_has_a_trace_too(program):
    solution = linear_program(*program)
    assert solution.status in (Status.INFEASIBLE, Status.UNBOUNDED)
    assert len(solution.stats["trace"]["values"]) >= 2


BAD = {
    "limits": (lambda: linear_program([1.0], max_iter=-1), "max_iter and time_limit"),
    "rows alone": (lambda: linear_program([1.0], A_ub=[[1.0]]), "A_ub and b_ub must be given"),
    "columns": (lambda: linear_program([1.0], [[1.0, 2.0]], [1.0]), "A_ub must have shape"),
    "sides": (lambda: linear_program([1.0], A_eq=[[1.0]], b_eq=[1.0, 2.0]), "A_eq must have shape"),
    "NaN": (lambda: linear_program([1.0], [[np.nan]], [1.0]), "finite"),
    "costs": (lambda: linear_program([np.inf]), "c must be a vector"),
    "bounds": (lambda: linear_program([1.0], bounds=[(0, 1), (0, 1)]), "bounds must be"),
    "bounds of text": (lambda: linear_program([1.0], bounds="ab"), "bounds must be"),
    "bounds NaN": (lambda: linear_program([1.0], bounds=(np.nan, 1)), "bounds must not be NaN"),
}


@pytest.mark.parametrize(("call", "match"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named(call, match):
    refuses(call, ValueError, match)
