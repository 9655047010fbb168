"""Rare classes: precision and recall over thresholds, against scikit-learn's numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics

from mercer.assess import PrecisionRecall, Thresholds, evaluate
from mercer.assess.evaluate import of_positive

SHARES = np.linspace(-0.1, 1.1, 25)


def rare(n=400, share=0.05, seed=0):
    """Return labels of which few are "fraud", and probabilities that see some of it, with ties."""
    rng = np.random.default_rng(seed)
    fraud = rng.random(n) < share
    odds = rng.normal(size=n) + 2.5 * fraud - 3.0
    return np.where(fraud, "fraud", "fine"), np.round(1 / (1 + np.exp(-odds)), 2)


def rows_and_scores(least=1):
    """Draw rows, some of them positive, and scores with ties."""
    sizes = st.integers(least, 30)
    return sizes.flatmap(
        lambda n: st.tuples(
            arrays(bool, n),
            arrays(float, n, elements=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])),
        )
    )


# ---------------------------------------------------------------- against scikit-learn
def test_average_precision_and_log_loss_are_those_of_scikit_learn():
    y, p = rare()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    found = evaluate(
        y, np.where(p > 0.5, "fraud", "fine"), p, positive="fraud", sample_weight=weight
    )
    positive = y == "fraud"
    wanted = metrics.average_precision_score(positive, p, sample_weight=weight)
    assert found.average_precision == pytest.approx(wanted)
    assert found.precision_recall.average == pytest.approx(wanted)
    assert found.log_loss == pytest.approx(metrics.log_loss(positive, p, sample_weight=weight))
    assert found.precision_recall.share == pytest.approx(weight[positive].sum() / weight.sum())


def test_a_certain_mistake_costs_what_it_costs_in_scikit_learn():
    y, p = np.array([0, 1, 1]), np.array([0.0, 0.0, 1.0])
    assert evaluate(y, y, p).log_loss == pytest.approx(metrics.log_loss(y, p))


def test_several_classes_have_an_average_precision_each():
    rng = np.random.default_rng(2)
    y = rng.integers(3, size=200)
    P = rng.dirichlet(np.ones(3), 200) * 0.5 + 0.5 * np.eye(3)[y]
    P /= P.sum(axis=1, keepdims=True)
    found = evaluate(y, P.argmax(axis=1), P)
    wanted = metrics.average_precision_score(np.eye(3)[y], P, average=None)
    np.testing.assert_allclose(found.average_precision_by_class, wanted)
    assert found.average_precision == pytest.approx(wanted.mean())
    assert found.log_loss == pytest.approx(metrics.log_loss(y, P))
    assert [curve.average for curve in found.precision_recall] == pytest.approx(wanted.tolist())


@given(rows_and_scores())
def test_the_curve_is_that_of_scikit_learn(drawn):
    positive, score = drawn
    curve = PrecisionRecall.of(score, positive)
    if not positive.any():
        assert np.isnan(curve.recall).all()
        return
    precision, recall, thresholds = metrics.precision_recall_curve(positive, score)
    np.testing.assert_allclose(curve.precision, precision[-2::-1])
    np.testing.assert_allclose(curve.recall, recall[-2::-1])
    np.testing.assert_array_equal(curve.thresholds, thresholds[::-1])
    wanted = metrics.average_precision_score(positive, score)
    assert curve.average == pytest.approx(wanted)


# ---------------------------------------------------------------- thresholds
@given(rows_and_scores())
def test_recall_and_flagged_rows_fall_as_the_threshold_rises(drawn):
    positive, score = drawn
    found = Thresholds.of(score, positive, SHARES)
    assert (np.diff(found.flagged) <= 0).all()
    assert found.flagged[0] == 1.0
    assert found.flagged[-1] == 0.0
    assert np.isnan(found.precision[-1])  # of nothing
    if positive.any():
        assert (np.diff(found.recall) <= 0).all()
        assert found.precision[0] == pytest.approx(positive.mean())


@given(rows_and_scores(least=2))
def test_a_threshold_is_a_rule_with_these_rates(drawn):
    positive, score = drawn
    found = Thresholds.of(score, positive, SHARES)
    for i, threshold in enumerate(SHARES):
        said = score >= threshold
        wanted = metrics.f1_score(positive, said, zero_division=np.nan)
        np.testing.assert_allclose(found.f1[i], wanted)
        if said.any():
            np.testing.assert_allclose(found.precision[i], positive[said].mean())
        assert found.flagged[i] == pytest.approx(said.mean())


def test_an_evaluation_tries_thresholds_on_its_rows():
    y, p = rare()
    found = evaluate(y, np.where(p >= 0.3, "fraud", "fine"), p, positive="fraud")
    tried = found.thresholds([0.3])
    assert (tried.precision[0], tried.recall[0]) == pytest.approx((found.ppv, found.tpr))
    assert tried.f1[0] == pytest.approx(found.f1[found.labels == "fraud"][0])


def test_thresholds_need_scores_and_a_positive_class():
    with pytest.raises(ValueError, match="need scores and a positive class"):
        evaluate([0, 1], [0, 1]).thresholds([0.5])


# ---------------------------------------------------------------- intervals
@pytest.mark.parametrize("name", ["average_precision", "log_loss"])
def test_intervals_are_of_rows_drawn_again_within_classes(name):
    y, p = rare(150, 0.2)
    found = evaluate(y, y, p, positive="fraud", n_bootstrap=40)
    score = {"average_precision": metrics.average_precision_score, "log_loss": metrics.log_loss}
    draws = found.draws(name)
    assert draws.shape == (40,)
    low, high = found.interval(name)
    assert low < getattr(found, name) < high
    rng, wanted = np.random.default_rng(5), []
    sides = [np.flatnonzero(y == label) for label in ("fraud", "fine")]
    for _ in range(400):
        rows = np.concatenate([rng.choice(side, len(side)) for side in sides])
        wanted.append(score[name](y[rows] == "fraud", p[rows]))
    assert draws.mean() == pytest.approx(np.mean(wanted), abs=3 * np.std(wanted) / np.sqrt(40))


def test_decision_values_are_turned_to_the_positive_class():
    y, values = np.array(["a", "b", "a", "b"]), np.array([-1.0, 2.0, 0.5, 0.1])  # of "b"
    for positive in ("a", "b"):
        scores = of_positive(values, ["a", "b"], positive)
        found = evaluate(y, y, scores, positive=positive)
        assert found.auc == pytest.approx(metrics.roc_auc_score(y, values))
    assert of_positive(None, ["a", "b"], "a") is None
