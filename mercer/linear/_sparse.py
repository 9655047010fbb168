"""Least squares and linear programs on sparse tables that are too large to be made dense."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, lsmr

from mercer._array import largest_size
from mercer._floats import EPS, TINY, safe_norm
from mercer.linear._base import centered, checked_unit, to_units
from mercer.optimize import linear_program
from mercer.result import Certificate, Solution, Status

DENSE_ENTRIES = 2 * 10**7  # entries up to which a sparse table is made dense
LSMR_GOAL = 1e-14  # of LSMR: it ends at rounding
LSMR_STEPS = 20_000  # its steps
CONSTANT_DEVIATION = 1e-7  # deviation of a column, relative to its mean
COSINE, RESIDUAL = 1e-10, 1e-8  # tolerances of the proofs, with λ = 0 and λ > 0


def is_large(X: Any, most: float = DENSE_ENTRIES) -> bool:
    """Whether a table stays sparse: it has more than so many entries."""
    return bool(sp.issparse(X) and X.shape[0] * X.shape[1] > most)


class SparseColumns:
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


class SparseDesign(NamedTuple):
    """Rows and targets times the roots of their weights; X is centred only in products.

    Columns are divided by ``norms``: their own, so that units do not matter, or 1. Of all w with
    the same Xw, that of least norm in these units is meant. A column whose deviation is below 1e-7
    of its mean counts as constant: centring in products cannot tell it from one.
    """

    X: Any  # (n, d), CSR
    Y: np.ndarray  # (n, t), centred
    root: np.ndarray  # (n,)
    mean: np.ndarray  # (d,), in the units of X
    norms: np.ndarray  # (d,)
    shift: np.ndarray  # (d,), the mean in the units of the data
    center: np.ndarray  # (t,)
    unit: float
    y_unit: float
    flat: bool
    share: float

    @classmethod
    def of(
        cls, X: Any, y: np.ndarray, weight: np.ndarray, intercept: bool, *, scaled: bool
    ) -> SparseDesign:
        used = np.flatnonzero(weight)
        X, y, weight = sp.csr_array(X, dtype=np.float64)[used], y[used], weight[used]
        share = float(weight.mean())
        weight, unit = weight / share, checked_unit(largest_size(X))
        root, X = np.sqrt(weight), X / unit
        mean = (X.T @ weight) / weight.sum() if intercept else np.zeros(X.shape[1])
        Y, center, y_unit = centered(y.reshape(len(y), -1), weight, intercept)
        X = sp.csr_array(sp.diags_array(root) @ X)
        squares = np.asarray(X.power(2).sum(axis=0)).ravel() - mean**2 * weight.sum()
        lengths = np.sqrt(np.maximum(squares, 0.0))
        constant = lengths <= CONSTANT_DEVIATION * np.abs(mean) * len(y) ** 0.5
        norms = np.where(constant, np.inf, lengths if scaled else 1.0)
        if (norms != 1.0).any():
            X = sp.csr_array(X @ sp.diags_array(1.0 / norms))
        rows = (X, root[:, None] * Y, root, mean / norms, norms, mean * unit)
        return cls(*rows, center, unit, y_unit, y.ndim == 1, share)

    def columns(self) -> SparseColumns:
        """Return the table by its columns."""
        shift = (self.mean, self.root) if self.mean.any() else ()
        return SparseColumns(sp.csc_array(self.X), *shift)

    def table(self) -> LinearOperator:
        """Return the centred table as an operator."""

        def forward(w: np.ndarray) -> np.ndarray:
            return self.X @ w - np.multiply.outer(self.root, self.mean @ w)

        def backward(u: np.ndarray) -> np.ndarray:
            return self.X.T @ u - np.multiply.outer(self.mean, self.root @ u)

        return LinearOperator(
            self.X.shape, matvec=forward, rmatvec=backward, matmat=forward, rmatmat=backward
        )

    def in_units(self, coef: np.ndarray, offset: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (d, t) and offsets (t,) in the units of the data."""
        coef = coef / self.norms[:, None]
        return to_units(coef, offset, self.shift, self.center, self.unit, self.y_unit)


def solve_sparse(design: SparseDesign, lam: float = 0.0) -> Solution:
    """Minimise ‖Y − Xc‖² + λ‖c‖² by LSMR."""
    A = design.table()
    found = [lsmr(A, y, lam**0.5, LSMR_GOAL, LSMR_GOAL, 0.0, LSMR_STEPS) for y in design.Y.T]
    coef = np.column_stack([f[0] for f in found])
    rows = f"{len(design.Y)} sparse rows"
    if lam > 0.0:
        residual = A.T @ (design.Y - A @ coef) - lam * coef
        proof = prove_ridge(residual, A.T @ design.Y, 0.0, {}, rows)
    else:  # columns have norm 1
        residual = design.Y - A @ coef
        proof = prove_least_squares(A, design.Y, coef, residual, np.ones(len(coef)), {}, rows)
    steps = max(int(f[2]) for f in found)
    unproved = Status.MAX_ITER if steps >= LSMR_STEPS else Status.ROUNDING
    return Solution(coef, Status.OPTIMAL if proof.ok else unproved, proof, stats={"steps": steps})


def prove_least_squares(
    X: Any,
    Y: np.ndarray,
    coef: np.ndarray,
    residual: np.ndarray,
    norms: np.ndarray,
    parts: dict[str, Any],
    rows: str,
) -> Certificate:
    """Prove Xᵀ(Y − Xc) = 0: the residual is at right angles to every column, which has its norm.

    The value is the largest cosine of a residual and a column; a residual that is smaller than the
    rounding of the terms it is made of counts as large as that, over the tolerance.
    """
    lengths = np.sqrt(np.einsum("it,it->t", residual, residual))
    terms = norms @ np.abs(coef) + np.sqrt(np.einsum("it,it->t", Y, Y))
    visible = np.maximum(lengths, 64 * EPS * terms / COSINE)
    cosine = np.abs(X.T @ residual) / np.maximum(np.outer(norms, visible), TINY)
    worst = float(cosine.max(initial=0.0))
    share = float((lengths / np.maximum(terms, TINY)).max())
    about = f"Xᵀ(y − Xw) = 0 on {rows}"
    return Certificate("cosine", worst, COSINE, about, {"cosine": worst, "residual": share} | parts)


def prove_ridge(
    residual: np.ndarray, target: np.ndarray, rounding: float, parts: dict[str, Any], rows: str
) -> Certificate:
    """Prove Xᵀ(Y − Xc) − λc = 0, relative to XᵀY or to what rounding makes of it."""
    scale = max(safe_norm(target), rounding / RESIDUAL, TINY)
    value = safe_norm(residual) / scale
    about = f"(XᵀX + λ) w = Xᵀy on {rows}"
    return Certificate("relative residual", value, RESIDUAL, about, {"residual": value, **parts})


# ---------------------------------------------------------------- linear programs
def sparse_programs(design: SparseDesign, norm: str, intercept: bool) -> list[Solution]:
    """Minimise Σ w |r| or max |r| for each target by HiGHS, which has proofs of its own."""
    weight = design.root**2
    plain = sp.csr_array(sp.diags_array(1.0 / design.root) @ design.X)
    one = sp.csr_array(np.ones((len(weight), int(intercept))))
    A, solve = sp.hstack([plain, one], "csr"), _least_sum if norm == "l1" else _least_largest
    return [_back(solve(A, y / design.root, weight), design, intercept) for y in design.Y.T]


def _back(found: Solution, design: SparseDesign, intercept: bool) -> Solution:
    """Return coefficients and the offset of the centred rows; the program has none centred."""
    d = design.X.shape[1]
    coef = found.value[:d]
    offset = float(found.value[d] + design.mean @ coef) if intercept else 0.0
    return Solution(coef, found.status, found.certificate, offset)


def _least_sum(A: Any, y: np.ndarray, weight: np.ndarray) -> Solution:
    (n, m), free = A.shape, [(None, None)] * A.shape[1]
    table = sp.hstack([A, sp.eye_array(n), -sp.eye_array(n)], "csr")
    cost = np.concatenate([np.zeros(m), weight, weight])
    return linear_program(cost, A_eq=table, b_eq=y, bounds=[*free, *[(0, None)] * (2 * n)])


def _least_largest(A: Any, y: np.ndarray, weight: np.ndarray) -> Solution:
    n, m = A.shape
    below = -sp.csr_array(np.ones((2 * n, 1)))
    table = sp.hstack([sp.vstack([A, -A]), below], "csr")
    cost, free = np.append(np.zeros(m), 1.0), [(None, None)] * m
    return linear_program(cost, table, np.concatenate([y, -y]), bounds=[*free, (0, None)])
