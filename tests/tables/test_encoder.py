"""TableEncoder as a whole: the same matrix from every kind of frame, row by row, by name."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC, TableEncoder
from tests.compare import refuses

RNG = np.random.default_rng(0)
N = 60
COLUMNS = {
    "age": [None if i % 7 == 0 else float(a) for i, a in enumerate(RNG.integers(18, 80, N))],
    "job": [[None, "cook", "pilot", "nurse"][i] for i in RNG.integers(0, 4, N)],
    "member": [bool(b) for b in RNG.integers(0, 2, N)],
    "note": [" ".join(RNG.choice(["good", "bad", "late", "cold", "warm"], 6)) for _ in range(N)],
    "key": [f"k{i:03d}" for i in range(N)],
    "flat": [3.0] * N,
}
DAYS = np.datetime64("2020-01-01") + RNG.integers(0, 900, N)


def polars_frame():
    return pl.DataFrame({**COLUMNS, "day": DAYS})


def pandas_frame():
    return pd.DataFrame({**COLUMNS, "day": DAYS.astype("datetime64[s]")})


def object_array():
    columns = [np.array(values, dtype=object) for values in COLUMNS.values()]
    return np.column_stack([*columns, DAYS.astype(object)])


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


# It is no member of tests/cases.py: a fit solves no problem and has no proof, and columns in
# another order are found by their names, which the estimators there must refuse.
@parametrize_with_checks([TableEncoder(), TableEncoder(scale=False, max_categories=3)])
def test_scikit_learn_has_no_objection(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- tables of every make
def test_polars_pandas_and_objects_give_the_same_matrix_to_the_last_bit():
    wanted = TableEncoder().fit_transform(polars_frame())
    np.testing.assert_array_equal(TableEncoder().fit_transform(pandas_frame()), wanted)
    np.testing.assert_array_equal(TableEncoder().fit_transform(object_array()), wanted)


def test_a_fit_on_one_library_encodes_frames_of_the_other():
    encoder = TableEncoder().fit(polars_frame())
    np.testing.assert_array_equal(
        encoder.transform(pandas_frame()), encoder.transform(polars_frame())
    )


@pytest.mark.parametrize(("absent", "frame"), [("pandas", polars_frame), ("polars", pandas_frame)])
def test_one_of_the_two_libraries_is_enough(absent, frame, monkeypatch):
    X = frame()
    wanted = TableEncoder().fit_transform(X)
    monkeypatch.setitem(sys.modules, absent, None)  # `import` of it now fails
    np.testing.assert_array_equal(TableEncoder().fit_transform(X), wanted)


@pytest.mark.parametrize("frame", [polars_frame, pandas_frame, object_array])
def test_fit_transform_is_fit_and_transform(frame):
    X = frame()
    np.testing.assert_array_equal(
        TableEncoder().fit_transform(X), TableEncoder().fit(X).transform(X)
    )


@given(size=st.integers(1, N), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_batches_give_the_rows_of_the_whole(size, seed):
    X = polars_frame().sample(fraction=1.0, shuffle=True, seed=seed)
    encoder = TableEncoder().fit(polars_frame())
    whole = encoder.transform(X)
    batches = [encoder.transform(X[i : i + size]) for i in range(0, N, size)]
    np.testing.assert_array_equal(np.vstack(batches), whole)


def test_the_order_of_the_rows_of_fit_does_not_matter():
    X = polars_frame()
    shuffled = TableEncoder().fit(X.reverse())
    np.testing.assert_allclose(shuffled.transform(X), TableEncoder().fit_transform(X), atol=1e-12)


def test_frames_come_out_when_asked_for():
    out = TableEncoder().set_output(transform="polars").fit_transform(polars_frame())
    assert isinstance(out, pl.DataFrame)
    assert out.columns == TableEncoder().fit(polars_frame()).get_feature_names_out().tolist()


# ---------------------------------------------------------------- by name
def test_columns_are_found_by_name_and_others_are_ignored():
    X = polars_frame()
    encoder = TableEncoder().fit(X)
    mixed = X.select(reversed(X.columns)).with_columns(target=pl.lit(1)).drop("key", "flat")
    np.testing.assert_array_equal(encoder.transform(mixed), encoder.transform(X))


def test_a_column_that_is_not_there_is_named_with_its_nearest_names():
    encoder = TableEncoder().fit(polars_frame())
    renamed = polars_frame().rename({"age": "ages"})
    refuses(
        lambda: encoder.transform(renamed),
        ValueError,
        "lacks the column 'age'.*did you mean 'ages'",
    )
    few = polars_frame().select("day")
    refuses(lambda: encoder.transform(few), ValueError, "the columns 'age', 'job'.*it has 'day'")


def test_an_array_has_the_columns_of_fit():
    encoder = TableEncoder().fit(object_array())
    refuses(lambda: encoder.transform(object_array()[:, :3]), ValueError, "3 features")


def test_output_columns_know_where_they_come_from():
    X = polars_frame()
    encoder = TableEncoder().fit(X)
    sources = np.array(encoder.source_of_features())
    assert len(sources) == len(encoder.get_feature_names_out()) == encoder.transform(X).shape[1]
    for name in ("age", "job", "member", "note", "day"):
        other = X.with_columns(X[name].reverse())
        moved = np.any(encoder.transform(X) != encoder.transform(other), axis=0)
        assert set(sources[moved]) == {name}


def test_output_names_are_all_different():
    X = pl.DataFrame({"a=c": [1.0, 2.0, 4.0], "a": ["b", "c", "d"], "a=d": [3.0, 1.0, 1.0]})
    names = TableEncoder(min_frequency=0).set_params(text=["a"]).fit(X).get_feature_names_out()
    assert len(set(names)) == len(names)
    twice = pl.DataFrame({"a=c": [1.0, 2.0, 4.0, 3.0], "a": ["b", "c", "d", "c"]})
    assert TableEncoder().fit(twice).get_feature_names_out().tolist() == [
        "a=c",
        "a=b",
        "a=c (2)",
        "a=d",
    ]


# ---------------------------------------------------------------- plain state
def assert_plain(value):
    if isinstance(value, dict):
        assert all(type(key) is str for key in value)
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            assert_plain(part)
    elif isinstance(value, np.ndarray):
        assert value.dtype.kind in "fi"
    else:
        assert type(value) in (str, int, float, bool)


@pytest.mark.parametrize("X", [polars_frame(), pandas_frame(), sp.eye_array(5).tocsr()])
def test_what_a_fit_keeps_is_plain(X):
    encoder = TableEncoder().fit(X)
    learned = set(vars(encoder)) - set(encoder.get_params()) - {"feature_names_in_"}
    assert learned == {"columns_", "n_coerced_", "n_features_in_", "sparse_output_"}
    for name in learned:
        assert_plain(getattr(encoder, name))
    assert all({"name", "kind", "words"} <= set(state) for state in encoder.columns_)


# ---------------------------------------------------------------- sparse tables
def test_a_sparse_table_is_scaled_as_by_max_abs_scaler():
    X = sp.random_array((40, 9), density=0.3, rng=np.random.default_rng(1), format="csr")
    X = sp.csr_array(X @ sp.diags_array([1e-9, 1e150, 1, -2, 3, 4, 5, 6, 0.0]))
    got = TableEncoder().fit_transform(X)
    assert sp.issparse(got)
    assert got.format == "csr"
    np.testing.assert_allclose(got.toarray(), MaxAbsScaler().fit_transform(X).toarray(), rtol=1e-15)
    encoder = TableEncoder().fit(X)
    np.testing.assert_array_equal(dense(encoder.transform(X.toarray())), got.toarray())
    assert encoder.source_of_features() == encoder.get_feature_names_out().tolist()
    assert encoder.describe() == ["9 sparse columns divided by the largest absolute value"]


def test_a_sparse_table_may_follow_a_dense_fit():
    X = np.random.default_rng(2).poisson(1.0, (30, 4)).astype(float)
    encoder = TableEncoder().fit(X)
    np.testing.assert_array_equal(encoder.transform(sp.csr_array(X)), encoder.transform(X))


def test_gaps_in_a_sparse_table_are_refused():
    X = sp.csr_array(np.array([[1.0, np.nan], [0.0, 2.0]]))
    refuses(lambda: TableEncoder().fit(X), ValueError, "NaN")


# ---------------------------------------------------------------- bad input
BAD = {
    "no rows": (pl.DataFrame({"a": []}, schema={"a": pl.Float64}), "0 row"),
    "no columns": (pl.DataFrame(), "0 column"),
    "one row": (pl.DataFrame({"a": [1.0]}), "n_samples = 1"),
    "constant": (
        pl.DataFrame({"a": [1.0, 1.0]}),
        "table can be used .'a': the same",
    ),
    "missing": (pl.DataFrame({"a": [None, None]}), "all values are missing"),
    "keys only": (pl.DataFrame({"a": ["x", "y", "z"]}), "a different text in every row"),
    "a series": (pl.Series([1.0, 2.0]), "Series.*one column"),
    "lazy": (pl.LazyFrame({"a": [1.0, 2.0]}), "collect"),
    "twice": (pd.DataFrame(np.eye(2), columns=["a", "a"]), "2 columns named 'a'"),
    "a vector": (np.arange(3.0), "2D"),
}


@pytest.mark.parametrize(("X", "match"), BAD.values(), ids=BAD.keys())
def test_tables_of_no_use_are_refused(X, match):
    refuses(lambda: TableEncoder().fit(X), ValueError, match)


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_categories": 0},
        {"max_categories": True},
        {"min_frequency": -1},
        {"min_frequency": 1.0},
        {"scale": "yes"},
        {"text": "yes"},
        {"text": [1]},
    ],
    ids=str,
)
def test_parameters_are_checked(parameters):
    refuses(
        lambda: TableEncoder(**parameters).fit(polars_frame()), ValueError, next(iter(parameters))
    )


def test_a_text_column_that_is_not_there_is_refused():
    encoder = TableEncoder(text=["notes"])
    refuses(lambda: encoder.fit(polars_frame()), ValueError, "'notes'; did you mean 'note'")


def test_an_encoder_without_a_fit_says_so():
    for call in ("describe", "source_of_features", "get_feature_names_out"):
        refuses(getattr(TableEncoder(), call), NotFittedError, "fit")


# ---------------------------------------------------------------- in use
def test_a_machine_behind_it_finds_what_was_planted():
    """The class is whether a cook or a young pilot wrote: nothing linear in one column."""
    rng = np.random.default_rng(3)
    job, age = rng.choice(["cook", "pilot", "nurse"], 300), rng.uniform(20, 70, 300)
    y = (job == "cook") | ((job == "pilot") & (age < 40))
    X = pl.DataFrame({"job": job, "age": np.where(rng.uniform(size=300) < 0.1, np.nan, age)})
    model = make_pipeline(TableEncoder(), SVC(C=30.0)).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.93
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(X.select("age", "job")).tolist() == model.predict(X).tolist()


def test_fitting_again_forgets_the_first_fit():
    encoder = TableEncoder().fit(np.eye(3)).fit(polars_frame())
    np.testing.assert_array_equal(
        encoder.transform(polars_frame()), clone(encoder).fit_transform(polars_frame())
    )
