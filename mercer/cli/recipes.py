"""The models that the command knows by name, and the grids they are tuned on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

from mercer.bayes import GaussianBayes
from mercer.boosting import AdaBoost
from mercer.linear import Lasso, LogisticRegression, Ridge
from mercer.machines import (
    KNN,
    SVC,
    SVR,
    KernelLogistic,
    KernelRidge,
    KernelRidgeClassifier,
    KNNRegressor,
    LinearSVC,
    MetricRidge,
    MetricRidgeClassifier,
)
from mercer.nets import MLPClassifier, MLPRegressor
from mercer.select import Staged

Make = Callable[..., Any]


@dataclass(frozen=True)
class TableSize:
    """How many rows: of the later rounds of a search, and of the last fit."""

    rounds: tuple[int, int]
    fit: int


@dataclass(frozen=True)
class Effort:
    """How much work is done, in counts, so that every machine does the same.

    ``sizes`` are by how the cost of a fit grows with its rows: "metric" (a cube with a
    large factor), "cube", "square" or "line".
    """

    first_rows: int
    sizes: Mapping[str, TableSize]
    landmarks: int  # at most, and as many as the first round has rows at least
    values: float  # landmarks² × rows, at most
    steps: float  # that series may be compared by, in a search: pairs × length²
    learns_metric: bool = True  # whether ``--model auto`` tries a kernel that learns

    def in_span(self, n: int) -> tuple[int, int]:
        """Return how many landmarks stand for n rows, and how many of the rows are fitted to."""
        m = min(self.landmarks, max(self.first_rows, int((self.values / n) ** 0.5)))
        return m, min(n, int(self.values / m**2))


EFFORTS = {
    "quick": Effort(
        500,
        {
            "cube": TableSize((1_000, 2_000), 3_000),
            "metric": TableSize((1_000, 2_000), 2_000),
            "square": TableSize((1_500, 3_000), 8_000),
            "line": TableSize((2_000, 5_000), 200_000),
        },
        landmarks=700,
        values=5e10,
        steps=5e8,
        learns_metric=False,
    ),
    "standard": Effort(
        1_500,
        {
            "cube": TableSize((3_000, 6_000), 8_000),
            "metric": TableSize((2_000, 4_000), 4_000),
            "square": TableSize((4_000, 10_000), 25_000),
            "line": TableSize((5_000, 20_000), 1_000_000),
        },
        landmarks=1_500,
        values=3e11,
        steps=2e9,
    ),
    "thorough": Effort(
        3_000,
        {
            "cube": TableSize((6_000, 12_000), 15_000),
            "metric": TableSize((4_000, 8_000), 8_000),
            "square": TableSize((10_000, 30_000), 60_000),
            "line": TableSize((20_000, 100_000), 10_000_000),
        },
        landmarks=5_000,
        values=3e12,
        steps=2e10,
    ),
}
"""What ``--effort`` stands for."""

WIDE = 200  # numbers in a row from which on rows cost more, so that fewer of them are taken


@dataclass(frozen=True)
class Recipe:
    """How a model is made: a class, fixed parameters, and a grid (None: `tune` finds one)."""

    words: str
    make: Make
    has_kernel: bool = False
    fixed: Mapping[str, Any] | None = None
    grid: Mapping[str, Any] | None = None
    cost: str = "line"  # of a fit, as it grows with the rows

    def estimator(self, kernel: Any, seed: int, **more: Any) -> Any:
        """Return an unfitted estimator, with more parameters as far as it knows them."""
        given: dict[str, Any] = {"kernel": kernel} if self.has_kernel else {}
        model = self.make(**given, **(self.fixed or {}))
        known, more = model.get_params(deep=False), {"random_state": seed, **more}
        return model.set_params(**{name: value for name, value in more.items() if name in known})


@dataclass(frozen=True)
class Plan:
    """The work for a recipe on a table: the rounds of its search, the rows of the last fit."""

    staged: Staged
    fit_rows: int
    landmarks: int | None

    @classmethod
    def of(cls, recipe: Recipe, effort: Effort, n: int, width: int) -> Plan:
        """Count it for n rows of so many numbers."""
        size, landmarks = effort.sizes[recipe.cost], None
        part = min(1.0, (WIDE / max(width, 1)) ** 0.5)
        rounds = tuple(max(int(part * rows), effort.first_rows) for rows in size.rounds)
        most = max(int(part * size.fit), rounds[-1])
        spans = "landmarks" in signature(recipe.make).parameters and recipe.cost != "square"
        if n > most and spans:  # a machine of pairs of rows is exact on some rows instead
            landmarks, most = effort.in_span(n)
        return cls(Staged(effort.first_rows, rounds), min(n, most), landmarks)

    def limited(self, most: int | None) -> Plan:
        """Return the plan with searches of so many rows at most, and a fit of three times that."""
        if most is None:
            return self
        rounds = tuple(min(rows, most) for rows in self.staged.more_rows)
        staged = replace(
            self.staged, first_rows=min(self.staged.first_rows, most), more_rows=rounds
        )
        return replace(self, staged=staged, fit_rows=min(self.fit_rows, 3 * most))


NETWORK: dict[str, Any] = {
    "cost": "square",
    "fixed": {"early_stopping": True},
    "grid": {"lam": [1e-4, 1e-2], "hidden": [(50,), (200,)]},
}

METRIC: dict[str, Any] = {
    "cost": "metric",
    "fixed": {"kernel": "auto", "search_rows": 600, "metric_rows": 2000},
    "grid": {"rounds": [4]},
}

CLASSIFIERS: dict[str, Recipe] = {
    "svm": Recipe("support vector machine", SVC, True, cost="square"),
    "ridge": Recipe("kernel ridge classifier", KernelRidgeClassifier, True, cost="cube"),
    "metric": Recipe("kernel classifier with a learned metric", MetricRidgeClassifier, **METRIC),
    "kernel-logistic": Recipe("kernel logistic regression", KernelLogistic, True, cost="cube"),
    "logistic": Recipe(
        "logistic regression", LogisticRegression, grid={"lam": [0.1, 1.0, 10.0, 100.0]}
    ),
    "linear-svm": Recipe("linear support vector machine", LinearSVC),
    "knn": Recipe("nearest neighbours", KNN, cost="square"),
    "bayes": Recipe(
        "Bayes classifier with Gaussians",
        GaussianBayes,
        grid={"order": [0, None], "tied": [False, True]},
    ),
    "boost": Recipe(
        "boosted stumps", AdaBoost, grid={"n_estimators": [50, 200], "learning_rate": [0.3, 1.0]}
    ),
    "network": Recipe("neural network", MLPClassifier, **NETWORK),
}

REGRESSORS: dict[str, Recipe] = {
    "ridge": Recipe("kernel ridge regression", KernelRidge, True, cost="cube"),
    "metric": Recipe("kernel ridge regression with a learned metric", MetricRidge, **METRIC),
    "svm": Recipe("support vector regression", SVR, True, cost="square"),
    "linear": Recipe("ridge regression", Ridge),
    "lasso": Recipe("lasso", Lasso),
    "knn": Recipe("nearest neighbours", KNNRegressor, cost="square"),
    "network": Recipe("neural network", MLPRegressor, **NETWORK),
}

AUTO = {"classify": ("svm", "metric", "logistic"), "regress": ("ridge", "metric", "linear")}
"""What ``--model auto`` tries: a machine with a Gaussian kernel, one whose kernel learns which
columns matter, and a linear model that may be as good."""

RECIPES = {"classify": CLASSIFIERS, "regress": REGRESSORS}
