"""The route of support vector machines: all C along one path, all folds on one matrix.

A held-out point has the bounds 0 ≤ β ≤ 0: it takes no part, but its residual is kept up to date, so
that its decision value is there when the solver stops. Folds run side by side in threads.
"""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._array import n_threads
from mercer._estimator import check_weights
from mercer._limits import Limits
from mercer.machines import SVC, SVR
from mercer.margin import MarginProblem
from mercer.result import Status
from mercer.select.gram_route import GramRoute
from mercer.select.routes import Fold, Group, Outcome, unfitted
from mercer.select.settings import Setting, set_up
from mercer.select.turns import in_threads
from mercer.solvers import DenseMatrix, SmoState, follow


class MarginRoute:
    """Fit `SVC` and `SVR` along paths of C."""

    def accepts(self, estimator: Any) -> bool:
        """Whether the estimator is one of these machines."""
        return type(estimator) in (SVC, SVR)

    def dtype(self, n: int) -> Any:
        """Return float64: decision values come from the solver's own residuals."""
        return np.float64

    def run(self, group: Group) -> Iterator[Outcome]:
        """Yield each candidate on each fold; what needs more than a path goes by its own fits."""
        settings, apart = set_up(group, _is_plain)
        if np.ndim(group.y) != 1:  # each fit says what is wrong with it
            settings, apart = [], group.candidates
        if settings:
            yield from _Paths(group).run(settings)
        if apart:
            yield from GramRoute().run(group._replace(candidates=apart))


class Task(NamedTuple):
    """Settings that differ in C alone, in the order of C, on one fold."""

    path: list[Setting]
    fold: Fold
    fit_params: dict[str, Any]


def _is_plain(machine: Any) -> bool:
    # calibration needs folds of its own; a hard margin may not exist
    return not getattr(machine, "probability", False) and bool(np.isfinite(machine.C))


def _paths(settings: list[Setting]) -> list[list[Setting]]:
    """Return lists of settings that differ in C (or λ) alone, in the order of C."""

    def others(setting: Setting) -> str:
        params = setting.machine.get_params(deep=False)
        return repr({k: v for k, v in params.items() if k not in ("C", "lam", "kernel")})

    def size(setting: Setting) -> float:
        lam = getattr(setting.machine, "lam", None)
        return setting.machine.C if lam is None else 1.0 / lam

    ordered = sorted(settings, key=others)
    return [sorted(same, key=size) for _, same in groupby(ordered, key=others)]


class _Paths:
    """All paths of a group, folds side by side."""

    def __init__(self, group: Group):
        self.group = group
        self.n = len(group.y)
        self.whole = DenseMatrix.of(group.K)
        self.running: list[Limits] = []
        self.stopped = False

    def run(self, settings: list[Setting]) -> Iterator[Outcome]:
        folds = list(zip(self.group.folds, self.group.fit_params, strict=True))
        tasks = deque(Task(path, *fold) for path in _paths(settings) for fold in folds)
        workers = [tasks] * min(n_threads(), len(tasks))
        yield from in_threads(self._work, workers, self._interrupt)

    def _interrupt(self) -> None:
        """End the solves that nobody waits for, and those that are about to begin."""
        self.stopped = True
        for limits in tuple(self.running):
            limits.interrupt()

    def _work(self, tasks: deque[Task]) -> Iterator[Outcome]:
        matrix = self.whole.beside()
        while tasks and not self.group.expired:
            try:
                task = tasks.popleft()
            except IndexError:  # another thread was quicker
                return
            yield from self._follow(matrix, task)

    def _follow(self, matrix: DenseMatrix, task: Task) -> Iterator[Outcome]:
        """Yield the outcomes of one path on one fold, each when its last problem is solved."""
        try:
            targets, bounds = self._targets(task), self._bounds(task)
        except Exception as error:  # one class, weights below 0, …
            for setting in task.path:
                yield Outcome(setting.candidate.number, task.fold.number, None, 0.0, error)
            return
        fits = [_Fit(setting, np.zeros((self.n, len(targets)))) for setting in task.path]
        for column, (z, rows) in enumerate(targets):
            local = matrix if rows is None else DenseMatrix.of(self.group.K[np.ix_(rows, rows)])
            state, before = None, 1.0
            for fit, bound in zip(fits, bounds, strict=True):
                start = time.perf_counter()
                problem = _margin_problem(fit.setting.machine, z, bound, rows)
                ratio, before = float(bound.max()) / before, float(bound.max())
                state = self._solve(local, problem, fit.setting.machine, state, ratio)
                b, _ = problem.offset(state.beta, state.e)
                fit.answers[:, column] = b + self._sums(problem, state, rows, task.fold)
                fit.add(time.perf_counter() - start, state.status)
                if column == len(targets) - 1:
                    yield fit.outcome(task.fold)

    def _targets(self, task: Task) -> list[tuple[np.ndarray, np.ndarray | None]]:
        """Return targets of all rows, 0 where held out, and the rows of a problem on some."""
        machine, train = task.path[0].machine, task.fold.train
        y = self.group.y[train]
        if isinstance(machine, SVR):
            return [(_spread(self.n, train, y.astype(np.float64)), None)]
        codes = machine._codes_of(y)
        for setting in task.path:
            setting.machine.classes_ = machine.classes_
        targets = []
        for plus, minus in machine._problems():
            part = (codes == plus) | (codes == minus) | (minus < 0)
            z = _spread(self.n, train, np.where(codes == plus, 1.0, -1.0) * part)
            targets.append((z, None if part.all() else np.flatnonzero(z)))
        return targets

    def _bounds(self, task: Task) -> list[np.ndarray]:
        """Return the bounds of the coefficients of all rows for each setting, 0 where held out."""
        train = task.fold.train
        weight = check_weights(task.fit_params.get("sample_weight"), len(train))
        bounds = []
        for setting in task.path:
            machine = setting.machine
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
        if self.group.deadline is not None:
            limits.deadline = min(limits.deadline, self.group.deadline)
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


def _spread(n: int, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    out = np.zeros(n)
    out[rows] = values
    return out


def _margin_problem(
    machine: Any, z: np.ndarray, bound: np.ndarray, rows: np.ndarray | None
) -> MarginProblem:
    if isinstance(machine, SVR):
        return MarginProblem.regress(z, bound, machine.epsilon)
    return MarginProblem.classify(*((z, bound) if rows is None else (z[rows], bound[rows])))


class _Fit:
    """One machine in the making: its answers for all rows, a column for each problem."""

    def __init__(self, setting: Setting, answers: np.ndarray):
        self.setting, self.answers = setting, answers
        self.seconds, self.status = 0.0, Status.OPTIMAL

    def add(self, seconds: float, status: Status) -> None:
        self.seconds += seconds
        self.status = self.status if status.ok else status

    def outcome(self, fold: Fold) -> Outcome:
        answers = self.answers
        machine: Any = unfitted(self.setting.machine)
        machine.status_ = self.status.name.lower()
        if not self.status.ok:
            text = f"{type(machine).__name__}: {self.status.advice}"
            warnings.warn(text, ConvergenceWarning, stacklevel=2)
        name, values = (
            ("_values", answers[:, 0]) if type(machine) is SVR else ("_raw_decision", answers)
        )
        setattr(machine, name, values.__getitem__)
        return Outcome(self.setting.candidate.number, fold.number, machine, self.seconds)
