"""Learning within a time: encode, tune on as many rows as the time allows, fit on all."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer._words import count, last_part, percent, setting
from mercer.cli.errors import CommandError
from mercer.cli.files import encoded
from mercer.cli.problem import TableProblem
from mercer.cli.recipes import AUTO, RECIPES, Recipe
from mercer.cli.screen import Screen
from mercer.select import KernelSearchCV, Staged, tune
from mercer.select.choices import NOISE
from mercer.select.rounds import sample_rows

TUNING_SHARE = 0.5  # of the time for all searches
STAGE_SHARE = 0.1  # of the time for each narrower round of a search
FIT_SHARE = 0.4  # of the time for the last fit
ALMOST_ALL = 0.7  # where the time is likely to do for so many of the rows, all are tried
AFTER_INTERRUPT = 3.0  # seconds for the last fit after Ctrl-C
STAGED = Staged()


@dataclass(frozen=True, eq=False)
class Learned:
    """A fitted pipeline, and how it was found."""

    name: str
    recipe: Recipe
    model: Pipeline
    search: KernelSearchCV
    words: tuple[str, ...]
    interrupted: bool


@dataclass(frozen=True, eq=False)
class Search:
    """A finished search for one recipe."""

    name: str
    recipe: Recipe
    search: KernelSearchCV

    @property
    def score(self) -> float:
        """The mean score over the folds of the candidate that was taken."""
        return float(self.search.best_score_)

    @property
    def rows(self) -> np.ndarray:
        """The rows of the round that decided."""
        return self.search.rows_


class Learner:
    """Learns a problem by named recipes within a time.

    The kernel is that of machines that have one; the seed that of samples, folds and starts.
    """

    def __init__(
        self,
        problem: TableProblem,
        *,
        kernel: Any,
        time_limit: float | None,
        seed: int,
        screen: Screen,
    ):
        self.problem, self.kernel, self.seed, self.screen = problem, kernel, seed, screen
        self.time_limit = time_limit
        self.interrupted = False
        self.most_rows: tuple[int, ...] = ()  # of the first recipe: all are judged by the same

    def learn(self, model: str) -> Learned:
        """Return the best of the recipes that a name stands for, fitted to all rows."""
        table = RECIPES[self.problem.task]
        names = AUTO[self.problem.task] if model == "auto" else (model,)
        encoder, Z = encoded(self.problem.X, self.screen)
        searches = list(self._searches({name: table[name] for name in names}, Z))
        if self.interrupted:
            self.screen.note("interrupted: going on with the best found so far")
        best = self._best(searches)
        pipeline = Pipeline([("encode", encoder), *self._fit(best, Z)])
        words = tuple(self._words(searches, best))
        return Learned(best.name, best.recipe, pipeline, best.search, words, self.interrupted)

    def _best(self, searches: list[Search]) -> Search:
        """Return the first search, unless another one is better by more than chance."""
        first, other = searches[0], max(searches, key=lambda s: s.score)
        if self.problem.task == "regress":
            return other
        error = (first.score * (1 - first.score) / min(STAGED.enough, len(self.problem))) ** 0.5
        return other if other.score > first.score + NOISE * error else first

    # ------------------------------------------------------------ tuning
    def _searches(self, recipes: dict[str, Recipe], Z: Any) -> Iterator[Search]:
        """Yield a search for each recipe; too slow a one, or Ctrl-C, takes none of the others."""
        found = False
        for name, recipe in recipes.items():
            try:
                yield self._search(name, recipe, Z, len(recipes))
                found = True
            except TimeoutError:
                self.screen.note(f"no candidate of the model {name!r} could be scored in time")
            except KeyboardInterrupt:
                if not found:
                    raise
                self.interrupted = True
            if self.interrupted:
                return
        if not found:
            raise CommandError("no model could be tuned in time: raise --time-limit")

    def _search(self, name: str, recipe: Recipe, Z: Any, rivals: int) -> Search:
        with self.screen.step("tune", "") as said:
            limit = None if self.time_limit is None else TUNING_SHARE * self.time_limit / rivals
            with warnings.catch_warnings():  # a candidate that fails only loses its chance
                warnings.simplefilter("ignore")
                search = self._tuned(recipe, Z, limit)
            self.interrupted |= search.status_ == "interrupted"
            self.most_rows += search.stage_rows_[len(self.most_rows) :]
            said.append(self._found(name, search))
        return Search(name, recipe, search)

    def _tuned(self, recipe: Recipe, Z: Any, limit: float | None) -> KernelSearchCV:
        estimator = recipe.estimator(self.kernel, self.seed)
        seconds = STAGE_SHARE * (60.0 if self.time_limit is None else self.time_limit)
        plan = replace(STAGED, seconds=seconds, growth=recipe.growth, most_rows=self.most_rows)
        how: dict[str, Any] = {
            "strategy": plan,
            "refit": False,
            "random_state": self.seed,
            "time_limit": limit,
            "progress": self.screen.bar,
        }
        if recipe.grid is None:
            return tune(estimator, Z, self.problem.y, **how)
        return KernelSearchCV(estimator, dict(recipe.grid), **how).fit(Z, self.problem.y)

    # ------------------------------------------------------------ the last fit
    def _fit(self, best: Search, Z: Any) -> list[tuple[str, Any]]:
        """Return the fitted steps behind the encoder."""
        tuned, seconds = self._fit_tuned(best, Z)
        with self.screen.step("fit", "fitting to all rows") as said:
            steps, rows = self._steps(best, seconds)
            try:
                with self.screen.noting():  # the report repeats them
                    pipeline = Pipeline(steps).fit(Z[rows], self.problem.y[rows])
            except KeyboardInterrupt:  # what tuning left is a model too
                self.interrupted, rows = True, best.rows
                pipeline = Pipeline([("model", tuned)])
            said.append(_fitted(pipeline[-1], len(rows)))
        self.interrupted |= getattr(pipeline[-1], "status_", "") == "interrupted"
        return list(pipeline.steps)

    def _fit_tuned(self, best: Search, Z: Any) -> tuple[Any, float]:
        """Return the best candidate fitted to the rows of tuning, and the seconds that took."""
        start = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = self._estimator(best).fit(Z[best.rows], self.problem.y[best.rows])
        return model, time.monotonic() - start

    def _estimator(self, best: Search, **more: Any) -> Any:
        """Return the best candidate, unfitted, with a time limit and more if it has such."""
        estimator = clone(best.search.estimator).set_params(**best.search.best_params_)
        more["time_limit"] = self._seconds_to_fit()
        known = estimator.get_params(deep=False)
        return estimator.set_params(**{k: v for k, v in more.items() if k in known})

    def _steps(self, best: Search, seconds: float) -> tuple[list[tuple[str, Any]], np.ndarray]:
        """Return the unfitted steps, and the rows for them."""
        recipe, n = best.recipe, len(self.problem)
        estimator = self._estimator(best, probability=True)
        most = min(self._fittable(best, seconds), recipe.most_rows or n)
        if n <= most:
            return [("model", estimator)], np.arange(n)
        if recipe.beyond is not None and not self.interrupted:
            steps = recipe.beyond(estimator, self.seed)
            self.screen.note(
                f"{n:,} rows are many for a {recipe.words}: its function is sought in the span of "
                f"{steps[0][1].n_components:,} of them, which is an approximation"
            )
            return steps, np.arange(n)
        classes = self.problem.y if self.problem.task == "classify" else None
        rows = sample_rows(n, most, classes, self.seed)
        self.screen.note(
            f"fitted to {len(rows):,} of {n:,} rows: a {recipe.words} of all would take too long"
        )
        return [("model", estimator)], rows

    def _fittable(self, best: Search, seconds: float) -> int:
        """Return how many rows the last fit has the time for, by what the fit of tuning took."""
        n, tuned, limit = len(self.problem), len(best.rows), self._seconds_to_fit()
        if limit is None or tuned >= n:
            return n
        rows = int(tuned * (limit / max(seconds, 1e-3)) ** (1 / best.recipe.growth))
        return n if rows > ALMOST_ALL * n else max(rows, tuned)

    def _seconds_to_fit(self) -> float | None:
        """Return the time for the last fit: little after Ctrl-C, but a model is wanted."""
        seconds = None if self.time_limit is None else FIT_SHARE * self.time_limit
        return min(seconds or AFTER_INTERRUPT, AFTER_INTERRUPT) if self.interrupted else seconds

    # ------------------------------------------------------------ words
    def _found(self, name: str, search: KernelSearchCV) -> str:
        values = search.best_params_.items()
        best = ", ".join(f"{last_part(k)} = {setting(v)}" for k, v in values)
        n = len(search.rows_)
        part = "" if n == len(self.problem) else f" on up to {n:,} rows"
        tried = count(len(search.cv_results_["params"]), "candidate")
        ended = {"complete": "", "time_limit": " (out of time)", "interrupted": " (interrupted)"}
        return (
            f"{name}: {tried}{part}{ended[search.status_]}; {best}: "
            f"{self._score(search.best_score_)}"
        )

    def _score(self, value: float) -> str:
        return f"{percent(value)} right" if self.problem.task == "classify" else f"R² {value:.3f}"

    def _words(self, searches: list[Search], best: Search) -> list[str]:
        words = [
            f"A {s.recipe.words} was tuned by cross-validation "
            f"({count(s.search.n_splits_, 'split')}) on {len(s.rows):,} rows: "
            f"{self._score(s.score)}."
            for s in searches
        ]
        if len(searches) > 1:
            words.append(f"The {best.recipe.words} was taken and fitted to all rows.")
        return words


def _fitted(estimator: Any, n: int) -> str:
    said = [count(n, "row")]
    if hasattr(estimator, "support_"):
        said.append(count(len(estimator.support_), "support vector"))
    certificate = getattr(estimator, "certificate_", None)
    if certificate is not None:
        said.append("proved optimal" if certificate.ok else "not proved optimal")
    return ", ".join(said)
