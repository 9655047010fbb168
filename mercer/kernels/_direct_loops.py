# mypy: ignore-errors
"""Compiled from rows to kernel values: exp(−rate · Σ|x − y|ᵖ), its root, and sums of them.

A row is done in chunks that stay in the first cache. Every value is computed by itself, in the same
order of operations wherever it stands, so that nothing depends on chunks or threads.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from mercer._compiled import compiled, compiled_part
from mercer.kernels._loops import _dense_distance, dot, scaled_exp, scaled_exp_double

WIDTH = 1024  # values of a chunk
STRIP = 16  # rows that a worker takes in turn
MIRROR = 64  # rows and columns of a block that is transposed
ROUNDED_SHARE = 0.0025  # of ‖x‖² + ‖y‖²: below, rounding of the rows shows in squared distances
_PLAIN = {"contract", "nsz"}


def exponential(values, scale):
    """Replace values by exp(scale · value), in their own precision."""
    (scaled_exp if values.dtype == np.float32 else scaled_exp_double)(values, scale)


@overload(exponential)
def _(values, scale):
    if values.dtype == types.float32:
        return lambda values, scale: scaled_exp(values, scale)
    return lambda values, scale: scaled_exp_double(values, scale)


@compiled_part(fastmath=_PLAIN)
def _squares(X, i, YT, start, out):
    """Write Σ(x_i − y_j)² into ``out`` for the columns of YT from ``start`` on."""
    d, m = X.shape[1], len(out)
    for j in range(m):
        out[j] = 0
    k = 0
    while k + 4 <= d:
        a, b, c, e = X[i, k], X[i, k + 1], X[i, k + 2], X[i, k + 3]
        # slices of single rows: of a part of YT the compiler does not know that it is contiguous
        ya, yb = YT[k, start : start + m], YT[k + 1, start : start + m]
        yc, ye = YT[k + 2, start : start + m], YT[k + 3, start : start + m]
        for j in range(m):
            p, q, r, s = a - ya[j], b - yb[j], c - yc[j], e - ye[j]
            out[j] += (p * p + q * q) + (r * r + s * s)
        k += 4
    while k < d:
        a, ya = X[i, k], YT[k, start : start + m]
        for j in range(m):
            p = a - ya[j]
            out[j] += p * p
        k += 1


@compiled_part(fastmath=_PLAIN)
def _sizes(X, i, YT, start, out):
    """Write Σ|x_i − y_j| into ``out`` for the columns of YT from ``start`` on."""
    for j in range(len(out)):
        out[j] = 0
    for k in range(X.shape[1]):
        a, y = X[i, k], YT[k, start : start + len(out)]
        for j in range(len(out)):
            out[j] += abs(a - y[j])


@compiled_part()
def _refine(xx, yy, x, Y, out):
    """Recompute from the rows as they were given what rounding of the rows may have changed."""
    few, count = out.dtype.type(ROUNDED_SHARE), 0
    for j in range(len(out)):
        count += out[j] < few * (xx + yy[j])
    if count > 0:
        for j in range(len(out)):
            if out[j] < few * (xx + yy[j]):
                out[j] = _dense_distance(x, Y[j], 0.0)


@compiled_part()
def _finish(root, scale, out):
    if root:
        for j in range(len(out)):
            out[j] = np.sqrt(out[j])
    exponential(out, scale)


@compiled_part()
def values_of(rows, i, YT, out):
    """Write the kernel values of row i and the rows whose columns are YT, none left out."""
    if rows.squares:
        _squares(rows.X, i, YT, 0, out)
    else:
        _sizes(rows.X, i, YT, 0, out)
    _finish(rows.root, rows.scale, out)


@compiled_part()
def chunk(rows, i, start, out):
    """Write the kernel values of row i and the columns from ``start`` on."""
    if rows.squares:
        _squares(rows.X, i, rows.YT, start, out)
        if rows.finer:
            _refine(rows.xx[i], rows.yy[start:], rows.fine[i], rows.other_fine[start:], out)
    else:
        _sizes(rows.X, i, rows.YT, start, out)
    _finish(rows.root, rows.scale, out)


@compiled()
def fill(rows, first, last, worker, workers, mirror, out):
    """Write rows first … last of the kernel values, those of one worker; or their upper half."""
    for strip in range(first + worker * STRIP, last, workers * STRIP):
        for i in range(strip, min(strip + STRIP, last)):
            for start in range(i if mirror else 0, out.shape[1], WIDTH):
                stop = min(start + WIDTH, out.shape[1])
                chunk(rows, i, start, out[i, start:stop])


@compiled()
def copy_upper(worker, workers, out):
    """Copy the upper half of a square matrix to the lower, the blocks of one worker."""
    n = len(out)
    for row in range(worker * MIRROR, n, workers * MIRROR):
        for column in range(0, row + 1, MIRROR):
            for i in range(row, min(row + MIRROR, n)):
                for j in range(column, min(column + MIRROR, i)):
                    out[i, j] = out[j, i]


@compiled_part()
def _add_parts(weights, values, start, stops, out):
    """Add the weighted values of each part; they begin at place ``start``, parts end at stops."""
    begin, stop = start, start + len(values)
    for p in range(len(stops)):
        end = min(stops[p], stop)
        if end > begin:
            some = values[begin - start : end - start]
            for t in range(weights.shape[0]):
                out[p, t] += dot(some, weights[t, begin:])
            begin = end


@compiled()
def add_sums(rows, weights, stops, first, last, worker, workers, room, out):
    """Add Σⱼ weightsₜⱼ k(xᵢ, yⱼ), j in part p, to out[i, p, t]: rows first … last, of one worker.

    Values are computed in long runs whatever the parts: the ends of runs are slow.
    """
    m = weights.shape[1]
    for strip in range(first + worker * STRIP, last, workers * STRIP):
        for i in range(strip, min(strip + STRIP, last)):
            for start in range(0, m, WIDTH):
                values = room[worker, : min(WIDTH, m - start)]
                chunk(rows, i, start, values)
                _add_parts(weights, values, start, stops, out[i])


@compiled_part(fastmath=_PLAIN)
def add_scaled(weight, values, out):
    for i in range(len(values)):
        out[i] += weight * values[i]


@compiled()
def add_sums_across(swapped, weights, stops, first, last, worker, workers, room, sums, out):
    """Write the same sums where the yⱼ are few: ``swapped`` has them as its rows.

    Runs go along the xᵢ, so that they are long. ``sums`` has room for those of a run.
    """
    m, parts, width = weights.shape[1], len(stops), room.shape[1]
    for start in range(first + worker * width, last, workers * width):
        count = min(width, last - start)
        values, own = room[worker, :count], sums[worker, :, :, :count]
        own[:] = 0.0
        part = 0
        for j in range(m):
            while j >= stops[part]:
                part += 1
            chunk(swapped, j, start, values)
            for t in range(weights.shape[0]):
                add_scaled(weights[t, j], values, own[part, t])
        for p in range(parts):
            for t in range(weights.shape[0]):
                for i in range(count):
                    out[start + i, p, t] = own[p, t, i]
