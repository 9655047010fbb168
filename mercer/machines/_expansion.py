"""What every machine f(x) = Σᵢ αᵢ k(x, xᵢ) + b can be asked."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._estimator import KernelEstimator
from mercer.gram import gram
from mercer.kernels.gradients import gradient_of
from mercer.kernels.sample import Sample


class KernelExpansion(KernelEstimator):
    """An estimator whose function is a sum of kernels at centres."""

    def _expansion(self) -> tuple[Sample, np.ndarray]:
        """Return the centres and their coefficients, a column for each function."""
        raise NotImplementedError

    def gradient(self, X: Any) -> np.ndarray:
        """Return the gradients of f by the columns of X, at rows of X.

        Parameters
        ----------
        X : table of shape (m, d)
            Rows.

        Returns
        -------
        array of shape (m, d), or (m, d, t) for t > 1 functions
            ∂f/∂x of each function: of each target, or of each problem that classes are told apart
            by (in the order of ``intercept_``). Where a kernel has a kink, at its centre, the
            centre counts as flat.
        """
        rows = self._new_rows(X)
        centres, coefs = self._expansion()
        found = gradient_of(self.kernel_, rows, centres, coefs)
        return found[:, :, 0] if found.shape[2] == 1 else found


class SumOverRows(KernelExpansion):
    """An expansion in the rows of the fit, or in landmarks among them: α a column for a target."""

    X_fit_: Any
    landmark_indices_: np.ndarray | None  # none where landmarks were given as rows
    n_fit_: int
    dual_coef_: np.ndarray
    intercept_: Any

    @property
    def coef_(self) -> np.ndarray:
        """Weights w of f(x) = w·x + b, for the linear kernel: (d,), or a row for each function."""
        check_is_fitted(self)
        w = self._linear_weights(np.atleast_2d(self.dual_coef_.T), self.X_fit_)
        return w[0] if self.dual_coef_.ndim == 1 and not hasattr(self, "classes_") else w

    def _values(self, X: Any) -> np.ndarray:
        """Return f(x) + b for new rows."""
        rows = self._new_rows(X)
        K = gram(self.kernel_, rows, self._centres(), storage="blocked", dtype=np.float64)
        return K @ self.dual_coef_ + self.intercept_

    def _centres(self) -> Sample:
        index = self.landmark_indices_
        if index is None or not len(index):
            return self.kernel_.sample(self.X_fit_)
        return self._kept(self.X_fit_, index, self.n_fit_)

    def _expansion(self) -> tuple[Sample, np.ndarray]:
        return self._centres(), self.dual_coef_.reshape(len(self.dual_coef_), -1)
