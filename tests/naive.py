"""Slow, obvious truths: the formulas as they stand on paper, with Python loops over numbers.

`value(kernel, x, y)` is k(x, y) of two points. A kernel of one's own on vectors needs nothing
here: its statistic is computed by loops and its epilogue is trusted. Registering its formula makes
the epilogue checked too.
"""

from __future__ import annotations

import math
from functools import singledispatch
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from mercer import kernels as mk


# ---------------------------------------------------------------- statistics of two rows
def inner(x: Any, y: Any) -> float:
    return math.fsum(a * b for a, b in zip(x, y, strict=True))


def squared_distance(x: Any, y: Any) -> float:
    return math.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True))


def l1(x: Any, y: Any) -> float:
    return math.fsum(abs(a - b) for a, b in zip(x, y, strict=True))


STATISTICS = {"inner": inner, "squared_distance": squared_distance, "l1": l1}


# ---------------------------------------------------------------- kernels, by their formulas
@singledispatch
def value(kernel: mk.Kernel, x: Any, y: Any) -> float:
    """Return k(x, y)."""
    raise TypeError(f"say in tests/naive.py what {type(kernel).__name__} is: register its formula")


@value.register
def _(kernel: mk.VectorKernel, x: Any, y: Any) -> float:
    values = np.array([STATISTICS[kernel.statistic](x, y)])
    kernel.epilogue(values)
    return float(values[0])


@value.register
def _(kernel: mk.Linear, x: Any, y: Any) -> float:
    return inner(x, y) + kernel.bias


@value.register
def _(kernel: mk.Polynomial, x: Any, y: Any) -> float:
    return (kernel.scale * inner(x, y) + kernel.bias) ** kernel.degree


@value.register
def _(kernel: mk.Sigmoid, x: Any, y: Any) -> float:
    return math.tanh(kernel.scale * inner(x, y) + kernel.bias)


@value.register
def _(kernel: mk.Cosine, x: Any, y: Any) -> float:
    length = math.sqrt(inner(x, x)) * math.sqrt(inner(y, y))
    return inner(x, y) / length if length > 0 else 0.0


@value.register
def _(kernel: mk.RBF, x: Any, y: Any) -> float:
    return math.exp(-kernel.gamma * squared_distance(x, y))


@value.register
def _(kernel: mk.Exponential, x: Any, y: Any) -> float:
    total = math.fsum(abs(a - b) ** kernel.p for a, b in zip(x, y, strict=True))
    return math.exp(-((kernel.gamma * total ** (1.0 / kernel.p)) ** kernel.exponent))


@value.register
def _(kernel: mk.Matern, x: Any, y: Any) -> float:
    r = math.sqrt(2.0 * kernel.nu) * kernel.gamma * math.sqrt(squared_distance(x, y))
    polynomial = {0.5: 1.0, 1.5: 1.0 + r, 2.5: 1.0 + r + r * r / 3.0}[kernel.nu]
    return polynomial * math.exp(-r)


@value.register
def _(kernel: mk.Laplacian, x: Any, y: Any) -> float:
    return math.exp(-kernel.gamma * l1(x, y))


@value.register
def _(kernel: mk.RationalQuadratic, x: Any, y: Any) -> float:
    return (1 + kernel.gamma * squared_distance(x, y) / kernel.alpha) ** -kernel.alpha


@value.register
def _(kernel: mk.Periodic, x: Any, y: Any) -> float:
    waves = [math.sin(math.pi * (a - b) / kernel.period) ** 2 for a, b in zip(x, y, strict=True)]
    return math.exp(-kernel.gamma * math.fsum(waves))


@value.register
def _(kernel: mk.Anova, x: Any, y: Any) -> float:
    alike = [math.exp(-kernel.gamma * (a - b) ** 2) for a, b in zip(x, y, strict=True)]
    return math.fsum(math.prod(chosen) for chosen in combinations(alike, kernel.degree))


@value.register
def _(kernel: mk.Wavelet, x: Any, y: Any) -> float:
    units = [math.sqrt(2 * kernel.gamma) * (a - b) for a, b in zip(x, y, strict=True)]
    return math.prod(math.cos(1.75 * u) * math.exp(-u * u / 2) for u in units)


@value.register
def _(kernel: mk.Spline, x: Any, y: Any) -> float:
    return math.prod(_spline(a, b) for a, b in zip(x, y, strict=True))


def _spline(a: float, b: float) -> float:
    if a < 0 and b < 0:
        a, b = -a, -b
    m = max(min(a, b), 0.0)
    return 1 + a * b + a * b * m - (a + b) / 2 * m**2 + m**3 / 3


@value.register
def _(kernel: mk.Constant, x: Any, y: Any) -> float:
    return float(kernel.value)


@value.register
def _(kernel: mk.Sum, x: Any, y: Any) -> float:
    return value(kernel.left, x, y) + value(kernel.right, x, y)


@value.register
def _(kernel: mk.Product, x: Any, y: Any) -> float:
    return value(kernel.left, x, y) * value(kernel.right, x, y)


@value.register
def _(kernel: mk.Power, x: Any, y: Any) -> float:
    return value(kernel.kernel, x, y) ** kernel.exponent


@value.register
def _(kernel: mk.Exp, x: Any, y: Any) -> float:
    return math.exp(value(kernel.kernel, x, y))


@value.register
def _(kernel: mk.PowerSeries, x: Any, y: Any) -> float:
    k = value(kernel.kernel, x, y)
    return math.fsum(c * k**i for i, c in enumerate(kernel.coefs))


@value.register
def _(kernel: mk.Normalized, x: Any, y: Any) -> float:
    length = math.sqrt(value(kernel.kernel, x, x)) * math.sqrt(value(kernel.kernel, y, y))
    return value(kernel.kernel, x, y) / length if length > 0 else 0.0


@value.register
def _(kernel: mk.FromFunction, x: Any, y: Any) -> float:
    return float(kernel.function(x, y))


@value.register
def _(kernel: mk.FromFeatureMap, x: Any, y: Any) -> float:
    return inner(np.ravel(kernel.phi(x)).tolist(), np.ravel(kernel.phi(y)).tolist())


@value.register
def _(kernel: mk.Spectrum, x: Any, y: Any) -> float:
    return float(sum(a == b for a in pieces(x, kernel.length) for b in pieces(y, kernel.length)))


@value.register
def _(kernel: mk.Substring, x: Any, y: Any) -> float:
    lengths = range(1, min(len(x), len(y)) + 1)
    return math.fsum(kernel.weights**n * value(mk.Spectrum(n), x, y) for n in lengths)


@value.register
def _(kernel: mk.WeightedDegree, x: Any, y: Any) -> float:
    D, total = kernel.degree, 0.0
    for d in range(1, D + 1):
        beta = 2.0 * (D - d + 1) / (D * (D + 1))
        for i, a in enumerate(pieces(x, d)):
            for j, b in enumerate(pieces(y, d)):
                if a == b and abs(i - j) <= kernel.shift:
                    total += beta * (0.5 / (abs(i - j) + 1) if i != j else 1.0)
    return total


@value.register
def _(kernel: mk.Subsequence, x: Any, y: Any) -> float:
    total = 0.0
    for i in combinations(range(len(x)), kernel.length):
        for j in combinations(range(len(y)), kernel.length):
            if all(x[a] == y[b] for a, b in zip(i, j, strict=True)):
                total += kernel.decay ** (i[-1] - i[0] + j[-1] - j[0] + 2)
    return total


def pieces(x: str, length: int) -> list[str]:
    return [x[i : i + length] for i in range(len(x) - length + 1)]


def points(X: Any) -> list[Any]:
    """Return the rows as lists of Python floats (words stay words)."""
    rows = X.toarray() if sp.issparse(X) else X
    return [row if isinstance(row, str) else [float(a) for a in row] for row in rows]


def matrix(kernel: mk.Kernel, X: Any, Y: Any = None) -> np.ndarray:
    """Return k(x_i, y_j) by two loops."""
    kernel = kernel.bind(X if Y is None else Y)
    right = points(X if Y is None else Y)
    return np.array([[value(kernel, x, y) for y in right] for x in points(X)])


def diagonal(kernel: mk.Kernel, X: Any) -> np.ndarray:
    """Return k(x_i, x_i) by a loop."""
    kernel = kernel.bind(X)
    return np.array([value(kernel, x, x) for x in points(X)])


# ---------------------------------------------------------------- feature space, by sums
def centered(K: np.ndarray, weights: Any = None) -> np.ndarray:
    """Return H K Hᵀ with the matrix H = I − 1αᵀ formed."""
    n = len(K)
    alpha = np.full(n, 1.0 / n) if weights is None else np.asarray(weights)
    H = np.eye(n) - np.outer(np.ones(n), alpha)
    return H @ K @ H.T


def centered_new(K_new: np.ndarray, K: np.ndarray, weights: Any = None) -> np.ndarray:
    """Return ⟨φ(x) − m, φ(x_j) − m⟩ with m = Σᵢ αᵢ φ(x_i), term by term.

    Multiplying out gives the last term a plus; it is often printed with a minus.
    """
    m, n = K_new.shape
    alpha = [1.0 / n] * n if weights is None else list(weights)
    out = np.empty((m, n))
    for p in range(m):
        for j in range(n):
            own = math.fsum(alpha[i] * K_new[p, i] for i in range(n))
            other = math.fsum(alpha[i] * K[i, j] for i in range(n))
            total = math.fsum(alpha[i] * alpha[q] * K[i, q] for i in range(n) for q in range(n))
            out[p, j] = K_new[p, j] - own - other + total
    return out


def rkhs_inner(kernel: mk.Kernel, X: Any, a: Any, Y: Any, b: Any) -> float:
    """Return Σᵢⱼ aᵢ bⱼ k(x_i, y_j)."""
    kernel = kernel.bind(Y)
    terms = [
        ai * bj * value(kernel, x, y)
        for ai, x in zip(a, points(X), strict=True)
        for bj, y in zip(b, points(Y), strict=True)
    ]
    return math.fsum(terms)


# ---------------------------------------------------------------- margin problems, by a generic QP
def margin_solution(K: np.ndarray, problem: Any, total: float = 0.0) -> tuple[np.ndarray, float]:
    """Minimise ½ βᵀKβ − zᵀβ + ε‖β‖₁, lo ≤ β ≤ hi, Σβ = total; return β and the least value.

    β = p − q with p, q ≥ 0, handed to sequential quadratic programming, which knows no kernels.
    """
    z, lo, hi, eps = problem[:4]
    n = len(z)

    def split(pq: np.ndarray) -> np.ndarray:
        return pq[:n] - pq[n:]

    def objective(pq: np.ndarray) -> float:
        beta = split(pq)
        return float(0.5 * beta @ K @ beta - z @ beta + eps * pq.sum())

    def gradient(pq: np.ndarray) -> np.ndarray:
        slope = K @ split(pq) - z
        return np.concatenate([slope + eps, eps - slope])

    sums = {
        "type": "eq",
        "fun": lambda pq: split(pq).sum() - total,
        "jac": lambda pq: np.repeat([1.0, -1.0], n),
    }
    limits = [(0.0, max(h, 0.0)) for h in hi] + [(0.0, max(-v, 0.0)) for v in lo]
    start = np.concatenate([np.full(n, total / n), np.zeros(n)])
    found = minimize(
        objective,
        start,
        jac=gradient,
        bounds=limits,
        constraints=sums,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    return split(found.x), float(found.fun)


def margin_primal(K: np.ndarray, problem: Any, beta: np.ndarray, b: float) -> float:
    """Return ½‖f‖² + Σ bound · slack of f = Kβ + b, point by point."""
    z, lo, hi, eps = problem[:4]
    f = K @ beta + b
    losses = [
        max(0.0, hi[i] * (z[i] - f[i] - eps), lo[i] * (z[i] - f[i] + eps)) for i in range(len(z))
    ]
    return float(0.5 * beta @ K @ beta) + math.fsum(losses)


# ---------------------------------------------------------------- unmixing, by what is left mixed
def amari_index(W: np.ndarray, A: np.ndarray) -> float:
    """Return how far W A is from a scaled permutation: 0 if sources are recovered, 1 at worst."""
    P = np.abs(W @ A)
    k = len(P)
    rows = math.fsum(P[i, j] / P[i].max() for i in range(k) for j in range(k))
    columns = math.fsum(P[i, j] / P[:, j].max() for i in range(k) for j in range(k))
    return (rows + columns - 2 * k) / (2 * k * (k - 1))
