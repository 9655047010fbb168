"""How a run went: the objective and the gradient, step after step."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plot._axes import INK, axes_for, clean, line_style

FEW_STEPS = 30  # of which each has a dot


def trace(solution: Any, *, against: str = "steps", ax: Any = None) -> Any:
    """Draw what is left of the objective, and the size of the gradient, along a run.

    The objective is shown above the least value of the run, on a log scale: a line falls straight
    where a method converges linearly, and bends down where it is faster. Of a linear program, whose
    points may come from outside, it shows the distance of the objective from its last value, and
    the worst of gap and infeasibility, at the ends of the stages in which the run was watched.

    Parameters
    ----------
    solution : Solution
        What a method of `mercer.optimize` returned.
    against : {"steps", "seconds"}, default="steps"
        The horizontal axis.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from mercer import optimize, plot
    >>> solution = optimize.gradient_descent(lambda x: x @ x, [1.0, 2.0], grad=lambda x: 2 * x)
    >>> ax = plot.trace(solution)  # doctest: +SKIP
    """
    return draw_trace(read_trace(solution, against), against, log=True, ax=ax)


Curves = dict[str, tuple[np.ndarray, np.ndarray]]  # across and height, by what the legend says


def read_trace(solution: Any, against: str = "steps") -> Curves:
    """Return how far the objective is from its end, and from being proved, along a run."""
    across, rows = read_run(solution, against)
    values, sizes = (np.asarray(rows[k], dtype=np.float64) for k in ("values", "gradient_norms"))
    if _is_program(rows):
        return {
            "objective from its last": (across, np.abs(values - values[-1])),
            "gap and infeasibility": (across, np.where(np.isfinite(sizes), sizes, np.nan)),
        }
    return {
        "objective above its least": (across, values - values.min()),
        "size of the gradient": (across, sizes),
    }


def _is_program(rows: Any) -> bool:
    """Tell the stages of a linear program, of which each has many iterations."""
    return "iterations" in rows


def read_run(solution: Any, against: str) -> tuple[np.ndarray, Any]:
    """Return the steps or seconds of a run, and the columns of its trace."""
    rows = getattr(solution, "stats", {}).get("trace")
    if rows is None or not len(rows["values"]):
        raise ValueError(
            "solution must have a trace, as the methods of mercer.optimize return it; got "
            f"{type(solution).__name__} without one"
        )
    if against not in ("steps", "seconds"):
        raise ValueError(f"against must be 'steps' or 'seconds'; got {against!r}")
    steps = rows["iterations"] if _is_program(rows) else np.arange(len(rows["values"]))
    return np.asarray(steps if against == "steps" else rows["seconds"], dtype=np.float64), rows


def draw_trace(
    curves: Curves, against: str, what: str = "", *, log: bool = False, ax: Any = None
) -> Any:
    """Draw heights along a run, on a log scale if asked for."""
    ax = axes_for(ax)
    for i, (label, (across, heights)) in enumerate(curves.items()):
        # what is 0 has no place on a log scale
        shown = np.where(heights > 0, heights, np.nan) if log else heights
        few = len(across) <= FEW_STEPS
        ax.plot(
            across, shown, linewidth=1.8, label=label, marker="o" if few else "", markersize=4,
            **line_style(i),
        )  # fmt: skip
    if log:
        ax.set_yscale("log")
    clean(ax)
    ax.set_xlabel(against, color=INK)
    ax.set_ylabel(what, color=INK)
    if len(curves) > 1 or not what:
        ax.legend(frameon=False, labelcolor=INK)
    return ax
