"""A feed-forward network for numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer._estimator import check_weights
from mercer.nets._base import Sample, distinct_rows
from mercer.nets._described import described
from mercer.nets._predictor import NetPredictor
from mercer.nets.rows import Units

CONSTANT = 1e-6  # unit of a target that does not vary, relative to its size


@described
class MLPRegressor(MultiOutputMixin, RegressorMixin, NetPredictor):
    """A feed-forward network with linear outputs: f(x) = h W + b, h = σ(… σ(x W₁ + b₁)).

    The weights minimise the mean of ½‖f(x) − y‖² plus ½ λ Σ‖W_l‖², by backpropagation.

    Parameters
    ----------
    hidden : int or sequence of int, default=(100,)
        Sizes of the hidden layers; () is ridge regression.
    activation : {"relu", "tanh", "sigmoid", "linear"}, default="relu"
        σ of the hidden layers.
    lam : float, default=1e-4
        λ, the weight of the penalty; biases are not penalised.
    [training]
    standardize : bool, default=True
        Whether the network is trained on columns of mean 0 and variance 1 (so is y); ``coefs_`` are
        for the columns as they are in any case. Sparse rows stay sparse.
    [end]

    Attributes
    ----------
    [fitted]

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MLPRegressor
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> model = MLPRegressor(20, activation="tanh", random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99), model.certificate_.ok
    (True, True)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MLPRegressor:
        """Train the network on rows X with targets y, of shape (n,) or (n, t)."""
        X, y = self._fit_table(X, y, multi_output=True, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        weight = check_weights(sample_weight, len(y))
        X, y, weight = distinct_rows(X, y, weight, merge=not self.early_stopping)
        self._one_target = y.ndim == 1
        T = y[:, None] if y.ndim == 1 else y
        units_out = self._units_out(T, weight)
        T = units_out.apply(T, np.float64)
        sample = Sample(X, T, weight, self._units(X, weight), units_out)
        self._accept(self._fit_network(sample, self._layers(X.shape[1], T.shape[1])))
        return self

    def _units_out(self, T: np.ndarray, weight: np.ndarray) -> Units:
        if not self.standardize:
            return Units.none(T.shape[1])
        mean, unit = Units.of_columns(T, weight)
        # a constant target has no unit of its own: what remains of it after the fit is small
        is_constant = T.max(axis=0) == T.min(axis=0)
        small = CONSTANT * np.where(mean == 0.0, 1.0, np.abs(mean))
        return Units(mean, np.where(is_constant, small, unit))

    def predict(self, X: Any) -> np.ndarray:
        """Return the targets of new rows, shape (m,) or (m, t) as in the training."""
        X = self._new_table(X)
        values = self._outputs(X).astype(X.dtype, copy=False)
        return values[:, 0] if self._one_target else values
