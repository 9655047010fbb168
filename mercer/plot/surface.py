"""The scores of a search over one or two parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.plot._axes import (
    BLUE,
    EMPTY,
    INK,
    ORANGE,
    SURFACE,
    Scale,
    axes_for,
    band,
    clean,
    letters_across,
    name,
    ring,
)

SYMBOL = 5  # letters that the symbol of a legend takes
MOST_NUMBERS = 64  # a surface of more cells has no numbers written into it


class Points(NamedTuple):
    """What was tried: values of the drawn parameters, mean and std of the scores, the choice."""

    names: list[str]
    columns: list[list[Any]]
    mean: np.ndarray
    std: np.ndarray
    chosen: int


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
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from mercer import SVC, plot
    >>> X, y = [[float(i)] for i in range(40)], [0] * 20 + [1] * 20
    >>> found = GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, cv=4).fit(X, y)
    >>> ax = plot.search(found)  # doctest: +SKIP
    """
    return draw_search(*read_search(search, x, y, scoring), ax=ax)


def read_search(
    search: Any, x: str | None = None, y: str | None = None, scoring: str | None = None
) -> tuple[Points, str]:
    """Return what a search tried over one or two parameters, and the name of the score."""
    results = _results(search)
    metric = _metric(search, results, scoring)
    return _points(search, results, _drawn(results, x, y), metric), _label(search, metric)


def draw_search(points: Points, label: str, *, ax: Any = None) -> Any:
    """Draw a curve over one parameter or a surface over two."""
    if len(points.names) == 1:
        return _curve(axes_for(ax), points, label)
    return _surface(axes_for(ax, width=6.6), points, label)


# -------------------------------------------------------------------- reading
def _results(search: Any) -> Any:
    if not hasattr(search, "cv_results_"):
        raise TypeError(
            f"search must be a fitted search with cv_results_; got {type(search).__name__}"
        )
    return search.cv_results_


def _drawn(results: Any, x: str | None, y: str | None) -> list[str]:
    """Return the one or two parameters to draw."""
    known = [key.removeprefix("param_") for key in results if key.startswith("param_")]
    for given, what in ((x, "x"), (y, "y")):
        if given is not None and given not in known:
            raise ValueError(f"{what} must be one of {known}; got {given!r}")
    if x is not None and x == y:
        raise ValueError(f"x and y must be two parameters; got {x!r} twice")
    if x is not None and y is None:
        return [x]
    vary = [n for n in known if len(Scale.of(_present(results, n)).values) > 1] or known
    rest = [n for n in vary if n not in (x, y)]
    names = [n if n is not None else (rest.pop(0) if rest else None) for n in (x, y)]
    return [n for n in names if n is not None]


def _present(results: Any, name: str) -> list[Any]:
    """Return the values of a parameter where it was set (grids may differ in their parameters)."""
    return np.ma.masked_array(results[f"param_{name}"]).compressed().tolist()


def _metric(search: Any, results: Any, scoring: str | None) -> str:
    known = [k.removeprefix("mean_test_") for k in results if k.startswith("mean_test_")]
    refit = getattr(search, "refit", None)
    metric = scoring or (refit if isinstance(refit, str) else known[0])
    if scoring is not None and known == ["score"]:
        metric = "score" if scoring == getattr(search, "scoring", None) else scoring
    if metric not in known:
        raise ValueError(f"scoring must be one of {known}; got {metric!r}")
    return metric


def _label(search: Any, metric: str) -> str:
    scorer = getattr(search, "scoring", None)
    text = scorer if metric == "score" and isinstance(scorer, str) else metric
    folds = getattr(search, "n_splits_", None)
    return text.replace("_", " ") + (f", mean of {folds} folds" if folds else "")


def _points(search: Any, results: Any, names: list[str], metric: str) -> Points:
    """Return the points that have all drawn parameters; the chosen one is among them."""
    columns = [np.ma.masked_array(results[f"param_{n}"]) for n in names]
    kept = np.flatnonzero(~np.any([np.ma.getmaskarray(c) for c in columns], axis=0))
    mean = np.asarray(results[f"mean_test_{metric}"], dtype=np.float64)[kept]
    std = np.asarray(results[f"std_test_{metric}"], dtype=np.float64)[kept]
    if not np.isfinite(mean).any():
        raise ValueError(f"the search has no finite score over {' and '.join(names)}")
    best = np.flatnonzero(kept == getattr(search, "best_index_", -1))
    chosen = int(best[0]) if len(best) else int(np.nanargmax(mean))
    return Points(names, [c[kept].tolist() for c in columns], mean, std, chosen)


def _best(points: Points, scales: list[Scale]) -> np.ndarray:
    """Return which point is best at each place of the grid, −1 where there is none."""
    best = np.full([len(s.values) for s in scales], -1)
    # the chosen point stands last, so that it stays ahead of others with the same score
    order = np.lexsort((np.arange(len(points.mean)) == points.chosen, points.mean))
    for i in order[np.isfinite(points.mean[order])]:
        place = tuple(s.place(c[i]) for s, c in zip(scales, points.columns, strict=True))
        best[place] = i
    return best


# -------------------------------------------------------------------- drawing
def _curve(ax: Any, points: Points, label: str) -> Any:
    scale = Scale.of(points.columns[0])
    best = _best(points, [scale])
    at, index = scale.positions[best >= 0], best[best >= 0]
    mean, std = points.mean[index], points.std[index]
    if scale.kind == "category":
        ax.errorbar(at, mean, std, fmt="o", color=BLUE, capsize=3, label="mean ± 1 std")
        ax.set_xlim(-0.5, len(scale.values) - 0.5)
    else:
        band(ax, at, mean, std, BLUE, "mean ± 1 std")
    where = scale.positions[scale.place(points.columns[0][points.chosen])]
    ring(ax, where, points.mean[points.chosen], _choice(points))
    clean(ax)
    ax.set_ylabel(label, color=INK)
    scale.apply(ax.xaxis, points.names[0])
    _tilt(ax, scale)
    ax.legend(frameon=False, labelcolor=INK)
    return ax


def _choice(points: Points, letters: float = np.inf) -> str:
    """Return what was chosen, in two lines if it is longer than a number of letters."""
    values = [
        f"{n} = {name(c[points.chosen])}" for n, c in zip(points.names, points.columns, strict=True)
    ]
    score = name(points.mean[points.chosen])
    text = f"chosen: {', '.join(values)} ({score})"
    fits = len(text) + SYMBOL <= letters
    return text if fits else f"chosen: {values[0]},\n{', '.join(values[1:])} ({score})"


def _surface(ax: Any, points: Points, label: str) -> Any:
    scales = [Scale.of(column) for column in points.columns]
    best = _best(points, scales)
    # a random search fills few places of the grid of its values
    draw = _cells if (best >= 0).mean() > 0.5 else _dots
    drawn = draw(ax, points, scales, best)
    ax.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, labelcolor=INK,
        borderpad=0.2, handletextpad=0.5, fontsize="small",
    )  # fmt: skip
    clean(ax, grid=None)
    for axis, scale, text in zip((ax.xaxis, ax.yaxis), scales, points.names, strict=True):
        scale.apply(axis, text)
    _tilt(ax, scales[0])
    clipped = bool(np.nanmin(points.mean) < drawn.norm.vmin)
    bar = ax.figure.colorbar(drawn, ax=ax, pad=0.02, extend="min" if clipped else "neither")
    bar.set_label(label, color=INK)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK)
    return ax


def _cells(ax: Any, points: Points, scales: list[Scale], best: np.ndarray) -> Any:
    Z = np.ma.masked_array(points.mean[best], best < 0)
    x_edges, y_edges = (s.edges() for s in scales)
    ax.set_facecolor(EMPTY)
    mesh = ax.pcolormesh(
        x_edges, y_edges, Z.T, cmap=SURFACE, vmin=_darkest(points.mean), edgecolors="white",
        linewidth=0.6,
    )  # fmt: skip
    i, j = (s.place(c[points.chosen]) for s, c in zip(scales, points.columns, strict=True))
    ax.plot(
        x_edges[[i, i + 1, i + 1, i, i]], y_edges[[j, j, j + 1, j + 1, j]], color=ORANGE,
        linewidth=2.6, label=_choice(points, letters_across(ax)), zorder=5, clip_on=False,
    )  # fmt: skip
    if Z.size <= MOST_NUMBERS:
        _write(ax, mesh, Z, scales)
    return mesh


def _write(ax: Any, mesh: Any, Z: np.ma.MaskedArray, scales: list[Scale]) -> None:
    """Write the scores into the cells, dark on light and light on dark."""
    spread = float(Z.max() - Z.min())
    digits = int(np.clip(np.ceil(-np.log10(spread)) + 1, 2, 4)) if spread > 0 else 2
    for i, j in zip(*np.nonzero(~np.ma.getmaskarray(Z)), strict=True):
        value = float(Z[i, j])
        text = f"{value:.{digits}f}".replace("-", "−") if abs(value) < 100 else name(value)
        color = "white" if mesh.norm(value) < 0.55 else "black"
        ax.text(
            scales[0].positions[i], scales[1].positions[j], text,
            ha="center", va="center", fontsize="small", color=color,
        )  # fmt: skip


def _darkest(scores: np.ndarray) -> float:
    """Return where the colours begin: a few hopeless scores must not make all others look equal."""
    best, lower = np.nanmax(scores), np.nanquantile(scores, 0.25)
    return float(max(np.nanmin(scores), best - 2.0 * (best - lower)))


def _dots(ax: Any, points: Points, scales: list[Scale], best: np.ndarray) -> Any:
    where = [
        s.positions[[s.place(v) for v in c]] for s, c in zip(scales, points.columns, strict=True)
    ]
    order = np.argsort(np.nan_to_num(points.mean, nan=-np.inf))  # the best on top
    text = _choice(points, letters_across(ax))
    ring(ax, where[0][points.chosen], where[1][points.chosen], text)
    return ax.scatter(
        where[0][order], where[1][order], c=points.mean[order], cmap=SURFACE, s=46,
        vmin=_darkest(points.mean), edgecolors=INK, linewidths=0.5,
    )  # fmt: skip


def _tilt(ax: Any, scale: Scale) -> None:
    """Turn names that would run into each other."""
    if scale.kind == "category" and max(len(name(v)) for v in scale.values) > 8:
        ax.tick_params(axis="x", labelrotation=20)
        for text in ax.get_xticklabels():
            text.set_ha("right")
