"""Penalties are their formulas, and the fits with them minimise what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import HuberRegressor

from mercer import LinearRegression, PenaltyRegression, penalties
from mercer.penalties import (
    Absolute,
    DeadZone,
    Huber,
    LargeError,
    LogBarrier,
    Penalty,
    Squared,
    as_penalty,
)
from tests.cases import table
from tests.compare import refuses
from tests.linear.test_regression import line, program

ALL = [Squared(), Absolute(), Huber(0.7), DeadZone(0.7), LogBarrier(3.0), LargeError(0.7)]
CONVEX = [p for p in ALL if p.convex]
every_penalty = pytest.mark.parametrize("penalty", ALL, ids=repr)

FORMULAS = {  # of the residual r and the parameter a
    "squared": lambda r, a: r**2,
    "absolute": lambda r, a: abs(r),
    "huber": lambda r, a: r**2 if abs(r) <= a else a * (2 * abs(r) - a),
    "dead_zone": lambda r, a: 0.0 if abs(r) <= a else abs(r) - a,
    "log_barrier": lambda r, a: -(a**2) * np.log(1 - (r / a) ** 2) if abs(r) < a else np.inf,
    "large_error": lambda r, a: r**2 if abs(r) <= a else a**2,
}


# ---------------------------------------------------------------- formulas
@pytest.mark.parametrize("name", FORMULAS)
@given(r=st.floats(-5.0, 5.0), a=st.floats(0.125, 4.0))
def test_a_penalty_is_its_formula(name, r, a):
    penalty = as_penalty(name)
    if "a" in penalty.get_params():
        penalty = type(penalty)(a=a)
    assert float(penalty.value(r)) == pytest.approx(FORMULAS[name](r, a), rel=1e-9, abs=1e-12)


@every_penalty
def test_derivatives_are_slopes(penalty):
    r = np.array([-2.3, -0.9, -0.31, 0.123, 0.45, 1.3, 2.9])
    h = 1e-6
    slope = (penalty.value(r + h) - penalty.value(r - h)) / (2 * h)
    np.testing.assert_allclose(penalty.derivative(r), slope, rtol=1e-6, atol=1e-8)
    bend = (penalty.derivative(r + h) - penalty.derivative(r - h)) / (2 * h)
    np.testing.assert_allclose(penalty.second_derivative(r), bend, rtol=1e-5, atol=1e-8)


@every_penalty
@given(r=st.floats(-2.5, 2.5), s=st.floats(-2.5, 2.5), t=st.floats(0.0, 1.0))
def test_the_convex_flag_is_honest(penalty, r, s, t):
    chord = (1 - t) * penalty.value(r) + t * penalty.value(s)
    if penalty.convex:
        assert penalty.value((1 - t) * r + t * s) <= chord + 1e-9 * (1 + chord)


def test_a_saturated_penalty_is_not_convex():
    penalty = LargeError(1.0)
    assert penalty.value(1.0) > 0.5 * (penalty.value(0.0) + penalty.value(2.0))
    assert not penalty.convex


def test_names_and_objects_are_understood():
    assert as_penalty("huber") == Huber()
    assert as_penalty(Huber(2.0)) == Huber(2.0)
    assert Huber(1.0) != Huber(2.0)
    assert set(penalties.__all__) >= {"Squared", "Absolute", "Huber", "DeadZone", "LogBarrier"}
    refuses(lambda: as_penalty("hubert"), ValueError, "one of .*huber")
    refuses(lambda: as_penalty(Huber), TypeError, "with brackets")
    refuses(lambda: as_penalty(3), TypeError, "penalty must be")


# ---------------------------------------------------------------- fits
def objective(penalty, X, y, w):
    return lambda theta: float(w @ penalty.value(y - X @ theta[:-1] - theta[-1]))


@pytest.mark.parametrize("penalty", CONVEX, ids=repr)
@pytest.mark.parametrize("shape", [(40, 3), (25, 20)])
def test_no_neighbor_is_lower(penalty, shape):
    X, y = line(*shape, noise=0.3)
    if isinstance(penalty, LogBarrier):
        penalty = LogBarrier(2.0 * np.abs(y).max())
    w = np.random.default_rng(1).random(shape[0])
    model = PenaltyRegression(penalty).fit(X, y, sample_weight=w)
    assert model.certificate_.ok
    f = objective(penalty, X, y, w)
    best = np.append(model.coef_, model.intercept_)
    rng = np.random.default_rng(2)
    for scale in (1e-1, 1e-3, 1e-5):
        for _ in range(20):
            assert f(best + scale * rng.normal(size=len(best))) >= f(best) - 1e-9 * (1 + f(best))


@pytest.mark.parametrize("a", [3.0, 0.5, 0.01, 1e-5])
def test_the_gradient_of_huber_is_zero(a):
    X, y = line(60, 4)
    model = PenaltyRegression(Huber(a)).fit(X, y)
    u = Huber(a).derivative(y - model.predict(X))
    assert np.abs(X.T @ u).max() <= 1e-8 * np.abs(u).sum()
    assert abs(u.sum()) <= 1e-8 * np.abs(u).sum()


def test_huber_is_that_of_a_general_minimiser():
    X, y = line(50, 3)
    f = objective(Huber(0.5), X, y, np.ones(50))
    wanted = minimize(f, np.zeros(4), method="BFGS", options={"gtol": 1e-9, "maxiter": 10000})
    model = PenaltyRegression(Huber(0.5)).fit(X, y)
    assert f(np.append(model.coef_, model.intercept_)) <= wanted.fun * (1 + 1e-12)


def test_huber_goes_from_least_squares_to_least_absolute_errors():
    X, y = line(60, 3)
    large, small = (PenaltyRegression(Huber(a)).fit(X, y).coef_ for a in (1e6, 1e-7))
    np.testing.assert_allclose(large, LinearRegression().fit(X, y).coef_, atol=1e-10)
    np.testing.assert_allclose(small, LinearRegression(norm="l1").fit(X, y).coef_, atol=1e-5)


def test_huber_agrees_with_scikit_learn_where_the_scale_is_fixed():
    """Theirs estimates a scale σ and minimises Σ H_ε(r/σ)σ: the same as a = εσ with that σ."""
    X, y = line(80, 3)
    peer = HuberRegressor(epsilon=1.5, alpha=0.0, tol=1e-10, max_iter=10000).fit(X, y)
    model = PenaltyRegression(Huber(1.5 * peer.scale_)).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)


def test_absolute_and_dead_zone_are_linear_programs():
    X, y = line(50, 3)
    model = PenaltyRegression("absolute").fit(X, y)
    value = np.abs(y - model.predict(X)).sum()
    assert value == pytest.approx(program(X, y, np.ones(50), "l1"), rel=1e-9)
    zone = PenaltyRegression(DeadZone(0.5)).fit(X, y)
    assert zone.certificate_.gap <= 1e-8 * zone.certificate_.primal


def test_a_wide_dead_zone_costs_nothing():
    X, y = line(50, 3)
    model = PenaltyRegression(DeadZone(1e3)).fit(X, y)
    assert model.certificate_.primal == 0.0
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, atol=1e-12)


@pytest.mark.parametrize("factor", [1.0001, 1.1, 10.0])
def test_the_barrier_never_exceeds_its_limit(factor):
    X, y = line(60, 3)
    least = np.abs(y - LinearRegression(norm="linf").fit(X, y).predict(X)).max()
    model = PenaltyRegression(LogBarrier(factor * least)).fit(X, y)
    assert np.abs(y - model.predict(X)).max() < factor * least
    assert model.certificate_.ok


def test_a_limit_that_nothing_keeps_is_refused_with_the_least_that_can_be():
    X, y = line(60, 3)
    least = np.abs(y - LinearRegression(norm="linf").fit(X, y).predict(X)).max()
    model = PenaltyRegression(LogBarrier(0.9 * least))
    refuses(lambda: model.fit(X, y), ValueError, f"smallest possible limit is {least:.6g}")


def test_a_saturated_penalty_ignores_many_outliers():
    X, y = line(100, 2, noise=0.01)
    y[:40] = 50.0 + X[:40, 0]
    model = PenaltyRegression(LargeError(1.0), random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, [1.0, 2.0], atol=0.02)
    inside = np.abs(y - model.predict(X)) <= 1.0
    again = LinearRegression().fit(X[inside], y[inside])
    np.testing.assert_allclose(model.coef_, again.coef_, atol=1e-9)
    assert "no global guarantee" in model.certificate_.about


def test_a_saturated_penalty_is_no_worse_than_its_first_start():
    X, y = line(60, 3, noise=2.0)
    model = PenaltyRegression("large_error", random_state=0).fit(X, y)
    value = LargeError(1.0).value(y - model.predict(X)).sum()
    for norm in ("l2", "l1"):
        other = LinearRegression(norm=norm).fit(X, y).predict(X)
        assert value <= LargeError(1.0).value(y - other).sum() + 1e-9


class LogCosh(Penalty):
    """log cosh r."""

    def value(self, r):
        return np.logaddexp(r, -r) - np.log(2.0)

    def derivative(self, r):
        return np.tanh(r)


class Cauchy(Penalty):
    """log(1 + r²), not convex."""

    convex = False

    def value(self, r):
        return np.log1p(np.square(r))

    def derivative(self, r):
        return 2.0 * r / (1.0 + np.square(r))


@pytest.mark.parametrize("penalty", [LogCosh(), Cauchy()], ids=repr)
def test_a_penalty_of_ones_own(penalty):
    X, y = line(60, 3)
    model = PenaltyRegression(penalty, random_state=0).fit(X, y)
    u = penalty.derivative(y - model.predict(X))
    assert np.abs(X.T @ u).max() <= 1e-7 * np.abs(u).sum()
    assert model.certificate_.ok


def test_weights_are_repetitions():
    X, y = line(30, 3)
    weight = np.random.default_rng(0).integers(0, 4, 30)
    twice = np.repeat(np.arange(30), weight)
    weighted = PenaltyRegression(Huber(0.5)).fit(X, y, sample_weight=weight)
    repeated = PenaltyRegression(Huber(0.5)).fit(X[twice], y[twice])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)


@pytest.mark.parametrize("name", ["squared", "huber", "dead_zone", "large_error"])
@pytest.mark.parametrize("X", [table(1, 2), table(2, 2), np.ones((5, 2)), table(4, 9)], ids=len)
def test_degenerate_rows_have_clean_fits(name, X):
    y = np.arange(float(len(X)))
    model = PenaltyRegression(name, random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.certificate_.ok


def test_few_steps_are_said():
    X, y = line(60, 3)
    with pytest.warns(UserWarning, match="max_iter"):
        PenaltyRegression(Huber(0.01), max_iter=2).fit(X, y)


def test_bad_parameters_are_named():
    X, y = line(10)
    refuses(lambda: PenaltyRegression(Huber(-1.0)).fit(X, y), ValueError, "'a' parameter of Huber")
    kinked = type("Kinked", (Absolute, Penalty), {"smooth": False})
    assert PenaltyRegression(kinked()).fit(X, y).certificate_.ok  # an Absolute by another name
    other = type("Other", (Penalty,), {"smooth": False})
    refuses(lambda: PenaltyRegression(other()).fit(X, y), ValueError, "must be smooth")
