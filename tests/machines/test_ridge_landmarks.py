"""Kernel ridge in the span of landmarks: against normal equations, against all rows, its proof."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import KernelRidge, KernelRidgeClassifier, KernelSearchCV
from mercer.kernels import RBF, Laplacian, Linear, Polynomial
from mercer.kernels.sample import Sample
from mercer.rows.checkpoint import Passes
from mercer.solvers.restriction import restriction
from mercer.solvers.ridge_falkon import solve_ridge_cg
from mercer.solvers.ridge_folds import FOLDS, fold_numbers
from mercer.solvers.ridge_landmarks import solve_ridge_landmarks
from mercer.solvers.ridge_route import choose_route
from mercer.solvers.ridge_run import RidgeRun
from mercer.solvers.span import InMemory, Span


def problem(n=300, d=3, targets=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = np.sin(2 * X[:, 0]) + X[:, -1] + 5.0
    return X, f if targets is None else np.column_stack([f * (k + 1) for k in range(targets)])


def normal_equations(kernel, X, Z, y, weight, lam):
    """Solve for β and b by the plain system (KᵀWK + λ k(Z, Z), KᵀW1; 1ᵀWK, 1ᵀW1)."""
    K, core = kernel(X, Z), kernel(Z, Z)
    one = np.ones((len(X), 1))
    D = np.hstack([K, one])
    M = D.T @ (weight[:, None] * D)
    M[:-1, :-1] += lam * core
    solved = np.linalg.lstsq(M, D.T @ (weight * y), rcond=None)[0]
    return solved[:-1], solved[-1]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 99), m=st.integers(1, 25), lam=st.sampled_from([1e-2, 1.0, 30.0]))
def test_it_is_the_minimum_in_the_span(seed, m, lam):
    X, y = problem(80, seed=seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, size=len(y))
    model = KernelRidge(Laplacian(gamma=0.5), lam=lam, landmarks=m, random_state=seed)
    model.fit(X, y, weight)
    Z = X[model.landmark_indices_]
    beta, b = normal_equations(Laplacian(gamma=0.5), X, Z, y, weight, lam)
    new = problem(20, seed=seed + 1)[0]
    np.testing.assert_allclose(model.predict(new), Laplacian(gamma=0.5)(new, Z) @ beta + b, 1e-6)
    assert model.certificate_.ok
    assert len(model.dual_coef_) == m


@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Linear(), Polynomial(degree=2)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_where_the_landmarks_span_all_it_is_the_whole_solution(kernel, fit_intercept):
    X, y = problem(45, 2)
    X = np.vstack([X, X])  # a row that is no landmark has a copy that is one
    y = np.concatenate([y, y + 0.1])
    options = {"lam": 0.3, "fit_intercept": fit_intercept}
    whole = KernelRidge(kernel, **options).fit(X, y)
    some = KernelRidge(kernel, landmarks=89, random_state=1, **options).fit(X, y)
    np.testing.assert_allclose(some.predict(X), whole.predict(X), rtol=1e-6)
    assert some.certificate_.ok
    assert some.certificate_.trace_error < 1e-8


def test_as_many_landmarks_as_rows_are_none():
    X, y = problem(50)
    model = KernelRidge(landmarks=50, lam="loo").fit(X, y)
    assert model.landmark_indices_ is None
    np.testing.assert_array_equal(model.predict(X), KernelRidge(lam="loo").fit(X, y).predict(X))


def span_problem(X, y, m, **blocks):
    """Return the span of the first m rows, and the problem of all."""
    span = Span(RBF(gamma=0.3), Sample(X[:m]), 10**9, **blocks)
    return span, InMemory(Sample(X), y.reshape(len(X), -1), np.ones(len(X)))


def values(span, solution, X):
    return span.kernel(X, X[: span.n_points]) @ solution.value + solution.intercept


def test_blocks_change_nothing():
    X, y = problem(300, targets=2)
    whole, few = (
        values(given[0], solve_ridge_landmarks(*given, 1.0), X)
        for given in (
            span_problem(X, y, 40),
            span_problem(X, y, 40, block_values=40 * 7, block_work=1.0),
        )
    )
    np.testing.assert_allclose(few, whole, rtol=1e-9)


def test_several_targets_are_several_problems():
    X, Y = problem(200, targets=3)
    model = KernelRidge(RBF(gamma=0.3), landmarks=30, random_state=0)
    together = model.fit(X, Y).predict(X)
    for k in range(3):
        np.testing.assert_allclose(model.fit(X, Y[:, k]).predict(X), together[:, k], rtol=1e-8)


def test_rows_of_weight_zero_are_no_rows():
    X, y = problem(200)
    weight = np.repeat([1.0, 0.0], 100)
    y[100:] = 1e6
    model = KernelRidge(RBF(gamma=0.3), landmarks=30, random_state=0)
    without = model.fit(X[:100], y[:100]).predict(X)
    np.testing.assert_allclose(model.fit(X, y, weight).predict(X), without, rtol=1e-10)


def test_a_precomputed_matrix():
    X, y = problem(120)
    kernel = RBF(gamma=0.3)
    new = problem(15, seed=5)[0]
    by_rows = KernelRidge(kernel, landmarks=20, random_state=0).fit(X, y)
    by_matrix = KernelRidge("precomputed", landmarks=20, random_state=0).fit(kernel(X), y)
    np.testing.assert_allclose(by_matrix.predict(kernel(new, X)), by_rows.predict(new), rtol=1e-9)


@pytest.mark.parametrize("lam", [0.0, 1e-12])
def test_without_a_penalty_it_interpolates_what_the_span_allows(lam):
    X, y = problem(100)
    model = KernelRidge(RBF(gamma=0.5), lam=lam, landmarks=20, random_state=0).fit(X, y)
    Z = X[model.landmark_indices_]
    K = np.hstack([RBF(gamma=0.5)(X, Z), np.ones((100, 1))])
    best = np.linalg.lstsq(K, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), K @ best, rtol=1e-5)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_units_of_the_target_do_not_matter(scale):
    X, y = problem(200)
    model = KernelRidge(RBF(gamma=0.3), lam=0.1, landmarks=30, random_state=0)
    one = model.fit(X, y).predict(X)
    np.testing.assert_allclose(model.fit(X, scale * y).predict(X), scale * one, rtol=1e-9)
    assert model.certificate_.ok


def test_classes():
    X, f = problem(400)
    y = np.where(f > 5.5, "high", np.where(f > 4.5, "middle", "low"))
    model = KernelRidgeClassifier(RBF(gamma=0.3), lam=0.1, landmarks=80, random_state=0).fit(X, y)
    whole = KernelRidgeClassifier(RBF(gamma=0.3), lam=0.1).fit(X, y)
    assert np.mean(model.predict(X) == whole.predict(X)) > 0.97


def test_the_seed_repeats_the_draw():
    X, y = problem(200)
    first, again, other = (
        KernelRidge(landmarks=20, random_state=seed).fit(X, y).landmark_indices_
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_what_cannot_be_had_is_said():
    X, y = problem(100)
    with pytest.raises(AttributeError, match="no leave-one-out error with landmarks"):
        _ = KernelRidge(landmarks=20).fit(X, y).loo_error_
    with pytest.raises(AttributeError, match="with landmarks and several lam"):
        _ = KernelRidge(landmarks=20).fit(X, y).cv_error_
    with pytest.raises(ValueError, match="route='exact' uses no landmarks; got landmarks=20"):
        KernelRidge(landmarks=20, route="exact").fit(X, y)
    with pytest.raises(ValueError, match="conjugate gradients over landmarks need lam > 0"):
        KernelRidge(landmarks=20, route="cg", lam=0.0).fit(X, y)
    with pytest.raises(ValueError, match="landmarks must lie in"):
        KernelRidge(landmarks=[3, 100]).fit(X, y)


# ---------------------------------------------------------------- several λ, in one pass
def left_out_errors(kernel, X, Z, Y, weight, lam, folds):
    """Fit by the plain system without each fold; return the mean squared error of its rows."""
    squares = 0.0
    for fold in range(FOLDS):
        own = folds == fold
        for y in Y.T:
            rest = (X[~own], Z, y[~own], weight[~own])
            beta, b = normal_equations(kernel, *rest, lam)
            off = y[own] - kernel(X[own], Z) @ beta - b
            squares += weight[own] @ off**2
    return squares / (weight.sum() * Y.shape[1])


@pytest.mark.parametrize(("m", "targets"), [(12, 1), (12, 2), (320, 1)])
def test_folds_of_all_penalties_come_from_one_pass(m, targets):
    X, Y = problem(400, targets=targets)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
    kernel, lams = Laplacian(gamma=0.5), np.array([1e-2, 1.0, 30.0])
    model = KernelRidge(kernel, lam=lams, landmarks=m, random_state=0).fit(X, Y, weight)
    folds = fold_numbers(0, len(X), FOLDS)
    given = (kernel, X, X[model.landmark_indices_], Y, weight)
    wanted = [left_out_errors(*given, lam, folds) for lam in lams]
    np.testing.assert_allclose(model.cv_error_, wanted, rtol=1e-6)
    assert model.lam_ == lams[np.argmin(wanted)]
    assert model.certificate_.passes <= 3  # moments, gradient, and a bound of the restriction
    one = KernelRidge(kernel, lam=model.lam_, landmarks=m, random_state=0).fit(X, Y, weight)
    np.testing.assert_allclose(one.predict(X), model.predict(X), rtol=1e-7)


def test_folds_are_even_and_belong_to_rows():
    whole = fold_numbers(0, 100_000, FOLDS)
    counts = np.bincount(whole)
    assert abs(counts - 20_000).max() < 5 * np.sqrt(16_000)
    np.testing.assert_array_equal(fold_numbers(777, 1_234, FOLDS), whole[777:1_234])
    assert abs(np.corrcoef(whole[:-1], whole[1:])[0, 1]) < 0.02


def test_a_grid_is_made_and_the_best_lies_inside():
    X, y = problem(600)
    y = y + np.random.default_rng(1).normal(size=len(y))
    model = KernelRidge(RBF(gamma=0.3), lam="loo", landmarks=60, random_state=0).fit(X, y)
    best = int(np.argmin(model.cv_error_))
    assert 0 < best < len(model.lams_) - 1
    assert model.lam_ == model.lams_[best]
    assert model.certificate_.ok


# ---------------------------------------------------------------- routes and proofs
@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), RBF(gamma=0.02), Laplacian(gamma=0.2)])
@pytest.mark.parametrize("targets", [None, 2])
def test_conjugate_gradients_reach_what_normal_equations_reach(kernel, targets):
    X, y = problem(3_000, targets=targets)
    options = {"lam": 0.5, "landmarks": 150, "random_state": 0}
    normal = KernelRidge(kernel, route="normal", **options).fit(X, y)
    steps = KernelRidge(kernel, route="cg", **options).fit(X, y)
    assert (normal.route_, steps.route_) == ("normal", "cg")
    assert normal.certificate_.ok
    assert steps.certificate_.ok
    spread = np.std(y)
    np.testing.assert_allclose(steps.predict(X), normal.predict(X), atol=1e-4 * spread)


def test_first_guesses_from_some_blocks_lead_to_the_same():
    X, y = problem(4_000)
    span, rows = span_problem(X, y, 100, block_values=100 * 30, block_work=1.0)
    about = {"shift": np.array([y.mean()])}
    warm = values(span, solve_ridge_cg(span, rows, 1.0, **about), X)
    cold = values(span, solve_ridge_cg(span, rows, 1.0, shares=(), **about), X)
    np.testing.assert_allclose(warm, cold, atol=1e-4)


def test_several_penalties_with_conjugate_gradients():
    X, y = problem(1_000)
    options = {"lam": [0.3, 3.0, 1e3], "landmarks": 80, "random_state": 0}
    steps = KernelRidge(RBF(gamma=0.3), route="cg", **options).fit(X, y)
    normal = KernelRidge(RBF(gamma=0.3), route="normal", **options).fit(X, y)
    assert steps.lam_ == normal.lam_
    np.testing.assert_allclose(steps.cv_error_, normal.cv_error_)


@pytest.mark.parametrize(("n", "limit", "kind"), [(300, 1e10, "exact"), (2_100, 1e10, "bound")])
@pytest.mark.parametrize("route", ["normal", "cg"])
def test_the_cost_of_the_restriction_is_proved(n, limit, kind, route):
    X, y = problem(n, d=2)
    lam = 0.5
    model = KernelRidge(RBF(gamma=0.5), lam=lam, landmarks=20, random_state=0, route=route)
    model.fit(X, y)
    proof = model.certificate_
    assert proof.restriction == kind
    own, best = objective(model, X, y, lam), objective(all_rows(X, y, lam), X, y, lam)
    assert proof.objective == pytest.approx(own, rel=1e-5)
    assert own - best <= (proof.restriction_gap + proof.above_minimum) * own * (1 + 1e-6)


def all_rows(X, y, lam):
    return KernelRidge(RBF(gamma=0.5), lam=lam).fit(X, y)


def objective(model, X, y, lam):
    f = model.predict(X)
    alpha, centres = model.dual_coef_, model.X_fit_
    return np.sum((y - f) ** 2) + lam * alpha @ RBF(gamma=0.5)(centres) @ alpha


def test_an_estimate_covers_what_is_exact():
    X, y = problem(5_000, d=2)
    span, rows = span_problem(X, y, 20)
    solution = solve_ridge_landmarks(span, rows, 0.5)
    run = RidgeRun(span, rows, True, None, Passes())
    beta = solution.value[span.order]

    def residuals(piece, values):
        return piece.Y - solution.intercept - values @ beta

    def found(**given):
        return restriction(run, residuals, solution.certificate.objective, 0.5, **given)

    exact = found(exact_rows=10**6)
    bound = found(exact_rows=0, pair_work=1e9)
    guess = found(exact_rows=0, pair_work=1e9, bound_work=0.0)
    assert [c["restriction"] for c in (exact, bound, guess)] == ["exact", "bound", "estimate"]
    assert guess["restriction_low"] <= exact["restriction_gap"] <= guess["restriction_high"]
    assert exact["restriction_gap"] <= bound["restriction_gap"]
    assert solution.certificate.restriction_gap == pytest.approx(bound["restriction_gap"])


def test_landmarks_may_be_given():
    X, y = problem(300)
    index = np.arange(0, 300, 10)
    options = {"kernel": RBF(gamma=0.3), "lam": 0.1}
    by_number = KernelRidge(landmarks=index, **options).fit(X, y)
    by_row = KernelRidge(landmarks=X[index], **options).fit(X, y)
    np.testing.assert_array_equal(by_number.landmark_indices_, index)
    assert len(by_row.landmark_indices_) == 0
    np.testing.assert_allclose(by_row.predict(X), by_number.predict(X), rtol=1e-10)


def test_the_ladder_of_routes():
    def name(asked="auto", n=10**6, m=None, several=False, in_memory=False, budget=10**9):
        given = {"n_targets": 1, "several": several, "in_memory": in_memory, "budget": budget}
        return choose_route(asked, n, 28, m, **given)

    assert name(n=5_000).name == "exact"  # fits
    assert name(in_memory=True).name == "exact"  # as it always was
    assert name(n=900, m=1_000).name == "exact"
    assert name()[:2] == ("normal", 2_000)
    assert name(m=1_000, several=True).name == "normal"
    assert name(m=10_000, budget=10**10).name == "cg"
    assert name(m=3_000, budget=10**8).name == "cg"
    assert name(budget=10**8).landmarks < 2_000
    assert name("cg", m=100).name == "cg"
    assert "passes over the rows" in str(name())


def test_a_search_fits_the_model_that_is_meant():
    X, y = problem(150)
    grid = {"lam": [0.1, 1.0], "kernel__gamma": [0.1, 1.0]}
    few = KernelSearchCV(KernelRidge(RBF(), landmarks=10, random_state=0), grid).fit(X, y)
    assert few.route_ == "ordinary cross-validation: landmarks stand for the rows"
    many = KernelSearchCV(KernelRidge(RBF(), landmarks=120, random_state=0), grid).fit(X, y)
    assert many.route_ == "shared Gram matrix"  # a fold has 120 rows to learn from
    assert few.best_score_ < many.best_score_
    by_rows = KernelSearchCV(KernelRidge(RBF(), landmarks=X[:10]), grid).fit(X, y)
    assert by_rows.route_ == few.route_
    steps = KernelSearchCV(KernelRidge(RBF(), landmarks=120, route="cg"), grid).fit(X, y)
    assert steps.route_ == "ordinary cross-validation: route='cg' is not that of a Gram matrix"


def test_a_route_without_a_number_of_landmarks_takes_one_of_its_own():
    X, y = problem(300)
    model = KernelRidge(RBF(gamma=0.5), route="normal", random_state=0).fit(X, y)
    assert len(model.landmark_indices_) == 200
    assert model.certificate_.ok
