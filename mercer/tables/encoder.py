"""TableEncoder: a frame of columns of every kind as one matrix of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer._sklearn import _check_feature_names, _check_feature_names_in, _check_n_features
from mercer.tables.columns import Column
from mercer.tables.frames import as_table
from mercer.tables.kinds import KINDS, EncoderSettings, describe_columns, learn
from mercer.tables.matrix import (
    encode,
    encode_sparse,
    feature_names,
    is_wide,
    learn_sparse,
    read_by_name,
    used,
    warn_of_unread,
)


class NothingToEncodeError(ValueError):
    """No column of a table is of use."""


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table with numbers, categories, texts, dates and gaps into a matrix of numbers.

    Each column is looked at once, in ``fit``, and gets a kind. With mean m, standard deviation s
    and the unit vectors e_l of the levels l,

    ====================  =====================================================================
    a number x            (x − m) / s; the median where it is missing, and an indicator column;
                          before that log(1 + x/u) if all x ≥ 0 and their skewness is above 2,
                          u the median of the positive ones
    a category l          e_l / √2, so that two rows with different levels are at distance 1;
                          one column ∓½ for two levels; a missing value is a level of its own
    a text                (1 + log tf)·idf of at most 2,000 words, each row of length 1
    a date                days since the median, standardised, and a circle of diameter 1 for
                          the time of the year, the week and the day
    a series              its steps (x − m) / s, m and s those of the column; series of other
                          lengths are read at as many places
    ====================  =====================================================================

    A column is left out if it is constant, all missing, nested, or a different text in every
    row. Rows are encoded one by one: batches give what the whole table gives. A sparse matrix is
    divided by the largest absolute value of each column and stays sparse.

    Parameters
    ----------
    max_categories : int, default=30
        The most levels of a category with a column of their own; the others share one.
    min_frequency : int or float, default=0.005
        The rows (int) or the share of the rows (float) that such a level needs.
    scale : bool, default=True
        Whether to scale; without it numbers stay as they are and levels are 0 and 1.
    text : {"auto", "drop"} or list of str, default="auto"
        Which columns are sentences: those that look like it (four words or more), these but
        left out, or the columns with the given names.
    kinds : mapping of names to kinds, default=None
        What single columns are, whatever their values look like: "number", "category", "text",
        "string" (letters in a row count, not words), "series", "date", or "ignore" to leave them
        out.

    Attributes
    ----------
    columns_ : list of dict
        For each column of the table its "name", "kind" ("number", "category", "text", "string",
        "series", "date" or "dropped"), "words" on what is done, and all figures that encoding
        needs. For a sparse matrix there is one entry, of the kind "sparse".
    n_coerced_ : dict
        For each column with values that could not be read, and were taken as missing, how many.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if the table has some.
    sparse_output_ : bool
        Whether ``transform`` returns a CSR matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import TableEncoder
    >>> table = np.array([["red", 1.0], ["blue", 3.0], ["red", None], ["green", 5.0]], dtype=object)
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['x0=blue', 'x0=green', 'x0=red', 'x1', 'x1 is missing']
    >>> encoder.transform(table).round(2).tolist()[0]
    [0.0, 0.0, 0.71, -1.22, 0.0]
    >>> for sentence in encoder.describe():
    ...     print(sentence)
    1 numeric column standardised
    1 category column with 3 levels
    1 missing value in 'x1': median 3 and an indicator

    Texts are read as people write them, and the way is kept for new tables:

    >>> import polars as pl
    >>> encoder = TableEncoder().fit(pl.DataFrame({"price": ["1.234,50 €", "99,90 €", "k.A."]}))
    >>> for sentence in encoder.describe()[1:3]:
    ...     print(sentence)
    'price' is written like '1.234,50 €': read as 1,234.5
    1 value in 'price' ('k.A.') taken as missing
    """

    kinds: Any = None  # models that were saved before there was this parameter lack it

    def __init__(
        self,
        *,
        max_categories: int = 30,
        min_frequency: float = 0.005,
        scale: bool = True,
        text: Any = "auto",
        kinds: Any = None,
    ):
        self.max_categories = max_categories
        self.min_frequency = min_frequency
        self.scale = scale
        self.text = text
        self.kinds = kinds

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Find the kind of each column and what encoding it needs.

        Parameters
        ----------
        X : frame of polars or pandas, array or sparse matrix of shape (n_samples, n_features)
            The table.
        y : ignored

        Returns
        -------
        self : TableEncoder
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the matrix of the same table, as ``fit(X).transform(X)`` would."""
        columns = self._fit(X)
        if self._is_sparse_table():
            return encode_sparse(self.columns_[0], X)
        return encode(self.columns_, columns, self.sparse_output_)[0]

    def transform(self, X: Any) -> Any:
        """Return the matrix of a table: columns are found by name, others are ignored.

        Parameters
        ----------
        X : frame of polars or pandas, array or sparse matrix of shape (n_samples, n_features)
            The table.

        Returns
        -------
        Z : ndarray or CSR matrix of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        if self._is_sparse_table():
            _check_n_features(self, X, reset=False)
            return encode_sparse(self.columns_[0], X)
        columns = self._read(X.toarray() if sp.issparse(X) else X)
        matrix, unread = encode(self.columns_, columns, self.sparse_output_)
        warn_of_unread(self.columns_, unread, matrix.shape[0])
        return matrix

    def describe(self) -> list[str]:
        """Return what is done with the columns, in sentences."""
        check_is_fitted(self)
        return describe_columns(self.columns_, self.scale)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the output columns: "age", "job=cook", "note: word".

        Parameters
        ----------
        input_features : array of str, default=None
            The names of the input columns; None takes those of fit.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        names = [str(name) for name in _check_feature_names_in(self, input_features)]
        if self._is_sparse_table():
            return np.array(names, dtype=object)
        states = [s | {"name": name} for s, name in zip(self.columns_, names, strict=True)]
        return np.array(feature_names(states), dtype=object)

    def source_of_features(self) -> list[str]:
        """Return, for each output column, the name of the input column that it comes from."""
        check_is_fitted(self)
        if self._is_sparse_table():
            return self.get_feature_names_out().tolist()
        return [s["name"] for s in used(self.columns_) for _ in KINDS[s["kind"]].features(s)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    # ------------------------------------------------------------ inside
    def _fit(self, X: Any) -> list[Column]:
        """Learn the columns; return those that are used, as they were read."""
        settings = EncoderSettings(
            self.max_categories, self.min_frequency, self.scale, self.text, self.kinds
        )
        if sp.issparse(X):
            if self.kinds:
                raise ValueError("kinds: the columns of a sparse matrix are numbers, all of them")
            return self._fit_sparse(X)
        table = as_table(X, "TableEncoder")
        if table.n_rows < 2:
            raise ValueError("TableEncoder learns from two rows or more; X has n_samples = 1")
        names = self._remember(X)
        settings.check_names(names)
        columns = [table.read(i, name) for i, name in enumerate(names)]
        self.columns_ = [learn(column, settings) for column in columns]
        self._check_something_is_left()
        self.n_coerced_ = {s["name"]: s["unread"] for s in self.columns_ if s.get("unread")}
        self.sparse_output_ = is_wide(self.columns_)
        return self._used_of(columns)

    def _fit_sparse(self, X: Any) -> list[Column]:
        self.columns_, self.n_coerced_, self.sparse_output_ = [learn_sparse(X)], {}, True
        self._remember(X)
        return []

    def _remember(self, X: Any) -> list[str]:
        """Keep the number and names of the columns; return the names, x0, x1, … for an array."""
        _check_n_features(self, X, reset=True)
        _check_feature_names(self, X, reset=True)
        return [str(name) for name in _check_feature_names_in(self)]

    def _check_something_is_left(self) -> None:
        if not used(self.columns_):
            reasons = [f"{s['name']!r}: {s['words']}" for s in self.columns_[:3]]
            raise NothingToEncodeError(
                f"no column of the table can be used ({'; '.join(reasons)}): give one that varies"
            )

    def _is_sparse_table(self) -> bool:
        return self.columns_[0]["kind"] == "sparse"

    def _read(self, X: Any) -> list[Column]:
        """Return the columns that are used of a new table: by name, of an array by place."""
        table = as_table(X, "TableEncoder")
        if table.names is not None and hasattr(self, "feature_names_in_"):
            return read_by_name(table, self.columns_)
        _check_feature_names(self, X, reset=False)
        _check_n_features(self, X, reset=False)
        return self._used_of([table.read(i, s["name"]) for i, s in enumerate(self.columns_)])

    def _used_of(self, columns: list[Column]) -> list[Column]:
        pairs = zip(columns, self.columns_, strict=True)
        return [column for column, state in pairs if state["kind"] in KINDS]
