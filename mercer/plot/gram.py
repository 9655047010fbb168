"""The kernel values of a sample as an image, its rows in the order of their classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.plot._axes import DIVERGING, INK, SURFACE, axes_for, name, tilt

MOST_CLASSES = 20  # more are not written at the axis


@dataclass(frozen=True, eq=False)
class Groups:
    """Runs of rows of one class, in the order in which they stand."""

    names: tuple[str, ...]
    sizes: np.ndarray

    def borders(self) -> np.ndarray:
        """Return where one class ends and the next begins, in pixels."""
        return np.cumsum(self.sizes)[:-1] - 0.5

    def middles(self) -> np.ndarray:
        """Return the middle of each class, in pixels."""
        ends = np.cumsum(self.sizes)
        return ends - self.sizes / 2 - 0.5


def draw_gram(
    K: np.ndarray, groups: Groups | None, title: str = "", what: str = "row", *, ax: Any = None
) -> Any:
    """Draw kernel values; those below 0 have a colour of their own."""
    ax = axes_for(ax, width=4.8)
    # not forced to be square: names beside a square would be cut off in a narrow figure
    image = ax.imshow(K, **_colors(K), interpolation="nearest", aspect="auto")
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02)
    bar.set_label("k(x, y)", color=INK)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK)
    ax.spines[:].set_visible(False)
    ax.tick_params(colors=INK, length=2)
    ax.set_title(title, color=INK, fontsize="small")
    if groups is None:
        ax.set_xlabel(what, color=INK)
    else:
        _draw_groups(ax, groups)
    return ax


def _colors(K: np.ndarray) -> dict[str, Any]:
    """Return a map that is even on both sides of 0 if there are values on both sides."""
    low, high = float(K.min()), float(K.max())
    if low < 0:
        limit = max(-low, high)
        return {"cmap": DIVERGING, "vmin": -limit, "vmax": limit}
    return {"cmap": SURFACE, "vmin": min(low, 0.0), "vmax": high if high > 0 else 1.0}


def _draw_groups(ax: Any, groups: Groups) -> None:
    for border in groups.borders():
        for line in (ax.axhline, ax.axvline):
            line(border, color="white", linewidth=1.2)
    if len(groups.names) > MOST_CLASSES:
        return
    texts = [name(text) for text in groups.names]
    ax.set_yticks(groups.middles(), texts)
    ax.set_xticks(groups.middles(), texts)
    ax.tick_params(length=0)
    tilt(ax, texts)
