"""The clock that computations of kernel values look at."""

from __future__ import annotations

import time

import numpy as np
import pytest

from mercer import KernelLogistic, KernelMachine, gram
from mercer._array import run_tiles
from mercer._clock import NEVER, OutOfTimeError, deadline, until
from tests.cases import table, two_classes

UNSOUND = "ignore::sklearn.exceptions.ConvergenceWarning"


def test_deadlines_nest_and_the_earliest_holds():
    assert deadline() == NEVER
    with until(5.0):
        with until(3.0):
            assert deadline() == 3.0
        with until(7.0):
            assert deadline() == 5.0
        assert deadline() == 5.0
    assert deadline() == NEVER


def test_a_deadline_ends_with_the_block_that_set_it_whatever_happens():
    with pytest.raises(OutOfTimeError), until(0.0):
        run_tiles(lambda tile, worker: None, range(3), 1)
    assert deadline() == NEVER
    run_tiles(lambda tile, worker: None, range(3), 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_tiles_after_the_deadline_are_not_begun(workers):
    done = []

    def work(tile, worker):
        done.append(tile)
        time.sleep(0.02)

    with pytest.raises(OutOfTimeError), until(time.monotonic() + 0.05):
        run_tiles(work, range(1000), workers)
    assert 0 < len(done) < 100


@pytest.mark.parametrize("columns", [3, 60], ids=["differences", "products"])
@pytest.mark.parametrize("storage", ["dense", "triangle"])
def test_a_matrix_looks_at_the_clock(columns, storage):
    X = table(700, columns)
    with pytest.raises(OutOfTimeError), until(0.0):
        gram("rbf", X, storage=storage)


@pytest.mark.parametrize("columns", [3, 60], ids=["differences", "products"])
def test_a_product_looks_at_the_clock(columns):
    K = gram("rbf", table(700, columns), storage="blocked")
    with pytest.raises(OutOfTimeError), until(0.0):
        K @ np.ones(700)


@pytest.mark.filterwarnings(UNSOUND)
@pytest.mark.parametrize(
    "model", [KernelLogistic(), KernelMachine("huber"), KernelMachine("hinge")], ids=repr
)
def test_no_time_at_all_is_a_model_without_a_proof(model):
    X, y = two_classes(1500, 4)
    model.set_params(time_limit=0.0).fit(X, y)
    assert not model.certificate_.ok
    assert np.isfinite(model.predict(X[:5])).all()
