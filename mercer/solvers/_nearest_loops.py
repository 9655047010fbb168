# mypy: ignore-errors
"""Compiled lists of nearest points: a tile of values goes through, the k best of each row stay.

A list is sorted by (value, index), so that ties do not depend on the order of the tiles.
"""

from __future__ import annotations

from numba import njit

from mercer.kernels._loops import _sparse_distance


@njit(cache=True, nogil=True)
def _offer(value, j, best, index):
    """Put point j into a full sorted list if it comes before the last one."""
    p = len(best) - 1
    if value > best[p] or (value == best[p] and j > index[p]):
        return
    while p > 0 and (best[p - 1] > value or (best[p - 1] == value and index[p - 1] > j)):
        best[p], index[p] = best[p - 1], index[p - 1]
        p -= 1
    best[p], index[p] = value, j


@njit(cache=True, nogil=True)
def keep_least(values, factor, shift, start, best, index):
    """Keep the columns with the least shift_j + factor · values_ij; columns begin at ``start``."""
    last = best.shape[1] - 1
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value = shift[start + j] + factor * values[i, j]
            if value <= best[i, last]:
                _offer(value, start + j, best[i], index[i])


@njit(cache=True, nogil=True)
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
                total = _sparse_distance(xi[x], xv[x], yi[y], yv[y], True)
                _offer(total, start + j, best[i], index[i])
