"""Smooth functions with kinks added: proximal steps and coordinate descent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear, minimize
from sklearn.linear_model import ElasticNet, Lasso

from mercer import Status
from mercer.optimize import coordinate_descent, proximal_gradient, soft_threshold
from tests.compare import refuses

RNG = np.random.default_rng(3)
X = RNG.standard_normal((40, 8)) @ np.diag(np.linspace(0.3, 2.0, 8))
Y = X @ np.array([2.0, 0.0, -1.0, 0.0, 0.0, 0.5, 0.0, 0.0]) + 0.1 * RNG.standard_normal(40)
LAM = 3.0


def lasso_proximal(lam=LAM, **options):
    return proximal_gradient(
        lambda w: 0.5 * ((X @ w - Y) ** 2).sum(),
        lambda w: X.T @ (X @ w - Y),
        lambda v, t: soft_threshold(v, lam * t),
        np.zeros(8),
        penalty=lambda w: lam * np.abs(w).sum(),
        **options,
    )


def reference(lam=LAM):
    model = Lasso(alpha=lam / len(Y), fit_intercept=False, tol=1e-13, max_iter=100_000)
    return model.fit(X, Y).coef_


# ---------------------------------------------------------------- proximal gradient
@pytest.mark.parametrize("lam", [0.01, 3.0, 50.0, 1e6])
def test_proximal_steps_solve_the_lasso(lam):
    solution = lasso_proximal(lam, tol=1e-9)
    assert solution.status is Status.OPTIMAL
    assert solution.certificate.ok
    np.testing.assert_allclose(solution.value, reference(lam), atol=1e-8)
    assert np.array_equal(solution.value != 0, reference(lam) != 0)


def test_the_generalised_gradient_is_that_of_the_returned_point():
    solution = lasso_proximal(tol=1e-3)
    w, t = solution.value, solution.certificate.step_size
    step = soft_threshold(w - t * X.T @ (X @ w - Y), LAM * t)
    assert solution.certificate.residual == pytest.approx(np.linalg.norm(w - step) / t)


def test_without_a_penalty_it_is_gradient_descent():
    solution = proximal_gradient(
        lambda w: 0.5 * ((X @ w - Y) ** 2).sum(),
        lambda w: X.T @ (X @ w - Y),
        lambda v, t: v,
        np.zeros(8),
        tol=1e-9,
    )
    np.testing.assert_allclose(solution.value, np.linalg.lstsq(X, Y)[0], atol=1e-9)


def test_projections_are_proximal_maps():
    solution = proximal_gradient(
        lambda w: 0.5 * ((X @ w - Y) ** 2).sum(),
        lambda w: X.T @ (X @ w - Y),
        lambda v, t: np.clip(v, 0.0, 1.0),
        np.zeros(8),
        tol=1e-10,
    )
    expected = lsq_linear(X, Y, (0.0, 1.0), tol=1e-14).x
    np.testing.assert_allclose(solution.value, expected, atol=1e-7)


def test_the_domain_is_kept():
    # Σ(x − log x) + 2|x| is least at x = 1/3, and log x is not a number for x ≤ 0
    solution = proximal_gradient(
        lambda x: (x - np.log(x)).sum(),
        lambda x: 1.0 - 1.0 / x,
        lambda v, t: soft_threshold(v, 2.0 * t),
        [4.0, 0.05],
        step=10.0,
    )
    np.testing.assert_allclose(solution.value, 1.0 / 3.0, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-100, 1e-20, 1e20, 1e100])
def test_proximal_steps_find_their_size_at_any_scale(scale):
    solution = proximal_gradient(
        lambda x: scale * (x @ x), lambda x: 2 * scale * x, lambda v, t: v, [1.0, 2.0],
        tol=1e-9 * scale,
    )  # fmt: skip
    assert solution.status is Status.OPTIMAL
    assert np.abs(solution.value).max() <= 1e-9


def test_momentum_pays():
    # ½xᵀDx with condition 10⁴: plain steps need about 10⁵
    D = np.geomspace(1e-4, 1.0, 30)
    solution = proximal_gradient(
        lambda x: 0.5 * (D * x) @ x, lambda x: D * x, lambda v, t: v, np.ones(30), tol=1e-8
    )
    assert solution.status is Status.OPTIMAL
    assert solution.stats["iterations"] < 3000


def test_limits_and_interrupts_of_proximal_steps():
    assert lasso_proximal(max_iter=3).status is Status.MAX_ITER
    assert lasso_proximal(max_iter=3).stats["iterations"] == 3
    assert lasso_proximal(time_limit=0.0).status is Status.TIME_LIMIT
    calls = []

    def prox(v, t):
        calls.append(t)
        if len(calls) == 10:
            raise KeyboardInterrupt
        return soft_threshold(v, t)

    solution = proximal_gradient(
        lambda x: x @ x * 0.5, lambda x: x, prox, 1e9 * np.ones(2), step=1e-3
    )
    assert solution.status is Status.INTERRUPTED
    assert np.linalg.norm(solution.value) < 1e9 * np.sqrt(2)


# ---------------------------------------------------------------- coordinate descent
def residual_of(Q, b, l1, lower, upper, x):
    """The distance of x from its own proximal step of size 1: 0 just at a solution."""
    step = np.clip(soft_threshold(x - (Q @ x + b), l1), lower, upper)
    return np.abs(x - step).max()


@pytest.mark.parametrize("lam", [0.01, 3.0, 50.0, 1e6])
def test_coordinates_solve_the_lasso(lam):
    solution = coordinate_descent(X.T @ X, -X.T @ Y, l1=lam, tol=1e-12)
    assert solution.status is Status.OPTIMAL
    np.testing.assert_allclose(solution.value, reference(lam), atol=1e-9)


def test_coordinates_solve_the_elastic_net():
    n, model = len(Y), ElasticNet(alpha=0.2, l1_ratio=0.4, fit_intercept=False, tol=1e-13)
    Q = X.T @ X + n * 0.2 * 0.6 * np.eye(8)
    solution = coordinate_descent(Q, -X.T @ Y, l1=n * 0.2 * 0.4, tol=1e-12)
    np.testing.assert_allclose(solution.value, model.fit(X, Y).coef_, atol=1e-9)


def test_coordinates_solve_least_squares_in_a_box():
    solution = coordinate_descent(X.T @ X, -X.T @ Y, lower=0.0, upper=1.0, tol=1e-12)
    np.testing.assert_allclose(solution.value, lsq_linear(X, Y, (0.0, 1.0), tol=1e-14).x, atol=1e-7)
    assert solution.certificate.at_bounds == np.isin(solution.value, (0.0, 1.0)).sum()


@given(seed=st.integers(0, 10_000), rank=st.integers(1, 6))
def test_solutions_are_fixed_points_of_the_proximal_map(seed, rank):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((6, rank))
    Q, l1 = root @ root.T, rng.exponential(size=6)
    b, (lower, upper) = rng.standard_normal(6), np.sort(rng.standard_normal((2, 6)) * 3, axis=0)
    solution = coordinate_descent(Q, b, l1=l1, lower=lower, upper=upper, tol=1e-10)
    assert solution.certificate.ok
    assert ((lower <= solution.value) & (solution.value <= upper)).all()
    assert residual_of(Q, b, l1, lower, upper, solution.value) <= 1e-6


def test_both_methods_and_scipy_agree():
    direct = coordinate_descent(X.T @ X, -X.T @ Y, l1=LAM)

    # split w = u − v with u, v ≥ 0: smooth with bounds, for L-BFGS-B
    def split(z):
        w = z[:8] - z[8:]
        g = X.T @ (X @ w - Y)
        return 0.5 * ((X @ w - Y) ** 2).sum() + LAM * z.sum(), np.r_[g + LAM, LAM - g]

    found = minimize(split, np.zeros(16), jac=True, bounds=[(0, None)] * 16, tol=1e-14).x
    np.testing.assert_allclose(direct.value, found[:8] - found[8:], atol=1e-4)
    np.testing.assert_allclose(direct.value, lasso_proximal(tol=1e-9).value, atol=1e-7)


def test_flat_coordinates_go_where_their_slope_sends_them():
    Q = np.diag([1.0, 0.0, 0.0])
    solution = coordinate_descent(Q, [0.0, 2.0, 0.5], l1=1.0, lower=-4.0, upper=4.0)
    assert solution.value.tolist() == [0.0, -4.0, 0.0]
    refuses(lambda: coordinate_descent(Q, [0.0, 2.0, 0.5], l1=1.0), ValueError, "coordinate 1")


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e150])
def test_the_scale_of_the_problem_does_not_matter(scale):
    plain = coordinate_descent(X.T @ X, -X.T @ Y, l1=LAM)
    scaled = coordinate_descent(scale * X.T @ X, -scale * X.T @ Y, l1=scale * LAM)
    assert scaled.status is Status.OPTIMAL
    np.testing.assert_allclose(scaled.value, plain.value, rtol=1e-6, atol=1e-9)


def test_limits_of_coordinate_descent():
    root = RNG.standard_normal((50, 60))
    Q, b = root.T @ root, RNG.standard_normal(60)
    solution = coordinate_descent(Q, b, l1=1e-4, max_iter=2)
    assert solution.status is Status.MAX_ITER
    assert solution.stats["iterations"] == 2
    assert not solution.certificate.ok
    assert coordinate_descent(Q, b, l1=1e-4, time_limit=0.0).status is Status.TIME_LIMIT


def test_a_warm_start_is_taken():
    Q, b = X.T @ X, -X.T @ Y
    done = coordinate_descent(Q, b, l1=LAM, tol=1e-10)
    again = coordinate_descent(Q, b, l1=LAM, tol=1e-9, x0=done.state)
    assert again.stats["iterations"] == 0


EYE = np.eye(2)
BAD = {
    "shape of Q": (lambda: coordinate_descent(EYE, [1.0]), "Q must be a finite matrix of shape"),
    "symmetry": (lambda: coordinate_descent([[1.0, 1.0], [0.0, 1.0]], [1.0, 1.0]), "symmetric"),
    "indefinite": (
        lambda: coordinate_descent([[1.0, 2.0], [2.0, 1.0]], [1.0, 1.0]),
        "positive semidefinite",
    ),
    "empty diagonal": (
        lambda: coordinate_descent([[0.0, 1.0], [1.0, 1.0]], [1.0, 1.0]),
        "positive semidefinite",
    ),
    "negative l1": (lambda: coordinate_descent(EYE, [1.0, 1.0], l1=-1.0), "l1 must be"),
    "many l1": (lambda: coordinate_descent(EYE, [1.0, 1.0], l1=[1.0] * 3), "l1 must be a number"),
    "crossed": (lambda: coordinate_descent(EYE, [1.0, 1.0], lower=2.0, upper=1.0), "lower must"),
    "start": (lambda: coordinate_descent(EYE, [1.0, 1.0], x0=[1.0]), "x0 must have 2"),
    "b": (lambda: coordinate_descent(EYE, [1.0, np.nan]), "b must be a vector"),
    "prox shape": (
        lambda: proximal_gradient(lambda x: x @ x, lambda x: 2 * x, lambda v, t: v[:1], [1.0, 2.0]),
        "prox must return",
    ),
    "step": (
        lambda: proximal_gradient(lambda x: x @ x, lambda x: 2 * x, soft_threshold, [1.0], step=0),
        "step must be",
    ),
}


@pytest.mark.parametrize(("call", "match"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named(call, match):
    refuses(call, ValueError, match)
