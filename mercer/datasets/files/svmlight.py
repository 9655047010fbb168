"""LIBSVM's format: ``label index:value index:value …`` a line, zeros left out."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from mercer.datasets.files.data import DataError, FileTable, damage_told
from mercer.datasets.files.dialect import Dialect
from mercer.datasets.files.sizes import MOST_SPARSE_COLUMNS, refuse_columns
from mercer.datasets.files.source import Source

LABEL = "label"


class _Shape(NamedTuple):
    """The number of columns, and whether they are counted from 0 or from 1."""

    first: int
    last: int


def read(source: Source, dialect: Dialect) -> FileTable:
    """Read a whole file."""
    source.refuse_binary()
    with source.open() as stream:
        X, y = _parse(stream, source, zero_based="auto")
    _refuse_empty(X.shape[0], source)
    refuse_columns(X.shape[1], source.name, MOST_SPARSE_COLUMNS)
    return FileTable(sp.csr_array(X), LABEL, _whole_numbers(y))


def batches(source: Source, rows: int, dialect: Dialect) -> Iterator[Any]:
    """Yield sparse rows; the file is read twice, first for the number of columns.

    With a schema, its names x1, x2, … are the columns, counted from 1.
    """
    source.refuse_binary()
    shape = _Shape(1, len(dialect.schema)) if dialect.schema else _shape(source, rows)
    refuse_columns(shape.last, source.name, MOST_SPARSE_COLUMNS)
    for text in _parts(source, rows):
        X, _ = _parse(io.BytesIO(text), source, zero_based=True)
        yield _columns(X, shape)


def _shape(source: Source, rows: int) -> _Shape:
    """Return the columns that occur; they are counted from 1 unless a column 0 is among them."""
    first, last, n_rows = 1, 0, 0
    for text in _parts(source, rows):
        X, _ = _parse(io.BytesIO(text), source, zero_based=True)
        n_rows += X.shape[0]
        if X.nnz:
            first, last = min(first, int(X.indices.min())), max(last, int(X.indices.max()))
    _refuse_empty(n_rows, source)
    return _Shape(first, last)


def _columns(X: Any, shape: _Shape) -> Any:
    """Cut or widen rows that were read from column 0 on to the columns of the file."""
    X = sp.csr_array(X)
    X.resize((X.shape[0], max(shape.last + 1, X.shape[1])))
    return X[:, shape.first : shape.last + 1]


def _parts(source: Source, rows: int) -> Iterator[bytes]:
    with source.open() as stream:
        lines = (line for line in stream if not line.lstrip().startswith(b"#") and line.strip())
        while part := b"".join(islice(lines, rows)):
            yield part


def _parse(stream: Any, source: Source, zero_based: Any) -> tuple[Any, np.ndarray]:
    what = f"{source.name} is not in svmlight format, 'label index:value …'"
    with damage_told(what, "mend the line, or say format=…"):
        return load_svmlight_file(stream, zero_based=zero_based)


def _refuse_empty(n_rows: int, source: Source) -> None:
    if not n_rows:
        raise DataError(f"{source.name} has no rows: give a file with rows")


def _whole_numbers(y: np.ndarray) -> np.ndarray:
    """Return classes as integers: ``-1`` reads better than ``-1.0``."""
    whole = np.isfinite(y).all() and (y == np.rint(y)).all() and np.abs(y).max() < 2**53
    return y.astype(np.int64) if whole else y
