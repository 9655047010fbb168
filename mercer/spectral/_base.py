"""What all projections share: checked tables, centred products, output columns, precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._estimator import ProvedEstimator

FLOATS = [np.float64, np.float32]


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ProvedEstimator):
    """A transformer of tables that keeps float32 and proves its fit.

    A child that accepts sparse tables says so by ``accepts_sparse = True``.
    """

    accepts_sparse = False

    def _fit_table(self, X: Any, y: Any = "no_validation", **checks: Any) -> Any:
        """Check the training rows (and targets); the precision of X is kept."""
        return validate_data(self, X, y, dtype=FLOATS, accept_sparse=self._formats(), **checks)

    def _new_table(self, X: Any, **checks: Any) -> Any:
        """Check new rows against the fitted ones."""
        check_is_fitted(self)
        return validate_data(
            self, X, reset=False, dtype=FLOATS, accept_sparse=self._formats(), **checks
        )

    def _formats(self) -> Any:
        return "csr" if self.accepts_sparse else False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.accepts_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class LinearProjection(Projection):
    """A projection z = (x − mean_) components_ᵀ."""

    mean_: np.ndarray  # (d,)
    components_: np.ndarray  # (k, d)

    def transform(self, X: Any) -> np.ndarray:
        """Return the scores of rows, shape (m, k)."""
        X = self._new_table(X)
        return centered_product(X, self.mean_, self.components_.T).astype(X.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def centered_product(X: Any, mean: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return (X − 1 meanᵀ) W in float64; a sparse X is never made dense."""
    if sp.issparse(X):
        return np.asarray(X @ W) - mean @ W
    return (np.asarray(X, dtype=np.float64) - mean) @ W
