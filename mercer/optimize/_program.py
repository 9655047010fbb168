"""A linear program as arrays: its checks, its dual bound, and the programs that prove failures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.optimize.problem import Multipliers, as_point
from mercer.result import Certificate


@dataclass(frozen=True)
class Program:
    """The program min cᵀx over Ax ≤ b, Ex = e, lower ≤ x ≤ upper."""

    c: np.ndarray
    A: Any
    b: np.ndarray
    E: Any
    e: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, c: Any, A: Any, b: Any, E: Any, e: Any, bounds: Any) -> Program:
        """Check what the user gave."""
        c = as_point(c, "c")
        sides = (*_rows(A, b, len(c), "ub"), *_rows(E, e, len(c), "eq"))
        return cls(c, *sides, *_bounds(bounds, len(c)))

    def anywhere(self) -> np.ndarray:
        """Return the point of the box that is nearest to 0."""
        return np.clip(np.zeros(len(self.c)), self.lower, self.upper)

    def infeasibility(self, x: np.ndarray) -> float:
        """Return the worst violation of a constraint, relative to the terms that meet in it."""
        worst = [_excess(self.A, x, self.b, np.positive), _excess(self.E, x, self.e, np.abs)]
        box = np.maximum(self.lower - x, x - self.upper)
        return max(*worst, float((box / (1.0 + np.abs(x))).max()), 0.0)

    def dual(self, multipliers: Multipliers, c: np.ndarray) -> tuple[float, float]:
        """Return the bound that multipliers prove, and the reduced costs that no bound holds."""
        lam, nu = np.maximum(multipliers.inequality, 0.0), multipliers.equality
        r = c + self.A.T @ lam + self.E.T @ nu
        end = np.where(r > 0, self.lower, self.upper)
        held = np.isfinite(end)
        bound = float((r * np.where(held, end, 0.0)).sum() - self.b @ lam - self.e @ nu)
        size = 1.0 + np.abs(c) + abs(self.A).T @ lam + abs(self.E).T @ np.abs(nu)
        loose = np.where(held, 0.0, np.abs(r) / size)
        negative = np.maximum(-multipliers.inequality, 0.0)
        return bound, max(float(loose.max()), float(negative.max(initial=0.0)))

    # ------------------------------------------------------------ programs beside this one
    def elastic(self) -> Program:
        """Return the program of the least total violation, in (x, excess, surplus, deficit)."""
        m, p = len(self.b), len(self.e)
        A = sp.hstack([self.A, -sp.eye_array(m), sp.csr_array((m, 2 * p))], format="csr")
        E = sp.hstack([self.E, sp.csr_array((p, m)), -sp.eye_array(p), sp.eye_array(p)], "csr")
        c = np.concatenate([np.zeros(len(self.c)), np.ones(m + 2 * p)])
        lower = np.concatenate([self.lower, np.zeros(m + 2 * p)])
        upper = np.concatenate([self.upper, np.full(m + 2 * p, np.inf)])
        return Program(c, A, self.b, E, self.e, lower, upper)

    def without_costs(self) -> Program:
        """Return the program that any feasible point solves."""
        return replace(self, c=np.zeros(len(self.c)))

    def cone(self) -> Program:
        """Return the program of the steepest ray that never leaves the feasible set."""
        lower, upper = -1.0 * np.isinf(self.lower), 1.0 * np.isinf(self.upper)
        zero = np.zeros_like
        return replace(self, b=zero(self.b), e=zero(self.e), lower=lower, upper=upper)

    # ------------------------------------------------------------ proofs
    def prove(self, x: np.ndarray, multipliers: Multipliers, tol: float) -> Certificate:
        """Prove that x is feasible and that no feasible point costs less."""
        primal, (dual, loose) = float(self.c @ x), self.dual(multipliers, self.c)
        gap = primal - dual
        parts = {
            "primal": primal,
            "dual": dual,
            "gap": gap,
            "relative_gap": abs(gap) / (1.0 + abs(primal)),
            "primal_infeasibility": self.infeasibility(x),
            "dual_infeasibility": loose,
        }
        worst = max(parts[n] for n in list(parts)[3:])
        about = f"min cᵀx in {len(x)} variables, {len(self.b)} rows ≤, {len(self.e)} rows ="
        return Certificate("relative gap, infeasibility", worst, tol, about, parts)


def _excess(A: Any, x: np.ndarray, b: np.ndarray, size: Any) -> float:
    terms = 1.0 + np.abs(b) + abs(A) @ np.abs(x)
    return float((size(A @ x - b) / terms).max(initial=0.0))


def _rows(A: Any, b: Any, d: int, name: str) -> tuple[Any, np.ndarray]:
    """Return the rows of a constraint in CSR, and its right-hand side."""
    if (A is None) != (b is None):
        raise ValueError(f"A_{name} and b_{name} must be given together; one of them is None")
    if A is None:
        return sp.csr_array((0, d)), np.zeros(0)
    A = sp.csr_array(np.atleast_2d(A) if not sp.issparse(A) else A, dtype=np.float64)
    b = np.atleast_1d(np.asarray(b, dtype=np.float64))
    if A.shape != (len(b), d) or b.ndim != 1:
        raise ValueError(
            f"A_{name} must have shape ({len(b)}, {d}), a row for each number of b_{name} and a "
            f"column for each of c; got {A.shape}"
        )
    if not (np.isfinite(A.data).all() and np.isfinite(b).all()):
        raise ValueError(f"A_{name} and b_{name} must be finite")
    return A, b


def _bounds(bounds: Any, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds; None is infinite."""
    try:
        pairs = [(None, None)] if bounds is None else list(bounds)
        pairs = [pairs] if len(pairs) == 2 and not np.iterable(pairs[0]) else pairs
        filled = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in pairs]
        table = np.array(np.broadcast_to(np.array(filled, dtype=np.float64), (d, 2)))
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds must be (lower, upper), or {d} such pairs, with None for no bound; got "
            f"{bounds!r}"
        ) from None
    if np.isnan(table).any():
        raise ValueError("bounds must not be NaN")
    return table[:, 0], table[:, 1]
