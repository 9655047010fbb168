"""Classes and scores as they were given, checked: what curves of classes are drawn from."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plot.displays.base import codes_of, column


def classes_of(y: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes of the rows as places, and the classes."""
    y = column(y, "y")
    known = np.unique(y) if labels is None else np.asarray(labels)
    if len(known) < 2:
        raise ValueError(f"y must hold two classes or more; got {known.tolist()}: name all labels")
    return codes_of(y, known, "y"), known


def score_columns(scores: Any, n: int, k: int) -> np.ndarray:
    """Return a score for each class, shape (n, K)."""
    array = np.asarray(scores, dtype=np.float64)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
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
