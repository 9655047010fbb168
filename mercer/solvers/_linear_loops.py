# mypy: ignore-errors
"""Compiled sweeps of dual coordinate descent over rows of X (dense or CSR)."""

from __future__ import annotations

import numpy as np
from numba import njit

_REORDER = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=_REORDER)
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


@njit(cache=True, nogil=True, fastmath=_REORDER)
def _add_row(values, columns, start, stop, factor, w):
    if len(columns) == 0:
        row = values[start:stop]
        for k in range(len(row)):
            w[k] += factor * row[k]
    else:
        for a in range(start, stop):
            w[columns[a]] += factor * values[a]


@njit(cache=True, nogil=True)
def scores(values, columns, pointers, w, bias, out):
    """Write w·x + w_b · bias of all rows."""
    for i in range(len(out)):
        out[i] = row_dot(values, columns, pointers[i], pointers[i + 1], w) + w[-1] * bias


@njit(cache=True, nogil=True)
def _shuffle(order, count, seed):
    """Permute the first entries; return the next seed of the generator."""
    for k in range(count - 1, 0, -1):
        seed = seed * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        j = np.int64((seed >> np.uint64(33)) % np.uint64(k + 1))
        order[k], order[j] = order[j], order[k]
    return seed


@njit(cache=True, nogil=True)
def sweep(
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
        seed = _shuffle(order, active, seed)
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
                _add_row(values, columns, start, stop, change, w)
                w[-1] += change * bias
            k += 1
        if active == 0:
            break
    return active, seed, high, low
