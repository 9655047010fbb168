"""Rows that occur more than once, found by a hash of each row; and whether that may be chance.

The hash of a row is a sum over its columns, so that the hash of some of the columns costs nothing
more. That tells copies from coincidence. Where columns hold few different values, a row occurs
again because its values are common: half of its columns occur in many other rows too. A copied row
with continuous values is known by half of its columns already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._sklearn import _num_samples
from mercer._words import count, percent
from mercer.checks.finding import Finding, Severity
from mercer.kernels.sequences import mixed, text_code
from mercer.tables.columns import Column
from mercer.tables.frames import as_table
from mercer.tables.kinds import as_plain, identifies_rows, is_sentence

CUTS = 4  # of the columns into two halves, drawn at random
WORTH_SAYING = 0.05  # share of the rows that have a copy
UNBELIEVABLE = 0.2  # share of the held-out rows that were learned from

MISSING = np.uint64(0x5851F42D4C957F2D)


# ---------------------------------------------------------------- hashes
@dataclass(frozen=True, eq=False)
class RowKeys:
    """A hash of each row, and of each half of its columns: equal rows have equal keys.

    Columns are known by their names, so that tables with another order of columns can be compared.
    """

    whole: np.ndarray  # (n,)
    halves: np.ndarray  # (2·CUTS, n)
    names: tuple[str, ...]  # of the columns that were hashed

    @classmethod
    def of(cls, X: Any, names: Sequence[str] | None = None, seed: int = 0) -> RowKeys:
        """Hash all rows; ``names`` are the columns, None those that do not name the rows."""
        if sp.issparse(X):
            return cls._of_sparse(X.tocsr(), seed)
        columns = dict(_columns(X, names)) or dict(_columns(X, None, all_of_them=True))
        halves = _halves(len(columns), seed)
        whole = np.zeros(_num_samples(X), np.uint64)
        parts = np.zeros((2 * CUTS, len(whole)), np.uint64)
        for place, name in enumerate(sorted(columns)):
            key = mixed(value_keys(columns[name]) ^ _text_key(name))
            whole += key
            told = halves[place] | is_sentence(columns[name])  # a sentence is a row of words
            for half in np.flatnonzero(told):
                parts[half] += key
        return cls(whole, parts, tuple(columns))

    @classmethod
    def _of_sparse(cls, X: Any, seed: int) -> RowKeys:
        salts = mixed(np.arange(1, X.shape[1] + 1, dtype=np.uint64))
        keys = mixed(_bits(X.data) ^ salts[X.indices]) * (X.data != 0)  # a stored 0 is no value
        halves = _halves(X.shape[1], seed).T
        parts = [_row_sums(keys * half[X.indices], X.indptr) for half in halves]
        return cls(_row_sums(keys, X.indptr), np.stack(parts), ())

    @property
    def groups(self) -> np.ndarray:
        """A number for each row: equal rows have the same."""
        return np.unique(self.whole, return_inverse=True)[1]

    @property
    def origins(self) -> np.ndarray:
        """The first of the rows from which each was copied, or it was copied to; else itself."""
        _, first, place = np.unique(self.whole, return_index=True, return_inverse=True)
        return np.where(self.copies(), first[place], np.arange(len(place)))

    def take(self, rows: np.ndarray) -> RowKeys:
        """Return the keys of some of the rows."""
        return RowKeys(self.whole[rows], self.halves[:, rows], self.names)

    def copies(self, *others: RowKeys) -> np.ndarray:
        """Tell which rows could be told by half of their columns among these rows and others.

        Where such a row occurs twice, it was copied; where others occur twice, it may be chance.
        """
        everything = (self, *others)
        whole = np.concatenate([keys.whole for keys in everything])
        distinct, first, place = np.unique(whole, return_index=True, return_inverse=True)
        told = np.zeros(len(distinct), np.intp)
        for half in range(2 * CUTS):
            told += _are_single(np.concatenate([keys.halves[half] for keys in everything])[first])
        return (told >= CUTS)[place[: len(self.whole)]]


def _are_single(keys: np.ndarray) -> np.ndarray:
    """Tell which keys occur once."""
    _, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return counts[places] == 1


def _row_sums(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the sum of the values of each row of a CSR matrix, modulo 2⁶⁴."""
    totals = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    return totals[starts[1:]] - totals[starts[:-1]]


def _halves(n_columns: int, seed: int) -> np.ndarray:
    """Return which columns lie in each half of each cut, (d, 2·CUTS); one column has no halves."""
    halves = np.zeros((n_columns, 2 * CUTS), bool)
    rng = np.random.default_rng(seed)
    for cut in range(CUTS if n_columns > 1 else 0):
        first = rng.permutation(n_columns) < n_columns // 2
        halves[:, 2 * cut], halves[:, 2 * cut + 1] = first, ~first
    return halves


def _columns(
    X: Any, names: Sequence[str] | None, all_of_them: bool = False
) -> Iterator[tuple[str, Column]]:
    table = as_table(X, "check_table")
    known = table.names or [f"x{j}" for j in range(np.shape(X)[1])]
    for j, name in enumerate(known):
        if names is None or name in names:
            column = as_plain(table.read(j, name))
            if names or all_of_them or not (column.form == "nested" or identifies_rows(column)):
                yield name, column


def value_keys(column: Column) -> np.ndarray:
    """Return 64 bits for each value of a column."""
    if column.form in ("number", "date"):
        return _bits(column.values)
    levels = np.array([*map(_text_key, column.levels), MISSING], np.uint64)
    return levels[column.values]


def _bits(values: np.ndarray) -> np.ndarray:
    known = np.asarray(values, np.float64) + 0.0  # −0 is 0
    return np.where(np.isnan(known), MISSING, known.view(np.uint64))


def _text_key(text: str) -> np.uint64:
    return np.int64(text_code(text)).view(np.uint64)


# ---------------------------------------------------------------- findings
def check_copies(keys: RowKeys, test_share: float = 0.2) -> list[Finding]:
    """Return what copies of rows would do to a random split of a table."""
    _, places, counts = np.unique(keys.whole, return_inverse=True, return_counts=True)
    fewest = max(WORTH_SAYING * len(places), 2)
    if counts[counts > 1].sum() < fewest:
        return []
    times = np.where(keys.copies(), counts[places], 1)
    copied = int((times > 1).sum())
    if copied < fewest:
        return []
    both = float((1.0 - test_share ** (times - 1.0)).mean())
    sentence = (
        f"{percent(copied / len(times))} of the {count(len(times), 'row')} occur more than once: "
        f"split at random, about {100 * both:.0f} % of the held-out rows would also stand in the "
        f"training part, and the score {_could(both)}"
    )
    advice = "keep copies of a row on one side of the split, as mercer fit does, or remove them"
    return [Finding("repeated rows", severity(both), (), sentence, advice)]


def severity(share: float) -> Severity:
    """Return how bad it is that such a share of the held-out rows is known already."""
    return "leak" if share >= UNBELIEVABLE else "warning"


def _could(share: float) -> str:
    return "could not be believed" if share >= UNBELIEVABLE else "would be too good"


def check_parts(learn: RowKeys, test: RowKeys) -> list[Finding]:
    """Return whether rows of the test part also stand in the training part."""
    known = np.isin(test.whole, learn.whole)
    copied = known & test.copies(learn)
    share = float(copied.mean())
    if share >= WORTH_SAYING:
        so = "cannot be believed" if share >= UNBELIEVABLE else "is too good"
        sentence = f"{_rows(copied)}, so the score {so}"
        return [Finding("repeated rows", severity(share), (), sentence, REMEDY)]
    if known.mean() < WORTH_SAYING:
        return []
    why = "the columns hold few different values, so that rows are equal by chance"
    return [Finding("repeated rows", "note", (), f"{_rows(known)}: {why}", "nothing need be done")]


REMEDY = "test with rows that the model has not seen"


def _rows(known: np.ndarray) -> str:
    share = (
        f"{percent(float(known.mean()))} of the held-out rows ({known.sum():,} of {len(known):,})"
    )
    return f"{share} also stand in the training part"
