"""The scores of a model with intervals, beside those of its rivals, and how far it is ahead.

The difference of two scores is known better than either: rows that are hard for one model are often
hard for the other. So the rows are drawn again for both at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from mercer.assess.bootstrap import Resampling, percentiles
from mercer.assess.classification import ClassificationEvaluation
from mercer.assess.rates import ratio
from mercer.assess.regression import Residuals
from mercer.report._subject import Answers, Evaluation
from mercer.report.study import Estimate, Score

DOUBT = 0.025  # beyond either end of an interval
LEVEL = 1.0 - 2 * DOUBT
FEWEST_DECISIVE = 6
"""On so many rows two models must differ: fewer prove nothing, since 2 · 2⁻⁵ is above 5 %."""

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


def score_cards(own: Answers, rivals: Mapping[str, Answers]) -> tuple[list[Score], dict[str, str]]:
    """Return the scores of a model beside those of its rivals, and which there are not, and why."""
    found, left_out = [], {}
    for key in _keys(own.labels):
        estimate = estimate_of(own.evaluation, key)
        if estimate is None:
            left_out[MEANINGS[key][0]] = _reason(own.evaluation, key)
        else:
            found.append(_score(key, estimate, own, rivals))
    return found, left_out


def _keys(labels: np.ndarray | None) -> tuple[str, ...]:
    if labels is None:
        return ("r2", "rmse", "mae")
    return ("accuracy", "uar", "auc", "f1")[: 4 if len(labels) == 2 else 3]


def _score(key: str, estimate: Estimate, own: Answers, rivals: Mapping[str, Answers]) -> Score:
    others = {n: e for n, r in rivals.items() if (e := estimate_of(r.evaluation, key))}
    leads = {n: e for n in others if (e := lead(own, rivals[n], key))}
    name, meaning = MEANINGS[key]
    unit: Literal["share", ""] = "share" if key in SHARES else ""
    told = meaning.format(_plain(getattr(own.evaluation, "positive", None)))
    return Score(name, told, estimate, others, key not in FALLING, unit, leads)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _reason(evaluation: Evaluation, key: str) -> str:
    if getattr(evaluation, key, None) is None:
        return "the model gives neither probabilities nor decision values of the classes"
    notes = " ".join(note for note in evaluation.notes if key in note or key == "uar")
    return notes or "it is 0/0 for these rows"


# ---------------------------------------------------------------- intervals
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
    return _around(float(value), *_widened(evaluation, key, float(low), float(high)))


def _around(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, min(low, value), max(high, value))


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


# ---------------------------------------------------------------- how far ahead
def lead(own: Answers, rival: Answers, key: str) -> Estimate | None:
    """Return the score of a model less that of its rival on the same rows; None: not known."""
    if key == "auc":  # every row has its place in the order
        found, decisive = _lead_of_areas(own.evaluation, rival.evaluation), len(own.y)
    else:
        found, decisive = _lead_of_rows(own, rival, key), int((own.wrong != rival.wrong).sum())
    if found is None or decisive >= FEWEST_DECISIVE:
        return found
    return Estimate(found.value, min(found.low, 0.0), max(found.high, 0.0))


def _lead_of_areas(own: Any, rival: Any) -> Estimate | None:
    """The areas of both were drawn with the same rows already."""
    if own.auc is None or rival.auc is None:
        return None
    return _estimate(own.auc - rival.auc, own.draws("auc") - rival.draws("auc"))


def _lead_of_rows(own: Answers, rival: Answers, key: str) -> Estimate | None:
    n, ahead = len(own.y), _ahead(own, rival, key)
    drawn = Resampling(own.strata, np.ones(n, np.intp), own.n_draws, own.seed)
    return _estimate(float(ahead(np.ones((1, n)))[0]), drawn.values(ahead, np.ones(n)))


def _estimate(value: float, drawn: np.ndarray) -> Estimate | None:
    if not np.isfinite(value) or np.isnan(drawn).all():
        return None
    return _around(value, *map(float, percentiles(drawn, LEVEL)))


Measure = Callable[[np.ndarray], np.ndarray]
"""A score, or a difference of two, for weights of the rows, shape (b, n)."""


def _ahead(own: Answers, rival: Answers, key: str) -> Measure:
    """Return by how much the score of a model is above that of its rival."""
    if key in ("accuracy", "uar"):
        gain = rival.wrong.astype(float) - own.wrong
        sizes = np.bincount(own.strata)
        shares = np.full(len(sizes), len(gain)) if key == "accuracy" else sizes * len(sizes)
        return lambda w: w @ (gain / shares[own.strata])
    one, other = ((_f1(a) if key == "f1" else _error(a, key)) for a in (own, rival))
    return lambda w: one(w) - other(w)


def _f1(answers: Answers) -> Measure:
    """F₁ = 2 tp / (truly positive + said to be positive)."""
    positive = answers.evaluation.positive  # type: ignore[union-attr]
    truth, said = answers.y == positive, answers.prediction == positive
    return lambda w: ratio(2.0 * (w @ (truth & said)), w @ (truth.astype(float) + said))


def _error(answers: Answers, key: str) -> Measure:
    residuals = Residuals(answers.y, answers.prediction, np.ones(len(answers.y)), 0, 0)
    return lambda w: residuals.errors(w)[key]
