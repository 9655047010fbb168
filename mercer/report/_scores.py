"""The scores of a model with intervals, beside those of its rivals, and how far it is ahead.

The difference of two scores is known better than either: rows that are hard for one model are often
hard for the other. So the rows are drawn again for both at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.special import betaincinv

from mercer.assess.bootstrap import Resampling, percentiles
from mercer.assess.classification import ClassificationEvaluation
from mercer.assess.metrics import METRICS, RARE, shown
from mercer.assess.rates import mean_defined, ratio
from mercer.report._budget import FEWEST_ROWS, some_rows, values_in_time
from mercer.report._subject import DRAWS, Evaluation, ModelAnswers
from mercer.report.study import Estimate, Score

TAIL = 0.025  # beyond either end of an interval
LEVEL = 1.0 - 2 * TAIL
FEWEST_DECISIVE = 6
"""On so many rows two models must differ: fewer prove nothing, since 2 · 2⁻⁵ is above 5 %."""

RIVALS, TIMED_ROWS = 3, 500  # of the trial by which the time for intervals is known

OF_SCORES = ("auc", "average_precision", "log_loss", "brier")
"""What is computed from probabilities or decision values, not from the predicted classes."""

OF_RANKS = ("auc", "average_precision")
"""The same, where each row of a class is compared with those of the other."""

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
    estimates = {key: estimate_of(own.evaluation, key) for key in _keys(own, metric)}
    known = {key: estimate for key, estimate in estimates.items() if estimate is not None}
    lacking = [key for key in estimates if key not in known]
    left_out = {METRICS[key].title: _reason(own.evaluation, key) for key in lacking}
    ahead = leads(own, rivals, list(known))
    scores = [_score(key, known[key], own, rivals, ahead[key]) for key in known]
    return scores, left_out


def in_time(
    own: ModelAnswers, seconds: float, fewer: bool
) -> tuple[ModelAnswers, np.ndarray | None, list[str]]:
    """Return answers with as many draws as there is time for, of fewer rows where that is needed.

    Also which rows are left (None: all), and words on it. ``fewer`` says whether rows may go.
    """
    usual = own.drawn_with(own.seed)
    n, width = len(own.y), own.width
    if n <= FEWEST_ROWS:
        return usual, None, []
    wanted = usual.n_draws * n * width
    values = values_in_time(partial(_judged, own), wanted, seconds)
    if values >= wanted:
        return usual, None, []
    most = max(int(values / (DRAWS[0] * width)), FEWEST_ROWS)
    if most >= n or not fewer:
        found = own.drawn_with(own.seed, values)
        return found, None, [f"there was no time to draw more than {found.n_draws:,} samples"]
    rng = np.random.default_rng(own.seed)
    kept = some_rows(own.y, most, rng, classes=own.labels is not None)
    why = "there was no time for intervals of all"
    note = f"the scores are of {len(kept):,} of {n:,} rows, drawn at random: {why}"
    return own.take(kept).drawn_with(own.seed, values), kept, [note]


def _judged(own: ModelAnswers, draws: int) -> int:
    """Judge a few rows beside as many rivals as there are; return how many values were drawn."""
    rng = np.random.default_rng(own.seed)
    few = own.take(some_rows(own.y, TIMED_ROWS, rng, classes=own.labels is not None))
    few = replace(few, n_draws=draws)
    score_cards(few, {str(i): few.drawn_like(few) for i in range(RIVALS)})
    return draws * len(few.y) * few.width


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
    key: str,
    estimate: Estimate,
    own: ModelAnswers,
    rivals: Mapping[str, ModelAnswers],
    ahead: Mapping[str, Estimate | None],
) -> Score:
    others = {n: e for n, r in rivals.items() if (e := estimate_of(r.evaluation, key))}
    known = {n: e for n in others if (e := ahead[n])}
    metric = METRICS[key]
    unit: Literal["share", ""] = "share" if metric.share else ""
    told = metric.explained(getattr(own.evaluation, "positive", None))
    return Score(metric.title, told, estimate, others, not metric.falling, unit, known)


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
    """Return an honest interval where all draws agree: each class is all right, or all wrong.

    Draws keep the share of each class, so that a model that knows no rows, or no mistakes, has the
    same accuracy in all of them. Without a mistake in n rows the rate of mistakes may still be
    1 − 0.025^(1/n) (Clopper and Pearson's end of the interval).
    """
    if not isinstance(evaluation, ClassificationEvaluation) or low < high:
        return low, high
    sizes, called = (_counts(evaluation, axis) for axis in (1, 0))
    if key == "accuracy":
        return exact_interval(low, sizes.sum())
    if key in ("tpr", "ppv"):
        place = int(np.flatnonzero(evaluation.labels == evaluation.positive)[0])
        return exact_interval(low, (sizes if key == "tpr" else called)[place])
    if key != "uar" or low not in (0.0, 1.0):
        return low, high
    hidden = float(np.mean(1.0 - TAIL ** (1.0 / sizes[sizes > 0])))
    return (1.0 - hidden, 1.0) if low == 1.0 else (0.0, hidden)


def _counts(evaluation: ClassificationEvaluation, axis: int) -> np.ndarray:
    """Return how many rows are of each class, or called so; of groups, how many groups."""
    counts = evaluation.confusion.sum(axis=axis).astype(float)
    if (groups := evaluation.groups) is None:
        return counts
    return np.maximum(counts * (len(np.unique(groups)) / len(groups)), np.minimum(counts, 1.0))


def exact_interval(share: float, n: float) -> tuple[float, float]:
    """Return Clopper and Pearson's interval of a share that was seen in n rows."""
    right, wrong = share * n, (1.0 - share) * n
    low = betaincinv(right, wrong + 1.0, TAIL) if right > 0.0 else 0.0
    high = betaincinv(right + 1.0, wrong, 1.0 - TAIL) if wrong > 0.0 else 1.0
    return float(low), float(high)


# ---------------------------------------------------------------- how far ahead
def leads(
    own: ModelAnswers, rivals: Mapping[str, ModelAnswers], keys: Sequence[str]
) -> dict[str, dict[str, Estimate | None]]:
    """Return scores of a model less those of each rival on the same rows; None: not known.

    Scores that are sums over rows are drawn together: to draw the rows takes longer than a sum.
    """
    by_rows = [key for key in keys if own.labels is not None and key not in OF_SCORES]
    drawn = _leads_of_rows(own, rivals, by_rows)
    return {
        key: {
            name: _decided(own, rival, key, drawn[key][name])
            if key in drawn
            else _decided(own, rival, key, _lead_of_draws(own, rival, key))
            for name, rival in rivals.items()
        }
        for key in keys
    }


def lead(own: ModelAnswers, rival: ModelAnswers, key: str) -> Estimate | None:
    """Return one score of a model less that of a rival on the same rows; None: not known."""
    return leads(own, {"": rival}, [key])[key][""]


def _decided(
    own: ModelAnswers, rival: ModelAnswers, key: str, found: Estimate | None
) -> Estimate | None:
    """Return a difference, which holds 0 where too few rows tell two models apart."""
    if found is None or _decisive(own, rival, key) >= FEWEST_DECISIVE:
        return found
    return Estimate(found.value, min(found.low, 0.0), max(found.high, 0.0))


def _decisive(own: ModelAnswers, rival: ModelAnswers, key: str) -> float:
    """Return on how many rows, or groups of them, two models differ in what a score counts.

    Rows that count more than others are as good as (Σ w)² / Σ w² that count the same (Kish).
    """
    if key in OF_SCORES:
        rarest = np.unique(own.y, return_counts=True)[1].min()
        of_two = key in OF_RANKS and own.labels is not None and len(own.labels) == 2
        return float(rarest if of_two else len(own.y))
    weight = (own.wrong != rival.wrong) * _counted(own, rival, key)
    if own.groups is not None:
        weight = np.bincount(own.groups, weight)
    return float(ratio(weight.sum() ** 2, (weight**2).sum())) if weight.any() else 0.0


def _counted(own: ModelAnswers, rival: ModelAnswers, key: str) -> np.ndarray:
    """Return how much each row counts in a score."""
    if key == "uar":
        return 1.0 / np.bincount(own.strata)[own.strata]
    if key not in OF_POSITIVE:
        return np.ones(len(own.y))
    (truth, said), (_, also) = _called(own), _called(rival)
    return {"tpr": truth, "ppv": said | also, "f1": truth | said | also}[key].astype(float)


def _lead_of_draws(own: ModelAnswers, rival: ModelAnswers, key: str) -> Estimate | None:
    """The scores of both were drawn with the same rows already."""
    one, other = own.evaluation, rival.evaluation
    if getattr(one, key) is None or getattr(other, key) is None:
        return None
    gap = getattr(one, key) - getattr(other, key)
    return _estimate(gap, one.draws(key) - other.draws(key), own.groups)


def _leads_of_rows(
    own: ModelAnswers, rivals: Mapping[str, ModelAnswers], keys: Sequence[str]
) -> dict[str, dict[str, Estimate | None]]:
    """Draw the rows once for all differences that are sums over rows."""
    measures = [_ahead(own, rival, key) for key in keys for rival in rivals.values()]
    if not measures:
        return {}
    n = len(own.y)

    def ahead(weight: np.ndarray) -> np.ndarray:
        return np.column_stack([measure(weight) for measure in measures])

    alone, whole = np.ones(n, np.intp), ahead(np.ones((1, n)))[0]
    drawn = Resampling(own.strata, alone, own.n_draws, own.seed, clusters=own.groups)
    values = drawn.values(ahead, np.ones(n))
    each = (_estimate(*pair, own.groups) for pair in zip(whole, values.T, strict=True))
    return {key: {name: next(each) for name in rivals} for key in keys}


def _estimate(value: float, drawn: np.ndarray, groups: np.ndarray | None) -> Estimate | None:
    if not np.isfinite(value) or np.isnan(drawn).all():
        return None
    return _around(float(value), *map(float, percentiles(drawn, LEVEL, groups)))


Measure = Callable[[np.ndarray], np.ndarray]
"""A score, or a difference of two, for weights of the rows, shape (b, n)."""


def _ahead(own: ModelAnswers, rival: ModelAnswers, key: str) -> Measure:
    """Return by how much the score of a model is above that of its rival."""
    if key in ("accuracy", "uar"):
        gain = rival.wrong.astype(float) - own.wrong
        return mean_gain(gain, own.strata if key == "uar" else np.zeros_like(own.strata))
    one, other = OF_POSITIVE[key](own), OF_POSITIVE[key](rival)
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
