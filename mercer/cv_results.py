"""What a search has tried: the one reader of ``cv_results_``.

`Trials.of` reads a fitted search (`mercer.KernelSearchCV`, scikit-learn's searches, or anything
with ``cv_results_``); `Trials.read` reads the table alone, which is what a callable ``refit`` is
given. A trial is one candidate in one round; a search of one round has as many trials as
candidates. `Axis` sorts the values of one parameter, and `Trials.best_at` lays the trials out on
one axis or several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

SAME = 1e-9  # numbers that are closer than this, relatively, are one value of an axis
UNSET: Any = object()
"""Stands in a column for a parameter that the candidate does not set."""


@dataclass(frozen=True, eq=False)
class Axis:
    """The distinct values of a parameter, and the place of each trial among them.

    Parameters
    ----------
    name : str
        The parameter.
    values : tuple
        Numbers by size (integers if all are whole), all else in the order in which it comes.
    places : array of int of shape (n_trials,)
        Where the value of each trial stands in ``values``; −1 if the trial does not set it.

    Examples
    --------
    >>> Axis.of("C", [10.0, 0.1, 10.0]).values, Axis.of("C", [10.0, 0.1, 10.0]).places.tolist()
    ((0.1, 10.0), [1, 0, 1])
    """

    name: str
    values: tuple[Any, ...]
    places: np.ndarray

    @classmethod
    def of(cls, name: str, column: Sequence[Any]) -> Axis:
        """Sort a column of values, which may hold `UNSET`."""
        rows = np.array([i for i, value in enumerate(column) if value is not UNSET], dtype=np.intp)
        known = [column[i] for i in rows]
        order = _sorted_numbers if known and all(map(is_number, known)) else _as_they_come
        values, own = order(known)
        places = np.full(len(column), -1)
        places[rows] = own
        return cls(name, values, places)

    @property
    def is_numeric(self) -> bool:
        """Whether all values are finite numbers."""
        return all(map(is_number, self.values))

    def effect(self, scores: np.ndarray) -> float:
        """Return how far the best score differs between the values."""
        groups = (scores[self.places == i] for i in range(len(self.values)))
        best = [np.nanmax(group) for group in groups if np.isfinite(group).any()]
        return float(max(best) - min(best)) if best else 0.0


def _sorted_numbers(column: Sequence[Any]) -> tuple[tuple[Any, ...], np.ndarray]:
    numbers = np.array(column, np.float64)
    distinct = np.unique(numbers)
    new = np.diff(distinct) > SAME * np.abs(distinct[1:])
    group, firsts = np.append(0, np.cumsum(new)), distinct[np.append(True, new)]
    whole = bool((firsts == np.round(firsts)).all() and np.abs(firsts).max() < 2**53)
    values = tuple(int(v) if whole else float(v) for v in firsts)
    return values, group[np.searchsorted(distinct, numbers)]


def _as_they_come(column: Sequence[Any]) -> tuple[tuple[Any, ...], np.ndarray]:
    first = {str(value): value for value in reversed(column)}
    texts = list(dict.fromkeys(map(str, column)))
    places = np.array([texts.index(str(value)) for value in column], dtype=np.intp)
    return tuple(first[text] for text in texts), places


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, and no truth value."""
    number = isinstance(value, (int, float, np.integer, np.floating))
    return number and not isinstance(value, (bool, np.bool_)) and bool(np.isfinite(value))


@dataclass(frozen=True, eq=False)
class Trials:
    """Candidates and their scores, one entry for each candidate in each round.

    Parameters
    ----------
    params : list of dict
        The parameters that each candidate sets.
    mean, std : array of shape (n_trials,)
        Of the test scores over the folds; NaN where a trial was not scored on all folds.
    rounds, rows : array of int of shape (n_trials,)
        The round (0 in a search of one round), and on how many rows it was (0 if not told).
    folds : array of int of shape (n_trials,)
        How many test scores a mean is of: rounds may differ in it.
    metric : str
        The name of the score in the table.
    chosen : int
        The trial that the search took; −1 if it is not among these.
    numbers : array of int of shape (n_trials,)
        The rows of ``cv_results_``.
    fit_seconds, score_seconds : array of shape (n_trials,)
        Of one fold, on average; 0 if not told.

    Examples
    --------
    >>> results = {
    ...     "params": [{"C": 0.1}, {"C": 1.0}],
    ...     "mean_test_score": [0.8, 0.9], "std_test_score": [0.1, 0.1],
    ...     "split0_test_score": [0.7, 0.8], "split1_test_score": [0.9, 1.0],
    ... }
    >>> trials = Trials.read(results)
    >>> len(trials), trials.n_folds, trials.axis("C").values
    (2, 2, (0.1, 1.0))
    """

    params: list[dict[str, Any]]
    mean: np.ndarray
    std: np.ndarray
    rounds: np.ndarray
    rows: np.ndarray
    folds: np.ndarray
    metric: str
    chosen: int
    numbers: np.ndarray
    fit_seconds: np.ndarray
    score_seconds: np.ndarray

    @classmethod
    def of(cls, search: Any, scoring: str | None = None) -> Trials:
        """Read a fitted search: the score that decided, or another of its scores."""
        if not hasattr(search, "cv_results_"):
            raise TypeError(
                f"search must be a fitted search with cv_results_; got {type(search).__name__}"
            )
        metric = _metric(search, scoring)
        return cls.read(search.cv_results_, metric, getattr(search, "best_index_", -1))

    @classmethod
    def read(cls, results: Mapping[str, Any], metric: str = "score", chosen: int = -1) -> Trials:
        """Read a table of results."""
        params = [dict(point) for point in results["params"]]
        nothing = np.zeros(len(params), dtype=np.intp)
        splits = [k for k in results if k.startswith("split") and k.endswith(f"_test_{metric}")]
        scored = [~np.isnan(np.asarray(results[k], np.float64)) for k in splits]
        return cls(
            params,
            np.asarray(results[f"mean_test_{metric}"], np.float64),
            np.asarray(results[f"std_test_{metric}"], np.float64),
            np.asarray(results.get("iter", nothing)),
            np.asarray(results.get("n_resources", nothing)),
            np.array(scored).sum(axis=0) if splits else nothing,
            metric,
            int(chosen),
            np.arange(len(params)),
            np.asarray(results.get("mean_fit_time", nothing), np.float64),
            np.asarray(results.get("mean_score_time", nothing), np.float64),
        )

    @classmethod
    def scored(cls, params: Sequence[Mapping[str, Any]], scores: np.ndarray) -> Trials:
        """Make the trials of one round from scores of shape (n_trials, n_folds)."""
        columns = {f"split{k}_test_score": column for k, column in enumerate(scores.T)}
        mean, std = scores.mean(axis=1), scores.std(axis=1)
        return cls.read(
            {"params": params, "mean_test_score": mean, "std_test_score": std, **columns}
        )

    def __len__(self) -> int:
        return len(self.params)

    @property
    def n_folds(self) -> int:
        """How many test scores a mean is of, at most."""
        return int(self.folds.max(initial=0))

    @property
    def complete(self) -> np.ndarray:
        """Which trials were scored on all folds."""
        return np.isfinite(self.mean)

    @property
    def comparable(self) -> np.ndarray:
        """Which complete trials were scored on the most rows: others are not to be compared."""
        complete = self.complete
        return complete & (self.rows == self.rows[complete].max(initial=0))

    def take(self, kept: np.ndarray) -> Trials:
        """Return some of the trials: a mask, or places in order."""
        places = np.arange(len(self))[kept]
        found = np.flatnonzero(places == self.chosen)
        return replace(
            self,
            params=[self.params[i] for i in places],
            mean=self.mean[places],
            std=self.std[places],
            rounds=self.rounds[places],
            rows=self.rows[places],
            folds=self.folds[places],
            chosen=int(found[0]) if len(found) else -1,
            numbers=self.numbers[places],
            fit_seconds=self.fit_seconds[places],
            score_seconds=self.score_seconds[places],
        )

    @property
    def last(self) -> Trials:
        """The trials of the last round that scored a candidate on all folds."""
        return self.take(self.rounds == self.rounds[self.complete].max(initial=0))

    @property
    def names(self) -> list[str]:
        """The parameters that some trial sets, in the order in which they come."""
        return list(dict.fromkeys(name for point in self.params for name in point))

    def axis(self, name: str, unset: Any = UNSET) -> Axis:
        """Return the values of a parameter; ``unset`` is the value where it is not set."""
        return Axis.of(name, [point.get(name, unset) for point in self.params])

    def axes(self, unset: Any = UNSET) -> list[Axis]:
        """Return the parameters that vary."""
        found = [self.axis(name, unset) for name in self.names]
        return [axis for axis in found if len(axis.values) > 1]

    def best_at(self, axes: Sequence[Axis]) -> np.ndarray:
        """Return the best trial at each point of a grid of axes, −1 where there is none.

        Of trials with the same score the chosen one counts.
        """
        best = np.full([len(axis.values) for axis in axes], -1)
        places = np.column_stack([axis.places for axis in axes])
        order = np.lexsort((np.arange(len(self)) == self.chosen, self.mean))
        for i in order[self.complete[order] & (places[order] >= 0).all(axis=1)]:
            best[tuple(places[i])] = i
        return best


def _metric(search: Any, scoring: str | None) -> str:
    """Return the name in the table of a score: the one asked for, or the one that decided."""
    found = (k.removeprefix("mean_test_") for k in search.cv_results_ if "mean_test_" in k)
    known = list(found)
    refit = getattr(search, "refit", None)
    metric = scoring or (refit if isinstance(refit, str) and refit in known else known[0])
    if known == ["score"] and scoring == getattr(search, "scoring", None):
        metric = "score"
    if metric not in known:
        raise ValueError(f"scoring must be one of {known}; got {metric!r}")
    return metric


def score_name(estimator: Any, scoring: Any = None) -> str:
    """Return what a score is called: by its name, or as the estimator's own score.

    Examples
    --------
    >>> from sklearn.svm import SVC, SVR
    >>> score_name(SVC()), score_name(SVR()), score_name(SVC(), "balanced_accuracy")
    ('accuracy', 'R²', 'balanced accuracy')
    """
    if isinstance(scoring, str):
        return scoring.replace("_", " ")
    if scoring is not None:
        return str(getattr(scoring, "__name__", "score"))
    if is_classifier(estimator):
        return "accuracy"
    return "R²" if is_regressor(estimator) else "score"
