# mypy: ignore-errors
"""Compiled loops over pairs of strings, given as integers with starts and stops, or as counts."""

from __future__ import annotations

import numpy as np

from mercer._compiled import compiled, compiled_part


@compiled_part()
def _weighted_degree(x, y, sums):
    """Return Σ over runs of equal letters of what all pieces inside of a run weigh."""
    total, run = 0.0, 0
    for i in range(min(len(x), len(y))):
        if x[i] == y[i]:
            run += 1
            total += sums[min(run, len(sums) - 1)]
        else:
            run = 0
    return total


@compiled_part()
def _shifted_degree(x, y, sums, shares):
    """Return that sum for pieces in the same place, and for those a few letters to either side."""
    total = shares[0] * _weighted_degree(x, y, sums)
    for s in range(1, len(shares)):
        there = _weighted_degree(x[s:], y, sums)
        total += shares[s] * (there + _weighted_degree(x, y[s:], sums))
    return total


@compiled()
def weighted_degree(xc, x0, x1, yc, y0, y1, sums, shares, out):
    """Write the weighted degree kernel; sums[r] is what pieces of length 1 to r weigh.

    shares[s] is the part of it that counts for a piece which stands s letters further on.
    """
    for i in range(out.shape[0]):
        x = xc[x0[i] : x1[i]]
        for j in range(out.shape[1]):
            out[i, j] = _shifted_degree(x, yc[y0[j] : y1[j]], sums, shares)


@compiled()
def weighted_degree_diagonal(xc, x0, x1, sums, shares, out):
    """Write the values of the weighted degree kernel of each string and itself."""
    for i in range(len(out)):
        x = xc[x0[i] : x1[i]]
        out[i] = _shifted_degree(x, x, sums, shares)


@compiled_part()
def _subsequence(x, y, length, decay, sums):
    """Return Σ over common subsequences of decay^(span in x + span in y), letter by letter of x.

    sums[k, j] is that sum over all subsequences of k letters that end before the letters at hand,
    where all letters up to these count as spanned.
    """
    square = decay * decay
    total = 0.0
    sums[0, : len(y) + 1] = 1.0
    sums[1:, : len(y) + 1] = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            if x[i] == y[j]:
                total += square * sums[length - 1, j]
        for k in range(length - 1, 0, -1):  # downwards: of shorter ones those before x[i] are read
            along = 0.0
            for j in range(len(y)):
                along *= decay
                if x[i] == y[j]:
                    along += square * sums[k - 1, j]
                sums[k, j + 1] = decay * sums[k, j + 1] + along
    return total


@compiled()
def subsequence_row(x, yc, y0, y1, length, decay, out):
    """Write the gap-weighted subsequence kernel of one string and many."""
    longest = 0
    for j in range(len(out)):
        longest = max(longest, y1[j] - y0[j])
    sums = np.empty((length, longest + 1))
    for j in range(len(out)):
        out[j] = _subsequence(x, yc[y0[j] : y1[j]], length, decay, sums)


@compiled()
def inner_by_columns(xp, xi, xv, yp, yi, yv, out):
    """Write x·y of CSR rows and of rows that come column by column (CSC).

    Only pairs that share a column cost anything: rows with many rare columns, as counts are.
    """
    out[:] = 0
    for i in range(out.shape[0]):
        for a in range(xp[i], xp[i + 1]):
            x = xv[a]
            for b in range(yp[xi[a]], yp[xi[a] + 1]):
                out[i, yi[b]] += x * yv[b]
