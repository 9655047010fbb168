"""Ridge machines in the span of landmarks, and over rows that are read in blocks."""

from __future__ import annotations

import logging
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from mercer._array import as_index, spread_out
from mercer._floats import SINGLE_MODERATE, safe_unit
from mercer._in_span import InSpan
from mercer._state import Attribute, Floats, Instance, Maybe
from mercer._threads import one_blas_thread
from mercer.kernels.sample import Sample
from mercer.machines._expansion import KernelExpansion
from mercer.rows import Rows
from mercer.rows.checkpoint import Passes
from mercer.solvers.ridge_falkon import solve_ridge_cg
from mercer.solvers.ridge_folds import FoldErrors
from mercer.solvers.ridge_landmarks import cross_validated, solve_ridge_landmarks
from mercer.solvers.ridge_path import check_lams
from mercer.solvers.ridge_route import RidgeRoute, forecast
from mercer.solvers.ridge_run import SpanSolution
from mercer.solvers.row_problem import Encode
from mercer.solvers.span import InMemory, Span, SpanProblem

CHOOSING = 2000  # landmarks by which λ is chosen where there are too many for normal equations
LOG = logging.getLogger("mercer")


class SpanEstimator(InSpan, KernelExpansion):
    """A machine that may seek its function in the span of landmarks, and learn from `Rows`."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "route_": Instance(str),
        "_cv_error": Maybe(Floats("penalties")),
    }

    lam: Any
    fit_intercept: bool
    memory: Any
    route: str = "auto"
    _cv_error: np.ndarray | None

    # ------------------------------------------------------------ the route
    def _route_of(
        self, n: int, n_columns: int, n_targets: int, *, in_memory: bool, fewer: int = 0
    ) -> RidgeRoute:
        """Choose the route, with fewer landmarks than asked for if need be; say what it takes."""
        work = {"n_targets": n_targets, "several": self._several(), "fewer": fewer}
        route = self._span_route(self.route, n, n_columns, in_memory=in_memory, **work)
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
            index = used[self._random_numbers(len(used), m)]
        return index, sample[index]

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
        span, lams = self._span_of(points), self._lams_of_span()
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
        # steps are in float32
        unit = safe_unit(float(np.abs(Y).max(initial=0.0)), SINGLE_MODERATE)
        Y = Y / unit
        problem, shift = InMemory(rows, Y, weight), weight @ Y / weight.sum()
        return self._solve_in_span(points, problem, route, shift, Passes()).in_unit(unit)

    # ------------------------------------------------------------ rows in blocks
    def _targets_of_rows(self, rows: Rows, weight: np.ndarray | None) -> tuple[Encode, int, bool]:
        """Return what makes numbers of targets, how many, and whether y has no axis for them."""
        raise NotImplementedError

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
        task = self._prepared(rows, route.landmarks, weight, (encode, n_targets))
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
        return self._span_of(points[spread_out(len(points), CHOOSING)])

    def _solve_in_passes(
        self, rows: Rows, route: RidgeRoute, weight: np.ndarray | None, targets: tuple[Encode, int]
    ) -> tuple[SpanSolution, Any, np.ndarray]:
        """Return the solution, the landmarks and their numbers."""
        task = self._prepared(rows, route.landmarks, weight, targets)
        solution = self._solve_in_span(task.points, task.problem, route, task.shift, task.passes)
        return solution, task.points.data, task.numbers
