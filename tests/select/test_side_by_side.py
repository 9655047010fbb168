"""Fits that are made at once give what they give one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning

from mercer import KernelSearchCV, MetricRidge
from mercer._array import n_threads
from mercer.select import engine
from tests.cases import table

X = table(120, 4)
Y = np.sin(2.0 * X[:, 1]) + 0.1 * X[:, 2]
GRID = {"metric": ["none", "diagonal"], "lam": [0.01, 0.1]}


def searched(**given):
    model = MetricRidge(random_state=0, rounds=2)
    return KernelSearchCV(model, GRID, cv=3, refit=False, **given).fit(X, Y)


def test_scores_are_those_of_one_after_the_other():
    together, single = searched(), searched(n_jobs=1)
    for name in ("mean_test_score", "split1_test_score"):
        np.testing.assert_allclose(together.cv_results_[name], single.cv_results_[name], rtol=1e-6)


def test_fits_go_on_where_one_fails():
    search = KernelSearchCV(
        MetricRidge(random_state=0, rounds=1), {"lam": [0.1, -1.0]}, cv=3, refit=False
    )
    not_finite = pytest.warns(UserWarning, match="non-finite")
    with pytest.warns(FitFailedWarning, match="3 of 6 fits failed"), not_finite:
        search.fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).tolist() == [True, False]


def test_ctrl_c_keeps_what_there_is(monkeypatch):
    fit, calls = MetricRidge.fit, []

    def interrupted(self, *given, **named):
        calls.append(1)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return fit(self, *given, **named)

    monkeypatch.setattr(MetricRidge, "fit", interrupted)
    not_finite = pytest.warns(UserWarning, match="non-finite")
    with pytest.warns(UserWarning, match="1 of 4 candidates"), not_finite:
        search = searched()
    assert search.status_ == "interrupted"
    assert np.isfinite(search.best_score_)


@pytest.mark.parametrize(("memory", "workers"), [("100MB", 1), ("100GB", n_threads())])
def test_little_memory_is_for_one_fit(memory, workers, monkeypatch):
    decide, found = engine._side_by_side, []
    monkeypatch.setattr(engine, "_side_by_side", lambda job: found.append(decide(job)) or found[-1])
    searched(memory=memory)
    assert found == [workers]
