"""Optimality of constrained problems: zero at known optima, positive elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from mercer import Status
from mercer.optimize import (
    Multipliers,
    Problem,
    affine,
    dual_function,
    duality_gap,
    kkt_residuals,
    linear_program,
)
from tests.compare import refuses

RNG = np.random.default_rng(5)


def square(x):
    return float(x @ x)


def slope(x):
    return 2.0 * x


# min ‖x‖² over x₀ + x₁ ≥ 2: at (1, 1) with λ = 2
HALF_PLANE = Problem(square, slope, inequalities=[affine([-1.0, -1.0], -2.0)])
# min x₀ + x₁ over ‖x‖² ≤ 2: at (−1, −1) with λ = 1/2
DISC = Problem(
    lambda x: x.sum(),
    lambda x: np.ones(2),
    inequalities=[(lambda x: x @ x - 2.0, lambda x: 2 * x)],
)
# min ‖x‖² over x₀ + 2x₁ = 5: at (1, 2) with ν = −2
LINE = Problem(square, slope, equalities=[affine([1.0, 2.0], 5.0)])
# min (x₀ − 2)² + x₁² over x₀ ≤ ½, x₁ ≤ 3, x₀ = x₁: at (½, ½) with λ = (2, 0), ν = 1
MIXED = Problem(
    lambda x: (x[0] - 2) ** 2 + x[1] ** 2,
    lambda x: np.array([2 * (x[0] - 2), 2 * x[1]]),
    inequalities=[affine(np.eye(2), [0.5, 3.0])],
    equalities=[affine([1.0, -1.0], 0.0)],
)
KNOWN = {
    "half-plane": (HALF_PLANE, [1.0, 1.0], [2.0]),
    "disc": (DISC, [-1.0, -1.0], [0.5]),
    "line": (LINE, [1.0, 2.0], ([], [-2.0])),
    "mixed": (MIXED, [0.5, 0.5], ([2.0, 0.0], [1.0])),
}
every_known = pytest.mark.parametrize(("problem", "x", "given_"), KNOWN.values(), ids=KNOWN.keys())


# ---------------------------------------------------------------- KKT
@every_known
def test_the_residuals_are_zero_at_a_known_optimum(problem, x, given_):
    report = kkt_residuals(problem, x, given_)
    assert report.value == pytest.approx(0.0, abs=1e-14)
    assert report.ok


@every_known
@given(move=st.tuples(st.floats(-1, 1), st.floats(-1, 1)))
def test_the_residuals_are_positive_elsewhere(problem, x, given_, move):
    move = np.array(move)
    if np.linalg.norm(move) > 1e-3:
        assert kkt_residuals(problem, np.array(x) + move, given_).value > 1e-5


@every_known
def test_scipy_finds_the_same_optimum(problem, x, given_):
    constraints = [
        {"type": kind, "fun": lambda z, c=c, s=s: s * c.value(z)}
        for kind, group, s in (("ineq", problem.inequalities, -1), ("eq", problem.equalities, 1))
        for c in group
    ]
    found = minimize(problem.objective, [0.3, 0.1], constraints=constraints, method="SLSQP")
    np.testing.assert_allclose(found.x, x, atol=1e-5)


def test_each_condition_is_measured_by_itself():
    at = [1.0, 1.0]
    assert kkt_residuals(HALF_PLANE, at, [1.0]).stationarity == 1.0
    assert kkt_residuals(HALF_PLANE, [0.5, 0.5], [1.0]).primal == 1.0
    assert kkt_residuals(HALF_PLANE, at, [-3.0]).dual == 3.0
    assert kkt_residuals(HALF_PLANE, [2.0, 2.0], [4.0]).complementarity == 8.0
    assert kkt_residuals(LINE, [0.0, 2.0], ([], [0.0])).primal == 1.0


def test_without_constraints_the_gradient_is_left():
    report = kkt_residuals(Problem(square, slope), [3.0, -4.0])
    assert report.value == report.stationarity == 8.0


def test_a_linear_program_satisfies_the_conditions():
    A, b, c = RNG.standard_normal((8, 3)), 1.0 + RNG.random(8), RNG.standard_normal(3)
    box = np.vstack([np.eye(3), -np.eye(3)])
    solution = linear_program(c, np.vstack([A, box]), np.r_[b, np.ones(6)], bounds=None)
    problem = Problem(
        lambda x: c @ x,
        lambda x: c,
        inequalities=[affine(A, b), affine(box, np.ones(6))],
    )
    assert kkt_residuals(problem, solution.value, solution.multipliers).ok
    assert duality_gap(problem, solution.value, solution.multipliers).ok


# ---------------------------------------------------------------- Lagrangian and dual
def test_the_lagrangian_is_its_formula():
    x, lam, nu = np.array([0.3, -0.7]), np.array([1.0, 2.0]), np.array([-0.5])
    expected = MIXED.objective(x) + lam @ (x - [0.5, 3.0]) + nu @ [x[0] - x[1]]
    assert MIXED.lagrangian(x, (lam, nu)) == pytest.approx(expected)
    gradient = MIXED.lagrangian_gradient(x, Multipliers(lam, nu))
    h = 1e-6
    differences = [
        (MIXED.lagrangian(x + e, (lam, nu)) - MIXED.lagrangian(x - e, (lam, nu))) / (2 * h)
        for e in h * np.eye(2)
    ]
    np.testing.assert_allclose(gradient, differences, atol=1e-8)


@given(lam=st.floats(0.0, 10.0))
def test_the_dual_function_is_its_formula_and_a_lower_bound(lam):
    # inf over x of ‖x‖² + λ(2 − x₀ − x₁) = 2λ − λ²/2, at most the minimum 2
    bound = dual_function(HALF_PLANE, [lam], [0.0, 0.0]).certificate.objective
    assert bound == pytest.approx(2 * lam - lam**2 / 2, abs=1e-9)
    assert bound <= 2.0 + 1e-9


@every_known
def test_the_gap_is_zero_at_a_known_optimum(problem, x, given_):
    report = duality_gap(problem, x, given_)
    assert report.ok
    assert report.primal == pytest.approx(report.dual, abs=1e-9)


def test_the_gap_is_positive_elsewhere():
    assert duality_gap(HALF_PLANE, [2.0, 1.0], [2.0]).gap == pytest.approx(3.0)
    assert duality_gap(HALF_PLANE, [1.0, 1.0], [1.0]).gap == pytest.approx(0.5)
    assert not duality_gap(HALF_PLANE, [2.0, 1.0], [2.0]).ok


def test_a_point_outside_proves_nothing():
    report = duality_gap(HALF_PLANE, [0.0, 0.0], [0.0])
    assert report.gap == pytest.approx(0.0)
    assert report.infeasibility == 2.0
    assert not report.ok


def test_a_lagrangian_that_falls_without_end_bounds_nothing():
    falling = Problem(
        lambda x: x.sum(), lambda x: np.ones(2), inequalities=[affine([1.0, 1.0], 1.0)]
    )
    report = duality_gap(falling, [0.0, 0.0], [1.0], max_iter=2000)
    assert report.dual == -np.inf
    assert report.inner_status == Status.UNBOUNDED.name.lower()
    assert not report.ok


BAD = {
    "too few": (lambda: kkt_residuals(MIXED, [1.0, 1.0], [1.0]), ValueError, "2 and 1 finite"),
    "NaN": (lambda: kkt_residuals(HALF_PLANE, [1.0, 1.0], [np.nan]), ValueError, "multipliers"),
    "text": (lambda: kkt_residuals(HALF_PLANE, [1.0, 1.0], "a"), ValueError, "multipliers"),
    "x": (lambda: kkt_residuals(HALF_PLANE, [np.nan, 1.0], [1.0]), ValueError, "x must be"),
    "negative": (lambda: duality_gap(HALF_PLANE, [1.0, 1.0], [-1.0]), ValueError, "λ must be ≥ 0"),
    "objective": (lambda: Problem(3.0, slope), TypeError, "objective must be a function"),
    "constraint": (
        lambda: Problem(square, slope, inequalities=[square]),
        TypeError,
        "inequalities must hold",
    ),
    "affine shapes": (lambda: affine(np.eye(2), [1.0]), ValueError, "a row of A for each"),
}


@pytest.mark.parametrize(("call", "error", "match"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named(call, error, match):
    refuses(call, error, match)
