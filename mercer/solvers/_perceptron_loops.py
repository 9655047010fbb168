# mypy: ignore-errors
"""Compiled epochs of the perceptron: scores of all points, or weights of the columns of X.

``counts`` holds the visits, the updates, and the mistakes of this epoch. ``alpha`` counts the
updates of a point, ``late`` adds up the visits that came before them: α − late / visits is the
average over all visits. ``who`` and ``when`` list the updates of this epoch.
"""

from __future__ import annotations

from numba import njit

from mercer.solvers._linear_loops import _add_row, row_dot


@njit(cache=True, nogil=True)
def _note(i, alpha, late, counts, who, when):
    who[counts[2]], when[counts[2]] = i, counts[0]
    alpha[i] += 1.0
    late[i] += counts[0]
    counts[1] += 1
    counts[2] += 1


@njit(cache=True, nogil=True)
def sweep_rows(rows, slot, f, sign, offset, order, start, room, alpha, late, counts, who, when):
    """Visit order[start:]; return where it stopped: a row is missing, or ``room`` is used up."""
    for p in range(start, len(order)):
        i = order[p]
        if sign[i] * f[i] <= 0.0:
            if slot[i] < 0 or room == 0:
                return p
            room -= 1
            row, y = rows[slot[i]], sign[i]
            for j in range(len(f)):
                f[j] += y * (row[j] + offset)
            _note(i, alpha, late, counts, who, when)
        counts[0] += 1
    return len(order)


@njit(cache=True, nogil=True)
def sweep_columns(
    values, columns, pointers, w, sign, offset, order, start, room, alpha, late, counts, who, when
):
    """Visit at most ``room`` points of order[start:]; w ends with the sum of the coefficients."""
    stop = min(len(order), start + room)
    for p in range(start, stop):
        i = order[p]
        a, b = pointers[i], pointers[i + 1]
        if sign[i] * (row_dot(values, columns, a, b, w) + offset * w[-1]) <= 0.0:
            _add_row(values, columns, a, b, sign[i], w)
            w[-1] += sign[i]
            _note(i, alpha, late, counts, who, when)
        counts[0] += 1
    return stop


@njit(cache=True, nogil=True)
def vote(rows, order, sign, votes, offset, out):
    """Add up the votes of all functions on the way: out_i = Σ_t votes_t sign(f_t(x_i)).

    A row holds the values k(x_i, ·) that ``order`` points to, one for each update.
    """
    for i in range(rows.shape[0]):
        f, total = 0.0, 0.0
        for t in range(len(order)):
            f += sign[t] * (rows[i, order[t]] + offset)
            if f > 0.0:
                total += votes[t]
            elif f < 0.0:
                total -= votes[t]
        out[i] = total
