"""Linear classifiers by dual coordinate descent: no Gram matrix, one pass over the rows a sweep.

min ½‖w‖² + Σᵢ Cᵢ ℓ(yᵢ w·xᵢ),   ℓ(m) = max(0, 1 − m) or its square
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._floats import TINY
from mercer._limits import Limits
from mercer.kernels.sample import squared_norms
from mercer.result import Certificate, Solution, Status
from mercer.solvers import _linear_loops as loops

SMALL = 5000  # values of X; so small problems are solved to rounding
WORK_BETWEEN_CHECKS = 2e7  # values of X touched between two looks at the clock and the gap


class Rows(NamedTuple):
    """Rows of X for the compiled loops: values, columns (none if dense), row pointers, the bias."""

    values: np.ndarray
    columns: np.ndarray
    pointers: np.ndarray
    n_columns: int
    bias: float

    @classmethod
    def of(cls, X: Any, bias: float) -> Rows:
        """Take rows of a dense or CSR table, with a constant column ``bias`` thought beside it."""
        if sp.issparse(X):
            columns, pointers = X.indices.astype(np.int32), X.indptr.astype(np.int64)
            return cls(X.data, columns, pointers, X.shape[1], bias)
        pointers = np.arange(X.shape[0] + 1, dtype=np.int64) * X.shape[1]
        return cls(X.ravel(), np.empty(0, np.int32), pointers, X.shape[1], bias)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return w·x + w_b · bias of all rows."""
        out = np.empty(len(self.pointers) - 1)
        loops.scores(self.values, self.columns, self.pointers, w, self.bias, out)
        return out


def solve_dual_coordinate(
    X: Any,
    sign: np.ndarray,
    C: np.ndarray,
    *,
    squared: bool,
    bias: float = 1.0,
    tol: float = 1e-3,
    limits: Limits | None = None,
    random_state: int = 0,
    about: str = "",
) -> Solution:
    """Solve a linear classifier to a relative duality gap of ``tol``.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows.
    sign, C : array of shape (n,)
        Labels ±1 and the cost of each row.
    squared : bool
        Whether the hinge loss is squared.
    bias : float, default=1.0
        Value of the constant column whose weight is the intercept; 0 for none.

    Returns
    -------
    Solution
        ``value`` is w, ``intercept`` the weight of the constant column times its value.
    """
    limits = limits or Limits()
    rows = Rows.of(X, bias)
    upper = np.full(len(sign), np.inf) if squared else C.astype(np.float64)
    ridge = np.divide(0.5, C, out=np.zeros(len(C)), where=C > 0) if squared else np.zeros(len(C))
    upper = np.where(C > 0, upper, 0.0)
    curvature = squared_norms(X) + bias**2 + ridge
    alpha, w = np.zeros(len(sign)), np.zeros(rows.n_columns + 1)
    order = np.flatnonzero(C > 0)
    everyone, active = len(order), len(order)
    seed, high, low, n_sweeps = random_state + 1, np.inf, -np.inf, 0
    per_check = int(np.clip(WORK_BETWEEN_CHECKS / max(1, rows.values.size), 1, 50))
    status: Status | None = None
    while status is None:
        turn = per_check if limits.max_iter < 0 else min(per_check, limits.max_iter - n_sweeps)
        try:
            active, seed, high, low = loops.sweep(
                rows.values, rows.columns, rows.pointers, sign, bias, alpha, w, curvature, upper,
                ridge, order, active, np.uint64(seed), high, low, turn,
            )  # fmt: skip
        except KeyboardInterrupt:
            limits.interrupted = True
        n_sweeps += turn
        certificate = _gap(rows, sign, C, alpha, squared, tol, about, n_sweeps)
        exact = max(certificate.kkt.values()) < 1e-12 or n_sweeps >= 20_000
        polished = rows.values.size > SMALL or exact
        status = Status.OPTIMAL if certificate.ok and polished else limits.stopped(n_sweeps)
        # rows set aside too early show in the gap: look at all of them again
        if active < everyone and (high - low < 10 * tol or n_sweeps % (4 * per_check) == 0):
            active, high, low = everyone, np.inf, -np.inf
    status = Status.OPTIMAL if certificate.ok else status
    w = _weights(rows, sign, alpha)
    return Solution(w[:-1], status, certificate, intercept=w[-1] * bias, stats={"sweeps": n_sweeps})


def _weights(rows: Rows, sign: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return w = Σ α y x, recomputed."""
    shape = (len(sign), rows.n_columns)
    if len(rows.columns):
        X: Any = sp.csr_array((rows.values, rows.columns, rows.pointers), shape=shape)
    else:
        X = rows.values.reshape(shape)
    beta = alpha * sign
    return np.append(np.asarray(X.T @ beta, dtype=np.float64).ravel(), beta.sum() * rows.bias)


def _gap(
    rows: Rows,
    sign: np.ndarray,
    C: np.ndarray,
    alpha: np.ndarray,
    squared: bool,
    tol: float,
    about: str,
    n_sweeps: int,
) -> Certificate:
    """Prove α and its w = Σ α y x: primal, dual, gap and KKT, from α alone."""
    w = _weights(rows, sign, alpha)
    margin = sign * rows.scores(w)
    slack = np.maximum(0.0, 1.0 - margin)
    norm2 = float(w @ w)
    used = C > 0
    if squared:
        loss = float(C @ slack**2)
        penalty = float((alpha[used] ** 2 / (4.0 * C[used])).sum())
        free = np.abs(margin + np.divide(0.5 * alpha, C, out=np.zeros_like(C), where=used) - 1.0)
        bounded = np.zeros(len(C), bool)
    else:
        loss, penalty = float(C @ slack), 0.0
        bounded = used & (alpha >= C)
        free = np.abs(margin - 1.0)
    primal, dual = 0.5 * norm2 + loss, float(alpha.sum()) - penalty - 0.5 * norm2
    gap = max(primal - dual, 0.0)
    relative = gap / max(abs(primal), abs(dual), TINY)
    is_free = (alpha > 0) & ~bounded
    kkt = {
        "zero": float(slack[used & (alpha == 0)].max(initial=0.0)),
        "free": float(free[is_free].max(initial=0.0)),
        "bounded": float(np.maximum(margin - 1.0, 0.0)[bounded].max(initial=0.0)),
    }
    parts = {
        "primal": primal,
        "dual": dual,
        "gap": gap,
        "relative_gap": relative,
        "squared_norm": norm2,
        "kkt": kkt,
        "n_free": int(is_free.sum()),
        "n_bounded": int(bounded.sum()),
        "checked": len(alpha),
        "steps": n_sweeps,
    }
    return Certificate("relative duality gap", relative, tol, about, parts)
