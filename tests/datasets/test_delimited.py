"""CSV and its relatives: layout, quotes, header, types, and agreement with Python's reader."""

from __future__ import annotations

import bz2
import codecs
import csv
import datetime
import gzip
import io
import lzma

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.datasets import DataError, load_file, read_batches
from mercer.datasets.files import delimited
from mercer.datasets.files.dialect import Dialect
from mercer.datasets.files.layout import clear_names, layout_of, scan, whole_records
from mercer.datasets.files.source import Source
from mercer.datasets.files.words import MISSING, join_kinds, kinds_of, tidy
from tests.compare import refuses


def rows(path, **options):
    return load_file(path, **options).X.rows()


# ---------------------------------------------------------------- layout
@pytest.mark.parametrize("separator", list(",;\t|"))
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_separators_and_line_ends_are_told_from_the_content(put, separator, end):
    lines = ["name,age,note", "ann,31,", "bob,47,x"]
    text = end.join(lines).replace(",", separator)
    assert rows(put(text)) == [("ann", 31, None), ("bob", 47, "x")]
    assert rows(put(text + end)) == rows(put(text + end + end)) == rows(put(text))


def test_a_decimal_comma_is_not_guessed(put):
    data = load_file(put("a;b\n1,5;2\n2,5;3\n"))
    assert data.X.rows() == [("1,5", 2), ("2,5", 3)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(put, encoding):
    assert rows(put("name,x\nJosé,1\nZoë,2\n".encode(encoding))) == [("José", 1), ("Zoë", 2)]


PACK = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda text: pytest.importorskip("pyarrow").compress(text, "zstd", asbytes=True),
}


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("name", ["a.csv.{}", "a.csv", "a"])
def test_packed_text_is_told_by_its_content(put, ending, name):
    packed = PACK[ending](b"a,b\n1,x\n")
    assert rows(put(packed, name.format(ending))) == [(1, "x")]


HEADERS = {
    "words above numbers": ("a,b\n1,2\n", ["a", "b"]),
    "words above words": ("name,city\nann,rome\nbob,oslo\n", ["name", "city"]),
    "years": ("country,1999,2000,2001\nde,5,7,9\n", ["country", "1999", "2000", "2001"]),
    "positions": ("0,1,2\n0.5,0.1,7\n", ["0", "1", "2"]),
    "numbers above numbers": ("5,2\n1,2\n", ["column_1", "column_2"]),
    "codes that come again": ("A11,6,x\nA12,7,y\nA11,8,x\n", ["column_1", "column_2", "column_3"]),
    "a missing value": ("1,?\n2,5\n", ["column_1", "column_2"]),
    "an empty name": (",b\n0,2\n", ["column_1", "b"]),
    "twice the same": ("b,b,b_2\n0,2,3\n", ["b", "b_3", "b_2"]),
    "quoted": ('"a, b","c"\n1,2\n', ["a, b", "c"]),
    "white space": (" a , b\n1,2\n", ["a", "b"]),
    "blank lines before": ("\n\na,b\n1,2\n", ["a", "b"]),
}


@pytest.mark.parametrize(("text", "names"), HEADERS.values(), ids=HEADERS.keys())
def test_headers_are_told_from_rows(put, text, names):
    data = load_file(put(text))
    assert data.feature_names == names
    n_lines = len([line for line in text.splitlines() if line])
    assert data.X.height == n_lines - (not names[0].startswith("column_1") or names[1] == "b")


@given(
    st.lists(st.sampled_from(["", "a", "a_2", "a_3", "column_1", " a "]), min_size=1, max_size=8)
)
def test_clear_names_are_there_and_differ(names):
    clear = clear_names(names)
    assert len(set(clear)) == len(names)
    assert all(clear)
    firsts = {name.strip(): i for i, name in reversed(list(enumerate(names))) if name.strip()}
    assert all(clear[i] == name for name, i in firsts.items() if name not in clear[:i])


# ---------------------------------------------------------------- quotes
QUOTES = {
    "a separator": ('a,b\n"x, y",1\n', [("x, y", 1)]),
    "a newline": ('a,b\n"x\ny",1\nz,2\n', [("x\ny", 1), ("z", 2)]),
    "a newline in one column": ('a\n"x\ny"\nz\n', [("x\ny",), ("z",)]),
    "doubled quotes": ('a,b\n"say ""hi""",1\n', [('say "hi"', 1)]),
    "inches": ('a,b\n5" pipe,1\n6" pipe,2\n', [('5" pipe', 1), ('6" pipe', 2)]),
    "inches and a separator": ('a,b\n5" pipe,"x, y"\nq,z\n', [('5" pipe', "x, y"), ("q", "z")]),
    "a space before": ('a, "b"\n1, "x"\n2, "y, z"\n', [(1, "x"), (2, "y, z")]),
    "numbers in quotes": ('"a","b"\n"1"," 2.5 "\n', [(1, 2.5)]),
    "no header": ('"Doe, J",1\n"Roe, R",2\n', [("Doe, J", 1), ("Roe, R", 2)]),
    "never closed": ('a,b\n1,x\n2,"say\n3,y\n', [(1, "x"), (2, '"say'), (3, "y")]),
    "closed two lines later": ('a\tb\n1\t"x\n2\ty\n3\tz"\n', [(1, '"x'), (2, "y"), (3, 'z"')]),
}


@pytest.mark.parametrize(("text", "wanted"), QUOTES.values(), ids=QUOTES.keys())
def test_quotes_are_borders_or_characters(put, text, wanted):
    assert rows(put(text)) == wanted


cells = st.text(st.sampled_from('ab1 ,;"\n.-'), max_size=6)


@given(st.data())
def test_what_python_writes_is_read_as_python_reads_it(tmp_path_factory, data):
    width = data.draw(st.integers(2, 4))
    table = data.draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1))
    names = [f"name{j}" for j in range(width)]
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([names, *table])
    got = load_file(path).X
    assert got.shape == (len(table), width)
    for name, column in zip(names, zip(*table, strict=True), strict=True):
        words = [None if w.strip() in MISSING else w.strip() for w in column]
        assert _as_words(got[name], words) == words


def _as_words(column, words):
    """Return the words where the values mean the same."""
    if column.dtype == pl.String:
        return column.to_list()
    values = column.to_list()
    return [w if w is not None and float(w) == v else v for v, w in zip(values, words, strict=True)]


@given(st.lists(st.lists(st.text(st.sampled_from('a,"\n'), max_size=5), min_size=2, max_size=3)))
def test_records_are_those_of_pythons_reader(table):
    stream = io.StringIO()
    csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(table)
    text = stream.getvalue().encode()
    records = scan(text, ",", quoted=True)
    assert records.fields.tolist() == [len(row) for row in table]
    assert whole_records(text + b'"open\n', quoted=True) == len(text)


# ---------------------------------------------------------------- types
TYPES = {
    "whole numbers": (["1", " 2", "+3 ", "NA"], pl.Int64, [1, 2, 3, None]),
    "numbers": (["1", "2.5", "-1e3", "?"], pl.Float64, [1.0, 2.5, -1000.0, None]),
    "beyond 64 bits": (["1", "99999999999999999999"], pl.Float64, [1.0, 1e20]),
    "infinity": (["inf", "-inf", "nan"], pl.Float64, [np.inf, -np.inf, None]),
    "booleans": (["true", "False", "TRUE", "None"], pl.Boolean, [True, False, True, None]),
    "dates": (["2024-02-29", "null"], pl.Date, [datetime.date(2024, 2, 29), None]),
    "no dates": (["2023-02-29"], pl.String, ["2023-02-29"]),
    "times": (
        ["2024-01-31T10:00", "2024-01-31 10:00:30.5Z"],
        pl.Datetime,
        [datetime.datetime(2024, 1, 31, 10), datetime.datetime(2024, 1, 31, 10, 0, 30, 500000)],
    ),
    "words": (["x", "1", "N/A"], pl.String, ["x", "1", None]),
    "booleans and numbers": (["true", "1"], pl.String, ["true", "1"]),
    "nothing": (["NA", "?"], pl.String, [None, None]),
    "one word at the end": (["1"] * 3000 + ["x"], pl.String, ["1"] * 3000 + ["x"]),
}


@pytest.mark.parametrize(("words", "dtype", "values"), TYPES.values(), ids=TYPES.keys())
def test_the_type_of_a_column_follows_from_all_its_words(put, words, dtype, values):
    X = load_file(put("v,w\n" + "".join(f"{word},k\n" for word in words))).X
    assert X["v"].dtype == dtype
    assert X["v"].to_list() == values


words = st.sampled_from(["1", "-2", "0.5", "1e9", "true", "2024-01-31", "x", "NA", "", " 7 "])


@given(st.lists(words, min_size=1, max_size=12), st.integers(0, 12))
def test_the_kind_of_a_column_follows_from_the_kinds_of_its_parts(column, cut):
    whole = tidy(pl.DataFrame({"a": column}, schema={"a": pl.String}))
    parts = [kinds_of(whole.head(cut)), kinds_of(whole.slice(cut))]
    assert join_kinds(parts) == kinds_of(whole)


# ---------------------------------------------------------------- batches
def in_blocks(path, size=40):
    """Read a file in blocks of a few bytes: what is done with large files, on small ones."""
    return delimited.read(Source.of(path), whole=size, block=size).rows


def batches_in_blocks(path, rows=50_000, size=40):
    return list(delimited.batches(Source.of(path), rows, None, block=size))


TEXT = "n,w,q\n" + "".join(
    f'{i if i != 70 else 70.5},{"é" * (i % 5)}x,"a, {i}\n""b"""\n' for i in range(80)
)


@pytest.mark.parametrize("pack", [lambda text: text, gzip.compress], ids=["plain", "gz"])
@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_batches_put_together_are_the_file(put, size, pack):
    path = put(pack(TEXT.encode()))
    parts = batches_in_blocks(path, rows=size)
    assert [part.height for part in parts] == [size] * (80 // size) + [80 % size] * (80 % size > 0)
    assert len({tuple(part.schema.items()) for part in parts}) == 1
    assert pl.concat(parts).equals(load_file(path).X)
    assert in_blocks(path).equals(load_file(path).X)


@pytest.mark.parametrize("size", [30, 31, 32, 33, 34, 500])
def test_blocks_of_any_size_give_the_same(put, size):
    """The first block holds the header and a row: from it the layout is told."""
    path = put(TEXT)
    assert pl.concat(batches_in_blocks(path, size=size)).equals(load_file(path).X)


def test_known_types_are_kept_and_need_one_reading(put):
    path = put("a,b\n1,x\n2,y\n")
    schema = {"a": pl.Float64, "b": pl.String}
    (batch,) = read_batches(path, schema=schema)
    assert dict(batch.schema) == schema
    (wider,) = read_batches(put("a,b\n1.5,x\n"), schema={"a": pl.Int64, "b": pl.String})
    assert wider.rows() == [(1.5, "x")]
    refuses(
        lambda: list(read_batches(put("a,b\nold,x\n"), schema=schema)),
        DataError,
        "'old' in column 'a' is not a number",
    )


def test_a_schema_of_some_columns_is_filled_up(put):
    (batch,) = read_batches(put("a,b\n1,2\n"), schema={"a": pl.String})
    assert batch.rows() == [("1", 2)]


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_batches_have_rows(put, n):
    refuses(lambda: read_batches(put("a\n1\n"), rows=n), ValueError, "rows must be a whole number")


# ---------------------------------------------------------------- what is wrong
WRONG = {
    "empty": ("", "is empty"),
    "blank": ("\n \n", "has no rows"),
    "only a header": ("a,b\n", "a header and no rows"),
    "too few": ("a,b\n1,2\n3\n", "line 3 has 1 field where the first line has 2"),
    "too many": ("a,b\n1,2\n\n3,4,5\n", "line 4 has 3 fields where the first line has 2"),
    "after a quoted newline": ('a,b\n"1\n\n1",2\n3\n', "line 5 has 1 field"),
    "among loose quotes": ('a,b\n5" x,"1, 2"\n3\n', "line 3 has 1 field"),
    "binary": (bytes(range(256)) * 20, "is not a text file"),
    "a cut archive": (gzip.compress(TEXT.encode())[:-20], "is damaged or cut off"),
    "a damaged archive": (gzip.compress(b"x")[:10] + b"\xff" * 90, "is damaged or cut off"),
}


@pytest.mark.parametrize(("content", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_said_in_one_line(put, content, message):
    with pytest.raises(DataError, match=message) as caught:
        load_file(put(content))
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match=message):
        list(read_batches(put(content)))


def test_lines_are_counted_through_the_blocks(put):
    refuses(lambda: in_blocks(put(TEXT + "1,2\n")), DataError, "line 162 has 2 fields")


def test_a_quote_that_never_closes_behind_the_first_block(put):
    text = 'a,b\n"x",1\n' * 10 + '"y,2\n' + "z,3\n" * 30
    never = "quote opened in line 21 is never closed"
    refuses(lambda: in_blocks(put(text)), DataError, never)
    file = delimited._Text.of(Source.of(put(text)), Dialect(), 40)
    blocks = delimited._blocks(file, longest=60)
    refuses(lambda: list(blocks), DataError, never)


def test_the_byte_order_mark_is_no_part_of_a_name(put):
    assert load_file(put(codecs.BOM_UTF8 + b"a,b\n1,2\n")).feature_names == ["a", "b"]


def test_the_layout_is_the_same_for_a_part_of_the_text():
    text = TEXT.encode()
    whole = layout_of(text, complete=True)
    assert layout_of(text[:300], complete=False) == whole
