"""Kernels on cells of tables: categories, ordered levels, and numbers and categories together.

Each column gives a value between 0 and 1, and the kernel is their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._sklearn import StrOptions
from mercer._words import listing
from mercer.kernels._cell_loops import add_matches, add_nearness
from mercer.kernels.base import PSD, Kernel
from mercer.kernels.cell_codes import Text, code_of, texts_of, weighted_values
from mercer.kernels.frames import Columns, as_columns, is_number, numbers_of
from mercer.kernels.sample import Pair, Sample
from mercer.kernels.vector import require_same_columns


class CellKernel(Kernel):
    """The mean over columns of a similarity of their cells, positive semidefinite.

    A child says which columns are compared by nearness, 1 − |x − y| or 0 if that is negative, and
    which by equality, each once for a sample.
    """

    releases_gil = True
    domain = "table"

    @property
    def definiteness(self) -> str:
        return PSD

    @property
    def symmetric(self) -> bool:
        return True

    def bind(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        """Return the bound kernel, on the columns of a frame: new rows are matched by name."""
        sample = self.sample(X)
        bound, names = super().bind(sample, weights), getattr(sample.data, "names", ())
        return bound.on(list(names)) if isinstance(next(iter(names), None), str) else bound

    # ------------------------------------------------------------ what a child says
    def _places(self, table: Columns) -> np.ndarray:
        """Return the places of cells on a line, NaN if missing, and what such count for a cell."""
        return np.zeros((len(table), 2, 0))

    def _codes(self, table: Columns) -> np.ndarray:
        """Return a number for each category."""
        return np.zeros((len(table), 0), dtype=np.int64)

    def _weights(self, table: Columns) -> np.ndarray:
        """Return what it counts if another row has the same category."""
        return np.ones(self._codes(table).shape)

    # ------------------------------------------------------------ values
    def _derived(self, X: Sample, make: Callable[[Columns], np.ndarray]) -> np.ndarray:
        return X.derive((make.__name__, self), lambda data: make(_table(data, self))).data

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        (X, of_x), (Y, of_y) = (
            np.moveaxis(self._derived(sample, self._places), 1, 0) for sample in (pair.X, pair.Y)
        )
        codes_x, codes_y = (self._derived(sample, self._codes) for sample in (pair.X, pair.Y))
        out[...] = 0
        add_nearness(X, _transposed(Y), of_x, _transposed(of_y), out)
        add_matches(codes_x, _transposed(codes_y), self._derived(pair.X, self._weights), out)
        out /= X.shape[1] + codes_x.shape[1]

    def _diagonal(self, X: Sample) -> np.ndarray:
        places, weights = (self._derived(X, make) for make in (self._places, self._weights))
        near = np.where(np.isnan(places[:, 0]), places[:, 1], 1.0)
        return (near.sum(axis=1) + weights.sum(axis=1)) / (near.shape[1] + weights.shape[1])

    def check_pair(self, X: Sample, Y: Sample) -> None:
        require_same_columns(X, Y)


def _table(data: Any, kernel: Kernel) -> Columns:
    if sp.issparse(data):
        raise TypeError(
            f"{type(kernel).__name__} takes frames and arrays, not sparse matrices: pass "
            f"X.toarray(), or choose columns by .on(...)"
        )
    return as_columns(data, "X")


def _transposed(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows.T)


def _require_width(table: Columns, values: Sequence[Any], name: str) -> None:
    """Raise if a kernel was told of another number of columns."""
    if len(values) != len(table.names):
        raise ValueError(
            f"{name} must be a list of {len(table.names)}, one for each column; got {len(values)}"
        )


class Categorical(CellKernel):
    """Equality of categories, k(x, y) = mean over columns of [x = y]: the share that is equal.

    Cells are compared as text, so that 1, 1.0 and "1" are the same category. A missing cell is a
    category of its own: it equals another missing cell. A category that was not seen in training
    equals itself alone.

    Parameters
    ----------
    weighting : {None, "rarity"}, default=None
        With "rarity" an equal category counts 1 − p, p its share of the training rows: that two
        rows agree in what is rare says more than that they agree in what most have.
    frequencies : list of dict, default=None
        The share of each category in each column; None takes them from the training rows.

    Examples
    --------
    >>> from mercer.kernels import Categorical
    >>> Categorical()([["red", "round"], ["red", "long"]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "weighting": [None, StrOptions({"rarity"})],
        "frequencies": [None, list, tuple],
    }

    def __init__(self, weighting: str | None = None, frequencies: Any = None):
        self.weighting = weighting
        self.frequencies = frequencies

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        return {"weighting": (None, "rarity")}

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        table = _table(X.data, self)
        if self.weighting is None:
            return {}
        if self.frequencies is None:
            return {
                "frequencies": [
                    _frequencies(texts_of(table, name), weights) for name in table.names
                ]
            }
        _require_width(table, self.frequencies, "frequencies")
        return {}

    def _codes(self, table: Columns) -> np.ndarray:
        return _coded(table, range(len(table.names)))

    def _weights(self, table: Columns) -> np.ndarray:
        if self.weighting is None:
            return np.ones(table.shape)
        columns = [
            [1.0 - share.get(text, 0.0) for text in texts_of(table, name)]
            for name, share in zip(table.names, self.frequencies, strict=True)
        ]
        return np.ascontiguousarray(np.array(columns).T)


def _frequencies(texts: Sequence[Text], weights: np.ndarray | None) -> dict[Text, float]:
    """Return the share of each category, a row as often as it weighs."""
    totals: dict[Text, float] = {}
    for text, weight in zip(
        texts, np.ones(len(texts)) if weights is None else weights, strict=True
    ):
        totals[text] = totals.get(text, 0.0) + float(weight)
    total = sum(totals.values())
    return {text: value / total for text, value in totals.items()}


def _coded(table: Columns, positions: Sequence[int]) -> np.ndarray:
    codes = np.empty((len(table), len(positions)), dtype=np.int64)
    for j, position in enumerate(positions):
        texts = texts_of(table, table.names[position])
        code = {text: code_of(text) for text in set(texts)}
        codes[:, j] = [code[text] for text in texts]
    return codes


class Ordinal(CellKernel):
    """Nearness of ordered levels, k(x, y) = 1 − |i − j| / (L − 1) of the i-th and j-th of L levels.

    Of several columns, which all have these levels, it is the mean. A missing cell is a level of
    its own, apart from all others: 1 for two missing cells, 0 for a missing one and a level.

    It proposes nothing to a search: the levels say all. Narrower ones are powers, ``k ** 2``.

    Parameters
    ----------
    levels : list
        The levels in their order, such as ``["low", "middle", "high"]``. A cell that is none of
        them is an error.

    Examples
    --------
    >>> from mercer.kernels import Ordinal
    >>> Ordinal(["low", "middle", "high"])(["low", "middle", "high"])
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"levels": ["array-like"]}

    def __init__(self, levels: Any):
        self.levels = levels

    def check(self) -> None:
        """Raise if the levels are not a list of different ones."""
        super().check()
        texts = self._texts() if len(self.levels) else []
        if not texts or None in texts or len(set(texts)) < len(texts):
            raise ValueError(f"levels must be one or more different values; got {self.levels!r}")

    def _texts(self) -> list[Text]:
        return texts_of(as_columns(list(self.levels), "levels"), 0)

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        self._derived(X, self._places)  # a cell that is no level is said at once
        return {}

    def _places(self, table: Columns) -> np.ndarray:
        levels = self._texts()
        place: dict[Text, float] = {
            text: i / max(1, len(levels) - 1) for i, text in enumerate(levels)
        }
        places = np.zeros((len(table), 2, len(table.names)))
        for j, name in enumerate(table.names):
            texts = texts_of(table, name)
            if unknown := sorted({t for t in texts if t is not None} - place.keys()):
                raise ValueError(
                    f"column {name!r} holds {listing(unknown)}; the levels of Ordinal are "
                    f"{listing([str(level) for level in levels], most=12)}"
                )
            places[:, 0, j] = [place.get(text, np.nan) for text in texts]
        places[:, 1] = np.isnan(places[:, 0])
        return places


class Gower(CellKernel):
    """Gower's similarity, k(x, y) = mean over columns of 1 − |x − y| / range, or of [x = y].

    Numbers are compared by their difference, in units of the range that the column has in the
    training rows; what is further apart than that counts 0. All other cells are equal or not, as
    for `Categorical`, and so are numbers of a column that has one value only in training.

    A missing number counts, beside any other, as the training values of its column do on average,
    so that nothing is made up for it and the kernel stays positive semidefinite. A missing
    category is a category of its own.

    It proposes nothing to a search: its ranges follow from the training rows. Narrower ones are
    powers, ``Gower() ** 2``, or `exp`, as in ``(4.0 * Gower()).exp().normalized()``.

    Parameters
    ----------
    ranges : list, default=None
        For each column its range, or None for one of categories; None takes them from the training
        rows.
    typical : array of shape (columns of numbers, 2, values), default=None
        Values of each column of numbers and their shares, which stand for its missing cells; None
        takes them from the training rows: all of them, or 256 quantiles.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.kernels import Gower
    >>> Gower()(pd.DataFrame({"age": [20, 30, 40], "job": ["baker", "smith", "baker"]}))
    array([[1.  , 0.25, 0.5 ],
           [0.25, 1.  , 0.25],
           [0.5 , 0.25, 1.  ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "ranges": [None, list, tuple],
        "typical": [None, "array-like"],
    }

    def __init__(self, ranges: Any = None, typical: Any = None):
        self.ranges = ranges
        self.typical = typical

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        table = _table(X.data, self)
        ranges = _ranges(table, weights) if self.ranges is None else self.ranges
        _require_width(table, ranges, "ranges")
        if any(r is not None and not 0 < r < np.inf for r in ranges):
            raise ValueError(f"ranges must be positive, or None for categories; got {ranges!r}")
        places = [i for i, r in enumerate(ranges) if r is not None]
        given = self.typical is not None
        typical = np.asarray(self.typical) if given else _typical(table, places, weights)
        if typical.ndim != 3 or typical.shape[:2] != (len(places), 2):
            raise ValueError(
                f"typical must have the shape ({len(places)}, 2, values), a row of values and one "
                f"of shares for each column of numbers; got {typical.shape}"
            )
        return {"ranges": ranges, "typical": typical}

    def _positions(self, numbers: bool) -> list[int]:
        return [i for i, r in enumerate(self.ranges) if (r is not None) == numbers]

    def _codes(self, table: Columns) -> np.ndarray:
        return _coded(table, self._positions(numbers=False))

    def _weights(self, table: Columns) -> np.ndarray:
        return np.ones((len(table), len(self._positions(numbers=False))))

    def _places(self, table: Columns) -> np.ndarray:
        positions = self._positions(numbers=True)
        places = np.zeros((len(table), 2, len(positions)))
        if not positions:
            return places
        rows = numbers_of(table, [table.names[i] for i in positions]).astype(np.float64)
        for j, position in enumerate(positions):
            values, shares = self.typical[j]
            start, unit = values.min(), self.ranges[position]  # from the start: no digits are lost
            line, at = (rows[:, j] - start) / unit, (values - start) / unit
            places[:, 0, j], places[:, 1, j] = line, _mean_nearness(line, at, shares)
        return places


def _ranges(table: Columns, weights: np.ndarray | None) -> list[float | None]:
    return [_range(array, weights) for array in table.arrays]


def _range(array: np.ndarray, weights: np.ndarray | None) -> float | None:
    """Return the range of a column of numbers; None if it has fewer than two, or no numbers."""
    if not is_number(array):
        return None
    counted = array if weights is None else array[weights > 0]
    present = counted[~np.isnan(counted)].astype(np.float64)
    width = float(np.ptp(present)) if len(present) else 0.0
    return width if width > 0 else None


def _typical(table: Columns, positions: Sequence[int], weights: np.ndarray | None) -> np.ndarray:
    weight = np.ones(len(table)) if weights is None else weights
    found = [weighted_values(table.arrays[i], weight) for i in positions]
    most = max((len(values) for values, _ in found), default=0)
    typical = np.zeros((len(positions), 2, most))
    for j, (values, shares) in enumerate(found):
        typical[j, 0, : len(values)], typical[j, 1, : len(values)] = values, shares
        typical[j, 0, len(values) :] = values[0]  # of share 0
    return typical


def _mean_nearness(line: np.ndarray, at: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the mean nearness of each place to the typical ones; of a missing one their own."""
    mean = lambda place: np.maximum(1.0 - np.abs(place - at), 0.0) @ shares  # noqa: E731
    own = float(np.array([mean(place) for place in at]) @ shares)
    places, back = np.unique(line[~np.isnan(line)], return_inverse=True)
    means = np.full(len(line), own)
    means[~np.isnan(line)] = np.array([mean(place) for place in places])[back]
    return means
