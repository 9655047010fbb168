"""Both solvers of logistic regression end at the same point, also where a run is cut short."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from mercer import LogisticRegression, Status
from mercer.linear import _logistic
from mercer.linear import _logistic_newton as newton
from mercer.linear._logistic import BinaryLikelihood, LogisticDesign, SoftmaxLikelihood
from mercer.linear._logistic_hessian import first_hessian, hessian
from mercer.linear._logistic_lbfgs import ScaledObjective
from mercer.optimize import check_gradient, linear_program
from tests.cases import sparse_table, table
from tests.compare import refuses
from tests.linear.test_logistic import margins, noisy

PROBLEMS = {
    "two classes": (noisy(), 1.0),
    "five classes": (noisy(k=5), 0.1),
    "no penalty": (noisy(300, 3), 0.0),
    "wide": ((table(40, 600), np.arange(40) % 2), 0.5),
    "wide, three classes": ((table(30, 400), np.arange(30) % 3), 0.5),
    "breast cancer": ((scale(load_breast_cancer().data), load_breast_cancer().target), 1.0),
    "digits": (load_digits(return_X_y=True), 10.0),
    "sparse": ((sparse_table(80, 30), np.arange(80) % 3), 0.2),
    "columns of very different size": ((noisy()[0] * [1e-6, 1.0, 1e3, 1e6], noisy()[1]), 1e-9),
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())


@every_problem
@pytest.mark.parametrize("intercept", [True, False])
def test_lbfgs_ends_where_newton_ends(problem, intercept):
    (X, y), lam = problem
    fits = [
        LogisticRegression(lam=lam, fit_intercept=intercept, solver=solver, tol=1e-8).fit(X, y)
        for solver in ("newton", "lbfgs")
    ]
    first, second = (model.predict_proba(X) for model in fits)
    np.testing.assert_allclose(second, first, atol=1e-6)
    assert all(model.certificate_.ok for model in fits)
    assert fits[1].solver_ == "lbfgs"
    assert fits[1].certificate_.objective == pytest.approx(fits[0].certificate_.objective, rel=1e-9)


@pytest.mark.parametrize("k", [2, 4])
def test_the_objective_of_lbfgs_has_its_gradient(k):
    X, y = noisy(k=k)
    weight = np.random.default_rng(0).random(len(y))
    likelihood = BinaryLikelihood(y, weight) if k == 2 else SoftmaxLikelihood(y, weight, k)
    design = LogisticDesign.of(X, weight, 0.3, True)
    objective = ScaledObjective(newton.NewtonRun(design, likelihood))
    x = np.random.default_rng(1).normal(size=len(objective.start))
    assert check_gradient(objective.value, objective.gradient, x, tol=1e-7).ok


def test_classes_that_are_separated_are_said_by_lbfgs_too():
    X = np.linspace(-1.0, 1.0, 12)[:, None]
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(ConvergenceWarning, match="separated"):
        model = LogisticRegression(lam=0, solver="lbfgs").fit(X, y)
    assert margins(model, X, y).min() > 0


def test_newton_is_chosen_unless_many_classes_have_many_columns():
    X, y = noisy()
    assert LogisticRegression().fit(X, y).solver_ == "newton"
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 160)), np.arange(80) % 20
    assert LogisticRegression(lam=10.0).fit(X, y).solver_ == "lbfgs"
    assert LogisticRegression(lam=10.0).fit(sp.csr_array(X), y).solver_ == "newton"
    refuses(lambda: LogisticRegression(solver="sgd").fit(X, y), ValueError, "solver")


def test_both_guides_of_conjugate_gradients_lead_to_the_same_point():
    X, y = noisy(200, 12, 4)
    direct = LogisticRegression(lam=0.1).fit(X, y)
    for cheap, worth in ((0, 1e-9), (0, 1e9), (150, 8)):  # diagonal, then dense, dense
        model = LogisticRegression(lam=0.1, tol=1e-9)
        model._fit(X, y, direct=0.0, cheap=cheap, worth=worth)
        np.testing.assert_allclose(model.coef_, direct.coef_, atol=1e-6)


def test_wide_tables_are_not_squared():
    X, y = table(20, 6000), np.arange(20) % 2
    tracemalloc.start()
    model = LogisticRegression().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.certificate_.ok
    assert peak < 20 * X.nbytes < 8 * 6000**2 / 10


# ---------------------------------------------------------------- cut short
def interrupt_after(monkeypatch, owner, name, count):
    """Make a function raise KeyboardInterrupt in its call of this number."""
    calls, function = iter(range(10**9)), getattr(owner, name)

    def impatient(*args, **options):
        if next(calls) == count:
            raise KeyboardInterrupt
        return function(*args, **options)

    monkeypatch.setattr(owner, name, impatient)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("count", [4, 8])
def test_an_interrupt_keeps_the_best_so_far(solver, count, monkeypatch):
    (X, y), _ = PROBLEMS["digits"]
    interrupt_after(monkeypatch, newton.NewtonRun, "gradient", count)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = LogisticRegression(solver=solver).fit(X, y)
    assert model.status_ == "interrupted"
    assert not model.certificate_.ok
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.certificate_.objective < len(y) * np.log(10)  # better than no coefficients


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("lam", [0.0, 1e-3])
def test_no_time_is_said(solver, lam):
    (X, y), _ = PROBLEMS["digits"]
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = LogisticRegression(lam=lam, solver=solver, time_limit=0.0).fit(X, y)
    assert model.status_ == "time_limit"
    assert not model.certificate_.ok


def test_time_is_looked_at_within_a_step(monkeypatch):
    """Conjugate gradients that are cut short prove nothing."""
    X, y = noisy(200, 12, 4)
    stopped, calls = newton.Limits.stopped, iter(range(10**9))

    def late(limits, steps):
        limits.deadline = -1.0 if next(calls) == 12 else limits.deadline
        return stopped(limits, steps)

    monkeypatch.setattr(newton.Limits, "stopped", late)
    solution = LogisticRegression(lam=1e-3)._fit(X, y, direct=0.0)
    assert solution.status is Status.TIME_LIMIT
    assert 0 < solution.certificate.relative_decrement < np.inf
    assert not solution.certificate.ok


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_few_steps_are_said(solver):
    X, y = noisy(k=3)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = LogisticRegression(lam=1e-3, solver=solver, max_iter=2).fit(X, y)
    assert not model.certificate_.ok
    assert model.n_iter_ == 2


def test_a_separation_that_was_not_decided_in_time_is_not_claimed(monkeypatch):
    """Quasi-complete separation needs the linear program."""
    X = np.array([[0.0], [1.0], [2.0], [2.0], [3.0], [4.0]])
    y = np.array([0, 0, 0, 1, 1, 1])

    def hurried(*program, **options):
        return linear_program(*program, **{**options, "time_limit": 0.0})

    monkeypatch.setattr(_logistic, "linear_program", hurried)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = LogisticRegression(lam=0).fit(X, y)
    assert model.separating_direction_ is None


# ---------------------------------------------------------------- weights
@pytest.mark.parametrize("unit", [1e200, 1e-200])
@pytest.mark.parametrize("k", [2, 3])
def test_the_unit_of_weights_does_not_matter(unit, k):
    X, y = noisy(k=k)
    weight = np.random.default_rng(0).random(len(y))
    for lam in (0.0, 1.0):
        plain = LogisticRegression(lam=lam).fit(X, y, weight)
        scaled = LogisticRegression(lam=lam * unit).fit(X, y, weight * unit)
        np.testing.assert_allclose(scaled.coef_, plain.coef_, rtol=1e-9)
        np.testing.assert_allclose(
            scaled.standard_errors_ * unit**0.5, plain.standard_errors_, rtol=1e-7
        )
        assert scaled.certificate_.objective == pytest.approx(plain.certificate_.objective * unit)
        assert scaled.certificate_.ok


# ---------------------------------------------------------------- the Hessian
def likelihood_of(k, codes, weight):
    return BinaryLikelihood(codes, weight) if k == 1 else SoftmaxLikelihood(codes, weight, k)


@pytest.mark.parametrize("k", [1, 3, 6])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_hessian_is_the_derivative_of_the_gradient(k, sparse):
    """Against differences of the gradient; at 0 it is made of AᵀWA alone."""
    rng = np.random.default_rng(k)
    X, weight = rng.normal(size=(80, 3)) * [1.0, 5.0, 0.1], rng.uniform(0.5, 2.0, 80)
    codes = rng.integers(max(k, 2), size=80)
    design = LogisticDesign.of(sp.csr_array(X) if sparse else X, weight, 0.3, True)
    run = newton.NewtonRun(design, likelihood_of(k, codes, weight))
    for theta in (np.zeros((4, k)), rng.normal(size=(4, k))):
        H = hessian(design, run.at(theta).point)
        differences = np.empty_like(H)
        for i in range(4 * k):
            step = np.zeros((k, 4))
            step.flat[i] = 1e-5
            ends = (run.gradient(run.at(theta + sign * step.T)) for sign in (1.0, -1.0))
            differences[:, i] = np.subtract(*ends).T.ravel() / 2e-5
        np.testing.assert_allclose(H, differences, atol=1e-7)
        if not theta.any() and not sparse:
            np.testing.assert_allclose(first_hessian(design, k), H, atol=1e-12)
