"""Projections: how much each component holds, and where the rows lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mercer.plot._axes import (
    BLUE,
    INK,
    MARKERS,
    ORANGE,
    PALETTE,
    SURFACE,
    axes_for,
    clean,
    legend,
    name_of,
)
from mercer.plot._display import Display, check_model, documented, last_step
from mercer.plot.records import are_labels

MOST_LABELS = len(PALETTE) * len(MARKERS)  # pairs of a colour and a marker
MOST_BARS = 40  # of a scree plot; more are drawn as a line


def component_name(model: Any, i: int) -> str:
    """Return the name of a component, with its share of the variance if that is known."""
    shares = getattr(model, "explained_variance_ratio_", None)
    share = f" ({shares[i]:.1%})" if shares is not None and i < len(shares) else ""
    return f"component {i + 1}{share}"


# ---------------------------------------------------------------- components
@documented
def scree(model: Any, *, ax: Any = None) -> Any:
    """Draw the share of the variance of each component, and their sum.

    Of a model that has eigenvalues but no shares (such as scaling of distances that are not
    Euclidean) the eigenvalues are drawn, the negative ones in another colour.

    Parameters
    ----------
    model : fitted estimator
        As for `ScreeDisplay.from_estimator`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import PCA, plot
    >>> ax = plot.scree(PCA().fit(load_iris().data))  # doctest: +SKIP
    """
    return ScreeDisplay.from_estimator(model, ax=ax).ax_


@dataclass(eq=False, repr=False)
class ScreeDisplay(Display):
    """The share of the variance of each component and their sum, or the eigenvalues.

    Parameters
    ----------
    values : array of shape (k,)
        Shares of the variance, or eigenvalues.
    are_shares : bool, default=True
        Which of the two; shares are drawn with their sums.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import PCA
    >>> from mercer.plot import ScreeDisplay
    >>> model = PCA().fit(load_iris().data)
    >>> display = ScreeDisplay.from_estimator(model)  # doctest: +SKIP
    """

    values: np.ndarray
    are_shares: bool = True

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Read a fitted model, and draw.

        Parameters
        ----------
        model : fitted estimator
            `PCA`, `KernelPCA`, or anything else with ``explained_variance_ratio_`` or
            ``eigenvalues_``; also a pipeline that ends in one.
        """
        model = last_step(model)
        shares = getattr(model, "explained_variance_ratio_", None)
        values = getattr(model, "eigenvalues_", None) if shares is None else shares
        if values is None:
            raise TypeError(
                "model must be fitted and have explained_variance_ratio_ or eigenvalues_; got "
                f"{type(model).__name__}"
            )
        return cls(np.asarray(values, dtype=np.float64), shares is not None).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax, values = axes_for(ax), np.asarray(self.values, dtype=np.float64)
        _draw_bars(ax, values, "each" if self.are_shares else None)
        if self.are_shares:
            _draw_sums(ax, np.cumsum(values))
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlim(0.3, len(values) + 0.7)
        what = "share of the variance" if self.are_shares else "eigenvalue"
        return clean(ax, x="component", y=what)


def _draw_sums(ax: Any, sums: np.ndarray) -> None:
    from matplotlib.ticker import PercentFormatter

    marker = {"marker": "o" if len(sums) <= MOST_BARS else "", "markersize": 4}
    position = np.arange(1, len(sums) + 1)
    ax.plot(position, sums, color=ORANGE, linewidth=1.8, label="together", **marker)
    ax.set_ylim(0.0, 1.05)
    ax.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    legend(ax, loc="center right")


def _draw_bars(ax: Any, values: np.ndarray, label: str | None) -> None:
    colors = np.where(values < 0, ORANGE, BLUE)
    width = 0.7 if len(values) <= MOST_BARS else 1.0
    ax.bar(np.arange(1, len(values) + 1), values, width=width, color=colors, label=label)
    if (values < 0).any():
        ax.axhline(0.0, color=INK, linewidth=0.8)


# ---------------------------------------------------------------- rows
@documented
def embedding(
    Z: Any,
    X: Any = None,
    color: Any = None,
    *,
    components: tuple[int, int] = (0, 1),
    ax: Any = None,
) -> Any:
    """Draw rows by two of their coordinates, coloured by label or by value.

    Labels (texts, booleans, up to twelve integers) have a colour and a marker each and a legend,
    values a colour bar.

    Parameters
    ----------
    Z : array of shape (n, k) or fitted model
        Coordinates; or a model whose ``transform(X)`` they are, or its ``embedding_`` if there is
        no X.
    X : array of shape (n, d), default=None
        The rows, if Z is a model.
    color : array of shape (n,), default=None
        Labels or values.
    components : pair of int, default=(0, 1)
        Which coordinates.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import PCA, plot
    >>> iris = load_iris()
    >>> labels = iris.target_names[iris.target]
    >>> ax = plot.embedding(PCA(2).fit(iris.data), iris.data, labels)  # doctest: +SKIP
    """
    return EmbeddingDisplay._of(Z, X, color, components, Z).plot(ax).ax_


@dataclass(eq=False, repr=False)
class EmbeddingDisplay(Display):
    """Rows by two coordinates, coloured by label or by value.

    Parameters
    ----------
    points : array of shape (n, 2)
        The coordinates.
    color : array of shape (n,), default=None
        Labels (texts, booleans, up to twelve integers: a legend) or values (a colour bar).
    labels : pair of str
        The names of the axes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelPCA
    >>> from mercer.plot import EmbeddingDisplay
    >>> iris = load_iris()
    >>> model = KernelPCA(2, kernel="rbf").fit(iris.data)
    >>> names = iris.target_names[iris.target]
    >>> display = EmbeddingDisplay.from_estimator(model, iris.data, names)  # doctest: +SKIP
    """

    points: np.ndarray
    color: Any = None
    labels: tuple[str, str] = ("component 1", "component 2")

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        color: Any = None,
        *,
        components: tuple[int, int] = (0, 1),
        ax: Any = None,
    ) -> Self:
        """Transform rows with a fitted model, and draw.

        Parameters
        ----------
        model : fitted transformer
            Its ``transform(X)`` is drawn, or its ``embedding_`` if there is no X; also a pipeline.
        X : array, sparse matrix or frame of shape (n, d), default=None
            The rows.
        color, components
            As in `mercer.plot.embedding`.
        """
        check_model(model, "fit", "transformer")
        end = last_step(model)
        return cls._of(model if X is not None else end, X, color, components, end).plot(ax)

    @classmethod
    def from_coordinates(
        cls, Z: Any, color: Any = None, *, components: tuple[int, int] = (0, 1), ax: Any = None
    ) -> Self:
        """Draw coordinates that are known already.

        Parameters
        ----------
        Z : array of shape (n, k)
            The coordinates.
        color, components
            As in `mercer.plot.embedding`.
        """
        return cls._of(Z, None, color, components).plot(ax)

    @classmethod
    def _of(
        cls, Z: Any, X: Any, color: Any, components: tuple[int, int], named_by: Any = None
    ) -> Self:
        points = _plane(_coordinates(Z, X), components)
        across, up = (component_name(named_by, c) for c in components)
        return cls(points, color, (across, up))

    def _draw(self, ax: Any) -> Any:
        points = self.points
        color = None if self.color is None else _colors(self.color, len(points))
        ax = axes_for(ax, width=6.4 if color is not None else 6.0)
        if color is None:
            _draw_dots(ax, points, c=BLUE)
        elif are_labels(color):
            _draw_labels(ax, points, color)
        else:
            dots = _draw_dots(ax, points, c=color.astype(np.float64), cmap=SURFACE)
            ax.figure.colorbar(dots, ax=ax, pad=0.02).outline.set_visible(False)
        ax.set_aspect("equal", adjustable="datalim")
        return clean(ax, None, *self.labels)


def _coordinates(Z: Any, X: Any) -> np.ndarray:
    if X is not None:
        if not hasattr(Z, "transform"):
            raise TypeError(
                f"X is given, so Z must be a model with transform; got {type(Z).__name__}"
            )
        Z = Z.transform(X)
    elif hasattr(Z, "embedding_"):
        Z = Z.embedding_
    elif hasattr(Z, "transform"):
        raise TypeError(f"X must be given: {type(Z).__name__} does not keep its training rows")
    points = np.asarray(Z.toarray() if sp.issparse(Z) else Z, dtype=np.float64)
    if points.ndim != 2:
        raise ValueError(f"Z must have shape (n, k); got {points.shape}")
    return points


def _plane(points: np.ndarray, components: tuple[int, int]) -> np.ndarray:
    k = points.shape[1]
    if len(components) != 2 or not all(0 <= c < k for c in components):
        raise ValueError(
            f"components must be two numbers from 0 to {k - 1}, the coordinates there are; got "
            f"{tuple(components)}"
        )
    return points[:, list(components)]


def _colors(color: Any, n: int) -> np.ndarray:
    values = np.asarray(color)
    if values.shape != (n,):
        raise ValueError(f"color must have one value for each of {n} rows; got {values.shape}")
    return values


def _draw_dots(ax: Any, points: np.ndarray, **style: Any) -> Any:
    size = float(np.clip(6000 / max(len(points), 1), 6, 30))
    return ax.scatter(*points.T, **{"s": size, "alpha": 0.8, "linewidths": 0, **style})


def _draw_labels(ax: Any, points: np.ndarray, labels: np.ndarray) -> None:
    labels = labels.astype(str) if labels.dtype == object else labels
    known, which = np.unique(labels, return_inverse=True)
    if len(known) > MOST_LABELS:
        raise ValueError(
            f"color has {len(known)} labels, and no more than {MOST_LABELS} can be told apart"
        )
    for i, label in enumerate(known):
        _draw_dots(
            ax, points[which == i], c=PALETTE[i % len(PALETTE)], label=name_of(str(label)),
            marker=MARKERS[(i + i // len(PALETTE)) % len(MARKERS)],
        )  # fmt: skip
    columns = 1 + (len(known) - 1) // 16
    legend(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0), ncols=columns)
