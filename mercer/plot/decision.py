"""What a model says at each point of a plane: regions of classes, margins, or values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.plot._axes import (
    INK,
    MARKERS,
    PALETTE,
    SURFACE,
    axes_for,
    clean,
    letters_across,
    name,
)

FAINT, STRONG = 0.10, 0.50  # how much colour a region has where the model is least and most sure
MOST_CLASSES = 20  # more are not named in a legend
SYMBOL = 5  # letters that the symbol beside a name of the legend takes
CONTOURS = 12  # of a filled contour of values
KINDS = ("probability", "margin", "decision", "class", "outlier", "value")


@dataclass(frozen=True, eq=False)
class Surface:
    """What a model says on a grid.

    ``response`` has the shape (len(v), len(u)), or a third axis for several classes; ``codes`` are
    the predicted classes, as places in ``classes`` (None for values).
    """

    u: np.ndarray
    v: np.ndarray
    response: np.ndarray
    kind: str
    codes: np.ndarray | None = None
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Marks:
    """The rows on the surface: where they lie, their classes or values, which are supported."""

    points: np.ndarray  # (n, 2)
    target: np.ndarray | None  # codes or values
    support: np.ndarray  # (s, 2)


def draw_surface(
    surface: Surface, marks: Marks | None, labels: tuple[str, str], *, ax: Any = None
) -> Any:
    """Draw what a model says, and the rows upon it."""
    ax = axes_for(ax, width=5.2)
    if surface.kind == "value":
        _draw_values(ax, surface, marks)
    else:
        _draw_regions(ax, surface)
        if marks is not None:
            _draw_rows(ax, surface, marks)
        _draw_edges(ax, surface)
    clean(ax, grid=None)
    ax.set(xlim=surface.u[[0, -1]], ylim=surface.v[[0, -1]])
    ax.set_xlabel(labels[0], color=INK)
    ax.set_ylabel(labels[1], color=INK)
    _write_legend(ax)
    return ax


# ---------------------------------------------------------------- classes
def color_of(surface: Surface, code: int) -> str:
    """Return the colour of a class; outliers have the second, as what is worth a look."""
    return PALETTE[(1 - code if surface.kind == "outlier" else code) % len(PALETTE)]


def certainty(surface: Surface) -> np.ndarray:
    """Return how sure the model is at each point, in [0, 1]."""
    r = surface.response
    if surface.kind == "probability":
        top, k = (np.maximum(r, 1 - r), 2) if r.ndim == 2 else (r.max(axis=2), r.shape[2])
        return (top - 1 / k) / (1 - 1 / k) if k > 1 else top
    if surface.kind == "class" or r.ndim == 3:
        return np.full(r.shape[:2], 0.5)
    far = 2.0 if surface.kind == "margin" else float(np.quantile(np.abs(r), 0.95))
    return np.minimum(np.abs(r) / far, 1.0) if far > 0 else np.zeros(r.shape)


def _draw_regions(ax: Any, surface: Surface) -> None:
    from matplotlib.colors import to_rgb

    colors = np.array([to_rgb(color_of(surface, i)) for i in range(len(surface.classes))])
    share = (FAINT + (STRONG - FAINT) * certainty(surface))[:, :, None]
    blend = 1.0 - share * (1.0 - colors[surface.codes])  # on white
    (left, right), (low, high) = surface.u[[0, -1]], surface.v[[0, -1]]
    ax.imshow(
        blend, extent=(left, right, low, high), origin="lower", aspect="auto",
        interpolation="bilinear", zorder=0,
    )  # fmt: skip


def _draw_edges(ax: Any, surface: Surface) -> None:
    """Draw where the prediction changes, and where the margin or a probability of ¾ begins."""
    for field in edges(surface):
        if field.min() < 0 < field.max():
            ax.contour(surface.u, surface.v, field, levels=[0.0], colors=INK, linewidths=1.4)
    sides = _sides(surface)
    if sides is not None:
        levels, label = sides
        ax.contour(
            surface.u, surface.v, surface.response, levels=levels, colors=INK, linewidths=1.0,
            linestyles="--",
        )  # fmt: skip
        ax.plot([], [], color=INK, linewidth=1.0, linestyle="--", label=label)


def _sides(surface: Surface) -> tuple[list[float], str] | None:
    """Return the levels of the dashed lines that cross the plane, and what they are called."""
    known = {"margin": ([-1.0, 1.0], "f = ±1"), "probability": ([0.25, 0.75], "p = ¾")}
    if surface.response.ndim != 2 or surface.kind not in known:
        return None
    levels, label = known[surface.kind]
    low, high = surface.response.min(), surface.response.max()
    crossed = [level for level in levels if low < level < high]
    return (crossed, label) if crossed else None


def edges(surface: Surface) -> list[np.ndarray]:
    """Return functions on the grid that change their sign where the prediction changes.

    Responses give smooth lines, but only if the largest decides; a model with costs, a reject
    option or votes of pairs has its own rule, and its predictions say where it changes.
    """
    codes = np.asarray(surface.codes)
    scores = _scores(surface)
    if scores is not None and np.mean(np.argmax(scores, axis=2) == codes) > 0.999:
        fields = [_lead(scores, k) for k in range(scores.shape[2])]
    else:
        fields = [np.where(codes == k, 0.5, -0.5) for k in range(len(surface.classes))]
    return fields[:1] if len(fields) == 2 else fields


def _scores(surface: Surface) -> np.ndarray | None:
    """Return a score for each class, shape (m, m, K)."""
    r = surface.response
    if surface.kind == "class" or len(surface.classes) < 2:
        return None
    if r.ndim == 3:
        return r if r.shape[2] == len(surface.classes) else None
    if len(surface.classes) != 2:
        return None
    middle = 0.5 if surface.kind == "probability" else 0.0
    return np.stack([middle - r, r - middle], axis=2)


def _lead(scores: np.ndarray, k: int) -> np.ndarray:
    others = np.delete(scores, k, axis=2).max(axis=2)
    return np.asarray(scores[:, :, k] - others)


def _draw_rows(ax: Any, surface: Surface, marks: Marks) -> None:
    size = float(np.clip(4000 / max(len(marks.points), 1), 9, 26))
    style = {"s": size, "linewidths": size / 50, "edgecolors": "white", "zorder": 3}
    if marks.target is None:
        ax.scatter(*marks.points.T, c=INK, **style)
    else:
        named = len(surface.classes) <= MOST_CLASSES
        for code in np.unique(marks.target):
            ax.scatter(
                *marks.points[marks.target == code].T, c=color_of(surface, code),
                marker=MARKERS[(code + code // len(PALETTE)) % len(MARKERS)],
                label=surface.classes[code] if named else None, **style,
            )  # fmt: skip
    if len(marks.support):
        count = len(marks.support)
        ax.scatter(
            *marks.support.T, s=3.2 * size, facecolors="none", edgecolors=INK, linewidths=0.8,
            zorder=4, label=f"{count} support vector{'s' if count > 1 else ''}",
        )  # fmt: skip


# ---------------------------------------------------------------- values
def _draw_values(ax: Any, surface: Surface, marks: Marks | None) -> None:
    known = [surface.response.ravel()]
    if marks is not None and marks.target is not None:
        known.append(marks.target)
    low, high = (float(f(np.concatenate(known))) for f in (np.min, np.max))
    if low == high:
        low, high = low - max(abs(low), 1.0) / 2, high + max(abs(high), 1.0) / 2
    norm = {"vmin": low, "vmax": high, "cmap": SURFACE}
    filled = ax.contourf(
        surface.u, surface.v, surface.response, levels=_round_levels(low, high), **norm
    )
    if marks is not None:
        _draw_targets(ax, marks, norm)
    bar = ax.figure.colorbar(filled, ax=ax, pad=0.02)
    bar.set_label("predicted", color=INK)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK)


def _round_levels(low: float, high: float) -> np.ndarray:
    from matplotlib.ticker import MaxNLocator

    return np.asarray(MaxNLocator(CONTOURS).tick_values(low, high))


def _draw_targets(ax: Any, marks: Marks, norm: dict[str, Any]) -> None:
    """Draw the rows in the colours of their true values: one that fades away is well predicted."""
    color = {"c": "white"} if marks.target is None else {"c": marks.target, **norm}
    size = float(np.clip(4000 / max(len(marks.points), 1), 8, 30))
    ax.scatter(*marks.points.T, s=size, edgecolors="white", linewidths=0.6, zorder=3, **color)


def _fitting(texts: list[str], letters: float) -> int:
    """Return how many columns of a legend, filled one after the other, make it flat but fit."""
    for height in range(1, len(texts)):
        parts = [texts[i : i + height] for i in range(0, len(texts), height)]
        if sum(max(map(len, part)) + SYMBOL for part in parts) <= letters:
            return len(parts)
    return 1


def _write_legend(ax: Any) -> None:
    """Write what is what above the picture, in as many columns as the width allows."""
    handles, texts = ax.get_legend_handles_labels()
    if not texts:
        return
    texts = [name(text) for text in texts]
    columns = _fitting(texts, letters_across(ax))
    ax.legend(
        handles, texts, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, frameon=False,
        labelcolor=INK, fontsize="small", borderpad=0.2, handletextpad=0.4, columnspacing=1.2,
        borderaxespad=0.2,
    )  # fmt: skip
