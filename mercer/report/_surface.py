"""What a search has tried, as scores over one or two parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer.report._budget import LeftOutError
from mercer.report._rows import cell_text
from mercer.report.study import Surface

SAME = 1e-9  # values that are closer than this, relatively, are one value


@dataclass(frozen=True, eq=False)
class Axis:
    """The distinct values of a parameter, and the place of each candidate among them."""

    name: str
    values: tuple[Any, ...]
    places: np.ndarray

    @classmethod
    def of(cls, name: str, column: Sequence[Any]) -> Axis:
        """Sort the values of a parameter: numbers by size, all else as it comes."""
        if all(_is_number(value) for value in column):
            return cls._of_numbers(name, np.array(column, np.float64))
        texts = [cell_text(value) for value in column]
        values = list(dict.fromkeys(texts))
        return cls(name, tuple(values), np.array([values.index(text) for text in texts]))

    @classmethod
    def _of_numbers(cls, name: str, column: np.ndarray) -> Axis:
        distinct = np.unique(column)
        new = np.diff(distinct) > SAME * np.abs(distinct[1:])
        group = np.append(0, np.cumsum(new))
        firsts = distinct[np.append(True, new)]
        places = group[np.searchsorted(distinct, column)]
        whole = bool((firsts == np.round(firsts)).all() and np.abs(firsts).max() < 2**53)
        values = (int(v) if whole else float(v) for v in firsts)
        return cls(name, tuple(values), places)

    def effect(self, scores: np.ndarray) -> float:
        """Return how far the best score differs between the values."""
        best = [scores[self.places == i].max() for i in range(len(self.values))]
        return float(max(best) - min(best))


def _is_number(value: Any) -> bool:
    number = isinstance(value, (int, float, np.integer, np.floating))
    return number and not isinstance(value, (bool, np.bool_)) and bool(np.isfinite(value))


def surface_of(search: Any) -> Surface:
    """Return mean scores over the parameters that matter most, the best over the others."""
    results, metric = search.cv_results_, _metric(search)
    scores = np.asarray(results[f"mean_test_{metric}"], np.float64)
    counted = ~np.isnan(scores) & _comparable(results)
    if not counted.any():
        raise LeftOutError("the search has no score")
    params = [results["params"][i] for i in np.flatnonzero(counted)]
    axes, best = _axes(params), int(search.best_index_)
    drawn = sorted(axes, key=lambda axis: -axis.effect(scores[counted]))[:2]
    drawn = [axis for axis in axes if axis in drawn]  # in the order of the grid
    chosen = _chosen(drawn, np.flatnonzero(counted), best)
    return Surface(
        _scoring(search, metric),
        tuple(axis.name for axis in drawn),
        tuple(axis.values for axis in drawn),
        _best_scores(drawn, scores[counted]),
        chosen,
        _words(search, len(scores), int(counted.sum()), axes, drawn),
    )


def _metric(search: Any) -> str:
    several = getattr(search, "multimetric_", False)
    return str(search.refit) if several and isinstance(search.refit, str) else "score"


def _scoring(search: Any, metric: str) -> str:
    if metric != "score":
        return metric
    if isinstance(search.scoring, str):
        return search.scoring
    if search.scoring is not None:
        return str(getattr(search.scoring, "__name__", "score"))
    return "accuracy" if is_classifier(search.estimator) else "R²"


def _comparable(results: Any) -> np.ndarray:
    """Tell which candidates were scored on the most rows; others are not to be compared."""
    sizes = np.asarray(results.get("n_resources", np.ones(len(results["params"]))))
    return sizes == sizes.max()


def _axes(params: list[dict[str, Any]]) -> list[Axis]:
    names = list(dict.fromkeys(name for point in params for name in point))
    axes = [Axis.of(name, [point.get(name, "default") for point in params]) for name in names]
    found = [axis for axis in axes if len(axis.values) > 1]
    if not found:
        raise LeftOutError("the search has tried one value of each parameter")
    return found


def _best_scores(axes: list[Axis], scores: np.ndarray) -> np.ndarray:
    table = np.full([len(axis.values) for axis in axes], np.nan)
    for place, score in zip(zip(*(a.places for a in axes), strict=True), scores, strict=True):
        table[place] = np.fmax(table[place], score)
    return table


def _chosen(axes: list[Axis], counted: np.ndarray, best: int) -> tuple[int, ...]:
    row = int(np.searchsorted(counted, best))
    if row == len(counted) or counted[row] != best:
        raise LeftOutError("the chosen candidate is not among those that can be compared")
    return tuple(int(axis.places[row]) for axis in axes)


def _words(search: Any, candidates: int, compared: int, axes: list[Axis], drawn: list[Axis]) -> str:
    results = search.cv_results_
    times = [np.asarray(results.get(f"mean_{part}_time", 0.0)) for part in ("fit", "score")]
    seconds = float(np.nansum(times[0] + times[1])) * search.n_splits_
    words = f"{candidates} candidates on {search.n_splits_} folds in {seconds:.2g} s of fitting"
    status = getattr(search, "status_", "complete")
    if status != "complete":
        words += f", stopped early ({status})"
    if compared < candidates:
        words += f"; shown are the {compared} that were scored on the most rows"
    hidden = [axis.name for axis in axes if axis not in drawn]
    return f"{words}; of {', '.join(hidden)} the best value at each point" if hidden else words
