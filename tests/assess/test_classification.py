"""Rates of classes: tables computed by hand, and scikit-learn's numbers."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from mercer.assess import ClassificationEvaluation, evaluate


def rows_of(confusion, labels):
    """Return truth and prediction with this confusion matrix."""
    cells = [
        (labels[i], labels[j])
        for (i, j), n in np.ndenumerate(np.array(confusion))
        for _ in range(n)
    ]
    return tuple(np.array(side) for side in zip(*cells, strict=True))


def random_rows(n, n_labels, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, n_labels, n), rng.integers(0, n_labels, n), rng


# ---------------------------------------------------------------- by hand
def test_three_classes_by_hand():
    y, p = rows_of([[5, 3, 2], [0, 8, 2], [1, 1, 8]], ["x", "y", "z"])
    found = evaluate(y, p)
    assert found.labels.tolist() == ["x", "y", "z"]
    assert found.confusion.tolist() == [[5, 3, 2], [0, 8, 2], [1, 1, 8]]
    assert found.accuracy == pytest.approx(21 / 30)
    np.testing.assert_allclose(found.recall, [5 / 10, 8 / 10, 8 / 10])
    np.testing.assert_allclose(found.precision, [5 / 6, 8 / 12, 8 / 12])
    np.testing.assert_allclose(found.f1, [10 / 16, 16 / 22, 16 / 22])
    assert found.uar == pytest.approx((0.5 + 0.8 + 0.8) / 3)
    assert found.macro_precision == pytest.approx((5 / 6 + 2 / 3 + 2 / 3) / 3)
    assert found.macro_f1 == pytest.approx((10 / 16 + 32 / 22) / 3)
    np.testing.assert_allclose(found.fpr, [1 / 20, 4 / 20, 4 / 20])  # each against the rest
    np.testing.assert_allclose(found.npv, [19 / 24, 16 / 18, 16 / 18])
    assert found.positive is None
    assert found.n_rows == 30


def test_two_classes_by_hand():
    """TP 40, FN 10, FP 5, TN 45."""
    y, p = rows_of([[45, 5], [10, 40]], ["healthy", "ill"])
    found = evaluate(y, p)
    assert found.positive == "ill"
    wanted = {
        "accuracy": 85 / 100,
        "tpr": 40 / 50,
        "fnr": 10 / 50,
        "fpr": 5 / 50,
        "tnr": 45 / 50,
        "ppv": 40 / 45,
        "fdr": 5 / 45,
        "npv": 45 / 55,
        "fomr": 10 / 55,
        "mcc": (40 * 45 - 5 * 10) / np.sqrt(45 * 50 * 50 * 55),
    }
    for name, value in wanted.items():
        assert getattr(found, name) == pytest.approx(value), name
    other = evaluate(y, p, positive="healthy")
    assert (other.tpr, other.fpr, other.ppv) == pytest.approx((45 / 50, 10 / 50, 45 / 55))


def test_naming_one_of_three_classes_sets_it_against_the_rest():
    y, p = rows_of([[5, 3, 2], [0, 8, 2], [1, 1, 8]], ["x", "y", "z"])
    found = evaluate(y, p, positive="x")
    alone = evaluate(y == "x", p == "x")
    for name in ("tpr", "fpr", "tnr", "fnr", "ppv", "npv", "fdr", "fomr"):
        assert getattr(found, name) == getattr(alone, name)
    assert found.accuracy == pytest.approx(0.7)  # of all classes still


def test_a_roc_curve_by_hand():
    #   score     4  3  3  2  1
    #   positive  1  1  0  0  1
    found = evaluate([1, 1, 0, 0, 1], [1, 1, 1, 0, 0], scores=[4.0, 3.0, 3.0, 2.0, 1.0])
    np.testing.assert_allclose(found.roc.thresholds, [np.inf, 4, 3, 2, 1])
    np.testing.assert_allclose(found.roc.tpr, [0, 1 / 3, 2 / 3, 2 / 3, 1])
    np.testing.assert_allclose(found.roc.fpr, [0, 0, 1 / 2, 1, 1])
    # pairs won: 4 beats both, 3 beats one and ties one, 1 beats none
    assert found.auc == pytest.approx((2 + 1.5 + 0) / 6)
    assert found.brier is found.ece is found.calibration is None  # these are no probabilities


def test_calibration_by_hand():
    y, p = [0, 0, 1, 1, 1], [0.05, 0.05, 0.05, 0.95, 0.92]
    found = evaluate(y, np.array(p) > 0.5, scores=p, labels=[0, 1])
    assert found.brier == pytest.approx((2 * 0.05**2 + 0.95**2 + 0.05**2 + 0.08**2) / 5)
    np.testing.assert_allclose(found.calibration.weight, [3, 0, 0, 0, 0, 0, 0, 0, 0, 2])
    assert found.calibration.predicted[[0, 9]] == pytest.approx([0.05, 0.935])
    assert found.calibration.observed[[0, 9]] == pytest.approx([1 / 3, 1.0])
    assert np.isnan(found.calibration.observed[1:9]).all()
    assert found.ece == pytest.approx(3 / 5 * (1 / 3 - 0.05) + 2 / 5 * 0.065)


# ---------------------------------------------------------------- scikit-learn
@given(st.integers(1, 60), st.integers(2, 5), st.integers(0, 2**32 - 1), st.booleans())
def test_rates_are_those_of_scikit_learn(n, n_labels, seed, weighted):
    y, p, rng = random_rows(n, n_labels, seed)
    weight = rng.random(n) + 0.1 if weighted else None
    labels = np.arange(n_labels)
    found = evaluate(y, p, labels=labels, sample_weight=weight)
    given = {"sample_weight": weight}
    wanted = metrics.confusion_matrix(y, p, labels=labels, **given)
    np.testing.assert_allclose(found.confusion, wanted)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(y, p, **given))
    report = metrics.precision_recall_fscore_support(
        y, p, labels=labels, zero_division=np.nan, **given
    )
    for name, values in zip(("precision", "recall", "f1"), report, strict=False):
        np.testing.assert_allclose(getattr(found, name), values, atol=1e-12)
    if not np.isnan(found.mcc):
        assert found.mcc == pytest.approx(metrics.matthews_corrcoef(y, p, **given), abs=1e-9)
    present = np.unique(y)
    recalls = metrics.recall_score(y, p, labels=present, average="macro", **given)
    assert found.uar == pytest.approx(recalls)


@given(st.integers(4, 80), st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_curves_are_those_of_scikit_learn(n, seed, ties, weighted):
    y, _, rng = random_rows(n, 2, seed)
    y[:2] = [0, 1]
    scores = rng.integers(0, 6, n) / 5 if ties else rng.random(n)
    weight = rng.random(n) + 0.1 if weighted else None
    found = evaluate(y, scores > 0.5, scores, labels=[0, 1], sample_weight=weight)
    curve = metrics.roc_curve(y, scores, sample_weight=weight, drop_intermediate=False)
    for got, wanted in zip(found.roc, curve, strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-12)
    auc = metrics.roc_auc_score(y, scores, sample_weight=weight)
    assert found.auc == pytest.approx(auc, abs=1e-12)
    assert np.trapezoid(found.roc.tpr, found.roc.fpr) == pytest.approx(auc, abs=1e-12)
    brier = metrics.brier_score_loss(y, scores, sample_weight=weight)
    assert found.brier == pytest.approx(brier)


def test_several_classes_are_ranked_one_against_the_rest():
    rng = np.random.default_rng(0)
    y, P = rng.integers(0, 4, 200), rng.dirichlet(np.ones(4), 200)
    P[np.arange(200), y] += 0.3
    P /= P.sum(axis=1, keepdims=True)
    found = evaluate(y, P.argmax(axis=1), P)
    assert found.auc == pytest.approx(metrics.roc_auc_score(y, P, multi_class="ovr"))
    for k in range(4):
        assert found.auc_by_class[k] == pytest.approx(metrics.roc_auc_score(y == k, P[:, k]))
        assert np.trapezoid(found.roc[k].tpr, found.roc[k].fpr) == pytest.approx(
            found.auc_by_class[k]
        )
    assert found.brier == pytest.approx(metrics.brier_score_loss(y, P))
    assert found.calibration.weight.sum() == 200


def test_a_probability_for_each_of_two_classes_is_one_for_the_positive():
    y, p = np.array([0, 1, 1, 0, 1]), np.array([0.2, 0.7, 0.4, 0.6, 0.9])
    one = evaluate(y, p > 0.5, p, labels=[0, 1])
    both = evaluate(y, p > 0.5, np.column_stack([1 - p, p]), labels=[0, 1])
    assert (one.auc, one.brier, one.ece) == (both.auc, both.brier, both.ece)
    other = evaluate(y, p > 0.5, np.column_stack([1 - p, p]), labels=[0, 1], positive=0)
    assert (other.auc, other.brier) == pytest.approx((one.auc, one.brier))


# ---------------------------------------------------------------- mathematics
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 5))
def test_the_roc_does_not_depend_on_the_priors(seed, more_positives, more_negatives):
    """Repeating one class changes accuracy and precision, never curve and area."""
    y, _, rng = random_rows(40, 2, seed)
    y[:2] = [0, 1]
    scores = np.round(rng.normal(size=40) + y, 1)
    plain = evaluate(y, scores > 0.5, scores, labels=[0, 1])
    times = np.where(y == 1, more_positives, more_negatives)
    again = evaluate(*(np.repeat(v, times) for v in (y, scores > 0.5, scores)), labels=[0, 1])
    weighted = evaluate(y, scores > 0.5, scores, labels=[0, 1], sample_weight=times)
    for other in (again, weighted):
        assert other.auc == pytest.approx(plain.auc)
        assert other.tpr == pytest.approx(plain.tpr)
        assert other.uar == pytest.approx(plain.uar)
        np.testing.assert_allclose(other.roc.tpr, plain.roc.tpr)
        np.testing.assert_allclose(other.roc.fpr, plain.roc.fpr)


@given(st.integers(0, 2**32 - 1))
def test_complements_add_up_to_one_and_order_does_not_matter(seed):
    y, p, _ = random_rows(30, 3, seed)
    found = evaluate(y, p, labels=[0, 1, 2])
    for one, other in (("tpr", "fnr"), ("tnr", "fpr"), ("ppv", "fdr"), ("npv", "fomr")):
        total = getattr(found, one) + getattr(found, other)
        np.testing.assert_allclose(total[~np.isnan(total)], 1.0)
    turned = evaluate(y, p, labels=[2, 0, 1])
    np.testing.assert_array_equal(turned.confusion, found.confusion[np.ix_([2, 0, 1], [2, 0, 1])])
    np.testing.assert_array_equal(turned.recall, found.recall[[2, 0, 1]])
    assert (turned.accuracy, turned.mcc) == pytest.approx((found.accuracy, found.mcc), nan_ok=True)


def test_weights_are_repetitions():
    y, p, rng = random_rows(50, 3, 0)
    times, P = rng.integers(1, 4, 50), rng.dirichlet(np.ones(3), 50)
    weighted = evaluate(y, p, P, sample_weight=times)
    repeated = evaluate(*(np.repeat(v, times, axis=0) for v in (y, p, P)))
    for name in ("accuracy", "uar", "macro_f1", "mcc", "auc", "brier", "ece"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name)), name


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_the_unit_of_weights_does_not_matter(unit):
    y, p, rng = random_rows(50, 2, 0)
    weight, scores = rng.random(50), rng.random(50)
    one, other = (evaluate(y, p, scores, sample_weight=u * weight) for u in (1.0, unit))
    for name in ("accuracy", "uar", "tpr", "mcc", "auc", "brier", "ece"):
        assert getattr(other, name) == pytest.approx(getattr(one, name)), name
        assert other.interval(name) == pytest.approx(one.interval(name)), name
    np.testing.assert_allclose(other.confusion, unit * one.confusion)


def test_scores_matter_by_their_order_only():
    y, _, rng = random_rows(60, 2, 3)
    scores = rng.normal(size=60)
    one, other = (evaluate(y, y, s).auc for s in (scores, np.exp(5 * scores) - 7))
    assert one == other
    assert evaluate(y, y, -scores).auc == pytest.approx(1 - one)


# ---------------------------------------------------------------- what is undefined
def test_what_is_zero_by_zero_is_nan_and_said():
    found = evaluate(["a", "a", "b"], ["a", "a", "a"], labels=["a", "b", "c"])
    np.testing.assert_allclose(found.recall, [1.0, 0.0, np.nan])
    np.testing.assert_allclose(found.precision, [2 / 3, np.nan, np.nan])
    np.testing.assert_allclose(found.f1, [0.8, 0.0, np.nan])
    assert found.uar == 0.5
    assert found.macro_precision == pytest.approx(2 / 3)
    assert np.isnan(found.mcc)
    told = "\n".join(found.notes)
    assert "the recall of c is 0/0: no row is of this class" in told
    assert "the precision of b is 0/0: no row was taken for it" in told
    assert "mcc is 0/0" in told
    assert "recall 1 precision 0.6667 f1 0.8" in str(found)
    assert "precision 0/0" in str(found)


def test_one_class_alone_has_no_curve():
    found = evaluate([1, 1, 1], [1, 0, 1], scores=[0.9, 0.2, 0.8])
    assert np.isnan(found.auc)
    assert np.isnan(found.fpr)
    assert found.tpr == pytest.approx(2 / 3)
    assert any("an auc is 0/0" in note for note in found.notes)
    assert np.isnan(found.interval("auc")).all()
    single = evaluate(["a"], ["a"])
    assert (single.accuracy, single.uar, single.positive) == (1.0, 1.0, "a")
    assert "0/0" in str(single)


def test_nothing_is_said_where_all_is_defined():
    assert evaluate([0, 1, 2, 0], [0, 1, 2, 1]).notes == ()


# ---------------------------------------------------------------- forms
@pytest.mark.parametrize("frame", [pd.Series, pl.Series, list, np.asarray])
def test_columns_of_all_kinds_are_labels(frame):
    found = evaluate(frame(["no", "yes", "yes"]), frame(["no", "no", "yes"]))
    assert found.confusion.tolist() == [[1, 0], [1, 1]]
    assert evaluate(frame([True, False]), frame([1, 0])).accuracy == 1.0


def test_an_evaluation_cannot_be_changed():
    found = evaluate([0, 1], [0, 1])
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.accuracy = 1.0
    for array in (found.confusion, found.recall, found.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    again = pickle.loads(pickle.dumps(found))
    assert again.interval("accuracy") == found.interval("accuracy")


def test_it_prints_as_a_table():
    found = evaluate(["<a>", "b", "b"], ["<a>", "b", "<a>"], scores=[0.2, 0.9, 0.4])
    assert isinstance(found, ClassificationEvaluation)
    lines = str(found).splitlines()
    assert lines[0] == "evaluation: 3 rows, 2 classes"
    assert lines[1].split()[:2] == ["accuracy", "0.6667"]
    assert "class b" in str(found)
    html = found._repr_html_()
    assert "<table>" in html
    assert "&lt;a&gt;" in html
    assert "<a>" not in html


def test_many_classes_are_not_all_printed():
    y = np.arange(100)
    assert len(str(evaluate(y, y)).splitlines()) < 12


# ---------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 1], [0, 1, 1]), {}, "y and prediction must have one entry for each row; got 2 and 3"),
        (([], []), {}, "got 0 and 0"),
        (([[0, 1], [1, 0]], [0, 1]), {}, r"y must have one entry .* got shape \(2, 2\)"),
        (([0, 1], [0, 2]), {"labels": [0, 1]}, "prediction holds .*2.*, which is not among"),
        (([0, 1], [0, 1]), {"labels": [0, 0, 1]}, "labels must be distinct"),
        (([0, 1], [0, 1]), {"positive": 7}, "positive must be one of the labels"),
        (([0, 1], [0, 1], [0.1, np.nan]), {}, "scores must be finite"),
        (([0, 1], [0, 1], [[0.1], [0.2], [0.3]]), {}, r"scores must be .* \(2,\) or \(2, 1\)"),
        (([0, 1, 2], [0, 1, 2], [0.1, 0.2, 0.3]), {}, r"of shape \(3, 3\) for 3 labels"),
        (([0.0, np.nan], [0, 1]), {}, "y must be finite"),
        (([0, 1], [0, 1]), {"n_bootstrap": -1}, "n_bootstrap must be an integer"),
        (([0, 1], [0, 1]), {"sample_weight": [1.0, -1.0]}, "sample_weight must be"),
        (([0, 1], [0, 1]), {"random_state": "x"}, "seed"),
    ],
)
def test_wrong_arguments_are_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        evaluate(*arguments, **options)


def test_text_and_numbers_are_not_compared():
    with pytest.raises(TypeError, match="labels of one kind"):
        evaluate(["a", "b"], [0, 1])
    with pytest.raises(TypeError, match="labels of one kind, none missing; got NoneType, str"):
        evaluate(["a", None], ["a", "a"])
