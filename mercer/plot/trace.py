"""How a run went: the objective and the gradient, step after step."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plot._axes import BLUE, INK, ORANGE, axes_for, clean


def trace(solution: Any, *, against: str = "steps", ax: Any = None) -> Any:
    """Draw what is left of the objective, and the size of the gradient, along a run.

    The objective is shown above the least value of the run, on a log scale: a line falls straight
    where a method converges linearly, and bends down where it is faster.

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
    rows = _columns(solution)
    if against not in ("steps", "seconds"):
        raise ValueError(f"against must be 'steps' or 'seconds'; got {against!r}")
    values, sizes = rows["values"], rows["gradient_norms"]
    across = np.arange(len(values)) if against == "steps" else rows["seconds"]
    ax = axes_for(ax)
    for heights, color, label in (
        (values - values.min(), BLUE, "objective above its least"),
        (sizes, ORANGE, "size of the gradient"),
    ):
        # what is 0 has no place on a log scale
        ax.plot(across, np.where(heights > 0, heights, np.nan), color=color, lw=1.8, label=label)
    ax.set_yscale("log")
    clean(ax)
    ax.set_xlabel(against, color=INK)
    ax.legend(frameon=False, labelcolor=INK)
    return ax


def _columns(solution: Any) -> Any:
    rows = getattr(solution, "stats", {}).get("trace")
    if rows is None or not len(rows["values"]):
        raise ValueError(
            "solution must have a trace, as the descent methods of mercer.optimize return it; got "
            f"{type(solution).__name__} without one"
        )
    return rows
