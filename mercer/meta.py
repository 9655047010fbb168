"""Models around models: a threshold on a probability, a scale and a range of targets.

They take part in a fit as any estimator does, and what they add is plain numbers, so that they are
saved with the model that they stand around.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._estimator import Reporting
from mercer._words import listing

TRANSFORMS = ("none", "log")
LOW_TARGET = 0.1  # the share of the targets below the unit of their logarithm
LARGEST_LOG = 700.0  # whose exponential is a float64


class Around(MetaEstimatorMixin, Reporting, BaseEstimator):
    """A model that asks another one; ``estimator_`` is that one, fitted."""

    estimator: Any
    estimator_: Any

    @property
    def n_features_in_(self) -> int:
        """The number of columns in the fit."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The names of the columns in the fit, if they have names."""
        return self.estimator_.feature_names_in_

    def _fit_inside(self, X: Any, y: Any, sample_weight: Any) -> None:
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(self.estimator).fit(X, y, **weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def innermost(model: Any) -> Any:
    """Return the model that others stand around, the fitted one if there is one."""
    if isinstance(model, Pipeline):
        return innermost(model[-1])
    if isinstance(model, Around):
        return innermost(getattr(model, "estimator_", model.estimator))
    return model


def require_uninterrupted(fitted: Any) -> Any:
    """Return a fitted model; Ctrl-C, which its solver has heard and ended by, is heard again.

    Whoever fits several models would go on with the next one.
    """
    if getattr(innermost(fitted), "status_", "") == "interrupted":
        raise KeyboardInterrupt
    return fitted


# ---------------------------------------------------------------- classes
class ThresholdClassifier(ClassifierMixin, Around):
    """A classifier of two classes that calls a row positive from some probability on.

    It says the positive class where P(positive | x) ≥ t, and the other one elsewhere. With a rare
    class the t of the largest F1 is often far from 0.5.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        What gives the probabilities.
    threshold : float, default=0.5
        t, in [0, 1].
    positive : label, default=None
        The positive class; None is the second of the two, sorted.

    Attributes
    ----------
    estimator_ : classifier
        The fitted one.
    classes_ : array of shape (2,)
        The classes.

    Examples
    --------
    >>> from mercer import LogisticRegression
    >>> from mercer.meta import ThresholdClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "no", "yes"]
    >>> model = ThresholdClassifier(LogisticRegression(lam=1.0), threshold=0.2).fit(X, y)
    >>> model.estimator_.predict([[2.0]]).tolist(), model.predict([[2.0]]).tolist()
    (['no'], ['yes'])
    """

    def __init__(self, estimator: Any, threshold: float = 0.5, positive: Any = None):
        self.estimator = estimator
        self.threshold = threshold
        self.positive = positive

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ThresholdClassifier:
        """Fit the classifier to rows X and labels y of two classes."""
        if not 0.0 <= self.threshold <= 1.0:
            raise ValueError(f"threshold must lie in [0, 1]; got {self.threshold!r}")
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        labels = _labels_of(y)
        check_classification_targets(labels)
        kind = type_of_target(labels, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        self._fit_inside(X, y, sample_weight)
        self._place()
        return self

    @classmethod
    def around(cls, fitted: Any, threshold: float, positive: Any) -> ThresholdClassifier:
        """Return a fitted classifier with a threshold, without fitting it again."""
        made = cls(fitted, threshold, positive)
        made.estimator_ = fitted
        return made

    @property
    def classes_(self) -> np.ndarray:
        """The classes, shape (2,)."""
        return self.estimator_.classes_

    def _place(self) -> int:
        """Return the place of the positive class."""
        found = [1] if self.positive is None else np.flatnonzero(self.classes_ == self.positive)
        if len(found) != 1:
            known = listing(self.classes_.tolist(), "or")
            raise ValueError(f"positive must be {known}; got {self.positive!r}")
        return int(found[0])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of both classes, shape (m, 2)."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows."""
        place = self._place()
        called = self.predict_proba(X)[:, place] >= self.threshold
        return self.classes_[np.where(called, place, 1 - place)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _labels_of(y: np.ndarray) -> np.ndarray:
    """Return the labels but None: rows without one are for machines that know of them."""
    if y.dtype.kind != "O" or not any(label is None for label in y):
        return y
    return np.array([label for label in y if label is not None])


# ---------------------------------------------------------------- numbers
class TargetRegressor(RegressorMixin, Around):
    """A regressor that learns targets on another scale, and answers within what it has seen.

    With ``target_transform="log"`` it learns t = s·log(1 + y/u) and answers u·(exp(t/s) − 1). u is
    the target below which a tenth of the positive ones lie, so that nothing depends on the unit of
    y; s gives t the spread of y, so that penalties and tubes that suit y suit t.

    Parameters
    ----------
    estimator : regressor
        What learns t.
    target_transform : {"none", "log"}, default="none"
        The scale; "log" needs y ≥ 0.
    extrapolate : bool, default=False
        Whether answers may lie outside of the range of the targets in the fit.

    Attributes
    ----------
    estimator_ : regressor
        The fitted one.
    low_, high_ : float
        The smallest and the largest target.
    unit_, scale_ : float
        u and s; both 1 without a transform.

    Examples
    --------
    >>> from mercer import Ridge
    >>> from mercer.meta import TargetRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 2.0, 3.0, 4.0]
    >>> TargetRegressor(Ridge(1e-9)).fit(X, y).predict([[9.0]]).round(3).tolist()
    [4.0]
    >>> TargetRegressor(Ridge(1e-9), extrapolate=True).fit(X, y).predict([[9.0]]).round(3).tolist()
    [10.0]
    """

    def __init__(self, estimator: Any, target_transform: str = "none", extrapolate: bool = False):
        self.estimator = estimator
        self.target_transform = target_transform
        self.extrapolate = extrapolate

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TargetRegressor:
        """Fit the regressor to rows X and targets y."""
        if self.target_transform not in TRANSFORMS:
            known = listing(TRANSFORMS, "or")
            raise ValueError(f"target_transform must be {known}; got {self.target_transform!r}")
        y = np.asarray(column_or_1d(y, warn=True), dtype=np.float64)
        self._fit_inside(X, self._learned(y), sample_weight)
        return self

    def _learned(self, y: np.ndarray) -> np.ndarray:
        """Keep what is needed of the targets; return them on the scale that is learned."""
        known = y[~np.isnan(y)]  # rows without a target are for machines that know of them
        self.low_, self.high_ = float(known.min(initial=np.inf)), float(known.max(initial=-np.inf))
        self.unit_ = self.scale_ = 1.0
        if self.target_transform == "none":
            return y
        if self.low_ < 0:
            raise ValueError(
                f"target_transform='log' needs targets ≥ 0; the smallest is {self.low_:.4g}"
            )
        self.unit_ = float(np.quantile(y[y > 0], LOW_TARGET)) if self.high_ > 0 else 1.0
        t = np.log1p(y / self.unit_)
        spread = np.nanstd(t)
        self.scale_ = float(np.std(known) / spread) if spread > 0 else 1.0
        return self.scale_ * t

    def predict(self, X: Any) -> np.ndarray:
        """Return predictions in the unit of the targets."""
        check_is_fitted(self)
        answer = np.asarray(self.estimator_.predict(X), dtype=np.float64)
        if self.target_transform == "log":
            answer = self.unit_ * np.expm1(np.minimum(answer / self.scale_, LARGEST_LOG))
        return answer if self.extrapolate else np.clip(answer, self.low_, self.high_)
