"""What a fitted model says of many rows: of `Rows` block by block, of Dask collections lazily."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.rows.base import Rows
from mercer.rows.collections import is_dask

ANSWERING = (
    *("predict", "decision_function", "predict_proba", "predict_log_proba"),
    *("transform", "score_samples"),
)


def by_blocks(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method that takes rows in memory take `Rows` and Dask collections, too.

    Of `Rows` the answers are one array; columns are found by their names. Of a Dask collection they
    are an array (of a frame with one column of answers: a series) of Dask with the same chunks, and
    nothing is computed.
    """

    @wraps(method)
    def over_blocks(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(X, Rows) and not is_dask(X):
            return method(self, X, *args, **kwargs)
        check_is_fitted(self)

        def answer(some: Any) -> Any:
            return method(self, _named(self, some), *args, **kwargs)

        if is_dask(X):
            return _lazily(answer, X, _example(answer, X))
        return np.concatenate([answer(b.read().X) for b in matching(self, X).blocks()])

    return over_blocks


def matching(model: Any, rows: Rows) -> Rows:
    """Return rows with the columns that a model was fitted to, which are found by their names."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and rows.columns is not None and tuple(names) != rows.columns:
        rows = rows.select(list(names))
    if rows.n_columns != model.n_features_in_:
        raise ValueError(
            f"X has {rows.n_columns} columns, but {type(model).__name__} was fitted with "
            f"{model.n_features_in_}"
        )
    return rows


def _named(model: Any, X: Any) -> Any:
    """Return an array as a frame with the names that the model knows, if it knows some."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or not isinstance(X, np.ndarray) or X.shape[1] != len(names):
        return X
    import polars as pl

    return pl.DataFrame(X, schema=names.tolist())


# ---------------------------------------------------------------- collections of Dask
def _example(answer: Callable[[Any], Any], X: Any) -> Any:
    """Return the answers for one row like those of X: what all answers look like."""
    if hasattr(X, "columns"):
        return answer(X._meta_nonempty.iloc[:1])
    return answer(np.zeros((1, X.shape[1]), X.dtype))


def _lazily(answer: Callable[[Any], Any], X: Any, example: Any) -> Any:
    if hasattr(X, "columns"):
        return _of_frame(answer, X, example)
    answers = _of_array(answer, example)
    X = X.rechunk({1: -1})
    if example.ndim == 1:
        return X.map_blocks(answers, drop_axis=1, dtype=example.dtype, meta=example[:0])
    chunks = (X.chunks[0], (example.shape[1],))
    return X.map_blocks(answers, chunks=chunks, dtype=example.dtype, meta=example[:0])


def _of_array(answer: Callable[[Any], Any], example: Any) -> Callable[[Any], Any]:
    def of_chunk(chunk: Any) -> Any:
        return answer(chunk) if len(chunk) else example[:0]

    return of_chunk


def _of_frame(answer: Callable[[Any], Any], X: Any, example: Any) -> Any:
    """Return answers with the index of the frame: a series, or a frame of several columns."""
    import pandas as pd

    make: Any = pd.Series if example.ndim == 1 else pd.DataFrame

    def of_partition(part: Any) -> Any:
        return make(answer(part) if len(part) else example[:0], index=part.index)

    return X.map_partitions(of_partition, meta=make(example, index=X._meta_nonempty.index[:1])[:0])
