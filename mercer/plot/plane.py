"""The plane of two columns of a table: rows at any point of it, and what a model says there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_clusterer, is_outlier_detector, is_regressor

from mercer.plot._display import last_step
from mercer.plot.records import codes_of

MARGIN = 0.08  # of the range of the rows, on each side
MOST_CELLS = 4_000_000  # of the tables that a model is asked about at once
METHODS = ("auto", "predict_proba", "decision_function", "predict")


@dataclass(frozen=True, eq=False)
class Plane:
    """Two columns of a table, the others at a typical value."""

    table: Any  # an array, a sparse matrix or a frame
    names: tuple[str, ...]  # of all columns
    chosen: tuple[int, int]

    @classmethod
    def of(cls, X: Any, features: Any = None) -> Plane:
        """Take two columns by name or by number; None is the first two that hold numbers."""
        table = _table(X)
        names = _names(table)
        if len(names) < 2:
            raise ValueError(
                f"X must have two columns or more to span a plane; got {len(names)} column(s)"
            )
        chosen = _first_numbers(table) if features is None else _places(features, names)
        plane = cls(table, tuple(str(n) for n in names), chosen)
        for i in chosen:
            if not _holds_numbers(_column(table, i)):
                raise ValueError(f"features must name columns of numbers; {names[i]!r} has none")
        return plane

    @property
    def points(self) -> np.ndarray:
        """Where the rows lie, shape (n, 2)."""
        return np.column_stack([_column(self.table, i) for i in self.chosen]).astype(np.float64)

    @property
    def labels(self) -> tuple[str, str]:
        """The names of the two columns."""
        return self.names[self.chosen[0]], self.names[self.chosen[1]]

    @property
    def words(self) -> str:
        """What was done with the other columns."""
        others = [i for i in range(len(self.names)) if i not in self.chosen]
        if not others:
            return ""
        plain = sp.issparse(self.table) or all(
            _holds_numbers(_column(self.table, i)) for i in others
        )
        which = "the other column" if len(others) == 1 else f"{len(others)} other columns"
        return f"{which} at the median" + ("" if plain else " or commonest value")

    def axes(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return n places along each side of a rectangle around the rows."""
        u, v = (_around(side, n) for side in self.points.T)
        return u, v

    def ask(
        self, model: Callable[[Any], Any], points: np.ndarray, most_cells: int = MOST_CELLS
    ) -> np.ndarray:
        """Return what a function of rows says at points of the plane."""
        rows, step = self._rows(), max(1, most_cells // len(self.names))
        parts = (rows(points[i : i + step]) for i in range(0, len(points), step))
        return np.concatenate([np.asarray(model(part)) for part in parts])

    def _rows(self) -> Callable[[np.ndarray], Any]:
        """Return what makes rows of the table's kind from points of the plane."""
        if sp.issparse(self.table):
            return partial(self._sparse_rows, _sparse_middles(self.table, self.chosen))
        columns = [_column(self.table, i) for i in range(len(self.names))]
        if isinstance(self.table, np.ndarray):
            return partial(self._array_rows, [_middle(column) for column in columns])
        return partial(self._frame_rows, columns)

    def _array_rows(self, typical: list[Any], points: np.ndarray) -> np.ndarray:
        rows = np.tile(np.array(typical, dtype=_wide(self.table.dtype)), (len(points), 1))
        rows[:, list(self.chosen)] = points
        return rows

    def _sparse_rows(self, typical: np.ndarray, points: np.ndarray) -> Any:
        rest = sp.csr_array(np.ones((len(points), 1))) @ sp.csr_array(typical[None, :])
        place = sp.csr_array((np.ones(2), ([0, 1], self.chosen)), shape=(2, len(self.names)))
        return type(self.table)(rest + sp.csr_array(points) @ place)

    def _frame_rows(self, columns: list[np.ndarray], points: np.ndarray) -> Any:
        rows: dict[Any, Any] = {}
        for i, (name, values) in enumerate(zip(self.table.columns, columns, strict=True)):
            if i in self.chosen:
                rows[name] = points[:, self.chosen.index(i)]
            elif _holds_numbers(values):
                rows[name] = np.full(len(points), _middle(values))
            else:  # taken from the table, so that it keeps its type
                rows[name] = _taken(self.table[name], np.full(len(points), _commonest(values)))
        return type(self.table)(rows)


# ---------------------------------------------------------------- tables
def _table(X: Any) -> Any:
    if sp.issparse(X):
        return X.tocsr()
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):  # pandas and polars
        return X
    table = np.asarray(X)
    if table.ndim != 2 or not len(table):
        raise ValueError(f"X must be a table of shape (n, d); got shape {table.shape}")
    return table


def _names(table: Any) -> list[Any]:
    return list(getattr(table, "columns", [f"x{i}" for i in range(table.shape[1])]))


def _column(table: Any, i: int) -> np.ndarray:
    if sp.issparse(table):
        return table[:, [i]].toarray()[:, 0]
    if isinstance(table, np.ndarray):
        column = table[:, i]
        return column if table.dtype != object else np.array(column.tolist())
    return np.asarray(table[table.columns[i]])


def _holds_numbers(column: np.ndarray) -> bool:
    return column.dtype.kind in "iuf" and bool(np.isfinite(column).any())


def _first_numbers(table: Any) -> tuple[int, int]:
    if sp.issparse(table):
        return 0, 1
    found = (i for i in range(table.shape[1]) if _holds_numbers(_column(table, i)))
    first, second = next(found, None), next(found, None)
    if first is None or second is None:
        raise ValueError("X must have two columns of numbers to span a plane")
    return first, second


def _places(features: Any, names: list[Any]) -> tuple[int, int]:
    pair = [features] if isinstance(features, str) else list(features)
    places = [names.index(f) if f in names else f for f in pair]
    known = all(isinstance(p, (int, np.integer)) and 0 <= p < len(names) for p in places)
    if len(places) != 2 or not known or places[0] == places[1]:
        shown = ", ".join(map(repr, names[:12])) + (", …" if len(names) > 12 else "")
        raise ValueError(
            f"features must be two different columns, by name or by number from 0 to "
            f"{len(names) - 1} (there are {shown}); got {features!r}"
        )
    return int(places[0]), int(places[1])


def _wide(dtype: np.dtype) -> Any:
    """Return a type that holds medians: integers become floats."""
    return dtype if dtype.kind in "fO" else np.result_type(dtype, np.float64)


def _middle(column: np.ndarray) -> Any:
    if column.dtype.kind in "biuf":
        finite = column[np.isfinite(column)]
        return float(np.median(finite)) if len(finite) else 0.0
    return column[_commonest(column)]


def _sparse_middles(table: Any, chosen: tuple[int, int]) -> np.ndarray:
    """Return the median of each column; it is 0 where more than half of the cells are empty."""
    columns, middles = table.tocsc(), np.zeros(table.shape[1])
    for i in np.flatnonzero(2 * np.diff(columns.indptr) >= table.shape[0]):
        middles[i] = np.median(columns[:, [i]].toarray())
    middles[list(chosen)] = 0.0
    return middles


def _commonest(column: np.ndarray) -> int:
    """Return a place where the commonest value stands; missing ones do not count."""
    values = column.tolist()
    known = Counter(v for v in values if v is not None and v == v)
    return values.index(known.most_common(1)[0][0]) if known else 0


def _taken(column: Any, places: np.ndarray) -> Any:
    if hasattr(column, "gather"):  # polars
        return column.gather(places)
    return column.take(places).array


def _around(values: np.ndarray, n: int) -> np.ndarray:
    low, high = np.nanmin(values), np.nanmax(values)
    pad = MARGIN * (high - low) or max(abs(high), 1.0) / 2  # a constant column has no range
    return np.linspace(low - pad, high + pad, n)


# ---------------------------------------------------------------- what the model says
@dataclass(frozen=True, eq=False)
class Asked:
    """A model and the grid that it is asked about."""

    model: Any
    X: Any
    plane: Plane
    n: int

    def said(self, method: str) -> tuple[dict[str, Any], np.ndarray | None]:
        """Return what the model says, by the fields of `DecisionDisplay`, and its classes."""
        u, v = self.plane.axes(self.n)
        said: dict[str, Any] = {"u": u, "v": v}
        if is_regressor(self.model):
            return said | {"response": self._values(), "kind": "value"}, None
        predicted = self._on_grid("predict")
        classes = _classes(self.model, predicted, self.X)
        codes = codes_of(predicted.ravel(), classes, "the prediction").reshape(predicted.shape)
        response, kind = self._response(method, codes)
        names = _class_names(self.model, classes)
        return said | {
            "response": response,
            "kind": kind,
            "codes": codes,
            "classes": names,
        }, classes

    def _response(self, method: str, codes: np.ndarray) -> tuple[np.ndarray, str]:
        if is_outlier_detector(self.model):
            return self._on_grid("decision_function"), "outlier"
        margins = _has_margins(self.model)
        method = _chosen(self.model, margins) if method == "auto" else method
        if not hasattr(self.model, method):
            raise TypeError(
                f"response_method is {method!r}, which {type(self.model).__name__} does not have"
            )
        if method == "predict":
            return codes.astype(np.float64), "class"
        response = self._on_grid(method)
        if response.ndim == 3 and response.shape[2] == 2:  # of two classes one says it all
            response = response[:, :, 1] - (0 if method == "predict_proba" else response[:, :, 0])
        if method == "predict_proba":
            return response, "probability"
        return response, "margin" if margins and response.ndim == 2 else "decision"

    def _values(self) -> np.ndarray:
        values = self._on_grid("predict").astype(np.float64)
        if values.ndim == 3 and values.shape[2] == 1:
            values = values[:, :, 0]
        if values.ndim != 2:
            raise ValueError(
                f"model must predict one value for each row; it predicts {values.shape[2]}"
            )
        return values

    def _on_grid(self, method: str) -> np.ndarray:
        """Return answers of shape (n, n) or (n, n, K), rows of the grid going up."""
        u, v = (side.ravel() for side in np.meshgrid(*self.plane.axes(self.n)))
        answers = self.plane.ask(getattr(self.model, method), np.column_stack([u, v]))
        return answers.reshape(self.n, self.n, *answers.shape[1:])


def _has_margins(model: Any) -> bool:
    """Tell whether f = ±1 means something: the loss is the hinge."""
    step = last_step(model)
    hinge = getattr(step, "loss", None) in ("hinge", "squared_hinge")
    return hinge or hasattr(step, "n_support_") or hasattr(step, "margin_")


def _chosen(model: Any, margins: bool) -> str:
    if margins and hasattr(model, "decision_function"):
        return "decision_function"
    return next(method for method in METHODS[1:] if hasattr(model, method))


def _classes(model: Any, predicted: np.ndarray, X: Any) -> np.ndarray:
    """Return the classes, and after them answers that are none, such as a reject."""
    if predicted.ndim != 2:
        raise ValueError(f"model must predict one class for each row; it predicts {predicted[0]}")
    if is_outlier_detector(model):
        return np.array([-1, 1])
    known = getattr(model, "classes_", None) if is_classifier(model) else None
    if known is None and not (is_clusterer(model) or predicted.dtype.kind in "iu"):
        raise TypeError(
            "model must be a classifier, a regressor, a one-class machine or a clustering; got "
            f"{type(model).__name__}"
        )
    found = np.unique(predicted)
    if known is None:  # clusters: one of them may have rows, but no point of the grid
        return np.union1d(found, model.predict(X))
    known = np.asarray(known)
    return np.concatenate([known, found[~np.isin(found, known)]])


def _class_names(model: Any, classes: np.ndarray) -> tuple[str, ...]:
    if is_outlier_detector(model):
        return "outlier", "inlier"
    return tuple(str(label) for label in classes.tolist())
