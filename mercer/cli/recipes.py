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
    most_rows: int | None = None  # beyond that a direct solution would take too long

    def estimator(self, kernel: Any, seed: int) -> Any:
        """Return an unfitted estimator."""
        given: dict[str, Any] = {"kernel": kernel} if self.has_kernel else {}
        model = self.make(**given, **(self.fixed or {}))
        return (
            model.set_params(random_state=seed) if "random_state" in model.get_params() else model
        )


NETWORK: dict[str, Any] = {
    "fixed": {"early_stopping": True},
    "grid": {"lam": [1e-4, 1e-2], "hidden": [(50,), (200,)]},
}

CLASSIFIERS: dict[str, Recipe] = {
    "svm": Recipe("support vector machine", SVC, True),
    "ridge": Recipe("kernel ridge classifier", KernelRidgeClassifier, True, most_rows=15_000),
    "kernel-logistic": Recipe("kernel logistic regression", KernelLogistic, True, most_rows=15_000),
    "logistic": Recipe("logistic regression", LogisticRegression),
    "linear-svm": Recipe("linear support vector machine", LinearSVC),
    "knn": Recipe("nearest neighbours", KNN),
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
    "ridge": Recipe("kernel ridge regression", KernelRidge, True, most_rows=15_000),
    "svm": Recipe("support vector regression", SVR, True),
    "linear": Recipe("ridge regression", Ridge),
    "lasso": Recipe("lasso", Lasso),
    "knn": Recipe("nearest neighbours", KNNRegressor),
    "network": Recipe("neural network", MLPRegressor, **NETWORK),
}

AUTO = {"classify": ("svm", "logistic"), "regress": ("ridge", "linear")}
"""What ``--model auto`` tries: a machine with a kernel, and a linear model that may be as good."""

RECIPES = {"classify": CLASSIFIERS, "regress": REGRESSORS}
