"""The clock that computations of kernel values look at."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import (
    GraphSpreading,
    KernelLogistic,
    KernelMachine,
    LaplacianRidge,
    LaplacianSVC,
    MetricRidge,
    MetricRidgeClassifier,
    gram,
)
from mercer._array import run_tiles
from mercer._clock import NEVER, OutOfTimeError, deadline, until
from mercer.machines._unlabelled import LANDMARKS_IN_TIME, rows_in_time
from mercer.solvers.ridge_route import LEAST_LANDMARKS, RidgePace
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


@pytest.mark.parametrize("model", [MetricRidge(), MetricRidgeClassifier()], ids=repr)
def test_a_last_fit_that_would_take_too_long_is_made_in_the_span_of_some_rows(model, monkeypatch):
    """On a machine that needs a second for a kernel value the whole system is not begun."""
    monkeypatch.setattr(RidgePace, "measured", lambda kernel, rows: RidgePace(1.0, 1.0))
    X, y = two_classes(600, 4)
    model.set_params(time_limit=900.0, search_rows=100, metric_rows=300, rounds=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="raise time_limit, or set landmarks"):
        model.fit(X, y)
    assert len(model.landmark_indices_) == LEAST_LANDMARKS
    assert model.status_ == "time_for_some"
    assert not model.certificate_.ok
    assert model.certificate_.parts["in_span"] < 1e-6  # of what there was time for


def test_a_pace_says_how_many_landmarks_there_is_time_for():
    pace = RidgePace(1e-8, 1e-10)
    assert pace.landmarks_within(2.0 * pace.exact(3000), 3000) == 0
    few, more = (pace.landmarks_within(seconds, 50_000) for seconds in (0.5, 5.0))
    assert LEAST_LANDMARKS <= few < more
    assert pace.in_span(50_000, more) <= 5.0


@pytest.mark.filterwarnings(UNSOUND)
@pytest.mark.parametrize("model", [LaplacianRidge(), LaplacianSVC(), GraphSpreading()], ids=repr)
def test_a_graph_that_there_is_no_time_for_joins_some_rows(model):
    X, y = two_classes(1500, 4)
    if hasattr(model, "unlabelled"):
        model.set_params(unlabelled=-2)
    model.set_params(time_limit=0.0).fit(X, np.where(np.arange(1500) % 15, -2, y))
    assert not model.certificate_.ok
    assert "no time for all rows" in model.certificate_.about
    assert model.graph_.nnz
    assert np.isfinite(model.predict(X[:5])).all()
    if not isinstance(model, GraphSpreading):
        assert len(model.landmark_indices_) == LANDMARKS_IN_TIME


def test_rows_that_come_first_are_among_those_that_there_is_time_for():
    first = np.array([3, 40, 41])
    some = rows_in_time(60, 10, first)
    assert len(np.unique(some)) == 10
    assert np.isin(first, some).all()
