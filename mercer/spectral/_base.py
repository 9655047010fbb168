"""What all linear projections share."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._estimator import TableTransformer


class LinearProjection(TableTransformer):
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
