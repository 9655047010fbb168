"""Routes that fit many candidates at once, and which route an estimator takes.

Support vector machines follow paths of C on one matrix for all folds: a held-out point has the
bounds 0 ≤ β ≤ 0, so it takes no part, but its residual is kept up to date, and its decision value
is there when the solver stops. Folds run side by side in threads. Kernel ridge gets all λ of a fold
from one reduction of its Gram matrix.
"""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._array import n_threads
from mercer._estimator import check_weights
from mercer._limits import Limits
from mercer.machines import SVC, SVR, KernelRidge, KernelRidgeClassifier
from mercer.margin import MarginProblem
from mercer.result import Status
from mercer.select.job import Fold
from mercer.select.progress import in_threads
from mercer.select.routes import (
    METHODS,
    Answers,
    Candidate,
    Group,
    Outcome,
    Route,
    fits_from_gram,
    follows_from_gram,
    unfitted,
)
from mercer.solvers import DenseMatrix, SmoState, follow
from mercer.solvers.ridge_path import RidgePath, ridge_path


class Machine(NamedTuple):
    """A candidate as a machine with all its parameters set, not fitted."""

    number: int
    machine: Any


def _machines(group: Group, plain: Callable[[Any], bool]) -> tuple[list[Machine], list[Candidate]]:
    """Return the candidates as machines, and those that fits of their own must serve."""
    machines, apart = [], []
    for candidate in group.candidates:
        machine = unfitted(group.estimator)
        try:
            machine.set_params(**candidate.params)
            machine._validate_params()
            usable = _is_finite(group.y) and plain(machine)
        except Exception:  # the fit will fail in the same way, and that is recorded
            usable = False
        if usable:
            machines.append(Machine(candidate.number, machine))
        else:
            apart.append(candidate)
    return machines, apart


def _is_finite(y: Any) -> bool:
    return y is not None and (y.dtype.kind != "f" or bool(np.isfinite(y).all()))


def _paths(machines: list[Machine], along: tuple[str, ...]) -> list[list[Machine]]:
    """Return lists of machines that differ in these parameters alone."""

    def others(machine: Machine) -> str:
        params = machine.machine.get_params(deep=False)
        return repr({k: v for k, v in params.items() if k not in (*along, "kernel")})

    return [list(same) for _, same in groupby(sorted(machines, key=others), key=others)]


def _failed(path: list[Machine], fold: Fold, error: Exception) -> Iterator[Outcome]:
    for machine in path:
        yield Outcome(machine.number, fold.number, None, error=error)


def _warn(machine: Any, status: Status) -> None:
    text = f"{type(machine).__name__}: {status.advice}"
    warnings.warn(text, ConvergenceWarning, stacklevel=3)


def _spread(n: int, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values for all n rows, 0 for those that have none."""
    out = np.zeros((n, *values.shape[1:]))
    out[rows] = values
    return out


# ---------------------------------------------------------------- support vector machines
def margin_paths(group: Group, threads: int | None = None) -> Iterator[Outcome]:
    """Fit `SVC` and `SVR` along paths of C; what needs more than a path goes by its own fits."""
    machines, apart = _machines(group, _is_soft)
    if np.ndim(group.y) != 1:  # each fit says what is wrong with it
        machines, apart = [], group.candidates
    if machines:
        yield from _MarginPaths(group).run(machines, threads or n_threads())
    if apart:
        yield from fits_from_gram(group._replace(candidates=apart))


def _is_soft(machine: Any) -> bool:
    # calibration needs folds of its own; a hard margin may not exist
    return not getattr(machine, "probability", False) and bool(np.isfinite(machine.C))


def _softness(machine: Machine) -> float:
    lam = getattr(machine.machine, "lam", None)
    return machine.machine.C if lam is None else 1.0 / lam


class Task(NamedTuple):
    """Machines that differ in C alone, in the order of C, on one fold."""

    path: list[Machine]
    fold: Fold
    fit_params: dict[str, Any]


class _MarginPaths:
    """All paths of a group, folds side by side."""

    def __init__(self, group: Group):
        self.group = group
        self.n = len(group.y)
        self.whole = DenseMatrix.of(group.K)
        self.running: list[Limits] = []
        self.stopped = False

    def run(self, machines: list[Machine], threads: int) -> Iterator[Outcome]:
        paths = [sorted(path, key=_softness) for path in _paths(machines, ("C", "lam"))]
        folds = list(zip(self.group.folds, self.group.fit_params, strict=True))
        tasks = deque(Task(path, *fold) for path in paths for fold in folds)
        workers = [tasks] * min(threads, len(tasks))
        yield from in_threads(self._work, workers, self._interrupt)

    def _interrupt(self) -> None:
        """End the solves that nobody waits for, and those that are about to begin."""
        self.stopped = True
        for limits in tuple(self.running):
            limits.interrupt()

    def _work(self, tasks: deque[Task]) -> Iterator[Outcome]:
        matrix = self.whole.with_own_room()
        while tasks and not self.group.limits.stopped():
            try:
                task = tasks.popleft()
            except IndexError:  # another thread was quicker
                return
            # folds may differ in their classes, which a machine keeps: each fold has its own
            path = [Machine(m.number, unfitted(m.machine)) for m in task.path]
            yield from self._follow(matrix, task._replace(path=path))

    def _follow(self, matrix: DenseMatrix, task: Task) -> Iterator[Outcome]:
        """Yield the outcomes of one path on one fold, each when its last problem is solved."""
        try:
            targets, bounds = self._targets(task), self._bounds(task)
        except Exception as error:  # one class, weights below 0, …
            yield from _failed(task.path, task.fold, error)
            return
        fits = [_Fit(machine, np.zeros((self.n, len(targets)))) for machine in task.path]
        for column, (z, rows) in enumerate(targets):
            local = matrix if rows is None else DenseMatrix.of(self.group.K[np.ix_(rows, rows)])
            state, before = None, 1.0
            for fit, bound in zip(fits, bounds, strict=True):
                start = time.perf_counter()
                problem = _margin_problem(fit.machine, z, bound, rows)
                ratio, before = float(bound.max()) / before, float(bound.max())
                state = self._solve(local, problem, fit.machine, state, ratio)
                b, _ = problem.offset(state.beta, state.e)
                fit.values[:, column] = b + self._sums(problem, state, rows, task.fold)
                fit.add(time.perf_counter() - start, state.status)
                if column == len(targets) - 1:
                    yield fit.outcome(task.fold)

    def _targets(self, task: Task) -> list[tuple[np.ndarray, np.ndarray | None]]:
        """Return targets of all rows, 0 where held out, and the rows of a problem on some."""
        first, train = task.path[0].machine, task.fold.train
        y = self.group.y[train]
        if isinstance(first, SVR):
            return [(_spread(self.n, train, y.astype(np.float64)), None)]
        codes = first._codes_of(y)
        for _, machine in task.path:
            machine.classes_ = first.classes_
        targets = []
        for plus, minus in first._problems():
            part = (codes == plus) | (codes == minus) | (minus < 0)
            z = _spread(self.n, train, np.where(codes == plus, 1.0, -1.0) * part)
            targets.append((z, None if part.all() else np.flatnonzero(z)))
        return targets

    def _bounds(self, task: Task) -> list[np.ndarray]:
        """Return the bounds of the coefficients of all rows for each machine, 0 if held out."""
        train = task.fold.train
        weight = check_weights(task.fit_params.get("sample_weight"), len(train))
        bounds = []
        for _, machine in task.path:
            if isinstance(machine, SVR):
                bound = machine.C * weight
            else:
                y = self.group.y[train]
                bound = machine._bounds(y, np.searchsorted(machine.classes_, y), weight)
            bounds.append(_spread(self.n, train, bound))
        return bounds

    def _solve(
        self,
        matrix: DenseMatrix,
        problem: MarginProblem,
        machine: Any,
        state: SmoState | None,
        ratio: float,
    ) -> SmoState:
        limits = Limits.of(machine.max_iter, machine.time_limit, 2**62)
        limits.deadline = min(limits.deadline, self.group.limits.deadline)
        self.running.append(limits)
        if self.stopped:
            limits.interrupt()
        try:
            return follow(matrix, problem, machine.tol, limits, state, ratio)
        finally:
            self.running.remove(limits)

    def _sums(
        self, problem: MarginProblem, state: SmoState, rows: np.ndarray | None, fold: Fold
    ) -> np.ndarray:
        """Return Σ βᵢ k(x, xᵢ) of all rows that may be asked for."""
        if rows is None:
            return problem.z - state.e
        used = np.flatnonzero(state.beta)
        asked = np.arange(self.n) if self.group.train_scores else fold.test
        sums = np.zeros(self.n)
        sums[asked] = self.group.K[np.ix_(asked, rows[used])] @ state.beta[used]
        return sums


def _margin_problem(
    machine: Any, z: np.ndarray, bound: np.ndarray, rows: np.ndarray | None
) -> MarginProblem:
    if isinstance(machine, SVR):
        return MarginProblem.regress(z, bound, machine.epsilon)
    return MarginProblem.classify(*((z, bound) if rows is None else (z[rows], bound[rows])))


class _Fit:
    """One machine in the making: its decision values, a column for each problem."""

    def __init__(self, machine: Machine, values: np.ndarray):
        self.number, self.machine = machine
        self.values, self.seconds, self.status = values, 0.0, Status.OPTIMAL

    def add(self, seconds: float, status: Status) -> None:
        self.seconds += seconds
        self.status = self.status if status.ok else status

    def outcome(self, fold: Fold) -> Outcome:
        if not self.status.ok:
            _warn(self.machine, self.status)
        values = self.values[:, 0] if isinstance(self.machine, SVR) else self.values
        answers, ended = Answers(self.machine, values), self.status is Status.INTERRUPTED
        return Outcome(self.number, fold.number, answers, self.seconds, None, ended)


# ---------------------------------------------------------------- kernel ridge
FOLD_EACH = 3000
"""Rows up to which each fold has a thread of its own: two threads of BLAS in one fold gain little
there, and wait for each other where another program takes a core."""


def ridge_paths(group: Group) -> Iterator[Outcome]:
    """Fit kernel ridge for all λ at once; a λ that is chosen by itself has fits of its own."""
    machines, apart = _machines(group, _has_positive_lam)
    for path in _paths(machines, ("lam",)):
        folds = list(zip(group.folds, group.fit_params, strict=True))
        if len(group.K) <= FOLD_EACH and len(folds) > 1:
            threads = min(n_threads(), len(folds))
            parts = [folds[k::threads] for k in range(threads)]
            yield from in_threads(partial(_ridge_folds, group, path), parts)
        else:
            yield from _ridge_folds(group, path, folds)
    if apart:
        yield from fits_from_gram(group._replace(candidates=apart))


def _has_positive_lam(machine: Any) -> bool:
    return isinstance(machine.lam, Real) and float(machine.lam) > 0


def _ridge_folds(
    group: Group, path: list[Machine], folds: list[tuple[Fold, dict[str, Any]]]
) -> Iterator[Outcome]:
    for fold, fit_params in folds:
        if group.limits.stopped():
            return
        yield from _ridge_fold(group, path, fold, fit_params)


def _ridge_fold(
    group: Group, path: list[Machine], fold: Fold, fit_params: dict[str, Any]
) -> Iterator[Outcome]:
    start = time.perf_counter()
    first = unfitted(path[0].machine)
    try:
        solved, flat = _solved(group, first, [m.machine.lam for m in path], fold, fit_params)
    except Exception as error:  # one class, weights below 0, …
        yield from _failed(path, fold, error)
        return
    seconds = (time.perf_counter() - start) / len(path)
    for place, (number, machine) in enumerate(path):
        if not solved.proved[place]:
            _warn(machine, Status.ILL_CONDITIONED)
        values = solved.values[:, 0, place] if flat else solved.values[:, :, place]
        # answers differ in λ, which they do not need: one machine with classes serves all
        yield Outcome(number, fold.number, Answers(first, values), seconds)


def _solved(
    group: Group, machine: Any, lams: list[float], fold: Fold, fit_params: dict[str, Any]
) -> tuple[RidgePath, bool]:
    train, n = fold.train, len(group.K)
    weight = check_weights(fit_params.get("sample_weight"), len(train))
    Y, weight, flat = machine._targets(np.asarray(group.y)[train], weight)
    path = ridge_path(
        group.K,
        _spread(n, train, Y),
        lams,
        weight=_spread(n, train, weight),
        train=train,
        fit_intercept=machine.fit_intercept,
    )
    return path, flat


# ---------------------------------------------------------------- which route
ROUTES = [
    Route(lambda estimator: type(estimator) in (SVC, SVR), margin_paths),
    Route(lambda estimator: type(estimator) in (KernelRidge, KernelRidgeClassifier), ridge_paths),
    Route(follows_from_gram, fits_from_gram, independent=True),
]
"""Special routes stand before the general one, which is the last."""


def route_of(estimator: Any) -> Route | None:
    """Return the first route that accepts an estimator, or None."""
    if _has_own_methods(estimator):
        return None
    return next((route for route in ROUTES if route.accepts(estimator)), None)


def _has_own_methods(estimator: Any) -> bool:
    """Whether a class outside this library changes a method: it may look at the rows."""
    return any(
        name in ("fit", "_fit_rows", "_new_rows", *METHODS)
        for cls in type(estimator).__mro__
        if cls.__module__.partition(".")[0] not in ("mercer", "sklearn", "builtins")
        for name in vars(cls)
    )
