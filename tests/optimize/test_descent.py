"""Descent goes down, ends at the minimum, and says honestly when it does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

from mercer import Solution, Status
from mercer.norms import L1, Lp, Quadratic
from mercer.optimize import Problem, affine, check_gradient, gradient_descent, lbfgs, newton
from tests.compare import refuses
from tests.optimize.functions import CASES, quadratic

METHODS = {
    "gradient_descent": lambda c, **o: gradient_descent(c.f, c.x0, grad=c.grad, **o),
    "newton": lambda c, **o: newton(c.f, c.x0, c.grad, c.hess, **o),
    "lbfgs": lambda c, **o: lbfgs(c.f, c.x0, c.grad, **o),
}
NORMS = {
    "l1": "l1",
    "l2": "l2",
    "linf": "linf",
    "1.5": 1.5,
    "P": Quadratic([[4.0, 1.0], [1.0, 2.0]]),
}
every_method = pytest.mark.parametrize("solve", METHODS.values(), ids=METHODS.keys())
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def assert_minimum(solution: Solution, case, atol=1e-4):
    best = case.best
    if best is None:
        best = minimize(case.f, case.x0, jac=case.grad, method="BFGS", options={"gtol": 1e-9}).x
    assert solution.status is Status.OPTIMAL
    assert solution.certificate.ok
    np.testing.assert_allclose(solution.value, best, atol=atol)


# ---------------------------------------------------------------- the minimum
@every_method
@every_case
def test_every_method_finds_the_minimum(solve, case):
    assert_minimum(solve(case, max_iter=50_000), case)


@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS.keys())
def test_every_norm_leads_to_the_minimum(norm):
    case = quadratic(2)
    assert_minimum(gradient_descent(case.f, case.x0, grad=case.grad, norm=norm), case)


@every_method
@every_case
def test_the_objective_never_rises(solve, case):
    trace = solve(case, max_iter=50_000).stats["trace"]
    assert (np.diff(trace["values"]) <= 0).all()
    assert (np.diff(trace["seconds"]) >= 0).all()
    assert (trace["step_sizes"][1:] > 0).all()


@given(seed=st.integers(0, 10_000), p=st.sampled_from([1.0, 1.2, 2.0, 5.0, np.inf]))
def test_every_step_meets_armijos_condition(seed, p):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((3, 3))
    Q = root @ root.T + 0.5 * np.eye(3)
    solution = gradient_descent(
        lambda x: 0.5 * x @ Q @ x,
        rng.standard_normal(3),
        grad=lambda x: Q @ x,
        norm=Lp(p),
        max_iter=20,
        keep_points=True,
    )
    trace = solution.stats["trace"]
    t, sizes, values = trace["step_sizes"][1:], trace["gradient_norms"], trace["values"]
    # gᵀΔ = −‖g‖*²
    gain = values[:-1] - values[1:]
    assert (gain >= 0.25 * t * sizes[:-1] ** 2 * (1 - 1e-9) - 1e-15 * np.abs(values[:-1])).all()


def test_scipy_agrees_on_the_path_of_no_method_but_on_the_end_of_all():
    case = CASES["rosenbrock"]
    reference = minimize(case.f, case.x0, jac=case.grad, method="L-BFGS-B", tol=1e-12).x
    np.testing.assert_allclose(METHODS["lbfgs"](case).value, reference, atol=1e-5)
    np.testing.assert_allclose(METHODS["newton"](case).value, reference, atol=1e-5)


@every_case
def test_the_certificate_is_the_gradient_at_the_returned_point(case):
    solution = METHODS["lbfgs"](case)
    slope = np.linalg.norm(case.grad(solution.value))
    assert solution.certificate.gradient_norm == pytest.approx(slope, rel=1e-12)
    assert solution.certificate.objective == pytest.approx(case.f(solution.value), rel=1e-12)


# ---------------------------------------------------------------- what norms do
def test_the_hessian_as_a_norm_is_newton_in_one_step():
    case = quadratic(5, condition=1e4)
    norm = Quadratic(case.hess(case.x0))
    solution = gradient_descent(case.f, case.x0, grad=case.grad, norm=norm, tol=1e-8)
    assert solution.stats["iterations"] == 1
    assert solution.stats["trace"]["step_sizes"].tolist() == [0.0, 1.0]
    np.testing.assert_allclose(solution.value, case.best, rtol=1e-8, atol=1e-10)
    same = newton(case.f, case.x0, case.grad, case.hess)
    assert same.stats["iterations"] == 1
    np.testing.assert_allclose(same.value, solution.value, rtol=1e-8, atol=1e-10)


def test_in_l1_one_coordinate_moves_and_it_is_the_steepest():
    case = quadratic(6)
    options = {"grad": case.grad, "norm": L1, "keep_points": True, "max_iter": 30}
    points = gradient_descent(case.f, case.x0, **options).stats["trace"]["points"]
    for x, moved in zip(points[:-1], np.diff(points, axis=0), strict=True):
        (i,) = np.flatnonzero(moved)
        assert i == np.argmax(np.abs(case.grad(x)))


def test_in_linf_all_coordinates_move_alike():
    case = quadratic(6)
    options = {"grad": case.grad, "norm": "linf", "keep_points": True, "max_iter": 30}
    points = gradient_descent(case.f, case.x0, **options).stats["trace"]["points"]
    moves = np.abs(np.diff(points, axis=0))
    np.testing.assert_allclose(moves, moves[:, :1] * np.ones(6), rtol=1e-9, atol=1e-14)


def test_steps_grow_where_a_function_is_flat():
    solution = gradient_descent(
        lambda x: 1e-8 * x @ x, [1.0], grad=lambda x: 2e-8 * x, tol=1e-14, max_iter=200
    )
    assert solution.status is Status.OPTIMAL
    assert solution.stats["trace"]["step_sizes"].max() > 1e6


# ---------------------------------------------------------------- safeguards
def test_newton_leaves_a_saddle():
    # x⁴ − x² + y²: a saddle at 0, minima at x = ±1/√2
    solution = newton(
        lambda x: x[0] ** 4 - x[0] ** 2 + x[1] ** 2,
        [0.0, 1.0],
        lambda x: np.array([4 * x[0] ** 3 - 2 * x[0], 2 * x[1]]),
        lambda x: np.diag([12 * x[0] ** 2 - 2, 2.0]),
    )
    assert abs(solution.value[0]) == pytest.approx(0.5**0.5, abs=1e-7)
    assert solution.certificate.least_eigenvalue > 0
    assert solution.certificate.newton_decrement < 1e-7


def test_newton_goes_down_where_the_hessian_is_indefinite():
    # cos has negative curvature at the start
    solution = newton(lambda x: np.cos(x).sum(), [0.5, 2.0], lambda x: -np.sin(x), _cosine_hessian)
    np.testing.assert_allclose(np.cos(solution.value), -1.0, atol=1e-12)


def _cosine_hessian(x):
    return -np.diag(np.cos(x))


def test_steps_out_of_the_domain_are_taken_back():
    # √(1 − x²) is not a number beyond 1; −√(1 − x²) is least at 0
    solution = lbfgs(
        lambda x: -np.sqrt(1 - x @ x), [0.99], lambda x: x / np.sqrt(1 - x @ x), tol=1e-8
    )
    assert solution.status is Status.OPTIMAL
    assert abs(solution.value[0]) < 1e-7


@pytest.mark.parametrize("name", ["gradient_descent", "lbfgs"])
def test_a_fall_without_end_is_told(name):
    call = {"gradient_descent": gradient_descent, "lbfgs": lbfgs}[name]
    with np.errstate(all="ignore"):
        solution = call(lambda x: -np.exp(x[0]), [0.0], grad=lambda x: -np.exp(x))
    assert solution.status is Status.UNBOUNDED
    assert np.isfinite(solution.value).all()
    assert not solution.certificate.ok


@every_method
@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e150])
def test_any_scale_will_do_if_the_tolerance_has_it_too(solve, scale):
    case = quadratic()
    scaled = case._replace(
        f=lambda x: scale * case.f(x),
        grad=lambda x: scale * case.grad(x),
        hess=lambda x: scale * case.hess(x),
    )
    assert_minimum(solve(scaled, tol=1e-6 * scale), case)


def test_newton_falls_along_a_straight_line():
    solution = newton(
        lambda x: -(x @ x), [3.0, 1.0], lambda x: -2 * x, lambda x: -2 * np.eye(2), max_iter=5000
    )
    assert solution.status is Status.UNBOUNDED


def test_a_kink_ends_a_smooth_method_honestly():
    solution = lbfgs(lambda x: np.abs(x).sum(), [3.0, 1.0], np.sign)
    assert solution.status is Status.NO_DESCENT
    assert not solution.certificate.ok
    assert np.abs(solution.value).max() < 1e-8


def test_a_wrong_gradient_is_told():
    solution = gradient_descent(lambda x: x @ x, [1.0, 2.0], grad=lambda x: -2 * x)
    assert solution.status is Status.NO_DESCENT
    assert solution.value.tolist() == [1.0, 2.0]
    assert "check_gradient" in solution.status.advice


# ---------------------------------------------------------------- limits
@every_method
def test_max_iter_keeps_the_best_so_far(solve):
    case = CASES["rosenbrock"]
    solution = solve(case, max_iter=2)
    assert solution.status is Status.MAX_ITER
    assert solution.stats["iterations"] == 2
    assert not solution.certificate.ok
    assert solution.certificate.objective < case.f(case.x0)


@every_method
def test_no_time_is_told(solve):
    solution = solve(CASES["rosenbrock"], time_limit=0.0)
    assert solution.status is Status.TIME_LIMIT
    assert not solution.certificate.ok


@every_method
def test_an_interrupt_keeps_the_best_so_far(solve):
    case, calls = CASES["rosenbrock"], []

    def interrupted(x):
        calls.append(x)
        if len(calls) == 14:
            raise KeyboardInterrupt
        return case.f(x)

    solution = solve(case._replace(f=interrupted))
    assert solution.status is Status.INTERRUPTED
    assert solution.certificate.objective == solution.stats["trace"]["values"].min()
    assert solution.certificate.objective < case.f(case.x0)


@every_method
def test_a_start_at_the_minimum_takes_no_step(solve):
    case = CASES["barrier"]
    solution = solve(case._replace(x0=case.best))
    assert solution.status is Status.OPTIMAL
    assert solution.stats["iterations"] == 0


@every_method
def test_runs_repeat_themselves(solve):
    case = CASES["logistic"]
    assert np.array_equal(solve(case).value, solve(case).value)


# ---------------------------------------------------------------- problems, gradients, bad input
def test_a_problem_brings_its_own_derivatives():
    case = CASES["logistic"]
    problem = Problem(case.f, case.grad, case.hess)
    for solution in (
        gradient_descent(problem, case.x0),
        newton(problem, case.x0),
        lbfgs(problem, case.x0),
    ):
        assert_minimum(solution, case)


@every_case
def test_the_gradients_of_the_cases_are_right(case):
    x = case.x0 + 0.1
    assert check_gradient(case.f, case.grad, x).ok
    np.testing.assert_allclose(case.grad(x), approx_fprime(x, case.f), rtol=1e-3, atol=1e-3)


def test_a_wrong_gradient_is_found_and_where():
    report = check_gradient(lambda x: x @ x, lambda x: 2 * x + [0.0, 0.1, 0.0], np.ones(3))
    assert not report.ok
    assert report.worst_coordinate == 1
    assert report.given == pytest.approx(2.1)
    assert report.expected == pytest.approx(2.0)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_gradients_are_checked_at_any_scale_and_at_a_minimum(scale):
    def f(x):
        return scale * (x @ x + x.sum() ** 3)

    def grad(x):
        return scale * (2 * x + 3 * x.sum() ** 2)

    for x in (np.zeros(3), np.array([1.0, -2.0, 0.5])):
        assert check_gradient(f, grad, x).ok
        assert not check_gradient(f, lambda x: grad(x) + 1e-3 * scale, x).ok


def square(x):
    return float(x @ x)


def slope(x):
    return 2.0 * x


BAD = {
    "no gradient": (lambda: gradient_descent(square, [1.0]), TypeError, "grad must be a function"),
    "no Hessian": (lambda: newton(square, [1.0], slope), TypeError, "hess must be a function"),
    "text": (lambda: lbfgs("f", [1.0], slope), TypeError, "f must be a function"),
    "start NaN": (lambda: lbfgs(square, [np.nan], slope), ValueError, "x0 must be a vector"),
    "start table": (lambda: lbfgs(square, np.eye(2), slope), ValueError, "x0 must be a vector"),
    "start empty": (lambda: lbfgs(square, [], slope), ValueError, "x0 must be a vector"),
    "start outside": (
        lambda: lbfgs(lambda x: np.log(x).sum(), [-1.0], slope),
        ValueError,
        "finite at x0",
    ),
    "f of a vector": (lambda: lbfgs(slope, [1.0, 2.0], slope), ValueError, "one number"),
    "short gradient": (lambda: lbfgs(square, [1.0, 2.0], lambda x: [1.0]), ValueError, "2 numbers"),
    "gradient NaN": (
        lambda: lbfgs(square, [1.0], lambda x: [np.nan]),
        ValueError,
        "grad must be finite",
    ),
    "Hessian shape": (
        lambda: newton(square, [1.0, 2.0], slope, lambda x: np.eye(3)),
        ValueError,
        "hess must return",
    ),
    "negative tol": (lambda: lbfgs(square, [1.0], slope, tol=-1), ValueError, "tol, max_iter"),
    "share": (lambda: gradient_descent(square, [1.0], grad=slope, share=0.9), ValueError, "share"),
    "shrink": (lambda: gradient_descent(square, [1.0], grad=slope, shrink=1), ValueError, "shrink"),
    "memory": (lambda: lbfgs(square, [1.0], slope, memory=0), ValueError, "memory must be"),
    "no norm": (
        lambda: gradient_descent(square, [1.0], grad=slope, norm=0.5),
        ValueError,
        "not a norm",
    ),
    "name": (
        lambda: gradient_descent(square, [1.0], grad=slope, norm="l9"),
        ValueError,
        "norm must be",
    ),
    "constraints": (
        lambda: lbfgs(Problem(square, slope, inequalities=[affine([1.0], 1.0)]), [1.0]),
        ValueError,
        "without constraints",
    ),
}


@pytest.mark.parametrize(("call", "error", "match"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named(call, error, match):
    refuses(call, error, match)
