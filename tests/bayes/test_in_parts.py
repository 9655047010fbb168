"""Gaussian classes that are learned in parts are those of all rows at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import naive_bayes
from sklearn.datasets import load_iris, load_wine

import mercer
from mercer import GaussianBayes

X, Y = load_wine(return_X_y=True)
KINDS = [
    GaussianBayes(),
    GaussianBayes(order=0),
    GaussianBayes(order=2, ddof=1),
    GaussianBayes(tied=True),
    GaussianBayes(order=1, tied=True, ddof=1),
    GaussianBayes(priors=[0.2, 0.5, 0.3], shrinkage=0.1),
]
every_kind = pytest.mark.parametrize("model", KINDS, ids=repr)


def parts(n, count, seed):
    """Return the numbers of n rows in some order, cut at any places."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(1, n, count - 1))
    return [part for part in np.split(rng.permutation(n), cuts) if len(part)]


def in_parts(model, X, y, cut, weight=None):
    for part in cut:
        w = None if weight is None else weight[part]
        model.partial_fit(X[part], y[part], classes=np.unique(Y), sample_weight=w)
    return model


def new(model):
    return GaussianBayes(**model.get_params())


@settings(max_examples=10)
@given(st.integers(2, 12), st.integers(0, 2**16))
@every_kind
def test_any_parts_make_the_model_of_all_rows(model, count, seed):
    # parts with fewer rows of a class than columns: only the last model is asked
    learned = in_parts(new(model).set_params(ddof=0), X, Y, parts(len(X), count, seed))
    whole = new(model).set_params(ddof=0).fit(X, Y)
    np.testing.assert_allclose(learned.means_, whole.means_, rtol=1e-12)
    np.testing.assert_allclose(learned.predict_log_proba(X), whole.predict_log_proba(X), atol=1e-8)
    np.testing.assert_allclose(learned.covariances_, whole.covariances_, rtol=1e-8, atol=1e-10)
    assert learned.certificate_.ok


@every_kind
def test_weights_count_how_often_a_row_is_there(model):
    weight = np.random.default_rng(0).integers(0, 4, len(Y)).astype(float)
    cut = parts(len(X), 3, 1)
    weighted = in_parts(new(model), X, Y, cut, weight)
    again = np.repeat(np.arange(len(Y)), weight.astype(int))
    repeated = new(model).fit(X[again], Y[again])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X))


@every_kind
def test_it_goes_on_from_a_fit_and_from_a_file(model, tmp_path):
    rows = np.random.default_rng(2).permutation(len(Y))
    first, rest = rows[:120], rows[120:]
    begun = new(model).fit(X[first], Y[first])
    again = mercer.load(mercer.save(begun, tmp_path / "begun.mercer"))
    for learned in (begun, again):
        learned.partial_fit(X[rest], Y[rest])
        whole = new(model).fit(X, Y)
        np.testing.assert_allclose(learned.decision_function(X), whole.decision_function(X))


def test_it_is_what_scikit_learn_learns():
    A, b = load_iris(return_X_y=True)
    ours, theirs = GaussianBayes(order=0), naive_bayes.GaussianNB(var_smoothing=0.0)
    for part in parts(len(A), 4, 3):
        ours.partial_fit(A[part], b[part], classes=[0, 1, 2])
        theirs.partial_fit(A[part], b[part], classes=[0, 1, 2])
    np.testing.assert_allclose(ours.predict_proba(A), theirs.predict_proba(A), atol=1e-10)


def test_a_class_without_rows_is_never_predicted():
    model = GaussianBayes().partial_fit(X[Y < 2], Y[Y < 2], classes=[0, 1, 2])
    assert model.predict_proba(X)[:, 2].max() == 0.0
    assert set(model.predict(X)) == {0, 1}
    assert np.isneginf(model.log_density(X)[:, 2]).all()
    model.partial_fit(X[Y == 2], Y[Y == 2])
    np.testing.assert_allclose(model.predict_proba(X), GaussianBayes().fit(X, Y).predict_proba(X))


def test_a_singular_covariance_is_shrunk_without_rows():
    """More columns than rows: by the variance that correlations of Gaussians have."""
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(24, 40)), np.repeat([0, 1], 12)
    model = GaussianBayes().partial_fit(A, b, classes=[0, 1])
    assert (model.shrinkage_ > 0.5).all()  # there is nothing but noise
    assert model.certificate_.ok
    np.testing.assert_allclose(model.shrinkage_, GaussianBayes().fit(A, b).shrinkage_, atol=0.15)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda m: m.partial_fit(X, Y), "classes must be passed on the first call"),
        (lambda m: m.partial_fit(X, Y, classes=[0, 1]), r"got \[2\] as well"),
        (lambda m: m.partial_fit(X, Y, classes=[1]), "at least two labels"),
    ],
)
def test_what_is_missing_is_told(call, told):
    with pytest.raises(ValueError, match=told):
        call(GaussianBayes())


def test_what_was_kept_must_fit():
    model = GaussianBayes().partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="those of the first call"):
        model.partial_fit(X, Y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="order and tied must stay"):
        model.set_params(tied=True).partial_fit(X, Y)
    model.set_params(tied=False)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, 1:], Y)
    np.testing.assert_array_equal(model.predict_proba(X), before)
