"""What the three networks share: documentation, parameters, units, training, the proof."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from mercer._estimator import ProvedEstimator, check_weights
from mercer._floats import TINY
from mercer._limits import Limits
from mercer._sklearn import Interval, StrOptions
from mercer._state import COLUMNS, Attribute, Floats, Integers, Maybe
from mercer.nets.inputs import Units, inputs_of
from mercer.nets.network import Batch, Layers, NetworkObjective
from mercer.nets.training import (
    SMALL_SAMPLE,
    Momentum,
    TrainingRun,
    TrainingSettings,
    TrainingTask,
    train,
    train_once,
)
from mercer.result import Certificate, Solution, Status

DENSE = 2**22  # cells; small samples up to here are made dense

PART_STATE = ("units_", "units_out_", "momentum_", "n_steps_")  # what partial_fit goes on from

SHARED = {
    "hidden layers": """\
activation : {{"relu", "tanh", "sigmoid", "linear"}}, default="{activation}"
    σ of the hidden layers.
lam : float, default={lam:g}
    λ, the weight of the penalty; biases are not penalised.
""",
    "training": """\
solver : {{"auto", "adam", "sgd", "lbfgs"}}, default="{solver}"
    "adam" and "sgd" (with Nesterov's momentum) step on random batches, and as "lbfgs" on all
    rows once batches gain nothing more; "auto" is "lbfgs" for small samples without early
    stopping (up to 1000 rows; an MLP with more parameters than rows up to 100), else "adam".
learning_rate : float, default={learning_rate}
    Size of the steps on batches.
momentum : float, default={momentum}
    How much of the last step the next one keeps, for "sgd".
batch_size : int, default={batch_size}
    Most rows of a batch.
max_epochs : int, default={max_epochs}
    Most passes over the rows (steps of "lbfgs").
early_stopping : bool, default={early_stopping}
    Whether to hold out some rows, stop where their loss no longer falls, and keep the weights
    with which it was smallest.
patience : int, default={patience}
    Epochs without gain before batches are given up, or before the early stop.
validation : float, default={validation}
    Share of the rows that early stopping holds out.
""",
    "warm": """\
warm_start : bool, default={warm_start}
    Whether to begin with the weights of the fit before, in place of random ones.
""",
    "end": """\
tol : float, default={tol}
    The norm of the gradient, relative to that at the start, at which the fit is done.
random_state : int, RandomState instance or None, default={random_state}
    The first weights, the batches and the rows that are held out.
time_limit : float or None, default={time_limit}
    Seconds for the fit; then what has been reached is kept, with a warning.
""",
    "parts": """\
Batches of these rows are stepped on once, in random order, by "adam" (or "sgd"); means of
gradients are kept from call to call, and so are the units of the first part. There is no warning
before a minimum is reached: the certificate says how steep the loss of these rows still is.
""",
    "fitted": """\
coefs_, intercepts_ : list of arrays
    W_l of shape (inputs, outputs) and b_l of each layer.
loss_curve_ : array of shape (n_iter_,)
    The objective, averaged over the batches of each epoch.
validation_curve_ : array of shape (n_iter_,)
    The loss of the held-out rows after each epoch, if there are any.
n_iter_ : int
    Passes over the rows.
certificate_ : Certificate
    The gradient over all training rows, in float64: a stationary point, no global guarantee.
""",
}
"""Lines of the docstrings of all networks, by the name that stands for them there."""


class TrainingRows(NamedTuple):
    """Rows of positive weight, what the network should say of them, and both in which units."""

    X: Any
    targets: np.ndarray  # class numbers, or numbers in their units
    weight: np.ndarray  # of mean one
    units: Units
    units_out: Units | None = None

    def take(self, index: np.ndarray) -> TrainingRows:
        """Return some of the rows."""
        weight = self.weight[index] / self.weight[index].mean()
        return self._replace(X=self.X[index], targets=self.targets[index], weight=weight)

    def batch(self, dtype: Any) -> Batch:
        """Return the rows in the units of the network."""
        is_code = self.targets.dtype.kind in "iu"
        targets = self.targets if is_code else self.targets.astype(dtype)
        return Batch(inputs_of(self.X, self.units, dtype), targets, self.weight.astype(dtype))


class NetEstimator(ProvedEstimator):
    """A feed-forward network with its parameters in ``coefs_`` and ``intercepts_``."""

    by_columns = True

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "loss_curve_": Floats("epochs"),
        "validation_curve_": Maybe(Floats("checked epochs")),
        "n_iter_": Integers(),
        "units_": Maybe(Floats(2, COLUMNS)),
        "units_out_": Maybe(Floats(2, "targets")),
        "momentum_": Maybe(Floats(2, "parameters")),
        "n_steps_": Maybe(Integers()),
    }

    _loss = "squared"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "activation": [StrOptions({"relu", "tanh", "sigmoid", "linear"})],
        "lam": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"auto", "adam", "sgd", "lbfgs"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "momentum": [Interval(Real, 0, 1, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "validation": [Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    coefs_: list[np.ndarray]
    intercepts_: list[np.ndarray]
    momentum_: np.ndarray
    n_steps_: int

    # ------------------------------------------------------------ fit
    def _hidden_sizes(self) -> tuple[int, ...]:
        hidden: Any = self.hidden
        sizes = tuple(hidden) if np.iterable(hidden) else (hidden,)
        if not all(_is_size(size) for size in sizes):
            raise ValueError(
                f"hidden must be a positive integer or a sequence of them, the sizes of the hidden "
                f"layers; got {hidden!r}"
            )
        return tuple(int(size) for size in sizes)

    def _distinct(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, np.ndarray]:
        """Drop rows of weight 0 and give the weights the mean one.

        Equal rows of small samples are put together, in a fixed order, unless some are to be held
        out: the training then does not depend on how rows are ordered or repeated, nor on whether
        they are sparse.
        """
        weight = check_weights(sample_weight, X.shape[0])
        kept = np.flatnonzero(weight > 0)
        if len(kept) < len(weight):
            X, y, weight = X[kept], None if y is None else y[kept], weight[kept]
        small = X.shape[0] <= SMALL_SAMPLE and X.shape[0] * X.shape[1] <= DENSE
        if small and not self.early_stopping:
            X = X.toarray() if sp.issparse(X) else X
            first, number = _groups(X, y)
            X, y = X[first], None if y is None else y[first]
            weight = np.bincount(number, weight)
        weight = weight / weight.max()
        return X, y, weight / weight.mean()

    def _is_quickly_solved(self, n: int, layers: Layers) -> bool:
        """Whether all rows at once cost little."""
        return n <= SMALL_SAMPLE

    def _settings(self, n: int, layers: Layers) -> TrainingSettings:
        p: Any = self
        solver = p.solver
        if solver == "auto":
            whole = self._is_quickly_solved(n, layers) and not p.early_stopping
            solver = "lbfgs" if whole else "adam"
        if solver == "lbfgs" and p.early_stopping:
            raise ValueError("early_stopping=True needs epochs: solver must be 'adam' or 'sgd'")
        figures = (p.lam, p.learning_rate, p.momentum, p.batch_size, p.max_epochs, p.patience)
        return TrainingSettings(solver, *figures, p.tol, Limits.of(time_limit=p.time_limit))

    def _fit_network(self, sample: TrainingRows, layers: Layers) -> Solution:
        """Train on a sample, keep the parameters in the units of the data, prove them."""
        settings = self._settings(len(sample.targets), layers)
        rng = check_random_state(self.random_state)
        start = layers.start(rng)
        sample, held_out = self._split(sample, rng)
        objective = NetworkObjective(layers, self._loss, sample.batch(np.float64), self.lam)
        first, scale = _figures(objective, start)  # the unit of the proof, also of a warm start
        if getattr(self, "warm_start", False) and hasattr(self, "coefs_"):
            start = self._before(layers, sample)
            first, _ = _figures(objective, start)
        # small samples in float64: the answer should not depend on how the rows are written
        whole = settings.solver == "lbfgs" or len(sample.targets) <= settings.batch_size
        dtype = np.float64 if whole else np.float32
        with np.errstate(over="ignore"):
            held = None if held_out is None else held_out.batch(dtype)
            batch = objective.batch if whole else sample.batch(dtype)
        run = train(TrainingTask(objective, batch, held, first, scale), settings, start, rng)
        self._keep(run, layers, sample)
        return _proved(run, objective, self._returned(layers, sample), scale, settings)

    def _learn_rows(self, sample: TrainingRows, layers: Layers) -> Solution:
        """Go once over more rows, from the parameters so far, or from random ones."""
        rng = check_random_state(self.random_state)
        theta = self._returned(layers, sample) if hasattr(self, "coefs_") else layers.start(rng)
        if len(theta) != layers.n_parameters:
            raise ValueError("hidden must stay what it was at the first call to partial_fit")
        settings = self._settings(len(sample.targets), layers)
        settings = settings._replace(solver="sgd" if self.solver == "sgd" else "adam")
        objective = NetworkObjective(layers, self._loss, sample.batch(np.float64), self.lam)
        task = TrainingTask(objective, objective.batch, None, *_figures(objective, theta))
        before = Momentum(np.zeros((2, len(theta))), 0)
        if hasattr(self, "momentum_"):
            before = Momentum(self.momentum_, self.n_steps_)
        run, momentum = train_once(task, settings, theta, before, rng)
        curve = [*getattr(self, "loss_curve_", ()), *run.curve]
        self._keep(run, layers, sample)
        self.loss_curve_, self.n_iter_ = np.array(curve), len(curve)
        self.momentum_, self.n_steps_ = momentum
        self.units_ = np.array(sample.units)
        if sample.units_out is not None:
            self.units_out_ = np.array(sample.units_out)
        start = task.gradient_scale
        return _proved(run, objective, self._returned(layers, sample), start, settings)

    def _units_so_far(self, name: str) -> Units | None:
        """Return the units of the part before, which stay those of the first."""
        units = getattr(self, name, None)
        return None if units is None else Units(*units)

    def _split(self, sample: TrainingRows, rng: Any) -> tuple[TrainingRows, TrainingRows | None]:
        """Return what is trained on and what is held out; classes keep their shares."""
        if not self.early_stopping:
            return sample, None
        share: float = self.validation
        n = len(sample.targets)
        order = rng.permutation(n)
        if sample.targets.dtype.kind in "iu":
            order = order[np.argsort(sample.targets[order], kind="stable")]
        steps = np.floor(np.arange(n + 1) * share + 0.5)
        out = np.diff(steps) > 0
        if not out.any() or out.all():
            raise ValueError(
                f"early_stopping=True holds out the share validation={share} of {n} rows: that "
                f"leaves none on one side; take more rows or another share"
            )
        return sample.take(np.sort(order[~out])), sample.take(np.sort(order[out]))

    def _keep(self, run: TrainingRun, layers: Layers, sample: TrainingRows) -> None:
        weights, biases = layers.views(run.theta.copy())
        weights[0], biases[0] = _input_folded(weights[0], biases[0], sample.units)
        if sample.units_out is not None:
            mean, unit = sample.units_out
            weights[-1], biases[-1] = weights[-1] * unit, biases[-1] * unit + mean
        self.coefs_, self.intercepts_ = weights, biases
        self.loss_curve_ = np.array(run.curve)
        self.n_iter_ = max(run.epochs, 1)
        for name in ("validation_curve_", *PART_STATE):  # of an earlier fit
            self.__dict__.pop(name, None)
        if run.validation:
            self.validation_curve_ = np.array(run.validation)

    def _before(self, layers: Layers, sample: TrainingRows) -> np.ndarray:
        """Return the parameters of the fit before, if they are of the same network."""
        shapes = [W.shape for W in self.coefs_]
        if shapes != layers.shapes:
            raise ValueError(
                f"warm_start=True goes on from layers of the shapes {shapes}, but hidden, X and y "
                f"ask for {layers.shapes}"
            )
        return self._returned(layers, sample)

    # ------------------------------------------------------------ proof
    def _returned(self, layers: Layers, sample: TrainingRows) -> np.ndarray:
        """Return the kept parameters in the units of the training."""
        weights, biases = list(self.coefs_), list(self.intercepts_)
        if sample.units_out is not None:
            mean, unit = sample.units_out
            weights[-1], biases[-1] = weights[-1] / unit, (biases[-1] - mean) / unit
        mean, unit = sample.units
        biases[0] = biases[0] + mean @ weights[0]
        weights[0] = weights[0] * unit[:, None]
        return layers.joined(weights, biases)


def _figures(objective: NetworkObjective, theta: np.ndarray) -> tuple[float, float]:
    """Return the objective and the norm of its gradient, over all rows in float64."""
    with np.errstate(all="ignore"):
        value, g = objective(theta)
        return value, float(np.linalg.norm(g))


def _proved(
    run: TrainingRun,
    objective: NetworkObjective,
    theta: np.ndarray,
    scale: float,
    settings: TrainingSettings,
) -> Solution:
    """Prove that the gradient at θ is small; the objective has no convexity that would say more."""
    value, size = _figures(objective, theta)
    parts = {
        "gradient_norm": size,
        "gradient_norm_at_start": scale,
        "objective": value,
        "epochs": run.epochs,
        "solver": settings.solver,
        "parameters": len(theta),
    }
    n = len(objective.batch)
    about = f"a stationary point of {n} rows; no global guarantee"
    if run.status is Status.PART_LEARNED:
        about = f"one pass over {n} rows: the gradient after it against that before; no minimum"
    proof = Certificate("relative gradient", size / max(scale, TINY), settings.tol, about, parts)
    return Solution(theta, _final_status(run.status, proof.ok), proof)


def steps_on_batches(model: Any) -> bool:
    """Raise if rows in parts are not what a network is to learn from."""
    if model.early_stopping or model.solver == "lbfgs":
        raise AttributeError(
            f"partial_fit steps on batches of the rows it is given: it needs early_stopping=False "
            f"and a solver other than 'lbfgs'; got early_stopping={model.early_stopping} and "
            f"solver={model.solver!r}"
        )
    return True


def _is_size(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and value is not True and int(value) > 0


def _final_status(status: Status, proved: bool) -> Status:
    """Return how the training ended, unless the proof knows better."""
    if status is Status.PART_LEARNED:
        return status
    if proved and status in (Status.MAX_EPOCHS, Status.NOT_STATIONARY, Status.TIME_LIMIT):
        return Status.OPTIMAL
    return Status.NOT_STATIONARY if status is Status.OPTIMAL and not proved else status


def _input_folded(W: np.ndarray, b: np.ndarray, units: Units) -> tuple[np.ndarray, np.ndarray]:
    """Return the first layer for rows in their own units."""
    W = W / units.unit[:, None]
    return W, b - units.mean @ W


def _groups(X: np.ndarray, y: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the first of each group of equal rows and targets, and the group of each row."""
    columns = [X] if y is None else [X, np.unique(y, return_inverse=True)[1].reshape(len(y), -1)]
    _, first, number = np.unique(np.hstack(columns), axis=0, return_index=True, return_inverse=True)
    return first, number.ravel()
