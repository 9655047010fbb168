"""Kernels on cells, against the textbook formulas in loops over Python values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import mercer
from mercer import SVC, KernelPCA, KernelRidge, check_kernel, cross_validate, tune
from mercer.kernels import Categorical, Gower, Ordinal
from mercer.kernels.cell_codes import MOST_VALUES

LEVELS = ["low", "middle", "high", "top"]
KERNELS = [Categorical(), Categorical("rarity"), Gower()]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def cells(n: int = 40, seed: int = 0) -> pd.DataFrame:
    """Return numbers and categories of which some are missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(1e6, 2.0, n),
            "count": rng.integers(0, 5, n).astype(float),
            "job": rng.choice(np.array(["baker", "smith", "🩺", ""], dtype=object), n),
            "constant": 7,
        }
    )
    for column in ("size", "count", "job"):
        frame.loc[rng.choice(n, n // 8, replace=False), column] = None
    return frame


def missing(value: object) -> bool:
    return value is None or value != value


# ---------------------------------------------------------------- the formulas, slowly
def same(a: object, b: object) -> float:
    return float((missing(a) and missing(b)) or a == b)


def near(a: float, b: float, column: list[float]) -> float:
    """Return 1 − |a − b| / range; beside a missing cell the mean over the training values."""
    present = [value for value in column if not missing(value)]
    if missing(a):
        return float(np.mean([near(value, b, column) for value in present]))
    if missing(b):
        return near(b, a, column)
    return max(0.0, 1.0 - abs(a - b) / (max(present) - min(present)))


def gower(x: dict, y: dict, train: pd.DataFrame) -> float:
    numbers = [near(x[c], y[c], train[c].tolist()) for c in ("size", "count")]
    return float(np.mean([*numbers, *(same(x[c], y[c]) for c in ("job", "constant"))]))


def rarity(x: dict, y: dict, train: pd.DataFrame) -> float:
    shares = {c: np.mean([same(x[c], other) for other in train[c]]) for c in train}
    return float(np.mean([same(x[c], y[c]) * (1 - shares[c]) for c in train]))


def equality(x: dict, y: dict, train: pd.DataFrame) -> float:
    return float(np.mean([same(x[c], y[c]) for c in train]))


FORMULAS = {"Gower": gower, "Categorical": equality, "Categorical rarity": rarity}


def slowly(kernel: object, X: pd.DataFrame, train: pd.DataFrame) -> np.ndarray:
    formula = FORMULAS[f"{type(kernel).__name__} {getattr(kernel, 'weighting', '') or ''}".strip()]
    rows, columns = (frame.to_dict("records") for frame in (X, train))
    return np.array([[formula(x, y, train) for y in columns] for x in rows])


@every_kernel
@pytest.mark.parametrize("seed", range(3))
def test_the_values_are_those_of_the_formula(kernel, seed):
    X, train = cells(9, seed=seed + 10), cells(24, seed=seed)
    wanted = slowly(kernel, X, train)
    np.testing.assert_allclose(kernel(X, train), wanted, atol=1e-9)
    np.testing.assert_allclose(kernel(train), slowly(kernel, train, train), atol=1e-9)
    np.testing.assert_allclose(kernel.diagonal(train), np.diag(kernel(train)), atol=1e-12)
    as_polars = kernel(pl.from_pandas(X), pl.from_pandas(train))
    np.testing.assert_allclose(as_polars, wanted, atol=1e-9)


@every_kernel
def test_they_are_positive_semidefinite_with_missing_and_new_cells(kernel):
    train, new = cells(50), cells(60, seed=5)
    new["size"] += 3.0  # beyond the range
    bound = kernel.bind(train)
    K = bound.block_of(bound.sample(new), bound.sample(new))
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-10
    assert check_kernel(kernel, train).ok
    assert kernel.definiteness == "psd"


@every_kernel
def test_the_order_of_rows_and_columns_changes_nothing(kernel):
    X = cells()
    order = np.random.default_rng(0).permutation(len(X))
    turned = X[["job", "constant", "count", "size"]].iloc[order]
    np.testing.assert_allclose(kernel(turned), kernel(X)[np.ix_(order, order)], atol=1e-12)


@every_kernel
def test_columns_of_a_frame_are_matched_by_name(kernel):
    X = cells()
    turned = X[["job", "constant", "count", "size"]].assign(more="x")
    np.testing.assert_allclose(kernel(turned, X), kernel(X), atol=1e-12)
    model = KernelRidge(kernel).fit(X, np.arange(len(X)))
    np.testing.assert_allclose(model.predict(turned), model.predict(X))


@every_kernel
def test_other_rows_do_not_change_values(kernel):
    train = cells()
    bound = kernel.bind(train)
    new = bound.sample(cells(5, seed=1).assign(size=2e6))
    assert np.array_equal(
        bound.block_of(new, bound.sample(train))[:1], bound.block_of(new[:1], bound.sample(train))
    )
    assert bound.bind(cells(5, seed=2)) == bound  # what is bound stays


@every_kernel
def test_single_precision_is_close(kernel):
    X = cells()
    single = np.empty((len(X), len(X)), np.float32)
    kernel.block(X, out=single)
    np.testing.assert_allclose(single, kernel(X), atol=1e-6)


def test_a_weight_is_a_number_of_rows():
    X = cells(20)
    weights = np.random.default_rng(0).integers(0, 3, 20)
    repeated = X.loc[np.repeat(np.arange(20), weights)]
    for kernel in KERNELS:
        weighed, again = kernel.bind(X, weights.astype(float)), kernel.bind(repeated)
        rows = weighed.sample(X)
        np.testing.assert_allclose(
            weighed.block_of(rows, rows), again.block_of(rows, rows), atol=1e-12
        )


# ---------------------------------------------------------------- categories
TEXTS = st.one_of(st.none(), st.text(max_size=3), st.integers(-3, 3), st.booleans())


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.lists(TEXTS, min_size=1, max_size=8))
def test_categories_are_equal_as_text(left, right):
    X, Y = (np.array([*cells, None], dtype=object)[:-1, None] for cells in (left, right))
    wanted = [[(a is None) == (b is None) and str(a) == str(b) for b in right] for a in left]
    np.testing.assert_array_equal(Categorical()(X, Y), wanted)


def test_whole_numbers_are_equal_in_every_type():
    frames = [
        pd.DataFrame({"code": values})
        for values in ([1, 2], [1.0, 2.0], ["1", "2"], pd.Categorical([1, 2]), pd.array([1, 2]))
    ]
    for frame in frames:
        np.testing.assert_array_equal(Categorical()(frame, frames[0]), np.eye(2))


def test_large_numbers_are_told_apart():
    assert Categorical()(np.array([[2**60], [2**60 + 1]]))[0, 1] == 0.0


def test_an_unseen_category_equals_itself_alone():
    kernel = Categorical("rarity").bind(np.array([["a"], ["a"], ["b"]], dtype=object))
    rows = kernel.sample(np.array([["z"], ["z"], ["y"], ["a"]], dtype=object))
    wanted = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1 / 3]]
    np.testing.assert_allclose(kernel.block_of(rows, rows), wanted)


# ---------------------------------------------------------------- levels
def test_levels_are_near_as_their_places_are():
    X = pd.DataFrame({"a": ["low", None, "top"], "b": ["high", "high", None]})
    values = Ordinal(LEVELS)(X)
    wanted = [[2, 1, 0], [1, 2, 0], [0, 0, 2]]
    np.testing.assert_allclose(2 * values, wanted)
    K = Ordinal(LEVELS)(LEVELS)
    np.testing.assert_allclose(K, 1 - np.abs(np.subtract.outer(range(4), range(4))) / 3)


@pytest.mark.parametrize("levels", [[3, 1, 2], np.array([3, 1, 2]), ["3", "1", "2"]])
def test_levels_may_be_numbers(levels):
    np.testing.assert_allclose(Ordinal(levels)([[1.0], [2.0]], [[3.0]]), [[0.5], [0.0]])


def test_one_level_is_always_near():
    assert Ordinal(["only"])(["only", "only"]).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_a_cell_that_is_no_level_is_said():
    X = pd.DataFrame({"size": ["low", "huge"]})
    with pytest.raises(
        ValueError, match=r"column 'size' holds 'huge'; the levels.*'low', 'middle'"
    ):
        Ordinal(LEVELS).on("size")(X)
    model = SVC(Ordinal(LEVELS).on("size")).fit(X.replace("huge", "top"), [0, 1])
    with pytest.raises(ValueError, match="'huge'"):
        model.predict(X)


@pytest.mark.parametrize("levels", [[], ["a", "a"], ["a", None], [1, 1.0]])
def test_levels_must_differ(levels):
    with pytest.raises(ValueError, match="levels must be"):
        Ordinal(levels)(["a"])


# ---------------------------------------------------------------- ranges
def test_ranges_come_from_training_rows():
    train = pd.DataFrame({"x": [0.0, 10.0]})
    assert Gower()(pd.DataFrame({"x": [5.0, 20.0, -3.0]}), train).tolist() == [
        [0.5, 0.5],
        [0.0, 0.0],
        [0.7, 0.0],
    ]


def test_ranges_may_be_given():
    X = pd.DataFrame({"x": [0.0, 1.0], "c": [5, 6]})
    assert Gower(ranges=[4.0, None])(X)[0].tolist() == [1.0, 0.375]


def test_many_values_are_represented_by_quantiles():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": [None, *rng.normal(size=5000)]})
    bound = Gower().bind(X)
    assert bound.kernel.typical.shape == (1, 2, MOST_VALUES)
    rows = bound.sample(X[:20])
    values = X["x"][1:].to_numpy(float)
    exact = [(1 - np.abs(values - x) / np.ptp(values)).mean() for x in X["x"][1:20]]
    np.testing.assert_allclose(bound.block_of(rows, rows)[0, 1:], exact, atol=1e-3)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Gower(ranges=[1.0]), "ranges must be a list of 4"),
        (Gower(ranges=[1.0, 0.0, None, None]), "ranges must be positive"),
        (Gower(typical=[[1.0]]), "typical must have the shape"),
        (Categorical("rarity", frequencies=[{}]), "frequencies must be a list of 4"),
        (Categorical("often"), "weighting"),
    ],
)
def test_bad_parameters_are_said(kernel, message):
    with pytest.raises((TypeError, ValueError), match=message):
        kernel(cells())


@every_kernel
def test_rows_that_cannot_be_are_said(kernel):
    with pytest.raises(TypeError, match="not sparse matrices"):
        kernel(sp.eye_array(3))
    with pytest.raises(TypeError, match="it holds a list"):
        kernel(pd.DataFrame({"series": [[1, 2], [3]]}))
    with pytest.raises(TypeError, match=r"column 'series' must hold .* it holds a ndarray"):
        kernel(pd.DataFrame({"series": [np.ones(2), np.ones(3)]}))
    with pytest.raises(ValueError, match="same number of columns; got 1 and 2"):
        kernel(cells()[["job"]].to_numpy(), cells()[["job", "size"]].to_numpy())
    with pytest.raises(ValueError, match="the table has no column 'size'"):
        kernel(cells()[["job"]], cells()[["job", "size"]])
    with pytest.raises(TypeError, match="got str"):
        kernel("text")


# ---------------------------------------------------------------- values of the algebra
@pytest.mark.parametrize("kernel", [*KERNELS, Ordinal(LEVELS)], ids=repr)
def test_they_are_values(kernel):
    assert clone(kernel) == eval(repr(kernel)) == kernel
    assert repr(kernel.normalized()) == f"{kernel!r}.normalized()"


@every_kernel
def test_estimators_take_them(kernel, tmp_path):
    X = cells(60)
    y = (X["count"].fillna(0) > 2).to_numpy().astype(int)
    model = SVC(kernel).fit(X, y)
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    assert again.kernel_ == model.kernel_
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert KernelRidge(kernel).fit(X, y).predict(X).shape == (60,)
    assert KernelPCA(2, kernel=kernel).fit(X).transform(X).shape == (60, 2)
    assert np.isfinite(cross_validate(SVC(kernel), X, y, cv=3)["test_score"]).all()


@pytest.mark.parametrize(
    "kernel", [Gower(), Ordinal(["low", "high"]).on("level"), Gower().on(["x"]) ** 2], ids=repr
)
def test_kernels_with_nothing_to_tune_are_tuned_by_their_penalty(kernel):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=40), "level": rng.choice(["low", "high"], 40)})
    y = (X["x"] + (X["level"] == "low") > 0.5).to_numpy()
    found = tune(SVC(kernel), X, y, cv=3, random_state=0)
    assert found.best_params_.keys() == {"C"}
    assert found.best_score_ > 0.6
