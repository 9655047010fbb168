"""Several two-class problems as one machine: coefficients, votes, certificates.

The pair (i, j), i < j, has sign +1 for class i. LIBSVM's compact layout keeps, for a support vector
of class i, its coefficient of the pair with j in row j − 1, and of class j that of i in row i.
"""

from __future__ import annotations

import numpy as np

from mercer.result import Certificate, Solution, Status

Pairs = list[tuple[int, int]]


def store_pair(
    compact: np.ndarray, row: np.ndarray, points: list[np.ndarray], i: int, j: int
) -> None:
    """Write the coefficients of one pair into LIBSVM's layout, shape (k − 1, n)."""
    compact[j - 1, points[i]] = row[points[i]]
    compact[i, points[j]] = row[points[j]]


def pair_rows(compact: np.ndarray, n_support: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Return the coefficients of each pair, shape (n_pairs, n), from LIBSVM's layout."""
    code = np.repeat(np.arange(len(n_support)), n_support)
    rows = [
        np.where(code == i, compact[j - 1], 0.0) + np.where(code == j, compact[i], 0.0)
        for i, j in pairs
    ]
    return np.array(rows)


def votes(values: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Return how many pairs each class wins, shape (m, k)."""
    counts = np.zeros((len(values), max(j for _, j in pairs) + 1), np.intp)
    for column, (i, j) in zip(values.T, pairs, strict=True):
        counts[:, i] += column > 0
        counts[:, j] += column <= 0
    return counts


def combined(solutions: list[Solution]) -> Solution:
    """Return one solution whose certificate speaks for all problems."""
    worst = max(solutions, key=lambda s: s.certificate.value)
    status = next((s.status for s in solutions if not s.status.ok), Status.OPTIMAL)
    certificates = [s.certificate for s in solutions]
    parts = dict(worst.certificate.parts)
    about = worst.certificate.about
    if len(solutions) > 1:
        for name in ("primal", "dual", "gap", "n_free", "n_bounded", "checked", "steps"):
            parts[name] = sum(c.parts[name] for c in certificates)
        parts["relative_gap"] = max(c.relative_gap for c in certificates)
        parts["kkt"] = {k: max(c.kkt[k] for c in certificates) for k in worst.certificate.kkt}
        parts["worst"] = about
        parts["problems"] = [{"about": c.about, "value": c.value, **c.parts} for c in certificates]
        about = f"{len(solutions)} problems"
    value = worst.certificate.value
    certificate = Certificate(
        worst.certificate.kind, value, worst.certificate.tolerance, about, parts
    )
    return Solution(None, status, certificate)
