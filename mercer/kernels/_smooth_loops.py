# mypy: ignore-errors
"""Compiled loops of kernels that are computed column by column.

X has its rows in a row, Y its columns (``YT``, d × m), so that the inner loops run over points.
"""

from __future__ import annotations

import numpy as np

from mercer._compiled import compiled, compiled_part

WAVE = 1.75  # of cos(1.75 u), the wavelet's frequency


@compiled()
def anova(X, YT, gamma, degree, out):
    """Write the elementary symmetric polynomial of exp(−γ(x − y)²) over the columns."""
    d, m = YT.shape
    sums = np.empty((degree + 1, m))  # of products of 0, 1, … columns so far
    for i in range(X.shape[0]):
        sums[1:] = 0.0
        sums[0] = 1.0
        for k in range(d):
            for j in range(m):
                t = X[i, k] - YT[k, j]
                value = np.exp(-gamma * t * t)
                for s in range(min(degree, k + 1), 0, -1):
                    sums[s, j] += value * sums[s - 1, j]
        for j in range(m):
            out[i, j] = sums[degree, j]


@compiled()
def wavelet(X, YT, gamma, out):
    """Write Π cos(1.75 u) exp(−u²/2) with u = √(2γ)(x − y)."""
    d, m = YT.shape
    scale = np.sqrt(2.0 * gamma)
    waves, squares = np.empty(m), np.empty(m)
    for i in range(X.shape[0]):
        waves[:] = 1.0
        squares[:] = 0.0
        for k in range(d):
            for j in range(m):
                u = scale * (X[i, k] - YT[k, j])
                waves[j] *= np.cos(WAVE * u)
                squares[j] += u * u
        for j in range(m):
            out[i, j] = waves[j] * np.exp(-0.5 * squares[j])


@compiled_part()
def _spline_factor(x, y):
    """Return 1 + xy + ∫(|x| − t)₊(|y| − t)₊dt if the signs agree, else 1 + xy."""
    product = x * y
    if product <= 0.0:
        return 1.0 + product
    a, b = abs(x), abs(y)
    low, high = min(a, b), max(a, b)
    return 1.0 + product + low * low * (high / 2.0 - low / 6.0)


@compiled()
def spline(X, YT, out):
    """Write the product over the columns of the kernel of linear splines."""
    d, m = YT.shape
    products = np.empty(m)
    for i in range(X.shape[0]):
        products[:] = 1.0
        for k in range(d):
            for j in range(m):
                products[j] *= _spline_factor(X[i, k], YT[k, j])
        for j in range(m):
            out[i, j] = products[j]


@compiled_part()
def _bernoulli(r, x):
    """Return Bᵣ(x)/r! for r = 1, 2, 3, 4, 6."""
    if r == 1:
        return x - 0.5
    if r == 2:
        return (x * (x - 1.0) + 1.0 / 6.0) / 2.0
    if r == 3:
        return x * (x - 0.5) * (x - 1.0) / 6.0
    square = x * (x - 1.0)
    square *= square
    if r == 4:
        return (square - 1.0 / 30.0) / 24.0
    return (square * (x * (x - 1.0) - 0.5) + 1.0 / 42.0) / 720.0


@compiled_part()
def _sobolev_factor(order, x, y):
    total = 1.0
    for r in range(1, order + 1):
        total += _bernoulli(r, x) * _bernoulli(r, y)
    rest = _bernoulli(2 * order, abs(x - y))
    return total - rest if order == 2 else total + rest


@compiled()
def sobolev(X, YT, order, out):
    """Write the product over the columns of the kernel of a Sobolev space."""
    d, m = YT.shape
    products = np.empty(m)
    for i in range(X.shape[0]):
        products[:] = 1.0
        for k in range(d):
            for j in range(m):
                products[j] *= _sobolev_factor(order, X[i, k], YT[k, j])
        for j in range(m):
            out[i, j] = products[j]
