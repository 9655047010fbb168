"""The kernel values of a sample as an image, its rows in the order of their classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.kernels import Kernel, as_kernel
from mercer.plot._axes import (
    DIVERGING,
    INK,
    SURFACE,
    axes_for,
    bare,
    colour_bar,
    name_of,
    tilt,
)
from mercer.plot._display import Display, check_model, last_step, seen_by_last_step
from mercer.plot.records import are_labels, column

ROUNDING = 1e-9  # of the largest eigenvalue: what is less than 0 by more is no rounding
MOST_CLASSES = 20  # more are not written at the axis


@dataclass(eq=False, repr=False)
class GramDisplay(Display):
    """The Gram matrix K_ij = k(x_i, x_j) as an image, rows sorted by class.

    A kernel that suits the classes shows bright blocks along the diagonal. Of many rows a random
    sample is drawn, and the title says so, as it does if the matrix has negative eigenvalues.

    Parameters
    ----------
    K : array of shape (m, m)
        The kernel values, in the order in which they are drawn.
    labels : array of shape (m,), default=None
        The classes of the rows, in the same order; rows of one class stand together.
    n_rows : int, default=None
        How many rows there were, if K is of a sample of them.
    what : str, default="row"
        What the axes show if there are no classes.

    Attributes
    ----------
    eigenvalue_range_ : tuple of float
        The smallest and the largest eigenvalue of K.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.kernels import RBF
    >>> from mercer.plot import GramDisplay
    >>> iris = load_iris()
    >>> names = iris.target_names[iris.target]
    >>> display = GramDisplay.from_kernel(RBF(gamma=0.5), iris.data, names)  # doctest: +SKIP
    """

    K: np.ndarray
    labels: np.ndarray | None = None
    n_rows: int | None = None
    what: str = "row"

    def __post_init__(self) -> None:
        if self.K.ndim != 2 or self.K.shape[0] != self.K.shape[1] or not len(self.K):
            raise ValueError(f"K must be a square matrix; got shape {self.K.shape}")
        values = np.linalg.eigvalsh((self.K + self.K.T) / 2)
        self.eigenvalue_range_ = float(values[0]), float(values[-1])

    @classmethod
    def from_kernel(
        cls,
        kernel: Any,
        X: Any,
        y: Any = None,
        *,
        max_rows: int = 500,
        random_state: int | None = 0,
        ax: Any = None,
    ) -> Self:
        """Compute a kernel on rows, and draw.

        Parameters
        ----------
        kernel : Kernel, str or callable
            The kernel; "precomputed" if X is the matrix.
        X : array, sparse matrix, frame, or list of objects
            The rows.
        y : array of shape (n,), default=None
            Classes, or values by which the rows are sorted.
        max_rows : int, default=500
            Of more rows a random sample of this size is drawn.
        random_state : int or None, default=0
            Decides the sample.
        """
        kernel = as_kernel(kernel)
        sample = kernel.sample(X)
        order = _order(len(sample), y, max_rows, random_state)
        bound = kernel.bind(sample)  # to all rows: the sample must not change the kernel
        K = bound.block_of(sample[order], sample[order]).astype(np.float64)
        target = None if y is None else column(y, "y", len(sample))[order]
        is_class = target is not None and are_labels(target)
        what = "row" if target is None else "row, in the order of y"
        return cls(K, target if is_class else None, len(sample), what).plot(ax)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any = None, **options: Any) -> Self:
        """Compute the kernel of a fitted model on rows, and draw.

        Parameters
        ----------
        model : fitted estimator with ``kernel_``
            A kernel machine, or a pipeline or search that ends in one: then its kernel is computed
            on the rows as the steps before hand them on.
        X, y : array, array
            As in ``from_kernel``.
        **options
            ``max_rows``, ``random_state`` and ``ax``, as in ``from_kernel``.
        """
        check_model(model, "fit", "kernel machine")
        kernel = getattr(last_step(model), "kernel_", None)
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"model must have a kernel (kernel_); {type(last_step(model)).__name__} has none: "
                f"use GramDisplay.from_kernel(kernel, X)"
            )
        return cls.from_kernel(kernel, seen_by_last_step(model, X), y, **options)

    def _draw(self, ax: Any) -> Any:
        ax = axes_for(ax, width=4.8)
        # not forced to be square: names beside a square would be cut off in a narrow figure
        image = ax.imshow(self.K, **_colors(self.K), interpolation="nearest", aspect="auto")
        colour_bar(ax, image, "k(x, y)")
        ax.set_title(self._title(), color=INK, fontsize="small")
        bare(ax, self.what if self.labels is None else "", length=2)
        if self.labels is not None:
            _draw_classes(ax, [str(label) for label in self.labels.tolist()])
        return ax

    def _title(self) -> str:
        n, (low, high) = len(self.K), self.eigenvalue_range_
        parts = [f"{n} rows" if self.n_rows in (None, n) else f"{n} of {self.n_rows} rows"]
        if low < -ROUNDING * max(high, -low):
            parts.append(f"indefinite: eigenvalues from {low:.3g} to {high:.3g}".replace("-", "−"))
        return "\n".join(parts)


def _order(n: int, y: Any, max_rows: int, random_state: int | None) -> np.ndarray:
    """Return which rows are drawn, in the order of their classes or values."""
    if not isinstance(max_rows, (int, np.integer)) or max_rows < 1:
        raise ValueError(f"max_rows must be an integer ≥ 1; got {max_rows!r}")
    chosen = np.arange(n)
    if n > max_rows:
        rng = np.random.default_rng(random_state)
        chosen = np.sort(rng.choice(n, int(max_rows), replace=False))
    if y is None:
        return chosen
    target = column(y, "y", n)[chosen]
    if target.dtype == object:
        target = target.astype(str)
    return chosen[np.argsort(target, kind="stable")]


def _colors(K: np.ndarray) -> dict[str, Any]:
    """Return a map that is even on both sides of 0 if there are values on both sides."""
    low, high = float(K.min()), float(K.max())
    if low < 0:
        limit = max(-low, high)
        return {"cmap": DIVERGING, "vmin": -limit, "vmax": limit}
    return {"cmap": SURFACE, "vmin": min(low, 0.0), "vmax": high if high > 0 else 1.0}


def _draw_classes(ax: Any, labels: list[str]) -> None:
    """Draw where one class ends and the next begins, and name them in their middles."""
    starts = [i for i, text in enumerate(labels) if i == 0 or text != labels[i - 1]]
    for border in starts[1:]:
        for line in (ax.axhline, ax.axvline):
            line(border - 0.5, color="white", linewidth=1.2)
    if len(starts) > MOST_CLASSES:
        return
    middles = (np.array(starts) + np.array([*starts[1:], len(labels)])) / 2 - 0.5
    texts = [name_of(labels[i]) for i in starts]
    ax.set_yticks(middles, texts)
    ax.set_xticks(middles, texts)
    ax.tick_params(length=0)
    tilt(ax, texts)
