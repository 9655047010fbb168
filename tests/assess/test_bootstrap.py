"""Intervals: the drawn samples are what a slow loop draws, and they cover the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mercer.assess import evaluate
from mercer.assess.bootstrap import Resampling, percentiles, tail

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 120)
P = np.where(RNG.random(120) < 0.7, Y, RNG.integers(0, 3, 120))
SCORES = RNG.dirichlet(np.ones(3), 120) * 0.5 + 0.5 * np.eye(3)[P]


def resampled(y, statistic, n_draws=4000, seed=1):
    """Return the statistic of rows drawn within each class, one loop each."""
    rng = np.random.default_rng(seed)
    groups = [np.flatnonzero(y == c) for c in np.unique(y)]
    rows = (np.concatenate([rng.choice(g, len(g)) for g in groups]) for _ in range(n_draws))
    return np.array([statistic(i) for i in rows])


@pytest.mark.parametrize("name", ["accuracy", "uar", "macro_f1", "mcc", "auc", "brier", "ece"])
@pytest.mark.parametrize("weighted", [False, True])
def test_draws_are_distributed_as_those_of_a_loop(name, weighted):
    weight = np.round(RNG.random(120) + 0.5, 1) if weighted else np.ones(120)
    found = evaluate(Y, P, SCORES, sample_weight=weight, n_bootstrap=4000)
    slow = resampled(
        Y,
        lambda i: getattr(
            evaluate(Y[i], P[i], SCORES[i], labels=[0, 1, 2], sample_weight=weight[i]), name
        ),
        n_draws=200,
    )
    fast = found.draws(name)
    assert fast.shape == (4000,)
    assert fast.mean() == pytest.approx(slow.mean(), abs=5 * slow.std() / 14)
    assert fast.std() == pytest.approx(slow.std(), rel=0.25)


def test_a_class_is_drawn_as_often_as_it_occurs():
    strata, sizes = np.array([0, 0, 0, 1, 1, 2]), np.array([1, 1, 1, 1, 1, 1])
    for counts in Resampling(strata, sizes, 500, 0):
        np.testing.assert_array_equal(counts[:, :3].sum(axis=1), 3)
        np.testing.assert_array_equal(counts[:, 3:5].sum(axis=1), 2)
        np.testing.assert_array_equal(counts[:, 5], 1)


@pytest.mark.parametrize("sizes", [np.ones(6, int), np.array([5, 1, 1, 9, 1, 1])])
def test_every_row_is_drawn_with_equal_chance(sizes):
    counts = np.concatenate(list(Resampling(np.zeros(6, int), sizes, 20_000, 0)))
    total = sizes.sum()
    np.testing.assert_allclose(counts.mean(axis=0), sizes, rtol=0.03)
    np.testing.assert_allclose(counts.var(axis=0), sizes * (1 - sizes / total), rtol=0.05)


def test_blocks_do_not_change_what_is_drawn_of_one_stratum():
    cells = np.zeros(6, int), np.ones(6, int)
    whole, blocks = (
        np.concatenate(list(Resampling(*cells, n_draws=50, seed=0, block_values=size)))
        for size in (2**20, 30)
    )
    np.testing.assert_array_equal(whole, blocks)


def test_the_interval_of_a_recall_is_that_of_a_binomial_number():
    y, p = np.repeat([0, 1], 200), np.r_[np.zeros(260), np.ones(140)].astype(int)
    low, high = evaluate(y, p, n_bootstrap=20_000).interval("recall")
    wanted = stats.binom(200, 140 / 200).ppf([0.025, 0.975]) / 200
    np.testing.assert_allclose([low[1], high[1]], wanted, atol=0.006)
    assert low[0] == high[0] == 1.0  # no row of class 0 was missed


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng, hits = np.random.default_rng(5), 0
    for seed in range(300):
        y = np.repeat([0, 1], 60)
        p = np.where(rng.random(120) < 0.8, y, 1 - y)
        low, high = evaluate(y, p, n_bootstrap=400, random_state=seed).interval("accuracy", 0.9)
        hits += low <= 0.8 <= high
    assert 0.84 <= hits / 300 <= 0.96


def test_intervals_hold_the_value_and_grow_with_the_level():
    found = evaluate(Y, P, SCORES)
    for name in ("accuracy", "uar", "auc", "brier", "recall", "tpr", "auc_by_class"):
        narrow, wide = found.interval(name, 0.5), found.interval(name, 0.99)
        value = getattr(found, name)
        assert np.all(wide.low <= narrow.low)
        assert np.all(narrow.high <= wide.high)
        assert np.all((wide.low <= value) & (value <= wide.high))
        assert np.shape(wide.low) == np.shape(value)


def test_the_random_state_decides():
    one, same, other = (evaluate(Y, P, random_state=s).draws("uar") for s in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_undefined_draws_do_not_count():
    values = np.array([[np.nan, 1.0], [np.nan, 2.0], [np.nan, np.nan]])
    low, high = percentiles(values, 0.5)
    assert np.isnan(low[0])
    assert np.isnan(high[0])
    assert 1.0 < low[1] < high[1] < 2.0


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_a_wrong_level_is_named(level):
    with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
        evaluate(Y, P).interval("accuracy", level)


def test_an_unknown_name_is_answered_with_those_there_are():
    with pytest.raises(ValueError, match=r"no interval of 'auc'; there are those of \['accuracy'"):
        evaluate(Y, P).interval("auc")
    with pytest.raises(ValueError, match="n_bootstrap is 0"):
        evaluate(Y, P, n_bootstrap=0).interval("accuracy")
    assert "…" not in str(evaluate(Y, P, n_bootstrap=0))


# ---------------------------------------------------------------- rows that belong together
def in_groups(n_groups, size=10, seed=0):
    """Return labels, predictions and groups: some groups are easy, others are not."""
    rng = np.random.default_rng(seed)
    right = rng.random((n_groups, size)) < rng.beta(2.0, 1.0, n_groups)[:, None]
    y = rng.integers(2, size=right.size)
    return y, np.where(right.ravel(), y, 1 - y), np.repeat(np.arange(n_groups), size)


@pytest.mark.parametrize("n_groups", [8, 15, 60])
def test_the_interval_of_a_mean_over_groups_is_that_of_student(n_groups):
    """Groups of one size: the accuracy is the mean of as many numbers as there are groups."""
    y, prediction, groups = in_groups(n_groups)
    found = evaluate(y, prediction, groups=groups, n_bootstrap=4000)
    means = (y == prediction).reshape(n_groups, -1).mean(axis=1)
    half = stats.t.ppf(0.975, n_groups - 1) * means.std(ddof=1) / n_groups**0.5
    low, high = found.interval("accuracy")
    assert high - low == pytest.approx(2 * half, rel=0.12)
    assert high - low > 1.2 * np.ptp(evaluate(y, prediction).interval("accuracy"))


@pytest.mark.parametrize("n_groups", [2, 5, 30])
def test_few_groups_leave_less_beyond_the_ends(n_groups):
    groups = np.repeat(np.arange(n_groups), 3)
    widened = (n_groups / (n_groups - 1)) ** 0.5 * stats.t.ppf(0.025, n_groups - 1)
    assert tail(0.95, groups) == pytest.approx(stats.norm.cdf(widened))
    assert tail(0.95) == pytest.approx(0.025)


def test_numbers_and_areas_are_drawn_by_groups():
    y, prediction, groups = in_groups(12)
    scores = prediction + np.linspace(0.0, 0.5, len(y))
    target = y + 0.5 * groups
    for rows, whole, name in (
        (evaluate(y, prediction, scores), evaluate(y, prediction, scores, groups=groups), "auc"),
        (evaluate(target, prediction), evaluate(target, prediction, groups=groups), "rmse"),
    ):
        assert getattr(whole, name) == getattr(rows, name)
        assert np.ptp(whole.interval(name)) > 1.2 * np.ptp(rows.interval(name))


def test_groups_have_an_entry_for_each_row():
    with pytest.raises(ValueError, match="groups must have an entry for each of the 120 rows; got"):
        evaluate(Y, P, groups=[1, 2])


def test_an_interval_holds_its_figure():
    """R² of the mean is 0, and below it in every sample, which has a mean of its own."""
    y = np.linspace(0.0, 1.0, 40)
    found = evaluate(y, np.full(40, y.mean()))
    low, high = found.interval("r2")
    assert np.quantile(found.draws("r2"), 0.975) < -1e-6
    assert low < 0.0 <= found.r2 <= high
