"""Displays hold the numbers of a model, and draw them as the functions do."""

from __future__ import annotations

import doctest
import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, learning_curve
from sklearn.neural_network import MLPClassifier as LibNetwork
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import (
    GMM,
    MDS,
    PCA,
    SVC,
    Autoencoder,
    KernelLogistic,
    KernelPCA,
    KernelRidge,
    KernelSearchCV,
    LogisticRegression,
    em,
    optimize,
    plot,
)
from mercer.kernels import RBF, FromFunction, Linear, Sigmoid
from mercer.plot import (
    CalibrationDisplay,
    ConfusionDisplay,
    EmbeddingDisplay,
    GramDisplay,
    LearningCurveDisplay,
    PredictionDisplay,
    RocDisplay,
    ScreeDisplay,
    SearchDisplay,
    TraceDisplay,
)
from mercer.plot._display import Display
from tests.cases import table, two_classes
from tests.compare import refuses

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

X, SIGN = two_classes(60)
TEXT = np.where(SIGN > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2, [0.2, 1.0])]
TWO = LogisticRegression().fit(X[::3], TEXT[::3])
MANY = LogisticRegression().fit(X[::3], THREE[::3])
NUMBERS = X[:, 0] + X[:, 1] ** 2
RIDGE = KernelRidge("rbf").fit(X[::3], NUMBERS[::3])
DISPLAYS = [d for d in vars(plot).values() if inspect.isclass(d) and issubclass(d, Display)]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def legend(display):
    return [t.get_text() for t in display.ax_.get_legend().get_texts()]


# ---------------------------------------------------------------- all of them
def test_all_displays_are_named():
    assert {d.__name__ for d in DISPLAYS} == {n for n in plot.__all__ if n.endswith("Display")}
    assert len(DISPLAYS) == 14


@pytest.mark.parametrize("display", DISPLAYS)
def test_examples_run_with_their_drawing(display):
    source = inspect.getdoc(display).replace("# doctest: +SKIP", "")
    test = doctest.DocTestParser().get_doctest(source, {}, display.__name__, None, 0)
    runner = doctest.DocTestRunner()
    runner.run(test, clear_globs=False)
    assert runner.failures == 0
    drawn = test.globs["display"]
    assert isinstance(drawn, display)
    assert drawn.figure_ is drawn.ax_.figure


DRAWN = {
    "scree": lambda ax: ScreeDisplay.from_estimator(PCA().fit(X), ax=ax),
    "embedding": lambda ax: EmbeddingDisplay.from_estimator(PCA().fit(X), X, TEXT, ax=ax),
    "roc": lambda ax: RocDisplay.from_estimator(MANY, X, THREE, ax=ax),
    "confusion": lambda ax: ConfusionDisplay.from_estimator(MANY, X, THREE, ax=ax),
    "calibration": lambda ax: CalibrationDisplay.from_estimator(MANY, X, THREE, ax=ax),
    "prediction": lambda ax: PredictionDisplay.from_estimator(RIDGE, X, NUMBERS, ax=ax),
    "gram": lambda ax: GramDisplay.from_kernel("rbf", X, TEXT, ax=ax),
    "trace": lambda ax: TraceDisplay.from_solution(run(), ax=ax),
    "learning": lambda ax: LearningCurveDisplay.from_estimator(TWO, X, TEXT, cv=3, ax=ax),
}


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN.keys())
def test_the_given_axes_are_used_and_nothing_is_cut_off(draw):
    figure, ax = plt.subplots(figsize=(4.0, 3.4), layout="constrained")
    display = draw(ax)
    assert display.ax_ is ax
    assert plt.get_fignums() == [figure.number]
    figure.canvas.draw()
    box = figure.get_tightbbox()
    assert box.x0 > -0.02
    assert box.x1 < 4.02
    assert display.plot() is display  # and once more, on a figure of its own
    assert display.figure_ is not figure


# ---------------------------------------------------------------- projections
def test_scree_of_a_pipeline_is_that_of_its_end():
    model = make_pipeline(StandardScaler(), PCA()).fit(X)
    display = ScreeDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.values, model[-1].explained_variance_ratio_)
    np.testing.assert_allclose([b.get_height() for b in display.ax_.patches], display.values)
    scaling = MDS(2).fit(X)
    other = ScreeDisplay.from_estimator(scaling)
    assert not other.are_shares
    np.testing.assert_array_equal(other.values, scaling.eigenvalues_)


@pytest.mark.parametrize(
    "frame", [np.array, pd.DataFrame, pl.DataFrame, sp.csr_array], ids=lambda f: f.__name__
)
def test_an_embedding_takes_what_the_model_takes(frame):
    rows = frame(X)
    model = TruncatedSVD(2, random_state=0).fit(rows)
    display = EmbeddingDisplay.from_estimator(model, rows, TEXT, components=(1, 0))
    np.testing.assert_allclose(display.points, model.transform(rows)[:, [1, 0]])
    drawn = np.vstack([dots.get_offsets() for dots in display.ax_.collections])
    np.testing.assert_allclose(np.sort(drawn, axis=0), np.sort(display.points, axis=0))
    assert legend(display) == ["no", "yes"]


def test_embeddings_and_coordinates_need_no_rows():
    model = MDS(2).fit(X)
    np.testing.assert_array_equal(EmbeddingDisplay.from_estimator(model).points, model.embedding_)
    display = EmbeddingDisplay.from_coordinates(table(9, 3), np.arange(9.0), components=(0, 2))
    np.testing.assert_array_equal(display.points, table(9, 3)[:, [0, 2]])
    assert display.ax_.get_ylabel() == "component 3"


def test_a_pipeline_is_embedded_with_the_names_of_its_end():
    model = make_pipeline(StandardScaler(), KernelPCA(2, kernel="rbf")).fit(X)
    display = EmbeddingDisplay.from_estimator(model, X, NUMBERS)
    np.testing.assert_allclose(display.points, model.transform(X))
    assert display.labels[0] == f"component 1 ({model[-1].explained_variance_ratio_[0]:.1%})"


# ---------------------------------------------------------------- choice and runs
@pytest.mark.parametrize("search", [GridSearchCV, KernelSearchCV])
def test_a_search_is_drawn_as_by_the_function(search):
    grid = {"C": [0.1, 1.0], "kernel__gamma": [0.1, 1.0]}
    found = search(SVC(RBF(gamma=1.0)), grid, cv=3).fit(X, TEXT)
    display = SearchDisplay.from_estimator(found, "C", "kernel__gamma")
    np.testing.assert_array_equal(display.mean, found.cv_results_["mean_test_score"])
    assert (display.names, display.chosen) == (["C", "kernel__gamma"], found.best_index_)
    wanted = plot.search(found, "C", "kernel__gamma").collections[0].get_array()
    np.testing.assert_array_equal(display.ax_.collections[0].get_array(), wanted)


def test_a_long_choice_is_written_in_two_lines_where_the_picture_is_narrow():
    grid = {"C": [0.1, 1.0], "kernel__gamma": [0.1, 1.0]}
    found = GridSearchCV(SVC(RBF(gamma=1.0)), grid, cv=3).fit(X, TEXT)
    display = SearchDisplay.from_estimator(found, ax=plt.subplots(figsize=(4, 3))[1])
    assert legend(display)[0].count("\n") == 1
    assert "\n" not in legend(display.plot(plt.subplots(figsize=(8, 4))[1]))[0]


@pytest.mark.parametrize("curve", [learning_curve, mercer.learning_curve], ids=["plain", "shared"])
def test_a_learning_curve_is_computed_and_drawn(curve):
    options = {"cv": 3, "train_sizes": [10, 20, 40], "shuffle": True, "random_state": 0}
    display = LearningCurveDisplay.from_estimator(SVC("rbf"), X, TEXT, curve=curve, **options)
    _, train, test = learning_curve(SVC("rbf"), X, TEXT, **options)
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), train.mean(axis=1))
    np.testing.assert_allclose(display.ax_.lines[1].get_ydata(), test.mean(axis=1))
    assert display.ax_.get_ylabel() == "accuracy"


def test_the_score_has_its_name():
    options = {"cv": 3, "train_sizes": [0.5, 1.0]}
    draw = LearningCurveDisplay.from_estimator
    assert draw(KernelRidge(), X, NUMBERS, **options).score_name == "R²"
    scored = draw(KernelRidge(), X, NUMBERS, scoring="neg_mean_squared_error", **options)
    assert scored.ax_.get_ylabel() == "neg mean squared error"


def run(method=optimize.gradient_descent, start=(3.0, 1.0)):
    A = np.diag([1.0, 20.0])
    return method(lambda x: x @ A @ x, list(start), grad=lambda x: 2.0 * A @ x)


def test_one_run_shows_objective_and_gradient():
    solution = run()
    display = TraceDisplay.from_solution(solution)
    trace = solution.stats["trace"]
    above, sizes = (heights for _, heights in display.curves.values())
    np.testing.assert_array_equal(above, trace["values"] - trace["values"].min())
    np.testing.assert_array_equal(sizes, trace["gradient_norms"])
    assert display.ax_.get_yscale() == "log"


@pytest.mark.parametrize("against", ["steps", "seconds"])
def test_several_runs_are_compared_above_the_least_of_all(against):
    runs = {"descent": run(), "L-BFGS": run(optimize.lbfgs)}
    display = TraceDisplay.from_solution(runs, against=against)
    least = min(s.stats["trace"]["values"].min() for s in runs.values())
    for name, solution in runs.items():
        across, heights = display.curves[name]
        np.testing.assert_array_equal(heights, solution.stats["trace"]["values"] - least)
        assert len(across) == len(heights)
    assert legend(display) == list(runs)
    assert display.ax_.get_xlabel() == against


def test_likelihoods_of_em_rise():
    model = GMM(2, random_state=0).fit(X)
    display = TraceDisplay.from_estimator(make_pipeline(StandardScaler(), model).fit(X))
    (line,) = display.ax_.lines
    assert (np.diff(line.get_ydata()) > -1e-9).all()
    assert display.what == "log-likelihood"

    def e_step(mean):
        return mean, -float((mean - 1.0) ** 2)

    solution = em(e_step, lambda mean: (mean + 1.0) / 2, 0.0)
    (curve,) = TraceDisplay.from_solution(solution).curves.values()
    np.testing.assert_allclose(curve[1], -(0.25 ** np.arange(len(curve[1]))))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_networks_show_their_loss():
    for model in (
        Autoencoder(1, max_epochs=8, random_state=0).fit(X),
        LibNetwork((3,), max_iter=8, random_state=0).fit(X, TEXT),
    ):
        (line,) = TraceDisplay.from_estimator(model).ax_.lines
        np.testing.assert_array_equal(line.get_ydata(), model.loss_curve_)
        assert line.get_xdata()[0] == 1


# ---------------------------------------------------------------- Gram matrices
def shown(display):
    return np.asarray(display.ax_.images[0].get_array())


def test_rows_are_sorted_by_class_with_borders_between():
    display = GramDisplay.from_kernel(RBF(gamma=0.5), X, THREE)
    order = np.argsort(THREE, kind="stable")
    np.testing.assert_allclose(shown(display), RBF(gamma=0.5)(X[order]))
    counts = [np.sum(label == THREE) for label in "abc"]
    borders = sorted({float(np.ravel(line.get_xdata())[0]) for line in display.ax_.lines} - {0.0})
    np.testing.assert_allclose(borders, np.cumsum(counts)[:-1] - 0.5)
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["a", "b", "c"]
    assert display.ax_.get_title() == "60 rows"


def test_values_sort_the_rows_without_borders():
    display = GramDisplay.from_kernel("linear", X, NUMBERS)
    np.testing.assert_allclose(shown(display), Linear()(X[np.argsort(NUMBERS)]))
    assert display.ax_.lines[:] == []
    assert display.ax_.get_xlabel() == "row, in the order of y"


def test_of_many_rows_a_sample_is_drawn_with_the_kernel_of_all():
    rows, y = table(300, 2), np.arange(300) % 3
    display = GramDisplay.from_kernel("rbf", rows, y, max_rows=50)
    assert display.ax_.get_title() == "50 of 300 rows"
    whole = RBF().bind(rows)(rows)  # gamma="scale" follows all rows
    assert np.isin(shown(display).round(9), whole.round(9)).all()
    again = GramDisplay.from_kernel("rbf", rows, y, max_rows=50)
    np.testing.assert_array_equal(shown(again), shown(display))
    other = GramDisplay.from_kernel("rbf", rows, y, max_rows=50, random_state=1)
    assert not np.array_equal(shown(other), shown(display))


def test_indefinite_matrices_are_said_to_be_and_have_two_colours():
    display = GramDisplay.from_kernel(Sigmoid(), X, TEXT)
    values = np.linalg.eigvalsh(display.K)
    assert display.eigenvalue_range_ == pytest.approx((values[0], values[-1]))
    assert values[0] < 0
    assert "indefinite" in display.ax_.get_title()
    low, high = display.ax_.images[0].get_clim()
    assert low == -high
    plain = GramDisplay.from_kernel(RBF(gamma=1.0), X, TEXT)
    assert plain.ax_.images[0].get_clim()[0] == 0.0
    assert "indefinite" not in plain.ax_.get_title()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, sp.csr_array])
def test_the_kernel_of_a_model_sees_what_the_model_sees(frame):
    scaler = StandardScaler(with_mean=frame is not sp.csr_array)
    model = make_pipeline(scaler, SVC("rbf")).fit(frame(X), TEXT)
    display = GramDisplay.from_estimator(model, frame(X), TEXT)
    order = np.argsort(TEXT, kind="stable")
    seen = model[0].transform(frame(X))
    rows = seen.toarray() if sp.issparse(seen) else np.asarray(seen)
    np.testing.assert_allclose(shown(display), model[-1].kernel_(rows[order]), atol=1e-12)


def test_precomputed_matrices_and_objects_have_pictures():
    K = X @ X.T
    display = GramDisplay.from_estimator(SVC("precomputed").fit(K, TEXT), K, TEXT, max_rows=20)
    assert shown(display).shape == (20, 20)
    assert np.isin(shown(display), K).all()
    words = ["kernel", "colonel", "kennel", "tunnel"]
    shared = FromFunction(lambda a, b: float(len(set(a) & set(b))))
    drawn = shown(GramDisplay.from_kernel(shared, words))
    assert drawn.tolist() == [[len(set(a) & set(b)) for b in words] for a in words]


@pytest.mark.parametrize("n", [1, 2])
def test_the_smallest_samples_are_drawn(n):
    assert shown(GramDisplay.from_kernel("rbf", X[:n], TEXT[:n])).shape == (n, n)
    assert EmbeddingDisplay.from_coordinates(X[:n], TEXT[:n]).points.shape == (n, 2)
    PredictionDisplay.from_predictions(NUMBERS[:n], NUMBERS[:n])


# ---------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: ScreeDisplay.from_estimator(PCA()), TypeError, "must be fitted"),
        (lambda: EmbeddingDisplay.from_estimator(PCA(), X), NotFittedError, "PCA"),
        (lambda: EmbeddingDisplay.from_estimator(PCA().fit(X)), TypeError, "X must be given"),
        (lambda: SearchDisplay.from_estimator(SVC()), TypeError, "fitted search"),
        (lambda: TraceDisplay.from_estimator(RIDGE), TypeError, "keep its run"),
        (lambda: TraceDisplay.from_solution({}), ValueError, "at least one run"),
        (lambda: TraceDisplay.from_solution(run(), against="time"), ValueError, "got 'time'"),
        (lambda: GramDisplay.from_estimator(TWO, X), TypeError, "LogisticRegression has none"),
        (lambda: GramDisplay.from_estimator(KernelLogistic(), X), NotFittedError, "KernelLog"),
        (lambda: GramDisplay.from_kernel("rbf", X, TEXT[:3]), ValueError, "60 entries"),
        (lambda: GramDisplay.from_kernel("rbf", X, max_rows=0), ValueError, "max_rows must be"),
        (lambda: GramDisplay(np.ones((2, 3))), ValueError, "square matrix; got shape"),
    ],
)
def test_bad_input_is_explained(call, error, match):
    refuses(call, error, match)
