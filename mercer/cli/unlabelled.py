"""Rows without a target: learned from beside the others, and whether that helped.

A machine with a graph of all rows is fitted next to the model that the labelled rows give by
themselves. Both answer the same held-out rows, and the difference is told with its interval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer._limits import Limits
from mercer._sklearn import _safe_indexing
from mercer._words import count, last_part, setting
from mercer.checks import RowKeys
from mercer.cli.answers import AroundModel
from mercer.cli.errors import USAGE, CommandError
from mercer.cli.learn import Learned
from mercer.cli.parts import Parts, SplitOptions, with_order
from mercer.cli.problem import TableProblem
from mercer.cli.recipes import Effort, Plan, Recipe
from mercer.cli.screen import Screen
from mercer.datasets import Data
from mercer.kernels import Kernel
from mercer.machines import LaplacianRidge, LaplacianRidgeClassifier, LaplacianSVC
from mercer.meta import TargetRegressor, require_uninterrupted
from mercer.report import Comparison, compare
from mercer.report.sections.scores import signed, told
from mercer.select import tune
from mercer.select.rounds import sample_rows
from mercer.tables import TableEncoder

CHOICES = ("drop", "use")
LEFT_OUT = "left out: --unlabelled use learns from them as well"
TAKEN = "taken as rows without a label"
FEW_LABELS = 300  # up to which ``auto`` is a support vector machine: it costs much for each label
MOST_LABELS = 300  # of a search
TUNING_SHARE = 0.5  # of the time that is left, and then for the fit
WITH, WITHOUT = "with", "without"

RECIPES = {
    "classify": {
        "svm": Recipe("support vector machine along a graph", LaplacianSVC, True, cost="cube"),
        "ridge": Recipe(
            "kernel ridge classifier along a graph", LaplacianRidgeClassifier, True, cost="cube"
        ),
    },
    "regress": {
        "ridge": Recipe("kernel ridge regression along a graph", LaplacianRidge, True, cost="cube")
    },
}


class PipelineWithOthers(Pipeline):
    """A pipeline that is fitted to the rows it is given and to ``others``, which have no target."""

    def __init__(
        self, steps: Any, *, others: Any = None, memory: Any = None, verbose: bool = False
    ):
        super().__init__(steps, memory=memory, verbose=verbose)
        self.others = others

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the steps to rows X with targets y, and to the others."""
        super().fit(stacked(X, self.others), with_gaps(y, _height(self.others)))
        return self


def stacked(X: Any, others: Any) -> Any:
    """Return the rows of two tables of the same file."""
    if sp.issparse(X):
        return sp.vstack([X, others], format="csr")
    if isinstance(X, np.ndarray):
        return np.concatenate([X, others])
    return X.vstack(others)


def with_gaps(y: np.ndarray, m: int) -> np.ndarray:
    """Return targets followed by m that are missing: NaN among numbers, None among labels."""
    if y.dtype.kind == "f":
        return np.append(y, np.full(m, np.nan))
    return np.append(y.astype(object), np.full(m, None))


def _height(X: Any) -> int:
    return int(X.shape[0])


def without_others(model: Any) -> Any:
    """Return a fitted pipeline as it is saved: what predicts, and not what it was fitted to."""
    return Pipeline(model.steps) if isinstance(model, PipelineWithOthers) else model


# ---------------------------------------------------------------- which rows
def check_wish(unlabelled: str, model: str) -> None:
    """Refuse a model that cannot learn from rows without a label, before any file is read."""
    if unlabelled != "use":
        return
    known = ["auto", *RECIPES["classify"]]
    if model not in known:
        raise CommandError(
            f"--model {model} cannot learn from rows without a target; --unlabelled use is for "
            f"{', '.join(known)}",
            USAGE,
        )


def without_target(data: Data, problem: TableProblem, by: SplitOptions) -> TableProblem | None:
    """Return the rows of a file that a problem has left out for want of a target; None: none."""
    rows = np.setdiff1d(np.arange(data.X.shape[0]), problem.numbers - 1)
    if not len(rows):
        return None
    others = replace(
        problem,
        X=_safe_indexing(data.X, rows),
        y=np.full(len(rows), np.nan),
        numbers=rows + 1,
        notes=(),
    )
    return with_order(others, by)


def apart_from(others: TableProblem, test: TableProblem, screen: Screen) -> TableProblem | None:
    """Return the rows that have nothing to do with those that are tested; None: there are none.

    Copies of tested rows, rows of their groups, and rows that are not earlier would let a machine
    see the shape of what is to be new to it.
    """
    tested = RowKeys.of(test.X)
    seen = np.isin(RowKeys.of(others.X, names=tested.names).whole, tested.whole)
    if others.groups is not None and test.groups is not None:
        seen |= np.isin(others.groups, test.groups)
    if others.times is not None and test.times is not None:
        seen |= others.times >= test.times.min()
    if seen.any():
        screen.note(
            f"{count(int(seen.sum()), 'row')} without a target left out: copies, groups or times "
            f"of rows that are tested"
        )
    return None if seen.all() else others.take(np.flatnonzero(~seen))


# ---------------------------------------------------------------- learning
@dataclass(frozen=True, eq=False)
class GraphLearner:
    """Learns from rows with and without targets, the way that a model without these was found."""

    learned: Learned  # by labelled rows alone
    learn: TableProblem
    others: TableProblem
    kernel: Kernel
    effort: Effort
    limits: Limits
    seed: int
    screen: Screen
    memory: Any = None

    def learn_with(self, model: str) -> Learned:
        """Return a machine with a graph, tuned and fitted."""
        name, recipe = self._recipe(model)
        encoder = clone(self.learned.model[0])
        X, y = stacked(self.learn.X, self.others.X), with_gaps(self.learn.y, len(self.others))
        search = self._tuned(recipe, encoder.fit_transform(X), y)
        last = self._around(self._best(search, recipe))
        pipeline = PipelineWithOthers([("encode", encoder), ("model", last)], others=self.others.X)
        around = self._with_threshold(pipeline)
        rows = f"{count(len(self.learn), 'row')} with a target, {len(self.others):,} without"
        with self.screen.step("fit", f"fitting to {rows}") as said, self.screen.noting():
            require_uninterrupted(pipeline.fit(self.learn.X, self.learn.y))
            said.append(rows)
        pipeline.steps[-1] = ("model", around.with_threshold(pipeline[-1]))
        words = (f"A {recipe.words} was fitted to {rows}.", *around.words, *self._words_alone())
        found = {"name": f"{name}-graph", "recipe": recipe, "model": pipeline, "search": search}
        every = np.arange(len(self.learn))
        return replace(self.learned, words=words, rows=every, threshold=around.threshold, **found)

    def _recipe(self, model: str) -> tuple[str, Recipe]:
        known = RECIPES[self.learn.task]
        few = len(self.learn) <= FEW_LABELS and "svm" in known
        name = ("svm" if few else "ridge") if model == "auto" else model
        return name, known[name]

    def _estimator(self, recipe: Recipe) -> Any:
        """Return the machine with the kernel that was given, or was found for objects."""
        n = len(self.learn) + len(self.others)
        plan = Plan.of(recipe, self.effort, n, 1)
        known = {"landmarks": plan.landmarks, "memory": self.memory}
        found = self.learned.search
        kernel = found.best_params_.get("kernel", found.estimator.get_params().get("kernel"))
        if isinstance(self.learned.model[0], TableEncoder):
            kernel = self.kernel
        return self.learned.goal.prepared(recipe.estimator(kernel, self.seed, **known))

    def _tuned(self, recipe: Recipe, Z: Any, y: np.ndarray) -> Any:
        rows = self._rows_of_search()
        with self.screen.step("tune", "") as said:
            search = tune(
                self._estimator(recipe),
                _safe_indexing(Z, rows),
                y[rows],
                scoring=self.learned.goal.scoring if self.learn.task == "classify" else None,
                refit=False,
                random_state=self.seed,
                time_limit=self._seconds(),
                progress=self.screen.bar,
            )
            if search.status_ == "interrupted":
                raise KeyboardInterrupt
            best = [f"{last_part(k)} = {setting(v)}" for k, v in search.best_params_.items()]
            said.append(f"{recipe.words}: {', '.join(best)}, by hiding labels in turn")
        return search

    def _rows_of_search(self) -> np.ndarray:
        """Return some labelled rows and some others."""
        n, classes = len(self.learn), self.learn.y if self.learn.task == "classify" else None
        labelled = sample_rows(n, MOST_LABELS, classes, self.seed)
        rest = sample_rows(len(self.others), self.effort.first_rows, None, self.seed)
        return np.concatenate([labelled, n + rest])

    def _best(self, search: Any, recipe: Recipe) -> Any:
        machine = self._estimator(recipe).set_params(**search.best_params_)
        more = {"time_limit": self._seconds(), "probability": True}
        known = machine.get_params(deep=False)
        return machine.set_params(**{k: v for k, v in more.items() if k in known})

    def _around(self, machine: Any) -> Any:
        """Return the machine with the scale and the range that the other model has."""
        last = self.learned.model[-1]
        if not isinstance(last, TargetRegressor):
            return machine
        return clone(last).set_params(estimator=machine)

    def _with_threshold(self, pipeline: Pipeline) -> AroundModel:
        """Return the threshold that was asked for, or the one that hidden labels suggest."""
        around = AroundModel(self.learned.goal, self.learn, self.seed)
        if self.learn.task == "regress" or not around.is_looked_for:
            return around
        try:
            with self.screen.step("threshold", "looking for a threshold") as said:
                around = around.chosen(pipeline, self.learn.X, self.limits)
                said += around.words
        except TimeoutError:
            self.screen.note("the time limit cut the work short: no threshold was found")
        return around

    def _words_alone(self) -> tuple[str, ...]:
        """Return what was said of the other model, but for its threshold."""
        threshold = self.learned.threshold
        own = () if threshold is None else (threshold.words,)
        return tuple(words for words in self.learned.words if words not in own)

    def _seconds(self) -> float | None:
        left = self.limits.seconds_left()
        return None if left is None else max(TUNING_SHARE * left, 0.1)


# ---------------------------------------------------------------- whether it helped
@dataclass(frozen=True, eq=False)
class Help:
    """Two models on the same rows: one has learned from rows without a target as well."""

    rows: int  # without a target
    found: Comparison

    @classmethod
    def of(cls, learned: Learned, alone: Learned, parts: Parts, rows: int, seed: int) -> Help:
        """Compare them on the rows that are tested."""
        models = {WITH: learned.model, WITHOUT: alone.model}
        test = parts.test
        by: dict[str, Any] = {"row_groups": test.groups, "folds": parts.folds, "random_state": seed}
        return cls(rows, compare(models, test.X, test.y, positive=learned.goal.positive, **by))

    @property
    def gain(self) -> tuple[float, float, float]:
        """The first score with them less that without, and its interval."""
        lead = next(iter(self.found.scores[0].leads.values()))
        ends = (lead.value, lead.low, lead.high)
        return ends if self.found.best == WITH else (-lead.value, -lead.high, -lead.low)

    @property
    def verdict(self) -> str:
        """What is known of it, in a word."""
        _, low, high = self.gain
        return "helped" if low > 0 else "harmed" if high < 0 else "not known"

    @property
    def sentence(self) -> str:
        """Whether they helped, with the difference and its interval."""
        score, (value, low, high) = self.found.scores[0], self.gain
        both = [told(score, self._value(name)) for name in (WITH, WITHOUT)]
        said = {
            "helped": "helped",
            "harmed": "did harm, so that --unlabelled drop is the better choice",
            "not known": "made no difference that these rows can show",
        }[self.verdict]
        ends = f"{signed(score, low)} to {signed(score, high)}"
        between = f"{signed(score, value)}, 95 % interval {ends}"
        return (
            f"{count(self.rows, 'row')} without a target {said}: {score.name} {both[0]} with them, "
            f"{both[1]} without (difference {between}) on {count(self.found.n_rows, 'row')}"
        )

    def _value(self, name: str) -> float:
        estimate = self.found.estimate(self.found.scores[0], name)
        return float("nan") if estimate is None else estimate.value

    def about(self) -> dict[str, Any]:
        """Return it as plain values."""
        score, (value, low, high) = self.found.scores[0], self.gain
        return {
            "rows": self.rows,
            "score": score.name,
            "with": self._value(WITH),
            "without": self._value(WITHOUT),
            "difference": {"value": value, "low": low, "high": high},
            "verdict": self.verdict,
        }


def with_others(
    learned: Learned, parts: Parts, model: str, known: dict[str, Any]
) -> tuple[Learned, Help | None]:
    """Return the model that has learned from rows without a target too, and whether they helped.

    ``known`` are the other arguments of `GraphLearner`.
    """
    if parts.others is None:
        return learned, None
    screen, others = known["screen"], parts.others
    if learned.interrupted:
        screen.note("interrupted: rows without a target were not used")
        return learned, None
    try:
        found = GraphLearner(learned, parts.learn, others, **known).learn_with(model)
        helped = Help.of(found, learned, parts, len(others), known["seed"])
    except KeyboardInterrupt:
        screen.note("interrupted: rows without a target were not used")
        return replace(learned, interrupted=True), None
    screen.say("unlabelled", helped.sentence)
    return replace(found, words=(f"{helped.sentence}.", *found.words)), helped
