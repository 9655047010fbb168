"""Ways from a table to the rows of a model: encoded, as given, or with a kernel for each kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._sklearn import _safe_indexing
from mercer.cli.by_kind import MOST_PARTS, KindOfColumns, in_words, parts_of, sums
from mercer.cli.errors import CommandError
from mercer.cli.files import columns_as_they_are, encoded
from mercer.cli.problem import TableProblem
from mercer.cli.recipes import Effort, Recipe
from mercer.cli.screen import Screen
from mercer.cv_results import Trials
from mercer.kernels import Kernel
from mercer.kernels.frames import Columns
from mercer.select import KernelSearchCV, Staged
from mercer.select.grids import axes
from mercer.tables import ColumnsEncoder, object_kinds
from mercer.tables.encoder import NothingToEncodeError

KERNELS_GOING_ON = 2  # kernels of a single part that are tried on more rows
FEWEST_ROWS = 60  # of a search, however long the series are
PARTS_SHARE = 0.5  # of the time of a search for the parts by themselves


class PartInterruptedError(Exception):
    """Ctrl-C ended the search for a part; ``search`` holds the best that was found for it."""

    def __init__(self, search: KernelSearchCV):
        super().__init__("interrupted")
        self.search = search


@dataclass(frozen=True, eq=False)
class TableRoute:
    """Rows as a model sees them, and what made them of the table.

    ``parts`` are the kinds of columns with the kernels that may suit each; without them the model
    has the kernel that was given.
    """

    encoder: Any
    Z: Any
    words: str = "encoded columns"
    label: str = ""
    parts: tuple[KindOfColumns, ...] = ()
    most_rows: int | None = None  # of a search, where comparing two rows is much work

    @property
    def about(self) -> str:
        """The kinds of columns, in words."""
        return in_words(self.parts)

    @property
    def is_all_objects(self) -> bool:
        """Whether there are texts, strings and series alone."""
        return bool(self.parts) and not self.encoder.numbers_

    def recipe(self, recipe: Recipe) -> Recipe:
        """Return a recipe whose words say what its kernel is."""
        if not self.parts:
            return recipe
        return replace(recipe, words=f"{recipe.words} with a kernel for {self.about}")

    def grid(
        self, estimator: Any, problem: TableProblem, rows: np.ndarray, how: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return sums of the kernels that suit the parts best, and penalties.

        Which kernel suits a part is found on some rows, for the part by itself.
        """
        penalties = _penalties(estimator, self.parts[0].kernels[0], self.Z, problem.y, rows)
        first = how["strategy"].first_rows
        if len(self.parts) == 1 and len(problem) <= first:  # one round, of all rows
            return {"kernel": list(self.parts[0].kernels), **penalties}
        seconds = how.get("time_limit")
        each = None if seconds is None else PARTS_SHARE * seconds / len(self.parts)
        how = {**how, "time_limit": each, "strategy": Staged(first, ())}
        found = [_tuned(estimator, part, penalties, self.Z, problem, how) for part in self.parts]
        if len(found) == 1:
            return {"kernel": _best_kernels(found[0]), **penalties}
        best = sorted(found, key=lambda search: -search.best_score_)[:MOST_PARTS]
        kernels = [s.best_params_["kernel"] for s in found if s in best]
        return {"kernel": sums(kernels), **penalties}


def _best_kernels(search: KernelSearchCV) -> list[Kernel]:
    """Return the kernels that did best, by the best of their penalties."""
    trials = Trials.of(search)
    order = np.argsort(-np.nan_to_num(trials.mean, nan=-np.inf), kind="stable")
    kernels = {repr(trials.params[i]["kernel"]): trials.params[i]["kernel"] for i in order}
    return list(kernels.values())[:KERNELS_GOING_ON]


def _penalties(
    estimator: Any, kernel: Kernel, Z: Any, y: np.ndarray, rows: np.ndarray
) -> dict[str, list[Any]]:
    """Return the axes of a grid that are not of the kernel."""
    some = _safe_indexing(Z, rows)
    with_kernel = estimator.set_params(kernel=kernel)
    found = axes(with_kernel, some, y[rows], np.random.default_rng(0))
    return {axis.name: list(axis.values) for axis in found if not axis.name.startswith("kernel")}


def _tuned(
    estimator: Any,
    part: KindOfColumns,
    penalties: Mapping[str, Any],
    Z: Any,
    problem: TableProblem,
    how: Mapping[str, Any],
) -> KernelSearchCV:
    search = KernelSearchCV(estimator, {"kernel": list(part.kernels), **penalties}, **how)
    search.fit(Z, problem.y, groups=problem.groups)
    if search.status_ == "interrupted":
        raise PartInterruptedError(search)
    return search


def encoded_route(problem: TableProblem, screen: Screen, *, is_needed: bool) -> TableRoute | None:
    """Return columns as numbers; None if that cannot be done and there is another way."""
    try:
        return TableRoute(*encoded(problem.X, screen, problem.kinds))
    except CommandError as error:
        if is_needed or not isinstance(error.__cause__, NothingToEncodeError):
            raise
        return None


def as_given(problem: TableProblem, kernel: Kernel, screen: Screen) -> TableRoute:
    """Return the table for a kernel that reads columns by itself."""
    made = columns_as_they_are(problem.X, kernel, screen, problem.kinds)
    return TableRoute(*made, words="columns as they are")


def by_kind(problem: TableProblem, effort: Effort, seed: int) -> TableRoute | None:
    """Return rows for a kernel for each kind of column, if there are texts, strings or series."""
    objects = object_kinds(problem.X, problem.kinds)
    if not objects:
        return None
    given = {name: kind for name, kind in problem.kinds.items() if name not in objects}
    try:
        encoder = ColumnsEncoder(objects, kinds=given or None).fit(problem.X)
    except ValueError as error:
        raise CommandError(str(error)) from None
    if not encoder.columns_:
        return None
    Z = encoder.transform(problem.X)
    words = "a kernel for each kind of column"
    parts = tuple(parts_of(encoder, Z, seed))
    return TableRoute(encoder, Z, words, "by kind", parts, _most_rows(encoder, Z, effort))


def _most_rows(encoder: ColumnsEncoder, Z: Columns, effort: Effort) -> int | None:
    """Return how many rows a search may have whose series are compared step by step."""
    names = [state["name"] for state in encoder.columns_ if state["kind"] == "series"]
    longest = [max(len(series) for series in Z.column(name)) for name in names]
    work = sum(float(steps) ** 2 for steps in longest)
    return max(int((effort.steps / work) ** 0.5), FEWEST_ROWS) if names else None
