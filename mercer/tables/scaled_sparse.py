"""Sparse tables: each column divided by its largest absolute value, zeros stay zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from mercer.tables.numeric import State
from mercer.tables.wording import count


def learn_sparse(X: Any) -> State:
    """Return the largest |value| of each column, 1 for a column of zeros."""
    X = _checked(X)
    largest = np.asarray(abs(X).max(axis=0).toarray(), dtype=np.float64).ravel()
    return {
        "name": "all columns",
        "kind": "sparse",
        "words": f"{count(X.shape[1], 'sparse column')} divided by the largest absolute value",
        "largest": np.where(largest > 0, largest, 1.0),
    }


def encode_sparse(state: State, X: Any) -> sp.csr_array:
    """Return X with every column in [−1, 1]."""
    scaled = sp.csr_array(_checked(X), dtype=np.float64, copy=True)
    scaled.data /= state["largest"][scaled.indices]
    return scaled


def _checked(X: Any) -> sp.csr_array:
    if not sp.issparse(X):
        X = sp.csr_array(check_array(X, dtype=np.float64, input_name="X"))
    return sp.csr_array(check_array(X, accept_sparse="csr", dtype="numeric", input_name="X"))
