"""Workbooks of Excel and LibreOffice: one sheet is a table."""

from __future__ import annotations

import logging
from typing import Any

from mercer._words import hint
from mercer.datasets.files.data import DataError, FileTable, damage_told, plain, polars, typed
from mercer.datasets.files.delimited import values_of
from mercer.datasets.files.dialect import Dialect
from mercer.datasets.files.layout import SAMPLE_ROWS, clear_names, looks_like_header
from mercer.datasets.files.sizes import refuse_large_sheets
from mercer.datasets.files.source import Source
from mercer.datasets.files.words import lacking, tidy

OLD_WORKBOOK = b"\xd0\xcf\x11\xe0"
"""What files of Excel before 2007 begin with."""


def read(source: Source, dialect: Dialect) -> FileTable:
    """Read the first sheet, or the one with a name."""
    what = f"{source.name} is no workbook that can be read"
    with damage_told(what, "save the sheet as CSV"):
        book = _open(source)
        name = _sheet(book.sheet_names, dialect.sheet, source)
        frame = _sheet_rows(book, name, source)
    if not frame.height:
        raise DataError(f"sheet {name!r} of {source.name} has a header and no rows")
    return FileTable(lacking(_values(frame, dialect, source), dialect.missing))


def _sheet_rows(book: Any, name: str, source: Source) -> Any:
    """Return the rows below the header, under its names."""
    first, top = _top(book, name, source)
    header = looks_like_header(top)
    names = clear_names(top[0] if header else [""] * len(top[0]))
    # a type follows from all rows: a text below the first thousand would be lost otherwise
    rows = book.load_sheet(name, header_row=None, skip_rows=first + header, schema_sample_rows=None)
    return _rows_with_values(rows.to_polars(), names)


def _open(source: Source) -> Any:
    try:
        import fastexcel
    except ImportError as error:
        raise ImportError(
            "workbooks are read with fastexcel, which is not installed: "
            "pip install 'mercer[app]', or save the sheet as CSV"
        ) from error
    polars()  # which holds what it reads
    logging.getLogger("fastexcel").setLevel(logging.ERROR)  # it tells of every empty column
    content = source.content()
    refuse_large_sheets(content, source.name)
    return fastexcel.read_excel(content)


def _sheet(names: list[str], wanted: str | None, source: Source) -> str:
    if not names:
        raise DataError(f"{source.name} has no sheet: there is nothing to read")
    if wanted is None:
        return names[0]
    if wanted in names:
        return wanted
    raise DataError(f"there is no sheet {wanted!r} in {source.name}: {hint(wanted, names)}")


def _top(book: Any, name: str, source: Source) -> tuple[int, list[list[str]]]:
    """Return the place of the first row of the table, below empty rows and titles, and some rows.

    A title is a row with one cell above a table of several columns.
    """
    rows = _first_cells(book, name)
    filled = [sum(map(bool, row)) for row in rows]
    if not any(filled):
        raise DataError(f"sheet {name!r} of {source.name} is empty: there is nothing to read")
    first = next(i for i, n in enumerate(filled) if n >= min(2, max(filled)))
    return first, [row for row, n in zip(rows[first:], filled[first:], strict=True) if n]


def _first_cells(book: Any, name: str) -> list[list[str]]:
    """Return the first rows as texts, from the very first row of the sheet on."""
    sheet = book.load_sheet(name, header_row=None, skip_rows=0, n_rows=SAMPLE_ROWS, dtypes="string")
    return [[cell or "" for cell in row] for row in sheet.to_polars().rows()]


def _rows_with_values(frame: Any, names: list[str]) -> Any:
    """Name the columns; leave out empty rows, and empty columns that have no name."""
    pl = polars()
    frame = frame.rename(dict(zip(frame.columns, names, strict=False)))
    nameless = {f"column_{i}" for i in range(1, len(names) + 1)}
    kept = [c for c in frame.columns if c not in nameless or frame[c].null_count() < frame.height]
    return frame.select(kept).filter(~pl.all_horizontal(pl.all().is_null()))


def _values(frame: Any, dialect: Dialect, source: Source) -> Any:
    """Read the words of columns of text as those of a CSV file; a sheet knows its other types."""
    pl = polars()
    frame = typed(plain(frame))
    words = frame.select(pl.col(pl.String))
    if not words.width:
        return frame
    return frame.with_columns(values_of(tidy(words, dialect.missing), dialect, str(source.path)))
