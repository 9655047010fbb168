"""Decision stumps on columns that are sorted once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._array import n_threads, ranges, run_tiles
from mercer.boosting._stump_loops import best_split_of_two, purest_split

LARGE = 2**20  # cells; from here on threads share the columns


class Stump(NamedTuple):
    """One class where x[column] ≤ threshold, another one elsewhere; column −1 never splits."""

    column: int
    threshold: float
    left: int
    right: int


class SortedColumns:
    """Rows and class numbers of a sample, with each column in order.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    codes : array of shape (n,)
        Class numbers from 0.
    """

    def __init__(self, X: np.ndarray, codes: np.ndarray, n_classes: int):
        self.columns = np.ascontiguousarray(X.T)  # (d, n)
        self.codes, self.n_classes = codes, n_classes
        self.order = np.argsort(self.columns, axis=1, kind="stable").astype(np.int32)
        values = np.take_along_axis(self.columns, self.order, axis=1)
        self.ends = np.zeros(values.shape, dtype=bool)
        self.ends[:, :-1] = values[:, :-1] < values[:, 1:]

    def best(self, w: np.ndarray) -> Stump:
        """Return the best stump under weights w that sum to one.

        Of two classes that is the one with the smallest error. Of several a stump can name only
        two, and purer sides say more about the others than a smaller error.
        """
        totals = np.bincount(self.codes, w, self.n_classes)
        _, column, place = max(self._scan(w, totals), key=lambda found: found[0])
        if column < 0:  # no split is better than the heaviest class everywhere
            heaviest = int(totals.argmax())
            return Stump(-1, np.inf, heaviest, heaviest)
        rows = self.order[column]
        on_left = rows[: place + 1]
        left = np.bincount(self.codes[on_left], w[on_left], self.n_classes)
        threshold = _between(*self.columns[column, rows[place : place + 2]])
        return Stump(column, threshold, int(left.argmax()), int((totals - left).argmax()))

    def _scan(self, w: np.ndarray, totals: np.ndarray) -> list[tuple[float, int, int]]:
        """Return the best split of each block of columns."""
        d = len(self.columns)
        if self.columns.size < LARGE:
            return [self._scan_block(w, totals, 0, d)]
        tiles = ranges(d, -(-d // n_threads()))
        found: list[Any] = [None] * len(tiles)

        def work(number: int, _: int) -> None:
            found[number] = self._scan_block(w, totals, tiles[number].start, tiles[number].stop)

        run_tiles(work, range(len(tiles)), n_threads())
        return found

    def _scan_block(
        self, w: np.ndarray, totals: np.ndarray, first: int, last: int
    ) -> tuple[float, int, int]:
        if self.n_classes == 2:
            signed = np.where(self.codes == 1, w, -w)
            floor = float(totals.max())
            return best_split_of_two(self.order, self.ends, signed, first, last, totals[0], floor)
        floor = float(totals @ totals)
        return purest_split(
            self.order, self.ends, self.codes, w, self.n_classes, first, last, floor
        )


def _between(low: Any, high: Any) -> float:
    """Return a number in [low, high): the middle, if rounding leaves it there."""
    low, high = float(low), float(high)
    middle = low + 0.5 * (high - low) if abs(high) < 1e300 > abs(low) else 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low
