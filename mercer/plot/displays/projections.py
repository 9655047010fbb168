"""Pictures of projections: how much components hold, and where the rows lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.plot.displays.base import Display, check_model, last_step
from mercer.plot.projections import (
    component_name,
    draw_embedding,
    draw_scree,
    read_plane,
    read_scree,
)


@dataclass(eq=False, repr=False)
class ScreeDisplay(Display):
    """The share of the variance of each component and their sum, or the eigenvalues.

    Parameters
    ----------
    values : array of shape (k,)
        Shares of the variance, or eigenvalues.
    are_shares : bool, default=True
        Which of the two; shares are drawn with their sums.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

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
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ScreeDisplay
        """
        return cls(*read_scree(last_step(model))).plot(ax)

    def _draw(self, ax: Any) -> Any:
        return draw_scree(np.asarray(self.values, dtype=np.float64), self.are_shares, ax=ax)


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

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

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
        color : array of shape (n,), default=None
            Labels or values.
        components : pair of int, default=(0, 1)
            Which coordinates.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        EmbeddingDisplay
        """
        check_model(model, "fit", "transformer")
        source = model if X is not None else last_step(model)
        points = read_plane(source, X, components)
        across, up = (component_name(last_step(model), c) for c in components)
        return cls(points, color, (across, up)).plot(ax)

    @classmethod
    def from_coordinates(
        cls,
        Z: Any,
        color: Any = None,
        *,
        components: tuple[int, int] = (0, 1),
        ax: Any = None,
    ) -> Self:
        """Draw coordinates that are known already.

        Parameters
        ----------
        Z : array of shape (n, k)
            The coordinates.
        color, components, ax
            As in ``from_estimator``.

        Returns
        -------
        EmbeddingDisplay
        """
        points = read_plane(Z, None, components)
        across, up = (component_name(None, c) for c in components)
        return cls(points, color, (across, up)).plot(ax)

    def _draw(self, ax: Any) -> Any:
        return draw_embedding(self.points, self.color, self.labels, ax=ax)
