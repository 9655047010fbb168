"""What the classifier and the regressor share."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._estimator import FLOATS
from mercer.nets._base import NetEstimator
from mercer.nets.layers import Layers
from mercer.nets.network import outputs_of
from mercer.nets.rows import Units

FEW = 100  # rows of which solver="auto" makes no batches


class NetPredictor(NetEstimator):
    """A network with an output for each class or target."""

    _parameter_constraints = {
        **NetEstimator._parameter_constraints,
        "standardize": ["boolean"],
    }

    def __init__(
        self,
        hidden: Any = (100,),
        *,
        activation: str = "relu",
        lam: float = 1e-4,
        solver: str = "auto",
        learning_rate: float = 1e-3,
        momentum: float = 0.9,
        batch_size: int = 200,
        max_epochs: int = 200,
        early_stopping: bool = False,
        patience: int = 10,
        validation: float = 0.1,
        standardize: bool = True,
        tol: float = 1e-3,
        random_state: Any = None,
        time_limit: float | None = None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.lam = lam
        self.solver = solver
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.early_stopping = early_stopping
        self.patience = patience
        self.validation = validation
        self.standardize = standardize
        self.tol = tol
        self.random_state = random_state
        self.time_limit = time_limit

    def _is_quickly_solved(self, n: int, layers: Layers) -> bool:
        # at the bottom of its valley a network with more parameters than rows has learnt the noise;
        # batches, given up after max_epochs, do not get there
        has_no_excess = n <= FEW or layers.n_parameters <= n or len(layers.sizes) == 2
        return has_no_excess and super()._is_quickly_solved(n, layers)

    def _fit_table(self, X: Any, y: Any, **checks: Any) -> Any:
        self._validate_params()
        self._hidden_sizes()
        return validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS, order="C", **checks)

    def _new_table(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=FLOATS, order="C")

    def _units(self, X: Any, weight: np.ndarray) -> Units:
        return Units.of_columns(X, weight) if self.standardize else Units.none(X.shape[1])

    def _layers(self, n_inputs: int, n_outputs: int) -> Layers:
        hidden = self._hidden_sizes()
        activations = (*(self.activation for _ in hidden), "linear")
        return Layers((n_inputs, *hidden, n_outputs), activations)

    def _outputs(self, X: Any) -> np.ndarray:
        """Return what the last layer says of checked rows, in float64."""
        activations = (*(self.activation for _ in self.coefs_[1:]), "linear")
        return outputs_of(X, self.coefs_, self.intercepts_, activations)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
