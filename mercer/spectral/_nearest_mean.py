"""Classification by the nearest class mean in a space where classes are round."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin

from mercer._estimator import class_codes


class NearestMean(ClassifierMixin):
    """The Bayes rule for classes N(z_c, I) with priors: log π_c − ½‖z − z_c‖², the largest wins.

    A child computes z by ``_discriminants``.
    """

    classes_: np.ndarray
    priors_: np.ndarray  # (C,)
    class_scores_: np.ndarray  # (C, k), the class means in that space

    def _discriminants(self, X: Any) -> np.ndarray:
        """Return z of checked rows in float64, shape (m, k)."""
        raise NotImplementedError

    def _log_odds(self, X: Any) -> np.ndarray:
        """Return log π_c + log p(x | c) up to a term that all classes share, shape (m, C)."""
        Z = self._discriminants(X)  # which checks that there is a fit
        means = self.class_scores_
        values = Z @ means.T
        values += np.log(self.priors_) - 0.5 * np.einsum("ij,ij->i", means, means)
        return values

    def decision_function(self, X: Any) -> np.ndarray:
        """Return log-posteriors up to a term that all classes share, shape (m, C).

        Of two classes it is the difference, shape (m,).
        """
        values = self._log_odds(X)
        return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row."""
        best = self._log_odds(X).argmax(axis=1)
        return self.classes_[best]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the class probabilities, shape (m, C)."""
        return log_softmax(self._log_odds(X), axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities, shape (m, C)."""
        values = self._log_odds(X)
        values -= values.max(axis=1, keepdims=True)
        np.exp(values, out=values)
        values /= values.sum(axis=1, keepdims=True)
        return values

    def _codes_of(self, y: np.ndarray) -> np.ndarray:
        """Find the classes; return the number of each label's class."""
        self.classes_, codes = class_codes(y)
        return codes


def within_classes(X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows minus the mean of their class, in float64, and the means (C, d)."""
    means = class_means(X, codes)
    rows = np.subtract(X, means[codes], dtype=np.float64)
    correction = class_means(rows, codes)  # long sums round: constant columns must become 0
    rows -= correction[codes]
    return rows, means + correction


def class_means(rows: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the mean row of each class in float64, shape (C, d)."""
    n = len(rows)
    members = sp.csr_array((np.ones(n), codes, np.arange(n + 1)))  # (n, C), one 1 a row
    return (members.T @ rows) / np.bincount(codes)[:, None]
