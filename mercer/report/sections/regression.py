"""Performance of predicted numbers: against the truth, what is left over, and how it is spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._words import count, number, percent
from mercer.report.charts.frame import Frame, bars, chart, dots, guide, line, thinned
from mercer.report.charts.scale import LARGEST, LinearScale, nice
from mercer.report.html import Markup, card, table

MOST_POINTS = 1000
BINS = (12, 60)  # at least and at most, for the spread of the residuals


def panels(evaluation: Any, learning: Markup | None) -> list[Markup]:
    """Return the cells of the grid."""
    residual = np.asarray(evaluation.residuals, dtype=float)
    prediction = np.asarray(evaluation.prediction, dtype=float)
    truth = np.asarray(evaluation.y, dtype=float)
    kept = thinned(len(truth), MOST_POINTS)
    tips = [
        f"row {i}\nactual {number(truth[i])}, predicted {number(prediction[i])}\n"
        f"residual {number(residual[i])}"
        for i in kept
    ]
    return [
        predicted(prediction[kept], truth[kept], tips, evaluation),
        residuals(prediction[kept], residual[kept], tips),
        histogram(residual),
        quantiles(evaluation),
        *([learning] if learning else []),
    ]


def predicted(prediction: Any, truth: Any, tips: Any, evaluation: Any) -> Markup:
    """Return predictions against the truth, with the line where they are equal."""
    both = LinearScale.over(prediction, truth)
    frame = Frame(both, both, height=360.0)
    ends = np.array([both.low, both.high])
    words = "On the dashed line the prediction is exact."
    summary = (
        f"{count(len(truth), 'row')}; R² {number(evaluation.r2, 3)}, "
        f"mean absolute error {number(evaluation.mae, 3)}."
    )
    marks = guide(frame, ends, ends), dots(frame, prediction, truth, "model", tips)
    named = ("predicted", "Predicted and actual", words, frame, ("predicted", "actual"))
    return chart(*named, marks, summary=summary)


def residuals(prediction: Any, residual: Any, tips: Any) -> Markup:
    """Return residuals against predictions, with their running mean."""
    scale = LinearScale.over(prediction)
    frame = Frame(scale, LinearScale.over(residual, [0.0]), height=360.0)
    x, y = running_mean(prediction, residual)
    words = "Actual less predicted. Where the line, a running mean, leaves 0, the model is biased."
    summary = (
        f"{count(len(residual), 'row')}; half of the residuals lie between {_middle(residual)}."
    )
    marks = (
        guide(frame, [scale.low, scale.high], [0.0, 0.0]),
        dots(frame, prediction, residual, "model", tips),
        line(frame, x, y, "second"),
    )
    names = ("predicted", "residual")
    return chart("residuals", "Residuals", words, frame, names, marks, summary=summary)


def running_mean(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means of up to ten groups of neighbours along x."""
    groups = np.array_split(np.argsort(x, kind="stable"), max(1, min(10, len(x) // 12)))
    return np.array([x[g].mean() for g in groups]), np.array([y[g].mean() for g in groups])


def histogram(residual: np.ndarray) -> Markup:
    """Return how the residuals are spread."""
    edges = _edges(residual)
    heights, _ = np.histogram(residual, edges)
    top = float(heights.max()) * 1.05
    frame = Frame(LinearScale(edges[0], edges[-1]), LinearScale(0.0, top), height=300.0)
    tips = [
        f"{number(a, 3)} to {number(b, 3)}\n{count(n, 'row')}"
        for a, b, n in zip(edges[:-1], edges[1:], heights, strict=True)
    ]
    words = f"Half of the residuals lie between {_middle(residual)}."
    marks = (
        bars(frame, edges, heights, "model", tips),
        guide(frame, [0.0, 0.0], [0.0, top]) if edges[0] < 0 < edges[-1] else None,
    )
    return chart("spread", "Spread of the residuals", words, frame, ("residual", "rows"), marks)


def quantiles(evaluation: Any) -> Markup:
    """Return the residuals below which shares of the rows lie, and the largest error."""
    found = evaluation.residual_quantiles
    rows = [[percent(share, 0), number(value, 3)] for share, value in found.items()]
    rows.append(["largest error", number(evaluation.max_error, 3)])
    inside = table(["share of the rows", "residual below"], rows, "Quantiles", "numbers")
    return card("Quantiles of the residuals", inside)


def _edges(residual: np.ndarray) -> np.ndarray:
    """Return round edges of bins that hold all residuals."""
    residual = np.clip(residual, -LARGEST, LARGEST)
    scale = LinearScale.over(residual, pad=0.0)
    marks = nice(scale.low, scale.high, _n_bins(residual))
    step = marks[1] - marks[0]
    return np.concatenate([[marks[0] - step], marks, [marks[-1] + step]])


def _n_bins(residual: np.ndarray) -> int:
    """Return how many bins of the width of Freedman and Diaconis there are, within reason."""
    low, q1, q3, high = np.quantile(residual / (np.abs(residual).max() or 1.0), [0, 0.25, 0.75, 1])
    width = 2.0 * (q3 - q1) / np.cbrt(len(residual))
    return int(np.clip((high - low) / max(width, 1e-9), *BINS))


def _middle(residual: np.ndarray) -> str:
    low, high = np.quantile(residual, [0.25, 0.75])
    return f"{number(low, 3)} and {number(high, 3)}"
