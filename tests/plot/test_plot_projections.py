"""Pictures of projections show the numbers of the model and the names of the features."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import PCA, KernelPCA, plot
from mercer.plot.projections import MOST_LABELS, PALETTE
from mercer.plot.weights import spaced
from tests.cases import table

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

X = table(30, 4) * [4.0, 3.0, 2.0, 1.0]
MODEL = PCA().fit(X)


@pytest.fixture(autouse=True)
def _draw_and_close_figures():
    """Every picture is drawn to the end: warnings are errors."""
    yield
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    plt.close("all")


def heights(ax):
    return [bar.get_height() for bar in ax.patches]


# ---------------------------------------------------------------- scree
@pytest.mark.parametrize("model", [MODEL, KernelPCA().fit(X), PCA().fit(table(90, 60))], ids=repr)
def test_a_scree_plot_has_shares_and_their_sums(model):
    ax = plot.scree(model)
    shares = model.explained_variance_ratio_
    np.testing.assert_allclose(heights(ax), shares)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.cumsum(shares))
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.arange(1, len(shares) + 1))


def test_negative_eigenvalues_are_drawn_in_another_colour():
    class Scaling:
        eigenvalues_ = np.array([3.0, 1.0, -0.5])

    ax = plot.scree(Scaling())
    assert heights(ax) == [3.0, 1.0, -0.5]
    first, second, third = (bar.get_facecolor() for bar in ax.patches)
    assert first == second != third
    assert ax.get_ylabel() == "eigenvalue"


# ---------------------------------------------------------------- rows
def offsets(ax):
    return np.vstack([dots.get_offsets() for dots in ax.collections])


def test_an_embedding_is_what_the_model_says():
    ax = plot.embedding(MODEL, X, components=(2, 0))
    np.testing.assert_allclose(offsets(ax), MODEL.transform(X)[:, [2, 0]])
    assert ax.get_xlabel() == f"component 3 ({MODEL.explained_variance_ratio_[2]:.1%})"


def test_coordinates_and_embeddings_are_drawn_as_they_are():
    class Embedded:
        embedding_ = table(9, 2)

    np.testing.assert_array_equal(offsets(plot.embedding(table(9, 2))), table(9, 2))
    np.testing.assert_array_equal(offsets(plot.embedding(Embedded())), table(9, 2))


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["b", "a", "c"] * 10),
        np.array([2, 0, 1] * 10),
        np.array([True, False, True] * 10),
        np.array(["b", None, "a"] * 10, dtype=object),
        pd.Series(["b", "a", "a"] * 10, dtype="category"),
    ],
    ids=["text", "integers", "booleans", "objects", "categories"],
)
def test_labels_have_colours_markers_and_a_legend(labels):
    ax = plot.embedding(MODEL, X, labels)
    known = sorted({str(label) for label in labels})
    assert [t.get_text() for t in ax.get_legend().get_texts()] == known
    styles = {(str(d.get_facecolor()), str(d.get_paths()[0].vertices)) for d in ax.collections}
    assert len(styles) == len(known)
    for label, dots in zip(known, ax.collections, strict=True):
        rows = np.array([str(value) == label for value in labels])
        np.testing.assert_allclose(dots.get_offsets(), MODEL.transform(X)[rows][:, :2])


def test_many_labels_are_told_apart_by_markers():
    n = len(PALETTE) + 5
    ax = plot.embedding(table(n, 2), color=[f"class {i:02d}" for i in range(n)])
    styles = {(str(d.get_facecolor()), str(d.get_paths()[0].vertices)) for d in ax.collections}
    assert len(styles) == n


def test_values_have_a_colour_bar():
    for values in (X[:, 0], np.arange(30)):
        ax = plot.embedding(MODEL, X, values)
        np.testing.assert_array_equal(ax.collections[0].get_array(), values)
        assert len(ax.figure.axes) == 2


# ---------------------------------------------------------------- features
def test_a_few_features_are_arrows():
    names = ["alpha", "beta", "gamma", "delta"]
    ax = plot.loadings(PCA().fit(pd.DataFrame(X, columns=names)), components=(1, 0))
    tips = [t.xy for t in ax.texts if hasattr(t, "xyann")]
    np.testing.assert_allclose(tips, MODEL.loadings_[[1, 0]].T)
    assert {t.get_text() for t in ax.texts} - {""} == set(names)
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    for x, y in tips:
        assert left < x < right
        assert low < y < high


def test_many_features_are_a_table():
    model = PCA().fit(table(80, 50))
    ax = plot.loadings(model, components=(0, 1, 3))
    np.testing.assert_allclose(ax.images[0].get_array(), model.loadings_[[0, 1, 3]].T)
    assert [t.get_text() for t in ax.get_yticklabels()] == [f"x{i}" for i in range(50)]
    texts = [t.get_window_extent() for t in ax.get_yticklabels()]
    assert all(a.y0 >= b.y1 - 1 for a, b in pairwise(texts))  # none touch


def test_given_axes_are_used_and_kept_in_size():
    for draw in (
        lambda ax: plot.scree(MODEL, ax=ax),
        lambda ax: plot.embedding(MODEL, X, ax=ax),
        lambda ax: plot.loadings(MODEL, ax=ax),
        lambda ax: plot.loadings(MODEL, (0, 1, 2), ax=ax),
    ):
        fig, ax = plt.subplots(figsize=(5, 3))
        assert draw(ax) is ax
        assert tuple(fig.get_size_inches()) == (5, 3)


@given(st.lists(st.floats(-5, 5), max_size=9), st.floats(0.01, 2))
def test_names_are_moved_apart_and_no_further(values, gap):
    values = np.array(values)
    moved = spaced(values, gap)
    order = np.argsort(values, kind="stable")
    assert (np.diff(moved[order]) >= gap * (1 - 1e-9)).all()
    assert moved.sum() == pytest.approx(values.sum(), abs=1e-9)
    if len(values) and (np.diff(values[order]) >= gap).all():
        np.testing.assert_allclose(moved, values, atol=1e-12)


# ---------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: plot.scree(PCA()), TypeError, "explained_variance_ratio_ or eigenvalues_"),
        (lambda: plot.embedding(MODEL), TypeError, "X must be given"),
        (lambda: plot.embedding(X, X), TypeError, "must be a model with transform; got ndarray"),
        (lambda: plot.embedding(X[:, 0]), ValueError, r"shape \(n, k\); got \(30,\)"),
        (lambda: plot.embedding(X[:, :1]), ValueError, "from 0 to 0"),
        (lambda: plot.embedding(X, color=[1, 2]), ValueError, r"each of 30 rows; got \(2,\)"),
        (
            lambda: plot.embedding(table(99, 2), color=[str(i) for i in range(99)]),
            ValueError,
            f"99 labels, and no more than {MOST_LABELS}",
        ),
        (lambda: plot.loadings(PCA()), TypeError, "loadings_ or components_; got PCA"),
        (lambda: plot.loadings(MODEL, (0, 9)), ValueError, "from 0 to 3"),
        (lambda: plot.loadings(MODEL, names=["a"]), ValueError, "each of 4 features; got 1"),
    ],
)
def test_bad_input_is_explained(call, error, match):
    with pytest.raises(error, match=match):
        call()
