# mypy: ignore-errors
"""Compiled loops over cells: how near numbers are, and which categories are equal."""

from __future__ import annotations

from mercer._compiled import compiled


@compiled()
def add_nearness(X, Yt, of_x, of_yt, out):
    """Add Σ_c max(0, 1 − |x_c − y_c|) to each value; NaN is missing.

    If one cell of a pair is missing, what counts is the entry of ``of_x`` or ``of_yt`` of the
    other; if both are, that of either. Yt and of_yt are transposed.
    """
    one, none = out.dtype.type(1), out.dtype.type(0)
    for i in range(X.shape[0]):
        for c in range(X.shape[1]):
            x, mine = X[i, c], of_x[i, c]
            if x != x:
                for j in range(Yt.shape[1]):
                    out[i, j] += of_yt[c, j]
            else:
                for j in range(Yt.shape[1]):
                    y = Yt[c, j]
                    near = max(one - abs(x - y), none)
                    out[i, j] += near if y == y else mine


@compiled()
def add_matches(X, Yt, weights, out):
    """Add Σ_c w_c(x) [x_c = y_c] to each value; Yt is transposed."""
    for i in range(X.shape[0]):
        for c in range(X.shape[1]):
            x, weight = X[i, c], weights[i, c]
            for j in range(Yt.shape[1]):
                if x == Yt[c, j]:
                    out[i, j] += weight
