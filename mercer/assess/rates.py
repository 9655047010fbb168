"""Rates of a confusion matrix, or of many at once: C has shape (…, K, K), rows are the truth.

A rate whose denominator is 0 is NaN. A mean over classes leaves out the classes where it is NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer._floats import TINY
from mercer.plot.records import ratio

Rate = Callable[[np.ndarray], np.ndarray]


def in_units(values: np.ndarray) -> np.ndarray:
    """Return values ≥ 0 times a power of two, without rounding; the largest is about one.

    Their products neither overflow nor vanish, and no ratio changes.
    """
    return np.ldexp(values, -np.frexp(values.max())[1])


def mean_defined(values: np.ndarray) -> np.ndarray:
    """Return the mean over the last axis of what is not NaN."""
    known = ~np.isnan(values)
    return ratio(np.where(known, values, 0.0).sum(axis=-1), known.sum(axis=-1))


# ---------------------------------------------------------------- one class against the rest
def hits(C: np.ndarray) -> np.ndarray:
    """Return n_κκ, the true positives of each class."""
    return np.diagonal(C, axis1=-2, axis2=-1)


def misses(C: np.ndarray) -> np.ndarray:
    """Return the false negatives of each class."""
    return C.sum(axis=-1) - hits(C)


def false_alarms(C: np.ndarray) -> np.ndarray:
    """Return the false positives of each class."""
    return C.sum(axis=-2) - hits(C)


def rejections(C: np.ndarray) -> np.ndarray:
    """Return the true negatives of each class."""
    rest = C.sum(axis=(-2, -1))[..., None]
    return np.maximum(rest - hits(C) - misses(C) - false_alarms(C), 0.0)


def _share(part: Rate, other: Rate) -> Rate:
    """Return the rate part / (part + other) of each class."""
    return lambda C: ratio(part(C), part(C) + other(C))


ONE_AGAINST_REST: dict[str, Rate] = {
    "tpr": _share(hits, misses),
    "fnr": _share(misses, hits),
    "tnr": _share(rejections, false_alarms),
    "fpr": _share(false_alarms, rejections),
    "ppv": _share(hits, false_alarms),
    "fdr": _share(false_alarms, hits),
    "npv": _share(rejections, misses),
    "fomr": _share(misses, rejections),
}
"""True and false positive and negative rates, predictive values, discoveries and omissions."""


# ---------------------------------------------------------------- all classes
def accuracy(C: np.ndarray) -> np.ndarray:
    """Return Σ n_κκ / N."""
    return ratio(hits(C).sum(axis=-1), C.sum(axis=(-2, -1)))


def f1(C: np.ndarray) -> np.ndarray:
    """Return 2TP / (2TP + FP + FN), the harmonic mean of recall and precision."""
    return ratio(2.0 * hits(C), 2.0 * hits(C) + misses(C) + false_alarms(C))


def matthews(C: np.ndarray) -> np.ndarray:
    """Return the correlation between truth and prediction, as classes."""
    C = C / np.maximum(C.sum(axis=(-2, -1), keepdims=True), TINY)
    truth, said = C.sum(axis=-1), C.sum(axis=-2)
    covariance = hits(C).sum(axis=-1) - (truth * said).sum(axis=-1)
    spread = (1.0 - (truth**2).sum(axis=-1)) * (1.0 - (said**2).sum(axis=-1))
    return ratio(covariance, np.sqrt(np.maximum(spread, 0.0)))


recall, precision = ONE_AGAINST_REST["tpr"], ONE_AGAINST_REST["ppv"]

ALL_CLASSES: dict[str, Rate] = {
    "accuracy": accuracy,
    "uar": lambda C: mean_defined(recall(C)),
    "recall": recall,
    "precision": precision,
    "f1": f1,
    "macro_precision": lambda C: mean_defined(precision(C)),
    "macro_f1": lambda C: mean_defined(f1(C)),
    "mcc": matthews,
}


def table(positive: int | None) -> dict[str, Rate]:
    """Return all rates by name; with a positive class its own rates are numbers, not arrays."""
    if positive is None:
        return {**ALL_CLASSES, **ONE_AGAINST_REST}
    return {**ALL_CLASSES, **{name: _of(rate, positive) for name, rate in ONE_AGAINST_REST.items()}}


def _of(rate: Rate, positive: int) -> Rate:
    return lambda C: rate(C)[..., positive]
