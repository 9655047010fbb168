"""Models and rows that reports are made of, and what all reports have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    KNN,
    SVC,
    SVR,
    AdaBoost,
    GaussianBayes,
    KernelLogistic,
    KernelRidge,
    KNNRegressor,
    Lasso,
    LogisticRegression,
    MLPClassifier,
    Ridge,
)
from mercer.assess import ClassificationEvaluation, RegressionEvaluation
from mercer.report.examine import examine
from mercer.report.study import Study

CANCER = tuple(side[:300] for side in load_breast_cancer(return_X_y=True))
DIABETES = tuple(side[:220] for side in load_diabetes(return_X_y=True))
IRIS = load_iris(return_X_y=True)


def halves(data: Any, part: slice = slice(None)) -> Any:
    X, y = (side[part] for side in data)
    return (X[::2], y[::2]), (X[1::2], y[1::2])


def study_of(model: Any, data: Any, **settings: Any) -> Study:
    """Fit to every second row, examine on the others."""
    train, test = halves(data)
    return examine(model.fit(*train), *test, **{"train": train, "time_limit": 60, **settings})


def scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


MODELS = {
    "SVC": (scaled(SVC()), CANCER),
    "SVC, three classes": (SVC(), IRIS),
    "SVC with probabilities": (scaled(SVC(probability=True)), CANCER),
    "KernelLogistic": (KernelLogistic(), IRIS),
    "KernelRidge": (KernelRidge(lam=0.1), DIABETES),
    "SVR": (SVR(C=100.0), DIABETES),
    "LogisticRegression": (LogisticRegression(), IRIS),
    "Ridge": (Ridge(), DIABETES),
    "Lasso": (Lasso(0.1), DIABETES),
    "AdaBoost": (AdaBoost(20), CANCER),
    "KNN": (KNN(), IRIS),
    "KNNRegressor": (KNNRegressor(), DIABETES),
    "GaussianBayes": (GaussianBayes(), IRIS),
    "MLPClassifier": (MLPClassifier(8, activation="tanh", lam=0.1, random_state=0), IRIS),
    "scikit-learn": (SklearnLogistic(max_iter=5000), IRIS),
}
every_model = pytest.mark.parametrize("name", MODELS)


PLAIN = (str, int, float, bool, type(None), np.ndarray)


def is_plain(value: Any) -> bool:
    """Tell whether a value is made of Python's own types, arrays and the study's dataclasses."""
    if isinstance(value, (ClassificationEvaluation, RegressionEvaluation)):
        return True
    if dataclasses.is_dataclass(value):
        return all(is_plain(getattr(value, field.name)) for field in dataclasses.fields(value))
    if isinstance(value, Mapping):
        return all(type(key) is str and is_plain(part) for key, part in value.items())
    if type(value) in PLAIN:
        return not isinstance(value, np.ndarray) or value.dtype != object
    return isinstance(value, Sequence) and all(is_plain(part) for part in value)
