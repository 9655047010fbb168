"""A search over rows that are read in blocks: all λ and folds from one pass for each kernel."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone

from mercer._array import format_bytes, parse_memory
from mercer._limits import Limits
from mercer._words import count
from mercer.machines import KernelRidge, KernelRidgeClassifier
from mercer.rows import Rows
from mercer.rows import open as open_rows
from mercer.rows.checkpoint import Checkpoint, Passes
from mercer.select.grids import SUBSAMPLE, GridAxis, axes, candidates
from mercer.select.tuned import ReportedSearch
from mercer.solvers.ridge_folds import FoldErrors

ROUTE = "passes over rows: all lam and folds from one for each kernel"
CHOOSING_ROWS = 50_000  # by which kernels are compared: the width of a kernel carries over
FOLDS = 5


class RowSearch(ReportedSearch):
    """A search whose second round looks around the best kernel of the first; see `tune`.

    Kernels are compared on at most 50,000 rows; λ, whose best value changes with the number of
    rows, is then chosen on all of them.
    """

    def fit(
        self, X: Rows, y: Any = None, *, choosing_rows: int = CHOOSING_ROWS, **params: Any
    ) -> RowSearch:
        """Cross-validate each kernel in a pass, fit the best to all rows, and write the report."""
        start, limits = time.monotonic(), Limits.of(time_limit=self.time_limit)
        rows = X.with_target(y)
        weight = params.get("sample_weight")
        run = _RowRun(self.estimator, rows, weight, self.random_state, choosing_rows)
        first = [GridAxis(name, tuple(values)) for name, values in self.param_grid.items()]
        self.status_ = run.all_of(candidates(first), limits)
        if self.status_ == "complete":
            finer = [GridAxis(axis.name, axis.around(run.best[axis.name])) for axis in first]
            self.status_ = run.all_of(candidates(finer), limits)
        self.route_, self.n_splits_, self.multimetric_ = ROUTE, FOLDS, False
        self.best_estimator_ = run.model(**run.best).fit(rows, **params)
        self._keep(run)
        self.report_ = self._report(run, time.monotonic() - start)
        return self

    def _keep(self, run: _RowRun) -> None:
        """Keep the results in scikit-learn's form; the last round is that of the best kernel."""
        best = self.best_estimator_
        tried = [*run.tried, RowTrial(run.best, FoldErrors(best.lams_, best.cv_error_))]
        sizes = [run.some.n] * len(run.tried) + [best.n_fit_]
        params = [{**t.values, "lam": float(lam)} for t in tried for lam in t.errors.lams]
        counts = [len(t.errors.lams) for t in tried]
        scores = -np.concatenate([t.errors.cv for t in tried])
        self.cv_results_ = {
            "params": params,
            **{
                f"param_{name}": np.ma.array([p[name] for p in params], dtype=object)
                for name in params[0]
            },
            "mean_test_score": scores,
            "rank_test_score": rankdata(-scores, method="min").astype(np.int32),
            "iter": np.repeat(np.arange(len(tried)) == len(tried) - 1, counts).astype(int),
            "n_resources": np.repeat(sizes, counts),
        }
        start = len(scores) - counts[-1]
        self.best_index_ = start + int(scores[start:].argmax())
        self.best_params_, self.best_score_ = params[self.best_index_], scores[self.best_index_]
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_

    def _report(self, run: _RowRun, seconds: float) -> str:
        lines = [
            ("kernels", f"{len(run.tried)}, on {count(run.some.n, 'row')}: {self.route_}"),
            ("lam", f"{len(self.best_estimator_.lams_)}, on {count(run.rows.n, 'row')}"),
        ]
        score = [("best score", f"{self.best_score_:.4g} (−mean squared error)")]
        return self._told(lines, score, seconds)


class RowTrial(NamedTuple):
    """A kernel's values, and the errors of all λ with it."""

    values: dict[str, Any]
    errors: FoldErrors


class _RowRun:
    """Kernels that are tried on some of the rows."""

    def __init__(
        self,
        estimator: Any,
        rows: Rows,
        weight: Any,
        seed: int,
        most_rows: int,
    ):
        self.estimator, self.rows, self.seed = estimator, rows, seed
        self.some, self.weight = rows, weight
        self.tried: list[RowTrial] = []
        self._kept = Passes(checkpoint=self._checkpoint())
        if rows.n > most_rows:
            random = np.random.default_rng(seed)
            drawn = random.choice(rows.n, most_rows, replace=False, shuffle=False)
            self.some = open_rows(*rows.take_both(drawn))
            self.weight = None if weight is None else np.asarray(weight)[drawn]

    def _checkpoint(self) -> Checkpoint | None:
        """Return a folder in that of the fit, in which trials are kept."""
        folder = self.estimator.checkpoint
        if folder is None:
            return None
        model = self.model(checkpoint=str(Path(folder) / "search"))
        return model._checkpoint_of(self.rows, self.weight)

    def _errors(self, point: dict[str, Any]) -> FoldErrors:
        model = self.model(**point, checkpoint=None)
        return FoldErrors(*self._kept.once(lambda: model.cross_validated(self.some, self.weight)))

    @property
    def best(self) -> dict[str, Any]:
        """The values of the best kernel."""
        return min(self.tried, key=lambda one: one.errors.cv.min()).values

    def all_of(self, points: list[dict[str, Any]], limits: Limits) -> str:
        """Try these kernels, unless they were; return how it ended."""
        for point in points:
            if any(point == known.values for known in self.tried):
                continue
            if self.tried and limits.stopped() is not None:
                return "time_limit"
            self.tried.append(RowTrial(point, self._errors(point)))
        return "complete"

    def model(self, **params: Any) -> Any:
        """Return the machine, unfitted, that chooses its λ by folds."""
        lam = self.estimator.lam
        model = clone(self.estimator).set_params(lam=lam if np.ndim(lam) else "loo", **params)
        if model.random_state is None:  # all kernels see the same landmarks
            model.set_params(random_state=self.seed)
        return model


def goes_in_passes(estimator: Any, rows: Rows) -> bool:
    """Tell whether rows are too many for the exact machine; raise if there is no other."""
    if isinstance(estimator, (KernelRidge, KernelRidgeClassifier)):
        return estimator.route_of(rows).name != "exact"
    needed, budget = 8 * rows.n * rows.n_columns, parse_memory(None)
    if needed > budget:
        raise MemoryError(
            f"{rows!r} take {format_bytes(needed)}, the budget is {format_bytes(budget)}: "
            f"{type(estimator).__name__} needs them in memory; KernelRidge and "
            f"KernelRidgeClassifier with landmarks learn in passes"
        )
    return False


def refuse_for_passes(**options: tuple[Any, Any]) -> None:
    """Raise if something was asked for, instead of its default, that passes cannot do."""
    for name, (given, default) in options.items():
        if given is not default and given != default:
            raise ValueError(
                f"{name} must be {default!r} for rows in passes, whose folds and scores are sums "
                f"over rows; got {given!r}"
            )


def tune_rows(
    estimator: Any,
    rows: Rows,
    *,
    time_limit: float | None,
    seed: int | None,
    weight: Any,
    choosing_rows: int = CHOOSING_ROWS,
) -> RowSearch:
    """Return a fitted search over the kernels that suit the rows; λ is part of every fit."""
    random = np.random.default_rng(seed or 0)
    some = random.choice(rows.n, min(rows.n, SUBSAMPLE), replace=False, shuffle=False)
    found = axes(estimator, *rows.take_both(some), random)
    grid = {axis.name: list(axis.values) for axis in found if axis.name != "lam"}
    search = RowSearch(estimator, grid, time_limit=time_limit, random_state=seed or 0)
    weights = {} if weight is None else {"sample_weight": weight}
    return search.fit(rows, choosing_rows=choosing_rows, **weights)
