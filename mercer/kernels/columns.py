"""A kernel on some columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._array import as_table
from mercer._words import count
from mercer.kernels.base import Kernel, bracketed
from mercer.kernels.custom import Precomputed
from mercer.kernels.frames import (
    ALL,
    Columns,
    Name,
    as_columns,
    chosen_names,
    is_missing,
    numbers_of,
)
from mercer.kernels.incomplete import is_incomplete, mean_diagonal, mean_values, stand_ins
from mercer.kernels.sample import Pair, Sample
from mercer.kernels.tiles import working_dtype


class On(Kernel):
    """A kernel that reads some columns of a table, written ``k.on(columns)``.

    Frames of pandas and polars need no transformer: each part of a kernel reads its own columns,
    which new rows may have in any order. Columns of arrays are numbered from 0. Kernels on numbers
    get a table of the columns, `Categorical`, `Ordinal` and `Gower` their cells, and kernels on
    objects the cells of one column (rows of cells, if there are several).

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    columns : str, int, list, slice or callable
        A name, a position, a list of these, a slice of positions or of names (its end included),
        ``"number"`` or ``"category"`` for all columns of numbers or all others, or a function that
        returns the names of a frame's columns, such as scikit-learn's ``make_column_selector``.
    fill : float, list or object, default=None
        What stands for a missing cell. For kernels on numbers a number, or one for each column;
        None is the kernel's mean over the values of the column in the training rows, see below. For
        kernels on objects an object; None makes a missing cell an error. `Categorical`, `Ordinal`
        and `Gower` have rules of their own.

    Notes
    -----
    With ``fill=None`` and numbers, a row with missing cells has the mean of the feature vectors
    that it has with training values there: k(x, y) is the mean of k over these, for x and for y.
    That keeps a kernel positive semidefinite. A kernel on one column takes all training values (256
    quantiles of more), so that k(missing, y) is the mean of k(z, y) over the column; one on several
    columns takes up to 16 quantiles of each column, all missing cells of a row at once, which takes
    16 times as long for such a row. Rules such as ``gamma="scale"`` see medians in their place.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.kernels import RBF, Categorical
    >>> people = pd.DataFrame({"age": [20.0, 22.0], "job": ["baker", "smith"]})
    >>> k = RBF(gamma=0.25).on("age") + 0.5 * Categorical().on("job")
    >>> k(people).round(3)
    array([[1.5  , 0.368],
           [0.368, 1.5  ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"kernel": [Kernel]}

    def __init__(self, kernel: Kernel, columns: Any, fill: Any = None):
        self.kernel = kernel
        self.columns = columns
        self.fill = fill

    # ------------------------------------------------------------ what the inner kernel says
    def parts(self) -> tuple[Kernel, ...]:
        return ()  # the inner kernel reads other rows than this one

    @property
    def definiteness(self) -> str:
        return self.kernel.definiteness

    @property
    def symmetric(self) -> bool:
        return self.kernel.symmetric

    @property
    def domain(self) -> str:
        return "table"

    @property
    def releases_gil(self) -> bool:
        return self.kernel.releases_gil

    def check(self) -> None:
        """Raise if a parameter is out of its range."""
        super().check()
        if any(isinstance(leaf, Precomputed) for leaf in self.kernel.leaves()):
            raise TypeError("a precomputed kernel cannot be used on columns")
        if self.fill is not None and self.kernel.domain == "table":
            raise ValueError(
                f"fill must be None for {self.kernel!r}, which has its own rule for missing cells; "
                f"got {self.fill!r}"
            )

    # ------------------------------------------------------------ what it is bound to
    def bind(self, X: Any, weights: np.ndarray | None = None) -> On:
        self.check()
        sample = self.sample(X)
        table = _table(sample.data)
        names = chosen_names(self.columns, table)
        if not names:
            raise ValueError(f"columns={self.columns!r} selects no column")
        as_given = isinstance(self.columns, str) and names == (self.columns,)
        columns = self.columns if as_given else list(names)
        concrete = On(self.kernel, columns, self._bound_fill(table, names, weights))
        with _naming(names, self.kernel):
            inner = self.kernel.bind(concrete.inside(sample), weights)
        if isinstance(inner, On) and not isinstance(self.kernel, On):
            inner = inner.kernel  # which has named the columns that it got: they are named here
        concrete.kernel = inner
        return concrete

    def _bound_fill(self, table: Any, names: Sequence[Name], weights: Any) -> Any:
        if self.kernel.domain != "vectors":
            return self.fill
        if self.fill is None:
            if sp.issparse(table):
                return None
            return stand_ins(numbers_of(table, names), names, weights).tolist()
        numbers = np.atleast_1d(np.asarray(self.fill))
        if numbers.ndim == 2 and numbers.dtype.kind in "iuf" and numbers.shape[1] == len(names):
            return numbers.astype(np.float64).tolist()
        if numbers.dtype.kind not in "biuf" or numbers.shape not in ((1,), (len(names),)):
            raise ValueError(
                f"fill must be a number, or {len(names)} of them, one for each column; "
                f"got {self.fill!r}"
            )
        return [float(number) for number in np.broadcast_to(numbers, len(names))]

    # ------------------------------------------------------------ rows of the inner kernel
    def inside(self, X: Sample) -> Sample:
        """Return the rows that the inner kernel reads, taken out once for the whole sample."""
        return X.derive(self._key, self._rows)

    @property
    def _key(self) -> tuple[Any, ...]:
        return "on", self.kernel.domain, repr(self.columns), repr(self.fill)

    def _rows(self, data: Any) -> Any:
        table = _table(data)
        names = chosen_names(self.columns, table)
        if sp.issparse(table):
            return table[:, list(names)]
        if self.kernel.domain == "vectors":
            return self._numbers(table, names)
        if self.kernel.domain == "table":
            return table.only(names)
        return self._cells(table, names)

    def _numbers(self, table: Columns, names: Sequence[Name]) -> np.ndarray:
        rows = numbers_of(table, names)
        missing = np.isnan(rows)
        if missing.any() and self.fill is not None:
            fill = np.median(self.fill, axis=0) if self._takes_means else np.asarray(self.fill)
            rows[missing] = np.broadcast_to(fill, rows.shape)[missing]
        return as_table(rows, listed_columns(names), type(self.kernel).__name__)

    def _cells(self, table: Columns, names: Sequence[Name]) -> Any:
        columns = [self._filled(table.column(name), name) for name in names]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    def _filled(self, cells: np.ndarray, name: Name) -> np.ndarray:
        missing = is_missing(cells)
        if not missing.any():
            return cells
        if self.fill is None:
            raise ValueError(
                f"column {name!r} has {count(int(missing.sum()), 'missing cell')}, and "
                f"{type(self.kernel).__name__} has no rule for these: give a value for them, "
                f"as in .on({name!r}, fill='')"
            )
        cells = cells.copy()
        cells[missing] = self.fill
        return cells

    # ------------------------------------------------------------ values
    def check_pair(self, X: Sample, Y: Sample) -> None:
        if X.is_sparse != Y.is_sparse:
            raise TypeError("X and Y must both be sparse if one of them is")
        if self.kernel.domain != "vectors":  # these have the same columns, and may be to be filled
            inside = self.inside(X), self.inside(Y)
            with _naming(chosen_names(self.columns, _table(Y.data)), self.kernel):
                self.kernel.check_pair(*inside)

    def check_training(self, X: Sample) -> None:
        bound = self.bind(X)
        inside = bound.inside(X)
        with _naming(chosen_names(bound.columns, _table(X.data)), bound.kernel):
            bound.kernel.check_training(inside)

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        self._fill_inside(self.kernel._fill, pair, out)
        left, right = self._incomplete(pair.X), self._incomplete(pair.Y)
        if left.any() or right.any():
            X, Y, fill = self._raw(pair.X), self._raw(pair.Y), np.asarray(self.fill)
            out[left] = mean_values(self.kernel, X[left], Y, fill)
            out[np.ix_(~left, right)] = mean_values(self.kernel, X[~left], Y[right], fill)

    def _fill_normalized(self, pair: Pair, out: np.ndarray) -> None:
        if self._incomplete(pair.X).any() or self._incomplete(pair.Y).any():
            super()._fill_normalized(pair, out)
        else:
            self._fill_inside(self.kernel._fill_normalized, pair, out)

    def _fill_inside(
        self, fill: Callable[[Pair, np.ndarray], None], pair: Pair, out: np.ndarray
    ) -> None:
        inside = pair.derive(self._key, self._rows)
        work = working_dtype(self.kernel, inside.X, inside.Y, out.dtype)
        if work == pair.dtype:
            fill(inside, out)
            return
        values = np.empty(out.shape, work)  # float32 has no room for the squares of these rows
        fill(Pair(inside.X, inside.Y, inside.uses, work), values)
        out[...] = values

    def _diagonal(self, X: Sample) -> np.ndarray:
        found, incomplete = self.kernel._diagonal(self.inside(X)), self._incomplete(X)
        if incomplete.any():
            found, rows = np.array(found, dtype=np.float64), self._raw(X)[incomplete]
            found[incomplete] = mean_diagonal(self.kernel, rows, np.asarray(self.fill))
        return found

    def _diagonal_normalized(self, X: Sample) -> np.ndarray:
        if self._incomplete(X).any():
            return super()._diagonal_normalized(X)
        return self.kernel._diagonal_normalized(self.inside(X))

    # ------------------------------------------------------------ missing numbers
    @property
    def _takes_means(self) -> bool:
        return self.kernel.domain == "vectors" and np.ndim(self.fill) == 2

    def _incomplete(self, X: Sample) -> np.ndarray:
        """Return for which rows the kernel takes means over what could stand there."""
        if not self._takes_means or sp.issparse(X.data):
            return np.zeros(len(X), dtype=bool)
        return X.derive(("incomplete", repr(self.columns)), self._rows_incomplete).data

    def _rows_incomplete(self, data: Any) -> np.ndarray:
        table = _table(data)
        return is_incomplete(numbers_of(table, chosen_names(self.columns, table)))

    def _raw(self, X: Sample) -> np.ndarray:
        """Return the columns as they are, NaN where cells are missing."""
        table = _table(X.data)
        return numbers_of(table, chosen_names(self.columns, table)).astype(np.float64)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        # what is taken from the training rows, hundreds of numbers, tells no reader anything
        fill = "" if self.fill is None or self._takes_means else f", fill={self.fill!r}"
        return f"{bracketed(self.kernel)}.on({self.columns!r}{fill})"


Kernel._on = On


@contextmanager
def _naming(names: Sequence[Name], kernel: Kernel) -> Iterator[None]:
    """Let errors of kernels on objects, which know of no columns, say in which these are."""
    try:
        yield
    except (TypeError, ValueError) as error:
        where = listed_columns(names)
        if kernel.domain != "objects" or str(error).startswith(where):
            raise
        raise type(error)(f"{where}: {error}") from error


def _table(data: Any) -> Any:
    """Return rows as columns: an expression with kernels on all columns has them as an array."""
    return data if sp.issparse(data) else as_columns(data, "X")


def listed_columns(names: Sequence[Name]) -> str:
    """Return "column 'age'" or "columns ['age', 'hours']"."""
    return f"column {names[0]!r}" if len(names) == 1 else f"columns {list(names)!r}"


def only_columns_read(kernel: Kernel, X: Sample) -> Sample:
    """Return a sample with those columns alone that a bound kernel reads, as a copy."""
    if not isinstance(X.data, Columns):
        return X
    read = [getattr(leaf, "columns", ALL) for leaf in kernel.leaves() if leaf.domain == "table"]
    names = [name for columns in read for name in chosen_names(columns, X.data)]
    return Sample(X.data.only(dict.fromkeys(names)))


def without_idle_fills(kernel: Kernel, X: Sample) -> Kernel:
    """Return a bound kernel that says no more of missing cells than these rows need.

    Bound to other rows, whose values differ, it is then the same kernel if no cell is missing.
    """
    if isinstance(kernel, On):
        idle = kernel.kernel.domain == "vectors" and not sp.issparse(X.data)
        complete = idle and not kernel._rows_incomplete(X.data).any()
        return On(kernel.kernel, kernel.columns, None if complete else kernel.fill)
    params = kernel.get_params(deep=False)
    parts = {n: without_idle_fills(p, X) for n, p in params.items() if isinstance(p, Kernel)}
    return type(kernel)(**{**params, **parts}) if parts else kernel
