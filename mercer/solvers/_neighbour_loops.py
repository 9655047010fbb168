# mypy: ignore-errors
"""Compiled lists of nearest points: candidates go through, the k best of each row stay.

A list is sorted by (value, index), so that ties do not depend on who found what first. Of Euclidean
distances lower bounds in float32 sift, float64 decides.
"""

from __future__ import annotations

import numpy as np

from mercer._compiled import REORDER, compiled, compiled_part
from mercer.kernels._loops import _sparse_distance

CHUNK = 64  # bounds whose least is found together, without a branch for each
_NO_NAN = {"nnan", "nsz", "reassoc", "contract"}


@compiled_part()
def _offer(value, j, best, index):
    """Put point j into a full sorted list if it comes before the last one."""
    p = len(best) - 1
    if value > best[p] or (value == best[p] and j > index[p]):
        return
    while p > 0 and (best[p - 1] > value or (best[p - 1] == value and index[p - 1] > j)):
        best[p], index[p] = best[p - 1], index[p - 1]
        p -= 1
    best[p], index[p] = value, j


@compiled()
def keep_least(values, factor, shift, start, best, index):
    """Keep the columns with the least shift_j + factor · values_ij; columns begin at ``start``."""
    last = best.shape[1] - 1
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value = shift[start + j] + factor * values[i, j]
            if value <= best[i, last]:
                _offer(value, start + j, best[i], index[i])


@compiled()
def keep_nearest_sparse(values, slack, xp, xi, xv, yp, yi, yv, start, best, index):
    """Keep the columns with the least ‖x_i − y_j‖² of CSR rows, of which ``values`` is an estimate.

    What may be nearer than the last of the list, given that an estimate is off by the factor
    ``slack`` at most, is computed from the differences: equal points have equal distances then,
    wherever in a matrix product they stood.
    """
    last = best.shape[1] - 1
    for i in range(values.shape[0]):
        x = slice(xp[i], xp[i + 1])
        for j in range(values.shape[1]):
            if values[i, j] <= slack * best[i, last]:
                y = slice(yp[start + j], yp[start + j + 1])
                total = _sparse_distance(xi[x], xv[x], yi[y], yv[y], 2.0)
                _offer(total, start + j, best[i], index[i])


@compiled_part(fastmath=REORDER)
def _squared_distance(x, y):
    total = 0.0
    for c in range(len(x)):
        t = x[c] - y[c]
        total += t * t
    return total


@compiled(fastmath=REORDER)
def shifted(rows, center, unit):
    """Return unit · (x − center) in float32 with room for one more column, and squared norms."""
    n, d = rows.shape
    out, squares = np.empty((n, d + 1), np.float32), np.empty(n)
    for i in range(n):
        total = 0.0
        for c in range(d):
            t = (rows[i, c] - center[c]) * unit
            out[i, c] = t
            total += t * t
        squares[i] = total
    return out, squares


@compiled_part(fastmath=_NO_NAN)
def _least(values, start, stop):
    low = values[start]
    for j in range(start + 1, stop):
        low = values[j] if values[j] < low else low
    return low


@compiled_part()
def _reach(worst, unit, own):
    """Return the largest bound of a point that may still enter the list, rounded upwards."""
    return np.float32((worst * unit) * unit - own) if worst < np.inf else np.float32(np.inf)


@compiled()
def keep_within_bounds(bounds, own, unit, X, Y, start, best, index):
    """Bring the lists of rows X up to date with the points Y[start:], one column of bounds each.

    A bound is below unit²‖x − y‖² − own_i; only what it does not rule out is computed.
    """
    last, width = best.shape[1] - 1, bounds.shape[1]
    for i in range(bounds.shape[0]):
        reach = _reach(best[i, last], unit, own[i])
        for a in range(0, width, CHUNK):
            b = min(a + CHUNK, width)
            if _least(bounds[i], a, b) > reach:
                continue
            for j in range(a, b):
                if bounds[i, j] <= reach:
                    total = _squared_distance(X[i], Y[start + j])
                    _offer(total, start + j, best[i], index[i])
                    reach = _reach(best[i, last], unit, own[i])


@compiled()
def keep_candidates(candidates, X, Y, best, index):
    """Make the lists of rows X from the points that ``candidates`` names for each."""
    for i in range(candidates.shape[0]):
        for j in candidates[i]:
            _offer(_squared_distance(X[i], Y[j]), j, best[i], index[i])


# ---------------------------------------------------------------- lists that may miss some
@compiled_part()
def _offer_once(value, j, best, index):
    """Put point j into a full sorted list as `_offer` does, unless it is there already."""
    if value > best[-1]:
        return 0
    for p in range(len(index)):
        if index[p] == j:
            return 0
    _offer(value, j, best, index)
    return 1


@compiled_part()
def _mixed(state):
    """Return the next of a sequence of 64 bits that look random (splitmix64)."""
    z = state + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled(fastmath=REORDER)
def halve(X, order, start, stop, seed):
    """Part rows order[start:stop] in two halves, along the line through two of them."""
    n = stop - start
    first = _mixed(np.uint64(seed) + np.uint64(start) * np.uint64(0x10001) + np.uint64(stop))
    x = X[order[start + np.int64(first % np.uint64(n))]]
    y = X[order[start + np.int64(_mixed(first) % np.uint64(n))]]
    places = np.empty(n)
    for i in range(n):
        row, total = X[order[start + i]], 0.0
        for c in range(len(x)):
            total += row[c] * (x[c] - y[c])
        places[i] = total
    middle = np.partition(places, n // 2)[n // 2]
    below, above = start, stop
    kept = order[start:stop].copy()
    for i in range(n):
        if places[i] < middle:
            order[below] = kept[i]
            below += 1
        elif places[i] > middle:
            above -= 1
            order[above] = kept[i]
    for i in range(n):  # those on the border fill the gap, wherever the halves meet
        if places[i] == middle:
            order[below] = kept[i]
            below += 1


@compiled()
def join_leaf(X, order, start, stop, best, index):
    """Offer rows order[start:stop] to one another."""
    rows = np.empty((stop - start, X.shape[1]))
    for i in range(len(rows)):
        rows[i] = X[order[start + i]]
    for i in range(len(rows)):
        a = order[start + i]
        for j in range(i):
            b, total = order[start + j], _squared_distance(rows[i], rows[j])
            _offer_once(total, b, best[a], index[a])
            _offer_once(total, a, best[b], index[b])


@compiled()
def reversed_lists(index):
    """Return of each row some rows that have it in their lists; −1 fills what is left."""
    n, k = index.shape
    out, count = np.full((n, k), -1), np.zeros(n, np.int64)
    for i in range(n):
        for j in index[i]:
            if count[j] < k:
                out[j, count[j]] = i
                count[j] += 1
    return out


@compiled()
def ask_neighbours(X, start, stop, known, best, index):
    """Offer to each of the rows start … stop the neighbours of its neighbours; count the new."""
    found = 0
    for i in range(start, stop):
        for j in known[i]:
            if j < 0:
                continue
            for other in known[j]:
                if other >= 0 and other != i:
                    total = _squared_distance(X[i], X[other])
                    found += _offer_once(total, other, best[i], index[i])
    return found
