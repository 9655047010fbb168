"""Kernels that are products of sparse counts: sums over many strings need no kernel values."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import SVC
from mercer.gram.sums import weighted_sums
from mercer.kernels import RBF, Mismatch, Spectrum, Substring, WeightedDegree, Words
from mercer.kernels.counting import Counted, places, sparse_factors, sums_of_counts
from mercer.kernels.substrings import Automaton
from tests.cases import table
from tests.compare import assert_close

TEXTS = ["one fine day", "a day in june", "", "no day is a fine day", "🙂 fine 🙂", "juno"]
NEW = ["in one day", "nothing", "", "day 🙂 day"]
KERNELS = [Words(), Spectrum(2), Mismatch(3, 1), Substring(0.7), Substring(3)]
KERNELS += [kernel.normalized() for kernel in KERNELS]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


@every_kernel
def test_the_product_of_the_factors_is_the_kernel(kernel):
    X, Y = (kernel.sample(rows) for rows in (NEW, TEXTS))
    bound = kernel.bind(Y)
    for left, right in ((X, Y), (Y, Y), (X, Y[1:4]), (Y[np.array([3, 0])], Y)):
        A, B = (rows() for rows in sparse_factors(bound, left, right))
        assert_close((A @ B.T).toarray(), bound.block_of(left, right))


@every_kernel
@pytest.mark.parametrize("at_once", [1, 2**24])
def test_sums_are_those_of_the_kernel_values(kernel, at_once):
    X, Y, weights = kernel.sample(NEW), kernel.sample(TEXTS), table(len(TEXTS), 3)
    bound = kernel.bind(Y)
    wanted = bound.block_of(X, Y) @ weights
    assert_close(weighted_sums(bound, X, Y, weights, np.float64), wanted)
    for _ in range(2):  # the second time from what was kept
        assert_close(sums_of_counts(bound, X, Y, weights, at_once), wanted)
    assert_close(sums_of_counts(bound, X, Y, 2.0 * weights, at_once), 2.0 * wanted)
    assert_close(
        sums_of_counts(bound, X, Y[1:4], weights[1:4], at_once), _part(bound, X, Y, weights)
    )


def _part(bound, X, Y, weights):
    return bound.block_of(X, Y)[:, 1:4] @ weights[1:4]


def test_what_is_derived_from_support_vectors_is_derived_once(monkeypatch):
    built = []

    def counting(self, rows):
        built.append(len(rows))
        return build(self, rows)

    build = Automaton.__init__
    y = np.arange(len(TEXTS)) % 2
    model = SVC(Substring(0.7)).fit(TEXTS, y)
    wanted = model.decision_function(NEW)
    monkeypatch.setattr(Automaton, "__init__", counting)
    for _ in range(3):
        np.testing.assert_array_equal(model.decision_function(NEW), wanted)
    assert not built  # that of the support vectors is known from the first prediction
    model.fit(TEXTS[::-1], y)
    np.testing.assert_allclose(
        model.decision_function(NEW), SVC(Substring(0.7)).fit(TEXTS[::-1], y).decision_function(NEW)
    )


@every_kernel
def test_many_rows_get_the_values_of_few(kernel):
    """Rows that are few are multiplied in another way than many."""
    rows = TEXTS * 8
    wanted = np.tile(kernel.bind(TEXTS)(TEXTS), (8, 8))
    assert_close(kernel.bind(TEXTS)(rows), wanted)
    assert_close(kernel.bind(TEXTS)(rows, TEXTS), wanted[:, : len(TEXTS)])


@pytest.mark.parametrize("kernel", [WeightedDegree(), RBF(), RBF().normalized()], ids=repr)
def test_other_kernels_are_no_such_products(kernel):
    rows = kernel.sample(table(3, 2) if kernel.domain == "vectors" else TEXTS)
    assert sparse_factors(kernel, rows, rows) is None


@pytest.mark.parametrize("kind", [np.uint64, object])
def test_keys_are_found_among_others(kind):
    keys, among = np.array([1, 5, 9], dtype=kind), np.array([0, 5, 7, 9], dtype=kind)
    assert list(places(keys, among)) == [-1, 1, 3]
    assert list(places(keys, among[:0])) == [-1, -1, -1]
    assert list(places(keys[:0], among)) == []


def test_counts_are_sums_over_equal_keys():
    rows, keys = np.array([0, 2, 2, 2]), np.array([7, 7, 3, 7], dtype=np.uint64)
    counted = Counted.of(rows, keys, np.ones(4), 3)
    assert list(counted.keys) == [3, 7]
    assert_close(counted.matrix.toarray(), [[0, 1], [0, 0], [1, 2]])
    assert_close(
        counted.onto(np.array([7, 8], dtype=np.uint64)).toarray(), [[1, 0], [0, 0], [2, 0]]
    )
