"""Fitting of classifiers by margin problems: labels, bounds, one problem a pair of classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from itertools import combinations, groupby, pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._array import n_threads, run_tiles
from mercer._floats import LEAST_DIVISOR
from mercer._labels import class_codes, class_factors
from mercer._limits import Limits
from mercer._state import Attribute, Either, Floats, Integers, Labels, per_class, per_pair
from mercer.gram import Gram, PairBlocks
from mercer.kernels.sample import Sample
from mercer.machines._margin import MarginEstimator, merged, require_weights
from mercer.machines._pairs import fit_slopes, held_out_values, store_pair
from mercer.margin import MarginProblem
from mercer.result import Status
from mercer.solvers import MarginSolution, SmoState, is_dense, solve_many, solve_margin

INTERRUPTED = Status.INTERRUPTED.name.lower()
SIDE_BY_SIDE = 500  # points; with fewer a second thread costs more than it saves


class Training(NamedTuple):
    """Training data, sorted by class unless the matrix is given."""

    K: Gram
    exact: Callable[[], Gram]  # K in float64, if it comes to that
    points: list[np.ndarray]  # positions of each class in K, increasing
    weight: np.ndarray  # of each position
    order: np.ndarray  # positions → rows of X
    sample: Sample


class MarginClassifier(MarginEstimator):
    """What turns labels into margin problems, and their solutions into a fitted machine."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "classes_": Labels("classes"),
        "n_support_": Integers("classes"),
        "dual_coef_": Floats("problems of a point", "support"),
        "intercept_": Either(Floats(per_class), Floats(per_pair)),
        "n_iter_": Integers("problems"),
        "margin_": Either(Floats(), Floats("problems")),
    }

    C: float
    lam: float | None
    class_weight: Any
    multiclass: str
    classes_: np.ndarray

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> Training:
        """Check the input, sort it by class, and set up the Gram matrix."""
        self._validate_params()
        sample, y, weight = self._fit_rows(X, y, sample_weight)
        codes = self._codes_of(y)
        bounds = self._bounds(y, codes, weight)
        counts = np.bincount(codes)
        edges = np.concatenate([[0], np.cumsum(counts)])
        if self._pairwise:  # a given matrix stays where it is
            order = np.arange(len(codes))
            points = [np.flatnonzero(codes == c) for c in range(len(counts))]
        else:
            order = np.argsort(codes, kind="stable")
            points = [np.arange(a, b) for a, b in pairwise(edges)]
            sample = Sample(sample[order].data)
        exact = cache(lambda: self._gram(sample, groups=edges, dtype=np.float64))
        K = self._gram(sample, groups=edges) if np.isfinite(bounds).all() else exact()
        return Training(K, exact, points, bounds[order], order, sample)

    def _codes_of(self, y: np.ndarray) -> np.ndarray:
        """Find the classes; return the number of each label's class."""
        self.classes_, codes = class_codes(y)
        return codes

    def _bounds(self, y: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the bound of each point's coefficient: C, or 1/(2nλ), times its weights."""
        share = weight
        if self.class_weight is not None:
            factors = class_factors(self.class_weight, self.classes_, codes, weight)
            share = weight * factors[codes]
        C = self._bound(weight)
        bounds = C * share if np.isfinite(C) else np.where(weight > 0, C, 0.0)
        require_weights(self.classes_, codes, bounds)
        return bounds

    def _bound(self, weight: np.ndarray) -> float:
        """Return the bound of a coefficient of weight 1."""
        return self.C if self.lam is None else 1.0 / (2.0 * self.lam * float(weight.sum()))

    def _problems(self) -> list[tuple[int, int]]:
        """Return the pairs (class of sign +1, class of sign −1); −1 stands for all others."""
        k = len(self.classes_)
        if k == 2:
            return [(1, 0)]
        if self.multiclass == "ovo":
            return list(combinations(range(k), 2))
        return [(c, -1) for c in range(k)]

    @property
    def _solve_one(self) -> Callable[..., MarginSolution]:
        """What solves one problem."""
        return solve_margin

    def _solve(
        self,
        training: Training,
        limits: Limits,
        starts: list[SmoState] | None = None,
        ratio: float = 1.0,
    ) -> list[MarginSolution]:
        """Solve all problems; ``starts`` hold the solutions for C / ratio."""
        pairs = self._problems()
        parts = [self._problem_of(training, *pair) for pair in pairs]
        names = [self._name(*pair) for pair in pairs]
        begun = self._begun(training, parts, names, limits, starts, ratio)
        solutions = [one if isinstance(one, MarginSolution) else None for one in begun]

        def solve(number: int, worker: int = 0, values: Any = None) -> None:
            index, problem = parts[number]
            solution = self._solve_one(
                training.K,
                index,
                problem,
                tol=self.tol,
                limits=limits,
                start=begun[number],
                exact=training.exact,
                values=values,
                about=names[number],
            )
            solutions[number] = self._separated(solution, names[number])

        left = [number for number, solution in enumerate(solutions) if solution is None]
        try:
            self._in_threads(solve, left, training, limits)
        except KeyboardInterrupt:
            limits.interrupt()
        for number in left:
            if solutions[number] is None:  # interrupted: the start is the best so far
                solve(number)
        return solutions  # type: ignore[return-value]

    def _separated(self, solution: MarginSolution, name: str) -> MarginSolution:
        """Return a solution; raise if a hard margin is asked for and there is none."""
        if solution.status is Status.NOT_SEPARABLE:
            raise ValueError(
                f"C=inf asks for a hard margin, but {self.kernel_!r} does not separate the "
                f"classes ({name}), or by less than rounding: choose a finite C"
            )
        return solution

    def _begun(
        self,
        training: Training,
        parts: list[tuple[np.ndarray, MarginProblem]],
        names: list[str],
        limits: Limits,
        starts: list[SmoState] | None,
        ratio: float,
    ) -> list[MarginSolution | SmoState | None]:
        """Return what is known of each problem before it is solved by itself.

        That is its solution, a state to go on from, or nothing.
        """
        if starts is not None:
            both = zip(starts, parts, strict=True)
            return [start.scaled(problem.z, ratio) for start, (_, problem) in both]
        if self._solve_one is not solve_margin:
            return [None] * len(parts)
        return solve_many(training.K, parts, tol=self.tol, limits=limits, about=names)

    def _in_threads(
        self, solve: Callable[..., None], left: list[int], training: Training, limits: Limits
    ) -> None:
        """Solve the problems that are left, side by side where their values fit into memory."""
        pairs, K = self._problems(), training.K
        sizes = [len(points) for points in training.points]
        largest = len(training.order) if min(pairs)[1] < 0 else sum(sorted(sizes)[-2:])
        few = len(training.order) < SIDE_BY_SIDE
        if few or not is_dense(K, largest, limits.memory // (2 * n_threads())):
            for number in left:
                solve(number)
            return
        blocks_fit = PairBlocks.nbytes(sizes, K.dtype.itemsize) <= limits.memory // 2
        few_pairs = 2 * len(left) < len(pairs)  # which do not use most of the blocks
        if not self._by_pairs or few_pairs or K.keeps_rows or not blocks_fit:
            run_tiles(solve, left, n_threads(), limits.interrupt)
            return
        blocks = PairBlocks(K, training.points)
        for first, numbers in groupby(left, key=lambda number: pairs[number][0]):
            blocks.start(first)

            def solve_pair(number: int, worker: int) -> None:
                solve(number, values=lambda: blocks.matrix(*pairs[number]))

            run_tiles(solve_pair, list(numbers), n_threads(), limits.interrupt)

    def _calibrate(self, training: Training, limits: Limits) -> np.ndarray:
        """Return the slopes of each problem's probabilities from held-out decision values."""
        slopes = []
        for plus, minus in self._problems():
            index, sign = self._points_of(training, plus, minus)
            weight = training.weight[index]
            held_out = held_out_values(
                training.K, index, sign, weight, self.tol, limits, training.exact, self._solve_one
            )
            share = weight / max(float(weight[np.isfinite(weight)].max(initial=1.0)), LEAST_DIVISOR)
            slopes.append(fit_slopes(held_out, sign, np.where(np.isfinite(weight), share, 1.0)))
        if limits.interrupted:
            self._say_interrupted()
        return np.array(slopes)

    def _say_interrupted(self) -> None:
        """Say that probabilities were ended by a Ctrl-C, which the machine itself may not show."""
        if self.status_ != INTERRUPTED:
            self.status_ = INTERRUPTED
            words = "Ctrl-C ended the held-out fits for probabilities, which are rough therefore"
            warnings.warn(f"{type(self).__name__}: {words}", ConvergenceWarning, stacklevel=4)

    def _problem_of(
        self, training: Training, plus: int, minus: int
    ) -> tuple[np.ndarray, MarginProblem]:
        """Return the points of a problem and the problem."""
        index, sign = self._points_of(training, plus, minus)
        return index, MarginProblem.classify(sign, training.weight[index])

    @staticmethod
    def _points_of(training: Training, plus: int, minus: int) -> tuple[np.ndarray, np.ndarray]:
        if minus < 0:
            index = np.arange(len(training.order))
        else:
            both = np.concatenate([training.points[plus], training.points[minus]])
            index = np.sort(both, kind="stable")  # mostly two runs, which merge in one pass
        sign = np.full(len(training.order), -1.0)
        sign[training.points[plus]] = 1.0
        return index, sign[index]

    def _name(self, plus: int, minus: int) -> str:
        rest = "the rest" if minus < 0 else self.classes_[minus]
        return f"{self.classes_[plus]} against {rest}"

    def _finish(self, training: Training, solutions: list[MarginSolution]) -> None:
        """Store the fitted machine and its proof."""
        self._store(training, solutions)
        self._accept(merged(solutions))

    def _store(self, training: Training, solutions: list[MarginSolution]) -> None:
        """Store the fitted machine."""
        n_rows = len(self.classes_) - 1 if self._by_pairs else len(solutions)
        coefs = np.zeros((n_rows, len(training.order)))
        for number, (plus, minus) in enumerate(self._problems()):
            row = np.zeros(len(training.order))
            row[self._points_of(training, plus, minus)[0]] = solutions[number].value
            if self._by_pairs:
                store_pair(coefs, row, training.points, plus, minus)
            else:
                coefs[number] = row
        used = np.flatnonzero(coefs.any(axis=0))
        code = np.empty(len(training.order), np.intp)
        for c, points in enumerate(training.points):
            code[points] = c
        used = used[np.argsort(code[used], kind="stable")]
        self.n_support_ = np.bincount(code[used], minlength=len(self.classes_)).astype(np.int32)
        self._keep_support(training.sample, used)
        self.support_ = training.order[used].astype(np.int32)
        self.dual_coef_ = coefs[:, used]
        self._keep_figures(solutions)

    def _keep_figures(self, solutions: list[MarginSolution]) -> None:
        """Store the offset, the steps and the margin of each problem."""
        self.intercept_ = np.array([s.intercept for s in solutions], dtype=np.float64)
        self._keep_margins(solutions)

    def _keep_margins(self, solutions: list[MarginSolution]) -> None:
        self.n_iter_ = np.array([s.stats["steps"] for s in solutions])
        norms = np.array([s.squared_norm for s in solutions])
        margins = np.divide(
            1.0, np.sqrt(np.abs(norms)), out=np.full(len(norms), np.inf), where=norms > 0
        )
        self.margin_ = margins[0] if len(margins) == 1 else margins

    @property
    def _by_pairs(self) -> bool:
        return self.multiclass == "ovo" and len(self.classes_) > 2

    @property
    def _is_compact(self) -> bool:
        """Whether coefficients of pairs of classes are in LIBSVM's layout."""
        return self._by_pairs
