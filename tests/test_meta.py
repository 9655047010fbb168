"""Models around models: what they change of the answers, and that they are estimators too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import SVR, KernelRidge, LogisticRegression, Ridge
from mercer.meta import TargetRegressor, ThresholdClassifier, innermost
from tests.cases import table

X = table(120, 3)
RARE = np.where(X[:, 0] + 0.3 * X[:, 1] > 1.2, "ill", "well")
PRICES = np.exp(1.5 * X[:, 0] + 0.2 * X[:, 1] + 3.0)


@parametrize_with_checks(
    [
        ThresholdClassifier(LogisticRegression()),
        TargetRegressor(Ridge()),
        TargetRegressor(KernelRidge(), extrapolate=True),
    ]
)
def test_they_are_estimators_of_scikit_learn(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- thresholds
@given(st.floats(0.0, 1.0))
def test_rows_are_positive_from_the_threshold_on(threshold):
    inner = LogisticRegression().fit(X, RARE)
    model = ThresholdClassifier.around(inner, threshold, "ill")
    said = inner.predict_proba(X)[:, inner.classes_ == "ill"][:, 0] >= threshold
    np.testing.assert_array_equal(model.predict(X) == "ill", said)


def test_one_half_is_what_the_classifier_itself_says():
    model = ThresholdClassifier(LogisticRegression()).fit(X, RARE)
    np.testing.assert_array_equal(model.predict(X), model.estimator_.predict(X))


def test_either_class_may_be_the_positive_one():
    ill, well = (
        ThresholdClassifier(LogisticRegression(), 0.3, label).fit(X, RARE)
        for label in ("ill", "well")
    )
    np.testing.assert_array_equal(ill.predict_proba(X), well.predict_proba(X))
    assert (ill.predict(X) == "ill").mean() > (well.predict(X) == "ill").mean()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ThresholdClassifier(LogisticRegression(), 1.5), "threshold must lie in"),
        (ThresholdClassifier(LogisticRegression(), 0.5, "maybe"), "'ill' or 'well'"),
    ],
)
def test_thresholds_say_what_they_need(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, RARE)


# ---------------------------------------------------------------- targets
def test_without_a_transform_only_the_range_is_kept():
    plain, model = Ridge().fit(X, PRICES), TargetRegressor(Ridge()).fit(X, PRICES)
    far = 5.0 * X
    wanted = np.clip(plain.predict(far), PRICES.min(), PRICES.max())
    np.testing.assert_allclose(model.predict(far), wanted)
    free = TargetRegressor(Ridge(), extrapolate=True).fit(X, PRICES)
    np.testing.assert_allclose(free.predict(far), plain.predict(far))
    assert free.predict(far).max() > PRICES.max()
    assert free.predict(far).min() < PRICES.min()


def test_the_logarithm_is_taken_and_given_back():
    model = TargetRegressor(Ridge(1e-9), "log", extrapolate=True).fit(X, PRICES)
    t = model.scale_ * np.log1p(PRICES / model.unit_)
    assert np.std(t) == pytest.approx(np.std(PRICES))
    np.testing.assert_allclose(model.estimator_.coef_, Ridge(1e-9).fit(X, t).coef_)
    back = model.unit_ * np.expm1(model.estimator_.predict(X) / model.scale_)
    np.testing.assert_allclose(model.predict(X), back)


@given(st.floats(1e-6, 1e6))
def test_the_unit_of_the_target_does_not_matter(unit):
    one, other = (TargetRegressor(Ridge(), "log").fit(X, PRICES * u) for u in (1.0, unit))
    np.testing.assert_allclose(other.predict(X), unit * one.predict(X), rtol=1e-6)


def test_a_skewed_target_is_learned_better_on_its_logarithm():
    learn, test = slice(80), slice(80, None)  # prices are the exponential of a linear function
    for machine in (Ridge(1e-6), SVR("linear", C=np.std(PRICES), epsilon=0.01 * np.std(PRICES))):
        plain, log = (
            TargetRegressor(machine, t).fit(X[learn], PRICES[learn]) for t in ("none", "log")
        )
        wrong = {
            m.target_transform: np.median(np.abs(m.predict(X[test]) / PRICES[test] - 1))
            for m in (plain, log)
        }
        assert wrong["log"] < 0.5 * wrong["none"]


@pytest.mark.parametrize("y", [np.zeros(120), np.ones(120), np.arange(120) % 2 * 3.0])
def test_constant_targets_and_zeros_have_a_logarithm(y):
    model = TargetRegressor(Ridge(), "log").fit(X, y)
    answers = model.predict(10 * X)
    assert np.isfinite(answers).all()
    assert y.min() <= answers.min() <= answers.max() <= y.max()


def test_no_answer_is_infinite():
    model = TargetRegressor(Ridge(1e-9), "log", extrapolate=True).fit(X, PRICES)
    assert np.isfinite(model.predict(1e6 * X)).all()


def test_a_logarithm_needs_targets_that_have_one():
    with pytest.raises(ValueError, match="needs targets ≥ 0; the smallest is -1"):
        TargetRegressor(Ridge(), "log").fit(X[:2], [-1.0, 1.0])
    with pytest.raises(ValueError, match="'none' or 'log'; got 'sqrt'"):
        TargetRegressor(Ridge(), "sqrt").fit(X[:2], [-1.0, 1.0])


# ---------------------------------------------------------------- as parts of a model
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (ThresholdClassifier(LogisticRegression(), 0.2, "ill"), RARE),
        (TargetRegressor(KernelRidge(lam=0.1), "log"), PRICES),
    ],
    ids=["threshold", "target"],
)
def test_a_saved_model_answers_the_same(model, y, tmp_path):
    fitted = clone(model).fit(X, y)
    again = mercer.load(mercer.save(fitted, tmp_path / "m.mercer"))
    np.testing.assert_array_equal(again.predict(3 * X), fitted.predict(3 * X))
    assert innermost(again).certificate_.ok


def test_a_threshold_around_a_fitted_model_is_saved_once(tmp_path):
    inner = LogisticRegression().fit(X, RARE)
    model = ThresholdClassifier.around(inner, 0.2, "ill")
    again = mercer.load(mercer.save(model, tmp_path / "m.mercer"))
    assert again.estimator is again.estimator_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
