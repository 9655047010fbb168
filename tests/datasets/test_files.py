"""Files in and out: formats, targets, errors, Parquet, Arrow and JSON lines."""

from __future__ import annotations

import datetime
import decimal
import json
import os

import numpy as np
import pandas
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.datasets import FORMATS, Data, DataError, load_file, read_batches, write_table
from mercer.datasets.files import json_lines
from mercer.datasets.files.source import Source
from mercer.datasets.files.tables import READERS
from tests.compare import refuses

FRAME = pl.DataFrame(
    {
        "age": [31, None, 47],
        "size": [1.5, -2.0, None],
        "city": ["rome", None, "oslo, n"],
        "kind": ["a", "b", "a"],
        "yes": [True, False, None],
        "day": [datetime.date(2024, 1, 31), None, datetime.date(1999, 12, 1)],
    }
)


def written(tmp_path, name, frame=FRAME):
    return write_table(frame, tmp_path / name)


# ---------------------------------------------------------------- there and back
TYPED = {
    "a.csv": "csv",
    "a.csv.gz": "csv",
    "a.tsv": "tsv",
    "a.parquet": "parquet",
    "a.arrow": "arrow",
    "a.feather": "arrow",
}


@pytest.mark.parametrize(("name", "format"), TYPED.items())
def test_what_is_written_is_read_again(tmp_path, name, format):
    data = load_file(written(tmp_path, name))
    assert data.X.equals(FRAME)
    assert data.format == format
    assert os.listdir(tmp_path) == [name], "nothing is left behind"


@pytest.mark.usefixtures("both_ways")
def test_json_lines_keep_all_but_dates(tmp_path):
    X = load_file(written(tmp_path, "a.jsonl")).X
    assert X.drop("day").equals(FRAME.drop("day"))
    assert X["day"].to_list() == ["2024-01-31", None, "1999-12-01"]


@pytest.mark.parametrize("name", [*TYPED, "a.jsonl"])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_batches_of_every_format_are_the_file(tmp_path, name, rows):
    path = written(tmp_path, name)
    assert pl.concat(read_batches(path, rows=rows)).equals(load_file(path).X)


numbers = st.floats(allow_nan=False, allow_infinity=False) | st.none()


@given(st.lists(numbers, min_size=1, max_size=6).filter(any))
def test_numbers_survive_text_to_the_last_digit(tmp_path_factory, values):
    frame = pl.DataFrame({"a": values, "b": range(len(values))}, schema={"a": pl.Float64, "b": int})
    for name in ("a.csv", "a.jsonl"):
        path = write_table(frame, tmp_path_factory.mktemp("n") / name)
        assert load_file(path).X["a"].cast(pl.Float64).to_list() == values


@pytest.mark.parametrize(
    "frame",
    [
        pandas.DataFrame({"a": [1, 2], "b": ["x", None]}),
        {"a": np.array([1, 2]), "b": ["x", None]},
    ],
    ids=["pandas", "mapping"],
)
def test_tables_of_other_kinds_are_written(tmp_path, frame):
    assert load_file(write_table(frame, tmp_path / "a.csv")).X.rows() == [(1, "x"), (2, None)]


def test_writing_says_what_is_wrong(tmp_path):
    for name in ("a.xlsx", "a", "a.gz", "a.parquet.gz"):
        refuses(
            lambda n=name: write_table(FRAME, tmp_path / n), DataError, "end it with one of .csv"
        )
    refuses(lambda: write_table(FRAME, tmp_path / "no" / "a.csv"), DataError, "there is no folder")
    refuses(lambda: write_table([1, 2], tmp_path / "a.csv"), TypeError, "frame must be a polars or")
    assert os.listdir(tmp_path) == []


def test_a_table_that_cannot_be_written_leaves_the_old_file(tmp_path):
    path = written(tmp_path, "a.csv")
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"cannot be written .*nested"):
        write_table(pl.DataFrame({"a": [[1, 2]]}), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.csv"]


# ---------------------------------------------------------------- which format
def test_content_decides_where_the_ending_is_unknown(tmp_path, put):
    for name, format in [("a.csv", "csv"), ("a.parquet", "parquet"), ("a.jsonl", "jsonl")]:
        unknown = put(written(tmp_path, name).read_bytes(), "unknown")
        assert load_file(unknown).format == format
    assert load_file(put("1 1:2 3:4\n-1 2:1\n", "a.txt")).format == "svmlight"
    assert load_file(put("time 10:30 x\n1 2 3\n", "a.txt")).format == "csv"
    assert load_file(put("% c\n@relation r\n@attribute a real\n@data\n1\n", "a")).format == "arff"


def test_binary_content_goes_before_the_ending(tmp_path, put):
    wrong = put(written(tmp_path, "a.parquet").read_bytes(), "b.csv")
    assert load_file(wrong).X.equals(FRAME)


@pytest.mark.parametrize("name", ["a[1]*?.parquet", "a[1]*?.arrow", "a[1]*?.csv"])
def test_a_path_is_no_pattern(tmp_path, name):
    assert load_file(written(tmp_path, name)).X.equals(FRAME)


def test_arrow_streams_are_read(put, tmp_path):
    path = tmp_path / "a.arrow"
    FRAME.write_ipc_stream(path)
    assert load_file(path).X.equals(FRAME)


def test_a_format_that_is_asked_for_is_taken(put):
    assert load_file(put('{"a": 1}\n', "a.csv"), format="jsonl").X.rows() == [(1,)]
    refuses(
        lambda: load_file(put("a\n1\n", "a.csv"), format="xml"), DataError, "must be one of 'csv'"
    )


def test_every_format_has_a_reader_and_its_own_endings():
    assert set(READERS) == set(FORMATS)
    endings = [ending for group in FORMATS.values() for ending in group]
    assert len(endings) == len(set(endings))


# ---------------------------------------------------------------- targets
def test_the_target_is_taken_out(tmp_path):
    data = load_file(written(tmp_path, "a.parquet"), target="kind")
    assert isinstance(data, Data)
    assert data.y.tolist() == ["a", "b", "a"]
    assert data.feature_names == data.X.columns == ["age", "size", "city", "yes", "day"]
    assert data.target == "kind"


TARGETS = {
    "whole numbers": ("1\n0\n1", "iu", [1, 0, 1]),
    "numbers": ("1.5\n0\n1", "f", [1.5, 0.0, 1.0]),
    "words": ("x\nyy\nx", "U", ["x", "yy", "x"]),
    "booleans": ("true\nfalse\ntrue", "b", [True, False, True]),
    "missing words": ("x\nNA\nx", "O", ["x", None, "x"]),
    "missing booleans": ("true\nNA\nfalse", "O", [True, None, False]),
}


@pytest.mark.parametrize(("words", "kind", "values"), TARGETS.values(), ids=TARGETS.keys())
def test_targets_are_numbers_words_or_booleans(put, words, kind, values):
    lines = [f"{word},7" for word in words.splitlines()]
    y = load_file(put("\n".join(["t,a", *lines]), "a.csv"), target="t").y
    assert y.dtype.kind in kind
    assert y.tolist() == values
    y[0] = y[1]  # it may be written to


def test_missing_numbers_are_nan(put):
    y = load_file(put("t,a\n1,2\n?,3\n", "a.csv"), target="t").y
    np.testing.assert_array_equal(y, [1.0, np.nan])


def test_categories_and_decimals_of_parquet_are_words_and_numbers(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame(
        {
            "c": pl.Series(["u", "v"], dtype=pl.Categorical),
            "d": [decimal.Decimal("1.50"), decimal.Decimal("2.25")],
            "l": [[1, 2], None],
            "n": [None, None],
        }
    ).write_parquet(path)
    assert load_file(path, target="c").y.tolist() == ["u", "v"]
    assert load_file(path, target="d").y.tolist() == [1.5, 2.25]
    assert load_file(path).X["l"].to_list() == ["[1, 2]", None]
    assert load_file(path).X["n"].dtype == pl.String


def test_a_target_that_cannot_be_predicted(tmp_path, put):
    path = written(tmp_path, "a.parquet")
    refuses(lambda: load_file(path, target="day"), DataError, "the target 'day' is of type Date")
    refuses(lambda: load_file(put("a\n1\n", "b.csv"), target="a"), DataError, "is the only column")


def test_an_unknown_target_names_the_nearest(put):
    path = put("sepal_length,sepal_width,petal_length,species\n1,2,3,x\n", "a.csv")
    refuses(
        lambda: load_file(path, target="Sepal_Lenght"),
        DataError,
        "no column 'Sepal_Lenght' among the 4 columns .*'sepal_length'",
    )
    with pytest.raises(DataError) as caught:
        load_file(path, target="zzz")
    names = "'sepal_length', 'sepal_width', 'petal_length' and 'species'"
    assert str(caught.value).endswith(f"it has {names}"), "none of them looks like it"


# ---------------------------------------------------------------- files that are not there
def test_a_file_that_is_not_there_names_the_nearest(put, tmp_path):
    put("a\n1\n", "penguins.csv")
    refuses(lambda: load_file(tmp_path / "pengiuns.csv"), DataError, "did you mean 'penguins.csv'")
    refuses(lambda: load_file(tmp_path / "x"), DataError, "its folder holds 'penguins.csv'")
    refuses(lambda: load_file(tmp_path / "no" / "x.csv"), DataError, "there is no folder")
    refuses(lambda: load_file(tmp_path), DataError, "is a folder: give the path of a file")


DAMAGED = {
    "a.parquet": [b"PAR1" + b"\x07" * 500, b"nothing of the kind"],
    "a.arrow": [b"ARROW1" + b"\x07" * 500, b"nothing of the kind"],
    "a.npz": [b"PK\x03\x04" + b"\x07" * 500, b"nothing of the kind"],
    "a.xlsx": [b"PK\x03\x04" + b"\x07" * 500],
    "a.arff": [b"@relation x\n@attribute a real\n", b"@relation x\n@attribute a\n@data\n1\n"],
    "a.svm": [b"a b c\n", b"# nothing\n"],
    "a.jsonl": [b'{"a": 1}\n{"a":\n', b'[{"a": 1}, 3]', b"[]", b'[{"a": 1}', b'{"a": 1}\n3\n'],
}


@pytest.mark.parametrize(
    ("name", "content"), [(name, content) for name, all in DAMAGED.items() for content in all]
)
def test_damage_is_said_in_one_line(put, name, content):
    with pytest.raises(DataError) as caught:
        load_file(put(content, name))
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_a_parquet_file_without_rows(tmp_path):
    path = written(tmp_path, "a.parquet", FRAME.clear())
    refuses(lambda: load_file(path), DataError, "columns and no rows")


# ---------------------------------------------------------------- JSON lines
@pytest.fixture(params=["polars", "slowly"])
def both_ways(request, monkeypatch):
    if request.param == "slowly":  # as with a polars that could lose values
        monkeypatch.setattr(pl, "__version__", "1.34.0")


@pytest.mark.usefixtures("both_ways")
def test_json_lines_of_many_kinds(put):
    lines = [{"a": 1, "b": "x", "c": [1]}, {"a": 2.5, "b": 3}, {"d": True, "c": {"k": 1}}]
    X = load_file(put("\n\n".join(map(json.dumps, lines)), "a.jsonl")).X
    assert X["a"].to_list() == [1.0, 2.5, None]
    assert X["b"].to_list() == ["x", "3", None]
    assert X["c"].to_list() == ["[1]", None, '{"k": 1}']
    assert X["d"].to_list() == [None, None, True]


@pytest.mark.usefixtures("both_ways")
def test_json_lines_in_blocks_have_the_types_of_all(put):
    lines = [{"a": i, "b": None} for i in range(20)] + [{"a": 0.5, "c": "late"}]
    path = put("\n".join(map(json.dumps, lines)), "a.jsonl")
    whole = load_file(path).X
    assert pl.concat(json_lines.batches(Source.of(path), 4, None, block=50)).equals(whole)
    assert whole.schema["a"] == pl.Float64
    (first, *_) = read_batches(path, rows=4, schema={"a": pl.Float64, "new": pl.String})
    assert first.rows()[:2] == [(0.0, None), (1.0, None)]


@pytest.mark.usefixtures("both_ways")
def test_the_line_that_is_no_json_is_named(put):
    path = put('{"a": 1}\n\n{"a": 2}\n{"a": oops}\n', "a.jsonl")
    refuses(lambda: load_file(path), DataError, "line 4 is not JSON")
