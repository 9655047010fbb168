"""An expression computes each statistic once, however many of its kernels need it."""

from __future__ import annotations

import gc
import weakref
from collections import Counter

import numpy as np
import pytest

from mercer.kernels import RBF, Exponential, FromFeatureMap, Laplacian, Linear, Polynomial, sample
from mercer.kernels.tiles import fill_tiles
from tests.cases import sparse_table, table
from tests.compare import assert_close


@pytest.fixture
def statistics(monkeypatch):
    """Count the statistics that are really computed."""
    counts: Counter[str] = Counter()
    compute = sample.Pair._compute

    def counting(pair, statistic, out):
        counts[statistic] += 1
        compute(pair, statistic, out)

    monkeypatch.setattr(sample.Pair, "_compute", counting)
    return counts


@pytest.fixture
def products(monkeypatch):
    """Count the matrix products."""
    calls: list[tuple[int, ...]] = []
    inner = sample.inner

    def counting(X, Y, out):
        calls.append(out.shape)
        inner(X, Y, out)

    monkeypatch.setattr(sample, "inner", counting)
    return calls


def test_a_long_sum_needs_each_statistic_once(statistics):
    kernel = (
        0.5 * RBF(gamma=0.1)
        + Polynomial(degree=2) * Linear()
        + RBF(gamma=2.0) * Exponential(gamma=1.0)
        + Laplacian(gamma=0.1)
        + Laplacian(gamma=0.5) ** 2
    )
    kernel(table(20, 3))
    assert statistics == {"inner": 1, "squared_distance": 1, "l1": 1}


@pytest.mark.parametrize("X", [table(20, 3), sparse_table(20, 6)], ids=["dense", "CSR"])
def test_one_product_serves_inner_products_and_distances(products, X):
    (RBF(gamma=0.1) + Linear() * RBF(gamma=2.0) + Polynomial())(X)
    assert products == [(20, 20)]


def test_a_kernel_does_not_compute_what_it_does_not_need(statistics):
    (Laplacian(gamma=0.1) * Laplacian(gamma=0.2))(table(20, 3))
    assert statistics == {"l1": 1}


@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_sharing_does_not_change_values(gamma):
    X = table(20, 3)
    a, b, c = RBF(gamma=gamma), Polynomial(degree=2), Exponential(gamma=gamma)
    assert_close((a * b + c * a + b)(X), a(X) * b(X) + c(X) * a(X) + b(X))


def test_features_are_computed_once_for_each_row():
    seen: Counter[float] = Counter()

    def phi(x):
        seen[float(x[0])] += 1
        return [x[0], x[1]]

    X = table(10, 2)
    k = FromFeatureMap(phi)
    (k + k.normalized() * k**2)(X)
    assert set(seen.values()) == {1}


def test_tiles_share_what_is_known_of_the_rows(small_tiles):
    calls: list[int] = []

    def phi(x):
        calls.append(1)
        return [x[0]]

    FromFeatureMap(phi)(table(10, 2))
    assert len(calls) == 10


def test_epilogues_work_in_place():
    """The block that the kernel fills is the only array of its size that a plain kernel needs."""
    X = table(10, 3)
    for kernel in (Linear(1.0), Polynomial(5), RBF(gamma=1.0), Laplacian(gamma=1.0)):
        values = np.full((10, 10), 0.5)
        address = values.ctypes.data
        kernel.epilogue(values)
        assert values.ctypes.data == address
        assert np.isfinite(values).all()
        assert kernel(X).shape == (10, 10)


@pytest.mark.parametrize("kernel", [RBF(0.5), Laplacian(0.5), Polynomial(2), Linear()])
def test_a_sample_goes_when_nobody_needs_it(kernel):
    """Passes over many blocks make a sample for each, and the collector of cycles comes late."""
    sample, points = kernel.sample(np.ones((5, 2))), kernel.sample(np.eye(2))
    gc.disable()
    try:
        fill_tiles(kernel, sample[1:4], points, np.empty((3, 2)))
        kernel.diagonal_of(sample, np.float64)
        gone = weakref.ref(sample)
        del sample
        assert gone() is None
    finally:
        gc.enable()
