"""Learning: encode, tune on growing samples, fit the best candidate to all rows or many."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer._limits import Limits
from mercer._words import count, last_part, setting
from mercer.cli.answers import AroundModel, Threshold, metric_in_words, range_in_words
from mercer.cli.attempts import Attempt, AttemptSearch, Planner, on_as_many_rows
from mercer.cli.errors import CommandError
from mercer.cli.goal import Goal, Wishes, goal_of
from mercer.cli.problem import TableProblem
from mercer.cli.recipes import Effort, Plan, Recipe
from mercer.cli.routes import PartInterruptedError
from mercer.cli.screen import Screen
from mercer.cv_results import Trials
from mercer.meta import innermost
from mercer.select import KernelSearchCV, Staged, tune
from mercer.select.choices import NOISE
from mercer.select.rounds import sample_rows

TUNING_SHARE = 0.6  # of a time limit for all searches
FIT_SHARE = 0.55  # of what is left after them for the last fit
NARROW_SHARE = 0.5  # of the time of a search for what an estimator searches itself
LEAST_ROWS = 100  # of a last fit that there is too little time for
DEAREST = "metric"  # cost of models that are not begun once the time limit has cut another short
AFTER_INTERRUPT = 3.0  # seconds for the last fit after Ctrl-C
GROWTH = {"metric": 2.2, "cube": 3.0, "square": 2.2, "line": 1.0}
"""The cost of a fit to n rows grows as this power of n."""

UNCUT = "The time limit cut nothing short: data, options and seed alone decide this model."
LONGER = "raise --time-limit, or ask for less by --effort quick"


@dataclass(frozen=True, eq=False)
class Learned:
    """A fitted pipeline, and how it was found."""

    name: str
    recipe: Recipe
    model: Pipeline
    search: KernelSearchCV
    words: tuple[str, ...]
    interrupted: bool
    rows: np.ndarray  # of the last fit
    cut: list[str]  # what the time limit ended early
    goal: Goal
    threshold: Threshold | None  # of the largest F1, if one was looked for

    @property
    def n_rows(self) -> int:
        """The number of rows of the last fit."""
        return len(self.rows)


class Learner:
    """Learns a problem by named recipes.

    The kernel is that of machines that have one; the effort says how much work is done; the seed
    is that of samples, folds and starts. ``limits`` hold the time of the whole command: what they
    end early is said as a note, and kept in ``cut``. ``open_kernel`` says that the kernel is a
    default, which a learned one may replace.
    """

    def __init__(
        self,
        problem: TableProblem,
        *,
        kernel: Any,
        effort: Effort,
        limits: Limits,
        seed: int,
        screen: Screen,
        memory: int | str | None = None,
        goal: Goal | None = None,
        open_kernel: bool = True,
    ):
        self.open_kernel = open_kernel
        self.goal = goal or goal_of(Wishes(), problem)
        self.problem, self.kernel, self.seed, self.screen = problem, kernel, seed, screen
        self.effort, self.limits, self.memory = effort, limits, memory
        self.interrupted = False
        self.cut: list[str] = []

    def learn(self, model: str) -> Learned:
        """Return the best of the recipes that a name stands for, fitted."""
        planner = Planner(self.problem, self.kernel, self.effort, self.open_kernel, self.seed)
        searches = list(self._searches(planner.attempts(model, self.screen)))
        if self.interrupted:
            self.screen.note("interrupted: going on with the best found so far")
        best = self._best(searches)
        self._say_which(searches, best)
        route, plan = best.attempt.route, best.attempt.plan
        around = self._around(best, route.Z)
        last, rows = self._fit(best, plan, route.Z, around)
        last = around.with_threshold(last)
        pipeline = Pipeline([("encode", route.encoder), ("model", last)])
        answers = (*metric_in_words(pipeline), *around.words, *range_in_words(last))
        words = (*self._words(searches, best, len(rows)), *answers, *(self.cut or [UNCUT]))
        found = (best.name, best.recipe, pipeline, best.search, words, self.interrupted)
        return Learned(*found, rows, self.cut, self.goal, around.threshold)

    def _best(self, searches: list[AttemptSearch]) -> AttemptSearch:
        """Return the first search, unless another one is better by more than chance.

        What decides are scores on as many rows, of which one that ran out of time has seen fewer.
        """
        scores = on_as_many_rows(searches)
        first, best = searches[0], int(np.argmax(scores))
        if self.problem.task == "regress":
            return searches[best]
        error = self.goal.noise(first, min(Staged().enough, len(self.problem)))
        return searches[best] if scores[best] > scores[0] + NOISE * error else first

    # ------------------------------------------------------------ tuning
    def _searches(self, attempts: list[Attempt]) -> Iterator[AttemptSearch]:
        """Yield a search for each attempt; too slow a one, or Ctrl-C, takes none of the others."""
        found = False
        left = self.limits.seconds_left()
        tuning = Limits.of(time_limit=None if left is None else TUNING_SHARE * left)
        for place, attempt in enumerate(attempts):
            others = found or place + 1 < len(attempts)
            if others and self.cut and attempt.recipe.cost == DEAREST:
                self._was_cut(f"the model {attempt.label!r}, which takes longest, was not tried")
                continue
            seconds = tuning.seconds_left()
            left_over = sum(other.weight for other in attempts[place:])
            share = None if seconds is None else max(seconds * attempt.weight / left_over, 0.1)
            try:
                yield self._search(attempt, share)
                found = True
            except TimeoutError:
                self._was_cut(f"no candidate of the model {attempt.label!r} could be scored")
            except KeyboardInterrupt:
                if not found:
                    raise
                self.interrupted = True
            if self.interrupted:
                return
        if not found:
            raise CommandError("no model could be tuned in time: raise --time-limit")

    def _search(self, attempt: Attempt, seconds: float | None) -> AttemptSearch:
        with self.screen.step("tune", "") as said:
            with warnings.catch_warnings():  # a candidate that fails only loses its chance
                warnings.simplefilter("ignore")
                search = self._tuned(attempt, seconds)
            self.interrupted |= search.status_ == "interrupted"
            said.append(self._found(attempt.label, search))
        if search.status_ == "time_limit":
            self._was_cut(f"the search for the model {attempt.label!r} scored {_scored(search)}")
        return AttemptSearch(attempt.name, attempt.recipe, search, attempt)

    def _tuned(self, attempt: Attempt, seconds: float | None) -> KernelSearchCV:
        plan, Z, limits = attempt.plan, attempt.route.Z, Limits.of(time_limit=seconds)
        estimator = attempt.recipe.estimator(
            self.kernel, self.seed, landmarks=plan.landmarks, memory=self.memory
        )
        estimator = self.goal.prepared(estimator)
        how: dict[str, Any] = {
            "scoring": self.goal.scoring,
            "strategy": plan.staged,
            "refit": False,
            "random_state": self.seed,
            "time_limit": seconds,
            "memory": self.memory,
            "progress": self.screen.bar,
        }
        splitter = self.problem.splitter(self.seed)
        how |= {} if splitter is None else {"cv": splitter}
        rows = self._sample(self.effort.first_rows)
        grid: Any
        if attempt.route.parts:
            try:
                grid = attempt.route.grid(estimator, self.problem, rows, how)
            except PartInterruptedError as ended:  # the best kernel so far is a model, too
                return ended.search
        else:
            grid = self._narrowed(estimator, attempt.recipe.grid, Z, seconds)
        how["time_limit"] = None if seconds is None else max(limits.seconds_left() or 0.0, 0.1)
        if grid is None:
            return tune(estimator, Z, self.problem.y, groups=self.problem.groups, **how)
        search = KernelSearchCV(estimator, grid, **how)
        return search.fit(Z, self.problem.y, groups=self.problem.groups)

    def _narrowed(self, estimator: Any, grid: Any, Z: Any, seconds: float | None) -> Any:
        """Return a grid; what an estimator searches itself is searched once for all our folds."""
        if grid is None or not hasattr(estimator, "candidate_params"):
            return None if grid is None else dict(grid)
        rows = self._sample(self.effort.first_rows)
        limit = None if seconds is None else NARROW_SHARE * seconds
        first = clone(estimator).set_params(time_limit=limit)
        found = first.fit(Z[rows], self.problem.y[rows]).candidate_params()
        return [{**grid, **{name: [v] for name, v in params.items()}} for params in found]

    def _was_cut(self, what: str) -> None:
        """Say what the time limit has ended, and what to do about it."""
        self.cut.append(f"the time limit cut the work short: {what}; {LONGER}")
        self.screen.note(self.cut[-1])

    # ------------------------------------------------------------ the last fit
    def _around(self, best: AttemptSearch, Z: Any) -> AroundModel:
        """Return what stands around the model: chosen on training rows, unless time is up."""
        around = AroundModel(self.goal, self.problem, self.seed)
        if not around.is_looked_for or self.interrupted:
            return around
        try:
            with self.screen.step(around.what, f"looking for a {around.what}") as said:
                around = around.chosen(self._estimator(best), Z, self.limits)
                said += around.words
        except TimeoutError:
            self._was_cut(f"no {around.what} was found")
        except KeyboardInterrupt:
            self.interrupted = True
            self.screen.note(f"interrupted: going on without looking for a {around.what}")
        return around

    def _fit(
        self, best: AttemptSearch, plan: Plan, Z: Any, around: AroundModel
    ) -> tuple[Any, np.ndarray]:
        """Return the best candidate fitted, and to which rows.

        A fit that the time limit ends before its optimum may answer nonsense, so that fewer rows
        are taken until there is one.
        """
        rows = self._rows_to_fit(best, plan, Z)
        estimator, rows = self._fitted_to(rows, best, Z, around)
        while _status(estimator) == "time_limit" and len(rows) > LEAST_ROWS:
            self._was_cut(f"a last fit to {len(rows):,} rows did not reach its optimum")
            rows = self._sample(max(len(rows) // 4, LEAST_ROWS))
            estimator, rows = self._fitted_to(rows, best, Z, around)
        if _status(estimator) == "time_limit":
            self._was_cut("the last fit stopped before its optimum")
        self.interrupted |= _status(estimator) == "interrupted"
        return _without_limit(estimator), rows

    def _fitted_to(
        self, rows: np.ndarray, best: AttemptSearch, Z: Any, around: AroundModel
    ) -> tuple[Any, np.ndarray]:
        estimator = around.of(self._estimator(best))
        with self.screen.step("fit", f"fitting to {count(len(rows), 'row')}") as said:
            try:
                with self.screen.noting():  # the report repeats them
                    estimator.fit(Z[rows], self.problem.y[rows])
            except KeyboardInterrupt:  # a model of few rows is soon fitted
                self.interrupted, rows = True, self._sample(self.effort.first_rows)
                estimator = around.of(self._estimator(best)).fit(Z[rows], self.problem.y[rows])
            said += [_fitted(innermost(estimator), len(rows)), *range_in_words(estimator)]
        return estimator, rows

    def _rows_to_fit(self, best: AttemptSearch, plan: Plan, Z: Any) -> np.ndarray:
        n, most = len(self.problem), plan.fit_rows
        if self.interrupted:
            return best.rows
        affordable = self._affordable(best, plan, Z)
        if affordable < most:
            self._was_cut(f"the last fit took {affordable:,} of {n:,} rows")
        elif most < n:
            self.screen.note(
                f"fitted to {most:,} of {n:,} rows, drawn at random: a {best.recipe.words} of all "
                f"would take long (--effort thorough takes more of them)"
            )
        if plan.landmarks is not None:
            self.screen.note(
                f"{n:,} rows are many for a {best.recipe.words}: its function is sought in the "
                f"span of {plan.landmarks:,} of them, which is an approximation"
            )
        return self._sample(min(affordable, most))

    def _sample(self, size: int) -> np.ndarray:
        classes = self.problem.y if self.problem.task == "classify" else None
        return sample_rows(len(self.problem), size, classes, self.seed)

    def _affordable(self, best: AttemptSearch, plan: Plan, Z: Any) -> int:
        """Return how many rows there is time to fit, by what the fits of tuning took."""
        left = self.limits.seconds_left()
        if left is None:
            return plan.fit_rows
        tried, took = self._timed_fit(best, plan, Z)
        growth = GROWTH["line" if plan.landmarks is not None else best.recipe.cost]
        factor = (FIT_SHARE * left / max(took, 1e-3)) ** (1.0 / growth)
        return int(min(plan.fit_rows, max(factor, 1.0) * tried))

    def _timed_fit(self, best: AttemptSearch, plan: Plan, Z: Any) -> tuple[int, float]:
        """Return the rows of a fit of the best candidate, and the seconds that it took.

        Where the time was over in the first round its fits have shared so much that they tell
        nothing: one is timed by itself.
        """
        if best.search.status_ == "complete":
            trials = Trials.of(best.search)
            return len(best.rows), float(trials.fit_seconds[trials.chosen])
        rows, start = self._sample(max(len(best.rows), 2 * (plan.landmarks or 0))), time.monotonic()
        with warnings.catch_warnings():  # the last fit warns itself
            warnings.simplefilter("ignore")
            timed = self._estimator(best).fit(Z[rows], self.problem.y[rows])
        self.interrupted |= _status(timed) == "interrupted"
        return len(rows), time.monotonic() - start

    def _estimator(self, best: AttemptSearch) -> Any:
        """Return the best candidate, unfitted, with a time limit if it knows one."""
        estimator = clone(best.search.estimator).set_params(**best.search.best_params_)
        more: dict[str, Any] = {"time_limit": self._seconds_to_fit(), "probability": True}
        known = estimator.get_params(deep=False)
        return estimator.set_params(**{k: v for k, v in more.items() if k in known})

    def _seconds_to_fit(self) -> float | None:
        """Return the time for the last fit: little after Ctrl-C, but a model is wanted."""
        left = self.limits.seconds_left()
        seconds = None if left is None else max(FIT_SHARE * left, 0.1)
        return min(seconds or AFTER_INTERRUPT, AFTER_INTERRUPT) if self.interrupted else seconds

    # ------------------------------------------------------------ words
    def _say_which(self, searches: list[AttemptSearch], best: AttemptSearch) -> None:
        """Say whether a kernel for each kind of column or encoded columns did better."""
        said = self._which(searches, best)
        if said:
            self.screen.say("kernels", said)

    def _which(self, searches: list[AttemptSearch], best: AttemptSearch) -> str:
        routes = {s.attempt.route.words: s for s in sorted(searches, key=lambda s: s.score)}
        if len(routes) < 2:
            return ""
        told = [f"{words} {self.goal.told(s.score)}" for words, s in routes.items()]
        return f"on the same folds {', '.join(told)}: {best.attempt.route.words} taken"

    def _found(self, name: str, search: KernelSearchCV) -> str:
        values = search.best_params_.items()
        best = ", ".join(f"{last_part(k)} = {setting(v)}" for k, v in values)
        n = len(search.rows_)
        part = "" if n == len(self.problem) else f" on up to {n:,} rows"
        ended = {"complete": "", "time_limit": " (out of time)", "interrupted": " (interrupted)"}
        return (
            f"{name}: {_scored(search)}{part}{ended[search.status_]}; {best}: "
            f"{self.goal.told(search.best_score_)}"
        )

    def _words(self, searches: list[AttemptSearch], best: AttemptSearch, n_rows: int) -> list[str]:
        words = [
            f"A {s.recipe.words} was tuned by cross-validation "
            f"({count(s.search.n_splits_, 'split')}) on {len(s.rows):,} rows: "
            f"{self.goal.told(s.score)}."
            for s in searches
        ]
        scores = on_as_many_rows(searches)
        if max(scores) > scores[searches.index(best)]:
            words.append(f"No other was better than the {best.recipe.words} by more than chance.")
        compared = self._which(searches, best)
        words += [compared[0].upper() + compared[1:] + "."] if compared else []
        n = len(self.problem)
        fitted = f"all {n:,} rows" if n_rows == n else f"{n_rows:,} of {n:,} rows"
        words.append(f"The {best.recipe.words} was fitted to {fitted}.")
        return words


def _status(estimator: Any) -> str:
    return getattr(innermost(estimator), "status_", "")


def _without_limit(fitted: Any) -> Any:
    """Return a fitted model without the seconds that were left for it: others have other ones."""
    inner = innermost(fitted)
    if "time_limit" in inner.get_params(deep=False):
        inner.set_params(time_limit=None)
    return fitted


def _scored(search: KernelSearchCV) -> str:
    """Return how many candidates were scored, and of how many if not all were."""
    trials = Trials.of(search)
    tried, complete = len(trials), int(trials.complete.sum())
    all_of_them = count(tried, "candidate")
    return all_of_them if complete == tried else f"{complete} of {all_of_them}"


def _fitted(estimator: Any, n: int) -> str:
    said = [count(n, "row")]
    if hasattr(estimator, "support_"):
        said.append(count(len(estimator.support_), "support vector"))
    return ", ".join(said)
