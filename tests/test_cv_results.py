"""The reader of ``cv_results_``: searches of one round and of several, grids that differ."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from mercer.cv_results import UNSET, Axis, Trials, score_name
from mercer.kernels import RBF


def results(params, mean, **more):
    table = {"params": params, "mean_test_score": mean, "std_test_score": np.zeros(len(mean))}
    return {**table, "split0_test_score": mean, **more}


def test_a_search_is_read():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        SVC(), [{"C": [1, 0.1]}, {"gamma": [0.1], "C": [1]}], cv=3,
        scoring=["accuracy", "f1_macro"], refit="f1_macro",
    ).fit(X, y)  # fmt: skip
    trials = Trials.of(search)
    assert (trials.metric, trials.n_folds, trials.chosen) == ("f1_macro", 3, search.best_index_)
    assert trials.names == ["C", "gamma"]
    assert trials.axis("C").values == (0.1, 1.0)
    assert trials.axis("C").places.tolist() == [1, 0, 1]
    assert trials.axis("gamma").places.tolist() == [-1, -1, 0]
    assert [axis.name for axis in trials.axes()] == ["C"]
    assert [axis.name for axis in trials.axes(unset="default")] == ["C", "gamma"]
    assert Trials.of(search, "accuracy").metric == "accuracy"
    with pytest.raises(ValueError, match="scoring must be one of"):
        Trials.of(search, "recall")
    with pytest.raises(TypeError, match="fitted search"):
        Trials.of(SVC())


def test_the_name_of_the_only_score_is_known():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(SVC(), {"C": [1, 2]}, scoring="accuracy", cv=3).fit(X, y)
    assert Trials.of(search, "accuracy").metric == "score"
    with pytest.raises(ValueError, match="scoring must be one of"):
        Trials.of(search, "recall")


@pytest.mark.parametrize(
    ("column", "values", "places"),
    [
        ([3.0, 1.0, 3.0 * (1 + 1e-12)], (1, 3), [1, 0, 1]),
        ([0.5, UNSET, 0.25], (0.25, 0.5), [1, -1, 0]),
        (["b", "a", "b"], ("b", "a"), [0, 1, 0]),
        ([True, False], (True, False), [0, 1]),
        ([None, 1.0], (None, 1.0), [0, 1]),
        ([UNSET], (), [-1]),
    ],
)
def test_values_of_an_axis(column, values, places):
    axis = Axis.of("a", column)
    assert axis.values == values
    assert axis.places.tolist() == places


def test_objects_are_told_apart_by_what_they_say():
    axis = Axis.of("kernel", [RBF(1.0), RBF(2.0), RBF(1.0)])
    assert len(axis.values) == 2
    assert axis.places.tolist() == [0, 1, 0]
    assert not axis.is_numeric


def test_rounds_on_fewer_rows_are_not_compared():
    points = [{"C": c} for c in (1.0, 2.0, 3.0, 1.0, 2.0)]
    mean = [0.99, 0.9, 0.8, 0.7, np.nan]
    table = results(points, mean, iter=[0, 0, 0, 1, 1], n_resources=[20, 20, 20, 60, 60])
    trials = Trials.read(table, chosen=3)
    assert trials.complete.tolist() == [True] * 4 + [False]
    assert trials.comparable.tolist() == [False] * 3 + [True, False]
    assert trials.last.numbers.tolist() == [3, 4]
    assert trials.last.chosen == 0
    assert trials.take(trials.rounds == 0).chosen == -1


def test_the_best_at_each_point_of_a_grid():
    points = [{"C": c, "g": g} for c, g in ((1.0, 1.0), (1.0, 2.0), (1.0, 2.0), (2.0, 1.0))]
    trials = Trials.read(results(points, [0.5, 0.9, 0.9, np.nan]), chosen=1)
    best = trials.best_at([trials.axis("C"), trials.axis("g")])
    assert best.tolist() == [[0, 1], [-1, -1]]
    assert trials.best_at([trials.axis("g")]).tolist() == [0, 1]
    assert trials.axis("g").effect(trials.mean) == pytest.approx(0.4)


def test_names_of_scores():
    assert score_name(SVC(), abs) == "abs"
    assert score_name(KMeans()) == "score"
