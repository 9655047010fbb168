"""Ridge regression: scikit-learn's coefficients, and a leave-one-out error that is one."""

from __future__ import annotations

import copy
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge as Peer
from sklearn.linear_model import RidgeCV

from mercer import KernelRidge, LinearRegression, Ridge, load, save
from mercer.linear import ridge
from tests.cases import table
from tests.compare import refuses

SHAPES = [(40, 4), (12, 30), (7, 7), (300, 10)]
every_shape = pytest.mark.parametrize("shape", SHAPES)


def data(n, d, t=None, seed=0):
    """Return rows off centre, targets and weights."""
    rng = np.random.default_rng(seed)
    X = 2.0 + rng.normal(size=(n, d))
    y = X @ rng.normal(size=(d, t or 1)) + rng.normal(size=(n, t or 1))
    return X, y if t else y[:, 0], 0.5 + rng.random(n)


@every_shape
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e4])
def test_coefficients_are_those_of_scikit_learn(shape, intercept, lam):
    X, Y, weight = data(*shape, t=2)
    got = Ridge(lam, fit_intercept=intercept).fit(X, Y, weight)
    wanted = Peer(lam, fit_intercept=intercept, solver="svd").fit(X, Y, weight)
    np.testing.assert_allclose(got.coef_, wanted.coef_, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(got.intercept_, wanted.intercept_, rtol=1e-8, atol=1e-10)
    assert got.certificate_.ok


@every_shape
def test_the_chosen_lam_is_that_of_scikit_learn(shape):
    X, y, _ = data(*shape)
    lams = np.geomspace(1e-3, 1e3, 13)
    got, wanted = Ridge(lams).fit(X, y), RidgeCV(lams, store_cv_results=True).fit(X, y)
    assert got.lam_ == wanted.alpha_
    np.testing.assert_allclose(got.loo_error_, wanted.cv_results_.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(got.coef_, wanted.coef_, rtol=1e-7, atol=1e-9)


@every_shape
@pytest.mark.parametrize("intercept", [True, False])
def test_the_leave_one_out_error_is_what_leaving_out_gives(shape, intercept):
    X, Y, weight = data(*shape, t=2)
    X, Y, weight = X[:40], Y[:40], weight[:40]
    lams = [0.01, 3.0]
    got = Ridge(lams, fit_intercept=intercept).fit(X, Y, weight).loo_error_
    for lam, error in zip(lams, got, strict=True):
        squares = []
        for i in range(len(X)):
            rest = np.delete(np.arange(len(X)), i)
            model = Ridge(lam, fit_intercept=intercept).fit(X[rest], Y[rest], weight[rest])
            squares.append(weight[i] * np.sum((Y[i] - model.predict(X[i : i + 1])) ** 2))
        assert error == pytest.approx(sum(squares) / (2 * weight.sum()), rel=1e-8)


def test_one_lam_and_a_list_of_one_are_the_same():
    X, y, _ = data(30, 4)
    one, listed = Ridge(0.7).fit(X, y), Ridge([0.7]).fit(X, y)
    np.testing.assert_allclose(one.coef_, listed.coef_, rtol=1e-12)
    np.testing.assert_array_equal(one.loo_error_, listed.loo_error_)


def test_the_search_ends_at_a_valley():
    """No λ of a fine grid has an error that is much smaller than the best of the search."""
    X, y, _ = data(60, 20)
    found = Ridge("loo").fit(X, y)
    fine = Ridge(np.geomspace(found.lams_[0], found.lams_[-1], 400)).fit(X, y)
    assert found.loo_error_.min() <= 1.02 * fine.loo_error_.min()
    assert found.lam_ == found.lams_[found.loo_error_.argmin()]


def test_it_is_kernel_ridge_with_the_linear_kernel():
    X, y, weight = data(30, 5)
    plain, kernel = Ridge(0.3).fit(X, y, weight), KernelRidge("linear", lam=0.3).fit(X, y, weight)
    np.testing.assert_allclose(plain.predict(X), kernel.predict(X), atol=1e-9)
    np.testing.assert_allclose(plain.loo_error_, kernel.loo_error_, rtol=1e-7)


def test_no_penalty_is_least_squares_of_least_norm():
    for shape in SHAPES:
        X, y, _ = data(*shape)
        got, wanted = Ridge(0.0).fit(X, y), LinearRegression().fit(X, y)
        np.testing.assert_allclose(got.coef_, wanted.coef_, atol=1e-9)


def test_a_growing_lam_shrinks_to_the_mean():
    X, y, weight = data(30, 4)
    norms = [np.linalg.norm(Ridge(lam).fit(X, y, weight).coef_) for lam in (0.0, 1.0, 10.0, 1e12)]
    assert norms == sorted(norms, reverse=True)
    last = Ridge(1e12).fit(X, y, weight)
    np.testing.assert_allclose(last.predict(X), np.average(y, weights=weight), atol=1e-6)


@pytest.mark.parametrize("unit", [1e150, 1e-150])
def test_units_do_not_matter(unit):
    X, y, _ = data(30, 3)
    plain, scaled = Ridge("loo").fit(X, y), Ridge("loo").fit(X * unit, y)
    np.testing.assert_allclose(scaled.coef_ * unit, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(scaled.lam_ / unit / unit, plain.lam_, rtol=1e-9)


@pytest.mark.parametrize("X", [table(1, 2), table(2, 3), np.full((5, 2), 0.1)], ids=len)
def test_degenerate_rows_have_clean_fits(X):
    model = Ridge(1.0).fit(X, np.arange(float(len(X))))
    assert np.isfinite(model.coef_).all()
    assert model.certificate_.ok


@pytest.mark.parametrize("lam", [1.0, [0.5, 1.0]])
def test_columns_and_weights_that_vanish_beside_lam_leave_the_mean(lam):
    X, y, _ = data(20, 3)
    model = Ridge(lam).fit(1e-150 * X, y, np.full(20, 1e-200))
    np.testing.assert_allclose(model.predict(1e-150 * X), y.mean(), atol=1e-12)
    assert np.isfinite(model.loo_error_).all()


@pytest.mark.parametrize("shape", [(200, 5), (30, 30), (10, 40)])
@pytest.mark.parametrize("lam", [1e3, 1.0, 1e-3, 1e-10, 1e-16])
def test_a_factor_and_a_decomposition_agree(shape, lam):
    """Where a factor would lose digits the decomposition takes over."""
    X, y, weight = data(*shape)
    X = X * np.geomspace(1.0, 1e-4, shape[1])
    one, several = Ridge(lam).fit(X, y, weight), Ridge([lam]).fit(X, y, weight)
    np.testing.assert_allclose(one.predict(X), several.predict(X), atol=1e-9)
    np.testing.assert_allclose(one.loo_error_, several.loo_error_, rtol=1e-6)
    assert one.certificate_.ok


def test_errors_that_are_asked_for_later_are_those_of_the_fit():
    """A change of the arrays does not lose them."""
    X, y, weight = data(30, 4)
    wanted = Ridge([0.7], fit_intercept=False).fit(X, y, weight).loo_error_
    late = Ridge(0.7, fit_intercept=False).fit(X, y, weight)
    unweighted = Ridge(0.7, fit_intercept=False).fit(X, y)
    plain = Ridge([0.7], fit_intercept=False).fit(X, y).loo_error_
    X[:], y[:] = 0.0, 0.0
    np.testing.assert_allclose(late.loo_error_, wanted, rtol=1e-12)
    np.testing.assert_allclose(unweighted.loo_error_, plain, rtol=1e-12)
    assert "_held" not in vars(late)
    refuses(lambda: Ridge().loo_error_, AttributeError, "not fitted")


def test_bad_input_is_named():
    refuses(lambda: Ridge().fit(np.full((3, 1), 1e-300), [0, 1, 2]), ValueError, "rescale")
    X, y, _ = data(10, 2)
    refuses(lambda: Ridge(-1.0).fit(X, y), ValueError, "lam")
    refuses(lambda: Ridge([1.0, -1.0]).fit(X, y), ValueError, "lam")
    refuses(lambda: Ridge("gcv").fit(X, y), ValueError, "lam")
    refuses(lambda: Ridge("loo").fit(X[:1], y[:1]), ValueError, "leave|left")


def pickled(model):
    return pickle.loads(pickle.dumps(model))


def saved(model):
    with tempfile.TemporaryDirectory() as folder:
        return load(save(model, Path(folder) / "model.mercer"))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickled, saved])
def test_copies_and_files_hold_no_rows_and_cost_no_decomposition(monkeypatch, duplicate):
    X, y, weight = data(300, 4)
    model, asked = Ridge(0.7).fit(X, y, weight), Ridge(0.7).fit(X, y, weight)
    wanted = asked.loo_error_
    with monkeypatch.context() as patch:
        patch.setattr(ridge, "RowSpectrum", None)
        other = duplicate(model)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert len(pickle.dumps(model)) < X.nbytes
    refuses(lambda: other.loo_error_, AttributeError, "read loo_error_ first")
    np.testing.assert_array_equal(duplicate(asked).loo_error_, wanted)
    np.testing.assert_allclose(model.loo_error_, wanted, rtol=1e-12)
