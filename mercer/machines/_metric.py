"""What machines with a learned metric share: the search, the last fit, the importance."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from mercer._array import n_threads, parse_memory
from mercer._limits import Limits
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, Either, Floats, Instance, Maybe
from mercer.gram import Gram, gram
from mercer.kernels import as_kernel
from mercer.kernels.gradients import gradient_of
from mercer.kernels.radial import Radial
from mercer.kernels.sample import Sample
from mercer.machines._metric_family import Family, every_few
from mercer.machines._metric_rows import (
    StandardColumns,
    TargetRows,
    fit_loo,
    on_given_columns,
    rows_within,
)
from mercer.machines._metric_search import (
    DIAGONAL,
    EVIDENCE,
    FULL,
    NONE,
    POWERS,
    MetricSearch,
    MetricTrial,
    Way,
    next_metric,
)
from mercer.machines._ridge import RidgeEstimator
from mercer.result import Solution
from mercer.rows import Rows
from mercer.solvers import solve_ridge
from mercer.solvers.ridge_loo import LooSolution, solve_ridge_loo
from mercer.solvers.ridge_path import check_lams
from mercer.solvers.ridge_route import RidgePace

AUTO = ("exponential", "laplacian")  # kernels to choose from: of Euclidean and of L1 distances
IMPORTANCE_ROWS = 1000  # at which gradients are taken in the end
FAR_BEHIND = 1.15  # times the smallest error: such a way is not worth trying again
SEARCH_SHARE = 0.5  # of the time: the rest is for rows that teach the metric, and for the last fit
TEACHING_SHARE = 0.5  # of that rest
FULL_UP_TO = 300  # columns: beyond, weights are learned from gradients alone


class MetricEstimator(RidgeEstimator):
    """What regression and classification with a learned metric share."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "scale_": Floats("columns", finite=True, least=0.0),
        "metric_": Either(Floats("columns"), Floats("columns", "columns")),
        "importance_": Floats("columns"),
        "rounds_": Instance(list),
        "chosen_": Instance(dict),
        "_taught_lam": Maybe(Floats()),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RidgeEstimator._parameter_constraints,
        "landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "metric": [StrOptions({"auto", DIAGONAL, FULL, EVIDENCE, NONE})],
        "rounds": [Interval(Integral, 0, None, closed="left")],
        "search_rows": [Interval(Integral, 1, None, closed="left")],
        "metric_rows": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
    }

    fits_alone: ClassVar[bool] = True
    """Whether a search makes several fits at once: one fit does not fill all cores."""

    metric: str
    rounds: int
    search_rows: int
    metric_rows: int
    time_limit: float | None
    _taught_lam: Any  # chosen on the rows that taught the metric; None: on all rows

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the machine to rows X and targets y.

        Parameters
        ----------
        X : table of shape (n, d)
            Rows; columns of any size, they are standardised.
        y : array of shape (n,) or (n, n_targets)
            Numbers; of a classifier labels, shape (n,).
        sample_weight : array of shape (n,), default=None
            Weights ≥ 0; a row of weight 0 is no row.
        """
        self._validate_params()
        if isinstance(X, Rows):
            raise TypeError(
                f"{type(self).__name__} learns its metric from rows in memory; pass X.read().X, or "
                f"a sample of rows by X.take(...)"
            )
        if sp.issparse(X):
            raise TypeError(
                f"{type(self).__name__} standardises columns and takes dense tables; got a sparse "
                f"one: use X.toarray() if it fits into memory"
            )
        super().fit(X, y, sample_weight)
        self.importance_ = self._importance()
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    # ------------------------------------------------------------ what is open
    def _given_kernel(self) -> Radial:
        return self._candidates()[0]

    def _candidates(self) -> list[Radial]:
        """Return the kernels to choose from."""
        names = AUTO if isinstance(self.kernel, str) and self.kernel == "auto" else [self.kernel]
        return [self._checked(as_kernel(name)) for name in names]

    @staticmethod
    def _checked(kernel: Any) -> Radial:
        if not isinstance(kernel, Radial):
            raise ValueError(
                f"kernel must be a kernel of a distance, whose metric can be learned: RBF, "
                f"Exponential, Laplacian or Matern; got {kernel!r}"
            )
        if kernel.metric is not None:
            raise ValueError(
                f"kernel must have no metric of its own, since it is learned; got {kernel!r}"
            )
        return kernel

    def _ways(self, kernel: Radial, n_columns: int) -> list[Way]:
        """Return the ways to try: the metric that was asked for, or all that the kernel takes."""
        matrix_fits = kernel.p == 2.0 and n_columns <= FULL_UP_TO
        if self.metric == FULL and not matrix_fits:
            raise ValueError(
                f"metric='full' needs a kernel of the Euclidean distance and at most {FULL_UP_TO} "
                f"columns; got {kernel!r} and {n_columns} columns: use metric='diagonal'"
            )
        if self.metric == EVIDENCE and n_columns > FULL_UP_TO:
            raise ValueError(
                f"metric='evidence' needs at most {FULL_UP_TO} columns; got {n_columns}: use "
                f"metric='diagonal'"
            )
        if n_columns == 1 or self.metric == NONE or not self.rounds:
            return []  # one column has nothing to be weighed against
        fitting = {DIAGONAL: True, FULL: matrix_fits, EVIDENCE: n_columns <= FULL_UP_TO}
        kinds = fitting if self.metric == "auto" else [self.metric]
        return [Way(kind, power) for kind in kinds for power in POWERS[kind] if fitting[kind]]

    # ------------------------------------------------------------ learning
    def _learn_kernel(self, rows: Sample, Y: np.ndarray, weight: np.ndarray) -> int:
        """Find the metric and the shape of the kernel, on standardised columns."""
        random = check_random_state(self.random_state)
        limits = Limits.of(time_limit=self.time_limit)
        columns = StandardColumns.of(rows.data, weight)
        self.scale_ = columns.own
        whole = TargetRows(Sample(columns.rows), Y, weight, columns.category)
        n_metric, n_search = self._rows_to_learn_from()
        some = whole.take(np.sort(random.permutation(len(Y))[:n_metric]))
        part = some.take(random.permutation(len(some.Y))[:n_search])
        searching = Limits.of(time_limit=limits.share(SEARCH_SHARE))
        searches = [self._search(kernel, part, searching) for kernel in self._candidates()]
        trials = [search.run() for search in searches]
        best = min(trials, key=lambda trial: trial.error)
        search = next(search for search in searches if search.family.name == best.kernel)
        some = self._taught_in_time(some, limits)
        kernel = self._learned(search, best, some)
        self.kernel_ = on_given_columns(kernel, columns.scale).bind(rows)
        self.metric_ = self.kernel_.metric  # type: ignore[attr-defined]
        self.rounds_ = [trial.told() for search in searches for trial in search.trials]
        self.chosen_ = best.told() | {"cut": any(search.cut for search in searches)}
        self._taught_lam = None
        if len(some.Y) < len(rows) or (self.landmarks or len(rows)) < len(rows):
            found = fit_loo(kernel, some, self._lams(), parse_memory(self.memory), best.lam)
            self._taught_lam = found.errors.best
            self._keep_left_out(found, some.Y, some.weight)
        return self._landmarks_in_time(rows, limits)

    def _taught_in_time(self, some: TargetRows, limits: Limits) -> TargetRows:
        """Return the rows that teach the metric and λ: fewer, if there is no time for all."""
        seconds = limits.share(TEACHING_SHARE)
        if seconds is None:
            return some
        pace = RidgePace.measured(self._given_kernel().bind(some.rows), some.rows)
        return some.take(np.arange(min(len(some.Y), pace.rows_within(seconds))))

    def _landmarks_in_time(self, rows: Sample, limits: Limits) -> int:
        """Return how many landmarks the last fit has time for; 0: as many as were asked for."""
        seconds = limits.seconds_left()
        if seconds is None or self._taught_lam is None:  # few rows
            return 0
        most = RidgePace.measured(self.kernel_, rows).landmarks_within(seconds, len(rows))
        return most if most < (self.landmarks or len(rows)) else 0

    def _rows_to_learn_from(self) -> tuple[int, int]:
        """Return ``metric_rows`` and ``search_rows``, or as many as fit into the budget."""
        budget = parse_memory(self.memory)
        side_by_side = rows_within(budget / n_threads())
        return min(self.metric_rows, rows_within(budget)), min(self.search_rows, side_by_side)

    def _search(self, kernel: Radial, part: TargetRows, limits: Limits) -> MetricSearch:
        family = Family.of(kernel, isinstance(self.kernel, str))
        ways = self._ways(kernel, part.rows.data.shape[1])
        return MetricSearch(family, part, ways, self.rounds, limits)

    def _learned(self, search: MetricSearch, best: MetricTrial, some: TargetRows) -> Radial:
        """Return the kernel with the metric of the chosen way."""
        if best.way.kind == EVIDENCE:
            return search.evident()
        return search.family.bound(some.rows, self._followed(search, best, some), best.shape)

    def _followed(
        self, search: MetricSearch, best: MetricTrial, some: TargetRows
    ) -> np.ndarray | None:
        """Return the metric after the chosen rounds, on all rows that it is learned from.

        λ of the rounds belongs to the shape that they were tried with, not to that of the last fit.
        """
        metric = None
        for lam in search.lams.get((best.way, best.first_shape), [])[: best.rounds]:
            kernel = search.family.bound(some.rows, metric, best.first_shape)
            budget = parse_memory(self.memory)
            K = gram(kernel, some.rows, purpose="direct", memory=budget // 2)
            found = solve_ridge(K, some.Y, lam / some.weight, memory=budget)
            metric = next_metric(kernel, some, found.value, best.way)
            if metric is None:
                break
        return metric

    def chosen_params(self) -> dict[str, Any]:
        """Return the parameters that repeat what this fit has chosen, for fits to fewer rows.

        The kernel with its exponent, and the kind of metric; width, weights and λ are found again.
        """
        return self._params_of(self.chosen_)

    def candidate_params(self) -> list[dict[str, Any]]:
        """Return the same for the best ways of each kernel, with a metric and without one.

        Those that are far behind the best one are left out.
        """
        best: dict[tuple[str, bool], dict[str, Any]] = {}
        ways = sorted(self.rounds_, key=lambda told: told["error"])
        for told in ways:
            if told["error"] <= FAR_BEHIND * ways[0]["error"]:
                best.setdefault((told["kernel"], told["metric"] == NONE), told)
        return [self._params_of(told) for told in best.values()] or [self.chosen_params()]

    def _params_of(self, told: dict[str, Any]) -> dict[str, Any]:
        kernel = next(k for k in self._candidates() if type(k).__name__ == told["kernel"])
        exponent = {} if told["exponent"] is None else {"exponent": told["exponent"]}
        params = kernel.get_params(deep=False) | exponent
        return {"kernel": type(kernel)(**params), "metric": told["metric"]}

    # ------------------------------------------------------------ the last fit
    def _solve(self, K: Gram, Y: np.ndarray, weight: np.ndarray) -> Solution:
        options: dict[str, Any] = {
            "fit_intercept": self.fit_intercept,
            "memory": parse_memory(self.memory),
        }
        if self._taught_lam is not None:  # λ/w, the noise of a row, is the same for more of them
            return solve_ridge(K, Y, self._taught_lam / weight, **options)
        found = solve_ridge_loo(K, Y, weight, self._lams(), **options, near=self.chosen_["lam"])
        self._keep_left_out(found, Y, weight)
        return found

    def _lams(self) -> np.ndarray | None:
        if isinstance(self.lam, str):
            return None
        return check_lams([self.lam] if isinstance(self.lam, Real) else self.lam, "lam")

    def _several(self) -> bool:
        return False  # λ is chosen before the last fit

    def _lams_tried(self, solution: Solution) -> tuple[float, np.ndarray]:
        if self._taught_lam is None:
            return super()._lams_tried(solution)
        return self._taught_lam, np.array([self._taught_lam])

    def _lams_of_span(self) -> float:
        """Return the λ of the smallest leave-one-out error on the rows that taught the metric."""
        return float(self._taught_lam)

    def _keep_left_out(self, found: LooSolution, Y: np.ndarray, weight: np.ndarray) -> None:
        """Use what the fit says of rows that it has not seen."""

    def _importance(self) -> np.ndarray:
        """Return each column's share of the mean squared gradient, in standard deviations."""
        centres, coefs = self._expansion()
        some = centres[every_few(len(centres), IMPORTANCE_ROWS)]
        gradients = gradient_of(self.kernel_, some, centres, coefs)
        unit = np.divide(1.0, self.scale_, out=np.zeros_like(self.scale_), where=self.scale_ > 0)
        squares = (gradients**2).mean(axis=(0, 2)) * unit**2
        total = squares.sum()
        return squares / total if total > 0 else squares
