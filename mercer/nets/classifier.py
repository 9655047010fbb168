"""A feed-forward network for classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from mercer._estimator import WEIGHTED, check_weights, class_codes
from mercer.nets._base import Sample, distinct_rows
from mercer.nets._described import described
from mercer.nets._predictor import NetPredictor


@described
class MLPClassifier(ClassifierMixin, NetPredictor):
    """A feed-forward network with softmax outputs: p(x) = softmax(h W + b), h = σ(… σ(x W₁ + b₁)).

    The weights minimise the mean cross-entropy −log p_y(x) plus ½ λ Σ‖W_l‖², by backpropagation.

    Parameters
    ----------
    hidden : int or sequence of int, default=(100,)
        Sizes of the hidden layers; () is logistic regression.
    activation : {"relu", "tanh", "sigmoid", "linear"}, default="relu"
        σ of the hidden layers.
    lam : float, default=1e-4
        λ, the weight of the penalty; biases are not penalised.
    [training]
    standardize : bool, default=True
        Whether the network is trained on columns of mean 0 and variance 1; ``coefs_`` are for
        the columns as they are in any case. Sparse rows stay sparse.
    [end]

    Attributes
    ----------
    classes_ : array of shape (k,)
        The labels.
    [fitted]

    Examples
    --------
    >>> from mercer import MLPClassifier
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["no", "yes", "yes", "no"]
    >>> model = MLPClassifier(8, activation="tanh", random_state=0).fit(X, y)
    >>> model.predict(X).tolist()
    ['no', 'yes', 'yes', 'no']
    >>> model.certificate_.ok
    True
    """

    _loss = "softmax"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MLPClassifier:
        """Train the network on rows X with labels y."""
        X, y = self._fit_table(X, y)
        weight = check_weights(sample_weight, len(y))
        X, y, weight = distinct_rows(X, y, weight, merge=not self.early_stopping)
        self.classes_, codes = class_codes(y, among=WEIGHTED)
        sample = Sample(X, codes, weight, self._units(X, weight))
        layers = self._layers(X.shape[1], len(self.classes_))
        self._accept(self._fit_network(sample, layers))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return what goes into the softmax, (m, k); of two classes the difference, (m,)."""
        G = self._outputs(self._new_table(X))
        return G[:, 1] - G[:, 0] if len(self.classes_) == 2 else G

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes, shape (m, k)."""
        X = self._new_table(X)
        return softmax(self._outputs(X), axis=1).astype(X.dtype, copy=False)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows."""
        codes = self._outputs(self._new_table(X)).argmax(axis=1)
        return self.classes_[codes]
