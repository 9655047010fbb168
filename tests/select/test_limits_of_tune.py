"""A time limit of ``tune`` is for an answer, not for none."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import KernelRidge, tune

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
rng = np.random.default_rng(0)
X = rng.normal(size=(1600, 3))
y = X[:, 0] ** 2 + 0.1 * rng.normal(size=1600)


def test_many_rows_with_a_limit_are_searched_in_stages():
    search = tune(KernelRidge("linear"), X, X @ [1.0, 2.0, 3.0], time_limit=60.0, refit=False)
    assert search.strategy == "staged"
    assert min(search.cv_results_["n_resources"]) == 1500
    assert search.best_score_ > 0.9


@pytest.mark.parametrize(("n", "limit"), [(200, 60.0), (1600, None)])
def test_few_rows_or_no_limit_are_searched_exactly(n, limit):
    rows = X[:n, :1], y[:n]
    how = {"time_limit": limit, "refit": False, "cv": 2}
    search = tune(KernelRidge("linear"), *rows, **how)
    assert search.strategy == "exact"


def test_folds_that_are_given_stay_as_they_are():
    folds = [(np.arange(0, 1600, 2), np.arange(1, 1600, 2))]
    search = tune(KernelRidge("linear"), X, y, cv=folds, time_limit=60.0, refit=False)
    assert search.strategy == "exact"
