"""Files that lie or are damaged: rows, or one line, in no time and in no memory to speak of."""

from __future__ import annotations

import gzip
import io
import json
import struct
import time
import zipfile

import numpy as np
import pytest

pl = pytest.importorskip("polars")

from mercer._array import free_memory  # noqa: E402
from mercer.datasets import DataError, load_file, read_batches  # noqa: E402
from mercer.datasets.files import sizes  # noqa: E402
from mercer.datasets.files.layout import clear_names  # noqa: E402
from mercer.rows import open as open_rows  # noqa: E402
from tests.fuzz import fuzz_readers  # noqa: E402
from tests.fuzz.campaign import attempted  # noqa: E402

SECONDS = 20.0  # nothing here takes longer, however busy the machine is; a hang does


def npy(shape, dtype="<f8", content=b"") -> bytes:
    """Return an array whose header claims a shape."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def packed(members) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


ROWS = npy("(2, 2)", content=bytes(32))
CODES = npy("(2,)", "<i8", bytes(16))
ARFF = b"@relation r\n@attribute a numeric\n@attribute b string\n@data\n"
REFUSED = {
    "a column that makes names without end": ("a.svm", b"1 2000000000:1\n", "2,000,000,000 col"),
    "a column beyond 32 bits": ("a.svm", b"1 4294967297:1\n", "not in svmlight format"),
    "no rows": ("a.svm", b"# nothing\n", "no rows"),
    "a shape that lies": ("a.npz", packed({"X.npy": npy("(10**9, 9)")}), "plain .npz"),
    "a huge shape": ("a.npz", packed({"X.npy": npy("(1000000000000, 9)")}), "claims to be"),
    "a negative shape": ("a.npz", packed({"X.npy": npy("(-1, 9)")}), "claims to be"),
    "a header that ends": ("a.npz", packed({"X.npy": npy("(2, (((")}), "plain .npz"),
    "a long header": (
        "a.npz",
        packed({"X.npy": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31 - 1)}),
        "plain .npz",
    ),
    "objects": ("a.npz", packed({"X.npy": npy("(1,)", "|O", b"\x80\x04K\x01.")}), "plain .npz"),
    "too many columns": (
        "a.npz",
        packed({"X.npy": npy("(1, 200000)", "|u1", bytes(200000))}),
        "200,000 columns",
    ),
    "complex targets": (
        "a.npz",
        packed({"X.npy": ROWS, "y.npy": npy("(2,)", "<c16", bytes(32))}),
        "complex128",
    ),
    "classes that are no list": (
        "a.npz",
        packed({"X.npy": ROWS, "y.npy": CODES, "classes.npy": npy("()", "<i8", bytes(8))}),
        "a list of names",
    ),
    "codes that are no characters": (
        "a.npz",
        packed({"X.npy": npy("(2, 1)", "<U1", b"\xff" * 8)}),
        "no characters",
    ),
    "blank lines": ("a.csv", b" \n" * 2 + b"\x0c\n", "no rows"),
    "a word without end": ("a.svm", b"1" + b"[" * 5000 + b" 1:1\n", "not in svmlight format"),
    "a member whose name is no text": (
        "a.zip",
        packed({"X\u00e9.npy": ROWS}).replace("\u00e9".encode(), b"\xff\xff"),
        "a.zip",
    ),
    "brackets without end": ("a.json", b"[" * 100_000, "nested too deeply"),
    "brackets in a line": ("a.jsonl", b'{"a":' + b"[" * 100_000 + b"\n", "nested too deeply"),
    "a number without end": ("a.json", b'[{"a": ' + b"9" * 5000 + b"}]", "cannot be read"),
    "half a character": ("a.json", b'[{"a": "\\ud800"}]', "cannot be read"),
    "objects without names": ("a.jsonl", b"{}\n{}\n", "no column to read"),
    "a name without end": ("a.csv", b"a," + b"n" * 200_000 + b"\n1,2\n", "field larger"),
    "zeros in text": ("a.csv", b"a,b\n1,\x00\n", "not a text file"),
    "a place without end": ("a.arff", ARFF + b"{" + b"9" * 5000 + b" 1}\n", "attribute 9999"),
    "no sparse row": ("a.arff", ARFF + b"{garbage}\n", "place value"),
    "backslashes": ("a.arff", b"@attribute '" + b"\\a" * 20_000 + b"\n@data\n1\n", "line 1"),
    "a cut stream": ("a.csv.gz", gzip.compress(bytes(9999))[:20], "damaged or cut off"),
    "a damaged footer": ("a.parquet", b"PAR1" + bytes(99) + b"PAR1", "damaged"),
    "no stream": ("a.arrow", b"\xff\xff\xff\xff" + bytes(99), "damaged"),
    "no workbook": ("a.xlsx", packed({"xl/workbook.xml": b"<x/>"}), "no workbook"),
}
READ = {
    "a deep object": ("a.jsonl", b'{"a":' * 300 + b"1" + b"}" * 300 + b"\n", (1, 1)),
    "numbers beyond 64 bits": ("a.json", b'[{"a": 99999999999999999999}, {"a": 1}]', (2, 1)),
    "damaged UTF-16": ("a.csv", b"\xff\xfe" + b"a\0,\0b\0\n\0001\0,\0\0\xd8\n\0", (1, 2)),
    "a line of blanks above": ("a.csv", b" \na,b\n1,2\n", (1, 2)),
    "UTF-32": ("a.csv", "a,b\n1,2\n".encode("utf-32"), (1, 2)),
    "a long line": ("a.csv", b"a,b\n" + b"1" * 10**6 + b",2\n", (1, 2)),
    "names without end": ("a.csv", b"a," * 199 + b"a\n" + b"1," * 199 + b"1\n", (1, 200)),
    "a long first line": (
        "a.csv",
        b",".join(b"%0700d x" % i for i in range(200)) + b"\n" + b"1," * 199 + b"1\n",
        (1, 200),
    ),
    "blanks before a quote": ("a.arff", ARFF + b"1," + b" " * 30_000 + b"'x' y\n", (1, 2)),
    "values at the end of the range": ("a.csv", b"a,b\n1e308,1\n,2\n-1.7e308,3\n", (3, 2)),
}  # fmt: skip


@pytest.fixture
def put(tmp_path):
    def write(name, content):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


def in_batches(path):
    return list(read_batches(path))


@pytest.mark.parametrize("read", [load_file, in_batches])
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_told_in_one_line(put, case, read):
    name, content, message = REFUSED[case]
    start = time.monotonic()
    with pytest.raises(DataError) as caught:
        read(put(name, content))
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500
    assert time.monotonic() - start < SECONDS


@pytest.mark.parametrize("case", READ)
def test_what_is_odd_and_no_lie_is_read(put, case):
    name, content, shape = READ[case]
    assert load_file(put(name, content)).X.shape == shape
    assert sum(len(batch) for batch in in_batches(put(name, content))) == shape[0]


# ---------------------------------------------------------------- small files of large tables
@pytest.fixture
def little_memory(monkeypatch):
    """Half of a megabyte is free for a table."""
    monkeypatch.setattr(sizes, "free_memory", lambda: 2**20)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.npz", packed({"X.npy": npy("(9, 100000)", "|u1", bytes(900_000))})),
        ("a.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 200_000)),
        ("a.json.gz", gzip.compress(b"[" + b'{"a":1},' * 200_000 + b'{"a":1}]')),
        ("a.arff.gz", gzip.compress(ARFF + b"1,2\n" * 200_000)),
        ("a.svm.gz", gzip.compress(b"1 1:1\n" * 200_000)),
    ],
    ids=["npz", "csv", "json", "arff", "svm"],
)
def test_packed_zeros_take_no_memory(put, little_memory, name, content):
    assert len(content) < 2**14
    with pytest.raises(DataError, match="more than half of the memory that is free"):
        load_file(put(name, content))


def test_a_column_of_one_value_is_not_unpacked(tmp_path, little_memory):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"a": np.zeros(10**6, np.int8)}).write_parquet(path)
    assert path.stat().st_size < 2**14
    with pytest.raises(DataError, match="more than half of the memory that is free"):
        load_file(path)


def workbook(cells) -> bytes:
    """Return a workbook with these cells."""
    openpyxl = pytest.importorskip("openpyxl")
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for place, value in cells.items():
        book.active[place] = value
    book.save(stream)
    return stream.getvalue()


def test_a_cell_in_the_last_corner_of_a_sheet(put):
    pytest.importorskip("fastexcel")
    content = workbook({"A1": "a", "A2": 1, "XFD1048576": 2})
    assert free_memory() < sizes.CELL_BYTES * 2**34
    with pytest.raises(DataError, match="17,179,869,184 cells"):
        load_file(put("a.xlsx", content))


def test_how_many_cells_a_sheet_of_libreoffice_stands_for():
    cell = b'<table:table-cell office:value-type="float" table:number-columns-repeated="300"/>'
    empty = b'<table:table-cell table:number-columns-repeated="16384"/>'
    rows = b'<table:table-row table:number-rows-repeated="%d">%b</table:table-row>'
    assert sizes._cells_with_repeats(rows % (1000, cell)) >= 300_000
    assert sizes._cells_with_repeats(rows % (1_048_576, empty)) == 0


def test_many_equal_names_are_told_apart_at_once():
    names = clear_names(["a"] * 30_000 + ["a_7", ""])
    assert len(set(names)) == len(names) == 30_002
    assert names[:3] == ["a", "a_2", "a_3"]
    assert names[-2:] == ["a_7", "column_30002"]


# ---------------------------------------------------------------- damage at random
@pytest.mark.parametrize("first", range(0, 400, 100))
def test_damaged_files_are_read_or_refused(first):
    found = [attempted(fuzz_readers.attempt, 0, i) for i in range(first, first + 100)]
    assert [finding for _, finding in found if finding] == []


# ---------------------------------------------------------------- names that are patterns to polars
PATTERNS = {"*": "(*)", "^a.*$": "(^a.*$)", "ab": "ab", "^": "^", "$": "$"}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet", "arrow"])
def test_names_that_are_patterns_are_names(tmp_path, ending):
    frame = pl.DataFrame({name: [float(k), k + 0.5] for k, name in enumerate(PATTERNS)})
    path = tmp_path / f"t.{ending}"
    if ending == "json":
        path.write_text(json.dumps(frame.rows(named=True)), encoding="utf-8")
    else:
        writers = {"csv": "csv", "jsonl": "ndjson", "parquet": "parquet", "arrow": "ipc"}
        getattr(frame, f"write_{writers[ending]}")(path)
    wanted = frame.rename(PATTERNS)
    assert load_file(path).X.equals(wanted)
    assert pl.concat(read_batches(path, rows=1)).equals(wanted)
    if ending in ("csv", "parquet", "arrow"):
        read = open_rows(path).read()
        np.testing.assert_array_equal(read.X, frame.to_numpy())
