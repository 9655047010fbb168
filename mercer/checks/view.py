"""A table as the checks see it: some rows and columns, read once, and the target as codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from mercer._sklearn import _num_samples, _safe_indexing
from mercer.checks.rows import RowKeys
from mercer.tables.columns import Column, as_codes
from mercer.tables.frames import as_table
from mercer.tables.kinds import as_plain, identifies_rows

MOST_ROWS = 20_000
MOST_COLUMNS = 300
FEW_VALUES = 20  # whole numbers with at most so many values are taken as classes
NUMERIC = ("number", "date")

Task = Literal["classify", "regress"]


@dataclass(frozen=True, eq=False)
class View:
    """Columns and targets of a sample of the rows, in the order of the file.

    ``y`` holds the codes of the classes, or numbers; ``shape`` is that of the whole table. Of rows
    that were copied from one another ``copies`` has the number of the first.
    """

    columns: Sequence[Column]
    y: np.ndarray
    task: Task
    target: str
    shape: tuple[int, int]
    seed: int
    copies: np.ndarray

    @classmethod
    def of(cls, X: Any, y: Any, task: str, target: str, seed: int, keys: RowKeys) -> View:
        """Sample a table and read it."""
        y, n = np.asarray(y), _num_samples(X)
        if len(y) != n:
            raise ValueError(f"y must have one target for each row; got {len(y)} for {n} rows")
        rng = np.random.default_rng(seed)
        rows = _some(n, MOST_ROWS, rng)
        X, y = (X, y) if len(rows) == n else (_safe_indexing(X, rows), y[rows])
        found, width = _columns(X, rng)
        kind = task_of(y) if task == "auto" else _known(task)
        targets = y.astype(np.float64) if kind == "regress" else _codes(y)
        return cls(found, targets, kind, target, (n, width), seed, keys.take(rows).origins)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def is_sampled(self) -> bool:
        """Whether not all rows and columns were looked at."""
        return self.shape != (len(self), len(self.columns))

    @cached_property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.y.max()) + 1

    @cached_property
    def features(self) -> list[Column]:
        """The columns that vary and are no names of the rows."""
        return [c for c in self.columns if not identifies_rows(c) and n_values(c) > 1]

    @cached_property
    def halves(self) -> np.ndarray:
        """A random half of the rows, True or False, each class in both: two folds.

        Copies of a row are in the same: any column tells what it tells of a copy.
        """
        _, first, origin = np.unique(self.copies, return_index=True, return_inverse=True)
        order = np.random.default_rng(self.seed).permutation(len(first))
        if self.task == "classify":
            order = order[np.argsort(self.y[first][order], kind="stable")]
        half = np.zeros(len(first), bool)
        half[order[::2]] = True
        return half[origin]


def _some(n: int, most: int, rng: np.random.Generator) -> np.ndarray:
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _columns(X: Any, rng: np.random.Generator) -> tuple[list[Column], int]:
    """Return some of the columns, numbers and dates as such, and how many there are."""
    if sp.issparse(X):
        kept = _some(X.shape[1], MOST_COLUMNS, rng)
        table, places = as_table(X.tocsc()[:, kept].toarray(), "check_table"), range(len(kept))
        names, width = [f"x{j}" for j in kept], X.shape[1]
    else:
        table = as_table(X, "check_table")
        width = len(table.names) if table.names else np.shape(X)[1]
        places = _some(width, MOST_COLUMNS, rng).tolist()
        names = [table.names[j] if table.names else f"x{j}" for j in places]
    read = (table.read(j, name) for j, name in zip(places, names, strict=True))
    return [as_plain(column) for column in read if column.form != "nested"], width


def task_of(y: np.ndarray) -> Task:
    """Return the task that targets mean: many numbers are a quantity, all else is classes."""
    if y.dtype.kind not in "iuf":
        return "classify"
    whole = bool(np.all(y == np.round(y)))
    return "classify" if whole and len(np.unique(y)) <= FEW_VALUES else "regress"


def _known(task: str) -> Task:
    known: dict[str, Task] = {"classify": "classify", "regress": "regress"}
    if task not in known:
        raise ValueError(f"task must be 'auto', 'classify' or 'regress'; got {task!r}")
    return known[task]


def _codes(y: np.ndarray) -> np.ndarray:
    return np.unique(y.astype(str) if y.dtype.kind == "O" else y, return_inverse=True)[1]


# ---------------------------------------------------------------- columns
def is_missing(column: Column) -> np.ndarray:
    """Tell which values of a column are not there."""
    return ~np.isfinite(column.values) if column.form in NUMERIC else column.values < 0


def n_values(column: Column) -> int:
    """Return how many different values a column has."""
    return len(np.unique(column.values[~is_missing(column)]))


def is_whole(column: Column) -> bool:
    """Whether a column holds whole numbers only."""
    known = column.values[~is_missing(column)]
    return column.form == "number" and len(known) > 0 and bool(np.all(known == np.round(known)))


def level_codes(column: Column) -> np.ndarray:
    """Return a code ≥ 0 for each row by its value; missing is a value too."""
    return as_codes(column)[0] + 1 if column.form not in NUMERIC else _number_codes(column)


def _number_codes(column: Column) -> np.ndarray:
    return np.unique(np.where(is_missing(column), np.nan, column.values), return_inverse=True)[1]


def ranks(values: np.ndarray) -> np.ndarray:
    """Return the places of values in their order, equal ones together, from −½ to ½."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2
    return (middle[codes] - 0.5) / len(values) - 0.5


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return the correlation of two arrays; 0 where one of them is constant."""
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0 else 0.0
