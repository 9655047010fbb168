"""Which formats are read, by which module, and how a file is told to be in one of them."""

from __future__ import annotations

import io
import re
import zipfile
from types import ModuleType

from mercer.datasets.files import arff, columnar, delimited, json_lines, npz, svmlight
from mercer.datasets.files.errors import DataError
from mercer.datasets.files.source import Source, as_utf8

FORMATS = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "svmlight": (".svm", ".libsvm", ".svmlight"),
    "arff": (".arff",),
    "npz": (".npz",),
}
"""The formats that are read and their endings; text may be packed (.gz, .bz2, .xz, .zst)."""

READERS: dict[str, ModuleType] = {
    "csv": delimited,
    "tsv": delimited,
    "parquet": columnar,
    "arrow": columnar,
    "jsonl": json_lines,
    "svmlight": svmlight,
    "arff": arff,
    "npz": npz,
}

_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", columnar.STREAM: "arrow"}
_SVM_LINE = re.compile(rb"[-+]?[\d.eE+-]+(\s+qid:\d+)?(\s+\d+:\S+)*\s*(#.*)?")


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
    if source.ending in (".xlsx", ".xlsm", ".ods"):
        raise DataError(f"{str(source.path)!r} is a workbook: save the sheet as CSV")
    try:
        names = zipfile.ZipFile(io.BytesIO(source.content())).namelist()
    except zipfile.BadZipFile:
        return "npz"  # its reader says what is wrong
    if all(name.endswith(".npy") for name in names):
        return "npz"
    raise DataError(f"{str(source.path)!r} is a zip archive: unpack it and give one of its files")


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
    if first.startswith(b"{"):
        return "jsonl"
    return "svmlight" if _is_svmlight(lines) else "csv"


def _is_svmlight(lines: list[bytes]) -> bool:
    return any(b":" in line for line in lines) and all(_SVM_LINE.fullmatch(s) for s in lines)
