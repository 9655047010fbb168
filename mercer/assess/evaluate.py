"""One call for predictions of any kind, and one for how much worse a model does on new rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._array import one_column
from mercer._estimator import check_weights
from mercer._random import LARGEST_SEED, seed_of
from mercer.assess.answers import ClassAnswers
from mercer.assess.bootstrap import Interval, Tabulated, number, percentiles, with_ends
from mercer.assess.classification import ClassificationEvaluation
from mercer.assess.regression import RegressionEvaluation, Residuals

LARGEST_LABEL = 2.0**53  # beyond, all floats are whole: that says nothing about classes

Evaluation = ClassificationEvaluation | RegressionEvaluation


def evaluate(
    y: Any,
    prediction: Any,
    scores: Any = None,
    *,
    labels: Any = None,
    sample_weight: Any = None,
    positive: Any = None,
    groups: Any = None,
    n_bootstrap: int = 1000,
    random_state: Any = 0,
) -> Evaluation:
    """Say how good predictions are: rates, curves and calibration of classes, errors of numbers.

    Numbers that are not all whole, in y or in the prediction, are read as regression; all else is
    classes. ``scores``, ``labels`` or ``positive`` always mean classes.

    Parameters
    ----------
    y, prediction : array of shape (n,)
        The truth and what was predicted.
    scores : array of shape (n,) or (n, K), default=None
        Decision values or probabilities: of the positive class, or a column for each label.
        If they lie in [0, 1] (and the columns add up to 1) they are taken for probabilities.
    labels : list, default=None
        The classes and their order; None means those of y and the prediction, sorted.
    sample_weight : array of shape (n,), default=None
        Weights of the rows.
    positive : label, default=None
        The positive class; None is the second of two. With more than two, naming one means "this
        one against the rest" for the rates tpr, fpr, …, and for the scores.
    groups : array of shape (n,), default=None
        Which rows belong together (patients, days, copies of a row): they are drawn as a whole for
        intervals, since rows of one group say nearly the same.
    n_bootstrap : int, default=1000
        How many samples are drawn for intervals.
    random_state : int, RandomState instance or None, default=0
        Decides the drawn samples.

    Returns
    -------
    ClassificationEvaluation or RegressionEvaluation
        Prints as a table; ``interval("accuracy")`` is a confidence interval, ``plot()`` draws.

    See Also
    --------
    mercer.cross_validate, mercer.learning_curve : Scores over folds and sizes.

    Examples
    --------
    >>> from mercer.assess import evaluate
    >>> result = evaluate([0, 0, 1, 1, 1], [0, 1, 1, 1, 0], scores=[0.1, 0.6, 0.7, 0.9, 0.4])
    >>> result.accuracy, round(result.tpr, 3), result.fpr, round(result.auc, 3)
    (0.6, 0.667, 0.5, 0.833)
    >>> low, high = result.interval("accuracy")
    >>> low <= result.accuracy <= high
    True
    """
    y, prediction = _column(y, "y"), _column(prediction, "prediction")
    if len(y) != len(prediction) or not len(y):
        raise ValueError(
            f"y and prediction must have one entry for each row; got {len(y)} and {len(prediction)}"
        )
    weight = check_weights(sample_weight, len(y))
    draws: dict[str, Any] = {"n_bootstrap": _count(n_bootstrap), "seed": seed_of(random_state)}
    draws["clusters"] = group_codes(groups, len(y), "groups")
    if scores is None and labels is None and positive is None and _is_regression(y, prediction):
        return evaluate_numbers(y, prediction, weight, **draws, notes=_reading(y))
    return evaluate_classes(y, prediction, scores, labels, positive, weight, **draws)


def group_codes(groups: Any, n: int, name: str) -> np.ndarray | None:
    """Return the groups of n rows as numbers, if there are any."""
    if groups is None:
        return None
    if len(groups) != n:
        raise ValueError(f"{name} must have an entry for each of the {n} rows; got {len(groups)}")
    return np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1)


def evaluate_numbers(
    y: np.ndarray,
    prediction: np.ndarray,
    weight: np.ndarray,
    n_bootstrap: int,
    seed: int,
    notes: tuple[str, ...] = (),
    clusters: np.ndarray | None = None,
) -> RegressionEvaluation:
    """Evaluate predicted numbers."""
    y, prediction = y.astype(np.float64), prediction.astype(np.float64)
    with np.errstate(over="ignore"):
        if not np.isfinite(y - prediction).all():
            raise ValueError("y − prediction overflows: rescale both")
    rows = Residuals(y, prediction, weight, n_bootstrap, seed, clusters)
    return RegressionEvaluation.of(rows, notes)


def evaluate_classes(
    y: np.ndarray,
    prediction: np.ndarray,
    scores: Any,
    labels: Any,
    positive: Any,
    weight: np.ndarray,
    n_bootstrap: int,
    seed: int,
    clusters: np.ndarray | None = None,
) -> ClassificationEvaluation:
    """Evaluate predicted classes."""
    known = _labels(y, prediction, labels)
    truth, predicted = (
        _codes(v, known, name) for v, name in ((y, "y"), (prediction, "prediction"))
    )
    place = _place(positive, known)
    columns = _score_columns(scores, len(y), len(known), place)
    given = (truth, predicted, weight, len(known), place, columns, n_bootstrap, seed)
    answers = ClassAnswers(*given, clusters)
    return ClassificationEvaluation.of(known, answers)


# ---------------------------------------------------------------- training and test
@dataclass(frozen=True, eq=False)
class GeneralizationGap(Tabulated):
    """Training and test error of a model: what `generalization_gap` returns.

    Attributes
    ----------
    loss : str
        "zero-one" for classifiers (the share of wrong labels), "squared" for regressors.
    train_error, test_error, gap : float
        Mean losses, and test error − training error: what over-fitting makes large.
    train, test : ClassificationEvaluation or RegressionEvaluation
        All that can be said of either side.
    """

    _title = "generalization"

    loss: str
    train_error: float
    test_error: float
    train: Evaluation
    test: Evaluation

    @property
    def gap(self) -> float:
        """Test error − training error."""
        return self.test_error - self.train_error

    def interval(self, level: float = 0.95) -> Interval:
        """Return a confidence interval of the gap; both sides are drawn again."""
        return percentiles(_drawn_error(self.test) - _drawn_error(self.train), level)

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield the lines of the table: a name and a text."""
        yield "training error", number(self.train_error)
        yield "test error", number(self.test_error)
        drawn = self.train.n_bootstrap > 0
        yield "gap", with_ends(self.gap, self.interval()) if drawn else number(self.gap)

    def _about(self) -> str:
        return f"{self.loss} loss, {self.train.n_rows} and {self.test.n_rows} rows"


def generalization_gap(
    model: Any,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    n_bootstrap: int = 1000,
    random_state: Any = 0,
) -> GeneralizationGap:
    """Return the error of a fitted model on its training rows and on rows it has not seen.

    The gap estimates E[L(Y, f(X))] − (1/N) Σ L(yᵢ, f(xᵢ)), with the zero-one loss for classifiers
    and the squared loss for regressors. `mercer.learning_curve` shows it against the number of
    rows, `mercer.validation_curve` against a parameter.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor.
    X_train, y_train, X_test, y_test : rows and targets
        What it was fitted to, and rows that it has not seen.
    n_bootstrap : int, default=1000
        How many samples are drawn for intervals.
    random_state : int, RandomState instance or None, default=0
        Decides the drawn samples.

    Returns
    -------
    GeneralizationGap

    Examples
    --------
    >>> from mercer import KNN
    >>> from mercer.assess import generalization_gap
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> model = KNN(1).fit(X, y)
    >>> generalization_gap(model, X, y, [[0.1], [2.9]], [0, 0]).gap
    0.5
    """
    check_is_fitted(model)
    rng, count = check_random_state(random_state), _count(n_bootstrap)
    # seeds of their own: the sides are independent
    seeds = rng.randint(LARGEST_SEED, size=2).tolist()
    sides = zip((X_train, X_test), (y_train, y_test), seeds, strict=True)
    train, test = (_assessed(model, X, _column(y, "y"), count, seed) for X, y, seed in sides)
    loss = "zero-one" if isinstance(train, ClassificationEvaluation) else "squared"
    return GeneralizationGap(loss, _error(train), _error(test), train, test)


def _assessed(model: Any, X: Any, y: np.ndarray, n_bootstrap: int, seed: int) -> Evaluation:
    prediction, weight = _column(model.predict(X), "prediction"), np.ones(len(y))
    if len(prediction) != len(y):
        raise ValueError(f"X and y must have the same rows; got {len(prediction)} and {len(y)}")
    if not is_classifier(model):
        return evaluate_numbers(y, prediction, weight, n_bootstrap, seed)
    classes = np.asarray(model.classes_)
    known = bool(np.isin(y, classes).all())
    labels, scores = (classes, _scores(model, X, len(classes))) if known else (None, None)
    return evaluate_classes(y, prediction, scores, labels, None, weight, n_bootstrap, seed)


def _scores(model: Any, X: Any, n_classes: int) -> Any:
    """Return probabilities or decision values with a column for each class, or None."""
    for name in ("predict_proba", "decision_function"):
        if hasattr(model, name):
            values = np.asarray(getattr(model, name)(X))
            fits = values.ndim == 2 and values.shape[1] == n_classes
            return values if fits or (values.ndim == 1 and n_classes == 2) else None
    return None


def _error(side: Evaluation) -> float:
    return 1.0 - side.accuracy if isinstance(side, ClassificationEvaluation) else side.rmse**2


def _drawn_error(side: Evaluation) -> np.ndarray:
    if isinstance(side, ClassificationEvaluation):
        return 1.0 - side.draws("accuracy")
    return side.draws("rmse") ** 2


# ---------------------------------------------------------------- what was given
def _column(values: Any, name: str) -> np.ndarray:
    array = one_column(values)
    if array.ndim != 1:
        raise ValueError(
            f"{name} must have one entry for each row, shape (n,); got shape {array.shape}: "
            f"evaluate several targets one by one"
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; it holds NaN or infinity")
    return array


def _whole(values: np.ndarray) -> bool:
    if values.dtype.kind != "f":
        return values.dtype.kind in "biu"
    exact = np.abs(values) <= LARGEST_LABEL
    return bool((exact & (values == np.round(values))).all())


def _is_regression(y: np.ndarray, prediction: np.ndarray) -> bool:
    numbers = all(side.dtype.kind in "biuf" for side in (y, prediction))
    return numbers and not (_whole(y) and _whole(prediction))


def _reading(y: np.ndarray) -> tuple[str, ...]:
    """Say how targets were read that could have been classes."""
    note = "y has two values, the prediction more: read as numbers; probabilities go to scores"
    return (note,) if _whole(y) and len(np.unique(y)) == 2 else ()


def _labels(y: np.ndarray, prediction: np.ndarray, labels: Any) -> np.ndarray:
    if (y.dtype.kind in "biuf") != (prediction.dtype.kind in "biuf"):
        raise TypeError(
            f"y and prediction must hold labels of one kind; got {y.dtype} and {prediction.dtype}"
        )
    if labels is None:
        return _sorted_labels(np.concatenate([y, prediction]))
    known = _column(labels, "labels")
    if len(np.unique(known)) != len(known) or not len(known):
        raise ValueError(f"labels must be distinct classes, at least one; got {known.tolist()}")
    return known


def _sorted_labels(values: np.ndarray) -> np.ndarray:
    try:
        return np.unique(values)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values})
        raise TypeError(
            f"y and prediction must hold labels of one kind, none missing; got {', '.join(kinds)}"
        ) from None


def _codes(values: np.ndarray, labels: np.ndarray, name: str) -> np.ndarray:
    """Return the places of values among the labels."""
    order = np.argsort(labels)
    places = np.searchsorted(labels, values, sorter=order)
    codes = order[np.minimum(places, len(labels) - 1)]
    strange = values[labels[codes] != values]
    if len(strange):
        raise ValueError(
            f"{name} holds {strange[0]!r}, which is not among the labels {labels.tolist()}"
        )
    return codes


def _place(positive: Any, labels: np.ndarray) -> int | None:
    if positive is None:
        return len(labels) - 1 if len(labels) <= 2 else None
    found = np.flatnonzero(labels == positive)
    if len(found) != 1:
        raise ValueError(f"positive must be one of the labels {labels.tolist()}; got {positive!r}")
    return int(found[0])


def _score_columns(scores: Any, n: int, n_labels: int, positive: int | None) -> np.ndarray | None:
    """Return the scores of the positive class, shape (n, 1), or of all classes, (n, K)."""
    if scores is None:
        return None
    array = np.asarray(scores, dtype=np.float64)
    wanted = [(n, n_labels)] if positive is None else [(n,), (n, 1), (n, n_labels)]
    if array.shape not in wanted or not np.isfinite(array).all():
        shapes = " or ".join(map(str, wanted))
        raise ValueError(
            f"scores must be finite, of shape {shapes} for {n_labels} labels; got {array.shape}"
            f"{'' if np.isfinite(array).all() else ' with NaN or infinity'}"
        )
    if positive is None:
        return array
    return array.reshape(n, -1)[:, [positive]] if array.size > n else array.reshape(n, 1)


def of_positive(scores: Any, labels: Any, positive: Any) -> Any:
    """Return decision values, which speak of the second of two classes, as of the positive one."""
    flat = scores is not None and np.ndim(scores) == 1 and len(labels) == 2
    return -np.asarray(scores) if flat and positive == labels[0] else scores


def _count(n_bootstrap: Any) -> int:
    if isinstance(n_bootstrap, bool) or not isinstance(n_bootstrap, Integral) or n_bootstrap < 0:
        raise ValueError(f"n_bootstrap must be an integer ≥ 0; got {n_bootstrap!r}")
    return int(n_bootstrap)
