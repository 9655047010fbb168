"""The search, the rows worth a look, and the learning curve of a study."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from mercer import (
    KNN,
    SVC,
    KernelRidge,
    KernelSearchCV,
)
from mercer.kernels import RBF
from mercer.report import _pictures
from mercer.report._budget import LeftOutError
from mercer.report.examine import examine
from mercer.select import tune
from tests.report.subjects import (
    CANCER,
    DIABETES,
    IRIS,
    MODELS,
    halves,
    scaled,
    study_of,
)


# ---------------------------------------------------------------- searches
def test_a_search_is_drawn_over_its_grid():
    grid = {"C": [0.1, 1, 10], "kernel__gamma": [0.01, 0.1]}
    search = KernelSearchCV(SVC("rbf"), grid, cv=3, progress=False)
    surface = study_of(search, IRIS).surface
    assert surface.parameters == ("C", "kernel__gamma")
    assert surface.values == ((0.1, 1.0, 10.0), (0.01, 0.1))
    scores = dict(zip(map(str, search.cv_results_["params"]), surface.scores.ravel(), strict=True))
    means = zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    assert all(scores[str(params)] == score for params, score in means)
    point = {n: v[i] for n, v, i in zip(*_axes(surface), surface.chosen, strict=True)}
    assert point == search.best_params_


def _axes(surface: Any) -> Any:
    return surface.parameters, surface.values


@pytest.mark.parametrize("model", [SVC(), KernelRidge()], ids=["SVC", "KernelRidge"])
def test_both_rounds_of_tune_are_on_one_surface(model):
    data = IRIS if isinstance(model, SVC) else DIABETES
    train, test = halves(data)
    search = tune(model, *train, cv=3, progress=False)
    surface = examine(search, *test, train=train, time_limit=60).surface
    assert np.nanmax(surface.scores) == surface.scores[surface.chosen]
    assert np.count_nonzero(~np.isnan(surface.scores)) == len(search.cv_results_["params"])
    assert np.isnan(surface.scores).any()
    assert all(list(values) == sorted(values) for values in surface.values)


def test_of_many_parameters_the_two_that_matter_are_drawn():
    grid = {
        "svc__C": [1e-3, 10.0],
        "svc__kernel__gamma": [1e-4, 1.0],
        "svc__tol": [1e-3, 1e-4],
    }
    search = GridSearchCV(scaled(SVC(RBF())), grid, cv=3)
    surface = study_of(search, IRIS).surface
    assert surface.parameters == ("svc__C", "svc__kernel__gamma")
    assert "of svc__tol the best value at each point" in surface.words
    assert surface.scores.max() == search.best_score_


def test_values_that_are_no_numbers_stand_side_by_side():
    search = GridSearchCV(SVC(), {"kernel": ["linear", "rbf", "polynomial"]}, cv=3)
    surface = study_of(search, IRIS).surface
    assert surface.values == (("linear", "rbf", "polynomial"),)
    assert surface.values[0][surface.chosen[0]] == search.best_params_["kernel"]


def test_a_search_can_be_given_beside_its_estimator():
    train, test = halves(IRIS)
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=3).fit(*train)
    study = examine(search.best_estimator_, *test, search=search)
    assert study.surface.parameters == ("C",)


def test_one_candidate_is_no_surface():
    study = study_of(GridSearchCV(SVC(), {"C": [1.0]}, cv=3), IRIS)
    assert "one value of each parameter" in study.left_out["tuning"]


def test_a_search_at_the_end_of_a_pipeline_is_found():
    study = study_of(scaled(GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=3)), IRIS)
    assert study.surface.parameters == ("C",)
    assert study.proof.ok


# ---------------------------------------------------------------- cases
def test_the_most_certain_mistakes_come_first(studies):
    (model, data), tables = MODELS["SVC"], studies["SVC"].cases
    _, (X, y) = halves(data)
    wrong = np.flatnonzero(model.predict(X) != y)
    certainty = np.abs(model.decision_function(X))
    expected = wrong[np.argsort(-certainty[wrong])][:10]
    by_heading = {table.heading: [case.row for case in table.cases] for table in tables}
    assert by_heading["most certain and wrong"] == expected.tolist()
    assert by_heading["least certain"] == np.argsort(certainty)[:10].tolist()


def test_probabilities_are_the_certainty_where_there_are_any(studies):
    (model, data), tables = (
        MODELS["SVC with probabilities"],
        studies["SVC with probabilities"].cases,
    )
    _, (X, _) = halves(data)
    largest = model.predict_proba(X).max(axis=1)
    case = next(t for t in tables if t.heading == "least certain").cases[0]
    assert case.row == largest.argmin()
    assert case.confidence == f"{100 * largest.min():.0f}\u00a0%"


def test_the_largest_residuals_come_first(studies):
    (model, data), table = MODELS["KernelRidge"], studies["KernelRidge"].cases[0]
    _, (X, y) = halves(data)
    residual = y - model.predict(X)
    assert [case.row for case in table.cases] == np.argsort(-np.abs(residual))[:10].tolist()
    assert float(table.cases[0].confidence) == pytest.approx(residual[table.cases[0].row], rel=1e-3)


def test_support_vectors_are_rows_of_the_training_set(studies):
    (model, data), table = MODELS["SVC"], studies["SVC"].cases[-1]
    (X, y), _ = halves(data)
    weight = dict(zip(model[-1].support_, np.abs(model[-1].dual_coef_[0]), strict=True))
    largest = sorted(weight.values())[-10:][::-1]
    assert [weight[case.row] for case in table.cases] == pytest.approx(largest)
    assert all(case.truth == str(y[case.row]) for case in table.cases)
    assert all(
        case.values["x0"] == f"{X[case.row, 0]:.4g}" for case in table.cases if "x0" in case.values
    )
    assert f"{len(weight)} of {len(X)} training rows" in table.words


def test_without_training_rows_support_vectors_come_from_the_model():
    (X, y), test = halves(IRIS)
    table = examine(SVC().fit(X, y), *test).cases[-1]
    assert table.heading == "support vectors"
    for case in table.cases:
        assert list(case.values.values()) == [f"{value:.4g}" for value in X[case.row]]


# ---------------------------------------------------------------- the learning curve
def test_the_learning_curve_grows_to_two_thirds_of_the_rows(studies):
    curve = studies["SVC"].curve
    (X, _), _ = halves(CANCER)
    assert curve.sizes[-1] == len(X) - -(-len(X) // 3)
    assert np.all(np.diff(curve.sizes) > 0)
    assert curve.test[-1] > curve.test[0]
    assert f"3 folds of {len(X)} training rows" in curve.words


def test_a_rare_class_has_no_learning_curve():
    X, y = IRIS
    y = np.where(np.arange(150) < 2, 9, y)
    study = examine(SVC().fit(X, y), X, y, train=(X, y))
    assert "fewer training rows than there are folds" in study.left_out["learning curve"]


def test_too_little_time_for_many_classes_leaves_the_curve_out():
    """A part of the rows may hold fewer rows of a class than there are folds."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(520, 3)), np.repeat(np.arange(26), 20)
    study = examine(KNN().fit(X, y), X[::5], y[::5], train=(X, y), time_limit=1e-3)
    assert "were over" in study.left_out["learning curve"]
    with pytest.raises(LeftOutError, match="too few for a curve"):
        _pictures._folds(y[::10], True, 0, None, None)


def test_a_model_that_cannot_be_fitted_to_a_part_has_no_curve():
    train, test = halves(IRIS)
    model = KNN(60).fit(*train)
    study = examine(model, *test, train=train)
    assert "cannot be fitted to 48 rows: n_neighbors" in study.left_out["learning curve"]


def test_what_is_typical_is_shown_of_every_class(studies):
    table = next(
        t for t in studies["SVC, three classes"].cases if t.heading == "most certain and right"
    )
    assert {case.truth for case in table.cases[:3]} == {"0", "1", "2"}
    assert all(case.right for case in table.cases)
