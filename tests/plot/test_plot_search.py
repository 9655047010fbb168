"""Pictures show the numbers they are given: scores, choices, scales and names."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    learning_curve,
    validation_curve,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from mercer import KernelRidge, plot
from mercer.cv_results import Axis
from mercer.kernels import RBF, Laplacian, Linear
from mercer.plot._axes import ValueScale
from tests.cases import table, two_classes

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

ROWS, SIGN = two_classes(60)
TREE = DecisionTreeClassifier(random_state=0)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def ridge_search(grid, **options):
    rows = table(40, 2)
    return GridSearchCV(KernelRidge(RBF(gamma=1.0)), grid, cv=3, **options).fit(rows, rows[:, 0])


def mesh_of(ax):
    return ax.collections[0].get_array().reshape(len(ax.get_yticks()), len(ax.get_xticks()))


def chosen_text(ax):
    return next(t.get_text() for t in ax.get_legend().get_texts() if "chosen" in t.get_text())


def frame_of(ax):
    """Return the corners of the frame around the chosen cell."""
    (line,) = [line for line in ax.lines if "chosen" in str(line.get_label())]
    return np.array(line.get_data())


# ---------------------------------------------------------------- surfaces
def test_a_surface_holds_the_scores_of_the_grid():
    found = ridge_search({"lam": [1.0, 0.01, 0.1], "kernel__gamma": [10.0, 0.1, 1.0, 0.01]})
    ax = plot.search(found, x="lam", y="kernel__gamma")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("lam", "kernel__gamma")
    assert ax.get_xscale() == ax.get_yscale() == "log"
    shown = mesh_of(ax)
    for params, score in zip(
        found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True
    ):
        i = [0.01, 0.1, 1.0].index(params["lam"])
        j = [0.01, 0.1, 1.0, 10.0].index(params["kernel__gamma"])
        assert shown[j, i] == score
    (x0, x1), (y0, y1) = (np.sort(np.unique(side)) for side in frame_of(ax))
    assert x0 < found.best_params_["lam"] < x1 < 10 * x0 * 1.001
    assert y0 < found.best_params_["kernel__gamma"] < y1 < 10 * y0 * 1.001
    assert ax.figure.axes[1].get_ylabel() == "score, mean of 3 folds"


def test_without_names_the_first_two_that_vary_are_drawn():
    found = ridge_search({"lam": [0.1, 1.0], "kernel__gamma": [0.1, 1.0], "fit_intercept": [True]})
    ax = plot.search(found)
    assert {ax.get_xlabel(), ax.get_ylabel()} == {"lam", "kernel__gamma"}
    other = plot.search(found, y="kernel__gamma")
    assert (other.get_xlabel(), other.get_ylabel()) == ("lam", "kernel__gamma")


def test_of_other_parameters_the_best_value_is_taken():
    grid = {"max_depth": [1, 2, 3], "min_samples_leaf": [1, 5, 9], "max_features": [1, 2]}
    found = GridSearchCV(TREE, grid, cv=3).fit(ROWS, SIGN)
    shown = mesh_of(plot.search(found, "max_depth", "min_samples_leaf"))
    cube = found.cv_results_["mean_test_score"].reshape(3, 2, 3)  # in the order of sorted names
    np.testing.assert_array_equal(shown, cube.max(axis=1).T)


def test_kernels_stand_side_by_side():
    kernels = [Laplacian(), "linear", RBF(gamma=0.1) + Linear()]
    ax = plot.search(ridge_search({"kernel": kernels, "lam": [0.01, 1.0]}), x="kernel", y="lam")
    names = [t.get_text() for t in ax.get_xticklabels()]
    assert names == ["Laplacian()", "linear", "RBF(gamma=0.1) + Linear()"]
    assert ax.get_xscale() == "linear"
    assert ax.get_yscale() == "log"


def test_scores_are_written_into_the_cells_of_a_small_grid():
    found = ridge_search({"lam": [0.01, 0.1, 1.0], "kernel__gamma": [0.1, 1.0]})
    written = sorted(float(t.get_text().replace("−", "-")) for t in plot.search(found).texts)
    wanted = np.sort(found.cv_results_["mean_test_score"])
    np.testing.assert_allclose(written, wanted, atol=6e-3)


def test_a_random_search_is_drawn_as_dots():
    draws = {"max_depth": list(range(1, 40)), "min_samples_leaf": list(range(1, 40))}
    found = RandomizedSearchCV(TREE, draws, n_iter=12, cv=3, random_state=0).fit(ROWS, SIGN)
    ax = plot.search(found, "max_depth", "min_samples_leaf")
    (dots,) = [c for c in ax.collections if len(c.get_offsets()) == 12]
    scores = dict(zip(map(tuple, dots.get_offsets().tolist()), dots.get_array(), strict=True))
    for params, score in zip(
        found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True
    ):
        assert scores[params["max_depth"], params["min_samples_leaf"]] == score


def test_grids_with_different_parameters_leave_cells_empty():
    grids = [{"max_depth": [1, 2], "min_samples_leaf": [1, 5]}, {"max_depth": [3]}]
    found = GridSearchCV(TREE, grids, cv=3).fit(ROWS, SIGN)
    assert mesh_of(plot.search(found, "max_depth", "min_samples_leaf")).shape == (2, 2)
    assert len(plot.search(found, "max_depth").lines[0].get_xdata()) == 3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_failed_fits_leave_a_gap():
    class Fails(KNeighborsClassifier):
        def fit(self, X, y):
            if self.n_neighbors == 3:
                raise ValueError("three is refused")
            return super().fit(X, y)

    grid = {"n_neighbors": [1, 3, 5], "p": [1, 2]}
    found = GridSearchCV(Fails(), grid, cv=3).fit(ROWS, SIGN)
    shown = mesh_of(plot.search(found, "n_neighbors", "p"))
    np.testing.assert_array_equal(np.ma.getmaskarray(shown), [[False, True, False]] * 2)


def test_hopeless_scores_do_not_eat_the_colours():
    class Results:
        cv_results_ = {
            "params": [{"a": a, "b": b} for a in (1.0, 2.0, 3.0) for b in (1.0, 2.0, 3.0)],
            "mean_test_score": np.array([-1e6, 0.5, 0.6, 0.7, 0.8, 0.6, 0.7, 0.5, 0.6]),
            "std_test_score": np.zeros(9),
        }

    ax = plot.search(Results())
    assert -1 < ax.collections[0].norm.vmin < 0.5
    assert ax.figure.axes[1].get_ylabel() == "score"
    assert "0.8" in chosen_text(ax)  # nothing says what was chosen: the best


# ---------------------------------------------------------------- curves
def test_one_parameter_makes_a_curve_with_a_band():
    found = ridge_search({"lam": [1e-4, 1e-2, 1.0]})
    ax = plot.search(found)
    mean, std = (found.cv_results_[f"{k}_test_score"] for k in ("mean", "std"))
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), mean)
    edge = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert edge.max() == pytest.approx((mean + std).max())
    assert edge.min() == pytest.approx((mean - std).min())
    assert ax.get_xscale() == "log"
    assert chosen_text(ax).startswith("chosen: lam = ")


def test_a_curve_over_kernels_has_bars():
    found = ridge_search({"kernel": ["rbf", "linear", Laplacian()]})
    ax = plot.search(found)
    (bars,) = ax.containers
    np.testing.assert_array_equal(bars.lines[0].get_ydata(), found.cv_results_["mean_test_score"])


def test_several_scores_are_chosen_from():
    found = GridSearchCV(
        TREE, {"max_depth": [1, 2, 3]}, cv=3, scoring=["accuracy", "f1_macro"], refit="f1_macro"
    ).fit(ROWS, SIGN)
    results = found.cv_results_
    for scoring, key in ((None, "f1_macro"), ("accuracy", "accuracy")):
        ax = plot.search(found, scoring=scoring)
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), results[f"mean_test_{key}"])
        assert ax.get_ylabel().startswith(key.replace("_", " "))
    with pytest.raises(ValueError, match=r"one of \['accuracy', 'f1_macro'\]; got 'recall'"):
        plot.search(found, scoring="recall")


def test_the_name_of_the_only_score_is_understood():
    found = ridge_search({"lam": [0.1, 1.0]}, scoring="neg_mean_squared_error")
    ax = plot.search(found, scoring="neg_mean_squared_error")
    assert ax.get_ylabel() == "neg mean squared error, mean of 3 folds"


def test_the_curve_of_scikit_learns_learning_curve():
    sizes, train, test = learning_curve(TREE, ROWS, SIGN, cv=4, train_sizes=[10, 20, 45])
    ax = plot.learning_curve(sizes, train, test, score="accuracy")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("training rows", "accuracy")
    for line, scores in zip(ax.lines, (train, test), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), sizes)
        np.testing.assert_allclose(line.get_ydata(), scores.mean(axis=1))


def test_the_curve_of_scikit_learns_validation_curve():
    depths = [9, 1, 3]  # in any order
    scores = validation_curve(TREE, ROWS, SIGN, param_name="max_depth", param_range=depths, cv=4)
    ax = plot.validation_curve(depths, *scores, parameter="max_depth")
    order = [1, 2, 0]
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [1, 3, 9])
    for line, table_of_scores in zip(ax.lines[:2], scores, strict=True):
        np.testing.assert_allclose(line.get_ydata(), table_of_scores.mean(axis=1)[order])
    best = depths[int(scores[1].mean(axis=1).argmax())]
    assert ax.lines[2].get_xdata()[0] == best
    assert f"max_depth = {best}" in ax.get_legend().get_texts()[-1].get_text()


def test_folds_that_failed_are_left_out_of_the_mean():
    ax = plot.learning_curve([5, 9], [[1.0, np.nan], [1.0, 1.0]], [[0.5, np.nan], [0.5, 0.7]])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [0.5, 0.6])


def test_the_given_axes_are_used():
    figure, axes = plt.subplots(1, 3)
    found = ridge_search({"lam": [0.1, 1.0], "kernel__gamma": [0.1, 1.0]})
    assert plot.search(found, ax=axes[0]) is axes[0]
    assert plot.learning_curve([1, 2], [1, 1], [0, 1], ax=axes[1]) is axes[1]
    assert plot.validation_curve([1, 2], [1, 1], [0, 1], ax=axes[2]) is axes[2]
    assert plt.get_fignums() == [figure.number]


def test_drawing_leaves_the_settings_of_matplotlib_alone():
    before = dict(matplotlib.rcParams)
    ax = plot.search(ridge_search({"lam": [0.1, 1.0], "kernel__gamma": [0.1, 1.0]}))
    ax.figure.canvas.draw()
    assert dict(matplotlib.rcParams) == before


# ---------------------------------------------------------------- scales
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.logspace(-3, 3, 7), "log"),
        ([1, 10, 100], "log"),
        ([0.1, 10.0], "log"),
        ([1, 2, 4, 8, 16], "log"),
        (range(1, 10), "linear"),
        ([1, 2, 3], "linear"),
        ([0.0, 0.1, 1.0, 10.0], "linear"),  # 0 has no logarithm
        ([-1.0, 1.0], "linear"),
        ([True, False], "category"),
        (["scale", 0.1], "category"),
        ([None, 3], "category"),
        ([Linear(), RBF(gamma=1.0)], "category"),
        ([np.zeros(2), np.ones(2)], "category"),
    ],
)
def test_a_scale_follows_the_values(values, kind):
    assert ValueScale.of(Axis.of("parameter", list(values)).values).kind == kind


def test_borders_of_cells_enclose_their_values():
    for values in ([1.0, 2.0, 7.0], list(np.logspace(-2, 2, 5)), ["a", "b"], [4.0]):
        scale = ValueScale.of(tuple(values))
        edges = scale.edges()
        assert len(edges) == len(values) + 1
        assert (edges[:-1] < scale.positions).all()
        assert (scale.positions < edges[1:]).all()


# ---------------------------------------------------------------- bad input
def test_what_is_no_search_is_refused():
    with pytest.raises(TypeError, match="fitted search with cv_results_; got DummyClassifier"):
        plot.search(DummyClassifier())


def test_unknown_parameters_are_named():
    found = ridge_search({"lam": [0.1, 1.0]})
    with pytest.raises(ValueError, match=r"x must be one of \['lam'\]; got 'C'"):
        plot.search(found, "C")
    with pytest.raises(ValueError, match="two parameters; got 'lam' twice"):
        plot.search(found, "lam", "lam")


@pytest.mark.parametrize("scores", [[[1.0, 2.0]], np.ones((3, 2)), np.full((2, 2), np.nan)])
def test_scores_of_the_wrong_shape_are_named(scores):
    with pytest.raises(ValueError, match=r"test_scores must have shape \(2, n_folds\)"):
        plot.learning_curve([1, 2], np.ones((2, 2)), scores)
    with pytest.raises(ValueError, match=r"train_scores must have shape \(2, n_folds\)"):
        plot.validation_curve([1, 2], scores, np.ones((2, 2)))


def test_the_same_value_twice_is_refused():
    with pytest.raises(ValueError, match="values must be distinct"):
        plot.validation_curve([1, 1.0], np.ones((2, 2)), np.ones((2, 2)))


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'mercer\[plot\]'"):
        plot.learning_curve([1, 2], [1, 1], [0, 1])
