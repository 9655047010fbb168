"""Geometry in feature space: distances, means, and the norm of functions in the RKHS."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._array import allocate, as_vector
from mercer.gram import gram
from mercer.kernels import Kernel, Linear, as_kernel
from mercer.kernels.distance import (
    feature_lengths,
    feature_squares,
    in_unit,
    row_distance,
    row_unit,
)
from mercer.kernels.names import bound_samples
from mercer.kernels.sample import Sample
from mercer.kernels.tiles import fill_tiles


def feature_distance(
    kernel: Any, X: Any, Y: Any = None, *, squared: bool = False, memory: Any = None
) -> np.ndarray:
    """Return ‖φ(x_i) − φ(y_j)‖ = √(k(x, x) + k(y, y) − 2k(x, y)), shape (n, m).

    Parameters
    ----------
    kernel : Kernel, str or callable
        The kernel; a negative squared distance (no kernel) is an error.
    X, Y : table or list of objects
        Points; ``Y=None`` means ``Y = X``.
    squared : bool, default=False
        Whether to return squared distances.

    Examples
    --------
    >>> from mercer import feature_distance
    >>> feature_distance("linear", [[0.0, 0.0]], [[3.0, 4.0]])
    array([[5.]])
    """
    kernel, left, right = bound_samples(kernel, X, Y)
    distance = row_distance(kernel)
    if distance is not None:
        return _by_rows(kernel, distance, left, right, squared, memory)
    K = gram(kernel, left, right, storage="blocked", dtype=np.float64).toarray(memory)
    dx, dy = (kernel.diagonal_of(sample, np.dtype(np.float64)) for sample in (left, right))
    scale = max(dx.max(initial=0.0), dy.max(initial=0.0))
    D = np.multiply(K, -2.0, out=K)
    D += dx[:, None]
    D += dy
    if D.min(initial=0.0) < -1e-6 * max(scale, np.finfo(D.dtype).tiny):
        raise ValueError(
            f"k(x, x) + k(y, y) − 2k(x, y) is negative ({D.min():.3g}): {kernel!r} is not a "
            f"positive semidefinite kernel; see check_kernel"
        )
    np.maximum(D, 0.0, out=D)
    if left is right:
        np.fill_diagonal(D, 0.0)
    return D if squared else np.sqrt(D, out=D)


def _by_rows(
    kernel: Kernel, distance: Kernel, X: Sample, Y: Sample, squared: bool, memory: Any
) -> np.ndarray:
    """Return distances in feature space from those between rows, which do not cancel."""
    unit = row_unit(distance, X, Y)
    left = in_unit(X, unit)
    right = left if X is Y else in_unit(Y, unit)
    D = allocate((len(X), len(Y)), np.float64, memory)
    fill_tiles(distance, left, right, D)
    return (feature_squares if squared else feature_lengths)(kernel, D, unit)


def mean_distance(
    kernel: Any, X: Any, Y: Any = None, *, weights: Any = None, squared: bool = False
) -> np.ndarray:
    """Return ‖φ(x_i) − Σⱼ αⱼ φ(y_j)‖, the distance to the mean of Y in feature space.

    Parameters
    ----------
    kernel : Kernel, str or callable
        The kernel.
    X, Y : table or list of objects
        Points, and the points of the mean; ``Y=None`` means ``Y = X``.
    weights : array of shape (m,), default=None
        α with Σα = 1; None means 1/m each.

    Examples
    --------
    >>> from mercer import mean_distance
    >>> mean_distance("linear", [[3.0]], [[0.0], [2.0]])
    array([2.])
    """
    kernel, left, right = bound_samples(kernel, X, Y)
    if isinstance(kernel, Linear) and not (left.is_sparse or right.is_sparse):
        X, Y = _near_zero(left, right)
    reference = gram(kernel, X if Y is None else Y, dtype=np.float64)
    centered = reference.centered(weights)
    if Y is not None:
        new = gram(kernel.bind(Y), X, Y, storage="blocked", dtype=np.float64)
        centered = new.centered(reference=centered)
        own = new.row_means(centered.centering.weights)
        D = new.diagonal() - 2.0 * own + centered.centering.total
    else:
        D = centered.diagonal()
    np.maximum(D, 0.0, out=D)
    return D if squared else np.sqrt(D)


def _near_zero(X: Sample, Y: Sample) -> tuple[np.ndarray, np.ndarray | None]:
    """Return rows minus the mean of Y: distances stay, and inner products no longer cancel."""
    center = Y.data.mean(axis=0, dtype=np.float64)
    return X.data - center, None if X is Y else Y.data - center


def rkhs_inner(kernel: Any, X: Any, a: Any, Y: Any, b: Any) -> float:
    """Return ⟨f, g⟩ = aᵀ k(X, Y) b of f = Σᵢ aᵢ k(x_i, ·) and g = Σⱼ bⱼ k(y_j, ·).

    With ``b = [1]`` and one point y this is f(y): the reproducing property.

    Examples
    --------
    >>> from mercer import rkhs_inner
    >>> rkhs_inner("linear", [[1.0], [2.0]], [1.0, 1.0], [[2.0]], [1.0])
    6.0
    """
    kernel = as_kernel(kernel)
    K = gram(kernel, X, Y, storage="blocked", dtype=np.float64)
    a, b = as_vector(a, K.shape[0], "a"), as_vector(b, K.shape[1], "b")
    return float(a @ (K @ b))


def rkhs_norm(kernel: Any, X: Any, a: Any, *, squared: bool = False) -> float:
    """Return ‖Σᵢ aᵢ k(x_i, ·)‖ = √(aᵀKa).

    Examples
    --------
    >>> from mercer import rkhs_norm
    >>> rkhs_norm("linear", [[3.0, 4.0]], [2.0])
    10.0
    """
    K = gram(kernel, X, storage="blocked", dtype=np.float64)
    a = as_vector(a, K.shape[0], "a")
    square = float(a @ (K @ a))
    if square < -1e-8 * float(np.abs(a) @ np.abs(a)) * max(float(np.abs(K.diagonal()).max()), 1.0):
        raise ValueError(f"aᵀKa = {square:.3g} < 0: {kernel!r} is not a kernel; see check_kernel")
    return max(square, 0.0) if squared else float(np.sqrt(max(square, 0.0)))
