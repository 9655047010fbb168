"""How far a model is ahead of a rival that has answered the same rows.

The difference of their scores is known better than either score: rows that are hard for one are
often hard for the other. So the rows are drawn again for both at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.assess.bootstrap import Resampling, percentiles
from mercer.assess.rates import ratio
from mercer.assess.regression import Residuals
from mercer.report._answers import Judged
from mercer.report.study import Estimate

LEVEL = 0.95
FEWEST_ROWS = 6
"""On so many rows the two must differ: fewer prove nothing, since 2 · 2⁻⁵ is above 5 %."""


def lead(own: Judged, rival: Judged, key: str) -> Estimate | None:
    """Return the score of a model less that of its rival; None where that is not known.

    Parameters
    ----------
    own, rival : Judged
        Answers to the same rows.
    key : str
        "accuracy", "uar", "f1" or "auc" of classes, "r2", "rmse" or "mae" of numbers.
    """
    found = _of_areas(own, rival) if key == "auc" else _of_rows(own, rival, key)
    if found is None or _decisive_rows(own, rival, key) >= FEWEST_ROWS:
        return found
    return Estimate(found.value, min(found.low, 0.0), max(found.high, 0.0))


def _decisive_rows(own: Judged, rival: Judged, key: str) -> int:
    """Return on how many rows one does better than the other."""
    if key == "auc":  # every row has its place in the order
        return len(own.answers.y)
    return int(np.count_nonzero(own.answers.wrong != rival.answers.wrong))


Measure = Callable[[np.ndarray], np.ndarray]
"""The lead of the model for weights of the rows, shape (b, n)."""


def _of_rows(own: Judged, rival: Judged, key: str) -> Estimate | None:
    measure = _numbers(own, rival, key) if own.answers.labels is None else _classes(own, rival, key)
    n, draws = len(own.answers.y), own.evaluation.n_bootstrap
    drawn = Resampling(own.answers.strata, np.ones(n, np.intp), draws, own.seed)
    return _estimate(float(measure(np.ones((1, n)))[0]), drawn.values(measure, np.ones(n)))


def _estimate(value: float, drawn: np.ndarray) -> Estimate | None:
    if not np.isfinite(value) or np.isnan(drawn).all():
        return None
    low, high = percentiles(drawn, LEVEL)
    return Estimate(value, min(float(low), value), max(float(high), value))


def _of_areas(own: Judged, rival: Judged) -> Estimate | None:
    """The areas of both were drawn with the same rows already."""
    one, other = own.evaluation.auc, getattr(rival.evaluation, "auc", None)  # type: ignore[union-attr]
    if one is None or other is None:
        return None
    return _estimate(one - other, own.evaluation.draws("auc") - rival.evaluation.draws("auc"))


def _numbers(own: Judged, rival: Judged, key: str) -> Measure:
    both = [_residuals(one) for one in (own, rival)]
    return lambda w: both[0].errors(w)[key] - both[1].errors(w)[key]


def _residuals(one: Judged) -> Residuals:
    y = one.answers.y
    return Residuals(y, one.answers.prediction, np.ones(len(y)), one.evaluation.n_bootstrap, 0)


def _classes(own: Judged, rival: Judged, key: str) -> Measure:
    if key == "f1":
        one, other = _f1(own), _f1(rival)
        return lambda w: one(w) - other(w)
    gain = rival.answers.wrong.astype(float) - own.answers.wrong
    sizes = np.bincount(own.answers.strata)
    shares = np.full(len(sizes), len(gain)) if key == "accuracy" else sizes * len(sizes)
    return lambda w: w @ (gain / shares[own.answers.strata])


def _f1(one: Judged) -> Measure:
    """F₁ = 2 tp / (truly positive + said to be positive)."""
    positive = one.evaluation.positive  # type: ignore[union-attr]
    truth, said = one.answers.y == positive, one.answers.prediction == positive
    return lambda w: ratio(2.0 * (w @ (truth & said)), w @ (truth.astype(float) + said))
