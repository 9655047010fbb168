"""Tables in files: tell the format, load one, stream one, write one."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from mercer._replacing import replacing
from mercer.datasets.files import arff, delimited, json_lines, svmlight, workbook
from mercer.datasets.files.binary import STREAM, columnar_batches, read_columnar, read_npz
from mercer.datasets.files.data import Data, DataError, FileTable, polars, regroup, split
from mercer.datasets.files.dialect import Dialect, dialect
from mercer.datasets.files.sizes import DAMAGED
from mercer.datasets.files.source import Source, as_utf8
from mercer.datasets.files.workbook import OLD_WORKBOOK

FORMATS = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "excel": (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    "svmlight": (".svm", ".libsvm", ".svmlight"),
    "arff": (".arff",),
    "npz": (".npz",),
}
"""The formats that are read and their endings; text may be packed (.gz, .bz2, .xz, .zst)."""

_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", STREAM: "arrow", OLD_WORKBOOK: "excel"}
_SVM_LINE = re.compile(rb"[-+]?[\d.eE+-]+(\s+qid:\d+)?(\s+\d+:\S+)*\s*(#.*)?")


class Reader(NamedTuple):
    """How a format is read: whole, or in batches of rows, of columns of known types."""

    read: Callable[[Source, Dialect], FileTable]
    batches: Callable[[Source, int, Dialect], Iterator[Any]]


def _at_once(read: Callable[[Source, Dialect], FileTable]) -> Reader:
    """Return the reader of a format whose batches are cut from the whole file."""

    def batches(source: Source, rows: int, dialect: Dialect) -> Iterator[Any]:
        yield from regroup([read(source.in_memory(), dialect).rows], rows)

    return Reader(read, batches)


_DELIMITED = Reader(delimited.read, delimited.batches)
_COLUMNAR = Reader(read_columnar, columnar_batches)

READERS = {
    "csv": _DELIMITED,
    "tsv": _DELIMITED,
    "parquet": _COLUMNAR,
    "arrow": _COLUMNAR,
    "jsonl": Reader(json_lines.read, json_lines.batches),
    "svmlight": Reader(svmlight.read, svmlight.batches),
    "excel": _at_once(workbook.read),
    "arff": _at_once(arff.read),
    "npz": _at_once(read_npz),
}


def load_file(
    path: Any,
    *,
    target: str | None = None,
    format: str | None = None,
    sep: str | None = None,
    na: str | Sequence[str] = (),
    decimal: str | None = None,
    sheet: str | None = None,
    text: Sequence[str] = (),
) -> Data:
    """Load a table from a file.

    CSV and its relatives (separator, quotes and header are told from the content), workbooks of
    Excel and LibreOffice, Parquet, Arrow, JSON (an object a line, or a list of them), svmlight,
    ARFF and ``.npz``; text may be packed. The type of a column follows from all of its values:
    whole numbers, numbers, true and false, dates (2024-01-31), else text. The words in
    ``"", "NA", "N/A", "?", "nan", "null", "None"`` are missing values. Lines with ``#`` above a CSV
    table are left out.

    Parameters
    ----------
    path : str or path
        The file.
    target : str, optional
        The column to predict; it is taken out of the rows. A svmlight file has its target in front
        of each row (``"label"``), a ``.npz`` archive in its array ``y``.
    format : str, optional
        A name of ``FORMATS``, where neither content nor ending tell the format.
    sep : str, optional
        What separates the fields of a CSV file: one character, or the word ``"tab"``.
    na : str or sequence of str, optional
        More words that are missing values. A number, such as ``"-999"``, is missing in columns of
        numbers too.
    decimal : {".", ","}, optional
        The decimal sign of the numbers in a CSV file or a sheet; the other one separates
        thousands. Without it columns such as ``1.234,5`` are text, which `mercer.TableEncoder`
        reads.
    sheet : str, optional
        The sheet of a workbook; without it the first one.
    text : sequence of str, optional
        Columns that stay text, as in ``"007"``, whatever they look like.

    Returns
    -------
    Data
        Rows (a polars frame; sparse rows from svmlight), targets, names.

    Raises
    ------
    DataError
        In one line: what is wrong with the file or the target, and what to do.

    Examples
    --------
    >>> from mercer.datasets import load_file, load_penguins
    >>> data = load_file(load_penguins().path, target="species")
    >>> data
    Data(344 rows, 7 columns, target 'species')
    >>> data.X["body_mass_g"].null_count(), data.y[0].item()
    (2, 'Adelie')
    """
    told = dialect(sep, na, decimal, sheet, text)
    source = Source.of(path)
    name = format_of(source, format)
    return split(READERS[name].read(source.in_memory(), told), target, name, source.path)


def read_batches(
    path: Any,
    *,
    rows: int = 50_000,
    format: str | None = None,
    schema: Mapping[str, Any] | None = None,
    sep: str | None = None,
    na: str | Sequence[str] = (),
    decimal: str | None = None,
    sheet: str | None = None,
    text: Sequence[str] = (),
) -> Iterator[Any]:
    """Read a file of any size in batches of rows.

    Text is read twice, first for the types of its columns, so that every batch has those that
    `load_file` would give; with a schema once. Workbooks, ARFF and ``.npz`` files are read whole.

    Parameters
    ----------
    path : str or path
        The file.
    rows : int, default=50_000
        The number of rows of a batch; the last one may have fewer.
    format : str, optional
        A name of ``FORMATS``, where neither content nor ending tell the format.
    schema : mapping of names to polars types, optional
        Known types, such as ``load_file(other).X.schema``. A whole number may then also be a
        number with a fraction; another value that does not fit is an error.
    sep, na, decimal, sheet, text : optional
        As for `load_file`.

    Yields
    ------
    polars.DataFrame or scipy.sparse.csr_array
        All columns; of a svmlight file the rows without the labels.

    Examples
    --------
    >>> from mercer.datasets import load_penguins, read_batches
    >>> [batch.height for batch in read_batches(load_penguins().path, rows=150)]
    [150, 150, 44]
    """
    if isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or rows < 1:
        raise ValueError(f"rows must be a whole number of at least 1; got {rows!r}")
    told = dialect(sep, na, decimal, sheet, text, schema)
    source = Source.of(path)
    return READERS[format_of(source, format)].batches(source, int(rows), told)


# ---------------------------------------------------------------- formats
def format_of(source: Source, format: str | None) -> str:
    """Return the format that is asked for, or that the content or the ending tells."""
    if format is not None and format not in FORMATS:
        raise DataError(f"format must be one of {', '.join(map(repr, FORMATS))}; got {format!r}")
    return format or _by_magic(source) or _by_ending(source) or _by_text(source)


def _by_magic(source: Source) -> str | None:
    if source.head.startswith(b"PK\x03\x04"):
        return _archive(source)
    return next((name for magic, name in _MAGIC.items() if source.head.startswith(magic)), None)


def _archive(source: Source) -> str:
    """Tell archives of arrays from workbooks, which are the same kind of file."""
    if source.ending in FORMATS["excel"]:
        return "excel"
    try:
        names = zipfile.ZipFile(io.BytesIO(source.in_memory().content())).namelist()
    except DAMAGED:
        return "npz"  # its reader says what is wrong
    if all(name.endswith(".npy") for name in names):
        return "npz"
    if {"xl/workbook.xml", "xl/workbook.bin", "content.xml"} & set(names):
        return "excel"
    raise DataError(f"{source.name} is a zip archive: unpack it and give one of its files")


def _by_ending(source: Source) -> str | None:
    return next((name for name, ends in FORMATS.items() if source.ending in ends), None)


def _by_text(source: Source) -> str:
    """Tell the format of text with an ending that says nothing."""
    source.refuse_binary()
    lines = [line.strip() for line in as_utf8(source.head).splitlines()]
    lines = [line for line in lines[:-1] or lines if line and line[:1] not in b"%#"]
    first = lines[0] if lines else b""
    if first[:10].lower().startswith((b"@relation", b"@attribute")):
        return "arff"
    if first.startswith((b"{", b"[{")) or first == b"[":
        return "jsonl"
    return "svmlight" if _is_svmlight(lines) else "csv"


def _is_svmlight(lines: list[bytes]) -> bool:
    return any(b":" in line for line in lines) and all(_SVM_LINE.fullmatch(s) for s in lines)


# ---------------------------------------------------------------- writing
def write_table(frame: Any, path: Any) -> Path:
    """Write a table in the format that the ending of the path names.

    Parameters
    ----------
    frame : polars.DataFrame, pandas.DataFrame or mapping of names to columns
        The table.
    path : str or path
        Ends with ``.csv``, ``.tsv``, ``.parquet``, ``.arrow``, ``.feather`` or ``.jsonl``; text
        also with ``.gz`` behind. The file appears when it is complete.

    Returns
    -------
    pathlib.Path
        The path.

    Examples
    --------
    >>> import tempfile
    >>> from mercer.datasets import load_file, write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_table({"a": [1, 2], "b": ["x", None]}, f"{folder}/small.csv")
    ...     load_file(path).X.rows()
    [(1, 'x'), (2, None)]
    """
    path = Path(path).expanduser()
    write = writer_of(path)
    if not path.parent.is_dir():
        raise DataError(f"there is no folder {str(path.parent)!r}: create it, or write elsewhere")
    if path.exists() and not path.is_file():
        raise DataError(f"{str(path)!r} is not an ordinary file: write elsewhere")
    table = _as_polars(frame)
    try:
        with replacing(path) as file, _packed(path, file) as stream:
            write(table, stream)
    except (polars().exceptions.PolarsError, OSError) as error:
        reason = getattr(error, "strerror", None) or str(error).strip().splitlines()[0]
        raise DataError(f"{str(path)!r} cannot be written ({reason})") from None
    return path


def writer_of(path: Path) -> Callable[[Any, Any], None]:
    """Return what writes a frame into a file with this ending, or say which endings there are."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings[-1:] == [".gz"] and endings[-2:-1] and endings[-2] in _TEXT:
        return _TEXT[endings[-2]]
    if endings and endings[-1] in _WRITE:
        return _WRITE[endings[-1]]
    accepted = ", ".join(_WRITE)
    raise DataError(f"{path.name!r} does not name a format to write: end it with one of {accepted}")


def _packed(path: Path, file: BinaryIO) -> Any:
    """Return a file that packs what is written; the same rows give the same bytes at any time."""
    if path.suffix.lower() != ".gz":
        return nullcontext(file)
    return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)


def _as_polars(frame: Any) -> Any:
    pl = polars()
    if isinstance(frame, pl.DataFrame):
        return frame
    names = frame.keys() if hasattr(frame, "keys") else None
    if names is None:
        raise TypeError(
            f"frame must be a polars or pandas DataFrame or a mapping of names to columns; "
            f"got {type(frame).__name__}"
        )
    return pl.DataFrame(
        [pl.Series(str(name), _values(frame[name]), strict=False) for name in names]
    )


def _values(column: Any) -> Any:
    """Return a column as an array; objects as a list, with None where a value is missing."""
    array = np.asarray(column)
    if array.dtype != object:
        return array
    return [None if value is None or value != value else value for value in array.tolist()]


_TEXT: dict[str, Callable[[Any, Any], None]] = {
    ".csv": lambda frame, stream: frame.write_csv(stream),
    ".tsv": lambda frame, stream: frame.write_csv(stream, separator="\t"),
    ".jsonl": lambda frame, stream: frame.write_ndjson(stream),
    ".ndjson": lambda frame, stream: frame.write_ndjson(stream),
}
_WRITE: dict[str, Callable[[Any, Any], None]] = {
    **_TEXT,
    ".parquet": lambda frame, stream: frame.write_parquet(stream),
    ".arrow": lambda frame, stream: frame.write_ipc(stream),
    ".feather": lambda frame, stream: frame.write_ipc(stream),
    ".ipc": lambda frame, stream: frame.write_ipc(stream),
}
