"""Quadratic problems with λ‖w‖₁ where the signs of the coefficients are known: linear equations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dposv

from mercer._floats import TINY

FLAT_PIVOTS = 1e-6  # ratio of pivots at which a matrix counts as singular
NULL_EIGENVALUES = 1e-12  # ratio of eigenvalues that are 0
DECOMPOSED_COEFS = 500  # coefficients whose singular matrix is decomposed
SIGN_TURNS = 10  # equations in a row, each with fewer coefficients: more cost more than sweeps


def solve_signed(G: np.ndarray, b: np.ndarray, lam: Any, w: np.ndarray) -> np.ndarray | None:
    """Return the solution of Gw = b − λ sign(w), or None if there is nothing to solve.

    λ is a number, or one for each coefficient. Where G is singular and the right-hand side is not
    in its range, the fit can stay as it is while λ‖w‖₁ falls: the way there is returned, beyond the
    first coefficient that becomes 0.
    """
    sign = np.sign(w)
    if not len(b):
        return None
    factor, exact, failed = dposv(G, b - lam * sign)
    pivots = np.diag(factor)
    if not failed and pivots.min() > FLAT_PIVOTS * pivots.max():
        return exact
    if len(b) > DECOMPOSED_COEFS:
        return None
    values, V = eigh(G, check_finite=False)
    keep = values > NULL_EIGENVALUES * values[-1]
    pull = sign * (lam / max(np.max(lam), TINY))
    away = V[:, ~keep] @ (V[:, ~keep].T @ pull)
    falls = (away * w > 0.0) & (pull != 0.0)
    if np.abs(away).max() > 1e-6 and falls.any():
        lengths = np.where(falls, w / np.where(away == 0.0, 1.0, away), np.inf)
        return w - 1.5 * lengths.min() * away
    V = V[:, keep]
    return w + V @ ((V.T @ (b - lam * sign - G @ w)) / values[keep])


def signed_steps(
    old: np.ndarray, exact: np.ndarray, kinked: Any = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return two ways towards ``exact`` that keep signs: those that would change become 0.

    Either all of them, or the step ends where the first of them is 0. ``kinked`` says of which
    coefficients that is; others have no λ, and may change their sign.
    """
    crossing = (exact * old < 0.0) & kinked
    return np.where(crossing, 0.0, exact), _up_to_zero(old, exact, crossing)


def _up_to_zero(old: np.ndarray, new: np.ndarray, crossing: np.ndarray) -> np.ndarray:
    """Return the point on the way from old to new at which the first coefficient becomes 0."""
    if not crossing.any():
        return new
    length = np.where(crossing, old / np.where(crossing, old - new, 1.0), np.inf)
    first = int(length.argmin())
    w = old + length[first] * (new - old)
    w[first] = 0.0
    return w
