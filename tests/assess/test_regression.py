"""Errors of numbers: scikit-learn's, by hand, at any scale; the gap between two samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mercer import KNN, SVC
from mercer.assess import (
    ClassificationEvaluation,
    RegressionEvaluation,
    evaluate,
    generalization_gap,
)
from mercer.assess.regression import weighted_median
from tests.cases import table

X = table(90, 3)
Y = X[:, 0] + 0.3 * table(90, 1, seed=4)[:, 0]


# ---------------------------------------------------------------- errors
@given(st.integers(2, 50), st.integers(0, 2**32 - 1), st.booleans())
def test_errors_are_those_of_scikit_learn(n, seed, weighted):
    rng = np.random.default_rng(seed)
    y, p = rng.normal(size=n), rng.normal(size=n)
    weight = rng.random(n) + 0.1 if weighted else None
    found = evaluate(y, p, sample_weight=weight)
    given = {"sample_weight": weight}
    assert found.r2 == pytest.approx(metrics.r2_score(y, p, **given))
    assert found.rmse == pytest.approx(metrics.root_mean_squared_error(y, p, **given))
    assert found.mae == pytest.approx(metrics.mean_absolute_error(y, p, **given))
    assert found.max_error == metrics.max_error(y, p)


def test_errors_by_hand():
    found = evaluate([1.0, 2.0, 3.0, 4.5], [1.0, 2.0, 4.0, 2.5])
    assert found.residuals.tolist() == [0.0, 0.0, -1.0, 2.0]
    assert found.rmse == pytest.approx(np.sqrt(5 / 4))
    assert (found.mae, found.max_error) == (0.75, 2.0)
    assert found.r2 == pytest.approx(1 - 5 / np.var([1, 2, 3, 4.5]) / 4)
    assert found.residual_quantiles[0.0] == -1.0
    assert found.residual_quantiles[0.5] == 0.0
    assert found.residual_quantiles[1.0] == 2.0


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_quantiles_leave_their_share_below(n, seed):
    rng = np.random.default_rng(seed)
    y, weight = np.round(rng.normal(size=n), 1) + 0.05, rng.integers(1, 4, n)
    found = evaluate(y, np.zeros(n), sample_weight=weight)
    copies = np.repeat(found.residuals, weight)
    for share, value in found.residual_quantiles.items():
        assert np.mean(copies <= value) >= share - 1e-9
        assert np.mean(copies < value) <= share + 1e-9


@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1e150, 1e200])
def test_the_unit_does_not_matter(scale):
    p = Y + 0.1 * np.cos(np.arange(90))
    one, other = evaluate(Y, p), evaluate(scale * Y, scale * p)
    assert other.r2 == pytest.approx(one.r2)
    assert other.rmse == pytest.approx(scale * one.rmse)
    assert other.mae == pytest.approx(scale * one.mae)
    assert other.interval("r2") == pytest.approx(one.interval("r2"))


@pytest.mark.parametrize("value", [0.1, 1e-30, 7.3e9])
def test_constant_targets_have_no_r2(value):
    found = evaluate(np.full(7, value), np.full(7, value) + np.arange(7) / 10)
    assert np.isnan(found.r2)
    assert found.notes[-1] == "r2 is undefined: y is constant"
    assert "r2              0/0" in str(found)


def test_intervals_are_those_of_drawn_rows():
    p, rng = Y + 0.5 * np.sin(5 * Y), np.random.default_rng(3)
    found = evaluate(Y, p, n_bootstrap=4000)
    rows = rng.integers(90, size=(2000, 90))
    slow = {
        "r2": np.array([metrics.r2_score(Y[i], p[i]) for i in rows]),
        "rmse": np.sqrt(((Y - p)[rows] ** 2).mean(axis=1)),
        "mae": np.abs((Y - p)[rows]).mean(axis=1),
    }
    for name, values in slow.items():
        np.testing.assert_allclose(
            found.interval(name), np.quantile(values, [0.025, 0.975]), atol=0.2 * values.std()
        )
    with pytest.raises(ValueError, match="there is no interval of 'max_error'"):
        found.interval("max_error")
    with pytest.raises(ValueError, match="n_bootstrap is 0"):
        evaluate(Y, p, n_bootstrap=0).interval("mae")


# ---------------------------------------------------------------- which of the two
def test_the_kind_of_target_decides():
    assert isinstance(evaluate([1.5, 2.0], [1.0, 2.0]), RegressionEvaluation)
    assert isinstance(evaluate([1.0, 2.0], [1.5, 2.0]), RegressionEvaluation)
    assert isinstance(evaluate([1.0, 2.0], [1.0, 2.0]), ClassificationEvaluation)
    assert isinstance(evaluate([1, 2], [1, 2]), ClassificationEvaluation)
    assert isinstance(evaluate(["a"], ["a"]), ClassificationEvaluation)
    assert isinstance(evaluate([0.5, 1.5], [0.5, 0.5], labels=[0.5, 1.5]), ClassificationEvaluation)


def test_probabilities_in_the_place_of_predictions_are_pointed_out():
    found = evaluate([0, 1, 1], [0.2, 0.7, 0.9])
    assert isinstance(found, RegressionEvaluation)
    assert "probabilities go to scores" in str(found)


def test_columns_are_evaluated_one_by_one():
    with pytest.raises(ValueError, match="evaluate several targets one by one"):
        evaluate(X, X)
    assert evaluate(X[:, :1], X[:, 1]).n_rows == 90


def test_a_difference_that_overflows_is_an_error():
    with pytest.raises(ValueError, match="overflows"):
        evaluate([1.5e308, 0.5], [-1.5e308, 0.0])


def test_the_residuals_are_the_targets_less_the_predictions():
    found = evaluate(Y, X[:, 0])
    np.testing.assert_array_equal(found.y - found.prediction, found.residuals)
    np.testing.assert_array_equal(found.prediction, X[:, 0])


def test_the_table_of_numbers():
    found = evaluate(Y, X[:, 0])
    assert str(found).splitlines()[0] == "evaluation: 90 rows, numbers"
    assert "max error" in str(found)
    assert "<td>" in found._repr_html_()


# ---------------------------------------------------------------- the gap
def test_the_gap_of_a_classifier_is_that_of_its_error_rates():
    rows, y = load_iris(return_X_y=True)
    model = KNN(1).fit(rows[::2], y[::2])
    found = generalization_gap(model, rows[::2], y[::2], rows[1::2], y[1::2])
    assert found.loss == "zero-one"
    assert found.train_error == 1 - model.score(rows[::2], y[::2])
    assert found.test_error == pytest.approx(1 - model.score(rows[1::2], y[1::2]))
    assert found.gap == found.test_error - found.train_error > 0
    low, high = found.interval()
    assert low <= found.gap <= high
    assert found.test.auc is not None


def test_the_gap_of_a_regressor_is_that_of_its_squared_errors():
    model = DecisionTreeRegressor(random_state=0).fit(X[:45], Y[:45])
    found = generalization_gap(model, X[:45], Y[:45], X[45:], Y[45:])
    assert found.loss == "squared"
    assert found.train_error == pytest.approx(0.0)
    wanted = metrics.mean_squared_error(Y[45:], model.predict(X[45:]))
    assert found.gap == pytest.approx(wanted)
    low, high = found.interval()
    assert 0 < low < found.gap < high
    straight = LinearRegression().fit(X[:45], Y[:45])
    assert generalization_gap(straight, X[:45], Y[:45], X[45:], Y[45:]).gap < found.gap
    assert "squared loss, 45 and 45 rows" in str(found)
    assert "gap" in found._repr_html_()


def test_regressors_of_whole_numbers_are_regressors():
    y = np.round(10 * Y)
    model = DecisionTreeRegressor(random_state=0).fit(X, y)
    assert generalization_gap(model, X, y, X, y).gap == 0.0


def test_labels_that_the_model_does_not_know_count_as_errors():
    model = DecisionTreeClassifier(random_state=0).fit(X[:45], np.where(Y[:45] > 0, "b", "a"))
    found = generalization_gap(model, X[:45], np.where(Y[:45] > 0, "b", "a"), X[45:], ["c"] * 45)
    assert found.test_error == 1.0
    assert found.test.labels.tolist() == ["a", "b", "c"]


def test_scores_of_a_margin_machine_are_ranked():
    model = SVC("rbf").fit(X[:60], Y[:60] > 0)
    found = generalization_gap(model, X[:60], Y[:60] > 0, X[60:], Y[60:] > 0, n_bootstrap=0)
    wanted = metrics.roc_auc_score(Y[60:] > 0, model.decision_function(X[60:]))
    assert found.test.auc == pytest.approx(wanted)
    assert "…" not in str(found)


def test_a_model_that_is_not_fitted_is_an_error():
    with pytest.raises(NotFittedError):
        generalization_gap(KNN(), X, Y > 0, X, Y > 0)


def test_rows_and_targets_must_match():
    model = LinearRegression().fit(X, Y)
    with pytest.raises(ValueError, match="X and y must have the same rows; got 90 and 80"):
        generalization_gap(model, X, Y, X, Y[:80])


# ---------------------------------------------------------------- relative and median errors
def test_relative_and_median_errors_are_those_of_scikit_learn():
    rng = np.random.default_rng(4)
    y = rng.lognormal(3.0, 1.0, 101)
    prediction = y * rng.lognormal(0.0, 0.3, 101)
    weight = rng.uniform(0.5, 2.0, 101)
    found = evaluate(y, prediction, sample_weight=weight)
    weights = {"sample_weight": weight}
    wanted = metrics.mean_absolute_percentage_error(y, prediction, **weights)
    assert found.mape == pytest.approx(wanted)
    wanted = metrics.root_mean_squared_log_error(y, prediction, **weights)
    assert found.rmsle == pytest.approx(wanted)
    assert evaluate(y, prediction).median_error == pytest.approx(
        metrics.median_absolute_error(y, prediction)
    )
    assert evaluate(y, prediction).relative_error == pytest.approx(
        metrics.mean_absolute_error(y, prediction) / np.median(y)
    )


@given(
    arrays(float, st.integers(1, 12), elements=st.floats(-5, 5)),
    st.data(),
)
def test_whole_weights_of_a_median_are_repeated_rows(values, data):
    counts = data.draw(arrays(int, len(values), elements=st.integers(0, 4)))
    counts[0] += 1
    found = weighted_median(values, counts[None].astype(float))[0]
    assert found == pytest.approx(np.median(np.repeat(values, counts)))


def test_targets_that_are_not_positive_have_no_relative_errors():
    found = evaluate([-1.5, 0.0, 2.5], [0.0, 0.5, 2.0])
    assert found.mape is None
    assert found.rmsle is None
    assert found.relative_error == pytest.approx((1.5 + 0.5 + 0.5) / 3 / 1.5)
    assert evaluate([0.0, 0.0, 2.5], [0.0, 0.5, 2.0]).relative_error is None
    with pytest.raises(ValueError, match="no interval of 'mape'"):
        found.interval("mape")


def test_a_prediction_below_zero_counts_as_zero_on_the_log_scale():
    found = evaluate([1.0, 2.5], [-0.7, 2.5])
    assert found.rmsle == pytest.approx(np.log(2.0) / np.sqrt(2))
