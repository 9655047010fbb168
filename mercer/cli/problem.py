"""From a table and a target to a problem: which task, which rows, and what was said about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from mercer._array import LARGEST
from mercer._sklearn import _safe_indexing
from mercer._words import called, count, number, percent
from mercer.checks import GroupFolds, TimeFolds
from mercer.checks.view import FEW_VALUES
from mercer.cli.errors import CommandError
from mercer.datasets import Data
from mercer.tables.columns import Column, from_objects
from mercer.tables.numerals import POINT, parse_number
from mercer.tables.readings import are_mostly_bounds, is_written, number_reading

MANY = 100  # more classes than this are no classes, but names
ROWS_OF_A_CLASS = 3  # of two classes at least: one to be tested with, two for two folds


@dataclass(frozen=True, eq=False)
class TableProblem:
    """Rows with targets, none missing.

    ``y`` holds the labels, or float64 numbers for regression; ``numbers`` counts the rows of the
    file from 1.
    """

    X: Any
    y: np.ndarray
    target: str
    task: str  # "classify" or "regress"
    numbers: np.ndarray
    notes: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)  # of columns, as asked for
    decimal: str | None = None  # the sign in targets that came as texts
    came_as_text: bool = False
    groups: np.ndarray | None = None  # rows of one group stay on one side of a split
    grouped_by: str = ""  # the column that groups are of; copies of rows have none
    times: np.ndarray | None = None  # the rows are in their order

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: np.ndarray) -> TableProblem:
        """Return some of the rows."""
        return replace(
            self,
            X=_safe_indexing(self.X, rows),
            y=self.y[rows],
            numbers=self.numbers[rows],
            groups=None if self.groups is None else self.groups[rows],
            times=None if self.times is None else self.times[rows],
        )

    def with_targets(self, y: np.ndarray) -> TableProblem:
        """Return the same rows with targets of another type."""
        return replace(self, y=y)

    @property
    def written(self) -> dict[str, Any]:
        """How the targets of other files are to be read."""
        return {"target_text": [self.target] * self.came_as_text, "target_decimal": self.decimal}

    @property
    def in_time(self) -> bool:
        """Whether the rows are in the order of time."""
        return self.times is not None

    def splitter(self, seed: int) -> Any:
        """Return the folds that keep to groups or time; None if any folds will do."""
        classes = self.task == "classify"
        if self.in_time:
            return TimeFolds(classes=classes)
        return None if self.groups is None else GroupFolds(classes=classes, seed=seed)

    @property
    def about(self) -> str:
        """The target in words."""
        if self.task == "regress":
            low, middle, high = np.quantile(self.y, [0, 0.5, 1])
            return (
                f"{self.target}: numbers from {number(low)} to {number(high)}, "
                f"median {number(middle)}"
            )
        labels, counts = np.unique(self.y, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        shares = [f"{called(labels[i])} {percent(counts[i] / len(self))}" for i in order[:4]]
        more = f" and {len(labels) - 4} more" if len(labels) > 4 else ""
        return f"{self.target}: {len(labels)} classes ({', '.join(shares)}{more})"


def as_problem(
    data: Data, task: str = "auto", decimal: str | None = None, left_out: str = "left out"
) -> TableProblem:
    """Return the rows that have a target, and the task: given, or found in the target's values.

    Targets such as 1.234,50 € are read by the decimal sign, which is found if it is not given.
    ``left_out`` are the words for what becomes of rows that have none.
    """
    is_text = np.asarray(data.y).dtype.kind in "UO"
    data, decimal, said = _read_target(data, task, decimal) if is_text else (data, None, [])
    rows, target, notes = _present(data), str(data.target), list(said)
    X, y = data.X, np.asarray(data.y)[rows]
    if len(rows) < data.X.shape[0]:
        X = _safe_indexing(X, rows)
        gone = count(data.X.shape[0] - len(y), "row")
        notes.append(f"{gone} without a value of {target!r} {left_out}")
    if task == "auto":
        task, why = task_of(y, target)
        notes += [why] if why else []
    y = _numbers(y, target) if task == "regress" else _labels(y)
    found = TableProblem(X, y, target, task, rows + 1, tuple(notes))
    return replace(found, decimal=decimal, came_as_text=is_text)


def _read_target(
    data: Data, task: str, decimal: str | None
) -> tuple[Data, str | None, Sequence[str]]:
    """Return targets that are written numbers as numbers; as they are, if they are classes."""
    column = from_objects(str(data.target), np.asarray(data.y, dtype=object))
    if task == "classify" or not is_written(column):
        return data, None, ()
    reading = number_reading(column, decimal)
    present = reading.values[np.isfinite(reading.values)]
    is_number = bool(len(present)) and not reading.unread
    if not is_number or (task == "auto" and not _is_quantity(column, present)):
        return data, None, ()
    return replace(data, y=reading.values), reading.how, reading.said


def _is_quantity(column: Column, values: np.ndarray) -> bool:
    """Whether written numbers are no classes: 5 % and 10 %, <50 and >50 are."""
    return not are_mostly_bounds(column) and task_of(values, column.name)[0] == "regress"


def _present(data: Data) -> np.ndarray:
    """Return which rows have a target."""
    y = np.asarray(data.y)
    rows = np.flatnonzero(~_missing(y))
    if not len(rows):
        raise CommandError(
            f"all {len(y):,} values of the target {data.target!r} are missing: choose another "
            f"--target"
        )
    return rows


def _missing(y: np.ndarray) -> np.ndarray:
    """Return which targets are None, NaN or infinite."""
    if y.dtype.kind == "f":
        return ~np.isfinite(y)
    if y.dtype.kind != "O":
        return np.zeros(len(y), bool)
    return np.array([v is None or (isinstance(v, float) and not np.isfinite(v)) for v in y], bool)


def task_of(y: np.ndarray, target: str) -> tuple[str, str]:
    """Return the task, and what to say where it could be the other."""
    if y.dtype.kind not in "iuf":
        return "classify", ""
    whole = bool(np.all(y == np.round(y)))
    distinct = len(np.unique(y))
    if whole and distinct <= FEW_VALUES and distinct <= max(2, len(y) // 4):
        if distinct <= 2:
            return "classify", ""
        how = f"{distinct} different whole numbers, taken as classes"
        return "classify", f"{target!r} has {how}: --task regress takes them as quantities"
    return "regress", ""


def _numbers(y: np.ndarray, target: str) -> np.ndarray:
    try:
        return y.astype(np.float64)
    except ValueError:
        example = next(str(v) for v in y if np.isnan(parse_number(str(v), POINT)))
        raise CommandError(
            f"--task regress needs numbers, but {target!r} has the value {example!r}: use "
            f"--task classify, or another --target"
        ) from None


def _labels(y: np.ndarray) -> np.ndarray:
    """Return labels that sort and save: whole numbers stay numbers, all else is text."""
    if y.dtype.kind in "iub":
        return y
    if y.dtype.kind == "f" and np.all(y == np.round(y)):
        return y.astype(np.int64)
    return np.array([str(v) for v in y])


def learnable(problem: TableProblem) -> TableProblem:
    """Return the rows that can be learned from; refuse targets from which nothing can."""
    values, counts = np.unique(problem.y, return_counts=True)
    if len(values) == 1:
        raise CommandError(
            f"the target {problem.target!r} has one value only ({values[0]!s}): there is nothing "
            f"to learn; choose another --target"
        )
    if problem.task == "regress":
        if (largest := float(np.abs(values).max())) > LARGEST:
            raise CommandError(
                f"the target {problem.target!r} has values up to {largest:.2g}, whose squares "
                f"overflow: divide it by a power of ten"
            )
        if largest < 1.0 / LARGEST:
            raise CommandError(
                f"the target {problem.target!r} has values up to {largest:.2g}, whose squares "
                f"vanish: multiply it by a power of ten"
            )
        return problem
    if len(values) > MANY or len(values) > max(2, len(problem) / 2):
        raise CommandError(
            f"the target {problem.target!r} has {len(values):,} different values in "
            f"{len(problem):,} rows: that is a name or a quantity, not a class; choose another "
            f"--target{', or --task regress' if problem.y.dtype.kind in 'iu' else ''}"
        )
    if np.sort(counts)[-2] < ROWS_OF_A_CLASS:
        raise CommandError(
            f"{count(len(problem), 'row')} with a target are too few: two classes need "
            f"{ROWS_OF_A_CLASS} rows each, one to be tested with, two to learn from"
        )
    return _without_rare(problem, values[counts < 2])


def _without_rare(problem: TableProblem, rare: np.ndarray) -> TableProblem:
    if not len(rare):
        return problem
    kept = problem.take(np.flatnonzero(~np.isin(problem.y, rare)))
    names = ", ".join(map(str, rare[:3])) + (" …" if len(rare) > 3 else "")
    note = f"{count(len(rare), 'class', 'classes')} with a single row left out: {names}"
    return replace(kept, notes=(*kept.notes, note))


def split(problem: TableProblem, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random rows to learn from and rows to be tested with, every class in both."""
    n = len(problem)
    rows = np.arange(n)
    labels = problem.y if problem.task == "classify" else None
    held_out = max(round(share * n), 1 if labels is None else len(np.unique(labels)))
    if n - held_out < (2 if labels is None else len(np.unique(labels))):
        raise CommandError(
            f"{count(n, 'row')} with a target are too few to hold {held_out} out: get more rows"
            f"{', or lower --test-size' if share > 0.3 else ''}"
        )
    learn, test = train_test_split(rows, test_size=held_out, random_state=seed, stratify=labels)
    return np.sort(learn), np.sort(test)
