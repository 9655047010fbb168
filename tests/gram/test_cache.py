"""Rows on demand: computed once, kept within the budget, the least recently used one goes first."""

from __future__ import annotations

import contextlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import gram
from mercer.gram import CachedGram, storages
from mercer.kernels import RBF, FromFunction
from tests.cases import table

N = 6
X = np.arange(float(N))[:, None]
ROW = N * 8
K = (X + 1) @ (X + 1).T


class Counted:
    """The kernel (x + 1)(y + 1) that counts how often each row is computed."""

    def __init__(self, capacity):
        self.values: Counter[int] = Counter()
        self.fails = False
        self.gram = gram(FromFunction(self), X, storage="cached", memory=capacity * ROW)

    def __call__(self, x, y):
        if self.fails:
            raise ZeroDivisionError
        self.values[int(x[0])] += 1
        return (x[0] + 1) * (y[0] + 1)

    def computed_by(self, *rows):
        """Ask for rows; return those that had to be computed."""
        before = self.values.copy()
        np.testing.assert_allclose(self.gram.rows(list(rows)), K[list(rows)])
        new = self.values - before
        assert all(count == N for count in new.values()), "a row is computed as a whole, once"
        return set(new)


def test_a_row_is_computed_once():
    cache = Counted(capacity=3)
    assert cache.computed_by(2) == {2}
    assert cache.computed_by(2) == set()
    assert cache.computed_by(2, 4) == {4}
    assert cache.computed_by(4, 2, 4) == set()


def test_a_row_asked_for_twice_at_once_is_computed_once():
    assert Counted(capacity=3).computed_by(1, 1, 1) == {1}


def test_the_least_recently_used_row_goes_first():
    cache = Counted(capacity=2)
    cache.computed_by(0)
    cache.computed_by(1)
    cache.computed_by(0)  # now 1 is the older one
    assert cache.computed_by(2) == {2}
    assert cache.computed_by(0) == set()
    assert cache.computed_by(1) == {1}
    assert cache.computed_by(2) == {2}


def test_rows_of_one_request_do_not_push_each_other_out():
    cache = Counted(capacity=3)
    cache.computed_by(0, 1)
    assert cache.computed_by(1, 2, 3) == {2, 3}
    assert cache.computed_by(1, 2, 3) == set()
    assert cache.computed_by(0) == {0}


def test_more_rows_than_fit_are_given_but_not_kept():
    cache = Counted(capacity=2)
    cache.computed_by(0, 1)
    assert cache.computed_by(2, 3, 4) == {2, 3, 4}
    assert cache.computed_by(0, 1) == set()


def test_a_restriction_reads_through_the_cache():
    cache = Counted(capacity=3)
    cache.computed_by(1, 3)
    before = cache.values.copy()
    fold = cache.gram.restrict([3, 1])
    np.testing.assert_allclose(fold.toarray(), K[np.ix_([3, 1], [3, 1])])
    np.testing.assert_allclose(fold.rows([0]), K[3:4][:, [3, 1]])
    assert cache.values == before


def test_products_do_not_flush_the_cache():
    cache = Counted(capacity=2)
    cache.computed_by(0, 1)
    np.testing.assert_allclose(cache.gram @ np.ones(N), K.sum(axis=1))
    assert cache.computed_by(0, 1) == set()


def test_an_ample_budget_holds_every_row_and_no_more():
    cache = Counted(capacity=100)
    for i in range(N):
        cache.computed_by(i)
    assert cache.gram.nbytes == N * ROW
    assert cache.computed_by(*range(N)) == set()


@pytest.mark.parametrize("capacity", [1, 2, 4])
def test_the_cache_never_holds_more_than_its_budget(capacity):
    cache = Counted(capacity)
    rng = np.random.default_rng(0)
    for _ in range(60):
        cache.computed_by(*rng.choice(N, size=rng.integers(1, N), replace=False))
        assert cache.gram.nbytes <= capacity * ROW


@given(
    st.integers(1, 4),
    st.lists(st.lists(st.integers(0, N - 1), min_size=1, max_size=3), max_size=25),
)
def test_the_cache_behaves_as_a_textbook_cache(capacity, requests):
    """Single rows against the obvious model: a list, most recently used last."""
    cache = Counted(capacity)
    model: list[int] = []
    for request in requests:
        row = request[0]
        assert cache.computed_by(row) == (set() if row in model else {row})
        model = [*(r for r in model if r != row), row][-capacity:]


def test_an_error_while_a_row_is_computed_does_not_poison_the_cache():
    cache = Counted(capacity=3)
    cache.computed_by(0)
    cache.fails = True
    with pytest.raises(ZeroDivisionError):
        cache.gram.rows([1, 2])
    cache.fails = False
    np.testing.assert_allclose(cache.gram.rows([0, 1, 2]), K[[0, 1, 2]])


def test_of_a_row_only_the_groups_of_columns_that_are_asked_for_are_computed():
    cache = Counted(capacity=4)
    G = cache.gram
    edges = np.array([0, 2, 5, 6])
    G = CachedGram(G.kernel, G.X, G.X, G.dtype, 4 * ROW, edges=edges)
    np.testing.assert_allclose(G.restrict([1, 3], [0, 1]).toarray(), K[np.ix_([1, 3], [0, 1])])
    assert cache.values == {1: 2, 3: 2}
    np.testing.assert_allclose(G.restrict([1], [1, 5]).toarray(), K[np.ix_([1], [1, 5])])
    assert cache.values == {1: 3, 3: 2}
    np.testing.assert_allclose(G.rows([1, 3]), K[[1, 3]])
    assert cache.values == {1: 6, 3: 6}
    assert G.nbytes <= 4 * ROW


@pytest.mark.parametrize("moment", range(1, 12))
def test_rows_that_ctrl_c_has_half_overwritten_are_not_taken_for_whole(monkeypatch, moment):
    """Ctrl-C while new rows are written over old ones, and in every call of the notes about it."""
    X = table(30, 3)
    K = gram(RBF(gamma=0.5), X, storage="cached", memory=6 * 30 * 8)
    dense = RBF(gamma=0.5)(X, X)
    K.rows(np.arange(6))
    calls = iter(range(1, 1000))

    def interrupt(function):
        def call(*args):
            try:
                return function(*args)
            finally:
                if next(calls) == moment:
                    raise KeyboardInterrupt

        return call

    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        for owner, name in (
            (storages, "fill_tiles"),
            (storages, "compute"),
            (storages._Table, "vacate"),
            (storages._Table, "claim"),
        ):
            patch.setattr(owner, name, interrupt(getattr(owner, name)))
        for start in (10, 13, 3, 20):
            K.rows(np.arange(start, start + 4))
    for rows in (np.arange(6), np.arange(4, 9), np.arange(20, 26), np.arange(6)):
        np.testing.assert_allclose(K.rows(rows), dense[rows], atol=1e-14)
