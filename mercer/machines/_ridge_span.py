"""Ridge machines in the span of landmarks, and over rows that are read in blocks."""

from __future__ import annotations

import logging
import sys
from hashlib import sha256
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted

from mercer._array import as_index, parse_memory
from mercer._estimator import check_weights, is_precomputed
from mercer._state import Attribute, Floats, Instance, Maybe
from mercer._threads import one_blas_thread
from mercer.kernels import Kernel
from mercer.kernels.sample import Sample
from mercer.machines._expansion import KernelExpansion
from mercer.machines._row_problems import Encode, RowProblem, matching
from mercer.rows import Rows
from mercer.rows.checkpoint import Checkpoint, Passes
from mercer.solvers.ridge_falkon import solve_ridge_cg
from mercer.solvers.ridge_folds import FoldErrors
from mercer.solvers.ridge_landmarks import cross_validated, solve_ridge_landmarks
from mercer.solvers.ridge_path import check_lams
from mercer.solvers.ridge_route import RidgeRoute, choose_route, forecast
from mercer.solvers.ridge_run import SpanSolution
from mercer.solvers.span import InMemory, Span, SpanProblem

SAMPLE_ROWS = 2**15  # rows of a file that γ="scale" and the like are bound to
CHOOSING = 2000  # landmarks by which λ is chosen where there are too many for normal equations
LOG = logging.getLogger("mercer")


class Prepared(NamedTuple):
    """What a fit in passes starts from."""

    points: Sample  # the landmarks
    numbers: np.ndarray  # theirs among the rows
    problem: RowProblem
    shift: np.ndarray
    passes: Passes


class SpanEstimator(KernelExpansion):
    """A machine that may seek its function in the span of landmarks, and learn from `Rows`."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "route_": Instance(str),
        "_cv_error": Maybe(Floats("penalties")),
    }

    lam: Any
    fit_intercept: bool
    landmarks: Any
    random_state: Any
    memory: Any
    route: str = "auto"
    checkpoint: str | None = None
    _cv_error: np.ndarray | None

    # ------------------------------------------------------------ the route
    def _route_of(self, n: int, n_columns: int, n_targets: int, *, in_memory: bool) -> RidgeRoute:
        """Choose the route, and say what it will take."""
        given = self.landmarks
        number = None if given is None else int(given) if np.ndim(given) == 0 else len(given)
        route = choose_route(
            self.route,
            n,
            n_columns,
            number,
            n_targets=n_targets,
            several=self._several(),
            in_memory=in_memory,
            budget=parse_memory(self.memory),
        )
        LOG.info("%s: %s rows by %s", type(self).__name__, f"{n:,}", route)
        return route

    def _several(self) -> bool:
        return not isinstance(self.lam, Real)

    def _chosen(self, sample: Sample, used: np.ndarray, m: int) -> tuple[np.ndarray, Sample]:
        """Return the numbers of the landmarks among rows in memory (none if given), and these."""
        if np.ndim(self.landmarks) == 2:
            points = Sample(self.kernel_.sample(self.landmarks, "landmarks").data)
            self.kernel_.check_pair(sample, points)
            return np.empty(0, np.intp), points
        if np.ndim(self.landmarks) == 1:
            index = as_index(self.landmarks, len(sample), "landmarks")
        else:
            index = used[self._drawn(len(used), m)]
        return index, sample[index]

    def _drawn(self, n: int, m: int) -> np.ndarray:
        """Return m of n numbers, drawn at random, sorted."""
        random = check_random_state(self.random_state)
        return np.sort(sample_without_replacement(n, min(m, n), random_state=random))

    # ------------------------------------------------------------ the solution in a span
    def _lams_of_span(self) -> Any:
        """Return λ, the λ to choose from, or None for a grid."""
        if isinstance(self.lam, Real):
            return float(self.lam)
        return None if isinstance(self.lam, str) else check_lams(self.lam, "lam")

    def _solve_in_span(
        self,
        points: Sample,
        problem: SpanProblem,
        route: RidgeRoute,
        shift: np.ndarray,
        passes: Passes,
    ) -> SpanSolution:
        budget, lams = parse_memory(self.memory), self._lams_of_span()
        span = Span(self.kernel_, points, budget)
        if LOG.isEnabledFor(logging.INFO):
            with one_blas_thread():
                LOG.info("about %.1f s", forecast(span, points, problem.n, route))
        options: dict[str, Any] = {
            "fit_intercept": self.fit_intercept,
            "shift": shift,
            "passes": passes,
        }
        if route.name == "normal":
            return solve_ridge_landmarks(span, problem, lams, **options)
        if isinstance(lams, float):
            return solve_ridge_cg(span, problem, lams, **options)
        errors = cross_validated(self._choosing_span(points), problem, lams, **options)
        return solve_ridge_cg(span, problem, errors.best, errors=errors, **options)

    def _solve_rows_in_memory(
        self, rows: Sample, points: Sample, Y: np.ndarray, weight: np.ndarray, route: RidgeRoute
    ) -> SpanSolution:
        shift = weight @ Y / weight.sum()
        return self._solve_in_span(points, InMemory(rows, Y, weight), route, shift, Passes())

    # ------------------------------------------------------------ rows in blocks
    def _targets_of_rows(self, rows: Rows, weight: np.ndarray | None) -> tuple[Encode, int, bool]:
        """Return what makes numbers of targets, how many, and whether y has no axis for them."""
        raise NotImplementedError

    def _with_target(self, X: Rows, y: Any) -> Rows:
        rows = X if y is None else X.with_target(np.asarray(y))
        if not rows.has_target:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed: these rows have no target; open "
                f"them with target='name of a column', or pass y"
            )
        return rows

    def _keep_columns(self, rows: Rows) -> None:
        self.n_features_in_ = rows.n_columns
        if rows.columns is not None:
            self.feature_names_in_ = np.asarray(rows.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def cross_validated(self, rows: Rows, sample_weight: Any = None) -> FoldErrors:
        """Return the errors of all λ over five folds, from one pass over rows in blocks.

        Parameters
        ----------
        rows : Rows
            With targets.
        sample_weight : array of shape (n,), default=None
            Weights ≥ 0.
        """
        weight = self._weights_of_rows(sample_weight, rows.n)
        encode, n_targets, _ = self._targets_of_rows(rows, weight)
        route = self._route_of(*rows.shape, n_targets, in_memory=False)
        task = self._prepared(rows, route, weight, (encode, n_targets))
        span = self._choosing_span(task.points)
        lams = self._lams_of_span()
        given = np.array([lams]) if isinstance(lams, float) else lams
        return cross_validated(
            span,
            task.problem,
            given,
            fit_intercept=self.fit_intercept,
            shift=task.shift,
            passes=task.passes,
        )

    def _choosing_span(self, points: Sample) -> Span:
        some = points[_spread(len(points), CHOOSING)]
        return Span(self.kernel_, some, parse_memory(self.memory))

    def _solve_in_passes(
        self, rows: Rows, route: RidgeRoute, weight: np.ndarray | None, targets: tuple[Encode, int]
    ) -> tuple[SpanSolution, Any, np.ndarray]:
        """Return the solution, the landmarks and their numbers."""
        task = self._prepared(rows, route, weight, targets)
        solution = self._solve_in_span(task.points, task.problem, route, task.shift, task.passes)
        return solution, task.points.data, task.numbers

    def _prepared(
        self, rows: Rows, route: RidgeRoute, weight: np.ndarray | None, targets: tuple[Encode, int]
    ) -> Prepared:
        """Draw the landmarks, and bind the kernel to some of the rows."""
        kernel = self._kernel_of_rows()
        passes = Passes(rows.check_unchanged, self._checkpoint_of(rows, weight))
        index, some = passes.once(
            lambda: (self._numbers(rows.n, route.landmarks), self._drawn(rows.n, SAMPLE_ROWS))
        )
        both = rows.take_both(np.concatenate([index, some]))
        m = len(index)
        sample = kernel.sample(both.X[m:])
        self.kernel_ = kernel.bind(sample, None if weight is None else weight[some])
        Y, w = targets[0](both.y[m:], np.ones(len(some)) if weight is None else weight[some])
        shift = w @ Y / w.sum() if w.any() else Y.mean(axis=0)
        problem = RowProblem(rows, self.kernel_, targets[0], weight, targets[1])
        given = self.landmarks if np.ndim(self.landmarks) == 2 else both.X[:m]
        points = self.kernel_.sample(given, "landmarks")
        self.kernel_.check_pair(sample, points)
        return Prepared(points, index, problem, shift, passes)

    def _kernel_of_rows(self) -> Kernel:
        kernel = self._given_kernel()
        if kernel.domain != "vectors" or is_precomputed(kernel):
            raise TypeError(f"rows in blocks need a kernel of numbers; got {kernel!r}")
        return kernel

    def _numbers(self, n: int, m: int) -> np.ndarray:
        """Return the numbers of the landmarks among rows in blocks; none if they are given."""
        if np.ndim(self.landmarks) == 1:
            return as_index(self.landmarks, n, "landmarks")
        return np.empty(0, np.intp) if np.ndim(self.landmarks) == 2 else self._drawn(n, m)

    def _checkpoint_of(self, rows: Rows, weight: np.ndarray | None) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        left_out = ("checkpoint", "memory", "kernel")
        given = self.get_params(deep=False)
        params = {name: _known_by(v) for name, v in given.items() if name not in left_out}
        about = {
            "version": sys.modules["mercer"].__version__,
            "rows": rows.fingerprint(),
            "weights": _known_by(weight),
            "kernel": repr(self._given_kernel()),
            "estimator": type(self).__name__,
            "parameters": repr(sorted(params.items())),
        }
        return Checkpoint(self.checkpoint, about)

    def _weights_of_rows(self, sample_weight: Any, n: int) -> np.ndarray | None:
        return None if sample_weight is None else check_weights(sample_weight, n)

    # ------------------------------------------------------------ use
    def _values_of_rows(self, rows: Rows) -> np.ndarray:
        """Return f(x) + b of rows that are read in blocks; columns are found by their names."""
        check_is_fitted(self)
        samples = (self.kernel_.sample(block.read().X) for block in matching(self, rows).blocks())
        return np.concatenate([self._values_of(sample) for sample in samples])

    def _values_of(self, rows: Sample) -> np.ndarray:
        raise NotImplementedError


def _known_by(value: Any) -> str:
    """Return a text that tells a parameter from others; arrays are known by all of their bytes."""
    if value is None or np.ndim(value) == 0:
        return repr(value)
    array = np.ascontiguousarray(value)
    return f"{array.dtype} {array.shape} {sha256(array.tobytes()).hexdigest()}"


def _spread(n: int, most: int) -> np.ndarray:
    """Return at most so many of n numbers, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))
