"""The picture of a run shows the run."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import optimize, plot
from tests.compare import refuses

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def run():
    return optimize.gradient_descent(
        lambda x: x @ np.diag([1.0, 20.0]) @ x,
        [3.0, 1.0],
        grad=lambda x: 2.0 * np.array([1.0, 20.0]) * x,
    )


@pytest.mark.parametrize("against", ["steps", "seconds"])
def test_both_curves_are_those_of_the_run(against):
    solution = run()
    ax = plot.trace(solution, against=against)
    trace, (values, sizes) = solution.stats["trace"], ax.lines
    across = np.arange(len(trace["values"])) if against == "steps" else trace["seconds"]
    above = trace["values"] - trace["values"].min()
    assert np.array_equal(values.get_xdata(), across)
    assert np.array_equal(values.get_ydata()[above > 0], above[above > 0])
    assert np.array_equal(sizes.get_ydata(), trace["gradient_norms"])
    assert (ax.get_yscale(), ax.get_xlabel()) == ("log", against)


def test_given_axes_are_used():
    ax = plt.subplots()[1]
    assert plot.trace(run(), ax=ax) is ax


def test_bad_input_is_named():
    refuses(lambda: plot.trace(run(), against="time"), ValueError, "against must be")
    refuses(lambda: plot.trace(3.0), ValueError, "must have a trace")


@pytest.mark.parametrize("against", ["steps", "seconds"])
def test_stages_of_a_linear_program_are_drawn_as_points(against):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(120, 80))
    solution = optimize.linear_program(-np.ones(80), A, np.ones(120), bounds=(0, 1))
    ax = plot.trace(solution, against=against)
    rows, (distance, worst) = solution.stats["trace"], ax.lines
    across = rows["iterations"] if against == "steps" else rows["seconds"]
    assert np.array_equal(distance.get_xdata(), across)
    apart = np.abs(rows["values"] - rows["values"][-1])
    assert np.array_equal(distance.get_ydata()[apart > 0], apart[apart > 0])
    shown = np.isfinite(rows["gradient_norms"]) & (rows["gradient_norms"] > 0)
    assert np.array_equal(worst.get_ydata()[shown], rows["gradient_norms"][shown])
    assert {t.get_text() for t in ax.get_legend().get_texts()} == {
        "objective from its last",
        "gap and infeasibility",
    }
    assert distance.get_marker() == "o"
