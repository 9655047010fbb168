# mypy: ignore-errors
"""Compiled loops over pairs of histograms, dense and sparse."""

from __future__ import annotations

from mercer._compiled import REORDER, compiled, compiled_part


@compiled(fastmath=REORDER)
def chi_squared_dense(X, YT, out):
    """Write Σ (x − y)² / (x + y) for all pairs; Y comes with its columns in a row."""
    for i in range(X.shape[0]):
        for j in range(YT.shape[1]):
            out[i, j] = 0
        for k in range(X.shape[1]):
            x = X[i, k]
            if x == 0:  # y² / y, and 0 / 0 counts as 0
                for j in range(YT.shape[1]):
                    out[i, j] += YT[k, j]
            else:
                for j in range(YT.shape[1]):
                    t = x - YT[k, j]
                    out[i, j] += t * (t / (x + YT[k, j]))


@compiled(fastmath=REORDER)
def intersection_dense(X, YT, out):
    """Write Σ min(x, y) for all pairs; Y comes with its columns in a row."""
    for i in range(X.shape[0]):
        for j in range(YT.shape[1]):
            out[i, j] = 0
        for k in range(X.shape[1]):
            x = X[i, k]
            if x != 0:
                for j in range(YT.shape[1]):
                    out[i, j] += min(x, YT[k, j])


@compiled_part()
def _chi_squared(xi, xv, yi, yv):
    total = xv.dtype.type(0)
    a, b = 0, 0
    while a < len(xi) or b < len(yi):
        if b == len(yi) or (a < len(xi) and xi[a] < yi[b]):
            total += xv[a]
            a += 1
        elif a == len(xi) or yi[b] < xi[a]:
            total += yv[b]
            b += 1
        else:
            t, both = xv[a] - yv[b], xv[a] + yv[b]
            total += t * (t / both) if both > 0 else both  # zeros may be stored
            a += 1
            b += 1
    return total


@compiled()
def chi_squared_sparse(xp, xi, xv, yp, yi, yv, out):
    """Write Σ (x − y)² / (x + y) for all pairs of CSR rows."""
    for i in range(out.shape[0]):
        x = slice(xp[i], xp[i + 1])
        for j in range(out.shape[1]):
            y = slice(yp[j], yp[j + 1])
            out[i, j] = _chi_squared(xi[x], xv[x], yi[y], yv[y])


@compiled_part()
def _intersection(xi, xv, yi, yv):
    total = xv.dtype.type(0)
    a, b = 0, 0
    while a < len(xi) and b < len(yi):
        if xi[a] < yi[b]:
            a += 1
        elif yi[b] < xi[a]:
            b += 1
        else:
            total += min(xv[a], yv[b])
            a += 1
            b += 1
    return total


@compiled()
def intersection_sparse(xp, xi, xv, yp, yi, yv, out):
    """Write Σ min(x, y) for all pairs of CSR rows."""
    for i in range(out.shape[0]):
        x = slice(xp[i], xp[i + 1])
        for j in range(out.shape[1]):
            y = slice(yp[j], yp[j + 1])
            out[i, j] = _intersection(xi[x], xv[x], yi[y], yv[y])
