"""Labels: classes, codes, weights and shares; known ones of classifiers that learn in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d


def known_classes(estimator: Any, classes: Any) -> np.ndarray:
    """Return all labels of a model that learns in parts: those of its first call."""
    known = getattr(estimator, "classes_", None)
    if classes is None:
        if known is None:
            raise ValueError("classes must be passed on the first call to partial_fit: all labels")
        return known
    labels = np.unique(classes)
    if len(labels) < 2:
        raise ValueError(f"classes must hold at least two labels; got {labels.tolist()}")
    if known is not None and not np.array_equal(labels, known):
        raise ValueError(
            f"classes must be those of the first call to partial_fit, {known.tolist()}; got "
            f"{labels.tolist()}"
        )
    return labels


def codes_among(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the number of each label's class among known ones."""
    check_classification_targets(y)
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(
            f"y must hold labels of classes, {classes.tolist()}; got {unknown.tolist()} as well"
        )
    return np.searchsorted(classes, y)


def not_balanced(estimator: Any) -> bool:
    """Raise if factors of classes would need all labels at once."""
    if isinstance(estimator.class_weight, str):
        raise AttributeError(
            'class_weight="balanced" needs all labels at once: partial_fit takes a dict of factors'
        )
    return True


def part_factors(class_weight: Any, classes: np.ndarray) -> np.ndarray:
    """Return the factor of each class."""
    return compute_class_weight(class_weight, classes=classes, y=classes)


def class_priors(priors: Any, totals: np.ndarray) -> np.ndarray:
    """Return the given probabilities of the classes, or their shares of the weight."""
    if priors is None:
        return totals / totals.sum()
    P, count = np.asarray(priors, dtype=np.float64), len(totals)
    if P.shape != (count,) or not (P > 0).all() or abs(P.sum() - 1.0) > 1e-6:
        raise ValueError(
            f"priors must be {count} positive numbers with sum 1, one of each class; got {priors!r}"
        )
    return P / P.sum()


def estimated_covariance(estimator: Any, rows: np.ndarray) -> np.ndarray:
    """Return the covariance that another's estimator finds in the rows of a class."""
    found = clone(estimator, safe=False)  # any object that has covariance_
    found.fit(rows)
    if not hasattr(found, "covariance_"):
        raise ValueError(
            f"covariance must be an estimator whose fit sets covariance_; got {found!r}"
        )
    return np.asarray(found.covariance_, dtype=np.float64)


def class_codes(
    y: np.ndarray, weight: np.ndarray | None = None, *, among: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes (two or more) and the number of each label's class.

    With weights, every class needs a positive one. ``among`` says which rows y was cut to.
    """
    if y.ndim != 1 or y.dtype.kind not in "biuSU":  # these are labels, and the check is slow
        check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        found = f"got {len(classes)} class: {classes.tolist()}"
        raise ValueError(f"y must hold at least two classes{among}; {found}")
    if weight is not None and not (totals := np.bincount(codes, weight)).all():
        label = classes.tolist()[int(totals.argmin())]
        raise ValueError(f"class {label!r} of y has only weights of zero")
    return classes, codes


def labels_of_rows(y: Any) -> tuple[np.ndarray, bool]:
    """Return labels (n,), or a table of 0 and 1 with a column for each label; and whether it is.

    A table with one column holds one label for each row.
    """
    y = y.toarray() if sp.issparse(y) else np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    if y.ndim == 1:
        return y, False
    if type_of_target(y) != "multilabel-indicator" or not np.isin(y, (0, 1)).all():
        raise ValueError(
            f"y must hold one label for each row, or be a table of 0 and 1 with a column for each "
            f"label; got a table of shape {y.shape} with values such as {y.ravel()[0]!r}"
        )
    return y.astype(np.intp), True


def refuse_class_weight(class_weight: Any) -> None:
    """Raise if there are factors for classes, where a row may be of several."""
    if class_weight is not None:
        raise ValueError(
            f"class_weight must be None if y is a table of labels, since a row may then have "
            f"several classes: use sample_weight; got {class_weight!r}"
        )


def class_factors(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the factor of each class; for "balanced" a weight of 2 is two rows, 0 is none."""
    if class_weight != "balanced":
        return compute_class_weight(class_weight, classes=classes, y=classes[codes])
    totals = np.bincount(codes, weight, len(classes))
    # a class without weight gets no factor: that it has none is for others to refuse
    return totals.sum() / (len(totals) * np.where(totals > 0, totals, totals.sum()))


def smallest_class(y: np.ndarray) -> int:
    """Return how many rows the rarest class has."""
    return int(np.unique(y, return_counts=True)[1].min())


# ---------------------------------------------------------------- from values to labels
def one_or_all(values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return decision values as users see them: of two classes (m,), else a column a class."""
    return values[:, 0] if len(classes) == 2 else values


def difference_of_two(values: np.ndarray) -> np.ndarray:
    """Return values of classes as users see them: of two the difference (m,), else all (m, k)."""
    return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values


def labels_of(values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the class that the sign of a value, or the largest of several, names."""
    codes = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
    return classes[codes]
