"""Byte budgets, by what NumPy has asked for at once; whole tables: benchmarks/budgets.py."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

from mercer import KernelKMeans, KernelMachine, KernelPCA, KernelPCAMap, _scratch
from tests.cases import table

ALLOWED = 1.2
CASES = [
    (KernelPCAMap(memory="35MB"), 1200),  # a matrix takes 11.5 MB: there is room for three
    (KernelPCA(memory="45MB"), 1200),  # and here for the matrix itself
    (KernelMachine("huber", memory="20MB"), 2500),
    (KernelKMeans(3, memory="30MB", n_init=1, random_state=0), 2200),
]


@pytest.fixture
def nothing_kept():
    """Working memory that earlier fits have left is not there: what is used is asked for."""
    _scratch.settle()
    _scratch._free.clear()


@pytest.mark.parametrize(("model", "n"), CASES, ids=str)
def test_a_fit_keeps_its_byte_budget(model, n, nothing_kept):
    X = table(n, 3)
    clone(model).fit(X[:50], X[:50, 0])
    tracemalloc.start()
    try:
        fitted = clone(model).fit(X, np.sin(X[:, 0]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert fitted.certificate_.ok
    assert peak <= ALLOWED * 1e6 * float(model.memory[:-2])
