"""How much worse a model does on rows it has not seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.assess._tables import number, with_ends
from mercer.assess.bootstrap import Interval, percentiles
from mercer.assess.classification import ClassificationEvaluation
from mercer.assess.evaluate import _column, _count, evaluate_classes, evaluate_numbers
from mercer.assess.regression import RegressionEvaluation
from mercer.result import html_table, text_table

Evaluation = ClassificationEvaluation | RegressionEvaluation


@dataclass(frozen=True, eq=False)
class GeneralizationGap:
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
        yield "gap", with_ends(self.gap, self.interval) if self._has_draws else number(self.gap)

    @property
    def _has_draws(self) -> bool:
        return self.train.n_bootstrap > 0

    def _about(self) -> str:
        return f"{self.loss} loss, {self.train.n_rows} and {self.test.n_rows} rows"

    def __str__(self) -> str:
        return text_table("generalization", self.rows(), self._about())

    def _repr_html_(self) -> str:
        return html_table("generalization", self.rows(), self._about())


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
    seeds = rng.randint(2**31 - 1, size=2).tolist()
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
