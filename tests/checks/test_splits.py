"""Splits that keep groups together and time in order, and rows that stand in both parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pl = pytest.importorskip("polars")

from mercer.checks import (  # noqa: E402
    GroupFolds,
    RowKeys,
    TimeFolds,
    check_parts,
    held_out_groups,
    held_out_latest,
)
from tests.checks.tables import plain  # noqa: E402

group_lists = st.lists(st.integers(0, 12), min_size=8, max_size=80).filter(
    lambda g: len(set(g)) > 3
)


@settings(max_examples=60, deadline=None)
@given(group_lists, st.floats(0.05, 0.8), st.integers(0, 100))
def test_a_group_is_on_one_side_and_no_row_is_lost(groups, share, seed):
    groups = np.array(groups)
    learn, test = held_out_groups(groups, share, seed)
    assert sorted([*learn, *test]) == list(range(len(groups)))
    assert min(len(learn), len(test)) > 0
    assert not set(groups[learn]) & set(groups[test])


def test_the_share_and_the_classes_are_kept():
    rng = np.random.default_rng(0)
    groups = rng.integers(100, size=1000)
    y = (groups % 10 == 0).astype(int)  # ten groups of a rare class
    test = held_out_groups(groups, 0.2, 0, y)[1]
    assert len(test) == pytest.approx(200, abs=10)
    assert y[test].mean() == pytest.approx(y.mean(), abs=0.02)


@settings(max_examples=60, deadline=None)
@given(group_lists, st.integers(2, 6))
def test_folds_hold_every_row_once_and_whole_groups(groups, n):
    groups = np.array(groups)
    y = groups % 2
    parts = list(GroupFolds(n).split(groups, y, groups))
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(len(groups)))
    for learn, test in parts:
        assert not set(groups[learn]) & set(groups[test])
    assert GroupFolds(n).get_n_splits(groups, y, groups) == len(parts)


def test_no_fold_learns_from_one_class():
    groups, y = np.repeat([0, 1, 2, 3], 5), np.repeat([0, 0, 0, 1], 5)
    parts = list(GroupFolds(4, classes=True).split(y, y, groups))
    assert len(parts) == 3  # the group of the only other class cannot be spared
    assert all(len(np.unique(y[learn])) == 2 for learn, _ in parts)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=5, max_size=60).filter(lambda t: len(set(t)) > 1))
def test_the_latest_rows_are_later_than_all_others(times):
    times = np.array(times)
    learn, test = held_out_latest(times, 0.2)
    assert times[learn].max() < times[test].min()
    assert len(learn) + len(test) == len(times)
    assert (np.diff(times[learn]) >= 0).all()


def test_folds_in_time_learn_from_the_past():
    y = np.array([0] * 30 + [1] * 30)
    parts = list(TimeFolds(5, classes=True).split(y, y))
    assert len(parts) == 5
    for learn, test in parts:
        assert learn.max() < test.min()
        assert set(y[learn]) == {0, 1}
    assert TimeFolds(3).get_n_splits(y) == 3


@pytest.mark.parametrize(
    "call", [lambda: held_out_groups([1, 1], 0.5), lambda: held_out_latest([2.0, 2.0], 0.5)]
)
def test_what_cannot_be_split_is_said(call):
    with pytest.raises(ValueError, match=r"one (group|time)"):
        call()


# ---------------------------------------------------------------- rows in both parts
def test_rows_in_both_parts_are_counted_exactly():
    X, _ = plain(200)
    learn, test = X[:150], pl.concat([X[150:], X[:25]])
    finding = check_parts(RowKeys.of(learn), RowKeys.of(test.select(reversed(test.columns))))[0]
    assert finding.severity == "leak"
    assert "(25 of 75)" in finding.sentence
    assert "cannot be believed" in finding.sentence
    assert check_parts(RowKeys.of(X[:150]), RowKeys.of(X[150:])) == []


def test_equal_rows_by_chance_are_a_note():
    X = np.random.default_rng(0).integers(3, size=(300, 3)).astype(float)
    finding = check_parts(RowKeys.of(X[:200]), RowKeys.of(X[200:]))[0]
    assert finding.severity == "note"
    assert "by chance" in finding.sentence


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(allow_nan=True), st.sampled_from("abc")), min_size=2, max_size=20)
)
def test_rows_have_equal_keys_if_and_only_if_they_are_equal(rows):
    frame = pl.DataFrame({"a": [a for a, _ in rows], "b": [b for _, b in rows]})
    keys = RowKeys.of(frame, names=("a", "b")).whole
    plain_rows = [("nan" if a != a else a + 0.0, b) for a, b in rows]
    for i in range(len(rows)):
        for j in range(i):
            assert (keys[i] == keys[j]) == (plain_rows[i] == plain_rows[j])
