"""What a picture shows, as plain arrays, numbers and labels.

Each is computed by one function; Displays draw it with Matplotlib, and the report as SVG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._array import one_column
from mercer.cv_results import Axis, Trials

N_BINS = 10  # of predicted probabilities
MOST_INTEGERS = 12  # more distinct integers than this are values, not labels


def ratio(part: Any, whole: Any) -> np.ndarray:
    """Return part / whole, NaN where the whole is not positive."""
    part, whole = np.broadcast_arrays(np.asarray(part, float), np.asarray(whole, float))
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)


# ---------------------------------------------------------------- columns
def column(values: Any, what: str, n: int | None = None) -> np.ndarray:
    """Return one entry for each row, shape (n,)."""
    array = one_column(values)
    if array.ndim != 1 or not len(array) or (n is not None and len(array) != n):
        wanted = "shape (n,)" if n is None else f"{n} entries, one for each row"
        raise ValueError(f"{what} must have {wanted}; got shape {np.shape(values)}")
    return array


def numbers(values: Any, what: str, n: int | None = None) -> np.ndarray:
    """Return one finite number for each row, shape (n,)."""
    array = column(values, what, n)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise ValueError(f"{what} must hold finite numbers; got {array.dtype} values")
    return array.astype(np.float64)


def are_labels(values: np.ndarray) -> bool:
    """Tell labels from values: texts, booleans and few integers."""
    if values.dtype.kind in "iu":
        return len(np.unique(values)) <= MOST_INTEGERS
    return values.dtype.kind != "f"


def codes_of(values: np.ndarray, classes: np.ndarray, what: str) -> np.ndarray:
    """Return the place of each value among the classes."""
    places = {label: i for i, label in enumerate(classes.tolist())}
    strange = [v for v in values.tolist() if v not in places]
    if strange:
        raise ValueError(
            f"{what} holds {strange[0]!r}, which is none of the classes {list(places)}"
        )
    return np.array([places[v] for v in values.tolist()], dtype=np.intp)


def classes_of(y: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes of the rows as places, and the classes."""
    y = column(y, "y")
    known = np.unique(y) if labels is None else np.asarray(labels)
    if len(known) < 2:
        raise ValueError(f"y must hold two classes or more; got {known.tolist()}: name all labels")
    return codes_of(y, known, "y"), known


def score_columns(scores: Any, n: int, k: int) -> np.ndarray:
    """Return a score for each class, shape (n, K)."""
    array = one_column(np.asarray(scores, dtype=np.float64))
    wanted = [(n,), (n, 2)] if k == 2 else [(n, k)]
    if array.shape not in wanted or not np.isfinite(array).all():
        shapes = " or ".join(map(str, wanted))
        raise ValueError(
            f"scores must be finite, of shape {shapes} for {k} classes; got {array.shape}"
        )
    if array.ndim == 2:
        return array
    inside = bool((array >= 0).all() and (array <= 1).all())
    return np.column_stack([1 - array if inside else -array, array])


def spoken_of(classes: np.ndarray, positive: Any) -> list[int]:
    """Return which classes are spoken of."""
    if positive is None:
        return [1] if len(classes) == 2 else list(range(len(classes)))
    found = np.flatnonzero(classes == positive)
    if len(found) != 1:
        raise ValueError(f"positive must be one of {classes.tolist()}; got {positive!r}")
    return [int(found[0])]


# ---------------------------------------------------------------- probabilities
def bin_of(probability: np.ndarray, n_bins: int = N_BINS) -> np.ndarray:
    """Return into which of the bins of equal width over [0, 1] probabilities fall."""
    return np.clip((probability * n_bins).astype(np.intp), 0, n_bins - 1)


class Calibration(NamedTuple):
    """Bins of equal width over [0, 1]; what an empty bin holds is NaN."""

    edges: np.ndarray
    weight: np.ndarray
    predicted: np.ndarray
    observed: np.ndarray

    @classmethod
    def of(
        cls,
        probability: np.ndarray,
        outcome: np.ndarray,
        weight: np.ndarray | None = None,
        n_bins: int = N_BINS,
    ) -> Calibration:
        """Sort rows by a probability, and count how often what it speaks of came true."""
        place = bin_of(probability, n_bins)
        weight = np.ones(len(place)) if weight is None else weight
        total, said, seen = (
            np.bincount(place, weight * part, n_bins) for part in (1.0, probability, outcome)
        )
        edges = np.linspace(0.0, 1.0, n_bins + 1)
        return cls(edges, total, ratio(said, total), ratio(seen, total))


def calibrations(
    y: Any, probability: Any, labels: Any, positive: Any, n_bins: int, by_class: bool
) -> dict[str, Calibration]:
    """Return the bins of the positive of two classes, of the predicted class, or of each."""
    y, classes = classes_of(y, labels)
    said = score_columns(probability, len(y), len(classes))
    if said.min() < 0 or said.max() > 1:
        ends = f"{said.min():.3g} to {said.max():.3g}"
        raise ValueError(f"probability must lie in [0, 1]; got values from {ends}")
    if not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
        raise ValueError(f"n_bins must be an integer ≥ 1; got {n_bins!r}")
    wanted = spoken_of(classes, positive)
    if len(wanted) > 1 and not by_class:
        came_true = y == said.argmax(axis=1)
        return {"predicted class": Calibration.of(said.max(axis=1), came_true, n_bins=n_bins)}
    chosen = range(len(classes)) if by_class and positive is None else wanted
    return {str(classes[i]): Calibration.of(said[:, i], y == i, n_bins=n_bins) for i in chosen}


# ---------------------------------------------------------------- classes
@dataclass(frozen=True, eq=False)
class Confusion:
    """How many rows of each class were taken for each class."""

    matrix: np.ndarray
    labels: Any

    @classmethod
    def of(cls, y: Any, prediction: Any, labels: Any = None) -> Confusion:
        """Count what was taken for what."""
        y = column(y, "y")
        prediction = column(prediction, "prediction", len(y))
        known = np.unique(np.concatenate([y, prediction])) if labels is None else np.asarray(labels)
        codes = codes_of(y, known, "y"), codes_of(prediction, known, "prediction")
        return cls(cls.counted(*codes, len(known)), known)

    @staticmethod
    def counted(
        truth: np.ndarray, predicted: np.ndarray, k: int, weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Count rows (or sum their weights) by their true and predicted class, 0 … k − 1."""
        return np.bincount(truth * k + predicted, weight, k * k).reshape(k, k)

    @property
    def shares(self) -> np.ndarray:
        """The shares of each row of the matrix; 0 where a class has no rows."""
        return np.nan_to_num(ratio(self.matrix, self.matrix.sum(axis=1, keepdims=True)))


# ---------------------------------------------------------------- scores over folds
@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Mean scores and their spread over folds for growing training sets."""

    scoring: str
    sizes: np.ndarray
    train: np.ndarray
    train_spread: np.ndarray
    test: np.ndarray
    test_spread: np.ndarray
    words: str = ""  # "3 folds of 500 of 2,000 training rows"

    @classmethod
    def of(
        cls, scoring: str, sizes: Any, train: np.ndarray, test: np.ndarray, words: str = ""
    ) -> LearningCurve:
        """Average scores of shape (n_sizes, n_folds); folds that failed (NaN) are left out."""
        seen, held_out = mean_and_spread(train), mean_and_spread(test)
        return cls(scoring, np.asarray(sizes), *seen, *held_out, words=words)


@dataclass(frozen=True, eq=False)
class Surface:
    """Cross-validated scores over one parameter or several, the best over all others.

    ``scores`` and ``spread`` have the shape (len(values) of each of the parameters); NaN was not
    tried.
    """

    scoring: str
    parameters: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    scores: np.ndarray
    chosen: tuple[int, ...]  # the place of the chosen point
    words: str = ""  # "40 candidates on 5 folds in 2.1 s"
    spread: np.ndarray | None = None  # over folds

    @classmethod
    def of(cls, trials: Trials, axes: Sequence[Axis], scoring: str, words: str = "") -> Surface:
        """Lay out what a search has tried."""
        best = trials.best_at(axes)
        scores, spread = (np.where(best < 0, np.nan, v[best]) for v in (trials.mean, trials.std))
        chosen = tuple(int(axis.places[trials.chosen]) for axis in axes)
        names, values = tuple(axis.name for axis in axes), tuple(axis.values for axis in axes)
        return cls(scoring, names, values, scores, chosen, words, spread)


def mean_and_spread(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation over folds, without NaN; NaN where all are."""
    table = np.ma.masked_invalid(scores)
    return table.mean(axis=1).filled(np.nan), table.std(axis=1).filled(np.nan)


# ---------------------------------------------------------------- columns
@dataclass(frozen=True, eq=False)
class PartialDependence:
    """Mean predictions of the same rows when one of their columns is set to each of some values.

    ``mean``, ``low`` and ``high`` (the quartiles over the rows) have the shape (values, names);
    ``values`` are numbers, or texts where the column has levels.
    """

    column: str
    values: tuple[Any, ...]
    names: tuple[str, ...]  # what is predicted: classes, or "prediction"
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(
        cls, column: str, values: Sequence[Any], names: Sequence[str], predictions: np.ndarray
    ) -> PartialDependence:
        """Average predictions of shape (values, rows, names) over the rows."""
        low, high = np.quantile(predictions, [0.25, 0.75], axis=1)
        mean = predictions.mean(axis=1)
        return cls(str(column), tuple(values), tuple(names), mean, low, high)

    @property
    def reach(self) -> float:
        """How far the mean goes from its lowest to its highest value, at most over the names."""
        return float(np.ptp(self.mean, axis=0).max())
