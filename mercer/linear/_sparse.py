"""Least squares and linear programs on sparse tables that are too large to be made dense."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, lsmr

from mercer._array import largest_size
from mercer._floats import EPS, TINY
from mercer.linear._base import centered, checked_unit, to_units
from mercer.optimize import linear_program
from mercer.result import Certificate, Solution, Status

DENSE = 2 * 10**7  # entries up to which a sparse table is made dense
GOAL = 1e-14  # of LSMR: it ends at rounding
MOST = 20_000  # its steps
CONSTANT = 1e-7  # deviation of a column, relative to its mean
TOLERANCES = {"cosine": 1e-10, "relative residual": 1e-8}


def is_large(X: Any) -> bool:
    """Whether a table stays sparse."""
    return bool(sp.issparse(X) and X.shape[0] * X.shape[1] > DENSE)


class SparseRows(NamedTuple):
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
    ) -> SparseRows:
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
        constant = lengths <= CONSTANT * np.abs(mean) * len(y) ** 0.5
        norms = np.where(constant, np.inf, lengths if scaled else 1.0)
        X, inner = sp.csr_array(X @ sp.diags_array(1.0 / norms)), mean / norms
        rows = (X, root[:, None] * Y, root, inner, norms, mean * unit)
        return cls(*rows, center, unit, y_unit, y.ndim == 1, share)

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


def solve_sparse(rows: SparseRows, lam: float = 0.0) -> Solution:
    """Minimise ‖Y − Xc‖² + λ‖c‖² by LSMR."""
    A = rows.table()
    found = [lsmr(A, y, lam**0.5, GOAL, GOAL, 0.0, MOST) for y in rows.Y.T]
    coef = np.column_stack([f[0] for f in found])
    proof = (_prove_ridge if lam > 0.0 else _prove_cosine)(A, rows.Y, coef, lam)
    steps = max(int(f[2]) for f in found)
    unproved = Status.MAX_ITER if steps >= MOST else Status.ROUNDING
    return Solution(coef, Status.OPTIMAL if proof.ok else unproved, proof, stats={"steps": steps})


def _prove_cosine(A: Any, Y: np.ndarray, coef: np.ndarray, lam: float) -> Certificate:
    """Prove that the residual is at right angles to every column, which has norm 1."""
    R = Y - A @ coef
    terms = np.abs(coef).sum(axis=0) + np.linalg.norm(Y, axis=0)
    tolerance = TOLERANCES["cosine"]
    visible = np.maximum(np.linalg.norm(R, axis=0), 64 * EPS * terms / tolerance)
    worst = float((np.abs(A.T @ R) / np.maximum(visible, TINY)).max(initial=0.0))
    parts = {"cosine": worst, "residual": float((np.linalg.norm(R, axis=0) / terms).max())}
    about = f"Xᵀ(y − Xw) = 0 on {len(Y)} sparse rows"
    return Certificate("cosine", worst, tolerance, about, parts)


def _prove_ridge(A: Any, Y: np.ndarray, coef: np.ndarray, lam: float) -> Certificate:
    """Prove Xᵀ(Y − Xc) = λc, relative to XᵀY."""
    value = float(np.linalg.norm(A.T @ (Y - A @ coef) - lam * coef))
    value /= max(float(np.linalg.norm(A.T @ Y)), TINY)
    about = f"(XᵀX + λ) w = Xᵀy on {len(Y)} sparse rows"
    kind = "relative residual"
    return Certificate(kind, value, TOLERANCES[kind], about, {"residual": value})


# ---------------------------------------------------------------- linear programs
def sparse_programs(rows: SparseRows, norm: str, intercept: bool) -> list[Solution]:
    """Minimise Σ w |r| or max |r| for each target by HiGHS, which has proofs of its own."""
    weight = rows.root**2
    plain = sp.csr_array(sp.diags_array(1.0 / rows.root) @ rows.X)
    one = sp.csr_array(np.ones((len(weight), int(intercept))))
    A, solve = sp.hstack([plain, one], "csr"), _least_sum if norm == "l1" else _least_largest
    return [_back(solve(A, y / rows.root, weight), rows, intercept) for y in rows.Y.T]


def _back(found: Solution, rows: SparseRows, intercept: bool) -> Solution:
    """Return coefficients and the offset of the centred rows; the program has none centred."""
    d = rows.X.shape[1]
    coef = found.value[:d]
    offset = float(found.value[d] + rows.mean @ coef) if intercept else 0.0
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
