"""What all pictures share: the Axes, the colours, scales that follow the values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.cv_results import is_number

# from the palette of Okabe and Ito: told apart by colour-blind eyes and in grey
BLUE, ORANGE = "#0072B2", "#D55E00"
INK, GRID, EMPTY = "#333333", "#E3E3E3", "#F1F1F1"
# eight of theirs and two more, in an order that keeps the first few far apart
PALETTE = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00",
    "#56B4E9", "#000000", "#882255", "#999999", "#B8A800",
]  # fmt: skip
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
SURFACE, DIVERGING = "cividis", "PuOr"
MOST_TICKS = 9  # more values than this are not all written at the axis
MOST_LETTERS = 36  # nor numbers that are longer than this together
MANY_DECADES = 1e4  # from here on powers of ten are written as powers
LONGEST_NAME = 30
LETTERS_PER_INCH = 12.5  # of small ones
SYMBOL = 5  # letters that the symbol beside a name of a legend takes
SIDE = 4.2  # inches of a picture, and the width of one that is square


def axes_for(ax: Any, width: float = 6.0) -> Any:
    """Return the given Axes or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "mercer.plot draws with matplotlib, which is not installed: "
            "pip install 'mercer[plot]' or pip install matplotlib"
        ) from error
    return plt.subplots(figsize=(width, SIDE), layout="constrained")[1]


def row_of_axes(count: int, axes: Any = None) -> np.ndarray:
    """Return the given Axes, or new ones side by side."""
    if axes is None:
        first = axes_for(None, SIDE * count)
        figure, place = first.figure, first.get_subplotspec()
        first.remove()
        grid = place.subgridspec(1, count) if count > 1 else [place]
        return np.array([figure.add_subplot(grid[i]) for i in range(count)])
    given = np.ravel(np.asarray(axes, dtype=object))
    if len(given) != count:
        raise ValueError(f"axes must hold {count} Axes, one for each picture; got {len(given)}")
    return given


def clean(ax: Any, grid: str | None = "y", x: str = "", y: str = "") -> Any:
    """Leave out the frame, draw faint lines where values are read off, name the axes."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#999999")
    ax.tick_params(colors=INK, which="both")
    ax.set_axisbelow(True)
    if grid:
        ax.grid(axis=grid, color=GRID, linewidth=0.8)
    return _named(ax, x, y)


def bare(ax: Any, x: str = "", y: str = "", length: int = 0) -> Any:
    """Leave out all lines around an image, name the axes."""
    ax.spines[:].set_visible(False)
    ax.tick_params(colors=INK, length=length)
    return _named(ax, x, y)


def _named(ax: Any, x: str, y: str) -> Any:
    ax.set_xlabel(x, color=INK)
    ax.set_ylabel(y, color=INK)
    return ax


def legend(ax: Any, *handles: Any, **options: Any) -> None:
    """Write what is what, without a frame."""
    ax.legend(*handles, **{"frameon": False, "labelcolor": INK, **options})


class ValueScale(NamedTuple):
    """The distinct values of a parameter, in order, and where they stand on an axis."""

    values: tuple[Any, ...]
    positions: np.ndarray
    kind: str  # "linear", "log" or "category"

    @classmethod
    def of(cls, values: tuple[Any, ...]) -> ValueScale:
        """Place numbers by size, other values (kernels, names) side by side."""
        if not all(map(is_number, values)):
            return cls(values, np.arange(len(values), dtype=float), "category")
        numbers = np.array(values, dtype=float)
        return cls(values, numbers, "log" if _log_spaced(numbers) else "linear")

    def edges(self) -> np.ndarray:
        """Return the borders of cells around the positions."""
        p = np.log10(self.positions) if self.kind == "log" else self.positions
        steps = np.diff(p) if len(p) > 1 else np.array([1.0])
        inner = p[:-1] + steps[: len(p) - 1] / 2
        edges = np.concatenate([[p[0] - steps[0] / 2], inner, [p[-1] + steps[-1] / 2]])
        return 10.0**edges if self.kind == "log" else edges

    def apply(self, axis: Any, label: str) -> None:
        """Give an axis (``ax.xaxis`` or ``ax.yaxis``) the scale, the ticks and the label."""
        axis.set_label_text(label, color=INK)
        if self.kind == "log":
            axis._set_axes_scale("log")
        texts = self._texts()
        if texts:
            axis.set_ticks(self.positions, texts)
            axis.set_ticks([], minor=True)

    def _texts(self) -> list[str]:
        """Return what stands at the axis, or nothing if the numbers would run into each other."""
        if self.kind == "log" and self.positions[-1] >= MANY_DECADES * self.positions[0]:
            powers = np.log10(self.positions)
            if np.allclose(powers, powers.round(), atol=1e-9) and len(powers) <= MOST_TICKS:
                return [f"$10^{{{power:.0f}}}$" for power in powers]
        texts = [name_of(v) for v in self.values]
        is_short = len(texts) <= MOST_TICKS and len("".join(texts)) <= MOST_LETTERS
        return texts if self.kind == "category" or is_short else []


def _log_spaced(numbers: np.ndarray) -> bool:
    """Tell whether ratios of neighbours are more even than their differences."""
    if len(numbers) < 2 or numbers[0] <= 0 or numbers[-1] < 8 * numbers[0]:
        return False
    gaps, ratios = np.diff(numbers), np.diff(np.log(numbers))
    return len(numbers) == 2 or bool(ratios.std() / ratios.mean() < gaps.std() / gaps.mean())


def name_of(value: Any) -> str:
    """Return a short text for a label or a value of a parameter."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{float(value):.3g}".replace("-", "−")
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def letters_across(ax: Any) -> float:
    """Return about how many small letters fit into the width of the Axes."""
    return float(LETTERS_PER_INCH * ax.get_position().width * ax.figure.get_figwidth())


def tilt(ax: Any, texts: list[str]) -> None:
    """Turn the names at the horizontal axis if they would run into each other."""
    room = letters_across(ax) / max(len(texts), 1)
    if max(map(len, texts), default=0) + 1 > room:
        ax.tick_params(axis="x", labelrotation=30)
        for text in ax.get_xticklabels():
            text.set(ha="right", rotation_mode="anchor")


def line_style(i: int) -> dict[str, Any]:
    """Return the colour of the i-th line, and dashes once the colours are used up."""
    dashes = ["-", "--", ":", "-."]
    return {
        "color": PALETTE[i % len(PALETTE)],
        "linestyle": dashes[i // len(PALETTE) % len(dashes)],
    }


def band(ax: Any, x: np.ndarray, mean: np.ndarray, std: np.ndarray, color: str, label: str) -> None:
    """Draw a mean with a band of one standard deviation."""
    ax.fill_between(x, mean - std, mean + std, color=color, alpha=0.15, linewidth=0)
    ax.plot(x, mean, color=color, marker="o", markersize=4, linewidth=1.8, label=label)


def ring(ax: Any, x: float, y: float, text: str) -> None:
    """Mark the chosen point."""
    ax.plot(
        [x], [y], linestyle="none", marker="o", markersize=13, markerfacecolor="none",
        markeredgecolor=INK, markeredgewidth=1.6, label=text, zorder=5,
    )  # fmt: skip


def colour_bar(ax: Any, drawn: Any, label: str = "", pad: float = 0.02, **options: Any) -> None:
    """Write beside the Axes what the colours mean."""
    bar = ax.figure.colorbar(drawn, ax=ax, pad=pad, **options)
    bar.set_label(label, color=INK)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK)


# ---------------------------------------------------------------- the square of two shares
def veiled_legend(ax: Any, place: str) -> None:
    """Write what is what, on a veil over what lies behind."""
    legend(ax, loc=place, fontsize="small", frameon=True, framealpha=0.85, edgecolor="none")


def unit_square(ax: Any, x: str, y: str, *, diagonal: bool = True) -> Any:
    """Return Axes of two shares, with the diagonal unless that means nothing."""
    ax = axes_for(ax, SIDE)
    if diagonal:
        ax.plot([0, 1], [0, 1], color="#999999", linewidth=1.0, linestyle="--")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    return clean(ax, "both", x, y)
