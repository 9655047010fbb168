"""Frames of polars and pandas and arrays, read column by column; neither library is required."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from mercer._array import boxed
from mercer.tables.columns import Column, dates, flags, from_objects, label, nested, numbers, texts


@dataclass(frozen=True)
class Table:
    """A table: the names of its columns (None for an array) and how to read one of them."""

    names: list[str] | None
    n_rows: int
    read: Callable[[int, str], Column]


def as_table(X: Any, owner: str) -> Table:
    """Return a frame or a 2-D array as a table, or say what is wrong with it."""
    library = type(X).__module__.split(".")[0]
    if library in ("polars", "pandas") and type(X).__name__ != "DataFrame":
        raise ValueError(
            f"X must be a frame, a 2-D array or a sparse matrix for {owner}; got the "
            f"{library} {type(X).__name__}: {_advice(type(X).__name__)}"
        )
    if library == "polars":
        return _frame(X, lambda i, name: _polars_column(X.to_series(i), name), owner)
    if library == "pandas":
        return _frame(X, lambda i, name: _pandas_column(X.iloc[:, i], name), owner)
    return _array(X, owner)


def _advice(kind: str) -> str:
    return "call .collect() first" if kind == "LazyFrame" else "make it a frame of one column"


def _frame(X: Any, read: Callable[[int, str], Column], owner: str) -> Table:
    names = [str(name) for name in X.columns]
    name, times = Counter(names).most_common(1)[0] if names else ("", 0)
    if times > 1:
        raise ValueError(f"X has {times} columns named {name!r}: {owner} needs different names")
    if not names or not len(X):
        raise ValueError(
            f"X has {len(X)} row(s) and {len(names)} column(s): {owner} needs at least one of each"
        )
    return Table(names, len(X), read)


def _array(X: Any, owner: str) -> Table:
    X = check_array(X, dtype=None, ensure_all_finite=False, estimator=owner, input_name="X")
    if X.dtype.kind in "mM":
        X = X.astype(f"{X.dtype.kind}8[us]").astype(object)
    read = _ARRAYS.get(X.dtype.kind, numbers)
    return Table(None, X.shape[0], lambda i, name: read(name, X[:, i]))


_ARRAYS = {"O": from_objects, "U": from_objects, "S": from_objects, "b": flags}


def _polars_column(series: Any, name: str) -> Column:
    import polars as pl

    dtype = series.dtype
    if dtype == pl.Boolean:
        return flags(name, series.cast(pl.Int8).fill_null(-1).to_numpy())
    if dtype.is_numeric() or dtype == pl.Null:
        return numbers(name, series.cast(pl.Float64).to_numpy())
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return _polars_texts(series, name)
    if dtype in (pl.Date, pl.Datetime):
        return dates(name, series.cast(pl.Datetime("us")).cast(pl.Int64).to_numpy() / 1e6)
    if dtype == pl.Duration:
        return numbers(name, series.dt.total_microseconds().to_numpy() / 1e6)
    if dtype == pl.Time:
        return numbers(name, series.cast(pl.Int64).to_numpy() / 1e9)
    if dtype == pl.Object:
        return from_objects(name, series.to_numpy())
    if dtype in (pl.List, pl.Array):
        return from_objects(name, boxed(series.to_list()))
    return nested(name, len(series))


def _polars_texts(series: Any, name: str) -> Column:
    import polars as pl

    form = "text" if series.dtype == pl.String else "category"
    series = series.cast(pl.String)
    levels = series.drop_nulls().unique().sort()
    codes = series.cast(pl.Enum(levels)).to_physical().cast(pl.Int64).fill_null(-1)
    return texts(name, codes.to_numpy(), levels.to_list(), form)


def _pandas_column(series: Any, name: str) -> Column:
    import pandas as pd

    dtype, types = series.dtype, pd.api.types
    if isinstance(dtype, pd.CategoricalDtype):
        levels = [label(level) for level in series.cat.categories]
        return texts(name, series.cat.codes, levels, "category")
    if types.is_bool_dtype(dtype):
        return flags(name, series.astype("boolean").astype("Int8").fillna(-1).to_numpy(np.int64))
    if types.is_complex_dtype(dtype):
        raise ValueError(f"column {name!r} holds complex numbers: split them into two columns")
    if types.is_numeric_dtype(dtype):
        return numbers(name, series.to_numpy(dtype=np.float64, na_value=np.nan))
    if types.is_datetime64_any_dtype(dtype):
        moments = series.dt.tz_convert(None) if series.dt.tz is not None else series
        return dates(name, _microseconds(moments, "datetime64[us]") / 1e6)
    if types.is_timedelta64_dtype(dtype):
        return numbers(name, _microseconds(series, "timedelta64[us]") / 1e6)
    if types.is_string_dtype(dtype) and dtype != np.dtype(object):
        codes, levels = pd.factorize(series)
        return texts(name, codes, [str(level) for level in levels])
    return from_objects(name, series.to_numpy(dtype=object))


def _microseconds(series: Any, dtype: str) -> np.ndarray:
    values = series.to_numpy(dtype=dtype, na_value=np.array("NaT", dtype=dtype))
    return np.where(np.isnat(values), np.nan, values.astype(np.int64))
