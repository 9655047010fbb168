"""The picture of a model on a plane shows what the model says there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC as LibSVC
from sklearn.svm import LinearSVC as LibLinear
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mercer import (
    GMM,
    KNN,
    PCA,
    SVC,
    SVR,
    AdaBoost,
    GaussianBayes,
    KernelKMeans,
    KernelRidge,
    KernelSearchCV,
    LinearSVC,
    LogisticRegression,
    MLPClassifier,
    OneClassSVM,
    Perceptron,
)
from mercer.kernels import RBF
from mercer.plot import DecisionDisplay
from mercer.plot.decision import certainty, edges
from mercer.plot.plane import Plane
from tests.cases import table, two_classes
from tests.compare import refuses

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

X, SIGN = two_classes(50, overlap=0.7)
TEXT = np.where(SIGN > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
WIDE = table(40, 4)
WIDE_TEXT = np.where(WIDE[:, 0] + WIDE[:, 2] > 0, "yes", "no")
LOOK = DecisionDisplay.from_estimator


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def drawn():
    """Draw every picture to the end: warnings are errors."""
    yield
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()


def look(model, rows=X, y=TEXT, **options):
    return LOOK(model, rows, y, grid_resolution=31, **options)


def grid_of(display):
    return np.column_stack([side.ravel() for side in np.meshgrid(display.u, display.v)])


def legend(display):
    box = display.ax_.get_legend()
    return [] if box is None else [t.get_text() for t in box.get_texts()]


def dashed(display):
    return [c for c in contours(display) if c.get_linestyle()[0][1] is not None]


def contours(display):
    found = display.ax_.collections
    return [c for c in found if isinstance(c, matplotlib.contour.ContourSet)]


def dots(display):
    return [c for c in display.ax_.collections if hasattr(c, "get_sizes") and len(c.get_sizes())]


# ---------------------------------------------------------------- what the model says
@pytest.mark.parametrize(
    ("model", "method", "kind"),
    [
        (SVC("rbf"), "decision_function", "margin"),
        (LinearSVC(), "decision_function", "margin"),
        (LibSVC(), "decision_function", "margin"),
        (LibLinear(), "decision_function", "margin"),
        (Perceptron(RBF(gamma=50.0)), "decision_function", "decision"),
        (KNN(3), "predict_proba", "probability"),
        (LogisticRegression(), "predict_proba", "probability"),
        (AdaBoost(n_estimators=5), "predict_proba", "probability"),
        (LinearDiscriminantAnalysis(), "predict_proba", "probability"),
        (DecisionTreeClassifier(random_state=0), "predict_proba", "probability"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else str(value),
)
def test_two_classes_show_what_the_model_says_at_each_point(model, method, kind):
    display = look(model.fit(X, TEXT))
    answers = getattr(model, method)(grid_of(display))
    answers = answers[:, 1] if answers.ndim == 2 else answers
    np.testing.assert_allclose(display.response.ravel(), answers)
    classes = np.array(display.classes)
    np.testing.assert_array_equal(classes[display.codes.ravel()], model.predict(grid_of(display)))
    assert display.kind == kind


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_network_is_a_classifier_like_others():
    model = MLPClassifier((4,), max_epochs=20, random_state=0).fit(X, TEXT)
    assert look(model).kind == "probability"


def test_each_response_can_be_asked_for():
    model = LogisticRegression().fit(X, TEXT)
    assert look(model, response_method="decision_function").kind == "decision"
    shown = look(model, response_method="predict")
    assert shown.kind == "class"
    np.testing.assert_array_equal(shown.response, shown.codes)


@pytest.mark.parametrize("model", [SVC("rbf"), LogisticRegression(), KNN(3)], ids=repr)
def test_several_classes_have_their_regions(model, drawn):
    display = look(model.fit(X, THREE), y=THREE)
    assert display.classes == ("a", "b", "c")
    predicted = model.predict(grid_of(display))
    np.testing.assert_array_equal(np.array(["a", "b", "c"])[display.codes.ravel()], predicted)
    assert legend(display)[:3] == ["a", "b", "c"]
    (image,) = display.ax_.images
    assert image.origin == "lower"  # the first row of the grid lies below
    assert image.get_extent() == [*display.u[[0, -1]], *display.v[[0, -1]]]
    shades = image.get_array().reshape(-1, 3)
    for code in range(3):  # a region is a mixture of its own colour with white
        part = 1.0 - shades[display.codes.ravel() == code]
        direction = part / np.linalg.norm(part, axis=1, keepdims=True)
        np.testing.assert_allclose(direction, direction[:1].repeat(len(part), axis=0), atol=1e-12)


def test_margins_are_lines_at_plus_and_minus_one():
    display = look(SVC("linear", C=0.1).fit(X, TEXT))
    (margin,) = dashed(display)
    assert margin.levels.tolist() == [-1.0, 1.0]
    for level, path in zip((-1.0, 1.0), margin.get_paths(), strict=True):
        found = SVC("linear", C=0.1).fit(X, TEXT).decision_function(path.vertices)
        np.testing.assert_allclose(found, level, atol=1e-6)  # of a linear function: exact
    assert "f = ±1" in legend(display)


def test_a_margin_outside_the_picture_is_not_drawn():
    weak = SVC("linear", C=1e-6).fit(X, TEXT)
    display = look(weak)
    assert np.abs(display.response).max() < 1
    assert dashed(display) == []
    assert "f = ±1" not in legend(display)


def test_support_vectors_are_ringed(drawn):
    model = SVC("rbf").fit(X, TEXT)
    display = look(model)
    np.testing.assert_array_equal(display.support, model.support_vectors_)
    rings = dots(display)[-1]
    np.testing.assert_array_equal(rings.get_offsets(), model.support_vectors_)
    assert f"{len(model.support_)} support vectors" in legend(display)


def test_rows_of_another_table_are_not_taken_for_support_vectors():
    model, pipeline = SVC("rbf").fit(X, TEXT), make_pipeline(StandardScaler(), SVC("rbf"))
    others = X[::-1] + 0.1
    np.testing.assert_array_equal(look(model, others).support, model.support_vectors_)
    pipeline.fit(X, TEXT)
    support = pipeline[-1].support_
    np.testing.assert_array_equal(look(pipeline).support, X[support])
    assert len(look(pipeline, others).support) == 0


def test_rows_have_the_colour_and_the_marker_of_their_class():
    groups = dots(look(LogisticRegression().fit(X, TEXT)))
    for label, group in zip(("no", "yes"), groups, strict=True):
        np.testing.assert_array_equal(group.get_offsets(), X[label == TEXT])
    assert len({str(g.get_facecolor()) for g in groups}) == 2
    assert len({str(g.get_paths()[0].vertices) for g in groups}) == 2


def test_without_targets_rows_have_no_class():
    (group,) = dots(look(LogisticRegression().fit(X, TEXT), y=None))
    np.testing.assert_array_equal(group.get_offsets(), X)


def test_values_are_a_filled_contour_in_the_colours_of_the_rows(drawn):
    y = np.sin(X[:, 0]) + X[:, 1]
    for model in (KernelRidge("rbf"), SVR("rbf"), DecisionTreeRegressor()):
        display = look(model.fit(X, y), y=y)
        np.testing.assert_allclose(display.response.ravel(), model.predict(grid_of(display)))
        (filled,), (group,) = contours(display), dots(display)
        assert filled.levels[0] <= display.response.min()
        assert filled.levels[-1] >= display.response.max()
        np.testing.assert_array_equal(group.get_array(), y)
        assert group.get_clim() == filled.get_clim()
        assert len(display.figure_.axes) == 2  # the colour bar


def test_a_constant_regressor_is_drawn(drawn):
    display = look(KernelRidge("rbf").fit(X, np.zeros(len(X))), y=np.zeros(len(X)))
    assert (display.response == 0).all()


def test_one_class_shows_what_belongs(drawn):
    model = OneClassSVM("rbf", nu=0.2).fit(X)
    display = look(model, y=None)
    np.testing.assert_allclose(display.response.ravel(), model.decision_function(grid_of(display)))
    assert (display.kind, display.classes) == ("outlier", ("outlier", "inlier"))
    outliers = dots(display)[0].get_offsets()
    np.testing.assert_array_equal(outliers, X[model.predict(X) == -1])
    np.testing.assert_array_equal(display.support, model.support_vectors_)
    factor = LocalOutlierFactor(5, novelty=True).fit(X)
    assert look(factor, y=None).kind == "outlier"


@pytest.mark.parametrize(
    "model", [GMM(3, random_state=0), KernelKMeans(3, random_state=0)], ids=repr
)
def test_clusters_are_regions_too(model):
    display = look(model.fit(X), y=None)
    assert display.classes == ("0", "1", "2")
    np.testing.assert_array_equal(display.target, model.predict(X))


def test_a_reject_is_a_region_of_its_own(drawn):
    model = GaussianBayes(reject=0.1, reject_label="none").fit(X, TEXT)
    display = look(model)
    assert display.classes == ("no", "yes", "none")
    predicted = model.predict(grid_of(display))
    np.testing.assert_array_equal(np.array(display.classes)[display.codes.ravel()], predicted)
    assert (predicted == "none").any()


def test_a_search_is_asked_through_its_best_model():
    search = KernelSearchCV(SVC("rbf"), {"C": [0.1, 1.0]}, cv=3).fit(X, TEXT)
    display = look(search)
    best = search.best_estimator_
    np.testing.assert_allclose(display.response.ravel(), best.decision_function(grid_of(display)))
    np.testing.assert_array_equal(display.support, best.support_vectors_)


# ---------------------------------------------------------------- lines where the class changes
@given(st.integers(2, 4), st.integers(0, 99))
@settings(max_examples=20)
def test_edges_change_their_sign_exactly_where_the_class_changes(k, seed):
    scores = np.random.default_rng(seed).normal(size=(5, 5, k))
    codes = scores.argmax(axis=2)
    response = scores if k > 2 else scores[:, :, 1] - scores[:, :, 0]
    names = tuple("abcd"[:k])
    side = np.arange(5.0)
    for rule in (codes, (codes + 1) % k):  # the largest score decides, and another rule
        fields = edges(DecisionDisplay(side, side, response, "decision", rule, names))
        for code, field in enumerate(fields):
            np.testing.assert_array_equal(field > 0, rule == code)


@given(st.floats(0.0, 1.0))
def test_certainty_is_0_where_all_is_open_and_1_where_all_is_clear(p):
    side = np.arange(2.0)
    flat = certainty(DecisionDisplay(side, side, np.full((2, 2), p), "probability"))
    np.testing.assert_allclose(flat, abs(2 * p - 1))
    rest = np.array([p, (1 - p) / 2, (1 - p) / 2])
    three = certainty(DecisionDisplay(side, side, np.tile(rest, (2, 2, 1)), "probability"))
    np.testing.assert_allclose(three, (rest.max() - 1 / 3) * 1.5)


# ---------------------------------------------------------------- tables
@pytest.mark.parametrize("features", [(2, 0), ("c", "a")])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_other_columns_stand_at_their_median(frame, features):
    names = list("abcd")
    data = frame({name: WIDE[:, i] for i, name in enumerate(names)})
    model = SVC("rbf").fit(data, WIDE_TEXT)
    display = look(model, data, WIDE_TEXT, features=features)
    rows = np.tile(np.median(WIDE, axis=0), (31 * 31, 1))
    rows[:, [2, 0]] = grid_of(display)
    plain = SVC("rbf").fit(WIDE, WIDE_TEXT).decision_function(rows)
    np.testing.assert_allclose(display.response.ravel(), plain)
    np.testing.assert_array_equal(display.points, WIDE[:, [2, 0]])
    assert display.ax_.get_xlabel() == "c\n(2 other columns at the median)"
    assert display.ax_.get_ylabel() == "a"


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_sparse_rows_are_asked_as_sparse_rows(kind):
    dense = WIDE * (table(40, 4, seed=3) > 0)
    dense[:, 3] = np.abs(dense[:, 3]) + 1.0  # mostly not empty: its median is not 0
    model = SVC("linear").fit(kind(dense), WIDE_TEXT)
    display = look(model, kind(dense), WIDE_TEXT, features=(1, 2))
    rows = np.tile(np.median(dense, axis=0), (31 * 31, 1))
    rows[:, [1, 2]] = grid_of(display)
    np.testing.assert_allclose(display.response.ravel(), model.decision_function(rows), atol=1e-12)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_columns_that_are_not_numbers_stand_at_their_commonest(frame):
    town = ["Ulm", "Bonn", "Bonn", "Bonn"] * 10
    data = frame({"town": town, "x": WIDE[:, 0], "flag": [True, True, False, True] * 10,
                  "z": WIDE[:, 1]})  # fmt: skip
    encode = ColumnTransformer(
        [("town", OneHotEncoder(), ["town"]), ("rest", "passthrough", ["x", "flag", "z"])]
    )
    model = make_pipeline(encode, LogisticRegression()).fit(data, WIDE_TEXT)
    display = look(model, data, WIDE_TEXT)
    assert display.ax_.get_xlabel().startswith("x\n(2 other columns at the median or commonest")
    grid = grid_of(display)
    rows = frame({"town": ["Bonn"] * len(grid), "x": grid[:, 0], "flag": [True] * len(grid),
                  "z": grid[:, 1]})  # fmt: skip
    np.testing.assert_allclose(display.response.ravel(), model.predict_proba(rows)[:, 1])


def test_categories_keep_their_type():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [1, 5, 9], "k": pd.Categorical(list("abb"))})
    seen = []
    Plane.of(frame).ask(lambda rows: seen.append(rows) or np.zeros(len(rows)), np.zeros((4, 2)))
    assert seen[0].dtypes["k"] == frame.dtypes["k"]
    assert seen[0]["k"].tolist() == ["b"] * 4


def test_a_table_with_many_columns_is_asked_in_parts():
    sizes = []

    def answer(rows):
        sizes.append(len(rows))
        return rows[:, 1]

    points = table(25, 2)
    np.testing.assert_array_equal(Plane.of(WIDE).ask(answer, points, most_cells=40), points[:, 1])
    assert sizes == [10, 10, 5]


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_units_do_not_matter(scale, drawn):
    model = KNN(3).fit(X, TEXT)
    scaled = KNN(3).fit(X * scale, TEXT)
    display, other = look(model), look(scaled, X * scale)
    np.testing.assert_allclose(other.u / scale, display.u)
    np.testing.assert_array_equal(other.codes, display.codes)


@pytest.mark.parametrize("n", [1, 2])
def test_few_rows_and_constant_columns_have_a_plane(n, drawn):
    model = LogisticRegression().fit(X, TEXT)
    display = look(model, np.full((n, 2), 3.0), TEXT[:n])
    assert display.u[0] < 3.0 < display.u[-1]
    assert np.isfinite(display.response).all()


def test_missing_cells_are_left_out_of_the_plane():
    holes = X.copy()
    holes[0, 0], holes[1, 1] = np.nan, np.nan
    plane = Plane.of(holes)
    assert np.isfinite(plane.axes(5)).all()


# ---------------------------------------------------------------- drawing again
def test_a_display_can_be_drawn_again_elsewhere():
    display = look(SVC("rbf").fit(X, TEXT))
    figure, ax = plt.subplots(figsize=(4, 3))
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert len(ax.images) == 1


def test_the_legend_of_long_names_stays_inside_the_figure():
    names = np.array([f"a class with a long name {i}" for i in range(5)])
    y = names[np.arange(50) % 5]
    figure, ax = plt.subplots(figsize=(4, 3.4), layout="constrained")
    look(KNN(3).fit(X, y), y=y, ax=ax)
    figure.canvas.draw()
    box = ax.get_legend().get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.bbox.y1


# ---------------------------------------------------------------- bad input
MODEL = LogisticRegression().fit(X, TEXT)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: look(SVC()), NotFittedError, "SVC"),
        (lambda: look(make_pipeline(StandardScaler(), SVC())), NotFittedError, "Pipeline"),
        (lambda: look(SVC), TypeError, "fitted estimator; got SVC"),
        (lambda: look(3), TypeError, "fitted estimator; got int"),
        (lambda: look(PCA().fit(X)), TypeError, "predict; PCA does not have it"),
        (lambda: look(MODEL, X[:, :1]), ValueError, "two columns or more"),
        (lambda: look(MODEL, X[:, 0]), ValueError, r"shape \(n, d\); got shape \(50,\)"),
        (lambda: look(MODEL, y=TEXT[:9]), ValueError, "y must have 50 entries"),
        (lambda: look(MODEL, y=["x"] * 50), ValueError, "y holds 'x', which is none of the class"),
        (lambda: look(MODEL, features=(0, 5)), ValueError, "from 0 to 1"),
        (lambda: look(MODEL, features=(0, 0)), ValueError, "two different columns"),
        (lambda: look(MODEL, features="x0"), ValueError, "two different columns"),
        (lambda: look(MODEL, response_method="proba"), ValueError, "got 'proba'"),
        (
            lambda: look(SVC().fit(X, TEXT), response_method="predict_proba"),
            TypeError,
            "which SVC does not have",
        ),
        (lambda: LOOK(MODEL, X, grid_resolution=1), ValueError, "grid_resolution must be"),
        (
            lambda: look(SVC("precomputed").fit(X @ X.T, TEXT), X @ X.T),
            ValueError,
            "sees no columns",
        ),
        (
            lambda: look(DecisionTreeRegressor().fit(X, X), y=None),
            ValueError,
            "one value for each row; it predicts 2",
        ),
        (
            lambda: look(MODEL, pd.DataFrame({"a": list("xy"), "b": [1, 2]})),
            ValueError,
            "two columns of numbers",
        ),
        (
            lambda: look(MODEL, pd.DataFrame({"a": list("xy"), "b": [1, 2]}), features=("a", "b")),
            ValueError,
            "'a' has none",
        ),
    ],
)
def test_bad_input_is_explained(call, error, match):
    refuses(call, error, match)
