"""A kernel from a model of the density: rows are alike if they want to move it alike."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from mercer._array import allocate
from mercer._floats import EPS
from mercer._sklearn import StrOptions
from mercer.kernels.base import Kernel
from mercer.kernels.custom import FromFeatureMap
from mercer.kernels.sample import Sample

SINGULAR = 1e3 * EPS  # of the largest eigenvalue: directions that no row moves


class Fisher(FromFeatureMap):
    """Fisher kernel k(x, y) = u(x)ᵀ I⁻¹ u(y) of scores u(x) = ∇ log p(x) by a model's parameters.

    Two rows are alike if they would change the model in the same way (Jaakkola and Haussler, 1998).
    The information I is the mean of u uᵀ over the training rows.

    Parameters
    ----------
    model : GMM, or any object with ``score_vectors(X)``
        ``score_vectors(X)`` returns u of all rows, shape (n, p). A model that is not fitted is
        cloned and fitted to the training rows.
    information : {"diagonal", "full", "identity"}, default="diagonal"
        The diagonal of I alone, all of it (directions that no row moves are left out), or 1.
    whitening : array of shape (p,) or (p, q), default=None
        The root of I⁻¹; None means that it is computed from the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GMM
    >>> from mercer.kernels import Fisher
    >>> X = np.array([[-1.0], [1.0], [0.0]])
    >>> Fisher(GMM(1), information="full")(X).round(2)
    array([[ 2., -1., -1.],
           [-1.,  2., -1.],
           [-1., -1.,  2.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "information": [StrOptions({"diagonal", "full", "identity"})],
        "whitening": ["array-like", None],
    }

    def __init__(self, model: Any, information: str = "diagonal", whitening: Any = None):
        self.model = model
        self.information = information
        self.whitening = whitening

    @property
    def phi(self) -> Any:
        return self.model

    def __sklearn_clone__(self) -> Fisher:
        # a fitted model is a value here, as a number is elsewhere: it stays fitted
        return type(self)(self.model, self.information, self.whitening)

    def check(self) -> None:
        """Raise if the model has no scores."""
        Kernel.check(self)
        if not hasattr(self.model, "score_vectors"):
            raise TypeError(
                f"model must have score_vectors(X), as GMM has; got {type(self.model).__name__}"
            )

    def bind(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        self.check()
        data = _rows(self.sample(X).data)
        if self.whitening is not None:
            return self
        model = _fitted(self.model, data, weights)
        scores = np.asarray(model.score_vectors(data), dtype=np.float64)
        return type(self)(model, self.information, _WHITENING[self.information](scores, weights))

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        """Propose both kinds of information; 1 would leave scores in units of the parameters."""
        return {} if self.whitening is not None else {"information": ("diagonal", "full")}

    def features(self, data: Any) -> np.ndarray:
        """Return whitened scores, shape (n, q)."""
        scores = np.asarray(self.model.score_vectors(_rows(data)), dtype=np.float64)
        root = np.asarray(self.whitening)
        return np.ascontiguousarray(scores * root if root.ndim == 1 else scores @ root)


def _rows(data: Any) -> Any:
    """Return what a model takes: one column of a frame, whose cells come alone, is a table."""
    is_column = isinstance(data, np.ndarray) and data.ndim == 1 and data.dtype.kind in "iuf"
    return data[:, None] if is_column else data


def _fitted(model: Any, data: Any, weights: np.ndarray | None) -> Any:
    """Return the model itself, or a copy that is fitted to the rows if it is not."""
    try:
        if hasattr(model, "fit"):
            check_is_fitted(model)
        return model
    except NotFittedError:
        fresh = clone(model)
        return fresh.fit(data) if weights is None else fresh.fit(data, sample_weight=weights)


def _diagonal(scores: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    squares = np.average(scores**2, axis=0, weights=weights)
    kept = squares > SINGULAR * squares.max(initial=0.0)
    return np.where(kept, 1.0 / np.sqrt(np.where(kept, squares, 1.0)), 0.0)


def _full(scores: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return a root of I⁻¹, in units in which the diagonal of I is 1: columns differ in size."""
    unit = _diagonal(scores, weights)
    scaled = scores * unit
    shares = np.full(len(scores), 1.0) if weights is None else np.asarray(weights)
    information = allocate((scores.shape[1], scores.shape[1]), np.float64)
    np.matmul(scaled.T * (shares / shares.sum()), scaled, out=information)
    values, vectors = np.linalg.eigh(information)
    kept = values > len(values) * SINGULAR * values[-1]
    return unit[:, None] * vectors[:, kept] / np.sqrt(values[kept])


def _identity(scores: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    return np.ones(scores.shape[1])


_WHITENING = {"diagonal": _diagonal, "full": _full, "identity": _identity}
