"""The scores of a model with intervals, beside those of its rivals, and how far it is ahead.

The difference of two scores is known better than either: rows that are hard for one model are often
hard for the other. So the rows are drawn again for both at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from mercer.assess.bootstrap import Resampling, percentiles
from mercer.assess.classification import ClassificationEvaluation
from mercer.assess.metrics import METRICS, RARE, shown
from mercer.assess.rates import mean_defined, ratio
from mercer.assess.regression import Residuals
from mercer.report._subject import Evaluation, ModelAnswers
from mercer.report.study import Estimate, Score

TAIL = 0.025  # beyond either end of an interval
LEVEL = 1.0 - 2 * TAIL
FEWEST_DECISIVE = 6
"""On so many rows two models must differ: fewer prove nothing, since 2 · 2⁻⁵ is above 5 %."""

OF_SCORES = ("auc", "average_precision", "log_loss", "brier")
"""What is computed from probabilities or decision values, not from the predicted classes."""

NEED_POSITIVE_TARGETS = {
    "mape": "a target of 0 or less has no error relative to it",
    "rmsle": "a target below 0 has no logarithm",
    "relative_error": "the targets are 0 in the middle",
}


def score_cards(
    own: ModelAnswers, rivals: Mapping[str, ModelAnswers], metric: str | None = None
) -> tuple[list[Score], dict[str, str]]:
    """Return the scores of a model beside those of its rivals, and which there are not, and why.

    ``metric`` comes first; without one, and where a class is rare, its own figures do.
    """
    found, left_out = [], {}
    for key in _keys(own, metric):
        estimate = estimate_of(own.evaluation, key)
        if estimate is None:
            left_out[METRICS[key].title] = _reason(own.evaluation, key)
        else:
            found.append(_score(key, estimate, own, rivals))
    return found, left_out


def first_key(own: ModelAnswers) -> str:
    """Return the score that leads the others."""
    return next(k for k in _keys(own, None) if getattr(own.evaluation, k, None) is not None)


def _keys(own: ModelAnswers, metric: str | None) -> tuple[str, ...]:
    """Return which scores are shown, in order."""
    if own.labels is None:
        relative = "mape" if own.evaluation.mape is not None else "relative_error"  # type: ignore[union-attr]
        return tuple(dict.fromkeys((*shown(None, first=metric), relative)))
    rare, named = is_rare(own), own.positive is not None
    return shown(len(own.labels), rare=rare, positive=named, first=metric)


def is_rare(own: ModelAnswers) -> bool:
    """Tell whether the positive class is so rare that accuracy says little."""
    positive = getattr(own.evaluation, "positive", None)
    return positive is not None and float(np.mean(own.y == positive)) < RARE


def _score(
    key: str, estimate: Estimate, own: ModelAnswers, rivals: Mapping[str, ModelAnswers]
) -> Score:
    others = {n: e for n, r in rivals.items() if (e := estimate_of(r.evaluation, key))}
    leads = {n: e for n in others if (e := lead(own, rivals[n], key))}
    metric = METRICS[key]
    unit: Literal["share", ""] = "share" if metric.share else ""
    told = metric.explained(getattr(own.evaluation, "positive", None))
    return Score(metric.title, told, estimate, others, not metric.falling, unit, leads)


def _reason(evaluation: Evaluation, key: str) -> str:
    if getattr(evaluation, key, None) is None and key in NEED_POSITIVE_TARGETS:
        return NEED_POSITIVE_TARGETS[key]
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
    if (groups := evaluation.groups) is not None:  # rows of one group are as good as one
        sizes = np.maximum(sizes * (len(np.unique(groups)) / len(groups)), 1.0)
    hidden = float(np.mean(1.0 - TAIL ** (1.0 / sizes)))
    return (1.0 - hidden, 1.0) if low == 1.0 else (0.0, hidden)


# ---------------------------------------------------------------- how far ahead
def lead(own: ModelAnswers, rival: ModelAnswers, key: str) -> Estimate | None:
    """Return the score of a model less that of its rival on the same rows; None: not known."""
    if key in OF_SCORES:  # every row has its place in the order
        found, decisive = _lead_of_draws(own.evaluation, rival.evaluation, key), len(own.y)
    else:
        found, decisive = _lead_of_rows(own, rival, key), _decisive(own, rival)
    if found is None or decisive >= FEWEST_DECISIVE:
        return found
    return Estimate(found.value, min(found.low, 0.0), max(found.high, 0.0))


def _decisive(own: ModelAnswers, rival: ModelAnswers) -> int:
    """Return on how many rows, or groups of them, two models differ."""
    differ = own.wrong != rival.wrong
    return int(differ.sum()) if own.groups is None else len(np.unique(own.groups[differ]))


def _lead_of_draws(own: Any, rival: Any, key: str) -> Estimate | None:
    """The scores of both were drawn with the same rows already."""
    one, other = getattr(own, key), getattr(rival, key)
    if one is None or other is None:
        return None
    return _estimate(one - other, own.draws(key) - rival.draws(key), own.groups)


def _lead_of_rows(own: ModelAnswers, rival: ModelAnswers, key: str) -> Estimate | None:
    n, ahead = len(own.y), _ahead(own, rival, key)
    alone = np.ones(n, np.intp)
    drawn = Resampling(own.strata, alone, own.n_draws, own.seed, clusters=own.groups)
    value, values = float(ahead(np.ones((1, n)))[0]), drawn.values(ahead, np.ones(n))
    return _estimate(value, values, own.groups)


def _estimate(value: float, drawn: np.ndarray, groups: np.ndarray | None) -> Estimate | None:
    if not np.isfinite(value) or np.isnan(drawn).all():
        return None
    return _around(value, *map(float, percentiles(drawn, LEVEL, groups)))


Measure = Callable[[np.ndarray], np.ndarray]
"""A score, or a difference of two, for weights of the rows, shape (b, n)."""


def _ahead(own: ModelAnswers, rival: ModelAnswers, key: str) -> Measure:
    """Return by how much the score of a model is above that of its rival."""
    if key in ("accuracy", "uar"):
        gain = rival.wrong.astype(float) - own.wrong
        return mean_gain(gain, own.strata if key == "uar" else np.zeros_like(own.strata))
    measure = OF_POSITIVE.get(key) or partial(_error, key=key)
    one, other = measure(own), measure(rival)
    return lambda w: one(w) - other(w)


def mean_gain(gain: np.ndarray, strata: np.ndarray) -> Measure:
    """Return the mean over strata of the mean gain in each; groups bring any number of rows."""
    n = len(gain)
    places = (strata, np.arange(n + 1))
    member = sp.csr_array((np.ones(n), *places), (n, strata.max() + 1))
    gained = sp.csr_array((gain, *places), member.shape)
    return lambda w: mean_defined(ratio(w @ gained, w @ member))


def _called(answers: ModelAnswers) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows are positive, and which are said to be."""
    positive = answers.evaluation.positive  # type: ignore[union-attr]
    return answers.y == positive, answers.prediction == positive


def _f1(answers: ModelAnswers) -> Measure:
    """F₁ = 2 tp / (truly positive + said to be positive)."""
    truth, said = _called(answers)
    return lambda w: ratio(2.0 * (w @ (truth & said)), w @ (truth.astype(float) + said))


def _precision(answers: ModelAnswers) -> Measure:
    truth, said = _called(answers)
    return lambda w: ratio(w @ (truth & said), w @ said)


def _recall(answers: ModelAnswers) -> Measure:
    truth, said = _called(answers)
    return lambda w: ratio(w @ (truth & said), w @ truth)


OF_POSITIVE: dict[str, Callable[[ModelAnswers], Measure]] = {
    "f1": _f1,
    "ppv": _precision,
    "tpr": _recall,
}


def _error(answers: ModelAnswers, key: str) -> Measure:
    residuals = Residuals(answers.y, answers.prediction, np.ones(len(answers.y)), 0, 0)
    return residuals.measures[key]
