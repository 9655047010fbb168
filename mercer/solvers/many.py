"""Many margin problems on parts of the same points, solved side by side and proved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer._array import n_threads, run_tiles
from mercer._floats import EPS
from mercer._limits import Limits
from mercer._scratch import scratch
from mercer.certify import gap_proof
from mercer.gram import BlockedGram, DenseGram, Gram
from mercer.kernels.direct import Differences, fixed
from mercer.kernels.tiles import differences
from mercer.margin import Figures, MarginProblem
from mercer.result import Status
from mercer.solvers import _many_loops as loops
from mercer.solvers.dense import OPERATIONS_BETWEEN_CHECKS as BETWEEN
from mercer.solvers.margin import (
    CLEARANCE,
    DENSE_UP_TO,
    MarginSolution,
    exact_residuals,
    hidden_gap,
)
from mercer.solvers.smo import SmoState

CHECK_ALL = 2**17  # kernel values of a proof that leaves out no point, of rows of few columns
FEW_COLUMNS = 16
SQUARES_TOGETHER = 2**24  # kernel values of what a thread solves before it looks at the clock
MOST_OF_PROOFS = 256  # columns of rows whose proofs are compiled: those of many pairs at once
SIDE_BY_SIDE = 2000  # points of all problems that are worth a second thread
FETCHED_SHARE = 0.4  # share of its rows that a problem fetches one by one
LEFT_ALONE_SHARE = 0.15  # the same of one without others, whose rows all threads can compute

Part = tuple[np.ndarray, MarginProblem]


class KernelSource(NamedTuple):
    """Where compiled loops find rows of a Gram matrix: one of the two is empty."""

    matrix: np.ndarray
    rows: Differences

    @classmethod
    def of(cls, K: Gram) -> KernelSource | None:
        """Return it, or None if K has neither."""
        if type(K) is BlockedGram and K.symmetric:
            rows = differences(K.kernel, K.X, K.Y, K.dtype)
            return None if rows is None else cls(fixed(np.empty((0, 0), K.dtype)), rows)
        if type(K) is DenseGram and K.symmetric:
            return cls(fixed(K.toarray()), Differences.none(K.dtype))
        return None

    @property
    def is_matrix(self) -> bool:
        return len(self.matrix) > 0


def solve_many(
    K: Gram, parts: Sequence[Part], *, tol: float, limits: Limits, about: Sequence[str] = ("",)
) -> list[MarginSolution | SmoState | None]:
    """Solve margin problems from nothing, all in compiled loops, and prove them.

    Each part is the points of a problem, increasing, and the problem; all have the same ε, finite
    bounds and Σβ = 0.

    Returns
    -------
    list
        A solution with its proof; or the state in which a hard problem was left to `solve_margin`;
        or None for what was not begun. All are None where K has no rows that loops can read.
    """
    nothing: list[MarginSolution | SmoState | None] = [None] * len(parts)
    most = max(len(index) for index, _ in parts)
    source, workers = KernelSource.of(K), n_threads()
    if source is None or not _is_plain(parts, limits) or most > DENSE_UP_TO:
        return nothing
    if source.is_matrix and len(parts) == 1 and most > SIDE_BY_SIDE:
        return nothing  # a copy of the matrix would take longer than it saves
    if 2 * workers * most * most * K.dtype.itemsize > limits.memory:
        return nothing
    many = _Many(K, source, parts, tol, about)
    workers = workers if len(many.z) > SIDE_BY_SIDE else 1
    try:
        many.solve(limits, workers)
    except KeyboardInterrupt:  # what is done is kept, the rest is for others to end in good order
        limits.interrupt()
    if not many.begun.any():
        return nothing
    many.prove(workers)
    return many.solutions()


def _is_plain(parts: Sequence[Part], limits: Limits) -> bool:
    finite = all(np.isfinite(p.hi).all() and np.isfinite(p.lo).all() for _, p in parts)
    same = len({p.eps for _, p in parts}) == 1
    return finite and same and limits.max_iter < 0 and not any(p.total for _, p in parts)


def _rows_in_double(K: Gram) -> Differences | None:
    """Return the rows that proofs in compiled loops compute values from; None without such."""
    exact = K.in_double()
    if type(exact) is not BlockedGram:
        return None
    return differences(exact.kernel, exact.X, exact.Y, exact.dtype, most_columns=MOST_OF_PROOFS)


class _Many:
    """All problems, one after the other in arrays."""

    def __init__(
        self, K: Gram, source: KernelSource, parts: Sequence[Part], tol: float, about: Sequence[str]
    ):
        self.K, self.source, self.parts = K, source, parts
        self.tol, self.about = tol, about
        count = len(parts)
        self.offsets = np.cumsum([0, *(len(index) for index, _ in parts)])
        self.index = np.concatenate([index for index, _ in parts]).astype(np.int64)
        self.z, self.lo, self.hi = (
            np.concatenate([getattr(problem, name) for _, problem in parts])
            for name in ("z", "lo", "hi")
        )
        self.eps = float(parts[0][1].eps)
        self.diagonal = K.diagonal().astype(np.float64)[self.index]
        self.beta, self.e = np.zeros(len(self.z)), self.z.astype(np.float64)
        self.steps, self.checked = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.begun, self.done = np.zeros(count, bool), np.zeros(count, bool)

    @property
    def is_alone(self) -> bool:
        """Whether there is one problem, large enough for all threads."""
        return len(self.parts) == 1 and len(self.z) > SIDE_BY_SIDE

    def solve(self, limits: Limits, workers: int) -> None:
        most = int(np.diff(self.offsets).max())
        rooms = [
            [scratch((most * most,), self.K.dtype, brief=True) for _ in range(2)]
            for _ in range(workers)
        ]

        plan = LEFT_ALONE_SHARE, FETCHED_SHARE, SIDE_BY_SIDE, (4 if self.is_alone else 1) * BETWEEN

        def work(todo: np.ndarray, worker: int) -> None:
            if limits.stopped():
                return
            matrix, room = rooms[worker]
            self.begun[todo] = True
            loops.solve_each(
                *self.source, todo, self.offsets, self.index, self.diagonal, self.z, self.lo,
                self.hi, self.eps, self.tol, *plan, matrix, fixed(matrix), room, fixed(room),
                self.beta, self.e, self.steps, self.done,
            )  # fmt: skip

        run_tiles(work, self._shares(workers), workers, limits.interrupt)

    def _shares(self, workers: int) -> list[np.ndarray]:
        """Return the numbers of problems that a thread takes at once."""
        count = len(self.parts)
        most = int(np.diff(self.offsets).max())
        size = max(1, min(count // (4 * workers), SQUARES_TOGETHER // most**2))
        return [np.arange(i, min(i + size, count)) for i in range(0, count, size)]

    def prove(self, workers: int) -> None:
        """Set the residuals to exact ones."""
        if self.K.dtype == np.float64 and self.source.is_matrix:
            self.checked = np.diff(self.offsets)
            return
        exact = None if self.is_alone else _rows_in_double(self.K)
        if exact is None:
            self._prove_one_by_one()
            return
        check_all = CHECK_ALL * FEW_COLUMNS // max(FEW_COLUMNS, exact.X.shape[1])
        clearance = np.maximum(CLEARANCE, 4 * self._errors(check_all))

        def work(todo: np.ndarray, worker: int) -> None:
            loops.residuals_each(
                exact, todo[self.done[todo]], self.offsets, self.index, self.z, self.lo, self.hi,
                self.eps, check_all, clearance, self.beta, self.e, self.checked,
            )  # fmt: skip

        run_tiles(work, self._shares(workers), workers)

    def _errors(self, check_all: int) -> np.ndarray:
        """Return how far the residuals of each problem may be off, where proofs ask: k(x, x) is 1.

        The offset, which they tell, may be off as much.
        """
        sizes = np.add.reduceat(np.abs(self.beta), self.offsets[:-1])
        if int(np.diff(self.offsets).max()) ** 2 <= check_all:
            return np.full(len(sizes), np.inf)
        return np.maximum(sizes, 1.0) * self.K.value_error()

    def _prove_one_by_one(self) -> None:
        work = CHECK_ALL * self.K.in_double().work // len(self.parts)
        for number in np.flatnonzero(self.done).tolist():
            (index, problem), part = self.parts[number], self._part(number)
            state = SmoState(self.beta[part], self.e[part])
            self.e[part], self.checked[number] = exact_residuals(
                self.K, index, problem, state, work
            )

    def _part(self, number: int) -> slice:
        return slice(self.offsets[number], self.offsets[number + 1])

    def solutions(self) -> list[MarginSolution | SmoState | None]:
        count = len(self.parts)
        b, pair, size = np.empty((3, count))
        figures = np.empty((count, len(Figures._fields)))
        loops.figures_each(
            self.offsets, self.z, self.lo, self.hi, self.eps, self.beta, self.e, b, pair, size,
            figures,
        )  # fmt: skip
        columns: list[list[Any]] = [
            values.tolist() for values in (b, pair, size, self._most_hidden(), figures)
        ]
        return [
            self._solution(number, *each) for number, each in enumerate(zip(*columns, strict=True))
        ]

    def _most_hidden(self) -> np.ndarray:
        """Return bounds of what rounding may hide of each gap; `hidden_gap` looks closer."""
        sizes, slope = np.sqrt(np.abs(self.diagonal)), np.maximum(self.hi, -self.lo)
        slope = np.where(np.isfinite(slope), slope, np.abs(self.beta))
        begin = self.offsets[:-1]
        moved = EPS * np.add.reduceat(sizes * np.abs(self.beta), begin)
        return 2.0 * moved * np.add.reduceat(sizes * slope, begin)

    def _solution(
        self, number: int, b: float, pair: float, size: float, most: float, figures: list[float]
    ) -> MarginSolution | SmoState | None:
        if not self.begun[number]:
            return None
        part, steps = self._part(number), int(self.steps[number])
        state = SmoState(self.beta[part], self.e[part], pair, steps)
        found = Figures._make([*figures[:-2], *map(int, figures[-2:])])
        extra = {"checked": int(self.checked[number]), "steps": steps, "storage": self.K.storage}
        problem = self.parts[number][1]
        proof = gap_proof(
            problem, found, b, pair, size,
            tolerance=self.tol, about=self.about[number], extra=extra,
        )  # fmt: skip
        if not (self.done[number] and proof.ok and found.squared_norm >= 0):
            return state
        primal, dual, *_ = problem.objectives(found, b)
        in_doubt = most > self.tol * max(abs(primal), abs(dual))
        if in_doubt and hidden_gap(problem, state.beta, state.e, self.diagonal[part]) > self.tol:
            return state
        norm2 = found.squared_norm
        return MarginSolution(state.beta, Status.OPTIMAL, proof, b, {"steps": steps}, state, norm2)
