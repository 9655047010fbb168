"""Tuning on rows that are read in blocks."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import KNN, SVC, KernelRidge, KernelRidgeClassifier, rows, tune
from mercer.select import row_search


def problem(n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def test_the_best_kernel_and_penalty_of_all_passes():
    X, y = problem()
    opened = rows.open(X, y)
    search = tune(KernelRidge(landmarks=60), opened, random_state=0)
    assert sorted(search.best_params_) == ["kernel__gamma", "lam"]
    results = search.cv_results_
    assert search.best_score_ == pytest.approx(results["mean_test_score"].max())
    assert results["params"][search.best_index_] == search.best_params_
    assert results["iter"][search.best_index_] == 1
    again = KernelRidge(landmarks=60, random_state=0, lam=[search.best_params_["lam"]])
    again.set_params(kernel__gamma=search.best_params_["kernel__gamma"]).fit(opened)
    assert -again.cv_error_[0] == pytest.approx(search.best_score_, rel=1e-6)
    new, truth = problem(seed=1)
    np.testing.assert_allclose(search.predict(new), again.predict(new), atol=1e-4)
    assert 1 - np.mean((search.predict(new) - truth) ** 2) / np.var(truth) > 0.95
    assert "passes over rows" in search.report_
    assert search.status_ == "complete"


def test_classes_weights_and_checkpoints(tmp_path, monkeypatch):
    X, y = problem()
    opened = rows.open(X, y > 0)
    model = KernelRidgeClassifier(landmarks=40, checkpoint=str(tmp_path))
    weight = np.random.default_rng(0).uniform(0.5, 1.5, size=len(y))
    first = tune(model, opened, sample_weight=weight)
    kept = sorted(p.stat().st_mtime_ns for p in tmp_path.rglob("*.npz"))
    assert (tmp_path / "search").is_dir()
    # no kernel is tried again
    monkeypatch.setattr(KernelRidgeClassifier, "cross_validated", None)
    again = tune(model, opened, sample_weight=weight)
    assert kept == sorted(p.stat().st_mtime_ns for p in tmp_path.rglob("*.npz"))
    assert again.best_params_ == first.best_params_
    assert np.mean(again.predict(X) == (y > 0)) > 0.9


def test_kernels_are_compared_on_some_of_many_rows():
    X, y = problem(2_000)
    weight = np.ones(len(y))
    weight[:500] = 0.0
    given = {"time_limit": None, "seed": 0, "weight": weight, "choosing_rows": 300}
    search = row_search.tune_rows(KernelRidge(landmarks=40), rows.open(X, y), **given)
    assert set(search.cv_results_["n_resources"]) == {300, 2_000}
    assert search.best_score_ > -0.1
    assert search.best_estimator_.certificate_.points == 2_000


def test_few_rows_are_tuned_as_arrays():
    X, y = problem(120)
    by_rows = tune(KernelRidge(), rows.open(X, y), cv=3)
    assert by_rows.best_params_ == tune(KernelRidge(), X, y, cv=3).best_params_
    found = tune(SVC(), rows.open(X, y > 0), cv=3)
    assert found.best_params_ == tune(SVC(), X, y > 0, cv=3).best_params_


def test_a_time_limit_ends_the_search_with_what_there_is():
    X, y = problem()
    search = tune(KernelRidge(landmarks=20), rows.open(X, y), time_limit=1e-9)
    assert search.status_ == "time_limit"
    assert len({p["kernel__gamma"] for p in search.cv_results_["params"]}) == 1


def test_what_passes_cannot_do_is_said(monkeypatch):
    X, y = problem()
    opened, model = rows.open(X, y), KernelRidge(landmarks=20)
    with pytest.raises(ValueError, match=r"cv must be None for rows in passes.*got 3"):
        tune(model, opened, cv=3)
    with pytest.raises(ValueError, match=r"scoring must be None for rows in passes.*got 'r2'"):
        tune(model, opened, scoring="r2")
    monkeypatch.setattr(row_search, "parse_memory", lambda memory: 1000)
    with pytest.raises(MemoryError, match="KNN needs them in memory"):
        tune(KNN(), opened)
