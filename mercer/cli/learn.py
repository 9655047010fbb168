"""Learning within a time: encode, tune on as many rows as the time allows, fit on all."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline

from mercer.cli.errors import CommandError
from mercer.cli.problem import Problem
from mercer.cli.recipes import AUTO, RECIPES, Recipe
from mercer.cli.screen import Screen, count, percent
from mercer.select import KernelSearchCV, tune
from mercer.tables import TableEncoder

FIRST_ROWS = 1500  # rows of the first, wide search
SECOND_SHARE = 0.2  # of the time for the second, narrow search on more rows
TUNING_SHARE = 0.5  # of the time for both
FIT_SHARE = 0.4  # of the time for the last fit
FOLDS = 5


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
        return float(self.search.best_score_)


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

    def learn(self, model: str) -> Learned:
        """Return the best of the recipes that a name stands for, fitted to all rows."""
        table = RECIPES[self.problem.task]
        names = AUTO[self.problem.task] if model == "auto" else (model,)
        encoder, Z = self._encoded()
        searches: list[Search] = []
        for name in names:
            searches.append(self._search(name, table[name], Z, len(names)))
            if self.interrupted:
                break
        best = max(searches, key=lambda s: s.score)
        pipeline = Pipeline([("encode", encoder), *self._fit(best, Z)])
        words = tuple(self._words(searches, best))
        return Learned(best.name, best.recipe, pipeline, best.search, words, self.interrupted)

    def _encoded(self) -> tuple[TableEncoder, Any]:
        with self.screen.step("columns", "encoding the columns") as said:
            encoder = TableEncoder()
            Z = encoder.fit_transform(self.problem.X)
            said += encoder.describe()
        return encoder, Z

    # ------------------------------------------------------------ tuning
    def _search(self, name: str, recipe: Recipe, Z: Any, rivals: int) -> Search:
        with self.screen.step("tune", "") as said:
            try:
                search, n_rows = self._two_searches(recipe, Z, rivals)
            except TimeoutError:
                raise CommandError(
                    f"no candidate of the model {name!r} could be scored in time: raise "
                    f"--time-limit, or take another --model"
                ) from None
            said.append(self._found(name, search, n_rows))
        return Search(name, recipe, search, n_rows)

    def _two_searches(self, recipe: Recipe, Z: Any, rivals: int) -> tuple[KernelSearchCV, int]:
        """Search widely on few rows, then narrowly on as many as the time allows."""
        budget = None if self.time_limit is None else TUNING_SHARE * self.time_limit / rivals
        begun = time.monotonic()
        search, rows = self._first(recipe, Z, budget)
        seconds = max(time.monotonic() - begun, 1e-3)
        self.interrupted = search.status_ == "interrupted"
        if search.status_ != "complete" or len(rows) == len(self.problem):
            return search, len(rows)
        grid, tried = _around(search), len(search.cv_results_["params"])
        more = self._affordable(len(rows), seconds / tried, grid, recipe.growth)
        if more < 2 * len(rows):
            return search, len(rows)
        left = None if budget is None else max(budget - (time.monotonic() - begun), 0.1)
        first, rows = len(rows), self._sample(more)
        try:
            finer = self._narrow(search.estimator, grid, Z[rows], self.problem.y[rows], left)
        except TimeoutError:  # the machine was slower than it seemed
            return search, first
        except KeyboardInterrupt:
            self.interrupted = True
            return search, first
        return finer, len(rows)

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

    def _affordable(self, n: int, seconds: float, grid: dict[str, list[Any]], growth: float) -> int:
        """Return for how many rows a narrow search stays in its time.

        A candidate took so many seconds on n rows, which grow as a power of them.
        """
        candidates = int(np.prod([len(values) for values in grid.values()]))
        share = SECOND_SHARE * (60.0 if self.time_limit is None else self.time_limit)
        return min(len(self.problem), int(n * (share / (seconds * candidates)) ** (1 / growth)))

    def _wide(self, recipe: Recipe, Z: Any, y: Any, limit: float | None) -> KernelSearchCV:
        estimator = recipe.estimator(self.kernel, self.seed)
        if recipe.grid is not None:
            return self._narrow(estimator, dict(recipe.grid), Z, y, limit)
        with _calm():
            return tune(
                estimator, Z, y, cv=self._folds(y), time_limit=limit, progress=self.screen.bar
            )

    def _narrow(
        self, estimator: Any, grid: dict[str, list[Any]], Z: Any, y: Any, limit: float | None
    ) -> KernelSearchCV:
        search = KernelSearchCV(
            estimator, grid, cv=self._folds(y), time_limit=limit, progress=self.screen.bar
        )
        with _calm():
            return search.fit(Z, y)

    def _folds(self, y: np.ndarray) -> Any:
        if self.problem.task == "regress":
            return KFold(min(FOLDS, len(y)), shuffle=True, random_state=self.seed)
        smallest = int(np.unique(y, return_counts=True)[1].min())
        kind = StratifiedKFold if smallest > 1 else KFold
        n = min(FOLDS, max(smallest, 2))
        return kind(n, shuffle=True, random_state=self.seed)

    def _sample(self, size: int) -> np.ndarray:
        """Return the rows of a sample, every class with its share."""
        n = len(self.problem)
        if size >= n:
            return np.arange(n)
        labels = self.problem.y if self.problem.task == "classify" else None
        if labels is not None and np.unique(labels, return_counts=True)[1].min() * size < 2 * n:
            labels = None  # too rare a class to be in every sample
        rows, _ = train_test_split(
            np.arange(n), train_size=size, random_state=self.seed, stratify=labels
        )
        return np.sort(rows)

    # ------------------------------------------------------------ the last fit
    def _fit(self, best: Search, Z: Any) -> list[tuple[str, Any]]:
        """Return the fitted steps behind the encoder."""
        with self.screen.step("fit", "fitting to all rows") as said:
            steps, rows = self._steps(best)
            with self.screen.noting():  # the report repeats them
                pipeline = Pipeline(steps).fit(Z[rows], self.problem.y[rows])
            estimator = pipeline[-1]
            said.append(_fitted(estimator, len(rows)))
        self.interrupted |= getattr(estimator, "status_", "") == "interrupted"
        return list(pipeline.steps)

    def _steps(self, best: Search) -> tuple[list[tuple[str, Any]], np.ndarray]:
        """Return the unfitted steps, and the rows for them."""
        recipe, n = best.recipe, len(self.problem)
        estimator = recipe.estimator(self.kernel, self.seed)
        estimator.set_params(**best.search.best_params_)
        self._set(estimator, "probability", True)
        if self.time_limit is not None:
            self._set(estimator, "time_limit", FIT_SHARE * self.time_limit)
        if recipe.most_rows is None or n <= recipe.most_rows:
            return [("model", estimator)], np.arange(n)
        if recipe.beyond is not None:
            steps = recipe.beyond(estimator, self.seed)
            self.screen.note(
                f"{n:,} rows are many for a {recipe.words}: its function is sought in the span of "
                f"{steps[0][1].n_components:,} of them, which is an approximation"
            )
            return steps, np.arange(n)
        self.screen.note(
            f"fitted to {recipe.most_rows:,} of {n:,} rows: a {recipe.words} of all would take too "
            f"long; --model svm takes them all"
        )
        return [("model", estimator)], self._sample(recipe.most_rows)

    @staticmethod
    def _set(estimator: Any, name: str, value: Any) -> None:
        if name in estimator.get_params():
            estimator.set_params(**{name: value})

    # ------------------------------------------------------------ words
    def _found(self, name: str, search: KernelSearchCV, n_rows: int) -> str:
        best = ", ".join(f"{_short(k)} = {_number(v)}" for k, v in search.best_params_.items())
        part = "" if n_rows == len(self.problem) else f" on {n_rows:,} rows"
        tried = count(len(search.cv_results_["params"]), "candidate")
        ended = {"complete": "", "time_limit": " (out of time)", "interrupted": " (interrupted)"}
        score = self._score(search.best_score_)
        return f"{name}: {tried}{part}{ended[search.status_]}; {best}: {score}"

    def _score(self, value: float) -> str:
        return f"{percent(value)} right" if self.problem.task == "classify" else f"R² {value:.3f}"

    def _words(self, searches: list[Search], best: Search) -> list[str]:
        words = [
            f"A {s.recipe.words} was tuned by {s.search.n_splits_}-fold cross-validation on "
            f"{s.n_rows:,} rows: {self._score(s.score)}."
            for s in searches
        ]
        if len(searches) > 1:
            words.append(f"The {best.recipe.words} was the best and was fitted to all rows.")
        return words


def _around(search: KernelSearchCV) -> dict[str, list[Any]]:
    """Return a narrow grid around the best point: thirds and threefold of what is a scale."""
    return {
        name: [value / 3, value, value * 3] if isinstance(value, float) else [value]
        for name, value in search.best_params_.items()
    }


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


def _short(name: str) -> str:
    return name.split("__")[-1]


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
