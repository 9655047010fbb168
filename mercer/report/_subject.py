"""The model that is examined: what predicts, what was fitted last, what came before it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from mercer.kernels import Kernel
from mercer.linear import LogisticRegression, Ridge
from mercer.maps import EmpiricalMap, KernelPCAMap, Nystrom, PolynomialMap, RandomFourier
from mercer.spectral import KernelPCA

MAPS = (EmpiricalMap, KernelPCA, KernelPCAMap, Nystrom, PolynomialMap, RandomFourier)
"""Steps after which a linear model is linear no more."""


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
        own = _inner_search(model) if search is None else search
        return cls(model, own)

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
    def encoders(self) -> list[Any]:
        """The fitted transformers before it."""
        return _unfold(self.model)[0]

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

    def encode(self, X: Any) -> Any:
        """Return rows as the last estimator sees them."""
        for encoder in self.encoders:
            X = encoder.transform(X)
        return X

    def columns(self, X: Any) -> Any:
        """Return rows as numbers in columns, before features of a kernel are made of them."""
        for encoder in takewhile(lambda step: not isinstance(step, MAPS), self.encoders):
            X = encoder.transform(X)
        return X

    @property
    def is_linear(self) -> bool:
        """Whether it is a linear model of its columns, found by a plain fit."""
        mapped = any(isinstance(step, MAPS) for step in self.encoders)
        return type(self.final) in (LogisticRegression, Ridge) and not mapped

    # ------------------------------------------------------------ predictions
    @cached_property
    def classes(self) -> np.ndarray:
        """The classes of the fit."""
        return np.asarray(self.model.classes_)

    def predict(self, X: Any) -> np.ndarray:
        """Return a prediction for each row, shape (n,)."""
        prediction = np.asarray(self.model.predict(X))
        if prediction.ndim == 2 and prediction.shape[1] == 1:
            prediction = prediction[:, 0]
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


# ---------------------------------------------------------------- unfolding
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
    if not isinstance(model, Pipeline):
        return [], model
    before = [step for _, step in model.steps[:-1] if step is not None and step != "passthrough"]
    further, final = _unfold(model.steps[-1][1])
    return before + further, final


def _inner_search(model: Any) -> Any:
    """Return a search at the end of a pipeline."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else None
    return last if _is_search(last) and hasattr(last, "best_estimator_") else None


def _check_kind(model: Any, name: str) -> None:
    predicts = hasattr(model, "fit") and hasattr(model, "predict")
    if not predicts or not (is_classifier(model) or is_regressor(model)):
        raise TypeError(
            f"{name} must be a fitted classifier or regressor, a pipeline that ends in one, or a "
            f"search; got {type(model).__name__}"
        )
