"""Sequential minimal optimisation: every route to the same optimum, and an end to every run."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import SVC, SVR, gram
from mercer.certify import duality_gap
from mercer.kernels import RBF, FromFunction, Polynomial, Sigmoid
from mercer.machines import _margin
from mercer.margin import MarginProblem
from mercer.result import Status
from mercer.solvers import Limits, SmoState, margin, smo
from tests.cases import two_classes

X, SIGN = two_classes(300)
KERNEL = RBF(gamma=0.5)
PROBLEM = MarginProblem.classify(SIGN, np.full(300, 10.0))


def run(tol=1e-3, limits=None, start=None, dtype=np.float64, problem=PROBLEM):
    K = gram(KERNEL, X, dtype=dtype, storage="blocked")
    start = start or SmoState(np.zeros(300), problem.z)
    return smo.solve_smo(K, np.arange(300), problem, tol, limits or Limits(), start)


def dual(beta):
    return duality_gap(beta, SIGN - KERNEL(X) @ beta, PROBLEM, tolerance=1.0).dual


@pytest.fixture
def as_if_large(monkeypatch):
    """Make 300 points a large problem: few are active, rows in float32, no Newton steps."""
    monkeypatch.setattr(smo, "ALL_ACTIVE", 40)
    monkeypatch.setattr(margin, "DENSE_UP_TO", dict.fromkeys(margin.DENSE_UP_TO, 0))
    monkeypatch.setattr(margin, "CHECK_ALL", 0)
    monkeypatch.setattr(_margin, "EXACT_UP_TO", 40)


# ---------------------------------------------------------------- the routes
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_the_violation_is_within_the_tolerance_and_the_residuals_are_exact(tol):
    state = run(tol)
    _, violation = PROBLEM.offset(state.beta, SIGN - KERNEL(X) @ state.beta)
    assert state.status is Status.OPTIMAL
    assert violation <= tol + 1e-9
    np.testing.assert_allclose(state.e, SIGN - KERNEL(X) @ state.beta, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("memory", [2**40, 30_000])
def test_a_growing_set_of_points_ends_at_the_same_optimum(as_if_large, dtype, memory):
    state = run(1e-4, Limits(memory=memory), dtype=dtype)
    assert state.status is Status.OPTIMAL
    assert dual(state.beta) == pytest.approx(dual(run(1e-8).beta), rel=1e-5)


@pytest.mark.parametrize("keep_from", [0, 10**9], ids=["cached", "blocked"])
@pytest.mark.parametrize("memory", [None, 800_000])
def test_the_large_route_of_a_classifier_is_the_small_one(
    as_if_large, monkeypatch, keep_from, memory
):
    monkeypatch.setattr(_margin, "KEEP_FROM", keep_from)
    large = SVC(KERNEL, C=10.0, memory=memory, tol=1e-5).fit(X, SIGN)
    monkeypatch.undo()
    small = SVC(KERNEL, C=10.0, tol=1e-8).fit(X, SIGN)
    assert large.certificate_.ok
    if memory is None:  # a small budget has no room for a tile in float64, and keeps a few rows
        assert large.certificate_.storage == ("blocked" if keep_from else "cached")
    assert large.certificate_.dual == pytest.approx(small.certificate_.dual, rel=1e-5)
    np.testing.assert_allclose(large.decision_function(X), small.decision_function(X), atol=1e-3)


def test_the_large_route_of_a_regression_is_the_small_one(as_if_large, monkeypatch):
    y = np.sin(2 * X[:, 0])
    large = SVR(KERNEL, C=2.0).fit(X, y)
    monkeypatch.undo()
    small = SVR(KERNEL, C=2.0, tol=1e-8).fit(X, y)
    assert large.certificate_.ok
    assert large.certificate_.dual == pytest.approx(small.certificate_.dual, rel=1e-3)


# ---------------------------------------------------------------- starts
def test_a_start_at_the_optimum_needs_no_step():
    end = run(1e-6)
    again = run(1e-5, start=SmoState(end.beta, end.e))
    assert again.steps == 0
    np.testing.assert_array_equal(again.beta, end.beta)


def test_a_scaled_start_has_the_residuals_of_its_coefficients():
    start = run().scaled(SIGN, 3.0)
    np.testing.assert_allclose(start.e, SIGN - KERNEL(X) @ start.beta, atol=1e-9)
    twice = MarginProblem.classify(SIGN, np.full(300, 30.0))
    assert run(start=start, problem=twice).status is Status.OPTIMAL


# ---------------------------------------------------------------- every run ends
def test_a_limit_of_steps_is_kept():
    state = run(1e-6, Limits(max_iter=25))
    assert state.status is Status.MAX_ITER
    assert state.steps == 25
    assert dual(state.beta) > 0


def test_no_time_means_no_steps():
    state = run(limits=Limits.of(-1, 0.0, 2**30))
    assert state.status is Status.TIME_LIMIT
    assert np.isfinite(state.beta).all()


@pytest.mark.parametrize("C", [10.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_tolerance_below_rounding_ends(C, dtype):
    problem = MarginProblem.classify(SIGN, np.full(300, C))
    state = run(1e-18, Limits.of(-1, 20.0, 2**30), dtype=dtype, problem=problem)
    assert state.status in (Status.OPTIMAL, Status.STALLED)
    assert np.isfinite(state.beta).all()


def test_ctrl_c_keeps_what_has_been_reached(monkeypatch):
    compiled = smo.loops.run

    def interrupted(*args):
        compiled(*args[:10], 30, *args[11:])
        raise KeyboardInterrupt

    monkeypatch.setattr(smo.loops, "run", interrupted)
    limits = Limits()
    state = run(limits=limits)
    assert state.status is Status.INTERRUPTED
    assert limits.stopped(0) is Status.INTERRUPTED
    assert dual(state.beta) > 0
    np.testing.assert_allclose(state.e, SIGN - KERNEL(X) @ state.beta, atol=1e-9)


def warped(x, y):
    """A similarity of two short series with free shifts: not positive semidefinite."""
    return float(max(np.exp(-abs(x[0] - y[0])), np.exp(-abs(x[0] - y[-1])) - 0.3))


DIFFICULT = {
    "C = 1e6 on unscaled columns": (X * [1e4, 1e-2], SIGN, {"C": 1e6}),
    "opposite labels": (np.vstack([X, X]), np.concatenate([SIGN, -SIGN]), {"C": 1e3}),
    "all points equal": (np.ones((300, 2)), SIGN, {}),
    "sigmoid": (X, SIGN, {"kernel": Sigmoid(scale=2.0, bias=-1.0), "C": 100.0}),
    "an indefinite function": (X[:80], SIGN[:80], {"kernel": FromFunction(warped), "C": 100.0}),
    "degree 5, unscaled": (100 * X, SIGN, {"kernel": Polynomial(degree=5)}),
}


@pytest.mark.parametrize(("rows", "y", "options"), DIFFICULT.values(), ids=DIFFICULT.keys())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_difficult_problems_end_with_finite_numbers_and_an_honest_status(rows, y, options):
    model = SVC(**options, time_limit=1.0).fit(rows, y)
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert np.isfinite(model.decision_function(rows)).all()
    assert (model.status_ == "optimal") == model.certificate_.ok


def test_the_gain_of_some_coefficients_is_that_of_the_dual_whatever_the_others_are():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(9, 4))
    K, z, eps = A @ A.T, rng.normal(size=9), 0.1
    beta, changed = rng.normal(size=9), np.array([1, 4, 6])
    new = beta.copy()
    new[changed] += rng.normal(size=3)

    def dual(b):
        return z @ b - eps * np.abs(b).sum() - 0.5 * b @ K @ b

    before, after = (z - K @ b for b in (beta, new))
    gain = smo._dual_gain(beta[changed], before[changed], new[changed], after[changed], eps)
    assert gain == pytest.approx(dual(new) - dual(beta), rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_points_that_rest_at_their_bounds_do_not_end_a_solve_early(as_if_large, monkeypatch, dtype):
    # only free points of the start are active: most of the function is made by the others
    X, y = two_classes(1200, 3, seed=5)
    monkeypatch.setattr(smo, "SECONDS_BETWEEN_CHECKS", 1e-3)  # look at the gain often
    K = gram(RBF(gamma=0.3), X, dtype=dtype)
    problem = MarginProblem.classify(y, np.full(len(y), 30.0))
    loose = margin.solve_margin(K, np.arange(len(y)), problem, tol=0.3)
    again = smo.solve_smo(K, np.arange(len(y)), problem, 1e-3, Limits(), loose.state)
    assert again.status is Status.OPTIMAL
    assert again.violation <= 1e-3
