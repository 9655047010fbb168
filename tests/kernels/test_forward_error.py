"""Bounds of float32 values hold for every pair of rows, however the values are computed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mercer.gram.sums import weighted_sums
from mercer.kernels import (
    RBF,
    Exponential,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from mercer.kernels._loops import scaled_exp
from mercer.kernels.forward_error import EXP, UNIT, largest_sum_error, value_error
from mercer.kernels.sample import Sample
from mercer.kernels.tiles import each_tile, fill_tiles

N = 60
SINGLE = np.dtype(np.float32)

ROWS = {
    "plain": lambda z: z,
    "float32": lambda z: z.astype(np.float32),
    "offset": lambda z: 100.0 + z,
    "some far": lambda z: np.where(np.arange(N)[:, None] % 9 == 0, 1e3, 1.0) * z,
    "positive": lambda z: 1.0 + 0.3 * np.tanh(z),
    "near copies": lambda z: np.vstack([z[::2], z[::2] + 1e-3 * z[1::2]]),
    "small": lambda z: 1e-7 * z,
    "sparse": lambda z: sp.csr_array(z * (z > 0.5)),
}
KERNELS = [
    RBF(),
    RBF(gamma=0.01),
    RBF(gamma=3.0),
    Laplacian(),
    Exponential(),
    Matern(nu=0.5),
    Matern(nu=1.5),
    Matern(nu=2.5),
    Linear(),
    Linear(bias=1.0),
    Polynomial(degree=3, scale=0.1),
    2.0 * RBF() + Linear(),
    RBF() * Laplacian(),
    Linear().normalized(),
    Polynomial(degree=2).normalized(),
]


def all_values(kernel, sample):
    """Return the values by each way of computing them in float32: name, values, bound."""
    n = len(sample)
    filled, tiled = np.empty((n, n), SINGLE), np.empty((n, n), SINGLE)
    fill_tiles(kernel, sample, sample, filled)

    def keep(tile, values, worker):
        tiled[tile] = values

    each_tile(kernel, sample, sample, SINGLE, keep, mirror=False)
    yield filled, value_error(kernel, sample, sample, direct=True)
    yield tiled, value_error(kernel, sample, sample)
    known = getattr(kernel, "differences", None)
    rows = known(sample, sample, SINGLE) if known else None
    if rows is not None:  # as loops that solve compute them: nothing again from the rows given
        plain = np.empty((n, n), SINGLE)
        rows._replace(finer=False).fill(plain, mirror=False)
        yield plain, value_error(kernel, sample, sample, direct=True)


@given(
    kernel=st.sampled_from(KERNELS),
    kind=st.sampled_from(sorted(ROWS)),
    columns=st.sampled_from([1, 2, 3, 7, 40, 41, 48, 49, 130]),
    seed=st.integers(0, 2**31 - 1),
)
def test_no_value_is_further_off_than_its_bound(kernel, kind, columns, seed):
    sample = Sample(ROWS[kind](np.random.default_rng(seed).normal(size=(N, columns))))
    bound_kernel = kernel.bind(sample)
    exact = np.empty((N, N))
    fill_tiles(bound_kernel, sample, sample, exact)
    sizes = np.sqrt(bound_kernel.diagonal_of(sample, np.float64))
    allowed = np.outer(sizes, sizes)
    for values, error in all_values(bound_kernel, sample):
        assert np.isfinite(error) or kind == "small"
        if np.isfinite(error):
            assert (np.abs(values - exact) <= error * allowed).all()


@given(kernel=st.sampled_from(KERNELS), seed=st.integers(0, 2**31 - 1))
def test_sums_are_within_the_bound(kernel, seed):
    rng = np.random.default_rng(seed)
    sample = Sample(rng.normal(size=(N, 5)) + 3.0)
    bound_kernel, weights = kernel.bind(sample), 1e3 * rng.normal(size=(N, 1))
    single = weighted_sums(bound_kernel, sample, sample, weights, SINGLE)
    double = weighted_sums(bound_kernel, sample, sample, weights, np.float64)
    error = largest_sum_error(bound_kernel, sample, sample, weights[:, 0], direct=True)
    assert np.abs(single - double).max() <= error


@pytest.mark.parametrize(
    "kernel", [Sigmoid(), RationalQuadratic(), RBF(gamma=1e35), Polynomial(bias=-1.0)], ids=repr
)
def test_nothing_is_known_of_other_kernels(kernel):
    sample = Sample(np.random.default_rng(0).normal(size=(9, 2)))
    assert value_error(kernel.bind(sample), sample, sample) == np.inf


def relative_error_of_exp(step):
    """Return the largest relative error of exp(x) in units, over float32 x from 0 to −87."""
    first, last = (int(np.float32(x).view(np.uint32)) for x in (-0.0, -87.0))
    worst = 0.0
    for start in range(first, last, step << 20):
        bits = np.arange(start, min(start + (step << 20), last), step, dtype=np.uint32)
        x = bits.view(np.float32)
        values, exact = x.copy(), np.exp(x.astype(np.float64))
        scaled_exp(values, np.float32(1.0))
        worst = max(worst, float((np.abs(values - exact) / exact).max()))
    return worst / UNIT


@pytest.mark.parametrize("step", [997, pytest.param(1, marks=pytest.mark.long)])
def test_the_exponential_is_within_its_bound_for_every_number(step):
    assert relative_error_of_exp(step) <= EXP - 1
