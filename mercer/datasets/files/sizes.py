"""What a file may ask for: columns and memory, bounded before anything is allocated.

A short file can claim to be a huge table: packed zeros, a header with a wrong shape, one cell in
the last corner of a sheet. What it claims is compared with what there is room for.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from functools import reduce
from typing import Any

from mercer._array import FREE_SHARE, format_bytes, free_memory
from mercer.datasets.files.data import DataError

MOST_COLUMNS = 100_000
"""Of a table; a frame of more takes minutes to make, and longer to learn from."""

MOST_SPARSE_COLUMNS = 2**24
"""Of sparse rows: their names alone take a gigabyte."""

CELL_BYTES = 32
"""That a cell of a sheet takes while it is read."""


def memory_bound() -> int:
    """Return how many bytes a table may take: half of what is free."""
    return int(FREE_SHARE * free_memory())


def refuse_columns(count: int, name: str, most: int = MOST_COLUMNS) -> None:
    """Raise if a file has more columns than are read."""
    if count > most:
        raise DataError(
            f"{name} has {count:,} columns, and up to {most:,} are read: leave some out"
        )


def refuse_bytes(size: int, name: str) -> None:
    """Raise if a table would not leave half of the free memory to those who work with it."""
    if size > memory_bound():
        raise too_large(name, f"{format_bytes(size)}, ")


def too_large(name: str, size: str = "") -> DataError:
    """Return the error of a file whose content takes more memory than there is."""
    return DataError(
        f"{name} unpacks to {size}more than half of the memory that is free "
        f"({format_bytes(memory_bound())}): give some of its rows"
    )


class Bounded(io.RawIOBase):
    """A stream of bytes that raises once more than ``most`` of them have been read."""

    def __init__(self, stream: Any, most: int, name: str):
        self.stream, self.left, self.name = stream, most, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self.stream.read(len(buffer))
        self.left -= len(content)
        if self.left < 0:
            raise too_large(self.name)
        buffer[: len(content)] = content
        return len(content)


# ---------------------------------------------------------------- archives
def refuse_large_archive(content: bytes, name: str) -> None:
    """Raise if the members of a zip archive take too much memory when they are unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except DAMAGED:
        return  # its reader says what is wrong
    refuse_bytes(size, name)


def refuse_large_sheets(content: bytes, name: str) -> None:
    """Raise if the cells of a workbook are too many: a sheet is read as far as its last cell."""
    refuse_large_archive(content, name)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            counts = [_COUNTS[kind](archive.read(m)) for m in archive.namelist()
                      if (kind := _kind(m))]  # fmt: skip
    except DAMAGED:
        return
    cells = max(counts, default=0)
    if cells * CELL_BYTES > memory_bound():
        raise DataError(
            f"{name} has a sheet of {cells:,} cells, most of them empty or repeated, for which "
            f"there is no memory: save the rows as CSV"
        )


DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, UnicodeError)
_PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Z]{0,3})(\d{1,9})["']""")
_ROWS, _CELLS = (
    re.compile(rb'<table:table-%b[^>]*?number-%b-repeated="(\d{1,9})"' % names)
    for names in ((b"row", b"rows"), (b"cell", b"columns"))
)


def _kind(member: str) -> str:
    if member == "content.xml":
        return "ods"
    return "xlsx" if re.fullmatch(r"/?xl/worksheets/[^/]+\.xml", member) else ""


def _cells_to_the_corner(sheet: bytes) -> int:
    """Return how many cells lie between the first cell of a sheet of Excel and the last one."""
    columns, last_row = {b""}, 0
    for place in _PLACE.finditer(sheet):
        columns.add(place[1])
        last_row = max(last_row, int(place[2]))
    return last_row * max(map(_column_number, columns))


def _column_number(letters: bytes) -> int:
    """Return 1 for A, 27 for AA."""
    return reduce(lambda n, letter: 26 * n + letter - 64, letters, 0)


def _cells_with_repeats(sheets: bytes) -> int:
    """Return how many cells the rows of LibreOffice stand for; empty ones at the end are free."""
    total = 0
    for row in sheets.split(b"<table:table-row")[1:]:
        last = row.rfind(b"office:value-type")
        if last >= 0:
            rows = _ROWS.match(b"<table:table-row" + row)
            width = row.count(b"<table:table-cell", 0, last)
            width += sum(int(repeat[1]) for repeat in _CELLS.finditer(row, 0, last + 200))
            total += width * (int(rows[1]) if rows else 1)
    return total


_COUNTS = {"ods": _cells_with_repeats, "xlsx": _cells_to_the_corner}
