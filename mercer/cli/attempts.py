"""What is tried on a table: recipes, on rows as a route makes them, with so much work each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.cli.files import numbers_in_a_row
from mercer.cli.problem import TableProblem
from mercer.cli.recipes import AUTO, RECIPES, Effort, Plan, Recipe
from mercer.cli.routes import TableRoute, as_given, by_kind, encoded_route
from mercer.cli.screen import Screen
from mercer.cv_results import Trials
from mercer.kernels import Kernel
from mercer.select import KernelSearchCV


@dataclass(frozen=True, eq=False)
class Attempt:
    """A recipe on rows as a route makes them, and how much work it may be."""

    name: str
    recipe: Recipe
    route: TableRoute
    plan: Plan

    @property
    def label(self) -> str:
        """The recipe and, if it is not that of encoded columns, the route."""
        return f"{self.name} {self.route.label}".rstrip()

    @property
    def weight(self) -> float:
        """The share of a time limit, against 1 for others: what takes longer gets more of it."""
        return 3.0 if self.route.parts or self.recipe.cost == "metric" else 1.0


@dataclass(frozen=True, eq=False)
class AttemptSearch:
    """A finished search for one recipe."""

    name: str
    recipe: Recipe
    search: KernelSearchCV
    attempt: Attempt

    @property
    def score(self) -> float:
        """The mean score over the folds of the candidate that was taken."""
        return float(self.search.best_score_)

    @property
    def rows(self) -> np.ndarray:
        """The rows of the round that decided."""
        return self.search.rows_

    @property
    def scores(self) -> dict[int, float]:
        """The mean score of what was best in each round, by the rows of the round."""
        trials = Trials.of(self.search)
        found = {
            int(n): float(np.nanmax(trials.mean[trials.rows == n]))
            for n in np.unique(trials.rows[trials.complete])
        }
        return found | {int(trials.rows[trials.chosen]): self.score}


def on_as_many_rows(searches: list[AttemptSearch]) -> list[float]:
    """Return the scores of searches in the last round that all of them have ended."""
    scores = [search.scores for search in searches]
    common = set.intersection(*(set(by_rows) for by_rows in scores))
    if not common:
        return [search.score for search in searches]
    return [by_rows[max(common)] for by_rows in scores]


@dataclass(frozen=True, eq=False)
class Planner:
    """Decides what is tried, by what was asked for and what the table holds."""

    problem: TableProblem
    kernel: Kernel
    effort: Effort
    open_kernel: bool
    seed: int

    def attempts(self, model: str, screen: Screen) -> list[Attempt]:
        """Return the attempts that a name stands for; the same rows and folds judge them all."""
        found = [
            attempt for route in self._routes(model, screen) for attempt in self._on(route, model)
        ]
        rounds = min((a.plan.staged for a in found), key=lambda staged: staged.first_rows)
        return [replace(a, plan=replace(a.plan, staged=rounds)) for a in found]

    def _routes(self, model: str, screen: Screen) -> list[TableRoute]:
        """Return the ways from the table to rows, the one that is taken among equals first."""
        if self._reads_columns(model):
            return [as_given(self.problem, self.kernel, screen)]
        wanted = self.open_kernel and self._has_kernel(model)
        kinds = by_kind(self.problem, self.effort, self.seed) if wanted else None
        plain = encoded_route(self.problem, screen, is_needed=kinds is None)
        if kinds is None or plain is None:
            found = [route for route in (plain, kinds) if route is not None]
        else:
            found = [kinds, plain] if kinds.is_all_objects else [plain, kinds]
        if kinds is not None:
            also = "" if plain is None else ", to be compared with encoded columns"
            screen.say("kernels", f"one for {kinds.about}{also}")
        return found

    def _on(self, route: TableRoute, model: str) -> list[Attempt]:
        table = RECIPES[self.problem.task]
        names = self.names(model, route.Z)
        if route.parts:  # one machine with a kernel is enough for a comparison
            names = [name for name in names if table[name].has_kernel][:1]
        recipes = {name: route.recipe(table[name]) for name in names}
        plans = self._plans(recipes, route)
        return [Attempt(name, recipes[name], route, plans[name]) for name in names]

    def _has_kernel(self, model: str) -> bool:
        return model == "auto" or RECIPES[self.problem.task][model].has_kernel

    def _reads_columns(self, model: str) -> bool:
        """Whether the kernel is one on columns, and the model has it."""
        return self.kernel.domain == "table" and self._has_kernel(model)

    def names(self, model: str, Z: Any) -> list[str]:
        """Return the recipes that a name stands for; who gives a kernel does not want another."""
        if model != "auto":
            return [model]
        names = AUTO[self.problem.task]
        if self._reads_columns(model):  # which others cannot
            return [name for name in names if RECIPES[self.problem.task][name].has_kernel]
        dense = not sp.issparse(Z)  # as the columns of a metric must be
        learnable = self.open_kernel and self.effort.learns_metric and dense
        return [name for name in names if name != "metric" or learnable]

    def _plans(self, recipes: dict[str, Recipe], route: TableRoute) -> dict[str, Plan]:
        """Return the work for each recipe; the rows of the first one's rounds judge them all."""
        n, width = len(self.problem), numbers_in_a_row(route.Z)
        plans = {name: Plan.of(r, self.effort, n, width) for name, r in recipes.items()}
        first = next(iter(plans.values())).limited(route.most_rows)
        plans = {name: plan.limited(route.most_rows) for name, plan in plans.items()}
        return {name: replace(plan, staged=first.staged) for name, plan in plans.items()}
