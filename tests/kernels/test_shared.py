"""Gram matrices from statistics that are computed once are the kernel's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels import RBF, FromFunction, Laplacian, Linear, Polynomial, Precomputed
from mercer.kernels import shared as shared_module
from mercer.kernels.sample import STATISTICS, Pair, Sample
from mercer.kernels.shared import SharedStatistics
from tests.cases import EXTREME_SAMPLES, KERNELS, SAMPLES, SCALE_FREE_KERNELS, table


def gram_of(kernel, X, dtype=np.float64, statistics=STATISTICS):
    sample = kernel.sample(X)
    return SharedStatistics(sample, dtype, statistics).gram(kernel.bind(sample))


@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=repr)
def test_shared_statistics_give_the_kernels_own_values(kernel, rows):
    direct = kernel(rows.astype(np.float64))
    largest = max(1.0, np.abs(direct).max())
    np.testing.assert_allclose(
        gram_of(kernel, rows.astype(np.float64)), direct, atol=1e-13 * largest, rtol=1e-12
    )


@pytest.mark.parametrize("rows", EXTREME_SAMPLES.values(), ids=EXTREME_SAMPLES)
@pytest.mark.parametrize("kernel", SCALE_FREE_KERNELS.values(), ids=repr)
def test_rows_of_any_size_are_understood_in_single_precision(kernel, rows):
    sample = kernel.sample(rows)
    direct = kernel.bind(sample).block_of(sample, sample, np.empty((len(sample),) * 2, np.float32))
    np.testing.assert_allclose(gram_of(kernel, rows, np.float32), direct, atol=2e-5)


@given(st.integers(1, 40), st.integers(1, 5), st.sampled_from(list(KERNELS.values())))
def test_any_number_of_rows(n, d, kernel):
    X = table(n, d, seed=n)
    np.testing.assert_allclose(gram_of(kernel, X), kernel(X), rtol=1e-11, atol=1e-11)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("kernel", [RBF(0.3), RBF(0.5) * Linear(1.0) + Laplacian(0.2)], ids=repr)
def test_tiles_in_threads_give_the_same(kernel):
    X = table(17, 3)
    np.testing.assert_allclose(gram_of(kernel, X), kernel(X), rtol=1e-12, atol=1e-14)


@pytest.fixture
def computed(monkeypatch):
    """Count how often each statistic of a tile is computed."""
    counts = []
    original = Pair._compute

    def count(self, statistic, out):
        counts.append(statistic)
        original(self, statistic, out)

    monkeypatch.setattr(Pair, "_compute", count)
    return counts


def test_a_statistic_is_computed_once_for_all_kernels(computed):
    sample = Sample(table(20, 3))
    shared = SharedStatistics(sample, np.float64, STATISTICS)
    for gamma in (0.1, 1.0, 10.0):
        shared.gram(RBF(gamma))
        shared.gram(RBF(gamma) + RBF(2 * gamma) * 0.5)
    shared.gram(Polynomial(2))
    shared.gram(Polynomial(3) + RBF(0.1))
    assert sorted(computed) == ["inner", "squared_distance"]


def test_what_is_not_kept_is_computed_as_usual(computed):
    X = table(20, 60)  # too many columns to be compared one by one
    shared = SharedStatistics(Sample(X), np.float64, ["inner"])
    for gamma in (0.1, 1.0):
        np.testing.assert_allclose(shared.gram(RBF(gamma)), RBF(gamma)(X), rtol=1e-12)
    assert computed.count("squared_distance") == 4  # two here, two by the kernel itself


def test_values_are_written_into_the_array_that_is_given():
    X, out = table(6, 2), np.empty((6, 6))
    assert SharedStatistics(Sample(X), np.float64, STATISTICS).gram(RBF(1.0), out) is out
    np.testing.assert_allclose(out, RBF(1.0)(X))


@pytest.mark.parametrize("kernel", [Precomputed(), FromFunction(lambda a, b: float(a @ b))])
def test_kernels_without_statistics(kernel):
    X = Linear()(table(6, 2))
    np.testing.assert_allclose(gram_of(kernel, X), kernel(X))


def test_the_module_knows_every_statistic():
    assert set(shared_module.RAW) == set(STATISTICS)
