"""A risk of linear functions whose rows come in parts: what is gone is remembered by a parabola.

After a part the penalty and the risk of all rows so far are replaced by their parabola at the
minimum θ, which is ½(· − θ)ᵀP(· − θ): the slope is 0 there. With the next part the minimum of
parabola and new risk is found, and P grows by the curvature of the new rows. A parabola is exact
for squared losses, and near where it was taken for others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from mercer._array import allocate
from mercer._floats import TINY
from mercer._limits import Limits
from mercer._state import Attribute, Either, Floats, Integers, Maybe
from mercer._threads import threads_for
from mercer.losses import Curvature, Risk
from mercer.optimize._l1_newton import HIDDEN_GAIN, SHORTEST_STEP
from mercer.optimize._run import ARMIJO_SHARE
from mercer.result import Certificate, Solution, Status

FULL_COEFFICIENTS = 2000  # up to so many all of P is kept, else its diagonal
ROUNDING_SHARE = 1e-12  # of the diagonal: more than a factor of so many coefficients loses
CG_RESIDUAL, CG_STEPS = 1e-3, 200  # of a step where P is a diagonal


KEPT_STATE: dict[str, Attribute] = {
    "curvature_": Maybe(Either(Floats("problems", "all", "all"), Floats("problems", "all"))),
    "n_rows_seen_": Maybe(Integers()),
}
"""What `learn_parts` leaves in an estimator."""


PARTS = {
    "parts": """\
What is kept of a part is the curvature of its loss where it was learned (all of it up to 2,000
coefficients, else the diagonal), not its rows. So one part is as good as `fit`, several are near
it if each looks like all of them, and the certificate proves the problem of the last part, not
that of all rows. `fit` keeps no curvature: after it the penalty, now about its coefficients, stands
for its rows, so that a part changes much.

Parameters
----------
X, y : table (dense or sparse), labels
    More rows.
classes : array of shape (n_classes,), default={classes}
    All labels that will ever come; needed by the first call.
sample_weight : array of shape (n,), default={sample_weight}
    Weights ≥ 0.
""",
}
"""What the docstrings of `partial_fit` share."""


class Seen(NamedTuple):
    """What is kept of the penalty and of all rows before: ½(θ − centre)ᵀP(θ − centre)."""

    centre: np.ndarray  # (m, k)
    P: np.ndarray  # (km, km), output by output, or its diagonal (km,)
    n_rows: int

    @classmethod
    def nothing(cls, penalty: np.ndarray, k: int) -> Seen:
        """Return what stands for no row: the penalties (m,) of θ²/2 of each of k outputs."""
        m = len(penalty)
        P = np.tile(penalty, k)
        if m * k <= FULL_COEFFICIENTS:
            P, diagonal = allocate((m * k, m * k), np.float64), P
            P[:] = 0.0
            P[np.diag_indices(m * k)] = diagonal
        return cls(np.zeros((m, k)), P, 0)

    @property
    def is_full(self) -> bool:
        """Whether all of P is kept."""
        return self.P.ndim == 2

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return PV, shape (m, k)."""
        v = V.T.ravel()
        return (self.P @ v if self.is_full else self.P * v).reshape(V.T.shape).T

    def grown(self, A: Any, curve: Curvature) -> np.ndarray:
        """Return P with the curvature of more rows."""
        m, k = self.centre.shape
        if not self.is_full:
            squares = A.power(2) if sp.issparse(A) else A**2
            more = [np.asarray(squares.T @ curve.entry(c, c)) for c in range(k)]
            return self.P + np.concatenate(more)
        P = self.P.copy().reshape(k, m, k, m)
        for c in range(k):
            for d in range(k):
                block = A.T @ _scaled_rows(A, curve.entry(c, d))
                P[c, :, d] += block.toarray() if sp.issparse(block) else block
        return P.reshape(k * m, k * m)


def _scaled_rows(A: Any, h: np.ndarray) -> Any:
    return sp.diags_array(h) @ A if sp.issparse(A) else A * h[:, None]


def learn_part(
    A: Any, risk: Risk, seen: Seen, *, tol: float, limits: Limits, about: str = ""
) -> tuple[Solution, Seen]:
    """Minimise ½(θ − centre)ᵀP(θ − centre) + R(Aθ); return the proof, and what is kept of it all.

    Newton's method; the proof is its decrement, relative to the risk of θ = 0 on this part. It is
    a proof of this problem, not of the risk of all rows.

    Parameters
    ----------
    A : array or sparse matrix of shape (n, m)
        The rows of this part.
    risk : Risk
        Their losses.
    """
    n, (m, k) = A.shape[0], seen.centre.shape
    with threads_for(float(n) * (m * k) ** (2 if seen.is_full else 1)):
        step = _Step(A, risk, seen)
        theta, status = step.minimise(tol, limits)
        P = seen.grown(A, risk.curvature(np.asarray(A @ theta)))
    kept = Seen(theta, P, seen.n_rows + n)
    error = step.error(theta)
    parts = {
        "newton_decrement": error * step.null**0.5,
        "rows": n,
        "rows_before": seen.n_rows,
        "curvature": "full" if seen.is_full else "diagonal",
    }
    about = f"{about}of these {n} rows and the parabola of {seen.n_rows} before, not of all rows"
    proof = Certificate("relative decrement", error, tol, about, parts)
    if proof.ok != status.ok:
        status = Status.OPTIMAL if proof.ok else Status.ROUNDING
    return Solution(theta, status, proof, stats={"steps": max(step.steps, 1)}), kept


class _Step:
    """Newton's method on the parabola of what was seen and the risk of new rows."""

    def __init__(self, A: Any, risk: Risk, seen: Seen):
        self.A, self.risk, self.seen, self.steps = A, risk, seen, 0
        self.null = max(risk.value(np.zeros((A.shape[0], seen.centre.shape[1]))), TINY)

    def minimise(self, tol: float, limits: Limits) -> tuple[np.ndarray, Status]:
        """Step until the decrement is small; return where, and how it ended."""
        theta = self.seen.centre
        try:
            while True:
                g = self.gradient(theta)
                d = self.direction(theta, g)
                gain = float((g * d).sum())
                done = gain <= (0.1 * tol) ** 2 * self.null
                stopped = limits.stopped(self.steps)
                if done or stopped:
                    return theta, Status.OPTIMAL if done else stopped or Status.ROUNDING
                moved = self._moved(theta, d, gain)
                if moved is None:
                    return theta, Status.ROUNDING
                theta, self.steps = moved, self.steps + 1
        except KeyboardInterrupt:
            limits.interrupt()
            return theta, Status.INTERRUPTED

    def error(self, theta: np.ndarray) -> float:
        """Return √(gᵀH⁻¹g / risk of θ = 0)."""
        g = self.gradient(theta)
        return (max(float((g * self.direction(theta, g)).sum()), 0.0) / self.null) ** 0.5

    def value(self, theta: np.ndarray) -> float:
        """Return parabola and risk."""
        apart = theta - self.seen.centre
        squares = 0.5 * float((apart * self.seen.times(apart)).sum())
        return squares + self.risk.value(np.asarray(self.A @ theta))

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Return the gradient, shape (m, k)."""
        slopes = self.risk.slopes(np.asarray(self.A @ theta))
        return self.seen.times(theta - self.seen.centre) + np.asarray(self.A.T @ slopes)

    def direction(self, theta: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return H⁻¹g."""
        curve = self.risk.curvature(np.asarray(self.A @ theta))
        H, flat = self.seen.grown(self.A, curve), g.T.ravel()
        if self.seen.is_full:
            H[np.diag_indices_from(H)] *= 1.0 + ROUNDING_SHARE
            return cho_solve(cho_factor(H, check_finite=False), flat).reshape(g.T.shape).T

        def product(v: np.ndarray) -> np.ndarray:
            V = v.reshape(g.T.shape).T
            curved = self.A.T @ curve.apply(np.asarray(self.A @ V))
            return (np.asarray(curved) + self.seen.times(V)).T.ravel()

        operator = LinearOperator((g.size, g.size), product, dtype=np.float64)
        guide = LinearOperator((g.size, g.size), lambda v: v / H, dtype=np.float64)
        d, _ = cg(operator, flat, rtol=CG_RESIDUAL, maxiter=CG_STEPS, M=guide)
        return d.reshape(g.T.shape).T

    def _moved(self, theta: np.ndarray, d: np.ndarray, gain: float) -> np.ndarray | None:
        here, length, hidden = self.value(theta), 1.0, HIDDEN_GAIN * self.null
        while length > SHORTEST_STEP:
            there = theta - length * d
            if self.value(there) <= here - ARMIJO_SHARE * length * gain + hidden:
                return there
            length *= 0.5
        return None


# ---------------------------------------------------------------- estimators
def forget(estimator: Any) -> None:
    """Drop what is kept of rows that came in parts: a fit begins anew."""
    for name in KEPT_STATE:
        vars(estimator).pop(name, None)


def learn_parts(
    estimator: Any,
    X: Any,
    risks: Sequence[tuple[Risk, str]],
    penalty: np.ndarray,
    bias: float,
    limits: Limits,
) -> list[Solution]:
    """Take in rows whose losses are one problem or several; keep coefficients and curvature.

    Parameters
    ----------
    risks : sequence
        The risk of each problem, and its name.
    penalty : array of shape (m,)
        Of θ²/2; there is one more than X has columns if ``bias`` > 0.
    bias : float
        The constant column that stands for the intercept; 0 is none.
    """
    k = risks[0][0].n_outputs
    ones = np.full((X.shape[0], int(bias > 0.0)), bias)
    A = sp.hstack([X, ones], "csr") if sp.issparse(X) else np.hstack([X, ones])
    A = A.astype(np.float64, copy=False)
    start = [Seen.nothing(penalty, k)] * len(risks)
    if hasattr(estimator, "coef_"):
        start = _kept(estimator, start, bias)
    found = [
        learn_part(A, risk, seen, tol=estimator.tol, limits=limits, about=about)
        for (risk, about), seen in zip(risks, start, strict=True)
    ]
    theta = np.hstack([seen.centre for _, seen in found])  # (m, problems or k)
    d = X.shape[1]
    estimator.coef_ = theta[:d].T
    estimator.intercept_ = theta[d] * bias if bias > 0.0 else np.zeros(theta.shape[1])
    estimator.curvature_ = np.array([seen.P for _, seen in found])
    estimator.n_rows_seen_ = found[0][1].n_rows
    return [solution for solution, _ in found]


def _kept(estimator: Any, nothing: list[Seen], bias: float) -> list[Seen]:
    """Return what is kept of the parts before; of a fit it is its coefficients and the penalty."""
    theta, (m, k) = estimator.coef_.T, nothing[0].centre.shape
    if bias > 0.0:
        theta = np.vstack([theta, estimator.intercept_ / bias])
    pieces = np.split(theta, theta.shape[1] // k, axis=1)
    curvature = getattr(estimator, "curvature_", [seen.P for seen in nothing])
    if len(curvature[0]) != m * k:
        raise ValueError("fit_intercept must stay what it was at the first call to partial_fit")
    rows = getattr(estimator, "n_rows_seen_", 0)
    return [Seen(piece, P, rows) for piece, P in zip(pieces, curvature, strict=True)]
