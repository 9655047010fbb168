"""The model that is examined: what predicts, its parts, and its answers to rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from mercer._array import one_column
from mercer.assess.classification import ClassificationEvaluation
from mercer.assess.evaluate import evaluate_classes, evaluate_numbers, of_positive
from mercer.assess.regression import RegressionEvaluation
from mercer.kernels import Kernel
from mercer.linear import LogisticRegression, Ridge
from mercer.maps import EmpiricalMap, KernelPCAMap, Nystrom, PolynomialMap, RandomFourier
from mercer.meta import Around, innermost
from mercer.spectral import KernelPCA

Evaluation = ClassificationEvaluation | RegressionEvaluation

MAPS = (EmpiricalMap, KernelPCA, KernelPCAMap, Nystrom, PolynomialMap, RandomFourier)
"""Steps after which a linear model is linear no more."""

DRAWN_VALUES = 4e6  # drawn for the intervals of a score
DRAWS = (100, 1000)
AMPLE = 1e6  # seconds that are no limit


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted classifier or regressor.

    Attributes
    ----------
    model : estimator
        What predicts from rows as they were given: an estimator or a pipeline.
    search : fitted search or None
        What has chosen its parameters.
    """

    model: Any
    search: Any = None

    @classmethod
    def of(cls, model: Any, search: Any = None, name: str = "model") -> Subject:
        """Take the best estimator of a search; refuse what does not predict targets."""
        if _is_search(model):
            search, model = model, _best(model, name)
        _check_kind(model, name)
        check_is_fitted(model)
        last = model.steps[-1][1] if isinstance(model, Pipeline) else None
        if search is None and _is_search(last) and hasattr(last, "best_estimator_"):
            search = last
        return cls(model, search)

    @property
    def task(self) -> Literal["classify", "regress"]:
        """Whether classes or numbers are predicted."""
        return "classify" if is_classifier(self.model) else "regress"

    # ------------------------------------------------------------ parts
    @property
    def final(self) -> Any:
        """The estimator at the end of all pipelines and searches."""
        return _unfold(self.model)[1]

    @property
    def predictor(self) -> Any:
        """What stands at the end of all pipelines and searches, with what is around it."""
        return _last(self.model)

    @property
    def encoders(self) -> list[Any]:
        """The fitted transformers before it."""
        return _unfold(self.model)[0]

    @property
    def column_encoders(self) -> list[Any]:
        """The transformers that make numbers in columns, before features of a kernel."""
        return list(takewhile(lambda step: not isinstance(step, MAPS), self.encoders))

    @property
    def kernel(self) -> Kernel | None:
        """The kernel bound to the training rows, if there is one."""
        found = getattr(self.final, "kernel_", None)
        return found if isinstance(found, Kernel) else None

    @property
    def takes_objects(self) -> bool:
        """Whether rows are objects, such as texts, and no table."""
        return not self.encoders and self.kernel is not None and self.kernel.domain == "objects"

    @property
    def pairwise(self) -> bool:
        """Whether rows are kernel values and no columns of a table."""
        return bool(get_tags(self.model).input_tags.pairwise)

    @property
    def column_names(self) -> Any:
        """The names of the columns in the fit, or None."""
        return getattr(self.model, "feature_names_in_", None)

    @property
    def is_linear(self) -> bool:
        """Whether it is a linear model of its columns, found by a plain fit."""
        mapped = len(self.column_encoders) < len(self.encoders)
        bent = getattr(self.predictor, "target_transform", "none") != "none"
        return type(self.final) in (LogisticRegression, Ridge) and not mapped and not bent

    def encode(self, X: Any) -> Any:
        """Return rows as the last estimator sees them."""
        return _through(self.encoders, X)

    def columns(self, X: Any) -> Any:
        """Return rows as numbers in columns, before features of a kernel are made of them."""
        return _through(self.column_encoders, X)

    # ------------------------------------------------------------ predictions
    @cached_property
    def classes(self) -> np.ndarray:
        """The classes of the fit."""
        return np.asarray(self.model.classes_)

    def predict(self, X: Any) -> np.ndarray:
        """Return a prediction for each row, shape (n,)."""
        prediction = one_column(self.model.predict(X))
        if prediction.ndim != 1:
            raise ValueError(
                f"a report is of one target; the model predicts {prediction.shape[1]}: fit and "
                f"examine them one by one"
            )
        return prediction

    def scores(self, X: Any) -> np.ndarray | None:
        """Return probabilities or decision values, shape (n,) or (n, K), or None."""
        for name in ("predict_proba", "decision_function"):
            if self.task == "classify" and hasattr(self.model, name):
                return self._by_class(np.asarray(getattr(self.model, name)(X), np.float64))
        return None

    def _by_class(self, values: np.ndarray) -> np.ndarray | None:
        """Return values with a column for each class; those of pairs of classes are of no use."""
        K = len(self.classes)
        of_pairs = K > 2 and getattr(self.final, "decision_function_shape", "ovr") == "ovo"
        fits = values.shape[1:] == (K,) or (values.ndim == 1 and K == 2)
        probabilities = hasattr(self.model, "predict_proba")
        return values if fits and (probabilities or not of_pairs) else None


def _through(encoders: Iterable[Any], X: Any) -> Any:
    for encoder in encoders:
        X = encoder.transform(X)
    return X


def _is_search(model: Any) -> bool:
    return hasattr(model, "cv_results_") or (
        hasattr(model, "param_grid") and hasattr(model, "estimator")
    )


def _best(search: Any, name: str) -> Any:
    if not hasattr(search, "best_estimator_"):
        raise ValueError(
            f"{name} is a search without best_estimator_: fit it with refit=True, or give the "
            f"fitted estimator as {name} and the search as search"
        )
    return search.best_estimator_


def _unfold(model: Any) -> tuple[list[Any], Any]:
    """Return the transformers on the way, and what stands at the end."""
    if hasattr(model, "best_estimator_"):
        return _unfold(model.best_estimator_)
    if isinstance(model, Around):
        return _unfold(model.estimator_)
    if not isinstance(model, Pipeline):
        return [], model
    before = [step for _, step in model.steps[:-1] if step is not None and step != "passthrough"]
    further, final = _unfold(model.steps[-1][1])
    return before + further, final


def _last(model: Any) -> Any:
    if hasattr(model, "best_estimator_"):
        return _last(model.best_estimator_)
    return _last(model.steps[-1][1]) if isinstance(model, Pipeline) else model


def limited(model: Any, seconds: float) -> Any:
    """Return an unfitted model with a limit of time, if it knows one and has none."""
    inner = innermost(model)
    if seconds < AMPLE and inner.get_params(deep=False).get("time_limit", seconds) is None:
        inner.set_params(time_limit=seconds)
    return model


def _check_kind(model: Any, name: str) -> None:
    predicts = hasattr(model, "fit") and hasattr(model, "predict")
    if not predicts or not (is_classifier(model) or is_regressor(model)):
        raise TypeError(
            f"{name} must be a fitted classifier or regressor, a pipeline that ends in one, or a "
            f"search; got {type(model).__name__}"
        )


# ---------------------------------------------------------------- answers
@dataclass(frozen=True, eq=False)
class ModelAnswers:
    """Targets, predictions and scores of the same rows, and what is said of them.

    Models that answer the same rows are judged by the same draws of them.
    """

    y: np.ndarray
    prediction: np.ndarray
    scores: np.ndarray | None
    labels: np.ndarray | None  # None: numbers
    n_draws: int = DRAWS[1]
    seed: int = 0
    positive: Any = None  # None: the second of two classes
    groups: np.ndarray | None = None  # that are drawn whole

    @classmethod
    def of(cls, subject: Subject, X: Any, y: np.ndarray) -> ModelAnswers:
        """Let a model answer."""
        prediction = subject.predict(X)
        if subject.task == "regress":
            return cls(y, prediction.astype(np.float64), None, None)
        known = bool(np.isin(y, subject.classes).all())
        if known:
            return cls(y, prediction, subject.scores(X), subject.classes)
        # a class that the model has never seen has no column of scores
        return cls(y, prediction, None, np.unique(np.concatenate([y, subject.classes])))

    def drawn_with(self, seed: int, most_values: float = DRAWN_VALUES) -> ModelAnswers:
        """Return them with as many draws for intervals as their number allows."""
        n_draws = np.clip(min(most_values, DRAWN_VALUES) / (len(self.y) * self.width), *DRAWS)
        return replace(self, n_draws=int(n_draws), seed=seed)

    @property
    def width(self) -> int:
        """How many numbers a row is judged by."""
        return 1 if self.scores is None else int(self.scores[0].size)

    def take(self, index: np.ndarray) -> ModelAnswers:
        """Return the answers to some of the rows."""
        scores = None if self.scores is None else self.scores[index]
        groups = None if self.groups is None else self.groups[index]
        y, prediction = self.y[index], self.prediction[index]
        return replace(self, y=y, prediction=prediction, scores=scores, groups=groups)

    def drawn_like(self, own: ModelAnswers) -> ModelAnswers:
        """Return them to be judged by the class and the draws of other answers to the same rows."""
        like = replace(self, n_draws=own.n_draws, seed=own.seed, groups=own.groups)
        return replace(like, positive=own.positive)

    @cached_property
    def evaluation(self) -> Evaluation:
        """What is said of all of them."""
        weight = np.ones(len(self.y))
        given = (weight, self.n_draws, self.seed)
        if self.labels is None:
            return evaluate_numbers(self.y, self.prediction, *given, clusters=self.groups)
        scores = of_positive(self.scores, self.labels, self.positive)
        classes = (scores, self.labels, self.positive)
        return evaluate_classes(self.y, self.prediction, *classes, *given, clusters=self.groups)

    @cached_property
    def strata(self) -> np.ndarray:
        """The class of each row as a number, 0 for numbers: rows are drawn from each by itself."""
        if self.labels is None:
            return np.zeros(len(self.y), np.intp)
        return np.unique(self.y, return_inverse=True)[1]

    @cached_property
    def wrong(self) -> np.ndarray:
        """Which rows were predicted wrongly, or the residuals y − prediction."""
        return self.y != self.prediction if self.labels is not None else self.y - self.prediction

    @cached_property
    def probabilistic(self) -> bool:
        """Whether the scores are probabilities of the classes."""
        if self.scores is None or self.scores.ndim != 2:
            return False
        return bool((self.scores >= 0).all() and np.allclose(self.scores.sum(axis=1), 1.0))

    @cached_property
    def certainty(self) -> np.ndarray | None:
        """The probability of the predicted class, or how far it is ahead of the next."""
        if self.scores is None or self.labels is None:
            return None
        if self.scores.ndim == 1:
            return np.abs(self.scores)
        order = np.argsort(self.labels)
        place = order[np.searchsorted(self.labels, self.prediction, sorter=order)]
        own = self.scores[np.arange(len(place)), place]
        if self.probabilistic:
            return own
        rest = self.scores.copy()
        rest[np.arange(len(place)), place] = -np.inf
        return own - rest.max(axis=1)
