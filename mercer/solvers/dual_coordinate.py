"""Linear classifiers by dual coordinate descent: no Gram matrix, one pass over the rows a sweep.

min ½‖w‖² + Σᵢ Cᵢ ℓ(yᵢ w·xᵢ),   ℓ(m) = max(0, 1 − m) or its square
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._compiled import REORDER, compiled, compiled_part
from mercer._floats import TINY
from mercer._limits import Limits
from mercer.kernels.sample import squared_norms
from mercer.result import Certificate, Solution, Status

POLISHED_UP_TO = 5000  # values of X; so small problems are solved to rounding
WORK_BETWEEN_CHECKS = 2e7  # values of X touched between two looks at the clock and the gap


class LinearRows(NamedTuple):
    """Rows of X for the compiled loops: values, columns (none if dense), row pointers, the bias."""

    values: np.ndarray
    columns: np.ndarray
    pointers: np.ndarray
    n_columns: int
    bias: float

    @classmethod
    def of(cls, X: Any, bias: float) -> LinearRows:
        """Take rows of a dense or CSR table, with a constant column ``bias`` thought beside it."""
        if sp.issparse(X):
            columns, pointers = X.indices.astype(np.int32), X.indptr.astype(np.int64)
            return cls(X.data, columns, pointers, X.shape[1], bias)
        pointers = np.arange(X.shape[0] + 1, dtype=np.int64) * X.shape[1]
        return cls(X.ravel(), np.empty(0, np.int32), pointers, X.shape[1], bias)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return w·x + w_b · bias of all rows."""
        out = np.empty(len(self.pointers) - 1)
        _set_scores(self.values, self.columns, self.pointers, w, self.bias, out)
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
    rows = LinearRows.of(X, bias)
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
            active, seed, high, low = _sweep(
                rows.values, rows.columns, rows.pointers, sign, bias, alpha, w, curvature, upper,
                ridge, order, active, np.uint64(seed), high, low, turn,
            )  # fmt: skip
        except KeyboardInterrupt:
            limits.interrupted = True
        n_sweeps += turn
        certificate, violation = _gap(rows, sign, C, alpha, squared, tol, about, n_sweeps)
        exact = violation < 1e-12 or n_sweeps >= 20_000
        polished = rows.values.size > POLISHED_UP_TO or exact
        status = Status.OPTIMAL if certificate.ok and polished else limits.stopped(n_sweeps)
        # rows set aside too early show in the gap: look at all of them again
        if active < everyone and (high - low < 10 * tol or n_sweeps % (4 * per_check) == 0):
            active, high, low = everyone, np.inf, -np.inf
    status = Status.OPTIMAL if certificate.ok else status
    w = _weights(rows, sign, alpha)
    return Solution(w[:-1], status, certificate, intercept=w[-1] * bias, stats={"sweeps": n_sweeps})


def _weights(rows: LinearRows, sign: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return w = Σ α y x, recomputed."""
    shape = (len(sign), rows.n_columns)
    if len(rows.columns):
        X: Any = sp.csr_array((rows.values, rows.columns, rows.pointers), shape=shape)
    else:
        X = rows.values.reshape(shape)
    beta = alpha * sign
    return np.append(np.asarray(X.T @ beta, dtype=np.float64).ravel(), beta.sum() * rows.bias)


def _gap(
    rows: LinearRows,
    sign: np.ndarray,
    C: np.ndarray,
    alpha: np.ndarray,
    squared: bool,
    tol: float,
    about: str,
    n_sweeps: int,
) -> tuple[Certificate, float]:
    """Prove α and its w = Σ α y x from α alone; return the proof and the largest KKT violation."""
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
    proof = Certificate("relative duality gap", relative, tol, about, parts)
    return proof, max(kkt.values())


# -------------------------------------------------------------------- compiled sweeps


@compiled_part(fastmath=REORDER)
def row_dot(values, columns, start, stop, w):
    """Return x·w of one row; dense rows have no list of columns."""
    total = 0.0
    if len(columns) == 0:
        row = values[start:stop]
        for k in range(len(row)):
            total += row[k] * w[k]
    else:
        for a in range(start, stop):
            total += values[a] * w[columns[a]]
    return total


@compiled_part(fastmath=REORDER)
def add_row(values, columns, start, stop, factor, w):
    if len(columns) == 0:
        row = values[start:stop]
        for k in range(len(row)):
            w[k] += factor * row[k]
    else:
        for a in range(start, stop):
            w[columns[a]] += factor * values[a]


@compiled()
def _set_scores(values, columns, pointers, w, bias, out):
    """Write w·x + w_b · bias of all rows."""
    for i in range(len(out)):
        out[i] = row_dot(values, columns, pointers[i], pointers[i + 1], w) + w[-1] * bias


@compiled_part()
def shuffle(order, count, seed):
    """Permute the first entries; return the next seed of the generator."""
    for k in range(count - 1, 0, -1):
        seed = seed * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        j = np.int64((seed >> np.uint64(33)) % np.uint64(k + 1))
        order[k], order[j] = order[j], order[k]
    return seed


@compiled()
def _sweep(
    values, columns, pointers, sign, bias, alpha, w, curvature, upper, ridge,
    order, active, seed, high_before, low_before, sweeps,
):  # fmt: skip
    """Sweep over the active rows; return (active, seed, high, low).

    Row i moves to the minimum of its own coefficient, 0 ≤ α_i ≤ upper_i; w = Σ α y x follows. A row
    at a bound whose gradient points outward by more than the violations of the sweep before is set
    aside until the caller makes all rows active again.
    """
    high, low = high_before, low_before
    for _ in range(sweeps):
        seed = shuffle(order, active, seed)
        shrink_high = high if high > 0 else np.inf
        shrink_low = low if low < 0 else -np.inf
        high, low = -np.inf, np.inf
        k = 0
        while k < active:
            i = order[k]
            start, stop = pointers[i], pointers[i + 1]
            g = sign[i] * (row_dot(values, columns, start, stop, w) + w[-1] * bias) - 1.0
            g += ridge[i] * alpha[i]
            projected = g
            if alpha[i] == 0.0:
                if g > shrink_high:
                    active -= 1
                    order[k], order[active] = order[active], order[k]
                    continue
                projected = min(g, 0.0)
            elif alpha[i] >= upper[i]:
                if g < shrink_low:
                    active -= 1
                    order[k], order[active] = order[active], order[k]
                    continue
                projected = max(g, 0.0)
            high, low = max(high, projected), min(low, projected)
            if projected != 0.0 and curvature[i] > 0:
                before = alpha[i]
                alpha[i] = min(max(before - g / curvature[i], 0.0), upper[i])
                change = (alpha[i] - before) * sign[i]
                add_row(values, columns, start, stop, change, w)
                w[-1] += change * bias
            k += 1
        if active == 0:
            break
    return active, seed, high, low
