"""Sums of kernel values straight from differences: the same whichever side the runs go along."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import RBF, Exponential, Laplacian
from mercer.kernels.direct import MOST_SWAPPED, SERIAL
from mercer.kernels.sample import Sample
from mercer.kernels.tiles import block_differences

KERNELS = [RBF(gamma=0.3), Exponential(gamma=0.5), Laplacian(gamma=0.2)]


def sums_both_ways(kernel, X, Y, weights, stops, dtype):
    """Return the sums of parts by the loop for few Y, and by definition in float64."""
    direct = block_differences(kernel, Sample(X), Sample(Y), np.dtype(dtype))
    K = kernel(X.astype(np.float64), Y.astype(np.float64))
    starts = [0, *stops[:-1]]
    parts = [K[:, a:b] @ weights[a:b] for a, b in zip(starts, stops, strict=True)]
    return direct.sums_of_parts(weights, stops), np.stack(parts, axis=1)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("given_type", [np.float32, np.float64])
@settings(max_examples=15)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_sums_are_those_of_the_matrix(kernel, given_type, data, seed):
    rng = np.random.default_rng(seed)
    n, m = data.draw(st.integers(1, 300)), data.draw(st.integers(1, MOST_SWAPPED + 60))
    d, t = data.draw(st.integers(1, 14)), data.draw(st.integers(1, 3))
    stops = sorted(data.draw(st.lists(st.integers(0, m), max_size=4)))
    X, Y = (rng.normal(size=(k, d)).astype(given_type) for k in (n, m))
    weights = rng.normal(size=(m, t))
    for dtype, most in ((np.float64, 1e-13), (np.float32, 1e-5)):
        found, wanted = sums_both_ways(kernel, X, Y, weights, [*stops, m], dtype)
        assert np.abs(found - wanted).max() <= most * (1.0 + np.abs(weights).sum())


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_sums_of_few_do_not_depend_on_other_rows(kernel):
    rng = np.random.default_rng(0)
    Y, weights = rng.normal(size=(MOST_SWAPPED // 2, 3)), rng.normal(size=(MOST_SWAPPED // 2, 2))
    X = rng.normal(size=(4 * SERIAL // MOST_SWAPPED, 3))  # two threads, if there are two cores
    direct = block_differences(kernel, Sample(X), Sample(Y), np.dtype(np.float64))
    found = direct.sums(weights)
    for count in (MOST_SWAPPED, MOST_SWAPPED // 4):  # the latter are summed up along Y
        alone = block_differences(kernel, Sample(X[:count]), Sample(Y), np.dtype(np.float64))
        apart = np.abs(found[:count] - alone.sums(weights)).max()
        assert apart <= (0.0 if count == MOST_SWAPPED else 1e-14 * np.abs(weights).sum())
