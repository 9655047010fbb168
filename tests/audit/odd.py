"""Odd data: every table is a name and a function of a random generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

N, D = 24, 3


class Table(NamedTuple):
    """Rows, numbers, labels and weights."""

    X: np.ndarray
    y: np.ndarray
    labels: np.ndarray
    weight: np.ndarray


Generator = np.random.Generator


def plain(rng: Generator, n: int = N, d: int = D, k: int = 2) -> Table:
    """Rows of size one, a smooth target with noise, k classes that overlap."""
    X = rng.normal(size=(n, d))
    y = X[:, 0] + np.sin(2.0 * X[:, -1]) + 0.3 * rng.normal(size=n)
    # every class occurs, whatever the draw
    cuts = np.quantile(y, np.arange(1, k) / k)
    return Table(X, y, np.searchsorted(cuts, y), np.ones(n))


def _rows(change: Callable[[np.ndarray], Any], **size: int) -> Callable[[Generator], Table]:
    """Return plain tables with changed rows."""

    def make(rng: Generator) -> Table:
        table = plain(rng, **size)
        return table._replace(X=np.asarray(change(table.X)))

    return make


def _targets(change: Callable[[np.ndarray], Any]) -> Callable[[Generator], Table]:
    def make(rng: Generator) -> Table:
        table = plain(rng)
        return table._replace(y=np.asarray(change(table.y)))

    return make


def _zero_weights(rng: Generator) -> Table:
    table = plain(rng, k=3)
    weight = rng.uniform(0.5, 2.0, N) * (rng.random(N) < 0.6)
    weight[:6] = 1.0
    first = [np.flatnonzero(table.labels == c)[:2] for c in range(3)]
    weight[np.concatenate(first)] = 1.0
    # rows that do not count are far away: whoever looks at them sees it
    return table._replace(X=np.where(weight[:, None] > 0, table.X, 1e3 * table.X), weight=weight)


def _tiny_weights(rng: Generator) -> Table:
    return plain(rng)._replace(weight=10.0 ** rng.uniform(-12.0, 4.0, N))


def _duplicates(rng: Generator) -> Table:
    table = plain(rng, N // 4)
    X, y = np.vstack([table.X] * 4), np.tile(table.y, 4)
    labels = rng.integers(0, 2, len(y))
    labels[:2] = 0, 1
    return Table(X, y, labels, np.ones(len(y)))


def _coin(rng: Generator) -> Table:
    """One column of 0 and 1, labels that have nothing to do with it."""
    X = rng.integers(0, 2, (20, 1)).astype(float)
    labels = np.concatenate([[0, 1], rng.integers(0, 2, 18)])
    return Table(X, rng.normal(size=20), labels, np.ones(20))


def _constant_columns(X: np.ndarray) -> np.ndarray:
    return np.hstack([X[:, :2], np.full((len(X), 1), 7.0), np.zeros((len(X), 1))])


def _subnormal(X: np.ndarray) -> np.ndarray:
    return X * 1e-310


def _some_subnormal(X: np.ndarray) -> np.ndarray:
    return X * np.array([1.0, 1e-310, 1.0])


ODD: dict[str, Callable[[Generator], Table]] = {
    "plain": plain,
    "three classes": lambda rng: plain(rng, k=3),
    "float32": _rows(lambda X: X.astype(np.float32)),
    "float32 around 1e4": _rows(lambda X: (1e4 + X).astype(np.float32)),
    "offset 1e8": _rows(lambda X: 1e8 + X),
    "offset 1e12": _rows(lambda X: 1e12 + X),
    "one column far off": _rows(lambda X: X + np.array([1e8, 0.0, 0.0])),
    "scale 1e-150": _rows(lambda X: 1e-150 * X),
    "scale 1e-20": _rows(lambda X: 1e-20 * X),
    "scale 1e7": _rows(lambda X: 1e7 * X),
    "scale 1e20": _rows(lambda X: 1e20 * X),
    "scale 1e150": _rows(lambda X: 1e150 * X),
    "scale 1e-162": _rows(lambda X: 1e-162 * X),
    "columns of all scales": _rows(lambda X: X * np.array([1e-30, 1.0, 1e30])),
    "subnormal": _rows(_subnormal),
    "one subnormal column": _rows(_some_subnormal),
    "duplicates": _duplicates,
    "a coin": _coin,
    "all rows equal": _rows(np.ones_like),
    "weights of zero": _zero_weights,
    "weights of all sizes": _tiny_weights,
    "one feature": _rows(lambda X: X, d=1),
    "n = 2": _rows(lambda X: X, n=2),
    "n = 3": _rows(lambda X: X, n=3),
    "constant columns": _rows(_constant_columns),
    "wide": _rows(lambda X: X, n=8, d=20),
    "whole numbers": _rows(np.round),
    "y around 1e8": _targets(lambda y: 1e8 + y),
    "y of 1e-150": _targets(lambda y: 1e-150 * y),
    "y of 1e150": _targets(lambda y: 1e150 * y),
    "y constant": _targets(np.ones_like),
    "y of a few values": _targets(np.round),
}
