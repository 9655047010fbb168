"""Rows: the same numbers from every source, in every pass, and errors that say where."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import TableEncoder, rows
from mercer.rows import RowsError

N, NAMES = 50, ["a", "b", "c"]


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)), rng.normal(size=N)


def frame(X, y=None):
    columns = {name: X[:, i] for i, name in enumerate(NAMES)}
    return pl.DataFrame(columns if y is None else {"a": X[:, 0], "y": y, **columns})


def array(X, y, folder):
    return rows.open(X, y)


def memory_map(X, y, folder):
    np.save(folder / "X.npy", X)
    return rows.open(np.load(folder / "X.npy", mmap_mode="r"), y)


def sparse(X, y, folder):
    return rows.open(sp.csc_array(X), y)


def polars_frame(X, y, folder):
    return rows.open(frame(X, y), "y")


def pandas_frame(X, y, folder):
    return rows.open(frame(X, y).to_pandas(), "y")


def in_two_files(write, ending):
    def make(X, y, folder):
        for name, part in (("1", slice(0, 20)), ("2", slice(20, None))):
            write(frame(X[part], y[part]), folder / f"{name}{ending}")
        (folder / "notes.txt").write_text("not rows")
        return rows.open(folder, "y")

    return make


def npy_parts(X, y, folder):
    for i, part in enumerate(np.array_split(X, 3)):
        np.save(folder / f"{i}.npy", part)
    return rows.open(sorted(folder.glob("*.npy")), y)


SOURCES = {
    "array": array,
    "memory map": memory_map,
    "sparse": sparse,
    "polars": polars_frame,
    "pandas": pandas_frame,
    "parquet": in_two_files(pl.DataFrame.write_parquet, ".parquet"),
    "arrow": in_two_files(pl.DataFrame.write_ipc, ".arrow"),
    "csv": in_two_files(pl.DataFrame.write_csv, ".csv"),
    "npy": npy_parts,
}


def dense(X):
    return X.toarray() if sp.issparse(X) else X


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_every_source_gives_the_same_rows_in_every_pass(source, table, tmp_path):
    X, y = table
    some = source(X, y, tmp_path)
    assert (some.n, some.n_columns, some.shape, some.dtype) == (N, 3, (N, 3), np.float64)
    for size in (1, 7, None):
        chunks = [block.read() for block in some.blocks(size)]
        np.testing.assert_array_equal(np.vstack([dense(c.X) for c in chunks]), X)
        np.testing.assert_array_equal(np.concatenate([c.y for c in chunks]), y)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_rows_are_taken_in_the_order_that_is_asked_for(source, table, tmp_path):
    X, y = table
    index = [40, 3, 3, 19, 20, -1]
    some = source(X, y, tmp_path)
    np.testing.assert_array_equal(dense(some.take(index)), X[index])
    np.testing.assert_array_equal(some.take_both(index).y, y[index])
    assert some.take([]).shape == (0, 3)


@settings(max_examples=30, deadline=None)
@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=6), size=st.integers(1, 12))
def test_blocks_cover_unequal_and_empty_parts(lengths, size):
    X = np.arange(2.0 * sum(lengths)).reshape(-1, 2)
    parts = np.split(X, np.cumsum(lengths)[:-1])
    if not len(X):
        with pytest.raises(RowsError, match="there are no rows"):
            rows.open(parts)
        return
    blocks = rows.open(parts).blocks(size)
    assert [b.start for b in blocks[1:]] == [b.stop for b in blocks[:-1]]
    assert all(0 < len(b) <= size for b in blocks)
    np.testing.assert_array_equal(np.vstack([b.read().X for b in blocks]), X)


def test_single_precision_stays_and_mixed_becomes_double(table, tmp_path):
    X = table[0].astype(np.float32)
    frame(X).write_parquet(tmp_path / "1.parquet")
    assert rows.open(tmp_path).dtype == np.float32
    frame(X).with_columns(pl.col("b").cast(pl.Int64)).write_parquet(tmp_path / "2.parquet")
    mixed = rows.open(tmp_path)
    assert mixed.dtype == np.float64
    assert {b.read().X.dtype for b in mixed.blocks()} == {np.dtype(np.float64)}
    assert rows.open([X, X.astype(np.float64)]).dtype == np.float64


def test_columns_of_files_are_matched_by_name(table, tmp_path):
    X, _ = table
    frame(X[:20]).write_parquet(tmp_path / "1.parquet")
    frame(X[20:]).select("c", "a", "b").write_parquet(tmp_path / "2.parquet")
    np.testing.assert_array_equal(rows.open(tmp_path).take(np.arange(N)), X)
    some = rows.open(str(tmp_path / "*.parquet"), columns=["c", "a"])
    np.testing.assert_array_equal(some.take([0, 30]), X[[0, 30]][:, [2, 0]])


def test_labels_may_be_text_and_whole_numbers_stay(tmp_path):
    labels = ["yes", "no", "yes"]
    table = pl.DataFrame({"x": [1, 2, 3], "word": labels, "code": [0, 1, 1]})
    table.write_parquet(tmp_path / "t.parquet")
    word = rows.open(tmp_path, "word", columns=["x"]).take_both([2, 1])
    assert word.y.tolist() == ["yes", "no"]
    assert word.y.dtype.kind == "U"
    assert rows.open(table, "code", columns=["x"]).take_both([1]).y.dtype.kind == "i"


def test_text_is_parsed_once_and_the_copy_goes_away(table, tmp_path):
    X, _ = table
    text, home = tmp_path / "t.csv", tmp_path / "spill"
    home.mkdir()
    frame(X).write_csv(text)
    some = rows.open(text, temporary=home)
    assert [p.suffix for p in home.rglob("*.*") if p.is_file()] == [".arrow"]
    view = some.select(["a"])
    del some
    np.testing.assert_array_equal(view.take([1, 2])[:, 0], X[[1, 2], 0])
    del view
    assert list(home.iterdir()) == []


# ---------------------------------------------------------------- what is wrong, and where
def test_a_missing_number_is_found_by_file_row_and_column(table, tmp_path):
    X, y = table
    frame(X[:20], y[:20]).write_parquet(tmp_path / "1.parquet")
    bad = X[20:].copy()
    bad[17, 1] = np.nan
    frame(bad, y[20:]).write_parquet(tmp_path / "2.parquet")
    blocks = rows.open(tmp_path, "y").blocks(5)
    with pytest.raises(RowsError, match=r"2\.parquet': column 'b' of row 17 is missing .*block 7"):
        [block.read() for block in blocks]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_number_of_an_array_and_of_a_sparse_one(value, table):
    X = table[0].copy()
    X[31, 2] = value
    word = "missing" if np.isnan(value) else "infinite"
    for source in (X, sp.csr_array(X)):
        with pytest.raises(RowsError, match=f"column 2 of row 31 is {word}"):
            [block.read() for block in rows.open(source).blocks(10)]


def test_a_missing_target_is_found(table, tmp_path):
    X, y = table
    y = y.copy()
    y[33] = np.nan
    frame(X, y).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(RowsError, match=r"t\.parquet': the target 'y' is missing in row 33"):
        [block.read() for block in rows.open(tmp_path, "y").blocks(10)]
    words = pl.DataFrame({"x": [1.0, 2.0], "y": ["a", None]})
    with pytest.raises(RowsError, match="missing in row 1"):
        rows.open(words, "y").blocks()[0].read()


WRONG = {
    "a column is missing": (lambda t: t.drop("b"), r"2\.parquet' has no column 'b'.*1\.parquet'"),
    "a column is new": (lambda t: t.with_columns(z=1), r"2\.parquet' has a column 'z' that"),
    "text among numbers": (
        lambda t: t.with_columns(pl.col("b").cast(pl.String)),
        r"2\.parquet': column 'b' holds String, not numbers",
    ),
}


@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG)
def test_files_that_do_not_belong_together(change, said, table, tmp_path):
    frame(table[0]).write_parquet(tmp_path / "1.parquet")
    change(frame(table[0])).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(RowsError, match=said):
        rows.open(tmp_path)


def test_parts_without_names_need_the_same_number_of_columns():
    with pytest.raises(RowsError, match="part 1 has 3 columns, part 0 has 2"):
        rows.open([np.zeros((4, 2)), np.zeros((4, 3))])


def test_rows_that_change_between_passes_are_found(table, tmp_path):
    X, _ = table
    path = tmp_path / "t.parquet"
    frame(X).write_parquet(path)
    some = rows.open(path)
    some.check_unchanged()
    frame(X[:-1]).write_parquet(path)
    for look in (some.check_unchanged, lambda: some.blocks()[0].read()):
        with pytest.raises(RowsError, match=r"t\.parquet' has changed between two passes"):
            look()
    own = X.copy()
    some = rows.open(own)
    own += 1.0
    with pytest.raises(RowsError, match="rows has changed between two passes"):
        some.check_unchanged()


def test_the_fingerprint_tells_rows_apart(table, tmp_path):
    X, y = table
    one = rows.open(X, y).fingerprint()
    assert one == rows.open(X.copy(), y).fingerprint()
    assert len({one, rows.open(X + 1, y).fingerprint(), rows.open(X, y + 1).fingerprint()}) == 3


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nothing.parquet", "there is no file 'nothing.parquet'"),
        ("nothing*.parquet", "no file of rows"),
        (__file__, "is none of .parquet"),
        (np.zeros(3), r"must be a table of numbers \(rows × columns\); got float64"),
        (np.array([["a"]]), "must be a table of numbers"),
        (np.zeros((0, 3)), "there are no rows in ndarray"),
    ],
)
def test_what_cannot_be_opened_is_said(source, said):
    with pytest.raises(RowsError, match=said):
        rows.open(source)


def test_damaged_files_are_named(tmp_path):
    for name in ("t.parquet", "t.arrow", "t.npy"):
        (tmp_path / name).write_bytes(b"no such thing")
        with pytest.raises(RowsError, match=f"{name}' cannot be read"):
            rows.open(tmp_path / name)


def test_targets_that_do_not_fit(table):
    X, y = table
    with pytest.raises(RowsError, match="one value for each of 50 rows; got 49"):
        rows.open(X, y[:-1])
    with pytest.raises(RowsError, match="columns without names"):
        rows.open(X, "y")
    with pytest.raises(RowsError, match="has no column 'z'"):
        rows.open(frame(X, y), "z")


FULL = """
import resource, sys
from mercer import TableEncoder, rows
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    rows.open(sys.argv[1], temporary=sys.argv[2])
except rows.RowsError as error:
    print(error)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="limits of files of Unix")
def test_a_full_disk_leaves_nothing_behind(tmp_path):
    text, home = tmp_path / "t.csv", tmp_path / "spill"
    home.mkdir()
    frame(np.random.default_rng(0).normal(size=(5_000, 3))).write_csv(text)
    given = [sys.executable, "-c", FULL, str(text), str(home)]
    said = subprocess.run(given, capture_output=True, text=True, check=True).stdout
    assert "cannot be written to" in said
    assert "temporary=" in said
    assert list(home.rglob("*")) == []


def test_pandas_labels_come_as_they_are():
    table = pd.DataFrame({"x": [1.0, 2.0], "y": ["b", "a"]})
    assert rows.open(table, "y").take_both([0, 1]).y.tolist() == ["b", "a"]


def test_hidden_files_of_a_folder_are_no_rows(table, tmp_path):
    frame(table[0]).write_parquet(tmp_path / "1.parquet")
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "2.parquet").write_bytes(b"")
    (tmp_path / ".3.parquet").write_bytes(b"")
    assert rows.open(tmp_path).names == [repr(str(Path(tmp_path, "1.parquet")))]


def test_mixed_columns_are_encoded_block_by_block(tmp_path):
    rng = np.random.default_rng(0)
    city = rng.choice(["Bonn", "Ulm"], 90)
    mixed = pl.DataFrame({"x": rng.normal(size=90), "city": city, "y": rng.normal(size=90)})
    mixed = mixed.with_columns(x=pl.when(pl.col("x") > 1.5).then(None).otherwise(pl.col("x")))
    mixed.write_parquet(tmp_path / "t.parquet")
    table = rows.open(tmp_path, "y", mixed=True)
    assert table.take([3, 1])["city"].to_list() == [city[3], city[1]]
    encoder = TableEncoder().fit(table.read().X)
    encoded = table.encoded(encoder)
    chunks = [block.read() for block in encoded.blocks(7)]
    np.testing.assert_allclose(
        np.vstack([chunk.X for chunk in chunks]), encoder.transform(mixed.drop("y"))
    )
    assert encoded.n_columns == chunks[0].X.shape[1]
    other = table.encoded(TableEncoder(scale=False).fit(mixed.drop("y")))
    assert other.fingerprint() != encoded.fingerprint()
    with pytest.raises(RowsError, match="column 'city' holds String"):
        rows.open(tmp_path, "y")
    with pytest.raises(RowsError, match="need no encoder"):
        rows.open(mixed.drop("city"), "y").encoded(encoder)
