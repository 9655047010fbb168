"""The Bayes rule: decisions of least expected loss, or none."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin

from mercer._estimator import ProvedEstimator
from mercer._labels import difference_of_two


class BayesRule(ClassifierMixin, ProvedEstimator):
    """A classifier with any loss matrix and a reject option; a child computes ``_log_joint``."""

    by_columns = True

    loss: Any
    priors: Any
    reject: float | None
    reject_label: Any
    classes_: np.ndarray
    priors_: np.ndarray

    def _log_joint(self, X: Any) -> np.ndarray:
        """Return log π_c p(x | c), shape (m, C), of unchecked rows."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> np.ndarray:
        """Return log π_c p(x | c), shape (m, C); of two classes the difference, shape (m,)."""
        return difference_of_two(self._log_joint(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log p(c | x), shape (m, C)."""
        return log_softmax(self._log_joint(X), axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return p(c | x), shape (m, C)."""
        return np.exp(self.predict_log_proba(X))

    def log_density(self, X: Any) -> np.ndarray:
        """Return log p(x | c), shape (m, C)."""
        values, seen = self._log_joint(X), self.priors_ > 0
        return np.where(seen, values - np.log(np.where(seen, self.priors_, 1.0)), -np.inf)

    def expected_loss(self, X: Any) -> np.ndarray:
        """Return what each decision is expected to cost, shape (m, C)."""
        P = self.predict_proba(X)
        loss = self._loss_matrix()
        return 1.0 - P if loss is None else P @ loss

    def predict(self, X: Any) -> np.ndarray:
        """Return the decision of least expected loss for each row, or that it is rejected."""
        if self.loss is None and self.reject is None:
            best = self._log_joint(X).argmax(axis=1)  # which checks that there is a fit
            return self.classes_[best]
        costs = self.expected_loss(X)
        best = costs.argmin(axis=1)
        if self.reject is None:
            return self.classes_[best]
        best[costs.min(axis=1) > self.reject] = len(self.classes_)
        return np.append(self.classes_, self._reject_value())[best]

    # ------------------------------------------------------------ parameters
    def _loss_matrix(self) -> np.ndarray | None:
        if self.loss is None:
            return None
        loss, count = np.asarray(self.loss, dtype=np.float64), len(self.classes_)
        if loss.shape != (count, count) or not np.isfinite(loss).all():
            raise ValueError(
                f"loss must be {count} × {count} finite numbers, a row for each true class and a "
                f"column for each decision; got shape {loss.shape}"
            )
        return loss

    def _reject_value(self) -> Any:
        """Return the label of rejected rows."""
        text = self.classes_.dtype.kind in "USO"
        label = self.reject_label
        if label is None:
            label = "reject" if text else -1
        if self.reject is not None and label in self.classes_.tolist():
            raise ValueError(f"reject_label must not be a class; got {label!r}")
        if self.reject is not None and isinstance(label, str) != text:
            raise ValueError(
                f"reject_label must be {'text' if text else 'a number'}, as the classes; got "
                f"{label!r}"
            )
        return label
