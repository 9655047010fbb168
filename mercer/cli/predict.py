"""``mercer predict``: new rows in, predictions out, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._words import count, short
from mercer.cli.errors import DATA, MODEL, USAGE, CommandError
from mercer.cli.files import (
    check_table_format,
    predicted,
    read_model,
    said_in_one_line,
    write_frames,
)
from mercer.cli.large import is_many
from mercer.cli.options import chosen
from mercer.cli.places import check_places
from mercer.cli.reading import AS_FOUND, ReadOptions, remembered
from mercer.cli.screen import Screen
from mercer.cli.streams import write_data
from mercer.datasets import read_batches
from mercer.rows import RowsError
from mercer.rows.opening import files

BLOCK = 20_000  # rows that are read, predicted and written at once


@dataclass(frozen=True)
class PredictOptions:
    """What was asked for on the command line."""

    model: Path
    data: Path
    out: Path | None
    proba: bool
    keep: tuple[str, ...]
    reading: ReadOptions = AS_FOUND


def predict(options: PredictOptions, screen: Screen) -> int:
    """Run the command; return its exit code."""
    out = options.out
    check_places({"MODEL": options.model, "DATA": options.data}, {"--out": out})
    check_table_format(out, "--out")
    if out is None and screen.as_json:
        raise CommandError("--json needs --out: both would write to the terminal", USAGE)
    model, manifest = read_model(options.model)
    _can_do(model, options)
    about = manifest.get("about") or {}
    target = about.get("target", "")
    with said_in_one_line():
        reading = remembered(options.reading, about, model, _files(options.data)[0])
    _warn_of_formulas(model, out, screen)
    with screen.step("predicted", "predicting" if out else "") as said:
        frames = _answers(model, options, reading)
        n_rows = _print(frames) if out is None else write_frames(frames, out)
        if out is not None:
            said.append(f"{target + ' of ' if target else ''}{count(n_rows, 'row')} → {out}")
    screen.result({"rows": n_rows, "out": str(out), "target": target})
    return 0


def _files(data: Path) -> list[Path]:
    """Return the file, or those that a folder or a pattern stands for."""
    try:
        return files(str(data)) if is_many(data) else [data]
    except RowsError as error:
        raise CommandError(str(error), DATA) from None


def _can_do(model: Any, options: PredictOptions) -> None:
    if not hasattr(model, "predict"):
        raise CommandError(f"{options.model.name} does not predict: it transforms", MODEL)
    made = {"prediction"}
    if options.proba and hasattr(model, "classes_"):
        made |= {f"p_{label}" for label in model.classes_}
    if clash := made & set(options.keep):
        raise CommandError(
            f"--keep: {min(clash)!r} is a column of the answers: rename it in the data", USAGE
        )
    if options.proba and not hasattr(model, "predict_proba"):
        raise CommandError(
            f"--proba: the model in {options.model.name} has no probabilities; svm, metric, "
            f"logistic, kernel-logistic, knn, bayes and network have them",
            MODEL,
        )


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that spreadsheets take for a formula."""


def _warn_of_formulas(model: Any, out: Path | None, screen: Screen) -> None:
    """Say that classes look like formulas; they are written as they are, or would be others."""
    labels = [label for label in getattr(model, "classes_", ()) if isinstance(label, str)]
    risky = [label for label in labels if label.startswith(FORMULA)]
    is_text = out is None or set(out.suffixes) & {".csv", ".tsv"}
    if risky and is_text:
        screen.note(
            f"the class {short(risky[0])!r} begins as a formula does: import the column as text "
            f"into a spreadsheet, or write --out with .parquet"
        )


def _answers(model: Any, options: PredictOptions, reading: ReadOptions) -> Iterator[Any]:
    import polars as pl

    given = reading.for_file()
    batches = (read_batches(file, rows=BLOCK, **given) for file in _files(options.data))
    for rows in chain.from_iterable(batches):
        rows = _as_wide_as(model, rows)
        columns = {name: _column(rows, name) for name in options.keep}
        columns["prediction"] = predicted(model, rows, options.data)
        if options.proba:
            P = np.asarray(model.predict_proba(rows))
            columns |= {f"p_{c}": P[:, k] for k, c in enumerate(model.classes_)}
        yield pl.DataFrame(columns)


def _as_wide_as(model: Any, rows: Any) -> Any:
    """Return sparse rows with as many columns as the model knows: absent ones are zero."""
    width = getattr(model, "n_features_in_", None)
    if not sp.issparse(rows) or width is None or rows.shape[1] == width:
        return rows
    rows = rows.copy()
    rows.resize((rows.shape[0], width))
    return rows


def _column(rows: Any, name: str) -> Any:
    return rows[chosen("--keep", name, getattr(rows, "columns", []))]


def _print(frames: Iterator[Any]) -> int:
    """Write CSV to the terminal or a pipe."""
    n = 0
    with said_in_one_line():
        for frame in frames:
            write_data(frame.write_csv(include_header=n == 0))
            n += frame.height
    return n
