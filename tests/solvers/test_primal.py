"""Newton's method and coordinate steps: against slow twins, to their proofs, within limits."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from mercer import Status, check_solver, gram
from mercer._clock import OutOfTimeError
from mercer.certify import fenchel_gap
from mercer.gram.storages import BlockedGram
from mercer.kernels import RBF, Laplacian, Linear, Sigmoid
from mercer.losses import Huber, Logistic, ScalarRisk, SoftmaxRisk, Squared, SquaredHinge
from mercer.margin import MarginProblem
from mercer.solvers import Limits, solve_ridge
from mercer.solvers.box import solve_box
from mercer.solvers.precondition import FixedOffset, FreeOffset, Guide, Woodbury, low_rank_factor
from mercer.solvers.primal import solve_primal
from tests.cases import table, two_classes

X, SIGN = two_classes(40, 3)
Y = X[:, 0] + np.sin(2.0 * X[:, 1])
WEIGHT = np.random.default_rng(0).uniform(0.5, 2.0, 40)
CODES = np.digitize(Y, [-0.5, 0.5])
K = gram(RBF(gamma=0.3), X)

RISKS = {
    "squared": ScalarRisk(Squared(), Y, WEIGHT),
    "huber": ScalarRisk(Huber(0.3), Y, WEIGHT),
    "logistic": ScalarRisk(Logistic(), SIGN, WEIGHT),
    "squared hinge": ScalarRisk(SquaredHinge(), SIGN, WEIGHT),
    "softmax": SoftmaxRisk(CODES, WEIGHT, 3),
}
every_risk = pytest.mark.parametrize("risk", RISKS.values(), ids=RISKS.keys())
offset_or_not = pytest.mark.parametrize("free", [True, False], ids=["offset", "no offset"])


def slow_value(risk, lam, free, matrix):
    """Return the least objective by a general minimiser, over α and b."""
    n, t = len(matrix), risk.n_outputs
    values, V = np.linalg.eigh(matrix)
    root = V * np.sqrt(np.maximum(values, 0.0))  # f = root θ has ‖f‖ = ‖θ‖

    def objective(x):
        theta, b = x[: n * t].reshape(n, t), x[n * t :] * free
        G = root @ theta + b
        slopes = risk.slopes(G)
        gradient = np.concatenate(
            [(root.T @ slopes + 2 * lam * theta).ravel(), free * slopes.sum(axis=0)]
        )
        return risk.value(G) + lam * (theta**2).sum(), gradient

    options = {"maxiter": 20_000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10}
    start = np.zeros(n * t + t)
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).fun


# ---------------------------------------------------------------- Newton
@every_risk
@offset_or_not
@pytest.mark.parametrize("lam", [1.0, 0.01])
def test_newton_reaches_the_slow_minimum(risk, free, lam):
    found = solve_primal(K, risk, lam, fit_intercept=free)
    assert found.status is Status.OPTIMAL
    wanted = slow_value(risk, lam, free, K.toarray())
    np.testing.assert_allclose(found.certificate.primal, wanted, rtol=1e-7)
    assert found.certificate.dual <= wanted * (1 + 1e-10)


@every_risk
@offset_or_not
def test_a_small_problem_is_solved_to_rounding(risk, free):
    found = solve_primal(K, risk, 0.1, fit_intercept=free)
    assert found.certificate.value < 1e-12
    slopes = risk.slopes(K @ found.value + found.intercept)
    np.testing.assert_allclose(found.value, -slopes / 0.2, atol=1e-6)  # the representer theorem
    np.testing.assert_allclose(found.value.sum(axis=0) * free, 0.0, atol=1e-9)


@every_risk
def test_it_keeps_the_contract_of_a_solver(risk):
    check_solver(lambda: solve_primal(K, risk, 0.1))


@offset_or_not
def test_squared_error_is_one_linear_system(free):
    found = solve_primal(K, RISKS["squared"], 0.3, fit_intercept=free)
    direct = solve_ridge(K, Y[:, None], 0.3 / WEIGHT, fit_intercept=free)
    np.testing.assert_allclose(found.value, direct.value, atol=1e-9)
    np.testing.assert_allclose(found.intercept, direct.intercept, atol=1e-9)


@pytest.mark.parametrize("storage", ["dense", "cached", "blocked"])
@pytest.mark.parametrize("rank", [3, 12])
@every_risk
def test_a_coarse_copy_of_the_matrix_only_costs_steps(risk, storage, rank):
    wanted = solve_primal(K, risk, 0.05)
    G = gram(RBF(gamma=0.3), X, storage=storage)
    # what large problems do
    found = solve_primal(G, risk, 0.05, tol=1e-10, guide=Guide.of(G, rank), exact_up_to=0)
    assert found.certificate.ok
    np.testing.assert_allclose(found.value, wanted.value, atol=1e-4)


def test_a_start_at_the_solution_ends_at_once():
    first = solve_primal(K, RISKS["logistic"], 0.1)
    again = solve_primal(K, RISKS["logistic"], 0.1, start=first.state)
    assert again.stats["steps"] <= 1
    np.testing.assert_allclose(again.value, first.value, atol=1e-12)


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    name=st.sampled_from(["huber", "logistic", "squared hinge"]),
    exponent=st.integers(-4, 3),
    free=st.booleans(),
)
def test_random_problems_are_proved(seed, name, exponent, free):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(15, 2)).round(1)  # with repeated values
    loss = RISKS[name].loss
    y = np.where(np.arange(15) % 2, 1.0, -1.0) if loss.kind == "classify" else rng.normal(size=15)
    risk = ScalarRisk(loss, y, 10.0 ** rng.integers(-2, 3, 15))
    found = solve_primal(gram(RBF(gamma=1.0), rows), risk, 10.0**exponent, fit_intercept=free)
    assert found.status is Status.OPTIMAL


def test_limits_end_it_with_an_honest_proof():
    hard = RISKS["squared hinge"]
    for limits, status in (
        (Limits(max_iter=1), Status.MAX_ITER),
        (Limits(deadline=0.0), Status.TIME_LIMIT),
        (Limits(interrupted=True), Status.INTERRUPTED),
    ):
        found = solve_primal(K, hard, 1e-4, limits=limits)
        assert found.status is status
        assert not found.certificate.ok
        assert found.certificate.gap >= found.certificate.primal - slow_value(
            hard, 1e-4, True, K.toarray()
        )


class Slow(BlockedGram):
    """A matrix for whose products there is never the time; some rows are at hand."""

    def _matmat(self, V):
        raise OutOfTimeError


@offset_or_not
@every_risk
def test_no_time_for_one_product_leaves_the_best_of_a_few_points(risk, free):
    G = gram(RBF(gamma=0.3), X, storage="blocked")
    few = Guide.of(G, 12)
    found = solve_primal(
        Slow(G.kernel, G.X, G.Y, G.dtype),
        risk,
        0.05,
        fit_intercept=free,
        limits=Limits(deadline=time.monotonic() + 60.0),
        guide=few,
        exact_up_to=0,
    )
    assert not found.certificate.ok
    assert np.isnan(found.certificate.value)
    assert set(np.flatnonzero(found.value.any(axis=1))) <= set(few.points)
    reached = risk.value(K @ found.value + found.intercept)
    reached += 0.05 * float((found.value * (K @ found.value)).sum())
    # the least over functions of these points, by a general minimiser of the low-rank problem
    assert reached == pytest.approx(slow_value(risk, 0.05, free, few.L @ few.L.T), rel=1e-5)


def test_ctrl_c_keeps_what_was_reached():
    class Impatient(type(K)):
        calls = 0

        def _matmat(self, V):
            type(self).calls += 1
            if self.calls == 6:
                raise KeyboardInterrupt
            return super()._matmat(V)

    found = solve_primal(Impatient(K._K, K._source), RISKS["squared hinge"], 1e-4)
    assert found.status is Status.INTERRUPTED
    assert np.isfinite(found.certificate.primal)


def test_an_indefinite_kernel_is_no_proof():
    found = solve_primal(gram(Sigmoid(scale=2.0, bias=-1.0), X), RISKS["logistic"], 1e-3)
    assert found.status is Status.INDEFINITE
    assert np.isnan(found.certificate.value)


# ---------------------------------------------------------------- its parts
@pytest.mark.parametrize("rank", [5, 40])
def test_a_factor_from_all_points_is_the_matrix(rank):
    L = low_rank_factor(gram(Linear(), X), rank)
    assert L.shape == (40, 3)  # the rank of the matrix, from however many points
    np.testing.assert_allclose(L @ L.T, X @ X.T, atol=1e-10)


def test_a_factor_from_some_points_stays_below_the_matrix():
    L = low_rank_factor(gram(Laplacian(gamma=1.0), X), 10)
    rest = np.linalg.eigvalsh(Laplacian(gamma=1.0)(X) - L @ L.T)
    assert rest.min() > -1e-10


@every_risk
def test_eliminating_the_offset(risk):
    """S̃S̃ᵀ = H − H1(1ᵀH1)⁺1ᵀH, and settled slopes add up to 0."""
    rng = np.random.default_rng(1)
    G, V = rng.normal(size=(2, 40, risk.n_outputs))
    curve = risk.curvature(G)
    free = FreeOffset(curve)
    product = free.root(free.root_transposed(V))
    np.testing.assert_allclose(product, free.settle(curve.apply(V)), atol=1e-10)
    np.testing.assert_allclose(product.sum(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(free.project(free.project(V)), free.project(V), atol=1e-10)
    np.testing.assert_allclose(free.root(free.project(V)), free.root(V), atol=1e-10)
    slopes = risk.slopes(G)
    settled = slopes + curve.apply(V + free.shift(slopes, V))  # after a change V
    np.testing.assert_allclose(settled.sum(axis=0), 0.0, atol=1e-10)


@pytest.mark.parametrize("name", ["logistic", "huber"])
def test_the_guide_inverts_the_system_of_an_exact_copy(name):
    risk = RISKS[name]
    curve = FixedOffset(risk.curvature(np.zeros((40, 1))))
    inverse = Woodbury(curve, Guide.of(K, 40), 0.1)
    V = np.random.default_rng(2).normal(size=(40, 1))
    system = 0.2 * V + curve.root_transposed(K @ curve.root(V))
    np.testing.assert_allclose(inverse.solve(system), V, atol=1e-8)


# ---------------------------------------------------------------- the proof
@every_risk
@offset_or_not
def test_the_gap_bounds_the_distance_from_the_minimum(risk, free):
    best = slow_value(risk, 0.1, free, K.toarray())
    rng = np.random.default_rng(3)
    at = solve_primal(K, risk, 0.1, fit_intercept=free)
    for size in (0.0, 1e-3, 0.1, 1.0):
        alpha = at.value + size * rng.normal(size=at.value.shape)
        b = at.intercept + free * size * rng.normal(size=at.intercept.shape)
        proof = fenchel_gap(K, alpha, b, risk, 0.1, tolerance=1e-6, fit_intercept=free)
        G = K @ alpha + b
        np.testing.assert_allclose(
            proof.primal, risk.value(G) + 0.1 * (alpha * (K @ alpha)).sum(), rtol=1e-12
        )
        assert proof.primal - proof.gap <= best * (1 + 1e-8)
        assert proof.ok == (size == 0.0)


# ---------------------------------------------------------------- no offset: a box
def slow_box(matrix, problem):
    """Return the least ½βᵀKβ − zᵀβ + ε‖β‖₁ in the box; β = p − q makes it smooth."""
    n = len(matrix)

    def objective(x):
        beta = x[:n] - x[n:]
        slope = matrix @ beta - problem.z
        value = 0.5 * beta @ matrix @ beta - problem.z @ beta + problem.eps * x.sum()
        return value, np.concatenate([slope, -slope]) + problem.eps

    bounds = [(0, max(h, 0)) for h in problem.hi] + [(0, max(-low, 0)) for low in problem.lo]
    options = {"maxiter": 20_000, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-12}
    found = minimize(
        objective, np.zeros(2 * n), jac=True, bounds=bounds, method="L-BFGS-B", options=options
    )
    return found.fun


def box_value(matrix, problem, beta):
    return 0.5 * beta @ matrix @ beta - problem.z @ beta + problem.eps * np.abs(beta).sum()


BOXES = {
    "hinge": MarginProblem.classify(SIGN, 2.0 * WEIGHT),
    "tube": MarginProblem.regress(Y, 5.0 * WEIGHT, 0.1),
    "quantile": MarginProblem(Y, -0.1 * WEIGHT, 0.9 * WEIGHT, 0.0),
    "large bounds": MarginProblem.regress(Y, 1e4 * WEIGHT, 0.01),
}
every_box = pytest.mark.parametrize("problem", BOXES.values(), ids=BOXES.keys())


@every_box
@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Linear(), Laplacian()], ids=repr)
def test_a_box_is_solved_as_the_slow_twin_solves_it(problem, kernel):
    G = gram(kernel, X)
    beta, _, _ = solve_box(G, problem)
    assert ((beta >= problem.lo) & (beta <= problem.hi)).all()
    matrix = G.toarray()
    wanted = slow_box(matrix, problem)
    assert box_value(matrix, problem, beta) <= wanted + 1e-6 * abs(wanted)
    f = problem.figures(beta, problem.z - matrix @ beta, 0.0)
    assert f.gap <= 1e-9 * (f.loss + 0.5 * f.squared_norm)


@pytest.mark.parametrize("direct", [0, 100], ids=["conjugate gradients", "Cholesky"])
@pytest.mark.parametrize("storage", ["blocked", "cached", "dense"])
@every_box
def test_working_sets_reach_the_same(problem, storage, direct):
    wanted, _, _ = solve_box(K, problem)
    G = gram(RBF(gamma=0.3), X, storage=storage)
    found, status, _ = solve_box(G, problem, tol=1e-8, working=7, direct=direct)
    assert status is Status.OPTIMAL
    matrix = K.toarray()
    np.testing.assert_allclose(
        box_value(matrix, problem, found), box_value(matrix, problem, wanted), rtol=1e-7
    )


def test_points_without_a_norm_go_to_a_bound():
    zero = gram(Linear(), np.zeros((4, 2)))
    problem = MarginProblem.regress(np.array([1.0, -1.0, 0.05, 0.0]), np.full(4, 3.0), 0.1)
    beta, status, _ = solve_box(zero, problem)
    assert status is Status.OPTIMAL
    np.testing.assert_array_equal(beta, [3.0, -3.0, 0.0, 0.0])


def test_limits_end_a_box():
    problem = BOXES["large bounds"]
    assert solve_box(K, problem, limits=Limits(max_iter=3))[1:] == (Status.MAX_ITER, 3)
    assert solve_box(K, problem, limits=Limits(deadline=0.0))[1] is Status.TIME_LIMIT
    assert solve_box(K, problem, limits=Limits(interrupted=True))[1] is Status.INTERRUPTED


def test_repeated_points_share_what_one_would_take():
    rows, y = np.vstack([table(8, 2)] * 2), np.tile(np.sin(np.arange(8.0)), 2)
    both = MarginProblem.regress(y, np.ones(16), 0.05)
    once = MarginProblem.regress(y[:8], np.full(8, 2.0), 0.05)
    twice, _, _ = solve_box(gram("rbf", rows), both)
    single, _, _ = solve_box(gram(RBF().bind(rows), rows[:8]), once)
    np.testing.assert_allclose(twice[:8] + twice[8:], single, atol=1e-6)
