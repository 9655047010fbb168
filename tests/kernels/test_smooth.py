"""Kernels of smooth functions: the formulas of the literature, and what their spaces are."""

from __future__ import annotations

from itertools import combinations
from math import comb, factorial

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import bernoulli

from mercer import SVC, KernelPCA, KernelRidge, check_kernel, load, save
from mercer.kernels import RBF, Anova, Periodic, RationalQuadratic, Sobolev, Spline, Wavelet
from tests.cases import table

UNIT = np.random.default_rng(0).random((30, 3))
SMOOTH = [
    RationalQuadratic(0.3, gamma=2.0),
    RationalQuadratic(50.0),
    Periodic([0.3, 0.5, 2.0], gamma=3.0),
    Anova(3, gamma=4.0),
    Anova(),
    Spline(),
    Sobolev(1),
    Sobolev(2),
    Sobolev(3),
    Wavelet(5.0),
]
every_kernel = pytest.mark.parametrize("kernel", SMOOTH, ids=repr)


@every_kernel
def test_it_is_positive_semidefinite(kernel):
    assert kernel.definiteness == "psd"
    assert check_kernel(kernel, UNIT).ok


@every_kernel
def test_the_diagonal_is_that_of_the_matrix(kernel):
    np.testing.assert_allclose(kernel.diagonal(UNIT), np.diagonal(kernel(UNIT)), rtol=1e-12)


@every_kernel
def test_machines_take_it(kernel, tmp_path):
    y = np.sin(6 * UNIT[:, 0])
    machine = KernelRidge(kernel, lam=1e-6).fit(UNIT, y)
    assert machine.score(UNIT, y) > 0.9
    KernelPCA(kernel=kernel, n_components=2).fit(UNIT)
    model = SVC(kernel, C=10.0).fit(UNIT, y > 0)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").decision_function(UNIT), model.decision_function(UNIT)
    )


# ---------------------------------------------------------------- rational
def test_a_rational_kernel_of_large_alpha_is_gaussian():
    X = table(20, 3)
    near = RationalQuadratic(1e9, gamma=0.4)(X)
    np.testing.assert_allclose(near, RBF(0.4)(X), rtol=1e-6)


def test_the_metric_of_a_rational_kernel_is_that_of_scaled_columns():
    X, weights = table(20, 3), np.array([4.0, 0.25, 1.0])
    under = RationalQuadratic(2.0, gamma=0.4, metric=weights)(X)
    np.testing.assert_allclose(under, RationalQuadratic(2.0, gamma=0.4)(X * np.sqrt(weights)))


def test_the_gradient_of_a_rational_kernel_is_its_difference_quotient():
    X = table(20, 2)
    model = KernelRidge(RationalQuadratic(0.6, gamma=0.8)).fit(X, np.sin(X[:, 0]))
    step = 1e-5 * np.eye(2)
    for j in range(2):
        slope = (model.predict(X + step[j]) - model.predict(X - step[j])) / 2e-5
        np.testing.assert_allclose(model.gradient(X)[:, j], slope, atol=1e-8)


# ---------------------------------------------------------------- periodic
def test_a_period_changes_nothing():
    X = table(10, 2)
    kernel = Periodic([0.5, 3.0])
    np.testing.assert_allclose(kernel(X + np.array([1.0, -6.0]), X), kernel(X), rtol=1e-9)


@pytest.mark.parametrize("period", [[1.0], [1.0, -1.0, 2.0], ["a", "b", "c"], [1.0, np.nan, 2.0]])
def test_periods_that_do_not_suit_are_refused(period):
    with pytest.raises(ValueError, match=r"period must be a number > 0, or 3 of them"):
        Periodic(period)(UNIT)


def test_the_gradient_of_a_periodic_kernel_says_that_it_is_not_known():
    model = KernelRidge(Periodic()).fit(UNIT, UNIT[:, 0])
    with pytest.raises(TypeError, match="gradient of Periodic"):
        model.gradient(UNIT)


# ---------------------------------------------------------------- ANOVA
def test_anova_of_all_columns_is_gaussian():
    np.testing.assert_allclose(Anova(3, gamma=2.0)(UNIT), RBF(2.0)(UNIT), rtol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_anova_is_a_sum_of_gaussian_kernels_of_chosen_columns(degree):
    chosen = combinations(range(3), degree)
    wanted = sum(RBF(2.0)(UNIT[:, list(columns)]) for columns in chosen)
    np.testing.assert_allclose(Anova(degree, gamma=2.0)(UNIT), wanted, rtol=1e-12)
    assert Anova(degree).diagonal(UNIT)[0] == comb(3, degree)


def test_anova_of_more_columns_than_there_are_is_refused():
    with pytest.raises(ValueError, match="at most the number of columns, 3; got 4"):
        Anova(4)(UNIT)


def test_the_rules_for_gamma_are_their_formulas():
    variance = UNIT.var()
    assert Anova().bind(UNIT).gamma == pytest.approx(1 / variance)
    assert Wavelet().bind(UNIT).gamma == pytest.approx(1 / (3 * variance))
    assert Anova().bind(np.ones((4, 2))).gamma == 1.0


# ---------------------------------------------------------------- splines and Sobolev spaces
@pytest.mark.parametrize(("x", "y"), [(0.3, 0.8), (1.5, 0.2), (-0.4, -2.0), (-1.0, 0.7), (0.0, 1)])
def test_a_spline_kernel_is_an_integral_over_knots(x, y):
    def hinges(t):
        right = max(x - t, 0.0) * max(y - t, 0.0)
        return right + max(-x - t, 0.0) * max(-y - t, 0.0)

    integral, _ = quad(hinges, 0.0, 3.0, points=sorted({abs(x), abs(y)}))
    assert Spline()([[x]], [[y]])[0, 0] == pytest.approx(1 + x * y + integral, rel=1e-8)


def bernoulli_polynomial(r, x):
    numbers = bernoulli(r)
    return sum(comb(r, k) * numbers[k] * x ** (r - k) for k in range(r + 1))


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize(("x", "y"), [(0.3, 0.8), (0.0, 1.0), (0.5, 0.5), (1.0, 0.9)])
def test_a_sobolev_kernel_is_its_formula_in_bernoulli_polynomials(m, x, y):
    low = sum(
        bernoulli_polynomial(r, x) * bernoulli_polynomial(r, y) / factorial(r) ** 2
        for r in range(m + 1)
    )
    rest = bernoulli_polynomial(2 * m, abs(x - y)) / factorial(2 * m)
    assert Sobolev(m)([[x]], [[y]])[0, 0] == pytest.approx(low + (-1) ** (m + 1) * rest, rel=1e-12)


def test_a_sobolev_kernel_reproduces():
    # ⟨f, k(x, ·)⟩ = ∫f ∫k + ∫f' k' = f(x) in the space of order 1
    x, h = 0.37, 1e-6
    kernel = Sobolev(1)

    def k(t):
        return kernel([[x]], [[t]])[0, 0]

    def slope(t):
        return (k(t + h) - k(t - h)) / (2 * h)

    mean = quad(k, 0, 1, points=[x])[0]
    inner = quad(lambda t: np.cos(t) * slope(t), h, 1 - h, points=[x])[0]
    assert (1 - np.cos(1.0)) * mean + inner == pytest.approx(np.sin(x), abs=1e-4)


@pytest.mark.parametrize("cell", [-0.1, 1.5])
def test_cells_outside_the_interval_of_a_sobolev_kernel_are_refused(cell):
    rows = UNIT.copy()
    rows[3, 1] = cell
    with pytest.raises(ValueError, match=r"within \[0, 1\]; column 1 goes from"):
        Sobolev()(rows)
    with pytest.raises(ValueError, match=r"within \[0, 1\]; column 1 goes from"):
        Sobolev()(rows, UNIT)
