"""Functions to minimise, with gradients, Hessians and known minima."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

RNG = np.random.default_rng(7)


class Case(NamedTuple):
    """A smooth function, a start, and where its minimum is (None: only stationarity is known)."""

    f: Any
    grad: Any
    hess: Any
    x0: np.ndarray
    best: np.ndarray | None


def quadratic(d: int = 4, condition: float = 30.0) -> Case:
    """½xᵀQx − bᵀx with eigenvalues from 1 to ``condition``."""
    basis = np.linalg.qr(RNG.standard_normal((d, d)))[0]
    Q = (basis * np.geomspace(1.0, condition, d)) @ basis.T
    b = RNG.standard_normal(d)
    return Case(
        lambda x: 0.5 * x @ Q @ x - b @ x,
        lambda x: Q @ x - b,
        lambda x: Q,
        RNG.standard_normal(d),
        np.linalg.solve(Q, b),
    )


def logistic(n: int = 60, d: int = 3) -> Case:
    """The regularised negative log-likelihood of logistic regression."""
    X, y = RNG.standard_normal((n, d)), RNG.choice([-1.0, 1.0], n)
    Z = X * y[:, None]

    def weight(x):
        return 1.0 / (1.0 + np.exp(Z @ x))

    return Case(
        lambda x: np.logaddexp(0.0, -Z @ x).sum() + 0.5 * x @ x,
        lambda x: x - Z.T @ weight(x),
        lambda x: np.eye(d) + (Z.T * (weight(x) * (1 - weight(x)))) @ Z,
        np.zeros(d),
        None,
    )


def barrier() -> Case:
    """x₀ + x₁ − log x₀ − log x₁: not a number where x ≤ 0, least at (1, 1)."""
    return Case(
        lambda x: x.sum() - np.log(x).sum(),
        lambda x: 1.0 - 1.0 / x,
        lambda x: np.diag(1.0 / x**2),
        np.array([5.0, 0.01]),
        np.ones(2),
    )


def valley() -> Case:
    """Rosenbrock's valley, not so deep: (1 − x)² + 20(y − x²)², least at (1, 1)."""
    return Case(
        lambda x: (1 - x[0]) ** 2 + 20 * (x[1] - x[0] ** 2) ** 2,
        lambda x: np.array(
            [2 * (x[0] - 1) - 80 * x[0] * (x[1] - x[0] ** 2), 40 * (x[1] - x[0] ** 2)]
        ),
        lambda x: np.array([[2 - 80 * x[1] + 240 * x[0] ** 2, -80 * x[0]], [-80 * x[0], 40.0]]),
        np.array([-1.0, 1.5]),
        np.ones(2),
    )


CASES = {
    "quadratic": quadratic(),
    "logistic": logistic(),
    "barrier": barrier(),
    "rosenbrock": valley(),
}
