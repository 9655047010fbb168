"""Kernels on columns of tables, against values computed by hand from the columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_selector

import mercer
from mercer import (
    SVC,
    KernelPCA,
    KernelRidge,
    KernelSearchCV,
    Nystrom,
    check_kernel,
    cross_validate,
    gram,
    load,
    save,
    tune,
)
from mercer.gram.sums import weighted_sums
from mercer.kernels import (
    RBF,
    Categorical,
    Exponential,
    FromFunction,
    Gower,
    Laplacian,
    Linear,
    Matern,
    On,
    Polynomial,
    Spectrum,
    Words,
)
from mercer.kernels.rounding import sum_error
from mercer.kernels.sample import Sample
from mercer.kernels.shared import SharedStatistics
from mercer.select.grids import axes

MIXED = RBF(gamma=0.01).on(["age", "hours"]) * Categorical().on("job") + 0.5 * Linear().on("x")


def people(n: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, n),
            "job": rng.choice(["baker", "smith", "médecin 🩺"], n),
            "hours": rng.integers(1, 60, n),
            "x": rng.normal(size=n),
            "notes": rng.choice(["", "late", "early"], n),
        }
    )


def targets(frame: pd.DataFrame) -> np.ndarray:
    return (frame["x"] + (frame["job"] == "baker") > 0.3).to_numpy().astype(int)


def by_hand(X: pd.DataFrame, Y: pd.DataFrame) -> np.ndarray:
    """Return MIXED as loops over cells."""
    values = np.empty((len(X), len(Y)))
    for i, a in enumerate(X.to_dict("records")):
        for j, b in enumerate(Y.to_dict("records")):
            distance = (a["age"] - b["age"]) ** 2 + (a["hours"] - b["hours"]) ** 2
            same = float(a["job"] == b["job"])
            values[i, j] = np.exp(-0.01 * distance) * same + 0.5 * a["x"] * b["x"]
    return values


LIBRARIES = {"pandas": lambda frame: frame, "polars": pl.from_pandas}
every_library = pytest.mark.parametrize("library", LIBRARIES)


# ---------------------------------------------------------------- values
@every_library
def test_the_values_are_those_of_the_columns(library):
    X, Y = people(7, seed=1), people(5, seed=2)
    as_frame = LIBRARIES[library]
    np.testing.assert_allclose(MIXED(as_frame(X), as_frame(Y)), by_hand(X, Y), atol=1e-12)
    np.testing.assert_allclose(MIXED.diagonal(as_frame(X)), np.diag(by_hand(X, X)), atol=1e-12)


@pytest.mark.parametrize(
    "columns",
    [
        [0, 2],
        slice(0, 3, 2),
        ["age", "hours"],
        [-5, "hours"],
        lambda frame: [name for name in frame.columns if name in ("age", "hours")],
    ],
    ids=["positions", "slice", "names", "both", "function"],
)
@every_library
def test_columns_may_be_chosen_in_many_ways(columns, library):
    X = LIBRARIES[library](people(9))
    wanted = RBF(gamma=0.01)(people(9)[["age", "hours"]].to_numpy(float))
    np.testing.assert_allclose(RBF(gamma=0.01).on(columns)(X), wanted, rtol=1e-12)
    bound = RBF(gamma=0.01).on(columns).bind(X)
    assert bound.columns == ["age", "hours"]


@every_library
def test_columns_may_be_chosen_by_their_kind(library):
    X = LIBRARIES[library](people(9))
    assert RBF().on("number").bind(X).columns == ["age", "hours", "x"]
    assert Categorical().on("category").bind(X).columns == ["job", "notes"]


def test_a_selector_of_scikit_learn_chooses_columns():
    kernel = RBF().on(make_column_selector(dtype_include=np.number))
    X, y = people(), targets(people())
    model = KernelSearchCV(SVC(kernel), {"C": [0.1, 1.0]}, cv=3).fit(X, y).best_estimator_
    assert model.kernel_.columns == ["age", "hours", "x"]


def test_a_slice_of_names_includes_its_end():
    assert RBF().on(slice("hours", "x")).bind(people()).columns == ["hours", "x"]


def test_a_declared_category_is_none_of_the_numbers():
    X = pd.DataFrame({"code": pd.Categorical([1, 2, 1]), "size": [1.0, 2.0, 3.0]})
    assert RBF().on("number").bind(X).columns == ["size"]
    assert Categorical().on("category")(X)[0].tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("as_array", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_of_arrays_are_numbered(as_array, dtype):
    X = np.random.default_rng(0).normal(size=(12, 4)).astype(dtype)
    kernel = Laplacian(gamma=0.5).on([3, 1]) + Linear().on(slice(2))
    wanted = Laplacian(gamma=0.5)(X[:, [3, 1]]) + Linear()(X[:, :2])
    values = kernel(as_array(X))
    np.testing.assert_allclose(values, wanted, rtol=20 * np.finfo(dtype).eps, atol=1e-6)
    assert as_array is sp.csr_array or values.dtype == dtype


def test_a_part_without_columns_reads_all_of_an_array():
    X = np.random.default_rng(0).normal(size=(8, 3))
    kernel = RBF(gamma=0.5) + Linear().on(1)
    np.testing.assert_allclose(kernel(X), RBF(gamma=0.5)(X) + np.outer(X[:, 1], X[:, 1]))


def test_a_kernel_on_objects_gets_the_cells_of_its_column():
    same_length = FromFunction(lambda a, b: float(len(a) == len(b)), definiteness="psd")
    X = people(6)
    lengths = X["notes"].str.len().to_numpy()
    np.testing.assert_array_equal(same_length.on("notes")(X), lengths[:, None] == lengths)


def test_columns_are_taken_out_once_for_a_sample(monkeypatch):
    taken = []
    original = On._rows
    monkeypatch.setattr(
        On, "_rows", lambda self, data: (taken.append(self), original(self, data))[1]
    )
    sample = MIXED.sample(people(1100))  # of several tiles
    kernel = MIXED.bind(sample)
    kernel.block_of(sample, sample)
    kernel.diagonal_of(sample)
    assert len(taken) == 3


def test_rows_too_large_for_float32_are_computed_in_float64():
    X = pd.DataFrame({"a": [1e25, 2e25, 3e25], "b": [0.0, 1.0, 2.0]})
    kernel = RBF(gamma=1e-50).on("a") + Linear().on("b")
    single = np.empty((3, 3), np.float32)
    kernel.block(X, out=single)
    np.testing.assert_allclose(single, kernel(X), rtol=1e-6)


@pytest.mark.parametrize("kernel", [MIXED, Gower(), Categorical("rarity").on("job")], ids=repr)
def test_float32_sums_are_off_by_no_more_than_a_few_times_the_estimate(kernel):
    new, train = kernel.sample(people(200)), kernel.sample(people(300, seed=1))
    bound, weights = kernel.bind(train), _rng().normal(size=(300, 2))
    estimate = sum_error(bound, new, train, weights)
    double, single = (weighted_sums(bound, new, train, weights, t) for t in ("f8", "f4"))
    assert 0 < np.abs(double - single).max() <= 3.0 * estimate < 1e-2


# ---------------------------------------------------------------- missing cells
def test_a_missing_number_counts_as_the_training_values_of_its_column_do_on_average():
    a, X = np.array([1.0, 2.0, 9.0]), pd.DataFrame({"a": [1.0, np.nan, 2.0, 9.0, np.nan]})
    kernel = RBF(gamma=0.3)
    K, mean, present = kernel.on("a")(X), kernel(a[:, None]).mean(axis=0), [0, 2, 3]
    np.testing.assert_allclose(K[np.ix_(present, present)], kernel(a[:, None]), rtol=1e-14)
    np.testing.assert_allclose(K[np.ix_([1, 4], present)], [mean, mean], rtol=1e-14)
    np.testing.assert_allclose(K[np.ix_(present, [1, 4])].T, [mean, mean], rtol=1e-14)
    np.testing.assert_allclose(K[np.ix_([1, 4], [1, 4])], mean.mean(), rtol=1e-14)
    np.testing.assert_allclose(kernel.on("a").diagonal(X), np.diagonal(K), rtol=1e-14)
    lengths = np.sqrt(np.diagonal(K))
    normalized = kernel.on("a").normalized()
    np.testing.assert_allclose(normalized(X), K / np.outer(lengths, lengths), rtol=1e-13)
    np.testing.assert_allclose(normalized.diagonal(X), 1.0)
    new = pd.DataFrame({"a": [None, 3.0]})
    wanted = np.vstack([K[1], kernel.on("a")(pd.DataFrame({"a": [3.0]}), X)])
    np.testing.assert_allclose(kernel.on("a")(new, X), wanted, rtol=1e-14)


def test_missing_cells_of_several_columns_are_filled_together_many_times():
    X = pd.DataFrame({"a": [1.0, np.nan, 2.0, 9.0], "b": [np.nan, np.nan, 3.0, 4.0]})
    kernel = Exponential(gamma=0.3)
    bound = kernel.on(["a", "b"]).bind(X)
    fill, rows = np.array(bound.fill), X.to_numpy()
    assert {*fill[:, 0]} == {1.0, 2.0, 9.0}
    assert {*fill[:, 1]} == {3.0, 4.0}
    could_be = [np.where(np.isnan(row), fill, row) for row in rows]
    wanted = [[kernel(x, y).mean() for y in could_be] for x in could_be]
    np.testing.assert_allclose(bound(X), wanted, rtol=1e-13)
    np.testing.assert_allclose(bound.diagonal(X), np.diagonal(wanted), rtol=1e-13)


def test_the_linear_kernel_of_a_missing_number_is_that_of_the_mean():
    X = pd.DataFrame({"a": [1.0, np.nan, 2.0, 9.0]})
    np.testing.assert_allclose(Linear().on("a")(X), Linear()(X.fillna(4.0).to_numpy()), rtol=1e-14)


@pytest.mark.parametrize("kernel", [RBF(), Laplacian(), Polynomial(), Matern()], ids=repr)
def test_missing_numbers_keep_a_kernel_positive_semidefinite(kernel):
    rng = _rng()
    rows = rng.normal(size=(60, 3))
    rows[rng.random(size=rows.shape) < 0.3] = np.nan
    X = pd.DataFrame(rows, columns=list("abc"))
    for columns in ("a", ["b", "c"], list("abc")):
        assert check_kernel(kernel.on(columns), X).ok


def test_a_missing_number_counts_rows_as_often_as_they_weigh():
    X = pd.DataFrame({"a": [1.0, 5.0, 7.0, 100.0]})
    weights = np.array([1, 3, 1, 0])
    repeated = X.loc[np.repeat(np.arange(4), weights)]
    for weight in (weights, 0.1 * weights):  # of which fractions are rounded to 256ths
        bound, wanted = Linear().on("a").bind(X, weight), Linear().on("a").bind(repeated)
        assert np.mean(bound.fill) == pytest.approx(np.mean(wanted.fill), rel=0.01)
    assert Linear().on("a").bind(X, weights).fill == [[1.0], [5.0], [5.0], [5.0], [7.0]]


def test_a_machine_with_missing_numbers_is_saved_with_what_stands_for_them(tmp_path):
    X = people(60)
    X.loc[::5, "age"] = np.nan
    model = SVC(MIXED).fit(X, targets(X))
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_allclose(  # of one row alone: by the values of the training rows
        model.decision_function(X.iloc[:1]), model.decision_function(X)[:1], rtol=1e-9
    )


def test_what_stands_for_a_missing_number_may_be_given():
    X = pd.DataFrame({"a": [1.0, np.nan]})
    assert Linear().on("a", fill=3)(X).tolist() == [[1.0, 3.0], [3.0, 9.0]]


def test_a_missing_object_needs_a_rule():
    X = pd.DataFrame({"t": ["ab", None]})
    kernel = FromFunction(lambda a, b: float(len(a) * len(b)))
    assert kernel.on("t", fill="abc")(X).tolist() == [[4.0, 6.0], [6.0, 9.0]]
    with pytest.raises(ValueError, match=r"^column 't' has 1 missing cell, .*fill=''"):
        kernel.on("t")(X)


# ---------------------------------------------------------------- an expression like any other
def test_it_is_a_value_of_the_algebra():
    for kernel in (
        MIXED,
        RBF(gamma=0.5).on(["age", "hours"]),
        (RBF() + Linear()).on(slice(0, 2)).normalized(),
        Gower().on("job") ** 2,
        Linear().on("x", fill=0.5),
    ):
        assert eval(repr(kernel)) == kernel
        assert clone(kernel) == kernel
        assert clone(kernel) is not kernel
    assert repr(RBF(gamma=0.5).on(["age", "hours"])) == "RBF(gamma=0.5).on(['age', 'hours'])"
    assert MIXED.left != MIXED
    assert RBF().on("a") != RBF().on("b")


def test_parameters_are_reached_through_it():
    kernel = clone(MIXED).set_params(left__left__kernel__gamma=0.7, right__right__columns="age")
    assert kernel == (
        RBF(gamma=0.7).on(["age", "hours"]) * Categorical().on("job") + 0.5 * Linear().on("age")
    )


def test_definiteness_is_that_of_the_kernel():
    assert MIXED.definiteness == "psd"
    assert Linear(bias=-1.0).on("x").definiteness == "indefinite"
    assert not FromFunction(min).on("x").symmetric
    assert check_kernel(MIXED, people()).ok


# ---------------------------------------------------------------- in estimators
@every_library
def test_new_frames_are_matched_by_name(library):
    X, new = people(), people(20, seed=3)
    y, as_frame = targets(X), LIBRARIES[library]
    model = SVC(MIXED).fit(as_frame(X), y)
    twin = SVC("precomputed").fit(by_hand(X, X), y)
    wanted = twin.decision_function(by_hand(new, X))
    turned = new[["x", "notes", "hours", "job", "age"]]
    np.testing.assert_allclose(model.decision_function(as_frame(new)), wanted, atol=1e-6)
    np.testing.assert_array_equal(
        model.decision_function(as_frame(turned)), model.decision_function(as_frame(new))
    )


def test_positions_are_remembered_as_names():
    X = people()
    model = SVC(RBF().on([0, 2])).fit(X, targets(X))
    turned = X[["hours", "x", "age"]]
    np.testing.assert_array_equal(model.decision_function(turned), model.decision_function(X))


def test_a_model_keeps_the_columns_that_it_reads_and_a_copy_of_them():
    X = people()
    model = KernelRidge(MIXED).fit(X, X["x"])
    before = model.predict(X.copy())
    kept = model.X_fit_
    assert kept.names == ("age", "hours", "job", "x")
    new = X.copy()
    X.loc[:, "age"] = 0.0
    np.testing.assert_array_equal(model.predict(new), before)


def test_models_are_saved(tmp_path):
    X = people()
    X.loc[3, "age"], X.loc[4, "job"] = np.nan, None
    kernel = MIXED + Gower().on(["age", "job"]) * Categorical("rarity").on("job")
    model = SVC(kernel).fit(X, targets(X))
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    assert again.kernel_ == model.kernel_
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@every_library
def test_searches_and_maps_take_frames(library):
    X = LIBRARIES[library](people())
    y = targets(people())
    scores = cross_validate(SVC(MIXED), X, y, cv=3)["test_score"]
    grid = {"C": [0.1, 10.0], "kernel__left__left__kernel__gamma": [0.01, 0.1]}
    search = KernelSearchCV(SVC(MIXED), grid, cv=3).fit(X, y)
    assert len(scores) == 3
    assert search.best_params_.keys() == grid.keys()
    assert search.predict(X).shape == y.shape
    assert KernelPCA(2, kernel=MIXED).fit(X).transform(X).shape == (60, 2)
    assert Nystrom(kernel=MIXED, n_components=5).fit(X).transform(X).shape == (60, 5)
    np.testing.assert_allclose(
        gram(MIXED, X) @ np.ones(60), by_hand(people(), people()).sum(axis=1)
    )


def test_a_search_scores_as_single_fits_do():
    X = people()
    X.loc[::7, "age"] = np.nan  # its values are those of each fold's training rows
    y, folds = targets(X), [(np.arange(40), np.arange(40, 60)), (np.arange(20, 60), np.arange(20))]
    scores = cross_validate(SVC(MIXED), X, y, cv=folds)["test_score"]
    for score, (train, test) in zip(scores, folds, strict=True):
        model = SVC(MIXED).fit(X.iloc[train], y[train])
        assert score == model.score(X.iloc[test], y[test])


@pytest.mark.parametrize("train", [True, False])
def test_a_page_is_written_about_a_model_on_columns(train, tmp_path):
    X = people(80)
    y = targets(X)
    model = SVC(MIXED).fit(X[:50], y[:50])
    options = {"train": (X[:50], y[:50])} if train else {}
    path = model.report(tmp_path / "page.html", X[50:], y[50:], **options)
    assert "30 rows" in path.read_text(encoding="utf-8")


def test_folds_share_a_gram_matrix_if_no_cell_is_missing(monkeypatch):
    computed = []
    original = SharedStatistics.gram
    monkeypatch.setattr(
        SharedStatistics,
        "gram",
        lambda self, kernel, out=None: (computed.append(kernel), original(self, kernel, out))[1],
    )
    X = people()
    y = targets(X)
    cross_validate(SVC(MIXED), X, y, cv=4)
    assert computed == [MIXED]
    cross_validate(SVC(MIXED), X.assign(age=X["age"].mask(X["age"] > 55)), y, cv=4)
    assert len(computed) == 5


def test_tune_proposes_a_width_for_each_radial_part():
    X = people()
    kernel = RBF().on(["age", "hours"]) + Laplacian().on("x") * Categorical().on("job")
    found = tune(SVC(kernel), X, targets(X), cv=3)
    widths = {name for name in found.best_params_ if name.endswith("gamma")}
    assert widths == {"kernel__left__kernel__gamma", "kernel__right__left__kernel__gamma"}


def test_a_width_is_proposed_by_the_distances_of_its_own_columns():
    X = people()
    near = {a.name: a.values for a in axes(SVC(RBF().on("x")), X, targets(X), _rng())}
    scaled = X.assign(x=100.0 * X["x"], age=0.0)
    far = {a.name: a.values for a in axes(SVC(RBF().on("x")), scaled, targets(X), _rng())}
    np.testing.assert_allclose(
        np.divide(near["kernel__kernel__gamma"], far["kernel__kernel__gamma"]), 1e4, rtol=0.02
    )


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


# ---------------------------------------------------------------- bad input
@pytest.mark.parametrize("kernel", [Words(), Spectrum(2), 0.5 * Words() + 1.0], ids=repr)
def test_a_column_of_numbers_where_texts_are_wanted_is_named(kernel):
    X = people()
    with pytest.raises(TypeError, match=r"column 'age': .* takes .*texts.*row 0 is"):
        SVC(kernel.on("age")).fit(X, targets(X))
    model = SVC(kernel.on("job")).fit(X, targets(X))
    with pytest.raises(TypeError, match=r"column 'job': .* takes .*texts.*row 0 is"):
        model.predict(X.assign(job=1.5))


def test_a_missing_column_is_named():
    X = people()
    model = SVC(MIXED).fit(X, targets(X))
    with pytest.raises(ValueError, match=r"X has no column 'hours'; its columns are 'age'"):
        model.predict(X.drop(columns="hours"))
    with pytest.raises(ValueError, match=r"X has no column 'nope'"):
        SVC(RBF().on(["age", "nope"])).fit(X, targets(X))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF().on("job"), r"column 'job' must hold numbers.*'"),
        (RBF().on([]), r"columns=\[\] selects no column"),
        (RBF().on(slice("nope", "x")), r"the table has no column 'nope'"),
        (RBF().on(99), r"column 99 was asked for, but there are only 5"),
        (RBF().on(1.5), r"columns must be a name, a number, a list"),
        (RBF().on("age", fill="x"), r"fill must be a number"),
        (RBF().on(["age", "x"], fill=[1, 2, 3]), r"or 2 of them"),
        (Categorical().on("job", fill="x"), r"own rule for missing cells"),
        (RBF() + Linear().on("x"), r"must be a table of numbers"),
    ],
)
def test_what_cannot_be_is_said(kernel, message):
    with pytest.raises((TypeError, ValueError), match=message):
        SVC(kernel).fit(people(), targets(people()))


def test_frames_that_are_none_are_said():
    X = people()
    with pytest.raises(TypeError, match=r"pass X.collect\(\)"):
        MIXED(pl.from_pandas(X).lazy())
    with pytest.raises(ValueError, match="2 columns named 'age'"):
        MIXED(pd.concat([X, X[["age"]]], axis=1))
    with pytest.raises(ValueError, match="by name, but the columns have no names"):
        MIXED(np.ones((3, 5)))
    with pytest.raises(ValueError, match="column 'age' has no number"):
        MIXED(X.assign(age=np.nan))
    with pytest.raises(ValueError, match="empty table"):
        MIXED(X[:0])
    with pytest.raises(TypeError, match="a precomputed kernel cannot be used on columns"):
        On(mercer.as_kernel("precomputed"), "age").bind(X)
    with pytest.raises(TypeError, match="needs a frame"):
        RBF().on(lambda frame: ["age"])(np.ones((3, 2)))


def test_dates_are_no_numbers_but_categories():
    X = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-01", None])})
    assert Categorical().on("day")(X)[0].tolist() == [1.0, 0.0, 1.0, 0.0]
    with pytest.raises(TypeError, match=r"column 'day' must hold numbers.*dates"):
        RBF().on("day")(X)


def test_samples_of_columns_share_what_they_derive():
    sample = MIXED.sample(people(30))
    part = sample[np.array([3, 1, 4])]
    kernel = MIXED.bind(sample)
    whole = kernel.block_of(sample, sample)
    assert isinstance(part, Sample)
    np.testing.assert_allclose(kernel.block_of(part, sample), whole[[3, 1, 4]], atol=1e-12)
