"""What the lasso asks of a table, and the gap that proves a solution."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._floats import TINY
from mercer.result import Certificate


class Columns:
    """A centred, weighted table by its columns: dense, or sparse by columns."""

    def __init__(self, X: Any, mean: np.ndarray | None = None, root: np.ndarray | None = None):
        self.X, self.mean, self.root = X, mean, root  # mean and root are those of a sparse table
        self.shape = X.shape

    def correlate(self, r: np.ndarray) -> np.ndarray:
        """Return Xᵀr."""
        product = np.asarray(self.X.T @ r)
        if self.mean is None or self.root is None:
            return product
        return product - np.multiply.outer(self.mean, self.root @ r)

    def combine(self, index: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the combination of some columns."""
        product = np.asarray(self.X[:, index] @ w)
        if self.mean is None or self.root is None:
            return product
        return product - self.root * (self.mean[index] @ w)

    def take(self, index: np.ndarray) -> np.ndarray:
        """Return some columns as the rows of a dense array."""
        if not sp.issparse(self.X):
            return np.ascontiguousarray(self.X[:, index].T)
        rows = self.X[:, index].T.toarray()
        if self.mean is None or self.root is None:
            return rows
        return rows - np.outer(self.mean[index], self.root)

    def products(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the inner products of two lists of columns."""
        if len(left) == len(right) == self.shape[1] and not sp.issparse(self.X):
            return self.X.T @ self.X  # all columns, once: no copy, and half the work
        product = self.X[:, left].T @ self.X[:, right]
        product = product.toarray() if sp.issparse(product) else product
        if self.mean is None or self.root is None:
            return product
        return product - np.outer(self.mean[left], self.mean[right]) * (self.root @ self.root)


class Gap(NamedTuple):
    """What proves a solution for one λ, all divided by the number of rows."""

    primal: float
    dual: float
    gap: float
    relative: float  # to the objective of w = 0
    violation: float  # largest |xᵀr| / λ − 1 of a column

    @classmethod
    def of(cls, rr: float, ry: float, l1: float, steepest: float, lam: float, yy: float) -> Gap:
        """Return the gap from r·r, r·y, ‖w‖₁, max |xᵀr| and λ.

        The dual point is r, shrunk so that |xᵀr| ≤ λ: the gap is ½‖r − sr‖² + λ‖w‖₁ − s r·(y − r).
        """
        s = 1.0 if steepest <= lam else lam / steepest
        primal = 0.5 * rr + lam * l1
        dual = s * ry - 0.5 * s * s * rr
        gap = max(primal - dual, 0.0)
        return cls(primal, dual, gap, gap / max(0.5 * yy, TINY), steepest / max(lam, TINY) - 1.0)

    def certificate(self, tol: float, n: float, extra: dict[str, Any]) -> Certificate:
        parts = {
            "primal": self.primal / n,
            "dual": self.dual / n,
            "gap": self.gap / n,
            "relative_gap": self.relative,
            "violation": max(self.violation, 0.0),
            **extra,
        }
        about = "‖y − Xw − b‖² / (2n) + λ‖w‖₁; the gap is relative to its value at w = 0"
        return Certificate("relative duality gap", self.relative, tol, about, parts)
