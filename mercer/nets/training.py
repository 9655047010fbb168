"""How a network is trained: Adam and gradient descent on batches, or L-BFGS on all rows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy.optimize import minimize

from mercer._limits import Limits
from mercer._threads import one_blas_thread
from mercer.nets._net_loops import adam_step, momentum_step
from mercer.nets.network import Batch, Network, NetworkObjective
from mercer.result import Status

SMALL_SAMPLE = 1000  # rows; so small samples are seen as a whole by solver="auto"
SETTLED_SHARE = 1e-4  # of the objective: an epoch of batches that gains less gains nothing
THREADED_PRODUCT = 2**24  # multiplications, from where on BLAS may use all its threads
AIMED_SHARE = 0.9  # share of the tolerance that is aimed at: the proof rounds differently
RESTARTS = 10  # of L-BFGS, whose memory may be worth nothing after a kink
CORRECTIONS = 20  # pairs that L-BFGS remembers


class TrainingSettings(NamedTuple):
    """What the user decides."""

    solver: str
    lam: float
    learning_rate: float
    momentum: float
    batch_size: int
    max_epochs: int
    patience: int
    tol: float
    limits: Limits

    def check_clock(self) -> None:
        """Raise if the time is up."""
        if status := self.limits.stopped():
            raise _Stop(status)


class TrainingTask(NamedTuple):
    """What is minimised."""

    objective: NetworkObjective  # over all rows, in float64
    batch: Batch  # the same rows in the precision of the steps
    held_out: Batch | None
    start_value: float
    gradient_scale: float  # the norm of the gradient at the start


@dataclass
class TrainingRun:
    """Where the training stands: parameters, and the curves so far."""

    theta: np.ndarray
    status: Status = Status.MAX_EPOCHS
    epochs: int = 0
    curve: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)


class _Stop(Exception):  # noqa: N818 - an end, not an error
    """Ends the training with a status."""

    def __init__(self, status: Status):
        super().__init__(status.advice)
        self.status = status


class _Progress:
    """The best value so far, and how many epochs ago it was reached."""

    def __init__(self, share: float, best: float = np.inf):
        self.share, self.best, self.since = share, best, 0

    def add(self, value: float) -> bool:
        """Return whether a value is better than all before it."""
        if value < self.best - self.share * abs(self.best) or self.best == np.inf:
            self.best, self.since = value, 0
            return True
        self.since += 1
        return False


def train(
    task: TrainingTask, settings: TrainingSettings, theta: np.ndarray, rng: Any
) -> TrainingRun:
    """Minimise the objective from θ; a limit or Ctrl-C ends it with what has been reached."""
    run = TrainingRun(theta)
    try:
        if settings.solver == "lbfgs":
            _minimise_whole(task, settings, run)
        else:
            _Descent(task, settings, rng).go(run)
    except _Stop as stop:
        run.status = stop.status
    except KeyboardInterrupt:
        run.status = Status.INTERRUPTED
    return run


class Momentum(NamedTuple):
    """What the steps on batches remember of the gradients before."""

    means: np.ndarray  # (2, parameters): of gradients (for "sgd" the last step) and their squares
    steps: int


def train_once(
    task: TrainingTask, settings: TrainingSettings, theta: np.ndarray, before: Momentum, rng: Any
) -> tuple[TrainingRun, Momentum]:
    """Go once over the rows from θ, with what steps before have left; batches in random order."""
    run, descent = TrainingRun(theta), _Descent(task, settings, rng)
    descent.m[:], descent.v[:] = before.means
    descent.steps = before.steps
    try:
        descent.once(run)
    except _Stop as stop:
        run.status = stop.status
    except KeyboardInterrupt:
        run.status = Status.INTERRUPTED
    return run, Momentum(np.array([descent.m, descent.v], dtype=np.float64), descent.steps)


# ---------------------------------------------------------------- batches
class _Descent:
    """Steps on random batches, in the precision of the rows."""

    def __init__(self, task: TrainingTask, settings: TrainingSettings, rng: Any):
        layers, batch = task.objective.layers, task.batch
        self.task, self.settings, self.batch, self.rng = task, settings, batch, rng
        self.n_weights, self.rate = layers.n_weights, settings.learning_rate
        self.cuts = _even_cuts(len(batch), settings.batch_size)
        self.most = max(cut.stop - cut.start for cut in self.cuts)
        self.network = Network(layers, task.objective.loss, batch.weights.dtype, self.most)
        # θ, gradient, mean gradient of an epoch, and two moments
        self.theta, self.g, self.mean, self.m, self.v = (
            np.zeros(layers.n_parameters, batch.weights.dtype) for _ in range(5)
        )
        self.views, self.slopes = layers.views(self.theta), layers.views(self.g)
        self.steps = 0

    def go(self, run: TrainingRun) -> None:
        """Step until the gradient is small, or until held-out rows say that it is enough."""
        self._step_by(self._until_settled if self.task.held_out is None else self._until_worse, run)

    def once(self, run: TrainingRun) -> None:
        """Step through all batches once."""
        self._step_by(self._one_epoch, run)

    def _step_by(self, stop: Callable[[TrainingRun], None], run: TrainingRun) -> None:
        self.theta[:] = self.best = run.theta
        # threads cost more than they bring in products of a few hundred rows and columns
        work = self.most * max(a * b for a, b in self.task.objective.layers.shapes)
        threads = nullcontext() if work > THREADED_PRODUCT else one_blas_thread()
        with threads, np.errstate(all="ignore"):
            stop(run)

    def _epochs(self, run: TrainingRun) -> Any:
        """Yield the mean objective of one epoch after the other."""
        for _ in range(self.settings.max_epochs):
            value = self._epoch()
            if not np.isfinite(value):
                run.theta = self.best
                raise _Stop(Status.DIVERGED)
            run.epochs += 1
            run.curve.append(value)
            yield value

    def _epoch(self) -> float:
        self.mean[:] = 0.0
        loss, whole = 0.0, len(self.cuts) == 1
        order = None if whole else self.rng.permutation(len(self.batch))
        for cut in self.cuts:
            part = self.batch if order is None else self.batch.take(order[cut])
            loss += self.network.gradient(part, self.views, self.slopes)
            self._step()
            self.settings.check_clock()
        W = self.theta[: self.n_weights]
        return loss / len(self.batch) + 0.5 * self.settings.lam * float(W @ W)

    def _step(self) -> None:
        self.steps += 1
        shared = (self.mean, self.n_weights, self.settings.lam, self.rate)
        if self.settings.solver == "adam":
            adam_step(self.theta, self.g, self.m, self.v, *shared, self.steps)
        else:
            momentum_step(self.theta, self.g, self.m, *shared, self.settings.momentum)

    # ------------------------------------------------------------ when to stop
    def _one_epoch(self, run: TrainingRun) -> None:
        next(self._epochs(run))
        run.theta, run.status = self.theta.astype(np.float64), Status.PART_LEARNED

    def _until_settled(self, run: TrainingRun) -> None:
        """Go on until the gradient is small; where batches gain nothing more, finish on all rows.

        With steps of a fixed size the noise of the batches keeps the gradient from vanishing.
        """
        share = SETTLED_SHARE if len(self.cuts) > 1 else 0.0
        progress = _Progress(share, self.task.start_value)
        for value in self._epochs(run):
            run.theta = self.theta.astype(np.float64)
            if progress.add(value):
                self.best = run.theta
            if self._looks_stationary() and self._is_stationary(run.theta):
                raise _Stop(Status.OPTIMAL)
            if progress.since > self.settings.patience:
                _minimise_whole(self.task, self.settings, run)

    def _until_worse(self, run: TrainingRun) -> None:
        """Go on until held-out rows are predicted worse, and keep where they were best."""
        progress, held_out = _Progress(0.0), self.task.held_out
        assert held_out is not None
        for _ in self._epochs(run):
            run.validation.append(self.network.loss_of(held_out, self.theta))
            if progress.add(run.validation[-1]):
                run.theta = self.best = self.theta.astype(np.float64)
            if progress.since > self.settings.patience:
                raise _Stop(Status.EARLY_STOPPED)

    def _looks_stationary(self) -> bool:
        """Whether the mean gradient of the epoch, which costs nothing, is small."""
        size = float(np.linalg.norm(self.mean)) / len(self.cuts)
        return size <= self.settings.tol * self.task.gradient_scale

    def _is_stationary(self, theta: np.ndarray) -> bool:
        size = float(np.linalg.norm(self.task.objective(theta)[1]))
        return size <= AIMED_SHARE * self.settings.tol * self.task.gradient_scale


def _even_cuts(n: int, batch_size: int) -> list[slice]:
    """Return slices of about the same length, at most ``batch_size``."""
    count = -(-n // batch_size)
    ends = [n * i // count for i in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(ends)]


# ---------------------------------------------------------------- all rows
def _minimise_whole(task: TrainingTask, settings: TrainingSettings, run: TrainingRun) -> NoReturn:
    """L-BFGS on all rows, until the gradient is small.

    Where it gets stuck, as at a kink of the rectifier, it starts again without its memory.
    """
    target = AIMED_SHARE * settings.tol * task.gradient_scale
    size = np.inf

    def value_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal size
        settings.check_clock()
        value, g = task.objective(theta)
        size = float(np.linalg.norm(g))
        return value, g

    def note(intermediate_result: Any) -> None:  # scipy passes it by this name
        run.theta, run.epochs = intermediate_result.x.copy(), run.epochs + 1
        run.curve.append(float(intermediate_result.fun))
        if size <= target:  # of the last point that was looked at, which is this one
            raise _Stop(Status.OPTIMAL)
        if run.epochs >= settings.max_epochs:
            raise _Stop(Status.MAX_EPOCHS)

    options = {"maxiter": settings.max_epochs, "maxcor": CORRECTIONS, "ftol": 0.0, "gtol": 0.0}
    with np.errstate(all="ignore"):
        for _ in range(RESTARTS):
            before = run.epochs
            minimize(  # ends by an exception, but for a search along a line that fails
                value_and_gradient,
                run.theta,
                jac=True,
                method="L-BFGS-B",
                callback=note,
                options=options,
            )
            if run.epochs <= before + 1:
                break
    raise _Stop(Status.NOT_STATIONARY)
