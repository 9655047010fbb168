"""How far a model is ahead of a rival: the same rows are drawn for both."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from mercer import SVC, Ridge
from mercer.assess.bootstrap import Resampling
from mercer.report import examine
from mercer.report._budget import FEWEST_ROWS
from mercer.report._scores import (
    FEWEST_DECISIVE,
    estimate_of,
    in_time,
    lead,
    mean_gain,
    score_cards,
)
from mercer.report._subject import ModelAnswers

SEEDS = st.integers(0, 2**31)


def judged(y, prediction, scores=None, draws=400, seed=0):
    labels = None if np.asarray(y).dtype.kind == "f" else np.unique(y)
    return ModelAnswers(y, prediction, scores, labels, draws, seed)


def classes(seed, n=120, k=2):
    """Return labels, and two sets of scores that know something of them."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(k), rng.integers(k, size=n - k))
    return y, *(rng.normal(size=(n, k)) + 1.5 * np.eye(k)[y] for _ in range(2))


def pair(seed, k=2):
    y, one, other = classes(seed, k=k)
    return [judged(y, s.argmax(axis=1), s if k > 2 else s[:, 1] - s[:, 0]) for s in (one, other)]


def numbers(seed, n=100):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return [judged(y, y + size * rng.normal(size=n)) for size in (0.3, 0.5)]


RATES = {
    "accuracy": metrics.accuracy_score,
    "uar": metrics.balanced_accuracy_score,
    "f1": metrics.f1_score,
    "ppv": metrics.precision_score,
    "tpr": metrics.recall_score,
}
ERRORS = {
    "r2": metrics.r2_score,
    "rmse": metrics.root_mean_squared_error,
    "mae": metrics.mean_absolute_error,
    "median_error": metrics.median_absolute_error,
}
AREAS = ("auc", "average_precision")


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
@pytest.mark.parametrize("key", RATES)
def test_the_lead_is_the_difference_of_the_rates_of_scikit_learn(key, seed):
    own, rival = pair(seed)
    found = lead(own, rival, key)
    score = [RATES[key](j.y, j.prediction) for j in (own, rival)]
    assert found.value == pytest.approx(score[0] - score[1])
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize("key", ERRORS)
def test_the_lead_is_the_difference_of_the_errors_of_scikit_learn(key):
    own, rival = numbers(1)
    score = [ERRORS[key](j.y, j.prediction) for j in (own, rival)]
    assert lead(own, rival, key).value == pytest.approx(score[0] - score[1])


@pytest.mark.parametrize("k", [2, 4])
def test_the_lead_of_areas(k):
    own, rival = pair(3, k)
    for key in AREAS:
        one, other = (getattr(side.evaluation, key) for side in (own, rival))
        assert lead(own, rival, key).value == pytest.approx(one - other)


@pytest.mark.parametrize("key", [*RATES, *AREAS, *ERRORS])
def test_the_lead_over_oneself_is_nothing(key):
    own = (numbers(0) if key in ERRORS else pair(0))[0]
    found = lead(own, own, key)
    assert (found.low, found.value, found.high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("key", [*RATES, *AREAS, *ERRORS])
def test_the_lead_of_the_other_is_the_opposite(key):
    own, rival = numbers(0) if key in ERRORS else pair(0)
    there, back = lead(own, rival, key), lead(rival, own, key)
    assert (there.value, there.low, there.high) == pytest.approx(
        (-back.value, -back.high, -back.low)
    )


def test_the_interval_of_accuracy_is_that_of_the_paired_differences():
    """For many rows: the mean of d = right − rival right, ± 1.96 σ(d) / √n, within each class."""
    y, one, other = classes(5, n=4000)
    own, rival = (judged(y, s.argmax(axis=1), draws=2000) for s in (one, other))
    found = lead(own, rival, "accuracy")
    d = rival.wrong.astype(float) - own.wrong
    variance = sum(np.var(d[y == c]) * np.mean(y == c) for c in (0, 1)) / len(y)
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.sqrt(variance), rel=0.1)


@pytest.mark.parametrize("better", [FEWEST_DECISIVE - 1, FEWEST_DECISIVE])
def test_a_few_rows_do_not_decide(better):
    """A coin falls five times on the same side once in sixteen: that is no proof."""
    y = np.repeat([0, 1], 20)
    worse = np.where(np.arange(40) < better, 1 - y, y)
    found = lead(judged(y, y), judged(y, worse), "accuracy")
    assert found.value == pytest.approx(better / 40)
    assert (found.low > 0.0) == (better >= FEWEST_DECISIVE)


def test_without_scores_there_is_no_lead_of_areas():
    y, one, other = classes(0)
    own, rival = judged(y, one.argmax(axis=1)), judged(y, other.argmax(axis=1))
    assert lead(own, rival, "auc") is None


# ---------------------------------------------------------------- rows that belong together
def width(estimate) -> float:
    return estimate.high - estimate.low


def test_intervals_are_of_groups_where_rows_belong_together():
    """Ten copies of each row say no more than one: the interval is that of the rows alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)
    model, copies = SVC().fit(X, y), np.repeat(np.arange(80), 10)
    few = examine(model, X, y, only_scores=True).scores[0].model
    many = examine(model, X[copies], y[copies], only_scores=True).scores[0].model
    grouped = {"row_groups": copies, "only_scores": True}
    whole = examine(model, X[copies], y[copies], **grouped).scores[0].model
    assert whole.value == pytest.approx(few.value)
    assert width(whole) == pytest.approx(width(few), rel=0.25)
    assert width(many) < 0.5 * width(whole)


def test_leads_and_numbers_are_drawn_by_groups_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + rng.normal(size=60)
    model, copies = Ridge().fit(X, y), np.repeat(np.arange(60), 10)
    known = {"train": (X, y), "only_scores": True}
    by_rows = examine(model, X[copies], y[copies], **known).scores[0]
    by_groups = examine(model, X[copies], y[copies], row_groups=copies, **known).scores[0]
    assert width(by_groups.model) > 1.5 * width(by_rows.model)
    for name, found in by_groups.leads.items():
        assert found.value == pytest.approx(by_rows.leads[name].value)
        assert width(found) > 1.5 * width(by_rows.leads[name])


def test_groups_of_another_length_are_refused():
    X, y = np.arange(12.0).reshape(-1, 1), np.arange(12.0)
    with pytest.raises(ValueError, match="row_groups must have an entry for each of the 12 rows"):
        examine(Ridge().fit(X, y), X, y, row_groups=[1, 2])


def test_gains_of_groups_are_means_of_the_rows_that_were_drawn():
    """Groups of unequal size bring more rows or fewer, of some classes none: a slow twin."""
    rng = np.random.default_rng(0)
    strata, groups = np.repeat([0, 1, 2], [20, 10, 4]), rng.integers(9, size=34)
    gain = rng.integers(-1, 2, size=34).astype(float)
    weights = np.stack([np.bincount(rng.integers(9, size=9), minlength=9)[groups] for _ in "abcd"])
    found = mean_gain(gain, strata)(weights)
    for w, value in zip(weights, found, strict=True):
        means = [np.average(gain[c], weights=w[c]) for k in range(3) if w[c := strata == k].any()]
        assert value == pytest.approx(np.mean(means))


# ---------------------------------------------------------------- how much work that is
@pytest.mark.parametrize(("classes", "passes"), [(0, 4), (2, 5), (3, 5)])
def test_rows_are_drawn_once_for_a_model_and_not_for_each_score(classes, passes, monkeypatch):
    """Of classes once more, for all differences that are sums over rows."""
    rng, drawn = np.random.default_rng(0), []
    y = rng.integers(classes, size=60) if classes else rng.normal(size=60)

    def answers(seed):
        noise = np.random.default_rng(seed).random((60, max(classes, 1)))
        if not classes:
            return ModelAnswers(y, y + noise[:, 0], None, None)
        scores = noise / noise.sum(axis=1, keepdims=True)
        return ModelAnswers(y, scores.argmax(axis=1), scores, np.arange(classes))

    each = Resampling.__iter__

    def counted(self):
        drawn.append(len(self.sizes))
        return each(self)

    monkeypatch.setattr(Resampling, "__iter__", counted)
    scores, _ = score_cards(answers(0), {str(k): answers(k) for k in (1, 2, 3)})
    assert len(scores) >= 3
    assert all(len(score.leads) == 3 for score in scores)
    assert sum(n == 60 for n in drawn) == passes


def test_little_time_takes_draws_first_and_then_rows():
    rng = np.random.default_rng(0)
    y = rng.normal(size=3000)
    own = ModelAnswers(y, y + rng.normal(size=3000), None, None)
    ample, rows, words = in_time(own, 1e6, fewer=True)
    assert (rows, words, ample.n_draws) == (None, [], own.drawn_with(0).n_draws)
    hurried, rows, words = in_time(own, 1e-9, fewer=True)
    assert len(hurried.y) == len(rows) == FEWEST_ROWS
    assert np.array_equal(hurried.y, y[rows])
    assert words == [
        "the scores are of 100 of 3,000 rows, drawn at random: there was no time for intervals of "
        "all"
    ]
    whole, rows, words = in_time(own, 1e-9, fewer=False)
    assert (len(whole.y), rows, whole.n_draws) == (3000, None, 100)
    assert words == ["there was no time to draw more than 100 samples"]


@pytest.mark.parametrize("key", ["tpr", "uar", "f1", "auc", "average_precision"])
def test_four_rows_of_a_class_decide_nothing(key):
    """However many others there are: a score that hangs on four rows is not better by them."""
    y = np.repeat(["no", "yes"], [296, 4])
    good, poor = np.linspace(0.0, 0.4, 300), np.linspace(0.0, 0.4, 300)
    good[296:], poor[297:] = 0.9, 0.0

    def judged(probability):
        called = np.where(probability >= 0.5, "yes", "no")
        scores = np.column_stack([1.0 - probability, probability])
        return ModelAnswers(y, called, scores, np.array(["no", "yes"]), positive="yes")

    found = lead(judged(good), judged(poor), key)
    assert found.value > 0.2
    assert found.low <= 0.0


def test_recall_and_precision_without_a_mistake_have_an_interval():
    y = np.repeat(["no", "yes"], [296, 4])
    scores = np.column_stack([y == "no", y == "yes"]).astype(float)
    labels = np.array(["no", "yes"])
    known = ModelAnswers(y, y, scores, labels, positive="yes").evaluation
    for key in ("tpr", "ppv"):
        found = estimate_of(known, key)
        assert (found.value, found.high) == (1.0, 1.0)
        assert found.low == pytest.approx(0.025 ** (1 / 4))
