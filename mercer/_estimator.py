"""What every kernel estimator does at its border: check rows, bind the kernel, warn honestly."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cache, wraps
from importlib import import_module
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from scipy.special import log_expit
from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    is_classifier,
    is_regressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from mercer._array import as_objects
from mercer._display import folded_proof
from mercer._labels import labels_of
from mercer._machine import require_room_for_blas
from mercer._named_parts import NamedParts
from mercer._numbers import TEXT_FOR_KERNELS, TEXT_FOR_TABLES, refuse_masked, refuse_no_numbers
from mercer._sklearn import _check_sample_weight
from mercer._state import (
    COLUMNS,
    Attribute,
    FittedRows,
    Instance,
    Labels,
    Lengths,
    Maybe,
    SizeOf,
    StateError,
)
from mercer._threads import threads_of_fit
from mercer.kernels import Kernel, Linear, Precomputed, as_kernel
from mercer.kernels.columns import only_columns_read
from mercer.kernels.sample import Sample
from mercer.losses.risk import log_probabilities
from mercer.result import Certificate, Solution, Status
from mercer.rows import Rows, as_rows
from mercer.rows.answers import ANSWERING, by_blocks

FLOATS = [np.float64, np.float32]
GIVEN = "points of a given matrix"


# what predictions and new coordinates are made of
LEARNED = (
    *("coef_", "intercept_", "dual_coef_", "components_", "mixing_", "mean_", "means_"),
    *("embedding_", "directions_", "x_weights_", "y_weights_", "eigenvectors_", "loadings_"),
)


def _is_finite(values: Any) -> bool:
    """Tell whether all numbers are finite; what is no array of numbers is."""
    if not isinstance(values, (np.ndarray, float)):
        return True
    return bool(np.isfinite(values).all())


def _predicts(estimator: Any) -> bool:
    return is_classifier(estimator) or is_regressor(estimator)


class Reporting:
    """What a person reads of a fitted model: a page for the browser."""

    @available_if(_predicts)
    def report(self, path: Any, X: Any, y: Any, **options: Any) -> Any:
        """Write a page about this model on rows that it has not seen; return its path.

        Parameters
        ----------
        path : str or Path
            The HTML file; it needs nothing but itself.
        X, y : table or list of objects, targets
            Rows that were not used in ``fit``.
        **options : dict
            As for `mercer.write_report`: ``train``, ``search``, ``rivals``, ``title``, ``command``,
            ``words``, ``time_limit``, ``random_state``.
        """
        # the one call upwards: reports know every estimator, estimators only that there are reports
        return import_module("mercer.report").write_report(self, path, X, y, **options)


def validated(
    estimator: Any, X: Any, y: Any = "no_validation", *, kernel: Any = None, **checks: Any
) -> Any:
    """Return X (and y) as scikit-learn checks them; what only looks like numbers is refused.

    An estimator that stores rows in ``fit`` gets a copy of its own: it must not change with the
    caller's array.
    """
    owner = type(kernel or estimator).__name__
    refuse_no_numbers(X, "X", owner, TEXT_FOR_KERNELS if kernel else TEXT_FOR_TABLES)
    if checks.get("y_numeric"):
        refuse_no_numbers(y, "y", owner)
    refuse_masked(y, "y")
    own = estimator.stores_rows and checks.get("reset", True)
    return validate_data(estimator, X, y, copy=own, **checks)


FITTING = ("fit", "fit_transform", "fit_predict", "partial_fit")


def _wrapped(method: Any, wrap: Callable[[Any], Any]) -> Any:
    """Return a method with something around it; of `available_if` what stands behind it."""
    if not hasattr(method, "fn"):
        return wrap(method)
    method.fn = wrap(method.fn)
    return method


def _all_or_nothing(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Return a fit after which the model is fitted, or what it was before.

    Memory that ends, Ctrl-C or a bad row in the middle of a fit must not leave the kernel of the
    new rows beside the coefficients, and the proof, of the old ones.
    """

    @wraps(fit)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        require_room_for_blas()
        try:
            with threads_of_fit(self, *args[:1]):
                return fit(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before
            raise

    return whole


class ProvedEstimator(Reporting, NamedParts):
    """An estimator that keeps the proof of its fit.

    What a fit leaves in it is declared by ``fitted_state`` (see `mercer._state`), which a model
    from a file is held against.
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_features_in_": SizeOf(COLUMNS),
        "feature_names_in_": Maybe(Labels(COLUMNS)),
        "certificate_": Instance(Certificate),
        "status_": Instance(str),
    }

    stores_rows = False
    """Whether ``fit`` stores rows of X: these are then a copy."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for names, wrap in ((FITTING, _all_or_nothing), (ANSWERING, by_blocks)):
            for name in names:
                if name in vars(cls):
                    setattr(cls, name, _wrapped(vars(cls)[name], wrap))

    @classmethod
    @cache  # asked for several times in a fit, and reading a signature is slow
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._proof_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def _proof_html(self) -> str:
        """Return the certificate, folded, for a notebook; nothing before ``fit``."""
        certificate = getattr(self, "certificate_", None)
        return "" if certificate is None else folded_proof(certificate)

    def _accept(self, solution: Solution) -> None:
        """Keep the proof; warn if it does not hold. A model of infinite numbers is not proved."""
        unusable = [name for name in LEARNED if not _is_finite(vars(self).get(name))]
        if unusable and solution.certificate.ok:
            proof = replace(solution.certificate, value=np.nan)
            solution = replace(solution, certificate=proof, status=Status.INACCURATE)
        self.certificate_ = solution.certificate
        self.status_ = solution.status.name.lower()
        if not solution.status.ok:
            name = type(self).__name__
            warnings.warn(f"{name}: {solution.status.advice}", ConvergenceWarning, stacklevel=4)


class Transformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ProvedEstimator):
    """A transformer that keeps float32 and proves its fit.

    A child that accepts sparse tables says so by ``accepts_sparse = True``.
    """

    accepts_sparse = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.accepts_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class TableTransformer(Transformer):
    """A transformer of tables of numbers."""

    def _fit_table(self, X: Any, y: Any = "no_validation", **checks: Any) -> Any:
        """Check the training rows (and targets); the precision of X is kept."""
        return validated(self, X, y, **self._table(), **checks)

    def _new_table(self, X: Any, **checks: Any) -> Any:
        """Check new rows against the fitted ones."""
        check_is_fitted(self)
        return validated(self, X, reset=False, **self._table(), **checks)

    def _table(self) -> dict[str, Any]:
        # rows in a row: the same sums, to the last bit, whatever the layout of the input
        return _TABLE | {"accept_sparse": "csr" if self.accepts_sparse else False}


class BoundKernel(Instance):
    """The kernel of a fit: only of kernels on objects is the number of columns not known."""

    def __init__(self) -> None:
        super().__init__(Kernel)

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if it is no kernel, or does not suit the rows."""
        super().check(value, lengths)
        if value.domain == "vectors" and lengths.get(COLUMNS) is None:
            raise StateError("is a kernel on vectors, but their number of columns is not given")
        if is_precomputed(value) and lengths.get(COLUMNS) is not None:
            lengths[GIVEN] = lengths["rows"] = lengths[COLUMNS]


class KeptRows(FittedRows):
    """Those rows of the fit that are needed; of a given matrix none are."""

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if they are not as many as they should be."""
        (FittedRows(0) if GIVEN in lengths else FittedRows(self.length)).check(value, lengths)


class LogisticAnswers(ClassifierMixin, ProvedEstimator):
    """Labels and probabilities from log-odds: of two classes one, else one a class."""

    classes_: np.ndarray

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log-odds: (m,), positive for ``classes_[1]``, or a column for each class."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows."""
        return labels_of(self.decision_function(X), self.classes_)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities, shape (m, n_classes)."""
        values = self.decision_function(X)
        if values.ndim == 1:
            return np.column_stack([log_expit(-values), log_expit(values)])
        return log_probabilities(values)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes, shape (m, n_classes)."""
        return np.exp(self.predict_log_proba(X))


def is_precomputed(kernel: Kernel) -> bool:
    """Return whether a kernel reads the values of a given matrix."""
    return any(isinstance(leaf, Precomputed) for leaf in kernel.leaves())


class KernelEstimator(ProvedEstimator):
    """An estimator with a parameter ``kernel`` that accepts a kernel, a name or a function.

    Fitting binds the kernel to the training rows (``kernel_``).
    """

    named_parts = {"kernel": as_kernel}
    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_features_in_": Maybe(SizeOf(COLUMNS)),
        "kernel_": BoundKernel(),
    }
    kernel: Any
    kernel_: Kernel

    def _fit_rows(
        self, X: Any, y: Any = "no_validation", sample_weight: Any = None, **checks: Any
    ) -> tuple[Sample, Any, np.ndarray]:
        """Check rows, targets and weights, bind the kernel; return the training sample and both."""
        kernel = self._given_kernel()
        X = as_rows(X)
        X, y = X.in_memory(y, self) if isinstance(X, Rows) else (X, y)
        has_target = not isinstance(y, str)
        if kernel.domain == "vectors":
            checked = validated(self, X, y, kernel=kernel, **_TABLE, **checks)
            X, y = checked if has_target else (checked, None)
        else:
            if kernel.domain == "objects":
                X = copy(as_objects(X, "X")) if self.stores_rows else as_objects(X, "X")
            if has_target:
                y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
                check_consistent_length(X, y)
        sample = kernel.sample(X)
        weight = check_weights(sample_weight, len(sample))
        self.kernel_ = kernel.bind(sample, weight)
        sample = only_columns_read(self.kernel_, sample)
        self.kernel_.check_training(sample)
        return sample, y, weight

    def _given_kernel(self) -> Kernel:
        return as_kernel(self.kernel)

    @property
    def _pairwise(self) -> bool:
        return is_precomputed(self.kernel_)

    def _linear_weights(self, coefs: np.ndarray, rows: Any) -> np.ndarray:
        """Return w of f(x) = w·x + b, for the linear kernel; a row for each row of ``coefs``."""
        check_is_fitted(self)
        if not isinstance(self.kernel_, Linear):
            raise AttributeError("coef_ exists for the linear kernel only")
        weights = np.asarray(coefs @ rows)
        weights.flags.writeable = False  # computed when asked for: a change would be lost
        return weights

    def _kept(self, data: Any, index: np.ndarray, n: int) -> Sample:
        """Return the sample of kept rows; of a precomputed kernel only their numbers matter.

        What is derived from kept objects (a suffix structure, codes) is derived once.
        """
        if not self._pairwise:
            return Sample(data) if self.kernel_.domain == "vectors" else _sample_of(self, data)
        whole = np.broadcast_to(np.float64(0.0), (n, n))  # no memory: only its shape is looked at
        return Sample(whole[: len(index)], Sample(whole), index)

    def _new_rows(self, X: Any) -> Sample:
        """Check new rows against the fitted ones."""
        check_is_fitted(self)
        X = X.in_memory()[0] if isinstance(X, Rows) else X
        if self.kernel_.domain == "vectors":
            X = validated(self, X, reset=False, kernel=self.kernel_, **_TABLE)
        return self.kernel_.sample(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = self.kernel if isinstance(self.kernel, Kernel) else None
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed" or (
            kernel is not None and is_precomputed(kernel)
        )
        return tags


_SAMPLES: WeakKeyDictionary[Any, Sample] = WeakKeyDictionary()  # no part of what a fit leaves


def _sample_of(model: Any, data: Any) -> Sample:
    """Return the sample of the objects that a model keeps, the same for every prediction."""
    known = _SAMPLES.get(model)
    if known is None or known.data is not data:
        known = _SAMPLES[model] = Sample(data)
    return known


def check_weights(sample_weight: Any, n: int) -> np.ndarray:
    """Return n weights ≥ 0, not all zero; None means 1 each."""
    if sample_weight is None:
        return np.ones(n)
    refuse_no_numbers(sample_weight, "sample_weight", "weights")
    weight = _check_sample_weight(sample_weight, np.empty((n, 0)), dtype=np.float64, copy=True)
    if np.any(weight < 0) or not np.any(weight > 0):
        raise ValueError(
            f"sample_weight must be ≥ 0 and not all zero; its minimum is {weight.min()}"
        )
    return weight


WEIGHTED = " in rows of positive weight"

_TABLE = {"accept_sparse": "csr", "dtype": FLOATS, "order": "C"}
