"""Feed-forward networks that predict classes or numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._docstrings import described
from mercer._estimator import FLOATS, WEIGHTED, validated
from mercer._labels import (
    class_codes,
    codes_among,
    difference_of_two,
    known_classes,
    labels_of_rows,
)
from mercer._state import Attribute, Chain, Instance, Labels, Maybe
from mercer.nets._base import SHARED, NetEstimator, TrainingRows, steps_on_batches
from mercer.nets.inputs import Units
from mercer.nets.network import Layers, outputs_of

UNBATCHED = 100  # rows of which solver="auto" makes no batches
CONSTANT = 1e-6  # unit of a target that does not vary, relative to its size


class NetPredictor(NetEstimator):
    """A network with an output for each class or target."""

    _parameter_constraints = {
        **NetEstimator._parameter_constraints,
        "standardize": ["boolean"],
        "warm_start": ["boolean"],
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
        warm_start: bool = False,
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
        self.warm_start = warm_start
        self.tol = tol
        self.random_state = random_state
        self.time_limit = time_limit

    def _is_quickly_solved(self, n: int, layers: Layers) -> bool:
        # at the bottom of its valley a network with more parameters than rows has learnt the noise;
        # batches, given up after max_epochs, do not get there
        has_no_excess = n <= UNBATCHED or layers.n_parameters <= n or len(layers.sizes) == 2
        return has_no_excess and super()._is_quickly_solved(n, layers)

    def _fit_table(self, X: Any, y: Any, **checks: Any) -> Any:
        self._validate_params()
        self._hidden_sizes()
        return validated(self, X, y, accept_sparse="csr", dtype=FLOATS, order="C", **checks)

    def _new_table(self, X: Any) -> Any:
        check_is_fitted(self)
        return validated(self, X, reset=False, accept_sparse="csr", dtype=FLOATS, order="C")

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


@described(SHARED)
class MLPClassifier(MultiOutputMixin, ClassifierMixin, NetPredictor):
    """A feed-forward network with softmax outputs: p(x) = softmax(h W + b), h = σ(… σ(x W₁ + b₁)).

    The weights minimise the mean cross-entropy −log p_y(x) plus ½ λ Σ‖W_l‖², by backpropagation.
    Rows may have several labels: y is then a table of 0 and 1, each label has a probability σ(g) of
    its own, and the cross-entropies are added up.

    Parameters
    ----------
    hidden : int or sequence of int, default=(100,)
        Sizes of the hidden layers; () is logistic regression.
    [hidden layers]
    [training]
    standardize : bool, default=True
        Whether the network is trained on columns of mean 0 and variance 1; ``coefs_`` are for
        the columns as they are in any case. Sparse rows stay sparse.
    [warm]
    [end]

    Attributes
    ----------
    classes_ : array of shape (k,)
        The labels; of a table of labels the numbers of its columns.
    multilabel_ : bool
        Whether rows may have several labels.
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

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "classes_": Labels("classes"),
        "multilabel_": Maybe(Instance(bool)),
        "coefs_": Chain(last="classes"),
        "intercepts_": Chain(biases=True, last="classes"),
    }

    multilabel_ = False  # of models that were saved before rows could have several labels

    @property
    def _loss(self) -> str:  # type: ignore[override]
        return "logistic" if self.multilabel_ else "softmax"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MLPClassifier:
        """Train the network on rows X with labels y, (n,) or a table of 0 and 1."""
        X, y = self._fit_table(X, y, multi_output=True)
        y, self.multilabel_ = labels_of_rows(y)
        X, y, weight = self._distinct(X, y, sample_weight)
        if self.multilabel_:
            self.classes_, targets = np.arange(y.shape[1]), y.astype(np.float64)
        else:
            self.classes_, targets = class_codes(y, among=WEIGHTED)
        sample = TrainingRows(X, targets, weight, self._units(X, weight))
        layers = self._layers(X.shape[1], len(self.classes_))
        self._accept(self._fit_network(sample, layers))
        return self

    @available_if(steps_on_batches)
    @described(SHARED)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> MLPClassifier:
        """Take in more rows by one pass over them.

        [parts]

        Parameters
        ----------
        X, y : table (dense or sparse), labels
            More rows.
        classes : array of shape (k,), default=None
            All labels that will ever come, or the numbers of the columns of y; needed by the first
            call.
        sample_weight : array of shape (n,), default=None
            Weights ≥ 0.
        """
        X, y = self._fit_table(X, y, multi_output=True, reset=not hasattr(self, "coefs_"))
        self.classes_ = known_classes(self, classes)
        y, self.multilabel_ = labels_of_rows(y)
        targets = self._columns_among(y) if self.multilabel_ else codes_among(y, self.classes_)
        X, codes, weight = self._distinct(X, targets, sample_weight)
        units = self._units_so_far("units_") or self._units(X, weight)
        layers = self._layers(X.shape[1], len(self.classes_))
        self._accept(self._learn_rows(TrainingRows(X, codes, weight, units), layers))
        return self

    def _columns_among(self, y: np.ndarray) -> np.ndarray:
        """Return a table of labels as numbers, if its columns are as many as there are labels."""
        if y.shape[1] != len(self.classes_):
            raise ValueError(
                f"y must have a column for each of the {len(self.classes_)} labels of classes; got "
                f"{y.shape[1]}"
            )
        return y.astype(np.float64)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return what goes into softmax or σ, (m, k); of two classes the difference, (m,)."""
        G = self._outputs(self._new_table(X))
        return G if self.multilabel_ else difference_of_two(G)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes, or of each label, shape (m, k)."""
        X = self._new_table(X)
        G = self._outputs(X)
        P = expit(G) if self.multilabel_ else softmax(G, axis=1)
        return P.astype(X.dtype, copy=False)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows, or 0 and 1 for each label as in ``fit``."""
        G = self._outputs(self._new_table(X))
        if self.multilabel_:
            return (G > 0.0).astype(np.intp)
        return self.classes_[G.argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@described(SHARED)
class MLPRegressor(MultiOutputMixin, RegressorMixin, NetPredictor):
    """A feed-forward network with linear outputs: f(x) = h W + b, h = σ(… σ(x W₁ + b₁)).

    The weights minimise the mean of ½‖f(x) − y‖² plus ½ λ Σ‖W_l‖², by backpropagation.

    Parameters
    ----------
    hidden : int or sequence of int, default=(100,)
        Sizes of the hidden layers; () is ridge regression.
    [hidden layers]
    [training]
    standardize : bool, default=True
        Whether the network is trained on columns of mean 0 and variance 1 (so is y); ``coefs_`` are
        for the columns as they are in any case. Sparse rows stay sparse.
    [warm]
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

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "coefs_": Chain(),
        "intercepts_": Chain(biases=True),
        "_one_target": Instance(bool),
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MLPRegressor:
        """Train the network on rows X with targets y, of shape (n,) or (n, t)."""
        X, y = self._fit_table(X, y, multi_output=True, y_numeric=True)
        X, y, weight = self._distinct(X, np.asarray(y, dtype=np.float64), sample_weight)
        sample = self._sample(X, y, weight, None, None)
        self._accept(self._fit_network(sample, self._layers(X.shape[1], sample.targets.shape[1])))
        return self

    def _sample(
        self, X: Any, y: np.ndarray, weight: np.ndarray, units: Any, units_out: Any
    ) -> TrainingRows:
        """Return rows and targets in their units, by default those of these rows."""
        self._one_target = y.ndim == 1
        T = y[:, None] if y.ndim == 1 else y
        units_out = units_out or self._units_out(T, weight)
        T = units_out.apply(T, np.float64)
        return TrainingRows(X, T, weight, units or self._units(X, weight), units_out)

    @available_if(steps_on_batches)
    @described(SHARED)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> MLPRegressor:
        """Take in more rows by one pass over them.

        [parts]

        Parameters
        ----------
        X, y : table (dense or sparse), targets
            More rows.
        sample_weight : array of shape (n,), default=None
            Weights ≥ 0.
        """
        checks = {"multi_output": True, "y_numeric": True, "reset": not hasattr(self, "coefs_")}
        X, y = self._fit_table(X, y, **checks)
        X, y, weight = self._distinct(X, np.asarray(y, dtype=np.float64), sample_weight)
        known, given = getattr(self, "intercepts_", None), 1 if y.ndim == 1 else y.shape[1]
        if known is not None and len(known[-1]) != given:
            raise ValueError(
                f"y must have as many targets as in the first part, {len(known[-1])}; got {given}"
            )
        units = self._units_so_far("units_"), self._units_so_far("units_out_")
        sample = self._sample(X, y, weight, *units)
        self._accept(self._learn_rows(sample, self._layers(X.shape[1], sample.targets.shape[1])))
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
        values = self._outputs(X)
        return values[:, 0] if self._one_target else values
