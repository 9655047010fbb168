"""The scores of a model with intervals, beside those of its rivals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from mercer.assess.classification import ClassificationEvaluation
from mercer.assess.regression import RegressionEvaluation
from mercer.report._answers import Evaluation, Judged
from mercer.report._paired import lead
from mercer.report.study import Estimate, Score

DOUBT = 0.025  # beyond either end of an interval

MEANINGS = {
    "accuracy": ("accuracy", "share of the rows predicted rightly"),
    "uar": ("UAR", "mean recall of the classes: each class counts the same, however rare"),
    "auc": ("AUC", "how often a row of a class is ranked above a row of another"),
    "f1": ("F1", "harmonic mean of precision and recall of {!r}"),
    "r2": ("R²", "share of the variance of the target that is explained"),
    "rmse": ("RMSE", "root of the mean squared error, in the unit of the target"),
    "mae": ("MAE", "mean absolute error, in the unit of the target"),
}
FALLING = {"rmse", "mae"}
SHARES = {"accuracy", "uar", "f1"}  # read in per cent


def score_cards(own: Judged, rivals: Mapping[str, Judged]) -> tuple[list[Score], dict[str, str]]:
    """Return the scores of a model beside those of its rivals, and which there are not, and why."""
    found, left_out = [], {}
    for key in _keys(own.evaluation):
        estimate = estimate_of(own.evaluation, key)
        if estimate is None:
            left_out[MEANINGS[key][0]] = _reason(own.evaluation, key)
        else:
            found.append(_score(key, estimate, own, rivals))
    return found, left_out


def _score(key: str, estimate: Estimate, own: Judged, rivals: Mapping[str, Judged]) -> Score:
    others = {n: e for n, r in rivals.items() if (e := estimate_of(r.evaluation, key))}
    leads = {n: e for n in others if (e := lead(own, rivals[n], key))}
    name, meaning = MEANINGS[key]
    unit: Literal["share", ""] = "share" if key in SHARES else ""
    told = meaning.format(_plain(getattr(own.evaluation, "positive", None)))
    return Score(name, told, estimate, others, key not in FALLING, unit, leads)


def _keys(evaluation: Evaluation) -> Iterator[str]:
    if isinstance(evaluation, RegressionEvaluation):
        yield from ("r2", "rmse", "mae")
        return
    yield from ("accuracy", "uar", "auc")
    if len(evaluation.labels) == 2:
        yield "f1"


def _reason(evaluation: Evaluation, key: str) -> str:
    if getattr(evaluation, key, None) is None:
        return "the model gives neither probabilities nor decision values of the classes"
    notes = " ".join(note for note in evaluation.notes if key in note or key == "uar")
    return notes or "it is 0/0 for these rows"


def estimate_of(evaluation: Evaluation, key: str) -> Estimate | None:
    """Return a score with its interval; None where it is not defined."""
    value = getattr(evaluation, key, None)
    if value is None:
        return None
    low, high = evaluation.interval(key) if evaluation.n_rows > 1 else (value, value)
    if np.ndim(value) and isinstance(evaluation, ClassificationEvaluation):
        place = int(np.flatnonzero(evaluation.labels == evaluation.positive)[0])
        value, low, high = value[place], low[place], high[place]
    if np.isnan(value):
        return None
    low, high = _widened(evaluation, key, float(low), float(high))
    return Estimate(float(value), min(low, float(value)), max(high, float(value)))


def _widened(evaluation: Evaluation, key: str, low: float, high: float) -> tuple[float, float]:
    """Return an honest interval where rows drawn again are all right, or all wrong.

    Without a mistake in n rows the rate of mistakes may still be 1 − 0.025^(1/n) (Clopper and
    Pearson's end of the interval).
    """
    if not isinstance(evaluation, ClassificationEvaluation) or key not in ("accuracy", "uar"):
        return low, high
    if low < high or low not in (0.0, 1.0):
        return low, high
    sizes = evaluation.confusion.sum(axis=1)
    sizes = sizes[sizes > 0] if key == "uar" else np.array([sizes.sum()])
    hidden = float(np.mean(1.0 - DOUBT ** (1.0 / sizes)))
    return (1.0 - hidden, 1.0) if low == 1.0 else (0.0, hidden)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
