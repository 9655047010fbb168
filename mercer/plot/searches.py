"""The scores of a search over one or two parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.cv_results import Trials
from mercer.plot._axes import (
    BLUE,
    EMPTY,
    INK,
    ORANGE,
    SURFACE,
    SYMBOL,
    ValueScale,
    axes_for,
    band,
    clean,
    colour_bar,
    legend,
    letters_across,
    name_of,
    ring,
)
from mercer.plot._display import Display, documented
from mercer.plot.records import Surface

MOST_NUMBERS = 64  # a surface of more cells has no numbers written into it


@documented
def search(
    search: Any, x: str | None = None, y: str | None = None, *, scoring: str | None = None,
    ax: Any = None,
) -> Any:  # fmt: skip
    """Draw cross-validated scores over one or two parameters of a search, and mark the choice.

    Two parameters make a surface, one makes a curve with a band of one standard deviation over
    folds. Of the parameters that are not drawn the best values are taken at each point.
    Log-spaced values get a log axis; kernels, names and other objects stand side by side.

    Parameters
    ----------
    search : fitted search
        `KernelSearchCV`, ``GridSearchCV``, or anything else with ``cv_results_``.
    x, y : str, default=None
        Names of parameters, such as "C" and "kernel__gamma". None takes the first ones that vary;
        with ``x`` alone the curve over x is drawn.
    scoring : str, default=None
        Which score, if the search has several; None is the one that decided.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from mercer import SVC, plot
    >>> X, y = [[float(i)] for i in range(40)], [0] * 20 + [1] * 20
    >>> found = GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, cv=4).fit(X, y)
    >>> ax = plot.search(found)  # doctest: +SKIP
    """
    return SearchDisplay.from_estimator(search, x, y, scoring=scoring, ax=ax).ax_


@dataclass(eq=False, repr=False)
class SearchDisplay(Display):
    """Cross-validated scores over one or two parameters of a search, the choice marked.

    Parameters
    ----------
    names : list of str
        The one or two parameters.
    columns : list of list
        Their values at each point that was tried.
    mean, std : array of shape (n_points,)
        Mean and standard deviation of the score over folds.
    chosen : int
        Which point was chosen.
    score : str, default="score"
        The name of the score.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC, KernelSearchCV
    >>> from mercer.plot import SearchDisplay
    >>> grid = {"C": [0.1, 1.0, 10.0], "kernel__gamma": [0.01, 0.1, 1.0]}
    >>> search = KernelSearchCV(SVC("rbf"), grid, cv=3).fit(*load_iris(return_X_y=True))
    >>> display = SearchDisplay.from_estimator(search)  # doctest: +SKIP
    """

    names: list[str]
    columns: list[list[Any]]
    mean: np.ndarray
    std: np.ndarray
    chosen: int
    score: str = "score"

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        x: str | None = None,
        y: str | None = None,
        *,
        scoring: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Read a fitted search, and draw.

        Parameters
        ----------
        search : fitted search
            `KernelSearchCV`, ``GridSearchCV``, or anything else with ``cv_results_``.
        x, y, scoring : str, default=None
            Names of parameters, and of the score, as in `mercer.plot.search`.
        """
        trials = Trials.of(search, scoring)
        names, label = _drawn(trials, x, y), _label(search, trials)
        places = [trials.axis(name).places for name in names]
        trials = trials.take(np.all(np.array(places) >= 0, axis=0))
        if not trials.complete.any():
            raise ValueError(f"the search has no finite score over {' and '.join(names)}")
        columns = [[point[name] for point in trials.params] for name in names]
        chosen = trials.chosen if trials.chosen >= 0 else int(np.nanargmax(trials.mean))
        return cls(names, columns, trials.mean, trials.std, chosen, label).plot(ax)

    def _draw(self, ax: Any) -> Any:
        rows = zip(*self.columns, strict=True)
        params = [dict(zip(self.names, row, strict=True)) for row in rows]
        table = {"params": params, "mean_test_score": self.mean, "std_test_score": self.std}
        trials = Trials.read(table, chosen=self.chosen)
        surface = Surface.of(trials, [trials.axis(name) for name in self.names], self.score)
        if len(self.names) == 1:
            return _draw_curve(axes_for(ax), surface, self.mean[self.chosen], self._told(surface))
        return self._draw_surface(axes_for(ax, width=6.6), surface)

    def _draw_surface(self, ax: Any, surface: Surface) -> Any:
        scales = [ValueScale.of(values) for values in surface.values]
        # a random search fills few places of the grid of its values
        draw = _draw_cells if np.isfinite(surface.scores).mean() > 0.5 else _draw_dots
        told = self._told(surface, letters_across(ax))
        drawn = draw(ax, surface, scales, _darkest(self.mean), told)
        place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "fontsize": "small"}
        legend(ax, **place, borderpad=0.2, handletextpad=0.5)
        clean(ax, grid=None)
        for side, scale, name in zip((ax.xaxis, ax.yaxis), scales, surface.parameters, strict=True):
            scale.apply(side, name)
        _tilt(ax, scales[0])
        clipped = bool(np.nanmin(self.mean) < drawn.norm.vmin)
        colour_bar(ax, drawn, surface.scoring, extend="min" if clipped else "neither")
        return ax

    def _told(self, surface: Surface, letters: float = np.inf) -> str:
        """Return what was chosen, in two lines if it is longer than a number of letters."""
        chosen = zip(surface.parameters, surface.values, surface.chosen, strict=True)
        values = [f"{name} = {name_of(column[i])}" for name, column, i in chosen]
        score = name_of(self.mean[self.chosen])
        text = f"chosen: {', '.join(values)} ({score})"
        fits = len(text) + SYMBOL <= letters
        return text if fits else f"chosen: {values[0]},\n{', '.join(values[1:])} ({score})"


def _drawn(trials: Trials, x: str | None, y: str | None) -> list[str]:
    """Return the one or two parameters to draw."""
    known = trials.names
    for given, what in ((x, "x"), (y, "y")):
        if given is not None and given not in known:
            raise ValueError(f"{what} must be one of {known}; got {given!r}")
    if x is not None and x == y:
        raise ValueError(f"x and y must be two parameters; got {x!r} twice")
    if x is not None and y is None:
        return [x]
    vary = [axis.name for axis in trials.axes()] or known
    rest = [n for n in vary if n not in (x, y)]
    names = [n if n is not None else (rest.pop(0) if rest else None) for n in (x, y)]
    return [n for n in names if n is not None]


def _label(search: Any, trials: Trials) -> str:
    scorer = getattr(search, "scoring", None)
    text = scorer if trials.metric == "score" and isinstance(scorer, str) else trials.metric
    folds = f", mean of {trials.n_folds} folds" if trials.n_folds else ""
    return text.replace("_", " ") + folds


# -------------------------------------------------------------------- drawing
def _draw_curve(ax: Any, surface: Surface, score: float, told: str) -> Any:
    scale, (place,) = ValueScale.of(surface.values[0]), surface.chosen
    mean, std = surface.scores, np.asarray(surface.spread)
    known = np.isfinite(mean)
    if scale.kind == "category":
        style = {"fmt": "o", "color": BLUE, "capsize": 3, "label": "mean ± 1 std"}
        ax.errorbar(scale.positions[known], mean[known], std[known], **style)
        ax.set_xlim(-0.5, len(scale.values) - 0.5)
    else:
        band(ax, scale.positions[known], mean[known], std[known], BLUE, "mean ± 1 std")
    ring(ax, scale.positions[place], score, told)
    clean(ax, y=surface.scoring)
    scale.apply(ax.xaxis, surface.parameters[0])
    _tilt(ax, scale)
    legend(ax)
    return ax


def _draw_cells(
    ax: Any, surface: Surface, scales: list[ValueScale], darkest: float, told: str
) -> Any:
    Z = np.ma.masked_invalid(surface.scores)
    x_edges, y_edges = (s.edges() for s in scales)
    ax.set_facecolor(EMPTY)
    style = {"cmap": SURFACE, "edgecolors": "white", "linewidth": 0.6}
    mesh = ax.pcolormesh(x_edges, y_edges, Z.T, vmin=darkest, **style)
    i, j = surface.chosen
    ax.plot(
        x_edges[[i, i + 1, i + 1, i, i]], y_edges[[j, j, j + 1, j + 1, j]], color=ORANGE,
        linewidth=2.6, label=told, zorder=5, clip_on=False,
    )  # fmt: skip
    if Z.size <= MOST_NUMBERS:
        _write(ax, mesh, Z, scales)
    return mesh


def _draw_dots(
    ax: Any, surface: Surface, scales: list[ValueScale], darkest: float, told: str
) -> Any:
    tried = np.argwhere(np.isfinite(surface.scores))
    scores = surface.scores[tuple(tried.T)]
    x, y = (scale.positions[places] for scale, places in zip(scales, tried.T, strict=True))
    order = np.argsort(scores)  # the best on top
    i, j = surface.chosen
    ring(ax, scales[0].positions[i], scales[1].positions[j], told)
    style = {"cmap": SURFACE, "s": 46, "edgecolors": INK, "linewidths": 0.5}
    return ax.scatter(x[order], y[order], c=scores[order], vmin=darkest, **style)


def _write(ax: Any, mesh: Any, Z: np.ma.MaskedArray, scales: list[ValueScale]) -> None:
    """Write the scores into the cells, dark on light and light on dark."""
    spread = float(Z.max() - Z.min())
    digits = int(np.clip(np.ceil(-np.log10(spread)) + 1, 2, 4)) if spread > 0 else 2
    for i, j in zip(*np.nonzero(~np.ma.getmaskarray(Z)), strict=True):
        value = float(Z[i, j])
        text = f"{value:.{digits}f}".replace("-", "−") if abs(value) < 100 else name_of(value)
        color = "white" if mesh.norm(value) < 0.55 else "black"
        ax.text(
            scales[0].positions[i], scales[1].positions[j], text,
            ha="center", va="center", fontsize="small", color=color,
        )  # fmt: skip


def _darkest(scores: np.ndarray) -> float:
    """Return where the colours begin: a few hopeless scores must not make all others look equal."""
    best, lower = np.nanmax(scores), np.nanquantile(scores, 0.25)
    return float(max(np.nanmin(scores), best - 2.0 * (best - lower)))


def _tilt(ax: Any, scale: ValueScale) -> None:
    """Turn names that would run into each other."""
    if scale.kind == "category" and max(len(name_of(v)) for v in scale.values) > 8:
        ax.tick_params(axis="x", labelrotation=20)
        for text in ax.get_xticklabels():
            text.set_ha("right")
