"""Columns of texts, strings and series, kept as they are for kernels that compare such objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer._array import boxed
from mercer._words import listing
from mercer.kernels.frames import Columns, as_columns
from mercer.tables.columns import Column, as_codes
from mercer.tables.encoder import NothingToEncodeError, TableEncoder
from mercer.tables.frames import Table, as_table
from mercer.tables.kinds import as_plain, names_rows
from mercer.tables.matrix import read_by_name, warn_of_unread
from mercer.tables.numeric import State
from mercer.tables.series import learn_series, looks_like_series, series_cells, series_sentences
from mercer.tables.textual import looks_like_text

FEWEST_LEVELS = 30  # different strings that are more than the levels of a category
VARIED = 0.3  # of the rows have a string of their own, at least
LETTERS = 0.6  # of the characters of strings are letters, at least: codes and numbers are names


# ---------------------------------------------------------------- which columns
def object_kinds(X: Any, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return which columns of a frame hold "text", "string" or "series", by name.

    Parameters
    ----------
    X : frame of polars or pandas
        The table.
    given : mapping of names to kinds, default=None
        What single columns are, whatever their values look like.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.tables import object_kinds
    >>> curves = pd.DataFrame({"curve": [[0.0, 1.0, 2.0], [1.0, 0.5]], "size": [1.0, 2.0]})
    >>> object_kinds(curves)
    {'curve': 'series'}
    """
    if not hasattr(X, "columns"):
        return {}
    table, given = as_table(X, "object_kinds"), given or {}
    found = {}
    for place, name in enumerate(table.names or []):
        kind = given.get(name) or _kind(table.read(place, name), alone=len(table.names or []) == 1)
        if kind in OBJECTS:
            found[name] = kind
    return found


def _kind(column: Column, alone: bool) -> str | None:
    if column.form != "text" or not column.levels:
        return None
    if looks_like_series(column):
        return "series"
    if as_plain(column).form != "text":
        return None
    if looks_like_text(column, FEWEST_LEVELS):
        return "text"
    return "string" if _are_strings(column, alone) else None


def _are_strings(column: Column, alone: bool) -> bool:
    """Whether texts are made of letters that may tell something, and are no names of the rows."""
    n, different = int(np.sum(column.values >= 0)), len(column.levels)
    if alone:
        return different > n / 2 or different > FEWEST_LEVELS
    if names_rows(column.name) or different <= max(FEWEST_LEVELS, VARIED * n):
        return False
    text = "".join("".join(level.split()) for level in column.levels[:: 1 + different // 1000])
    return sum(letter.isalpha() for letter in text) >= LETTERS * len(text)


# ---------------------------------------------------------------- states and cells
def _learn_texts(column: Column, kind: str) -> State:
    return {"name": column.name, "kind": kind, "missing": int((as_codes(column)[0] < 0).sum())}


def _text_cells(state: State, column: Column) -> tuple[np.ndarray, int]:
    """Return the texts, "" for those that are missing."""
    codes, levels = as_codes(column)
    cells = boxed([*levels, ""])
    return cells[codes], 0


OBJECTS: dict[str, Callable[[State, Column], tuple[np.ndarray, int]]] = {
    "text": _text_cells,
    "string": _text_cells,
    "series": series_cells,
}
"""The kinds of objects, and how their cells are read."""


class ColumnsEncoder(TransformerMixin, BaseEstimator):
    """Prepare a table for kernels on columns: texts, strings and series stay what they are.

    All other columns become numbers by `TableEncoder`; `numbers_` are their names. A text that is
    missing is "", a missing series the mean of the training series, and steps that are missing lie
    on straight lines between those that are not.

    Parameters
    ----------
    objects : mapping of names to "text", "string" or "series", default=None
        The columns that are kept; None takes those that `object_kinds` finds.
    kinds : mapping of names to kinds, default=None
        What other columns are, as for `TableEncoder`.
    encode : bool, default=True
        Whether to make numbers of the other columns; else they are passed on as well.

    Attributes
    ----------
    columns_ : list of dict
        For each column that is kept its "name", "kind", and what reading it needs.
    encoder_ : TableEncoder or None
        What encodes the others; None if there is none of use.
    numbers_ : list of str
        The names of the columns that it makes.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer import SVC
    >>> from mercer.kernels import RBF, Words
    >>> from mercer.tables import ColumnsEncoder
    >>> table = pd.DataFrame({"age": [20.0, 30.0, 40.0], "remarks": ["good", "", "very good"]})
    >>> encoder = ColumnsEncoder({"remarks": "text"}).fit(table)
    >>> encoder.numbers_
    ['age']
    >>> kernel = RBF().on(encoder.numbers_) + Words().normalized().on("remarks")
    >>> SVC(kernel).fit(encoder.transform(table), [0, 1, 0]).predict(encoder.transform(table))
    array([0, 1, 0])
    """

    def __init__(self, objects: Any = None, *, kinds: Any = None, encode: bool = True):
        self.objects = objects
        self.kinds = kinds
        self.encode = encode

    def fit(self, X: Any, y: Any = None) -> ColumnsEncoder:
        """Find what reading and encoding the columns needs.

        Parameters
        ----------
        X : frame of polars or pandas
            The table.
        y : ignored

        Returns
        -------
        self : ColumnsEncoder
        """
        table = self._table(X)
        names = table.names or []
        kinds = object_kinds(X, self.kinds) if self.objects is None else dict(self.objects)
        unknown = [name for name in kinds if name not in names]
        if unknown:
            raise ValueError(
                f"objects: X has no column {listing(unknown)}; it has {listing(names)}"
            )
        learned = [self._learned(table, names, name, kinds[name]) for name in kinds]
        self.columns_ = [state for state in learned if state["kind"] in OBJECTS]
        self.encoder_ = self._other_columns(X, names, kinds) if self.encode else None
        made = [] if self.encoder_ is None else self.encoder_.get_feature_names_out().tolist()
        self.numbers_ = [name if name not in kinds else f"{name} (number)" for name in made]
        self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        return self

    def transform(self, X: Any) -> Columns:
        """Return numbers and objects by name; columns are found by name, others are ignored.

        Parameters
        ----------
        X : frame of polars or pandas
            The table.

        Returns
        -------
        Columns
            What kernels ``on`` columns read.
        """
        check_is_fitted(self)
        table = self._table(X)
        read = read_by_name(table, self.columns_)
        pairs = list(zip(self.columns_, read, strict=True))
        found = {s["name"]: OBJECTS[s["kind"]](s, column) for s, column in pairs}
        warn_of_unread(self.columns_, {name: n for name, (_, n) in found.items() if n}, len(X))
        others = self._others(X, found)
        cells = [cells for cells, _ in found.values()]
        return Columns((*others, *found), (*others.values(), *cells))

    def describe(self) -> list[str]:
        """Return what is done with the columns, in sentences."""
        check_is_fitted(self)
        said = [] if self.encoder_ is None else self.encoder_.describe()
        for kind in OBJECTS:
            names = [state["name"] for state in self.columns_ if state["kind"] == kind]
            what = kind if kind == "series" else f"{kind}s"
            own = "its" if len(names) == 1 else "their"
            said += [f"{listing(names)} as {what}, for a kernel of {own} own"] if names else []
        for state in self.columns_:
            said += series_sentences(state) if state["kind"] == "series" else []
        return [sentence for sentence in said if not sentence.endswith(": as asked")]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags

    # ------------------------------------------------------------ inside
    def _table(self, X: Any) -> Table:
        if not hasattr(X, "columns"):
            raise TypeError(
                f"ColumnsEncoder takes a frame of polars or pandas, whose columns have names; got "
                f"{type(X).__name__}"
            )
        return as_table(X, "ColumnsEncoder")

    def _learned(self, table: Table, names: list[str], name: str, kind: str) -> State:
        if kind not in OBJECTS:
            raise ValueError(
                f"objects[{name!r}] must be {listing(list(OBJECTS), 'or')}; got {kind!r}"
            )
        column = table.read(names.index(name), name)
        return learn_series(column) if kind == "series" else _learn_texts(column, kind)

    def _others(self, X: Any, kept: Mapping[str, Any]) -> dict[str, np.ndarray]:
        if self.encoder_ is not None:
            columns = map(np.ascontiguousarray, _dense(self.encoder_.transform(X)).T)
            return dict(zip(self.numbers_, columns, strict=True))
        if self.encode:
            return {}
        names = [name for name in X.columns if name not in kept]
        return {name: as_columns(X[[name]], "X").column(name) for name in names}

    def _other_columns(
        self, X: Any, names: list[str], kinds: Mapping[str, str]
    ) -> TableEncoder | None:
        """Return an encoder of all columns that are not kept, if one of them is of use."""
        if set(names) <= set(kinds):
            return None
        given = {**(self.kinds or {}), **dict.fromkeys(kinds, "ignore")}
        try:
            return TableEncoder(kinds=given).fit(X)
        except NothingToEncodeError:
            return None


def _dense(Z: Any) -> np.ndarray:
    return Z if isinstance(Z, np.ndarray) else Z.toarray()
