"""What becomes of a model's answers: a threshold for a class, a scale and a range for numbers.

Both are chosen by cross-validation on rows that were learned from, never on those held out, and
cost a bounded number of fits on a bounded number of rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from mercer._limits import Limits
from mercer._words import called, count, listing, number, percent
from mercer.cli.goal import Goal
from mercer.cli.problem import TableProblem
from mercer.meta import (
    TRANSFORMS,
    TargetRegressor,
    ThresholdClassifier,
    innermost,
    require_uninterrupted,
)
from mercer.plot.ranking_records import PrecisionRecall, Thresholds
from mercer.plot.records import ratio
from mercer.select.choices import NOISE
from mercer.select.rounds import sample_rows

MOST_NAMED = 3  # columns that a learned metric is told by

FOLDS = 5
MOST_ROWS = 3000  # of the fits that choose
STRONG_SKEW = 1.0  # of targets whose logarithm is tried
DIGITS = 3  # of a threshold: people read it, and models use what people read


@dataclass(frozen=True)
class Threshold:
    """The probability from which on to call a row positive, and how it was found."""

    value: float
    words: str


@dataclass(frozen=True, eq=False)
class AroundModel:
    """What stands around a model of a problem, and in ``words`` why.

    ``scale`` is that of numbers, ``threshold`` the one that training rows suggest for a class.
    """

    goal: Goal
    problem: TableProblem
    seed: int
    scale: str = "none"
    threshold: Threshold | None = None
    words: tuple[str, ...] = ()

    @property
    def what(self) -> str:
        """What is looked for."""
        return "threshold" if self.problem.task == "classify" else "scale"

    @property
    def is_looked_for(self) -> bool:
        """Whether training rows have something to choose."""
        if self.problem.task == "classify":
            return self.goal.wants_threshold
        return self.goal.target_transform == "auto" and is_skewed(self.problem.y)

    def chosen(self, model: Any, Z: Any, limits: Limits) -> AroundModel:
        """Let the training rows choose, by fits of a model with the parameters that were found."""
        given = (Z, self.problem, self.goal, self.seed, limits)
        if self.problem.task == "regress":
            scale, words = better_scale(model, *given)
            return replace(self, scale=scale, words=(words,))
        if not hasattr(model, "predict_proba"):
            return self
        found = best_threshold(model, *given)
        if found is None:
            words = f"too few rows of {called(self.goal.positive)!r} to look for a threshold"
            return replace(self, words=(words,))
        auto = self.goal.threshold == "auto"
        used = (
            "the model uses it (--threshold sets another)" if auto else "--threshold auto uses it"
        )
        found = replace(found, words=f"{found.words}; {used}")
        return replace(self, threshold=found, words=(found.words,))

    # ------------------------------------------------------------ models
    def of(self, estimator: Any) -> Any:
        """Return an unfitted model with a scale and a range of targets around it."""
        if self.problem.task == "classify":
            return estimator
        asked = self.goal.target_transform
        return TargetRegressor(
            estimator, self.scale if asked == "auto" else asked, self.goal.extrapolate
        )

    def with_threshold(self, fitted: Any) -> Any:
        """Return a fitted model with the threshold that was asked for around it."""
        value = self.goal.threshold
        if value == "auto":
            value = None if self.threshold is None else self.threshold.value
        if value is None:
            return fitted
        return ThresholdClassifier.around(fitted, float(value), self.goal.positive)


def metric_in_words(pipeline: Pipeline) -> list[str]:
    """Return what a model has learned about the columns, if its kernel learns a metric."""
    model = innermost(pipeline[-1])
    if not hasattr(model, "chosen_"):
        return []
    kind, rounds = model.chosen_["metric"], count(model.chosen_["rounds"], "round")
    how = {
        "none": "Every column counts alike: no metric was better by more than chance.",
        "diagonal": f"It learned how much each column counts, in {rounds}.",
        "evidence": "It learned how much each column counts, by the evidence for it.",
        "full": f"It learned which directions across the columns count, in {rounds}.",
    }[kind]
    shares, names = model.importance_, pipeline[0].get_feature_names_out()
    most = [i for i in np.argsort(-shares)[:MOST_NAMED] if shares[i] >= 1.0 / len(shares)]
    told = listing([f"{called(names[i])} ({percent(shares[i], 0)})" for i in most])
    return [f"{how} Its answers change most along {told}."] if most else [how]


def range_in_words(fitted: Any) -> list[str]:
    """Say between which values the predictions of a fitted model stay, if they do."""
    if not isinstance(fitted, TargetRegressor) or fitted.extrapolate:
        return []
    ends = f"{number(fitted.low_)} and {number(fitted.high_)}"
    return [f"predictions stay between {ends}, the range of the training rows"]


Fold = tuple[np.ndarray, np.ndarray]
"""The rows to learn from and those held out, as numbers."""


def folds_of(problem: TableProblem, rows: np.ndarray, usual: Any, seed: int) -> list[Fold]:
    """Return folds of some rows that keep to groups and to time, where the problem has such."""
    splitter = problem.splitter(seed) or usual
    groups = None if problem.groups is None else problem.groups[rows]
    places = splitter.split(np.zeros((len(rows), 1)), problem.y[rows], groups)
    return [(rows[learn], rows[test]) for learn, test in places]


def fitted_folds(
    model: Any, Z: Any, y: np.ndarray, folds: list[Fold], limits: Limits
) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield the model fitted without each fold, and the rows of that fold.

    Out of time it raises TimeoutError. A solver that hears Ctrl-C returns its best so far: that is
    no fit to choose by.
    """
    for learn, test in folds:
        if limits.stopped():
            raise TimeoutError
        with warnings.catch_warnings():  # the fit that is kept has its own proof
            warnings.simplefilter("ignore")
            fitted = clone(model).fit(Z[learn], y[learn])
        yield require_uninterrupted(fitted), test


# ---------------------------------------------------------------- thresholds
def best_threshold(
    model: Any, Z: Any, problem: TableProblem, goal: Goal, seed: int, limits: Limits
) -> Threshold | None:
    """Return the threshold of the largest F1 by cross-validated probabilities; None: too few rows.

    Parameters
    ----------
    model : classifier with ``predict_proba``
        Unfitted, with the parameters that were chosen.
    Z, problem : encoded rows, and the problem they are of
        What was learned from.
    """
    y = problem.y
    rows = sample_rows(len(y), MOST_ROWS, y, seed)
    positive = y == goal.positive
    n = min(FOLDS, int(positive[rows].sum()), int((~positive[rows]).sum()))
    if n < 2:
        return None
    folds = folds_of(problem, rows, StratifiedKFold(n, shuffle=True, random_state=seed), seed)
    folds = [fold for fold in folds if len(np.unique(y[fold[0]])) == 2]
    said = np.full(len(y), np.nan)  # of rows that were held out
    for fitted, test in fitted_folds(model, Z, y, folds, limits):
        place = np.flatnonzero(fitted.classes_ == goal.positive)
        said[test] = fitted.predict_proba(Z[test])[:, place[0]]
    known = np.flatnonzero(np.isfinite(said))
    if not positive[known].any():
        return None
    value = largest_f1(said[known], positive[known])
    found = Thresholds.of(said[known], positive[known], [value])
    words = (
        f"calling a row {goal.positive} from probability {number(value, DIGITS)} on gives the "
        f"largest F1, {percent(found.f1[0])} (precision {percent(found.precision[0])}, recall "
        f"{percent(found.recall[0])}), in {count(len(folds), 'fold')} of "
        f"{count(len(rows), 'row')} to learn from"
    )
    return Threshold(value, words)


def largest_f1(probability: np.ndarray, positive: np.ndarray) -> float:
    """Return the threshold of the largest F1, halfway to the next probability below."""
    curve = PrecisionRecall.of(probability, positive)
    f1 = np.nan_to_num(ratio(2 * curve.precision * curve.recall, curve.precision + curve.recall))
    best = int(f1.argmax())
    below = curve.thresholds[best + 1] if best + 1 < len(f1) else 0.0
    return float(f"{(curve.thresholds[best] + below) / 2:.{DIGITS}g}")


# ---------------------------------------------------------------- targets
def better_scale(
    model: Any, Z: Any, problem: TableProblem, goal: Goal, seed: int, limits: Limits
) -> tuple[str, str]:
    """Return the scale on which targets are learned, "none" or "log", and why.

    The logarithm is tried at the parameters that were chosen, and taken if cross-validation on
    training rows prefers it by more than noise.
    """
    y = problem.y
    rows = sample_rows(len(y), MOST_ROWS, None, seed)
    folds = folds_of(problem, rows, KFold(FOLDS, shuffle=True, random_state=seed), seed)
    scorer = check_scoring(TargetRegressor(model), goal.scoring)
    plain, log = (
        _scores(TargetRegressor(model, scale, goal.extrapolate), Z, y, folds, limits, scorer)
        for scale in TRANSFORMS
    )
    gain = log - plain
    better = bool(gain.mean() > NOISE * gain.std() / len(folds) ** 0.5)
    scores = f"cross-validated {goal.told(log.mean())} against {goal.told(plain.mean())} without"
    if better:
        return "log", f"targets are skewed and learned on the scale of their logarithm: {scores}"
    return "none", f"targets are skewed, but their logarithm is learned no better: {scores}"


def _scores(
    model: Any, Z: Any, y: np.ndarray, folds: list[Fold], limits: Limits, scorer: Any
) -> np.ndarray:
    fits = fitted_folds(model, Z, y, folds, limits)
    return np.array([scorer(fitted, Z[test], y[test]) for fitted, test in fits])


def is_skewed(y: np.ndarray) -> bool:
    """Tell whether targets have a logarithm that may be worth trying."""
    return bool(y.min() >= 0) and len(y) >= 2 * FOLDS and skewness(y) > STRONG_SKEW


def skewness(y: np.ndarray) -> float:
    """Return the third moment in units of the standard deviation; 0 for constant targets."""
    spread = np.std(y)
    return float(np.mean(((y - y.mean()) / spread) ** 3)) if spread > 0 else 0.0
