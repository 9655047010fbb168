"""Types of columns that polars, pandas and NumPy have and the others write differently."""

from __future__ import annotations

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer import TableEncoder
from tests.compare import refuses

NUMBERS = [1.0, None, 3.0, 7.0]
TRUTHS = [True, None, False, True]
WORDS = ["x", None, "y", "x"]
MOMENTS = [dt.datetime(2020, 1, 1, 5), None, dt.datetime(2022, 7, 1), dt.datetime(2021, 3, 9, 17)]
DAYS = [moment and moment.date() for moment in MOMENTS]
SPANS = [moment and moment - dt.datetime(2019, 1, 1) for moment in MOMENTS]

COLUMNS = {
    "small integers": (pl.Series(NUMBERS).cast(pl.Int8), pd.array([1, None, 3, 7], dtype="Int8")),
    "large integers": (pl.Series(NUMBERS).cast(pl.UInt64), pd.array([1, None, 3, 7], "UInt64")),
    "single precision": (pl.Series(NUMBERS, dtype=pl.Float32), pd.array(NUMBERS, "Float32")),
    "decimals": (pl.Series(NUMBERS).cast(pl.Decimal(9, 2)), np.array(NUMBERS, dtype=object)),
    "sparse": (pl.Series([0.0, 0.0, 3.0, 7.0]), pd.arrays.SparseArray([0.0, 0.0, 3.0, 7.0])),
    "truths": (pl.Series(TRUTHS), pd.array(TRUTHS, dtype="boolean")),
    "truths as objects": (pl.Series(TRUTHS), np.array(TRUTHS, dtype=object)),
    "words": (pl.Series(WORDS), pd.array(WORDS, dtype="string")),
    "categories": (pl.Series(WORDS, dtype=pl.Categorical), pd.Categorical(WORDS)),
    "arrow numbers": (pl.Series(NUMBERS), pd.array(NUMBERS, dtype="float64[pyarrow]")),
    "arrow words": (pl.Series(WORDS), pd.array(WORDS, dtype="string[pyarrow]")),
    "arrow moments": (pl.Series(MOMENTS), pd.array(MOMENTS, dtype="timestamp[ns][pyarrow]")),
    "moments": (pl.Series(MOMENTS).cast(pl.Datetime("ns", "UTC")), pd.to_datetime(MOMENTS)),
    "moments with a zone": (pl.Series(MOMENTS), pd.to_datetime(MOMENTS).tz_localize("UTC")),
    "days": (pl.Series(DAYS), np.array(DAYS, dtype=object)),
    "spans": (pl.Series(SPANS), pd.to_timedelta(SPANS)),
}


@pytest.mark.parametrize(("polars", "pandas"), COLUMNS.values(), ids=COLUMNS.keys())
def test_the_same_column_in_two_libraries(polars, pandas):
    ours = TableEncoder().fit(pl.DataFrame({"a": polars}))
    theirs = TableEncoder().fit(pd.DataFrame({"a": pandas}))
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    wanted = ours.transform(pl.DataFrame({"a": polars}))
    np.testing.assert_array_equal(theirs.transform(pd.DataFrame({"a": pandas})), wanted)
    np.testing.assert_array_equal(ours.transform(pd.DataFrame({"a": pandas})), wanted)


ARRAYS = {
    "datetime64": (np.array(DAYS[:1] + DAYS[2:], "datetime64[D]"), DAYS[:1] + DAYS[2:]),
    "timedelta64": (np.array([1, 2, 5], "timedelta64[h]"), [1.0, 2.0, 5.0]),
    "bool": (np.array([True, False, True]), [True, False, True]),
    "bytes": (np.array([b"x", b"y", b"x"]), ["x", "y", "x"]),
    "float32": (np.array([1, 2, 5], dtype=np.float32), [1.0, 2.0, 5.0]),
    "uint8": (np.array([1, 2, 5], dtype=np.uint8), [1.0, 2.0, 5.0]),
}


@pytest.mark.parametrize(("array", "values"), ARRAYS.values(), ids=ARRAYS.keys())
def test_arrays_of_every_type(array, values):
    wanted = TableEncoder().fit_transform(pl.DataFrame({"a": values}))
    np.testing.assert_allclose(TableEncoder().fit_transform(array[:, None]), wanted, rtol=1e-14)


def test_rows_of_numbers_and_words_in_a_list_are_a_table():
    rows = [[1, "a"], [2, "b"], [4, "a"]]
    wanted = TableEncoder().fit_transform(pl.DataFrame({"n": [1, 2, 4], "w": ["a", "b", "a"]}))
    np.testing.assert_array_equal(TableEncoder().fit_transform(rows), wanted)


def test_numbers_as_names_of_columns_mean_their_places():
    encoder = TableEncoder().fit(pd.DataFrame({0: [1, 2, 4], 1: ["a", "b", "a"]}))
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1=b"]


def test_complex_numbers_are_refused_by_the_name_of_their_column():
    frame = pd.DataFrame({"z": [1j, 2.0, 3.0]})
    refuses(lambda: TableEncoder().fit(frame), ValueError, "'z' holds complex numbers")


def test_the_frame_is_left_as_it_was():
    frame = pd.DataFrame({"a": [1.0, np.nan, np.inf, 2.0], "b": [" x", "y", None, "x "]})
    before = frame.copy(deep=True)
    TableEncoder().fit_transform(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_a_value_beyond_all_others_stays_finite():
    encoder = TableEncoder().fit(np.array([[1e-300], [2e-300], [3e-300]]))
    far = encoder.transform(np.array([[1e300], [-1e300]]))
    assert np.isfinite(far).all()
    assert np.isfinite(far**2).all()
    assert far[0, 0] > 0 > far[1, 0]


# ---------------------------------------------------------------- long columns
def test_a_few_values_among_many_gaps_are_enough_to_see_numbers():
    values = [None] * 5000
    values[17], values[1234], values[4000] = "1", "2", "5"
    encoder = TableEncoder().fit(pl.DataFrame({"a": values}))
    assert encoder.columns_[0]["kind"] == "number"
    assert encoder.columns_[0]["missing"] == 4997


@pytest.mark.parametrize(("share", "kind"), [(0.94, "dropped"), (0.96, "number")])
def test_texts_are_numbers_from_a_share_on(share, kind):
    n = 4000
    texts = [str(i) if i % 100 < 100 * share else f"no{i}" for i in range(n)]
    encoder = TableEncoder().fit(pl.DataFrame({"a": texts, "b": np.arange(n) * 0.5}))
    assert encoder.columns_[0]["kind"] == kind


def test_what_fit_could_not_read_is_no_news_later():
    texts = [str(i) for i in range(99)] + ["?!"]
    encoder = TableEncoder().fit(pl.DataFrame({"a": texts}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.transform(pl.DataFrame({"a": texts}))
    with pytest.warns(UserWarning, match="2 values of column 'a'"):
        encoder.transform(pl.DataFrame({"a": ["x", "y", "3"]}))
