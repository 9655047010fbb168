"""Support vector machines in the span of landmarks, also over rows that are read in blocks."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from mercer._array import parse_memory
from mercer._in_span import InSpan, Prepared, no_targets
from mercer._random import seed_of
from mercer._sklearn import Interval
from mercer._state import Attribute, Instance, Maybe
from mercer.rows import Rows
from mercer.solvers import MarginSolution
from mercer.solvers.ridge_route import landmarks_for
from mercer.solvers.row_problem import RowProblem
from mercer.solvers.span_margin import SpanMargin, solve_span_margins

EXACT_ROWS = 50_000
LOG = logging.getLogger("mercer")

SPAN = {
    "landmarks": """\
landmarks : int, array or None, default=None
    Seek f in the span of so many rows, drawn at random, of rows with these numbers, or of these
    points, shape (m, d): dual coordinate descent over features that are computed once. The rows
    need not be in memory; features for which it has no room lie in a temporary file. ``tol`` is
    then that of the duality gap alone, ``max_iter`` counts sweeps. None: as ``route`` says.
""",
    "drawn": """\
random_state : int, RandomState instance or None, default=None
    Draws the landmarks, and the order of the sweeps.
checkpoint : path or None, default=None
    A folder for what passes and sweeps over landmarks give, from where a fit that was killed goes
    on.
""",
}


def choose_margin_route(
    asked: str,
    landmarks: Any,
    X: Any,
    memory: int,
    *,
    has_cells: bool = False,
    exact_rows: int = EXACT_ROWS,
) -> str:
    """Return how a support vector machine is fitted; the first of these that holds.

    1. what ``route`` asks for;
    2. "landmarks": some are asked for;
    3. "exact": rows are an array, or `Rows` of at most 50,000 that fit into the budget;
    4. "cells": a classifier's `Rows` that fit into the budget;
    5. "landmarks", 2√n of them, at least 200.
    """
    if asked != "auto":
        if landmarks is not None and asked != "landmarks":
            raise ValueError(f"route={asked!r} uses no landmarks; got landmarks={landmarks!r}")
        return asked
    if landmarks is not None:
        return "landmarks"
    fit = not isinstance(X, Rows) or X.dtype.itemsize * X.n * X.n_columns <= memory
    if fit and (not isinstance(X, Rows) or X.n <= exact_rows):
        return "exact"
    return "cells" if fit and has_cells else "landmarks"


class MarginInSpan(InSpan):
    """A support vector machine that may seek its functions in the span of landmarks."""

    fitted_state: ClassVar[dict[str, Attribute]] = {"route_": Maybe(Instance(str))}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "landmarks": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "random_state": ["random_state"],
        "checkpoint": [str, PathLike, None],
    }

    route: str = "auto"
    landmarks: Any = None
    random_state: Any = None
    route_: str = "exact"
    tol: float

    def _choose_route(self, X: Any, *, has_cells: bool = False) -> str:
        budget = parse_memory(self.memory)
        return choose_margin_route(self.route, self.landmarks, X, budget, has_cells=has_cells)

    def _solve_in_span(
        self: Any,
        rows: Rows,
        weight: np.ndarray,
        place: np.ndarray,
        margins: Sequence[SpanMargin],
    ) -> list[MarginSolution]:
        """Solve problems in the span of landmarks, and keep these as support vectors."""
        if not np.isfinite(getattr(self, "C", 1.0)):
            raise ValueError(f"route='landmarks' needs a finite C; got {self.C!r}")
        limits = self._limits()
        m = landmarks_for(self.landmarks, rows.n, parse_memory(self.memory))
        task: Prepared = self._prepared(rows, m, weight, (no_targets, 1))
        LOG.info(
            "%s: %s rows by dual coordinate descent over %s landmarks",
            type(self).__name__, f"{rows.n:,}", f"{len(task.points):,}",
        )  # fmt: skip

        def with_targets(Y: np.ndarray) -> RowProblem:
            return RowProblem(rows.with_target(Y), self.kernel_, _as_given, None, Y.shape[1])

        solutions = solve_span_margins(
            self._span_of(task.points),
            with_targets,
            place,
            margins,
            tol=self.tol,
            limits=limits,
            passes=task.passes,
            seed=seed_of(self.random_state),
        )
        self._keep_span(rows, task)
        self.dual_coef_ = np.array([s.value for s in solutions])
        self.intercept_ = np.array([s.intercept for s in solutions], dtype=np.float64)
        return solutions

    def _keep_span(self: Any, rows: Rows, task: Prepared) -> None:
        """Store landmarks as support vectors, and what is known of the rows."""
        names, n = getattr(self, "feature_names_in_", None), len(task.points)
        self._keep_columns(rows)
        if names is not None:
            self.feature_names_in_ = names
        self.support_ = (task.numbers if len(task.numbers) else np.arange(n)).astype(np.int32)
        self.shape_fit_ = (max(rows.n, n), self.n_features_in_)
        self.support_vectors_, self.route_ = task.points.data, "landmarks"

    def _solve_one_in_span(self: Any, rows: Rows, weight: np.ndarray, problem: Any) -> None:
        """Solve one problem of all rows, and store the machine."""
        margin = SpanMargin([slice(0, rows.n)], problem)
        [solution] = self._solve_in_span(rows, weight, np.arange(rows.n), [margin])
        self.n_support_ = np.array([len(self.support_)], dtype=np.int32)
        self.n_iter_ = solution.stats["steps"]
        self._accept(solution)


def _as_given(Y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return Y, weight
