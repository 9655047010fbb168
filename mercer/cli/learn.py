"""Learning within a time: encode, tune on as many rows as the time allows, fit on all."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.pipeline import Pipeline

from mercer._words import count, last_part, percent, setting
from mercer.cli.choice import NOISE, around, on_more_rows, promising, smoothest
from mercer.cli.encode import encoded
from mercer.cli.errors import CommandError
from mercer.cli.problem import Problem
from mercer.cli.recipes import AUTO, RECIPES, Recipe
from mercer.cli.screen import Screen
from mercer.select import KernelSearchCV, tune

FIRST_ROWS = 1500  # rows of the first, wide search
STAGE_SHARE = 0.1  # of the time for each of the narrower searches on more rows
TUNING_SHARE = 0.5  # of the time for all of them
FIT_SHARE = 0.4  # of the time for the last fit
FOLDS = 5
HELD_OUT = 0.25  # of the rows of a narrower search, in as few splits as make ENOUGH of them
ENOUGH = 2000
SHARED = "200MB"  # for a Gram matrix that few splits share: a larger one costs more than it saves
DOUBT = 0.7  # where the time is likely to do for so many of the rows, all are tried
IN_A_HURRY = 3.0  # seconds for the last fit after Ctrl-C


@dataclass(frozen=True, eq=False)
class Learned:
    """A fitted pipeline, and how it was found."""

    name: str
    recipe: Recipe
    model: Pipeline
    search: KernelSearchCV
    words: tuple[str, ...]
    interrupted: bool

    @property
    def estimator(self) -> Any:
        """The model behind the encoder."""
        return self.model[-1]


@dataclass(frozen=True, eq=False)
class Search:
    """A finished search for one recipe."""

    name: str
    recipe: Recipe
    search: KernelSearchCV
    n_rows: int

    @property
    def score(self) -> float:
        return score_of(self.search)


def score_of(search: KernelSearchCV) -> float:
    """Return the mean score over the folds of the candidate that was taken."""
    return float(search.cv_results_["mean_test_score"][search.best_index_])


class Learner:
    """Learns a problem by named recipes within a time.

    Parameters
    ----------
    problem : Problem
        The rows to learn from.
    kernel : Kernel
        The kernel of machines that have one.
    time_limit : float or None
        Seconds for all of it.
    seed : int
        Of samples, folds and starts.
    screen : Screen
        Where to say what is done.
    """

    def __init__(
        self, problem: Problem, *, kernel: Any, time_limit: float | None, seed: int, screen: Screen
    ):
        self.problem, self.kernel, self.seed, self.screen = problem, kernel, seed, screen
        self.time_limit = time_limit
        self.interrupted = False
        self.rows_of_stage: dict[int, int] = {}  # of the first recipe: all are judged by the same

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
        error = (first.score * (1 - first.score) / min(ENOUGH, len(self.problem))) ** 0.5
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
            search, n_rows = self._search_in_stages(recipe, Z, rivals)
            said.append(self._found(name, search, n_rows))
        return Search(name, recipe, search, n_rows)

    def _search_in_stages(self, recipe: Recipe, Z: Any, rivals: int) -> tuple[KernelSearchCV, int]:
        """Search widely on few rows, then ever more narrowly on as many as the time allows.

        The best width of a kernel shrinks as rows come in: a point that wins on few rows is only
        where to look next.
        """
        budget = None if self.time_limit is None else TUNING_SHARE * self.time_limit / rivals
        begun = time.monotonic()
        search, rows = self._first(recipe, Z, budget)
        self.interrupted = search.status_ == "interrupted"
        tried = len(search.cv_results_["params"])
        seconds = (time.monotonic() - begun) / tried / FOLDS  # of a candidate on a split
        for stage, candidates_of in enumerate((promising, around)):
            if search.status_ != "complete" or len(self.problem) <= FIRST_ROWS:
                break
            candidates = candidates_of(search.cv_results_, search.best_index_)
            more = self._rows_of(stage, len(rows), seconds * len(candidates), recipe.growth)
            if more < len(rows):
                break
            left = None if budget is None else max(budget - (time.monotonic() - begun), 0.1)
            start, sample = time.monotonic(), self._sample(more)
            try:
                search = self._listed(search, candidates, Z, (rows, sample), left)
            except TimeoutError:  # the machine was slower than it seemed
                break
            except KeyboardInterrupt:
                self.interrupted = True
                break
            rows = sample
            seconds = (time.monotonic() - start) / len(candidates) / search.n_splits_
        return search, len(rows)

    def _rows_of(self, stage: int, n: int, seconds: float, growth: float) -> int:
        """Return for how many rows a stage stays in its time; the first recipe decides for all.

        On n rows it would take so many seconds, which grow as a power of them.
        """
        share = STAGE_SHARE * (60.0 if self.time_limit is None else self.time_limit)
        affordable = int(n * (share / max(seconds, 1e-4)) ** (1 / growth))
        most = self.rows_of_stage.setdefault(stage, affordable)
        return min(len(self.problem), most)

    def _first(
        self, recipe: Recipe, Z: Any, budget: float | None
    ) -> tuple[KernelSearchCV, np.ndarray]:
        """Return a wide search and its rows; what is too slow gets a third of them."""
        rows = self._sample(FIRST_ROWS)
        try:
            return self._wide(recipe, Z[rows], self.problem.y[rows], budget), rows
        except TimeoutError:
            rows = self._sample(min(len(self.problem), FIRST_ROWS) // 3)
            return self._wide(recipe, Z[rows], self.problem.y[rows], budget), rows

    def _wide(self, recipe: Recipe, Z: Any, y: Any, limit: float | None) -> KernelSearchCV:
        estimator = recipe.estimator(self.kernel, self.seed)
        if recipe.grid is not None:
            search = KernelSearchCV(
                estimator, dict(recipe.grid), refit=smoothest, **self._how(y, limit)
            )
            with _calm():
                return search.fit(Z, y)
        with _calm():
            return tune(estimator, Z, y, refit=smoothest, **self._how(y, limit))

    def _listed(
        self,
        earlier: KernelSearchCV,
        candidates: list[dict[str, Any]],
        Z: Any,
        rows: tuple[np.ndarray, np.ndarray],
        limit: float | None,
    ) -> KernelSearchCV:
        """Score a list of candidates, and take the one that is likely to be best on all rows."""
        y, learned = self.problem.y[rows[1]], int((1 - HELD_OUT) * len(rows[1]))
        sizes = (int((1 - 1 / FOLDS) * len(rows[0])), learned, len(self.problem))

        def choose(results: Any) -> int:
            return smoothest(results, on_more_rows(results, earlier.cv_results_, sizes))

        grid = [{name: [value] for name, value in point.items()} for point in candidates]
        how = self._how(y, limit) | {"cv": self._splits(y), "refit": choose, "memory": SHARED}
        with _calm():
            return KernelSearchCV(earlier.estimator, grid, **how).fit(Z[rows[1]], y)

    def _how(self, y: np.ndarray, limit: float | None) -> dict[str, Any]:
        """Return what all searches have in common."""
        return {"cv": self._folds(y), "time_limit": limit, "progress": self.screen.bar}

    def _splits(self, y: np.ndarray) -> Any:
        """Return splits whose held-out rows are enough together: what counts is rows to learn."""
        kind = ShuffleSplit if self.problem.task == "regress" else StratifiedShuffleSplit
        n = int(np.clip(np.ceil(ENOUGH / (HELD_OUT * len(y))), 1, FOLDS))
        return kind(n, test_size=HELD_OUT, random_state=self.seed)

    def _folds(self, y: np.ndarray) -> Any:
        if self.problem.task == "regress":
            return KFold(min(FOLDS, len(y)), shuffle=True, random_state=self.seed)
        smallest = int(np.unique(y, return_counts=True)[1].min())
        n = min(FOLDS, max(smallest, 2))
        return StratifiedKFold(n, shuffle=True, random_state=self.seed)

    def _sample(self, size: int) -> np.ndarray:
        """Return the rows of a sample, every class with its share, and one in each fold."""
        n, y = len(self.problem), self.problem.y
        if size >= n:
            return np.arange(n)
        strata = np.unique(y, return_inverse=True)[1] if self.problem.task == "classify" else y * 0
        order = np.random.default_rng(self.seed).permutation(n)
        parts = [order[strata[order] == stratum] for stratum in np.unique(strata)]
        return np.sort(np.concatenate([p[: max(round(size / n * len(p)), FOLDS)] for p in parts]))

    # ------------------------------------------------------------ the last fit
    def _fit(self, best: Search, Z: Any) -> list[tuple[str, Any]]:
        """Return the fitted steps behind the encoder."""
        with self.screen.step("fit", "fitting to all rows") as said:
            steps, rows = self._steps(best)
            try:
                with self.screen.noting():  # the report repeats them
                    pipeline = Pipeline(steps).fit(Z[rows], self.problem.y[rows])
            except KeyboardInterrupt:  # what tuning left is a model too
                self.interrupted, rows = True, np.arange(best.n_rows)
                pipeline = Pipeline([("model", best.search.best_estimator_)])
            said.append(_fitted(pipeline[-1], len(rows)))
        self.interrupted |= getattr(pipeline[-1], "status_", "") == "interrupted"
        return list(pipeline.steps)

    def _steps(self, best: Search) -> tuple[list[tuple[str, Any]], np.ndarray]:
        """Return the unfitted steps, and the rows for them."""
        recipe, n = best.recipe, len(self.problem)
        estimator = recipe.estimator(self.kernel, self.seed)
        estimator.set_params(**best.search.best_params_)
        self._set(estimator, "probability", True)
        self._set(estimator, "time_limit", self._seconds_to_fit())
        most = min(self._fittable(best), recipe.most_rows or n)
        if n <= most:
            return [("model", estimator)], np.arange(n)
        if recipe.beyond is not None and not self.interrupted:
            steps = recipe.beyond(estimator, self.seed)
            self.screen.note(
                f"{n:,} rows are many for a {recipe.words}: its function is sought in the span of "
                f"{steps[0][1].n_components:,} of them, which is an approximation"
            )
            return steps, np.arange(n)
        rows = self._sample(most)
        self.screen.note(
            f"fitted to {len(rows):,} of {n:,} rows: a {recipe.words} of all would take too long"
        )
        return [("model", estimator)], rows

    def _fittable(self, best: Search) -> int:
        """Return how many rows the last fit has the time for, by what the fit of tuning took."""
        n, seconds = len(self.problem), self._seconds_to_fit()
        if seconds is None or best.n_rows >= n:
            return n
        growth = (seconds / max(best.search.refit_time_, 1e-3)) ** (1 / best.recipe.growth)
        return (
            n if growth * best.n_rows > DOUBT * n else max(int(growth * best.n_rows), best.n_rows)
        )

    def _seconds_to_fit(self) -> float | None:
        """Return the time for the last fit: little after Ctrl-C, but a model is wanted."""
        seconds = None if self.time_limit is None else FIT_SHARE * self.time_limit
        return min(seconds or IN_A_HURRY, IN_A_HURRY) if self.interrupted else seconds

    @staticmethod
    def _set(estimator: Any, name: str, value: Any) -> None:
        if name in estimator.get_params():
            estimator.set_params(**{name: value})

    # ------------------------------------------------------------ words
    def _found(self, name: str, search: KernelSearchCV, n_rows: int) -> str:
        best = ", ".join(f"{last_part(k)} = {setting(v)}" for k, v in search.best_params_.items())
        part = "" if n_rows == len(self.problem) else f" on {n_rows:,} rows"
        tried = count(len(search.cv_results_["params"]), "candidate")
        ended = {"complete": "", "time_limit": " (out of time)", "interrupted": " (interrupted)"}
        score = self._score(score_of(search))
        return f"{name}: {tried}{part}{ended[search.status_]}; {best}: {score}"

    def _score(self, value: float) -> str:
        return f"{percent(value)} right" if self.problem.task == "classify" else f"R² {value:.3f}"

    def _words(self, searches: list[Search], best: Search) -> list[str]:
        words = [
            f"A {s.recipe.words} was tuned by {_way(s.search)} on {s.n_rows:,} rows: "
            f"{self._score(s.score)}."
            for s in searches
        ]
        if len(searches) > 1:
            words.append(f"The {best.recipe.words} was taken and fitted to all rows.")
        return words


@contextmanager
def _calm() -> Iterator[None]:
    """Keep quiet about candidates that did not converge: they only lose their chance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _fitted(estimator: Any, n: int) -> str:
    said = [count(n, "row")]
    if hasattr(estimator, "support_"):
        said.append(count(len(estimator.support_), "support vector"))
    certificate = getattr(estimator, "certificate_", None)
    if certificate is not None:
        said.append("proved optimal" if certificate.ok else "not proved optimal")
    return ", ".join(said)


def _way(search: KernelSearchCV) -> str:
    """Return how the candidates were scored, in words."""
    if isinstance(search.cv, (KFold, StratifiedKFold)):
        return f"{search.n_splits_}-fold cross-validation"
    return f"{count(search.n_splits_, 'random split')} into rows to learn from and to judge by"
