"""Files in and out, tables as matrices, with the errors that a person at the terminal needs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import FunctionTransformer

from mercer._replacing import replacing
from mercer.cli.errors import DATA, MODEL, USAGE, CommandError
from mercer.cli.options import chosen
from mercer.cli.reading import AS_FOUND, ReadOptions
from mercer.cli.screen import Screen
from mercer.datasets import Data, DataError, load_file, write_table
from mercer.datasets.files.data import missing_file
from mercer.datasets.files.tables import writer_of
from mercer.io import ModelFileError, inspect, load
from mercer.kernels import Kernel
from mercer.tables import ColumnsEncoder, TableEncoder, object_kinds
from mercer.tables.encoder import NothingToEncodeError


@contextmanager
def said_in_one_line() -> Iterator[None]:
    """Give what is wrong with a file the exit code that scripts look for."""
    try:
        yield
    except DataError as error:
        raise CommandError(str(error), DATA) from None
    except ModelFileError as error:
        raise CommandError(str(error), MODEL) from None


def check_there(*paths: Path | None) -> None:
    """Say that a file is missing before anything that takes time."""
    for path in paths:
        if path is not None and not path.expanduser().exists():
            with said_in_one_line():
                raise missing_file(path)


def read(
    path: Path,
    target: str | None = None,
    ignore: Iterable[str] = (),
    reading: ReadOptions = AS_FOUND,
) -> Data:
    """Return the rows of a file, with a target or without."""
    with said_in_one_line():
        data = load_file(path, target=target, **reading.for_file())
    for name in ignore:
        chosen("--ignore", name, data.feature_names)
    if not ignore or sp.issparse(data.X):
        return data
    kept = [name for name in data.feature_names if name not in ignore]
    if not kept:
        raise CommandError("--ignore leaves no column to learn from", USAGE)
    return replace(data, X=data.X.select(kept), feature_names=kept)


def read_with_target(
    path: Path,
    target: str | None,
    ignore: Iterable[str] = (),
    reading: ReadOptions = AS_FOUND,
) -> Data:
    """Return rows and targets; a file that does not tell its target must be told it."""
    data = read(path, target, ignore, reading)
    if data.y is None:
        names = data.feature_names
        shown = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
        raise CommandError(f"which column is to be predicted? --target one of: {shown}", USAGE)
    return data


def encoded(
    X: Any, screen: Screen, kinds: Mapping[str, str] | None = None
) -> tuple[TableEncoder, Any]:
    """Return a fitted encoder and the matrix of a table, and say what was done to its columns."""
    with screen.step("columns", "encoding the columns") as said:
        encoder = TableEncoder(kinds=dict(kinds) if kinds else None)
        try:
            Z = encoder.fit_transform(X)
        except NothingToEncodeError as error:
            raise CommandError(f"{error}, or say what it is by --kind COLUMN=KIND") from error
        except ValueError as error:  # one row
            raise CommandError(str(error)) from error
        said += encoder.describe()
    return encoder, Z


def columns_as_they_are(
    X: Any, kernel: Kernel, screen: Screen, kinds: Mapping[str, str]
) -> tuple[Any, Any]:
    """Return the table for a kernel that reads columns by itself, and the step that makes it.

    The step does nothing but read series, which files hold as texts.
    """
    found = {n: kind for n, kind in object_kinds(X, kinds).items() if kind == "series"}
    step = ColumnsEncoder(found, encode=False) if found else FunctionTransformer()
    try:
        rows = step.fit_transform(X)
        kernel.bind(kernel.sample(rows, "the table"))
    except (TypeError, ValueError) as error:
        raise CommandError(f"--kernel: {error}", USAGE) from None
    screen.say("columns", f"as they are, read by {kernel!r}")
    return step, rows


def numbers_in_a_row(Z: Any) -> int:
    """Return how many numbers a row of a matrix holds, of a sparse one on average."""
    return int(-(-Z.nnz // Z.shape[0]) if sp.issparse(Z) else Z.shape[1])


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, by which it is known again."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_model(path: Path) -> tuple[Any, dict[str, Any]]:
    """Return a saved model and what was said about it."""
    with said_in_one_line():
        return load(path), inspect(path)


def predicted(model: Any, rows: Any, path: Path) -> np.ndarray:
    """Return the predictions for rows of a file, which may lack columns."""
    try:
        return np.asarray(model.predict(rows))
    except ValueError as error:
        raise CommandError(f"{path.name}: {error}") from None


def check_table_format(path: Path | None, option: str) -> None:
    """Refuse an ending that names no format of tables."""
    try:
        if path is not None:
            writer_of(path)
    except DataError as error:
        raise CommandError(f"{option}: {error}", USAGE) from None


def write_frames(frames: Iterable[Any], path: Path) -> int:
    """Write frames one after the other into a table that appears when it is complete.

    CSV and JSON lines are written as they come; formats with a frame around all rows at the end.
    """
    with said_in_one_line():
        if path.suffix.lower() not in STREAMED:
            import polars as pl

            whole = pl.concat(list(frames))
            write_table(whole, path)
            return int(whole.height)
        n = 0
        with replacing(path) as stream:
            for frame in frames:
                STREAMED[path.suffix.lower()](frame, stream, n == 0)
                n += frame.height
        return n


STREAMED: dict[str, Any] = {
    ".csv": lambda frame, stream, first: frame.write_csv(stream, include_header=first),
    ".tsv": lambda frame, stream, first: frame.write_csv(
        stream, include_header=first, separator="\t"
    ),
    ".jsonl": lambda frame, stream, first: frame.write_ndjson(stream),
    ".ndjson": lambda frame, stream, first: frame.write_ndjson(stream),
}
