"""A network that learns to say what it was told, through a narrow layer."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._docstrings import described
from mercer._estimator import FLOATS, TableTransformer
from mercer._sklearn import Interval
from mercer._state import Attribute, Chain, Floats
from mercer.nets._base import SHARED, NetEstimator, TrainingRows
from mercer.nets.inputs import Units
from mercer.nets.network import Layers, outputs_of


@described(SHARED)
class Autoencoder(TableTransformer, NetEstimator):
    """An autoencoder: a network g(f(x)) ≈ x whose middle layer, the code f(x), is narrow.

    The weights minimise the mean of ½‖x − g(f(x))‖² plus ½ λ Σ‖W_l‖². The layers of g are those of
    f in reverse order. With ``activation="linear"`` the best code spans the leading principal
    components, and the error is that of PCA.

    Parameters
    ----------
    hidden : int or sequence of int, default=(100,)
        Sizes of the layers between x and the code. With () the code itself is activated,
        f(x) = σ(x V + b); otherwise it is linear.
    n_components : int, default=2
        Size of the code.
    activation : {"relu", "tanh", "sigmoid", "linear"}, default="relu"
        σ of the hidden layers; the rows are centred and seen in one common unit.
    lam : float, default=1e-6
        λ, the weight of the penalty; biases are not penalised.
    [training]
    [end]

    Attributes
    ----------
    reconstruction_error_ : float
        The mean of ‖x − g(f(x))‖² over the training rows.
    [fitted]

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Autoencoder
    >>> t = np.linspace(0, 1, 50)
    >>> X = np.column_stack([t, 2 * t, -t])
    >>> model = Autoencoder((), 1, activation="linear", random_state=0).fit(X)
    >>> model.transform(X).shape, bool(model.reconstruction_error_ < 1e-3)
    ((50, 1), True)
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "coefs_": Chain(last="columns"),
        "intercepts_": Chain(biases=True, last="columns"),
        "reconstruction_error_": Floats(),
    }

    _parameter_constraints = {
        **NetEstimator._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        hidden: Any = (100,),
        n_components: int = 2,
        *,
        activation: str = "relu",
        lam: float = 1e-6,
        solver: str = "auto",
        learning_rate: float = 1e-3,
        momentum: float = 0.9,
        batch_size: int = 200,
        max_epochs: int = 1000,
        early_stopping: bool = False,
        patience: int = 10,
        validation: float = 0.1,
        tol: float = 1e-5,
        random_state: Any = None,
        time_limit: float | None = None,
    ):
        self.hidden = hidden
        self.n_components = n_components
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
        self.tol = tol
        self.random_state = random_state
        self.time_limit = time_limit

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Autoencoder:
        """Train the network on rows X; ``y`` is not used."""
        self._validate_params()
        hidden = self._hidden_sizes()
        X = self._fit_table(X)
        X, _, weight = self._distinct(X, None, sample_weight)
        units = Units.common(X, weight)
        d = X.shape[1]
        sizes = (d, *hidden, self.n_components, *hidden[::-1], d)
        sample = TrainingRows(X, units.apply(X, np.float64), weight, units, units)
        self._accept(self._fit_network(sample, Layers(sizes, self._activations(len(hidden)))))
        self.reconstruction_error_ = self._error(X, weight, units.unit[0])
        return self

    def _error(self, X: np.ndarray, weight: np.ndarray, unit: float) -> float:
        misses = (outputs_of(X, self.coefs_, self.intercepts_, self._all) - X) / unit
        mean = float(weight @ np.square(misses).sum(axis=1) / weight.sum())
        return mean * float(unit) * float(unit)  # inf beyond the square of all numbers

    def _activations(self, depth: int) -> tuple[str, ...]:
        """Return the activations of all layers, for so many hidden layers on each side."""
        sides = (self.activation,) * depth
        code = "linear" if depth else self.activation
        return (*sides, code, *sides, "linear")

    @property
    def _all(self) -> tuple[str, ...]:
        return self._activations(len(self.coefs_) // 2 - 1)

    def transform(self, X: Any) -> np.ndarray:
        """Return the codes f(x) of rows, shape (m, n_components)."""
        X = self._new_table(X)
        half = len(self.coefs_) // 2
        codes = outputs_of(X, self.coefs_[:half], self.intercepts_[:half], self._all[:half])
        return codes.astype(X.dtype, copy=False)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows g(z) of codes z, shape (m, d)."""
        check_is_fitted(self)
        Z = check_array(X, dtype=FLOATS, order="C", input_name="X")
        half = len(self.coefs_) // 2
        if Z.shape[1] != self.coefs_[half].shape[0]:
            raise ValueError(
                f"X must have {self.coefs_[half].shape[0]} columns, one for each component; got "
                f"{Z.shape[1]}"
            )
        rows = outputs_of(Z, self.coefs_[half:], self.intercepts_[half:], self._all[half:])
        return rows.astype(Z.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return self.coefs_[len(self.coefs_) // 2].shape[0]
