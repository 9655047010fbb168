"""Linear regression in three norms: least squares as LAPACK has it, linear programs as HiGHS."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import hilbert, lstsq
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression as Peer
from sklearn.linear_model import QuantileRegressor

from mercer import LinearRegression
from mercer.linear import _programs
from tests.cases import table
from tests.compare import refuses
from tests.strategies import tables

NORMS = ["l2", "l1", "linf"]
every_norm = pytest.mark.parametrize("norm", NORMS)


def line(n: int, d: int = 3, seed: int = 0, noise: float = 0.5):
    """Return rows and targets of a linear function with noise of long tails."""
    X, rng = table(n, d, seed), np.random.default_rng(seed + 1)
    return X, X @ np.arange(1.0, d + 1) + 2.0 + noise * rng.standard_t(2, size=n)


def program(X, y, w, norm):
    """Return the least Σ w |r| or max |r| by the textbook's linear program."""
    n, A = len(y), np.hstack([X, np.ones((len(y), 1))])
    free = [(None, None)] * A.shape[1]
    if norm == "l1":
        limits = np.block([[A, -np.eye(n)], [-A, -np.eye(n)]])
        cost = np.concatenate([np.zeros(A.shape[1]), w])
        return linprog(cost, limits, np.concatenate([y, -y]), bounds=free + [(0, None)] * n).fun
    one = np.ones((n, 1))
    cost = np.append(np.zeros(A.shape[1]), 1.0)
    limits = np.block([[A, -one], [-A, -one]])
    return linprog(cost, limits, np.concatenate([y, -y]), bounds=[*free, (0, None)]).fun


def size(r, w, norm):
    return float(w @ np.abs(r)) if norm == "l1" else float(np.abs(r).max())


# ---------------------------------------------------------------- least squares
@pytest.mark.parametrize("shape", [(50, 4), (300, 20), (10, 30), (7, 7)])
@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_is_that_of_scikit_learn(shape, intercept):
    X, y = table(*shape), table(shape[0], 2, seed=1)
    weight = np.random.default_rng(2).random(shape[0])
    got = LinearRegression(fit_intercept=intercept).fit(X, y, sample_weight=weight)
    wanted = Peer(fit_intercept=intercept).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(got.coef_, wanted.coef_, atol=1e-11)
    np.testing.assert_allclose(got.intercept_, wanted.intercept_, atol=1e-11)


@pytest.mark.parametrize("d", [4, 8, 11])
def test_least_squares_on_ill_conditioned_columns_is_that_of_lapack(d):
    """Hilbert's matrix has a condition of up to 5e14; the residual has no such excuse."""
    X, y = hilbert(2 * d)[:, :d], np.sin(np.arange(2 * d))
    got = LinearRegression(fit_intercept=False).fit(X, y)
    wanted = lstsq(X, y, cond=1e-300)[0]
    condition = np.linalg.cond(X)
    assert np.linalg.norm(got.coef_ - wanted) <= 1e-15 * condition * np.linalg.norm(wanted) * 10
    ours, theirs = (np.linalg.norm(y - X @ w) for w in (got.coef_, wanted))
    assert ours <= theirs + 1e-15 * np.linalg.norm(np.abs(X) @ np.abs(wanted))
    assert got.certificate_.ok


def test_least_squares_of_integers_is_that_of_exact_arithmetic():
    """Powers of 0 … 9: normal equations lose all digits in float64, not in fractions."""
    x = np.arange(10)
    X, y = x[:, None] ** np.arange(6), x**2 % 7
    wanted = exact_normal_equations(X.tolist(), y.tolist())
    got = LinearRegression(fit_intercept=False).fit(X.astype(float), y).coef_
    np.testing.assert_allclose(got, wanted, rtol=1e-9)


def exact_normal_equations(X, y):
    d = len(X[0])
    rows = [
        [sum(Fraction(r[i] * r[j]) for r in X) for j in range(d)]
        + [sum(Fraction(r[i] * t) for r, t in zip(X, y, strict=True))]
        for i in range(d)
    ]
    for i in range(d):
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(d):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [float(row[-1]) for row in rows]


def test_columns_of_very_different_size_all_count():
    """A rank that depends on units would drop the small column."""
    X, y = table(30, 2) * np.array([1.0, 1e-20]), table(30, 1, seed=1)[:, 0]
    got = LinearRegression().fit(X, y)
    wanted = LinearRegression().fit(X * np.array([1.0, 1e20]), y)
    assert got.rank_ == 2
    np.testing.assert_allclose(got.coef_ * np.array([1.0, 1e-20]), wanted.coef_, rtol=1e-12)


# ---------------------------------------------------------------- linear programs
@pytest.mark.parametrize("norm", ["l1", "linf"])
@pytest.mark.parametrize("shape", [(40, 3), (200, 12), (13, 12), (9, 20)])
def test_the_value_is_that_of_the_linear_program(norm, shape):
    X, y = line(*shape)
    weight = np.random.default_rng(3).integers(1, 4, shape[0]).astype(float)
    model = LinearRegression(norm=norm).fit(X, y, sample_weight=weight)
    wanted = program(X, y, weight, norm)
    assert abs(size(y - model.predict(X), weight, norm) - wanted) <= 1e-8 * (1.0 + wanted)
    assert model.certificate_.ok
    assert model.certificate_.dual <= model.certificate_.primal


def _program_agrees(X, y, norm):
    """HiGHS has absolute tolerances and may end above the least value; the proof is of that."""
    model = LinearRegression(norm=norm).fit(X, y)
    wanted = program(X, y, np.ones(len(y)), norm)
    assert size(y - model.predict(X), np.ones(len(y)), norm) <= wanted + 1e-7 * (1.0 + wanted)
    assert model.certificate_.ok


@given(X=tables(max_rows=12), seed=st.integers(0, 10**6))
def test_degenerate_rows_have_the_same_value(X, seed):
    """Zeros, repeated rows and ties: many vertices are equally good."""
    y = np.random.default_rng(seed).integers(-2, 3, len(X)).astype(float)
    _program_agrees(X, y, "l1")
    _program_agrees(X, y, "linf")


def test_least_absolute_errors_are_those_of_scikit_learn():
    X, y = line(300, 5)
    got = LinearRegression(norm="l1").fit(X, y)
    wanted = QuantileRegressor(quantile=0.5, alpha=0.0).fit(X, y)
    np.testing.assert_allclose(got.coef_, wanted.coef_, atol=1e-7)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 101])
def test_without_columns_that_vary_l1_is_the_median_and_linf_the_middle(n):
    y = np.random.default_rng(n).normal(size=n)
    X = np.full((n, 2), 0.3)
    median = LinearRegression(norm="l1").fit(X, y)
    low, high = np.sort(y)[(n - 1) // 2], np.sort(y)[n // 2]
    assert low - 1e-12 <= median.predict(X)[0] <= high + 1e-12
    middle = LinearRegression(norm="linf").fit(X, y).predict(X)[0]
    assert middle == pytest.approx(0.5 * (y.min() + y.max()), abs=1e-12)


def test_the_weighted_median_is_found():
    X, y = np.zeros((3, 1)), np.array([0.0, 1.0, 5.0])
    model = LinearRegression(norm="l1").fit(X, y, sample_weight=[1.0, 1.0, 5.0])
    assert model.predict([[0.0]])[0] == pytest.approx(5.0)


def test_one_outlier_moves_least_squares_but_not_l1():
    X, y = line(60, 2, noise=0.1)
    far = y.copy()
    far[7] += 1e6 * np.sign(far[7] - LinearRegression(norm="l1").fit(X, y).predict(X)[7])
    before, after = (LinearRegression(norm="l1").fit(X, t).coef_ for t in (y, far))
    np.testing.assert_allclose(after, before, atol=1e-8)
    moved = LinearRegression().fit(X, far).coef_ - LinearRegression().fit(X, y).coef_
    assert np.abs(moved).max() > 1e3


def test_as_many_points_as_coefficients_are_on_the_l1_fit():
    X, y = line(80, 4)
    r = y - LinearRegression(norm="l1").fit(X, y).predict(X)
    assert np.sum(np.abs(r) < 1e-10) == 5


def test_the_largest_error_is_reached_by_one_more_point_than_coefficients():
    X, y = line(80, 4)
    r = np.abs(y - LinearRegression(norm="linf").fit(X, y).predict(X))
    assert np.sum(r > r.max() * (1 - 1e-9)) == 6


# ---------------------------------------------------------------- all norms
@every_norm
def test_a_linear_function_is_found_exactly(norm):
    X = table(20, 3)
    model = LinearRegression(norm=norm).fit(X, X @ [1.0, -2.0, 0.5] + 4.0)
    np.testing.assert_allclose(model.coef_, [1.0, -2.0, 0.5], atol=1e-12)
    assert model.intercept_ == pytest.approx(4.0)
    assert model.certificate_.ok


@every_norm
def test_several_targets_are_the_same_one_by_one(norm):
    X, Y = table(40, 3), table(40, 2, seed=1)
    both = LinearRegression(norm=norm).fit(X, Y)
    each = [LinearRegression(norm=norm).fit(X, y) for y in Y.T]
    np.testing.assert_allclose(both.coef_, [m.coef_ for m in each], atol=1e-12)
    np.testing.assert_allclose(both.intercept_, [m.intercept_ for m in each], atol=1e-12)
    assert both.predict(X).shape == (40, 2)


@every_norm
def test_fewer_rows_than_columns_give_the_interpolation_of_least_norm(norm):
    X, y = table(5, 12), table(5, 1, seed=1)[:, 0]
    model = LinearRegression(norm=norm, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(X) @ y, atol=1e-11)


@every_norm
def test_a_repeated_column_shares_its_coefficient(norm):
    X, y = line(40, 2)
    twice = LinearRegression(norm=norm).fit(np.hstack([X, X[:, :1]]), y)
    once = LinearRegression(norm=norm).fit(X, y)
    np.testing.assert_allclose(twice.coef_[[0, 2]], np.full(2, once.coef_[0] / 2), atol=1e-9)
    assert twice.rank_ == 2


@every_norm
@pytest.mark.parametrize(("x_unit", "y_unit"), [(1e150, 1e150), (1e-150, 1.0), (1.0, 1e-150)])
def test_units_do_not_matter(norm, x_unit, y_unit):
    X, y = line(30)
    plain = LinearRegression(norm=norm).fit(X, y)
    scaled = LinearRegression(norm=norm).fit(X * x_unit, y * y_unit)
    np.testing.assert_allclose(scaled.coef_ * (x_unit / y_unit), plain.coef_, rtol=1e-7)
    assert scaled.certificate_.ok


@every_norm
@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_rows_are_fitted(norm, n):
    X, y = table(n, 2), np.arange(float(n))
    model = LinearRegression(norm=norm).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-12)
    assert model.certificate_.ok


@every_norm
def test_rows_in_single_precision_are_answered_in_double(norm):
    """A target may be large against its spread, whatever the precision of the rows."""
    X, y = line(30)
    single = X.astype(np.float32)
    model = LinearRegression(norm=norm).fit(single, 1e8 + y)
    wanted = model.predict(single.astype(np.float64))
    np.testing.assert_allclose(model.predict(single), wanted, rtol=1e-14)


@pytest.mark.parametrize("norm", ["l1", "linf"])
@pytest.mark.parametrize("count", [0, 3])
def test_an_interrupt_keeps_the_best_so_far(norm, count, monkeypatch):
    X, y = line(400, 10)
    step, calls = _programs._step, iter(range(10**6))

    def impatient(*args):
        if next(calls) == count:
            raise KeyboardInterrupt
        return step(*args)

    best = LinearRegression(norm=norm).fit(X, y).certificate_.primal
    monkeypatch.setattr(_programs, "_step", impatient)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = LinearRegression(norm=norm).fit(X, y)
    assert model.status_ == "interrupted"
    assert model.certificate_.value > model.certificate_.tolerance
    assert model.certificate_.primal == pytest.approx(
        size(y - model.predict(X), np.ones(len(y)), norm)
    )
    assert model.certificate_.primal >= best * (1 - 1e-9)


def test_bad_input_is_named():
    X, y = line(10)
    refuses(lambda: LinearRegression(norm="l3").fit(X, y), ValueError, "norm")
    refuses(lambda: LinearRegression().fit(X, y, [-1.0] * 10), ValueError, "sample_weight")
