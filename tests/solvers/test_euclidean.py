"""Euclidean search: bounds are bounds at any scale, and tree, bounds and brute force agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.solvers.euclidean import find_nearest, lower_bounds, tree_is_faster
from tests.cases import table


def brute(X, Y, k):
    """Return squared distances and positions by sorting all of them."""
    D = ((X[:, None] - Y[None]) ** 2).sum(axis=2)
    order = np.array([np.lexsort((np.arange(len(Y)), row))[:k] for row in D])
    return np.take_along_axis(D, order, axis=1), order


def search(X, Y, k, **options):
    best, index = np.full((len(X), k), np.inf), np.full((len(X), k), len(Y))
    find_nearest(X, Y, best, index, **options)
    return best, index


@given(
    st.integers(1, 20),
    st.integers(1, 12),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1e-140, 1e-8, 1.0, 1e8, 1e140]),
    st.sampled_from([0.0, 1.0, 1e3, 1e9]),
    st.booleans(),
)
def test_bounds_are_below_the_distances(n, d, seed, scale, offset, outlier):
    rng = np.random.default_rng(seed)
    X, Y = (scale * (rng.normal(size=(m, d)) + offset) for m in (7, n))
    if outlier:
        Y[0] *= 1e6
    left, right, own, unit = lower_bounds(X, Y)
    assert left.dtype == right.dtype == np.float32
    bounds = (left @ right.T).astype(float) + own[:, None]
    # exact up to a few ulp of long double, in the unit of the bounds
    gaps = (X[:, None].astype(np.longdouble) - Y[None]) * np.longdouble(unit)
    assert (bounds <= (gaps**2).sum(axis=2)).all()


def test_bounds_of_well_scaled_rows_are_close():
    X, Y = table(50, 30), table(80, 30, seed=1)
    left, right, own, unit = lower_bounds(X, Y)
    D = ((X[:, None] - Y[None]) ** 2).sum(axis=2)
    bounds = ((left @ right.T).astype(float) + own[:, None]) / unit**2
    assert (D - bounds).max() < 1e-4 * D.min()


@pytest.mark.parametrize("tree", [True, False])
@given(st.integers(2, 60), st.integers(1, 4), st.integers(0, 2**32 - 1), st.booleans())
def test_every_way_finds_the_nearest_and_settles_ties(tree, n, d, seed, ties):
    rng = np.random.default_rng(seed)
    draw = (lambda m: rng.integers(0, 3, (m, d)) + 1e5) if ties else (lambda m: rng.random((m, d)))
    Y, X = draw(n), draw(11)
    k = int(rng.integers(1, n))
    best, index = search(X, Y, k, tree=tree, block=(3, 5))
    wanted, order = brute(X, Y, k)
    np.testing.assert_array_equal(index, order)
    np.testing.assert_allclose(best, wanted, rtol=1e-13)


@pytest.mark.parametrize("tree", [True, False])
def test_threads_change_nothing(tree):
    X, Y = table(300, 3), table(700, 3, seed=1)
    one, two = (search(X, Y, 4, tree=tree, workers=workers) for workers in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_far_point_does_not_spoil_the_bounds_of_the_others():
    Y = np.vstack([table(200, 5), np.full((1, 5), 1e9)])
    left, right, own, _ = lower_bounds(Y[:10], Y)
    candidates = (left @ right.T).astype(float) + own[:, None] <= 0.0
    wanted = brute(Y[:10], Y, 3)
    np.testing.assert_array_equal(search(Y[:10], Y, 3)[1], wanted[1])
    assert not candidates[:, -1].any()


def test_a_tree_is_taken_where_columns_are_few():
    assert tree_is_faster(8000, 3, 5)
    assert not tree_is_faster(8000, 30, 5)
    assert not tree_is_faster(100, 2, 5)
    assert not tree_is_faster(8000, 3, 4000)
