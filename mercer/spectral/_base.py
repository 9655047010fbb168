"""What the estimators of this room share: bases, checks of scores, constraints, eigen proofs."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._estimator import FLOATS, ProvedEstimator, TableTransformer, Transformer
from mercer._labels import difference_of_two
from mercer._sklearn import Interval
from mercer._state import Attribute, FittedRows, Floats, Labels
from mercer.result import Certificate, Status

COUNT = Interval(Integral, 1, None, closed="left")
SHARE = Interval(Real, 0, 1, closed="both")
POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")

TOLERANCE = 1e-8  # of eigenproblems in whitened units


# ------------------------------------------------------------------------ projections
class LinearProjection(TableTransformer):
    """A projection z = (x − mean_) components_ᵀ."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "mean_": Floats("columns"),
        "components_": Floats("components", "columns"),
    }

    mean_: np.ndarray  # (d,)
    components_: np.ndarray  # (k, d)

    def transform(self, X: Any) -> np.ndarray:
        """Return the scores of rows, shape (m, k)."""
        X = self._new_table(X)
        return self._projected(X).astype(X.dtype, copy=False)

    def _projected(self, X: Any) -> np.ndarray:
        """Return the scores of checked rows in float64."""
        return centered_product(X, self.mean_, self.components_.T)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def centered_product(X: Any, mean: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return (X − 1 meanᵀ) W in float64; a sparse X is never made dense."""
    if sp.issparse(X):
        return np.asarray(X @ W) - mean @ W
    return (np.asarray(X, dtype=np.float64) - mean) @ W


def check_scores(model: Any, X: Any) -> np.ndarray:
    """Check scores that a fitted model turns back into rows: one column for each component."""
    check_is_fitted(model)
    Z = check_array(X, dtype=FLOATS, input_name="X", ensure_min_features=0)
    k = model._n_features_out
    if Z.shape[1] != k:
        raise ValueError(f"X must have {k} columns, one for each component; got {Z.shape[1]}")
    return Z


class NeedsTargets:
    """What cannot be fitted without y; of several columns, if they are ``many_targets``."""

    many_targets = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.target_tags.multi_output = self.many_targets
        return tags


# ------------------------------------------------------------------------ embeddings
class Embedding(Transformer):
    """Coordinates that are found for the training points first, and then extended to others."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "X_fit_": FittedRows("rows"),
        "embedding_": Floats("rows", "components"),
    }

    stores_rows = True

    metric: str = "euclidean"
    X_fit_: Any
    embedding_: np.ndarray  # (n, k)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return the coordinates of the training points."""
        self.fit(X, y)
        return self.embedding_.astype(precision_of(self.X_fit_), copy=False)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    @property
    def _is_given(self) -> bool:
        """Whether X is a matrix of distances."""
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise |= self._is_given
        return tags


def precision_of(rows: Any) -> type:
    """Return float32 for rows of it, float64 for all others."""
    return np.float32 if getattr(rows, "dtype", None) == np.float32 else np.float64


# ------------------------------------------------------------------------ classes
class NearestMean(ClassifierMixin, ProvedEstimator):
    """The Bayes rule for classes N(z_c, I) with priors: log π_c − ½‖z − z_c‖², the largest wins.

    A child computes z by ``_discriminants``.
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "classes_": Labels("classes"),
        "priors_": Floats("classes"),
        "class_scores_": Floats("classes", "components"),
    }

    classes_: np.ndarray
    priors_: np.ndarray  # (C,)
    class_scores_: np.ndarray  # (C, k), the class means in that space

    def _discriminants(self, X: Any) -> np.ndarray:
        """Return z of checked rows in float64, shape (m, k)."""
        raise NotImplementedError

    def _log_odds(self, X: Any) -> np.ndarray:
        """Return log π_c + log p(x | c) up to a term that all classes share, shape (m, C)."""
        Z = self._discriminants(X)  # which checks that there is a fit
        means = self.class_scores_
        values = Z @ means.T
        values += np.log(self.priors_) - 0.5 * np.einsum("ij,ij->i", means, means)
        return values

    def decision_function(self, X: Any) -> np.ndarray:
        """Return log-posteriors up to a term that all classes share, shape (m, C).

        Of two classes it is the difference, shape (m,).
        """
        return difference_of_two(self._log_odds(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row."""
        best = self._log_odds(X).argmax(axis=1)
        return self.classes_[best]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the class probabilities, shape (m, C)."""
        return log_softmax(self._log_odds(X), axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities, shape (m, C)."""
        values = self._log_odds(X)
        values -= values.max(axis=1, keepdims=True)
        np.exp(values, out=values)
        values /= values.sum(axis=1, keepdims=True)
        return values


def within_classes(X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows minus the mean of their class, in float64, and the means (C, d)."""
    means = class_means(X, codes)
    rows = np.subtract(X, means[codes], dtype=np.float64)
    correction = class_means(rows, codes)  # long sums round: constant columns must become 0
    rows -= correction[codes]
    return rows, means + correction


def class_means(rows: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the mean row of each class in float64, shape (C, d)."""
    n = len(rows)
    members = sp.csr_array((np.ones(n), codes, np.arange(n + 1)))  # (n, C), one 1 a row
    return (members.T @ rows) / np.bincount(codes)[:, None]


# ------------------------------------------------------------------------ proofs
def eigen_proof(residual: float, skew: float, about: str, **parts: Any) -> Certificate:
    """Return the proof of an eigenproblem: what its equations and its basis are off by."""
    parts = {"residual": residual, "orthogonality_error": skew, **parts}
    return Certificate("eigen residual", max(residual, skew), TOLERANCE, about, parts)


def final_status(status: Status, proof: Certificate) -> Status:
    """Return how a search ended, unless the proof does not bear it out."""
    return status if proof.ok or not status.ok else Status.INACCURATE


def off_identity(G: np.ndarray) -> float:
    """Return the size of the largest entry of G − I."""
    return float(np.abs(G - np.eye(len(G))).max(initial=0.0))
