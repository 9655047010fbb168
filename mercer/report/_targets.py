"""Rows and targets as they were given, made fit to be judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.report._pace import seconds_per_row
from mercer.report._rows import Rows, as_rows, missing
from mercer.report._sample import some_rows
from mercer.report._subject import Subject

FEWEST_ROWS = 100


def rows_and_targets(
    subject: Subject, X: Any, y: Any, name: str, numbers: Any = None
) -> tuple[Rows, np.ndarray, list[str]]:
    """Return the rows that have a target, their targets, and sentences about the others."""
    rows = as_rows(X, names=subject.column_names, objects=subject.takes_objects)
    targets = _column(y, name)
    if len(rows) != len(targets):
        raise ValueError(
            f"{name} must have one target for each row; got {len(targets)} for {len(rows)} rows"
        )
    if numbers is not None:
        rows.numbers = _numbers(numbers, len(rows))
    gone = missing(targets)
    if gone.all():
        raise ValueError(f"{name} has no target: a report needs rows whose target is known")
    notes = [f"{gone.sum():,} rows without a target were left out"] if gone.any() else []
    kept = np.flatnonzero(~gone)
    return (rows.take(kept) if gone.any() else rows), _typed(targets[kept], subject, name), notes


def _column(y: Any, name: str) -> np.ndarray:
    targets = np.asarray(y)
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if targets.ndim != 1:
        raise ValueError(
            f"{name} must be one target for each row, shape (n,); got shape {targets.shape}"
        )
    return targets


def _numbers(numbers: Any, n: int) -> np.ndarray:
    found = np.asarray(numbers)
    if found.shape != (n,) or found.dtype.kind not in "iu":
        raise ValueError(
            f"row_numbers must be a whole number for each of the {n} rows; got {found.dtype} of "
            f"shape {found.shape}"
        )
    return found


def _typed(targets: np.ndarray, subject: Subject, name: str) -> np.ndarray:
    """Return numbers for a regression, and classes of one type."""
    if targets.dtype.kind == "O":
        targets = np.array(targets.tolist())
    if subject.task == "regress":
        if targets.dtype.kind not in "biuf":
            raise TypeError(f"{name} must be numbers for a regression; got {targets.dtype}")
        return targets.astype(np.float64)
    if (targets.dtype.kind in "biuf") != (subject.classes.dtype.kind in "biuf"):
        raise TypeError(
            f"{name} must hold classes like those of the model, {subject.classes[:5].tolist()}; "
            f"got {targets[:5].tolist()}"
        )
    return targets


def affordable_rows(
    subject: Subject, rows: Rows, y: np.ndarray, seconds: float, seed: int, notes: list[str]
) -> tuple[Rows, np.ndarray]:
    """Return the rows whose predictions fit into the time: all of them, or a random part."""
    if len(rows) <= FEWEST_ROWS:
        return rows, y
    needed = 2.0 * seconds_per_row(subject, rows, seconds)  # classes, and then scores
    most = max(int(seconds / max(needed, 1e-12)), FEWEST_ROWS)
    if len(rows) <= most:
        return rows, y
    rng = np.random.default_rng(seed)
    part = some_rows(y, most, rng, classes=subject.task == "classify")
    notes.append(
        f"the scores are of {len(part):,} of {len(rows):,} rows, drawn at random: to predict all "
        f"would take {needed * len(rows):.2g} s"
    )
    return rows.take(part), y[part]
