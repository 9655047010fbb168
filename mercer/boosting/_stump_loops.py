# mypy: ignore-errors
"""Compiled scans over sorted columns: the best split, new weights, votes.

``order`` (d, n) lists the rows of each column by rising value, ``ends`` marks the last row of each
distinct value but the largest: only there a column can be split. ``codes`` are class numbers.
"""

from __future__ import annotations

import numpy as np
from numba import njit

SLACK = 1e-12  # a gain of less is rounding: of equal splits the first one is taken
LARGEST = 500.0  # weight of a stump, so that its exponential is a number


@njit(cache=True, nogil=True)
def best_split_of_two(order, ends, signed, first, last, right_share, floor):
    """Return (share, column, place) of the best split of columns first … last − 1, two classes.

    ``signed`` holds w of class 1 and −w of class 0, ``right_share`` the weight of class 0. With c
    the sum of the signed weights on the left, the two ways to vote are right on the shares
    ``right_share`` + c and its complement.
    """
    best, column, place = floor, -1, -1
    n = order.shape[1]
    for j in range(first, last):
        rows, may_split = order[j], ends[j]
        c = right_share - 0.5
        for i in range(n - 1):
            c += signed[rows[i]]
            if may_split[i] and 0.5 + abs(c) > best + SLACK:
                best, column, place = 0.5 + abs(c), j, i
    return best, column, place


@njit(cache=True, nogil=True)
def purest_split(order, ends, codes, w, n_classes, first, last, floor):
    """Return (purity, column, place) of the split with the largest Σ_c W_c²/W, summed over sides.

    That is the smallest Gini impurity. W_c² grows by w (2W_c + w): both sweeps only add, so that
    sides of little weight do not drown in rounding.
    """
    best, column, place = floor, -1, -1
    n = order.shape[1]
    purity = np.empty(n + 1)
    side = np.empty(n_classes)
    for j in range(first, last):
        rows, may_split = order[j], ends[j]
        side[:] = 0.0
        squares = total = 0.0
        for i in range(n - 1, 0, -1):
            c, x = codes[rows[i]], w[rows[i]]
            squares += x * (2.0 * side[c] + x)
            side[c] += x
            total += x
            purity[i] = squares / total if total > 0.0 else 0.0
        side[:] = 0.0
        squares = total = 0.0
        for i in range(n - 1):
            c, x = codes[rows[i]], w[rows[i]]
            squares += x * (2.0 * side[c] + x)
            side[c] += x
            total += x
            if may_split[i] and total > 0.0:
                both = squares / total + purity[i + 1]
                if both > best + SLACK:
                    best, column, place = both, j, i
    return best, column, place


@njit(cache=True, nogil=True)
def weigh_again(x, threshold, left, right, codes, w, rate, n_classes, smallest):
    """Return the error ε and the weight α of a stump; w ← w exp(α 1[wrong]), with sum one."""
    total = wrong = 0.0
    for i in range(len(codes)):
        total += w[i]
        if (left if x[i] <= threshold else right) != codes[i]:
            wrong += w[i]
    error = wrong / total
    capped = max(error, smallest)
    alpha = min(LARGEST, rate * (np.log((1.0 - capped) / capped) + np.log(n_classes - 1.0)))
    factor = np.exp(alpha)
    scale = 1.0 / (total - wrong + factor * wrong)
    for i in range(len(codes)):
        is_wrong = (left if x[i] <= threshold else right) != codes[i]
        w[i] *= scale * factor if is_wrong else scale
    return error, alpha


@njit(cache=True, nogil=True)
def add_votes(X, columns, thresholds, sides, alpha, votes):
    """Add to votes (n, k) what stumps say of the rows: α for one class each."""
    for i in range(X.shape[0]):
        for m in range(len(alpha)):
            is_right = 0 if X[i, columns[m]] <= thresholds[m] else 1
            votes[i, sides[m, is_right]] += alpha[m]
