"""Sequential minimal optimisation: every route to the same optimum, and an end to every run."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import SVC, gram
from mercer.certify import duality_gap
from mercer.kernels import RBF, FromFunction, Polynomial, Sigmoid
from mercer.margin import MarginProblem
from mercer.result import Status
from mercer.solvers import Limits, SmoState, smo, solve_margin
from mercer.solvers.margin import Sizes
from tests.cases import two_classes

X, SIGN = two_classes(300)
KERNEL = RBF(gamma=0.5)
LARGE = Sizes(dense=False, all_active=40, check_all=0)
PROBLEM = MarginProblem.classify(SIGN, np.full(300, 10.0))


def run(tol=1e-3, limits=None, start=None, dtype=np.float64, problem=PROBLEM, **options):
    K = gram(KERNEL, X, dtype=dtype, storage="blocked")
    start = start or SmoState(np.zeros(300), problem.z)
    return smo.solve_smo(K, np.arange(300), problem, tol, limits or Limits(), start, **options)


def dual(beta):
    return duality_gap(beta, SIGN - KERNEL(X) @ beta, PROBLEM, tolerance=1.0).dual


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
def test_a_growing_set_of_points_ends_at_the_same_optimum(dtype, memory):
    state = run(1e-4, Limits(memory=memory), dtype=dtype, all_active=40)
    assert state.status is Status.OPTIMAL
    assert dual(state.beta) == pytest.approx(dual(run(1e-8).beta), rel=1e-5)


def as_if_large(problem, tol, storage="blocked", memory=2**40):
    """Solve as large problems are: few points active, rows in float32, no Newton steps."""
    K = gram(KERNEL, X, storage=storage, dtype=np.float32)
    return solve_margin(
        K,
        np.arange(300),
        problem,
        tol=tol,
        limits=Limits(memory=memory),
        exact=lambda: gram(KERNEL, X, storage=storage),
        sizes=LARGE,
    )


REGRESSION = MarginProblem.regress(np.sin(2 * X[:, 0]), np.full(300, 2.0), 0.1)


@pytest.mark.parametrize("storage", ["cached", "blocked"])
@pytest.mark.parametrize("memory", [2**40, 400_000])
@pytest.mark.parametrize("problem", [PROBLEM, REGRESSION], ids=["classify", "regress"])
def test_the_large_route_is_the_small_one(problem, storage, memory):
    large = as_if_large(problem, 1e-5, storage, memory)
    small = solve_margin(gram(KERNEL, X), np.arange(300), problem, tol=1e-8)
    assert large.status is Status.OPTIMAL
    assert large.certificate.storage == storage
    assert large.certificate.dual == pytest.approx(small.certificate.dual, rel=1e-5)
    np.testing.assert_allclose(KERNEL(X) @ large.value, KERNEL(X) @ small.value, atol=1e-3)


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
    state = run(1e-18, Limits.of(-1, 600.0, 2**30), dtype=dtype, problem=problem)
    assert state.status in (Status.OPTIMAL, Status.STALLED)
    assert np.isfinite(state.beta).all()


# the compiled loop, where its limit of steps stands, and a budget of bytes for which it is taken
LOOPS = {"turns": (smo, "take_turns", 12, 2**40), "pairs": (smo.loops, "run", 10, 600_000)}


@pytest.mark.parametrize(("module", "name", "limit", "memory"), LOOPS.values(), ids=LOOPS.keys())
def test_ctrl_c_keeps_what_has_been_reached(monkeypatch, module, name, limit, memory):
    compiled = getattr(module, name)

    def interrupted(*args):
        compiled(*args[:limit], 30, *args[limit + 1 :])
        raise KeyboardInterrupt

    monkeypatch.setattr(module, name, interrupted)
    limits = Limits(memory=memory)
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
def test_points_that_rest_at_their_bounds_do_not_end_a_solve_early(dtype):
    # only free points of the start are active: most of the function is made by the others
    X, y = two_classes(1200, 3, seed=5)
    K, index = gram(RBF(gamma=0.3), X, dtype=dtype), np.arange(len(y))
    problem = MarginProblem.classify(y, np.full(len(y), 30.0))
    loose = solve_margin(K, index, problem, tol=0.3, sizes=LARGE)
    again = smo.solve_smo(
        K, index, problem, 1e-3, Limits(), loose.state, all_active=40, seconds=1e-3
    )  # looks at the gain often
    assert again.status is Status.OPTIMAL
    assert again.violation <= 1e-3
