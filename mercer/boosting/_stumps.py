"""Decision stumps on columns that are sorted once, and compiled scans over them.

``order`` (d, n) lists the rows of each column by rising value, ``ends`` marks the last row of each
distinct value but the largest: only there a column can be split. ``codes`` are class numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._array import n_threads, ranges, run_tiles
from mercer._compiled import compiled

THREADED_CELLS = 2**20  # cells; from here on threads share the columns
ROUNDING = 1e-12  # a gain of less is rounding: of equal splits the first one is taken
LARGEST_WEIGHT = 500.0  # weight of a stump, so that its exponential is a number


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
    n_classes : int
        How many classes there are.
    n_workers : int or None, default=None
        Threads that share the columns; None is one for a small sample, else all.
    """

    def __init__(
        self, X: np.ndarray, codes: np.ndarray, n_classes: int, n_workers: int | None = None
    ):
        self.columns = np.ascontiguousarray(X.T)  # (d, n)
        self.codes, self.n_classes = codes, n_classes
        self.n_workers = n_workers or (n_threads() if X.size >= THREADED_CELLS else 1)
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
        if self.n_workers == 1:
            return [self._scan_block(w, totals, 0, d)]
        tiles = ranges(d, -(-d // self.n_workers))
        found: list[Any] = [None] * len(tiles)

        def work(number: int, _: int) -> None:
            found[number] = self._scan_block(w, totals, tiles[number].start, tiles[number].stop)

        run_tiles(work, range(len(tiles)), self.n_workers)
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


# ---------------------------------------------------------------- compiled
@compiled()
def best_split_of_two(order, ends, signed, first, last, right_share, floor):
    """Return (share, column, place) of the best split of columns first … last − 1, two classes.

    ``signed`` holds w of class 1 and −w of class 0, ``right_share`` the weight of class 0. With c
    the sum of the signed weights on the left, the two ways to vote are right on the shares
    ``right_share`` + c and its complement.
    """
    best, column, place = floor, -1, -1
    n = order.shape[1]
    for j in range(first, last):
        rows, may_split = order[j], ends[j]
        c = right_share - 0.5
        for i in range(n - 1):
            c += signed[rows[i]]
            if may_split[i] and 0.5 + abs(c) > best + ROUNDING:
                best, column, place = 0.5 + abs(c), j, i
    return best, column, place


@compiled()
def purest_split(order, ends, codes, w, n_classes, first, last, floor):
    """Return (purity, column, place) of the split with the largest Σ_c W_c²/W, summed over sides.

    That is the smallest Gini impurity. W_c² grows by w (2W_c + w): both sweeps only add, so that
    sides of little weight do not drown in rounding.
    """
    best, column, place = floor, -1, -1
    n = order.shape[1]
    purity = np.empty(n + 1)
    side = np.empty(n_classes)
    for j in range(first, last):
        rows, may_split = order[j], ends[j]
        side[:] = 0.0
        squares = total = 0.0
        for i in range(n - 1, 0, -1):
            c, x = codes[rows[i]], w[rows[i]]
            squares += x * (2.0 * side[c] + x)
            side[c] += x
            total += x
            purity[i] = squares / total if total > 0.0 else 0.0
        side[:] = 0.0
        squares = total = 0.0
        for i in range(n - 1):
            c, x = codes[rows[i]], w[rows[i]]
            squares += x * (2.0 * side[c] + x)
            side[c] += x
            total += x
            if may_split[i] and total > 0.0:
                both = squares / total + purity[i + 1]
                if both > best + ROUNDING:
                    best, column, place = both, j, i
    return best, column, place


@compiled()
def weigh_again(x, threshold, left, right, codes, w, rate, n_classes, smallest):
    """Return the error ε and the weight α of a stump; w ← w exp(α 1[wrong]), with sum one."""
    total = wrong = 0.0
    for i in range(len(codes)):
        total += w[i]
        if (left if x[i] <= threshold else right) != codes[i]:
            wrong += w[i]
    error = wrong / total
    capped = max(error, smallest)
    alpha = min(LARGEST_WEIGHT, rate * (np.log((1.0 - capped) / capped) + np.log(n_classes - 1.0)))
    factor = np.exp(alpha)
    scale = 1.0 / (total - wrong + factor * wrong)
    for i in range(len(codes)):
        is_wrong = (left if x[i] <= threshold else right) != codes[i]
        w[i] *= scale * factor if is_wrong else scale
    return error, alpha


@compiled()
def add_votes(X, columns, thresholds, sides, alpha, votes):
    """Add to votes (n, k) what stumps say of the rows: α for one class each."""
    for i in range(X.shape[0]):
        for m in range(len(alpha)):
            is_right = 0 if X[i, columns[m]] <= thresholds[m] else 1
            votes[i, sides[m, is_right]] += alpha[m]
