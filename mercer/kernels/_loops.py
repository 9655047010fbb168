# mypy: ignore-errors
"""Compiled loops over tiles: squared distances, L1 distances, sparse inner products.

They see only arrays, release the GIL, and are cached on disk. ``fastmath`` allows sums to be
reordered, nothing more: NaN and infinity have been refused before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from mercer._compiled import REORDER, compiled, compiled_part, instruction

CANCELLED_SHARE = 0.05  # a squared distance below this share of ‖x‖² + ‖y‖² has lost digits
ROUND = 1.5 * 2.0**52  # added to a float64, it leaves an integer in the last bits
CHUNK = 64  # entries that are looked at together, without a branch for each


@compiled_part(fastmath=REORDER)
def dot(a, b):
    """Return Σ aₖ bₖ over the length of a, in float64; b may be longer."""
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@compiled(fastmath=REORDER)
def distances_from_inner(G, xx, yy, cancelled):
    """Turn inner products into ‖x‖² + ‖y‖² − 2x·y in place; count per row what cancelled.

    An entry below 5 % of ‖x‖² + ‖y‖² has lost digits to cancellation and must be recomputed from
    the difference: that leaves every squared distance with a relative error of about 20 ulp.
    """
    few = G.dtype.type(CANCELLED_SHARE)
    for i in range(G.shape[0]):
        count = 0
        for j in range(G.shape[1]):
            both = xx[i] + yy[j]
            d = both - (G[i, j] + G[i, j])
            G[i, j] = d
            count += d < few * both
        cancelled[i] = count


@compiled_part(fastmath=REORDER)
def _dense_distance(x, y, total):
    for k in range(len(x)):
        t = x[k] - y[k]
        total += t * t
    return total


@compiled(fastmath=REORDER)
def refine_dense(D, xx, yy, X, Y, cancelled):
    """Recompute the cancelled squared distances from the differences."""
    few = D.dtype.type(CANCELLED_SHARE)
    for i in range(D.shape[0]):
        if cancelled[i] == 0:
            continue
        for start in range(0, D.shape[1], CHUNK):
            stop = min(start + CHUNK, D.shape[1])
            count = 0
            for j in range(start, stop):  # without a branch: most chunks hold none
                count += D[i, j] < few * (xx[i] + yy[j])
            if count == 0:
                continue
            for j in range(start, stop):
                if D[i, j] < few * (xx[i] + yy[j]):
                    D[i, j] = _dense_distance(X[i], Y[j], D.dtype.type(0))


@compiled_part()
def _sparse_distance(xi, xv, yi, yv, p):
    """Return Σ|x_k − y_k|ᵖ of two sparse rows by merging their sorted indices."""
    total = xv.dtype.type(0)
    a, b = 0, 0
    while a < len(xi) or b < len(yi):
        if b == len(yi) or (a < len(xi) and xi[a] < yi[b]):
            t = xv[a]
            a += 1
        elif a == len(xi) or yi[b] < xi[a]:
            t = yv[b]
            b += 1
        else:
            t = xv[a] - yv[b]
            a += 1
            b += 1
        total += t * t if p == 2.0 else (abs(t) if p == 1.0 else abs(t) ** p)
    return total


@compiled()
def refine_sparse(D, xx, yy, xp, xi, xv, yp, yi, yv, cancelled):
    """Recompute the cancelled squared distances between CSR rows from the differences."""
    few = D.dtype.type(CANCELLED_SHARE)
    for i in range(D.shape[0]):
        if cancelled[i] == 0:
            continue
        x = slice(xp[i], xp[i + 1])
        for j in range(D.shape[1]):
            if D[i, j] < few * (xx[i] + yy[j]):
                y = slice(yp[j], yp[j + 1])
                D[i, j] = _sparse_distance(xi[x], xv[x], yi[y], yv[y], 2.0)


@compiled(fastmath=REORDER)
def l1_dense(X, YT, out):
    """Write Σ|x_k − y_k| for all pairs of dense rows; Y comes with its columns in a row."""
    for i in range(X.shape[0]):
        for j in range(YT.shape[1]):
            out[i, j] = 0
        for k in range(X.shape[1]):
            x = X[i, k]
            for j in range(YT.shape[1]):
                out[i, j] += abs(x - YT[k, j])


@compiled(fastmath=REORDER)
def lp_dense(X, YT, p, out):
    """Write Σ|x_k − y_k|ᵖ for all pairs of dense rows; Y comes with its columns in a row."""
    for i in range(X.shape[0]):
        for j in range(YT.shape[1]):
            out[i, j] = 0
        for k in range(X.shape[1]):
            x = X[i, k]
            if p == 1.5:
                for j in range(YT.shape[1]):
                    t = abs(x - YT[k, j])
                    out[i, j] += t * np.sqrt(t)
            else:
                for j in range(YT.shape[1]):
                    out[i, j] += abs(x - YT[k, j]) ** p


@compiled()
def lp_sparse(xp, xi, xv, yp, yi, yv, p, out):
    """Write Σ|x_k − y_k|ᵖ for all pairs of CSR rows."""
    for i in range(out.shape[0]):
        x = slice(xp[i], xp[i + 1])
        for j in range(out.shape[1]):
            y = slice(yp[j], yp[j + 1])
            out[i, j] = _sparse_distance(xi[x], xv[x], yi[y], yv[y], p)


@compiled_part(fastmath=REORDER)
def _signed_powers(x, column, power, out):
    """Write |x − yⱼ|^power sign(x − yⱼ), 0 where they are equal."""
    for j in range(len(column)):
        t = x - column[j]
        out[j] = 1.0 if t > 0.0 else (-1.0 if t < 0.0 else 0.0)
    if power != 0.0:
        for j in range(len(column)):
            if out[j] != 0.0:
                out[j] *= abs(x - column[j]) ** power


@compiled(fastmath=REORDER)
def add_power_slopes(X, columns, slopes, coefs, p, out):
    """Add Σⱼ slopesᵢⱼ cⱼ p |xᵢ − yⱼ|^(p−1) sign(xᵢ − yⱼ), column by column, to out (n, t, d).

    Columns are those of Y, shape (d, m), and coefs (t, m), so that all sums run along memory.
    """
    weights, signed = np.empty(coefs.shape), np.empty(columns.shape[1])
    for i in range(X.shape[0]):
        for o in range(coefs.shape[0]):
            for j in range(coefs.shape[1]):
                weights[o, j] = p * slopes[i, j] * coefs[o, j]
        for k in range(X.shape[1]):
            _signed_powers(X[i, k], columns[k], p - 1.0, signed)
            for o in range(coefs.shape[0]):
                total = 0.0
                for j in range(coefs.shape[1]):
                    total += weights[o, j] * signed[j]
                out[i, o, k] += total


@compiled_part()
def _by_columns(p, indices, values, m, n_columns):
    """Return m CSR rows by their columns: where each column starts, its rows, its values."""
    starts = np.zeros(n_columns + 1, np.int32)
    for a in range(p[0], p[m]):
        starts[indices[a] + 1] += 1
    for c in range(n_columns):
        starts[c + 1] += starts[c]
    count = p[m] - p[0]
    rows, entries, place = np.empty(count, np.int32), np.empty(count, values.dtype), starts.copy()
    for j in range(m):
        for a in range(p[j], p[j + 1]):
            k = place[indices[a]]
            rows[k], entries[k] = j, values[a]
            place[indices[a]] = k + 1
    return starts, rows, entries


@compiled()
def inner_sparse(xp, xi, xv, yp, yi, yv, n_columns, out):
    """Write x·y for all pairs of CSR rows: what is not zero in both is all that is touched.

    Each product and each sum, in the order of the columns, is rounded by itself, so that x·y is y·x
    whatever other rows there are.
    """
    m = out.shape[1]
    starts, rows, entries = _by_columns(yp, yi, yv, m, n_columns)
    for i in range(out.shape[0]):
        row = out[i]
        row[:] = 0
        for a in range(xp[i], xp[i + 1]):
            start, stop, x = starts[xi[a]], starts[xi[a] + 1], xv[a]
            if stop - start == m:
                for j in range(m):
                    row[j] += x * entries[start + j]
            else:
                for k in range(start, stop):
                    row[rows[k]] += x * entries[k]


@instruction(lambda x: np.ldexp(np.float32(1.0), int(x)))
def _power_of_two(typingctx: Any, x: Any) -> Any:
    """Return 2ˣ of an integral float32 in [−127, 127] by setting the exponent bits."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        integer = context.get_value_type(types.int32)
        biased = builder.add(builder.fptosi(args[0], integer), integer(127))
        bits = builder.shl(biased, integer(23))
        return builder.bitcast(bits, context.get_value_type(types.float32))

    return types.float32(types.float32), generate


@instruction(lambda x: np.ldexp(1.0, int(x - ROUND)))
def power_of_two_in(typingctx: Any, x: Any) -> Any:
    """Return 2ⁿ of a float64 n + ROUND, whose last bits are those of the integer n."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        integer = context.get_value_type(types.int64)
        biased = builder.add(builder.bitcast(args[0], integer), integer(1023))
        return builder.bitcast(
            builder.shl(biased, integer(52)), context.get_value_type(types.float64)
        )

    return types.float64(types.float64), generate


@compiled_part(fastmath={"contract", "nsz"}, error_model="numpy", inline="always")
def exp_in_parts(x):
    """Return p and s with exp(x) = p · `power_of_two_in` (s), by arithmetic that vectorises.

    x = n ln 2 + r with n an integer and s = n + ROUND. p = exp(r) is Taylor's polynomial, whose
    next term is below the rounding of 1. The caller keeps n in the range of exponents.
    """
    s = x * 1.4426950408889634 + ROUND
    n = s - ROUND
    r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    return p * (r * r) + r + 1.0, s


@compiled(fastmath={"contract", "nsz"}, error_model="numpy")
def scaled_exp_double(values, scale):
    """Replace float64 values v by exp(scale · v) for scale · v ≤ 0, to one unit in the last place.

    What is less than the smallest normal number is 0.
    """
    for k in range(len(values)):
        x = values[k] * scale
        x = x if x > -709.0 else -709.0
        p, s = exp_in_parts(x)
        values[k] = p * power_of_two_in(s) if x > -708.39 else 0.0


@compiled(fastmath={"contract", "nsz"}, error_model="numpy")
def scaled_exp(values, scale):
    """Replace float32 values v by exp(scale · v) for scale · v ≤ 0, to one unit in the last place.

    x = n ln 2 + r with n an integer; exp(r) is a polynomial, 2ⁿ the exponent bits. Straight
    arithmetic on all values, so that the loop vectorises: twice as fast as NumPy's.
    """
    f = np.float32
    for k in range(len(values)):
        x = values[k] * scale
        x = x if x > f(-87.0) else f(-88.0)
        n = (x * f(1.4426950408889634) + f(12582912.0)) - f(12582912.0)  # rounds to an integer
        r = (x - n * f(0.693359375)) - n * f(-2.12194440e-4)
        p = f(1.9875691500e-4)
        p = p * r + f(1.3981999507e-3)
        p = p * r + f(8.3334519073e-3)
        p = p * r + f(4.1665795894e-2)
        p = p * r + f(1.6666665459e-1)
        p = p * r + f(5.0000001201e-1)
        p = p * (r * r) + r + f(1.0)
        values[k] = p * _power_of_two(n) if x > f(-87.5) else f(0.0)
