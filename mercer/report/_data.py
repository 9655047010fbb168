"""The training rows, column by column: how values are spread, and how the target goes with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._array import format_bytes
from mercer._floats import quantile, safe_unit
from mercer._words import called, count, number, percent, short
from mercer.plot.records import ratio
from mercer.report._budget import LeftOutError
from mercer.report._rows import TableRows, Training
from mercer.report._subject import Subject
from mercer.report.study import ColumnPicture, Correlations, DataPicture, Importance
from mercer.tables import object_kinds
from mercer.tables.columns import Column
from mercer.tables.frames import as_table

MOST_ROWS = 20_000  # that are read: a sample of them is as good a picture
MOST_COLUMNS = 30
MOST_CORRELATED = 20
MOST_CLASSES = 6  # whose shares are told apart
BINS = 12
LEVELS = 8  # of a category; the others are one

KINDS = {"number": "number", "date": "date", "nested": "nested"}


def data_of(
    subject: Subject,
    train: Training | None,
    importances: Sequence[Importance],
    seed: int,
    most_rows: int = MOST_ROWS,
) -> DataPicture:
    """Return what the training rows look like, the most important columns first."""
    rows, y = _checked(subject, train)
    whole, size = len(rows), format_bytes(_nbytes(rows.data))
    if whole > most_rows:
        part = np.sort(np.random.default_rng(seed).permutation(whole)[:most_rows])
        rows, y = rows.take(part), y[part]
    series = [name for name, kind in object_kinds(rows.data).items() if kind == "series"]
    order = [j for j in _ordered(rows.names, importances) if rows.names[j] not in series]
    columns = _read(rows, order[:MOST_COLUMNS])
    target = _Target(y, subject.task == "classify")
    table = f"{count(whole, 'training row')}, {count(len(rows.names), 'column')}"
    words = [f"{table}, {size} in memory"]
    if whole > len(rows):
        words.append(f"the pictures show {len(rows):,} of the rows, drawn at random")
    if len(order) > len(columns):
        words.append(f"{len(columns)} of the columns are shown, the most important first")
    pictures = [_picture(column, target) for column in columns]
    return DataPicture("; ".join(words), pictures, target.names, target.overall, _related(columns))


def _checked(subject: Subject, train: Training | None) -> Training:
    if train is None:
        raise LeftOutError("no training rows were given")
    if not train[0].has_columns or subject.pairwise:
        raise LeftOutError("the rows are objects or kernel values: they have no columns to look at")
    if sp.issparse(train[0].data):
        raise LeftOutError("the rows are a sparse matrix: most of its values are 0")
    return train


def _ordered(names: Sequence[str], importances: Sequence[Importance]) -> list[int]:
    """Return the places of columns, those that matter most first, the others as they stand."""
    places = {name: j for j, name in enumerate(names)}
    first = [places[one.column] for one in importances]
    return [*first, *(j for j in range(len(names)) if j not in set(first))]


def _read(rows: TableRows, order: Sequence[int]) -> list[Column]:
    table = as_table(rows.data, "the report")
    return [table.read(j, rows.names[j]) for j in order]


def _nbytes(data: Any) -> int:
    """Return the memory of a table."""
    if hasattr(data, "estimated_size"):
        return int(data.estimated_size())
    if hasattr(data, "memory_usage"):
        return int(data.memory_usage(deep=True).sum())
    return int(data.nbytes)


# ---------------------------------------------------------------- the target within bins
class _Target:
    """The target of each row, as it is averaged within bins: numbers, or a column a class."""

    def __init__(self, y: np.ndarray, classes: bool):
        self.names: tuple[str, ...] = ()
        self.values = y.astype(np.float64)[:, None] if not classes else self._indicators(y)
        self.overall = self.values.mean(axis=0)

    def _indicators(self, y: np.ndarray) -> np.ndarray:
        labels, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
        most = MOST_CLASSES if len(labels) <= MOST_CLASSES else MOST_CLASSES - 1
        shown = np.sort(np.argsort(-sizes, kind="stable")[:most])
        place = np.full(len(labels), len(shown))
        place[shown] = np.arange(len(shown))
        rest = [f"{len(labels) - len(shown)} others"] if len(labels) > len(shown) else []
        self.names = (*(called(labels[k]) for k in shown), *rest)
        return np.eye(len(self.names))[place[codes]]

    def means(self, member: np.ndarray, n_bins: int) -> np.ndarray:
        """Return the mean of each column within each bin, shape (bins, columns); NaN if empty."""
        known = member >= 0
        sums = [np.bincount(member[known], v[known], n_bins) for v in self.values.T]
        return ratio(np.array(sums).T, np.bincount(member[known], minlength=n_bins)[:, None])


def _picture(column: Column, target: _Target) -> ColumnPicture:
    quantity = column.form in ("number", "date")
    member, labels, words = (_bins if quantity else _levels)(column)
    lost = int((member < 0).sum())
    counts = np.bincount(member[member >= 0], minlength=len(labels))
    gone = f"{count(lost, 'missing value')} ({percent(lost / len(member))})"
    kind = f"{KINDS[column.form]}; " if column.form in KINDS else ""
    told = f"{kind}{words}; {gone if lost else 'none missing'}"
    return ColumnPicture(
        column.name, told, tuple(labels), counts, target.means(member, len(labels)), quantity, lost
    )


def _bins(column: Column) -> tuple[np.ndarray, list[str], str]:
    """Return the bin of each row (−1: missing), the names of the bins, and words."""
    values = np.where(np.isfinite(column.values), column.values, np.nan)
    known = values[~np.isnan(values)]
    if not len(known):
        return np.full(len(values), -1), [], "no value"
    told = _moment if column.form == "date" else lambda v: number(v, 4)
    low, middle, high = quantile(known, [0.0, 0.5, 1.0])
    words = f"{told(low)} to {told(high)}, median {told(middle)}"
    words = words if low < high else f"always {told(low)}"
    distinct = np.unique(known)
    if len(distinct) <= BINS:
        member = np.where(np.isnan(values), -1, np.searchsorted(distinct, values))
        return member, [told(v) for v in distinct], words
    edges = _edges(known)
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, BINS - 1)
    names = [f"{told(a)} to {told(b)}" for a, b in pairwise(edges)]
    names[0], names[-1] = f"up to {told(edges[1])}", f"from {told(edges[-2])}"
    return np.where(np.isnan(values), -1, place), names, words


def _edges(known: np.ndarray) -> np.ndarray:
    """Return even steps over the middle of the values; the ends take what lies outside."""
    low, high = quantile(known, [0.01, 0.99])
    if not high > low:
        low, high = known.min(), known.max()
    unit = safe_unit(max(abs(low), abs(high)))  # the span of two large numbers is no number
    return np.linspace(low / unit, high / unit, BINS + 1) * unit


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def _levels(column: Column) -> tuple[np.ndarray, list[str], str]:
    """Return the level of each row (−1: missing), the frequent levels, and words."""
    codes, n = np.asarray(column.values), len(column.levels)
    if not n:
        return np.full(len(codes), -1), [], "no value"
    sizes = np.bincount(codes[codes >= 0], minlength=n)
    found = int((sizes > 0).sum())
    kept = np.argsort(-sizes, kind="stable")[: LEVELS if found > LEVELS + 1 else LEVELS + 1]
    kept = kept[sizes[kept] > 0]
    place = np.full(n, len(kept))
    place[kept] = np.arange(len(kept))
    others = [f"{found - len(kept):,} others"] if found > len(kept) else []
    words = "yes or no" if column.form == "flag" else f"category of {count(found, 'level')}"
    if column.form == "text" and found > len(codes) / 2:
        words = f"text; {found:,} different ones"
    names = [*(short(called(column.levels[k])) for k in kept), *others]
    return np.where(codes < 0, -1, place[codes]), names, words


# ---------------------------------------------------------------- columns beside each other
def _related(columns: Sequence[Column]) -> Correlations | None:
    """Return Pearson's correlations of the first columns of numbers, of rows that have both."""
    numeric = [c for c in columns if c.form == "number" and _varies(c.values)][:MOST_CORRELATED]
    if len(numeric) < 2:
        return None
    table = np.column_stack([_scaled(c.values) for c in numeric])
    return Correlations(tuple(c.name for c in numeric), pairwise_correlations(table))


def pairwise_correlations(table: np.ndarray) -> np.ndarray:
    """Return the correlation of each pair of columns, of the rows that have both; NaN: unknown."""
    known = np.isfinite(table)
    Z, M = np.where(known, table, 0.0), known.astype(np.float64)
    n = M.T @ M
    mean = ratio(Z.T @ M, n)  # of column i over the rows that have j too
    variance = ratio((Z**2).T @ M, n) - mean**2
    covariance = ratio(Z.T @ Z, n) - mean * mean.T
    return np.clip(ratio(covariance, np.sqrt(np.maximum(variance * variance.T, 0.0))), -1.0, 1.0)


def _varies(values: np.ndarray) -> bool:
    known = values[np.isfinite(values)]
    return len(known) > 2 and bool(known.min() < known.max())


def _scaled(values: np.ndarray) -> np.ndarray:
    """Return values whose squares neither overflow nor vanish."""
    unit = safe_unit(float(np.abs(values[np.isfinite(values)]).max()))
    known = values[np.isfinite(values)] / unit
    return (values / unit - known.mean()) / np.abs(known - known.mean()).max()
