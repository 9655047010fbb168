"""Support vector machines along paths of C on one matrix for all folds.

A held-out point has the bounds 0 ≤ β ≤ 0, so it takes no part, but its residual is kept up to date,
and its decision value is there when the solver stops. Folds run side by side in threads; pairs of
classes of a fold are compiled loops.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from mercer._array import n_threads
from mercer._estimator import check_weights
from mercer._limits import Limits
from mercer.kernels.direct import fixed
from mercer.machines import SVR
from mercer.margin import MarginProblem
from mercer.result import Status
from mercer.select.job import Fold
from mercer.select.machine_paths import (
    PathMachine,
    failed_path,
    paths_along,
    spread,
    usable_machines,
    warn_of,
)
from mercer.select.progress import in_threads
from mercer.select.routes import FoldAnswers, Group, Outcome, fits_from_gram, unfitted
from mercer.solvers import DenseMatrix, SmoState, follow
from mercer.solvers.pair_paths import ClassPair, follow_pairs


def margin_paths(group: Group, threads: int | None = None) -> Iterator[Outcome]:
    """Fit `SVC` and `SVR` along paths of C; what needs more than a path goes by its own fits."""
    machines, apart = usable_machines(group, _is_soft)
    if np.ndim(group.y) != 1:  # each fit says what is wrong with it
        machines, apart = [], group.candidates
    if machines:
        yield from _MarginPaths(group).run(machines, threads or n_threads())
    if apart:
        yield from fits_from_gram(group._replace(candidates=apart))


def _is_soft(machine: Any) -> bool:
    # calibration needs folds of its own; a hard margin may not exist
    return not getattr(machine, "probability", False) and bool(np.isfinite(machine.C))


def _softness(machine: PathMachine) -> float:
    lam = getattr(machine.machine, "lam", None)
    return machine.machine.C if lam is None else 1.0 / lam


class Task(NamedTuple):
    """Machines that differ in C alone, in the order of C, on one fold."""

    path: list[PathMachine]
    fold: Fold
    fit_params: dict[str, Any]


Target = tuple[np.ndarray, np.ndarray | None]


class _MarginPaths:
    """All paths of a group, folds side by side."""

    def __init__(self, group: Group):
        self.group = group
        self.n = len(group.y)
        self.whole = DenseMatrix.of(group.K)
        self.running: list[Limits] = []
        self.stopped = False

    def run(self, machines: list[PathMachine], threads: int) -> Iterator[Outcome]:
        paths = [sorted(path, key=_softness) for path in paths_along(machines, ("C", "lam"))]
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
            path = [PathMachine(m.number, unfitted(m.machine)) for m in task.path]
            yield from self._follow(matrix, task._replace(path=path))

    def _follow(self, matrix: DenseMatrix, task: Task) -> Iterator[Outcome]:
        """Yield the outcomes of one path on one fold, each when its last problem is solved."""
        try:
            targets, bounds = self._targets(task), self._bounds(task)
        except Exception as error:  # one class, weights below 0, …
            yield from failed_path(task.path, task.fold, error)
            return
        fits = [_Fit(machine, np.zeros((self.n, len(targets)))) for machine in task.path]
        left = self._follow_pairs(task, fits, targets, bounds)
        for column in left:
            z, rows = targets[column]
            local = matrix if rows is None else DenseMatrix.of(self.group.K[np.ix_(rows, rows)])
            state, before = None, 1.0
            for fit, bound in zip(fits, bounds, strict=True):
                start = time.perf_counter()
                problem = _margin_problem(fit.machine, z, bound, rows)
                ratio, before = float(bound.max()) / before, float(bound.max())
                with self._limits(fit.machine) as limits:
                    state = follow(local, problem, fit.machine.tol, limits, state, ratio)
                b, _ = problem.offset(state.beta, state.e)
                fit.values[:, column] = b + self._sums(problem, state, rows, task.fold)
                fit.add(time.perf_counter() - start, state.status)
                if column == left[-1]:
                    yield fit.outcome(task.fold)
        if not left:
            yield from (fit.outcome(task.fold) for fit in fits)

    def _follow_pairs(
        self, task: Task, fits: list[_Fit], targets: list[Target], bounds: list[np.ndarray]
    ) -> list[int]:
        """Fit pairs of classes in compiled loops; return the problems that these do not solve."""
        first, every = task.path[0].machine, list(range(len(targets)))
        pairs = [ClassPair(rows, z) for z, rows in targets if rows is not None]
        if len(pairs) < len(targets) or first.max_iter >= 0:
            return every
        start = time.perf_counter()
        asked = self._asked(task.fold)
        with self._limits(first) as limits:
            found = follow_pairs(
                fixed(self.group.K), pairs, np.array(bounds), asked, tol=first.tol, limits=limits
            )
        seconds = (time.perf_counter() - start) / len(fits)
        for fit, values in zip(fits, found.values, strict=True):
            fit.values[asked] = values.T
            fit.add(seconds, Status.OPTIMAL)
        return np.flatnonzero(~found.done).tolist()

    def _targets(self, task: Task) -> list[Target]:
        """Return targets of all rows, 0 where held out; or of some rows, and these."""
        first, train = task.path[0].machine, task.fold.train
        y = self.group.y[train]
        if isinstance(first, SVR):
            return [(spread(self.n, train, y.astype(np.float64)), None)]
        codes = first._codes_of(y)
        for _, machine in task.path:
            machine.classes_ = first.classes_
        members = [np.flatnonzero(codes == code) for code in range(len(first.classes_))]
        targets: list[Target] = []
        for plus, minus in first._problems():
            part = np.sort(np.concatenate([members[plus], members[minus]]))
            if minus < 0 or len(part) == len(train):
                sign = np.where(codes == plus, 1.0, -1.0)
                targets.append((spread(self.n, train, sign), None))
            else:
                targets.append((np.where(codes[part] == plus, 1.0, -1.0), train[part]))
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
            bounds.append(spread(self.n, train, bound))
        return bounds

    @contextmanager
    def _limits(self, machine: Any) -> Iterator[Limits]:
        """Hold the limits of a solve, which ends with the search."""
        limits = Limits.of(machine.max_iter, machine.time_limit, 2**62)
        limits.deadline = min(limits.deadline, self.group.limits.deadline)
        self.running.append(limits)
        if self.stopped:
            limits.interrupt()
        try:
            yield limits
        finally:
            self.running.remove(limits)

    def _asked(self, fold: Fold) -> np.ndarray:
        """Return the rows that may be asked for."""
        return np.arange(self.n) if self.group.train_scores else fold.test

    def _sums(
        self, problem: MarginProblem, state: SmoState, rows: np.ndarray | None, fold: Fold
    ) -> np.ndarray:
        """Return Σ βᵢ k(x, xᵢ) of all rows that may be asked for."""
        if rows is None:
            return problem.z - state.e
        used = np.flatnonzero(state.beta)
        asked, sums = self._asked(fold), np.zeros(self.n)
        sums[asked] = self.group.K[np.ix_(asked, rows[used])] @ state.beta[used]
        return sums


def _margin_problem(
    machine: Any, z: np.ndarray, bound: np.ndarray, rows: np.ndarray | None
) -> MarginProblem:
    if isinstance(machine, SVR):
        return MarginProblem.regress(z, bound, machine.epsilon)
    return MarginProblem.classify(z, bound if rows is None else bound[rows])


class _Fit:
    """One machine in the making: its decision values, a column for each problem."""

    def __init__(self, machine: PathMachine, values: np.ndarray):
        self.number, self.machine = machine
        self.values, self.seconds, self.status = values, 0.0, Status.OPTIMAL

    def add(self, seconds: float, status: Status) -> None:
        self.seconds += seconds
        self.status = self.status if status.ok else status

    def outcome(self, fold: Fold) -> Outcome:
        if not self.status.ok:
            warn_of(self.machine, self.status)
        values = self.values[:, 0] if isinstance(self.machine, SVR) else self.values
        answers, ended = FoldAnswers(self.machine, values), self.status is Status.INTERRUPTED
        return Outcome(self.number, fold.number, answers, self.seconds, None, ended)
