"""The models that the command knows by name, and the grids they are tuned on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
)
from mercer.maps import Nystrom
from mercer.nets import MLPClassifier, MLPRegressor

Make = Callable[..., Any]


@dataclass(frozen=True)
class Recipe:
    """How a model is made: a class, fixed parameters, and a grid (None: `tune` finds one)."""

    words: str
    make: Make
    has_kernel: bool = False
    fixed: Mapping[str, Any] | None = None
    grid: Mapping[str, Any] | None = None
    growth: float = 1.5  # the cost of a fit to n rows grows as this power of n
    most_rows: int | None = None  # beyond that a direct solution would take too long
    beyond: Callable[[Any, int], list[tuple[str, Any]]] | None = None  # what then takes its place

    def estimator(self, kernel: Any, seed: int) -> Any:
        """Return an unfitted estimator."""
        given: dict[str, Any] = {"kernel": kernel} if self.has_kernel else {}
        model = self.make(**given, **(self.fixed or {}))
        return (
            model.set_params(random_state=seed) if "random_state" in model.get_params() else model
        )


LANDMARKS = 1000


def _ridge_on_landmarks(model: Any, seed: int) -> list[tuple[str, Any]]:
    """Return kernel ridge in the span of some rows: the same λ and kernel, a cost linear in n."""
    landmarks = Nystrom(LANDMARKS, kernel=model.kernel, random_state=seed)
    return [("landmarks", landmarks), ("model", Ridge(model.lam))]


NETWORK: dict[str, Any] = {
    "fixed": {"early_stopping": True},
    "grid": {"lam": [1e-4, 1e-2], "hidden": [(50,), (200,)]},
}

CLASSIFIERS: dict[str, Recipe] = {
    "svm": Recipe("support vector machine", SVC, True, growth=2.2),
    "ridge": Recipe(
        "kernel ridge classifier", KernelRidgeClassifier, True, growth=3, most_rows=15_000
    ),
    "kernel-logistic": Recipe(
        "kernel logistic regression", KernelLogistic, True, growth=3, most_rows=15_000
    ),
    "logistic": Recipe(
        "logistic regression", LogisticRegression, grid={"lam": [0.1, 1.0, 10.0, 100.0]}
    ),
    "linear-svm": Recipe("linear support vector machine", LinearSVC),
    "knn": Recipe("nearest neighbours", KNN, growth=2),
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
    "ridge": Recipe(
        "kernel ridge regression",
        KernelRidge,
        True,
        growth=3,
        most_rows=8_000,
        beyond=_ridge_on_landmarks,
    ),
    "svm": Recipe("support vector regression", SVR, True, growth=2.2),
    "linear": Recipe("ridge regression", Ridge),
    "lasso": Recipe("lasso", Lasso),
    "knn": Recipe("nearest neighbours", KNNRegressor, growth=2),
    "network": Recipe("neural network", MLPRegressor, **NETWORK),
}

AUTO = {"classify": ("svm", "logistic"), "regress": ("ridge", "linear")}
"""What ``--model auto`` tries: a machine with a kernel, and a linear model that may be as good."""

RECIPES = {"classify": CLASSIFIERS, "regress": REGRESSORS}
