"""Displays of an evaluation show what `evaluate` and scikit-learn find."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.exceptions import NotFittedError
from sklearn.metrics import average_precision_score, roc_auc_score

from mercer import SVC, KernelRidge, LogisticRegression
from mercer.assess import evaluate
from mercer.plot import (
    CalibrationDisplay,
    ConfusionDisplay,
    PrecisionRecallDisplay,
    PredictionDisplay,
    RocDisplay,
)
from tests.cases import two_classes
from tests.compare import refuses

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

X, SIGN = two_classes(60)
TEXT = np.where(SIGN > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2, [0.2, 1.0])]
TWO = LogisticRegression().fit(X[::3], TEXT[::3])
MANY = LogisticRegression().fit(X[::3], THREE[::3])
NUMBERS = X[:, 0] + X[:, 1] ** 2
RIDGE = KernelRidge("rbf").fit(X[::3], NUMBERS[::3])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def legend(display):
    return [t.get_text() for t in display.ax_.get_legend().get_texts()]


def labelled(display):
    return [line for line in display.ax_.lines if not line.get_label().startswith("_")]


# ---------------------------------------------------------------- classes
@pytest.mark.parametrize("labels", [TEXT, THREE, SIGN], ids=["two", "three", "numbers"])
def test_roc_curves_are_those_of_evaluate(labels):
    model = LogisticRegression().fit(X[::3], labels[::3])
    display = RocDisplay.from_estimator(model, X, labels)
    result = evaluate(labels, model.predict(X), model.predict_proba(X))
    curves = [result.roc] if hasattr(result.roc, "fpr") else result.roc
    for line, mine, wanted in zip(labelled(display), display.curves.values(), curves, strict=True):
        np.testing.assert_allclose(mine.fpr, wanted.fpr)
        np.testing.assert_allclose(mine.tpr, wanted.tpr)
        np.testing.assert_array_equal(line.get_xdata(), mine.fpr)
        np.testing.assert_array_equal(line.get_ydata(), mine.tpr)
    np.testing.assert_allclose(np.mean(list(display.areas.values())), result.auc)
    same = RocDisplay.from_evaluation(result)
    assert legend(same) == legend(display)


def test_roc_takes_decision_values_where_there_are_no_probabilities():
    model = SVC("rbf").fit(X[::3], TEXT[::3])
    display = RocDisplay.from_estimator(model, X, TEXT)
    (area,) = display.areas.values()
    assert area == pytest.approx(roc_auc_score(TEXT == "yes", model.decision_function(X)))


def test_the_positive_class_can_be_chosen():
    area = RocDisplay.from_estimator(TWO, X, TEXT).areas["yes"]
    other = RocDisplay.from_estimator(TWO, X, TEXT, positive="no")
    assert other.areas == {"no": pytest.approx(area)}  # the ranking turned round
    one = RocDisplay.from_estimator(MANY, X, THREE, positive="b")
    assert list(one.curves) == ["b"]


def test_several_models_share_axes_and_have_their_own_colours():
    first = RocDisplay.from_estimator(TWO, X, TEXT, name="logistic")
    other = SVC("rbf").fit(X, TEXT)
    second = RocDisplay.from_estimator(other, X, TEXT, name="margin", ax=first.ax_)
    lines = labelled(second)
    assert len({line.get_color() for line in lines}) == len(lines) == 2
    assert [text.split(",")[0] for text in legend(second)] == ["logistic", "margin"]


def test_a_class_without_rows_has_no_curve_but_a_word():
    display = RocDisplay.from_predictions(["a", "b", "a"], np.eye(3), labels=["a", "b", "c"])
    assert np.isnan(display.areas["c"])
    assert legend(display)[2] == "c, one class only"


def test_the_confusion_matrix_counts():
    predicted = MANY.predict(X)
    display = ConfusionDisplay.from_estimator(MANY, X, THREE)
    for i, truth in enumerate("abc"):
        for j, taken in enumerate("abc"):
            assert display.matrix[i, j] == np.sum((truth == THREE) & (taken == predicted))
    written = [int(t.get_text()) for t in display.ax_.texts]
    assert written == display.matrix.ravel().tolist()
    same = ConfusionDisplay.from_evaluation(evaluate(THREE, predicted))
    np.testing.assert_array_equal(same.matrix, display.matrix)
    turned = ConfusionDisplay.from_predictions(THREE, predicted, labels=["c", "b", "a"])
    np.testing.assert_array_equal(turned.matrix, display.matrix[::-1, ::-1])


def test_long_names_at_the_axis_are_tilted():
    names = np.array(["a long name of a class", "another long name of one"])
    display = ConfusionDisplay.from_predictions(names[[0, 1, 1]], names[[0, 0, 1]])
    assert all(t.get_rotation() > 0 for t in display.ax_.get_xticklabels())
    short = ConfusionDisplay.from_predictions([0, 1], [0, 1])
    assert all(t.get_rotation() == 0 for t in short.ax_.get_xticklabels())


# ---------------------------------------------------------------- calibration
@pytest.mark.parametrize(("model", "labels"), [(TWO, TEXT), (MANY, THREE)], ids=["two", "three"])
def test_calibration_is_that_of_evaluate(model, labels):
    display = CalibrationDisplay.from_estimator(model, X, labels)
    wanted = evaluate(labels, model.predict(X), model.predict_proba(X)).calibration
    ((text, bins),) = display.bins.items()
    assert text == ("yes" if model is TWO else "predicted class")
    for mine, theirs in zip(bins, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs)
    (line,) = [line for line in display.ax_.lines if line.get_label() == "observed"]
    np.testing.assert_array_equal(line.get_ydata(), bins.observed[bins.weight > 0])
    again = CalibrationDisplay.from_evaluation(evaluate(labels, labels, model.predict_proba(X)))
    assert list(again.bins) == [text]


@given(st.integers(1, 12), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_bins_are_those_of_scikit_learn(n_bins, seed):
    rng = np.random.default_rng(seed)
    said = rng.random(30)
    y = rng.random(30) < said
    if y.all() or not y.any():
        return
    (bins,) = CalibrationDisplay.from_predictions(
        y, said, n_bins=n_bins, ax=matplotlib.figure.Figure().subplots()
    ).bins.values()
    used = bins.weight > 0
    observed, predicted = calibration_curve(y, said, n_bins=n_bins)
    np.testing.assert_allclose(bins.observed[used], observed)
    np.testing.assert_allclose(bins.predicted[used], predicted)
    assert bins.weight.sum() == 30
    assert np.isnan(bins.observed[~used]).all()


def test_each_class_may_have_its_curve():
    display = CalibrationDisplay.from_estimator(MANY, X, THREE, by_class=True, n_bins=4)
    said = MANY.predict_proba(X)
    for i, (label, line) in enumerate(zip("abc", labelled(display), strict=True)):
        observed, predicted = calibration_curve(label == THREE, said[:, i], n_bins=4)
        np.testing.assert_allclose(line.get_xdata(), predicted)
        np.testing.assert_allclose(line.get_ydata(), observed)
    assert list(display.bins) == legend(display) == ["a", "b", "c"]


# ---------------------------------------------------------------- numbers
def test_predicted_numbers_stand_against_the_truth():
    display = PredictionDisplay.from_estimator(RIDGE, X, NUMBERS)
    dots = display.ax_.lines[-1]
    np.testing.assert_array_equal(dots.get_xdata(), RIDGE.predict(X))
    np.testing.assert_array_equal(dots.get_ydata(), NUMBERS)
    rest = PredictionDisplay.from_estimator(RIDGE, X, NUMBERS, kind="residual_vs_predicted")
    np.testing.assert_array_equal(rest.ax_.lines[-1].get_ydata(), NUMBERS - RIDGE.predict(X))


# ---------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: RocDisplay.from_estimator(SVC(), X, TEXT), NotFittedError, "SVC"),
        (lambda: RocDisplay.from_estimator(RIDGE, X, TEXT), TypeError, "must be a classifier"),
        (lambda: RocDisplay.from_estimator(TWO, X, TEXT[:5]), ValueError, "scores must be finite"),
        (lambda: RocDisplay.from_predictions([1, 1], [0.1, 0.2]), ValueError, "two classes or"),
        (lambda: RocDisplay.from_predictions(THREE, X), ValueError, r"shape \(60, 3\) for 3"),
        (
            lambda: RocDisplay.from_estimator(TWO, X, TEXT, positive="maybe"),
            ValueError,
            r"one of \['no', 'yes'\]; got 'maybe'",
        ),
        (lambda: RocDisplay.from_evaluation(evaluate(TEXT, TEXT)), ValueError, "with scores"),
        (lambda: ConfusionDisplay.from_estimator(RIDGE, X, TEXT), TypeError, "be a classifier"),
        (
            lambda: ConfusionDisplay.from_predictions(TEXT, TEXT, labels=["yes"]),
            ValueError,
            r"y holds 'no', which is none of the classes \['yes'\]",
        ),
        (lambda: ConfusionDisplay.from_predictions(TEXT, TEXT[:3]), ValueError, "60 entries"),
        (lambda: ConfusionDisplay.from_evaluation(3), TypeError, "of classes; got int"),
        (
            lambda: CalibrationDisplay.from_estimator(SVC().fit(X, TEXT), X, TEXT),
            TypeError,
            "must have predict_proba",
        ),
        (
            lambda: CalibrationDisplay.from_predictions(TEXT, NUMBERS),
            ValueError,
            r"must lie in \[0, 1\]",
        ),
        (
            lambda: CalibrationDisplay.from_predictions([0, 1], [0.1, 0.2], n_bins=0),
            ValueError,
            "n_bins must be an integer ≥ 1; got 0",
        ),
        (
            lambda: CalibrationDisplay.from_evaluation(evaluate(TEXT, TEXT, NUMBERS)),
            ValueError,
            "with probabilities",
        ),
        (lambda: PredictionDisplay.from_estimator(TWO, X, TEXT), TypeError, "be a regressor"),
        (lambda: PredictionDisplay.from_predictions(TEXT, TEXT), ValueError, "finite numbers"),
        (
            lambda: PredictionDisplay.from_predictions([1.0], [1.0], kind="both"),
            ValueError,
            "kind must be one of .*; got 'both'",
        ),
    ],
)
def test_bad_input_is_explained(call, error, match):
    refuses(call, error, match)


def test_precision_and_recall_are_drawn_with_what_a_guess_reaches():
    display = PrecisionRecallDisplay.from_estimator(TWO, X, TEXT, positive="no")
    (curve,) = display.curves.values()
    scores = TWO.predict_proba(X)[:, 0]  # of "no"
    assert curve.average == pytest.approx(average_precision_score(np.equal(TEXT, "no"), scores))
    drawn, guess = display.ax_.lines
    np.testing.assert_array_equal(drawn.get_ydata(), curve.precision)
    assert set(guess.get_ydata()) == {np.mean(np.equal(TEXT, "no"))}
    result = evaluate(TEXT, TWO.predict(X), scores, positive="no")
    same = PrecisionRecallDisplay.from_evaluation(result)
    np.testing.assert_array_equal(same.curves["no"].recall, curve.recall)
    with pytest.raises(ValueError, match="with scores"):
        PrecisionRecallDisplay.from_evaluation(evaluate(TEXT, TEXT))
