"""Pictures of runs: the objective and the gradient, a loss or a likelihood, step after step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.plot._axes import axes_for, clean, legend, line_style
from mercer.plot._display import Display, documented, last_step

FEW_STEPS = 30  # of which each has a dot
LOG_FROM = 10.0  # a loss that falls by more than this factor is drawn on a log scale

Curves = dict[str, tuple[np.ndarray, np.ndarray]]  # across and height, by what the legend says


@documented
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

    Examples
    --------
    >>> from mercer import optimize, plot
    >>> solution = optimize.gradient_descent(lambda x: x @ x, [1.0, 2.0], grad=lambda x: 2 * x)
    >>> ax = plot.trace(solution)  # doctest: +SKIP
    """
    return TraceDisplay(_one_run(solution, against), against, log=True).plot(ax).ax_


@dataclass(eq=False, repr=False)
class TraceDisplay(Display):
    """How a run went: objective and gradient of an optimiser, the loss of a network, a likelihood.

    Parameters
    ----------
    curves : dict of str to pair of arrays
        Places across and heights of each curve, by what the legend says.
    across : str, default="steps"
        What the horizontal axis shows.
    what : str, default=""
        What the vertical axis shows; if it says enough, one curve has no legend.
    log : bool, default=False
        Whether heights are on a log scale (then those ≤ 0 are left out).

    Examples
    --------
    >>> from mercer import optimize
    >>> from mercer.plot import TraceDisplay
    >>> f, grad = lambda x: x[0] ** 2 + 9 * x[1] ** 2, lambda x: [2 * x[0], 18 * x[1]]
    >>> runs = {
    ...     "descent": optimize.gradient_descent(f, [1.0, 2.0], grad=grad),
    ...     "L-BFGS": optimize.lbfgs(f, [1.0, 2.0], grad=grad),
    ... }
    >>> display = TraceDisplay.from_solution(runs)  # doctest: +SKIP
    """

    curves: Curves
    across: str = "steps"
    what: str = ""
    log: bool = False

    @classmethod
    def from_solution(cls, solution: Any, *, against: str = "steps", ax: Any = None) -> Self:
        """Draw the run of one solution, or the objectives of several.

        Parameters
        ----------
        solution : Solution or dict of str to Solution
            What methods of `mercer.optimize` returned. One shows the objective above its least
            value and the size of the gradient; several the objectives above the least of all.
            The likelihood of `mercer.em` is drawn as it is.
        against : {"steps", "seconds"}, default="steps"
            The horizontal axis.
        """
        if isinstance(solution, Mapping):
            curves, what = _compared(solution, against), "objective above the least of all"
            return cls(curves, against, what, log=True).plot(ax)
        likelihood = _likelihood(getattr(solution, "certificate", None))
        if likelihood is not None:
            return cls(likelihood, "steps", "log-likelihood").plot(ax)
        return cls(_one_run(solution, against), against, log=True).plot(ax)

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Draw what a fitted model kept of its run.

        Parameters
        ----------
        model : fitted estimator
            A network (``loss_curve_``) or a mixture that EM has fitted; also a pipeline.
        """
        step = last_step(model)
        likelihood = _likelihood(getattr(step, "certificate_", None))
        if likelihood is not None:
            return cls(likelihood, "steps", "log-likelihood").plot(ax)
        if getattr(step, "loss_curve_", None) is None:
            raise TypeError(
                f"model must be fitted and keep its run (loss_curve_, or the likelihoods of EM); "
                f"got {type(step).__name__}"
            )
        loss = np.asarray(step.loss_curve_, dtype=np.float64)
        is_wide = len(loss) > 0 and loss.min() > 0 and loss.max() > LOG_FROM * loss.min()
        curves = {"loss": (np.arange(1.0, len(loss) + 1), loss)}
        return cls(curves, "epoch", "loss", log=bool(is_wide)).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = axes_for(ax)
        for i, (label, (across, heights)) in enumerate(self.curves.items()):
            # what is 0 has no place on a log scale
            shown = np.where(heights > 0, heights, np.nan) if self.log else heights
            style = {"marker": "o" if len(across) <= FEW_STEPS else "", **line_style(i)}
            ax.plot(across, shown, linewidth=1.8, label=label, markersize=4, **style)
        if self.log:
            ax.set_yscale("log")
        if len(self.curves) > 1 or not self.what:
            legend(ax)
        return clean(ax, x=self.across, y=self.what)


# ---------------------------------------------------------------- reading
def _one_run(solution: Any, against: str) -> Curves:
    """Return how far the objective is from its end, and from being proved, along a run."""
    across, rows = _read(solution, against)
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


def _read(solution: Any, against: str) -> tuple[np.ndarray, Any]:
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


def _likelihood(certificate: Any) -> Curves | None:
    """Return the likelihoods of a run of EM, which its certificate keeps."""
    parts = getattr(certificate, "parts", {})
    if "steps" not in parts or "largest_fall" not in parts:
        return None
    values = np.asarray(parts["steps"], dtype=np.float64)
    return {"log-likelihood": (np.arange(float(len(values))), values)}


def _compared(solutions: Mapping[str, Any], against: str) -> Curves:
    if not solutions:
        raise ValueError("solution must hold at least one run; got an empty dict")
    runs = {name: _read(solution, against) for name, solution in solutions.items()}
    values = {name: np.asarray(rows["values"]) for name, (_, rows) in runs.items()}
    least = min(float(v.min()) for v in values.values())
    return {name: (across, values[name] - least) for name, (across, _) in runs.items()}
