"""What is said of predicted numbers: how large the residuals are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mercer.assess.bootstrap import (
    Drawn,
    Interval,
    Resampling,
    number,
)
from mercer.plot import numbers as pictures
from mercer.plot._axes import row_of_axes
from mercer.plot.records import ratio

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
CHEAP_DRAWS = 3e7  # values drawn for an interval that is printed without being asked for
DRAWN = ("r2", "rmse", "mae", "median_error", "relative_error", "mape", "rmsle")
ROUNDING = 1e-12  # of sums of weights

Measure = Callable[[np.ndarray], np.ndarray]
"""An error for weights of the rows, shape (b, n)."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """Targets, predictions and weights, and what is drawn from them."""

    y: np.ndarray
    prediction: np.ndarray
    weight: np.ndarray
    n_bootstrap: int
    seed: int
    clusters: np.ndarray | None = None  # the group of each row, where groups are drawn whole

    @property
    def values(self) -> np.ndarray:
        return self.y - self.prediction

    def _centered(self) -> np.ndarray:
        """Return y less its mean: exactly 0 where y is constant, in spite of rounding."""
        if self.y.min() == self.y.max():
            return np.zeros_like(self.y)
        return self.y - np.average(self.y, weights=self.weight)

    def errors(self, weight: np.ndarray) -> dict[str, np.ndarray]:
        """Return all errors that these targets have, for weights of shape (b, n)."""
        return {name: error(weight) for name, error in self.measures.items()}

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """Errors by name, as functions of weights of shape (b, n)."""
        found: dict[str, Measure] = {
            "r2": self._r2,
            "rmse": self._rmse,
            "mae": self._mean(np.abs(self.values)),
            "median_error": self._median_error,
        }
        typical = float(weighted_median(np.abs(self.y), self.weight[None])[0])
        if typical > 0:
            found["relative_error"] = self._mean(np.abs(self.values) / typical)
        if self.y.min() > 0:
            found["mape"] = self._mean(np.abs(self.values) / self.y)
        if self.y.min() >= 0:
            found["rmsle"] = self._rmsle
        return found

    def _r2(self, weight: np.ndarray) -> np.ndarray:
        y = self._centered()
        spread = np.abs(y).max() or np.float64(1.0)
        total, t = weight.sum(axis=1), y / spread  # squares that neither overflow nor vanish
        mean, square = ratio(weight @ t, total), ratio(weight @ t**2, total)
        with np.errstate(over="ignore"):
            return 1.0 - ratio(
                (self._rmse(weight) / spread) ** 2, np.maximum(square - mean**2, 0.0)
            )

    def _rmse(self, weight: np.ndarray) -> np.ndarray:
        return _root_mean_square(self.values, weight)

    def _rmsle(self, weight: np.ndarray) -> np.ndarray:
        """The root mean square of log(1 + y) − log(1 + p); a prediction below 0 counts as 0."""
        return _root_mean_square(
            np.log1p(self.y) - np.log1p(np.maximum(self.prediction, 0.0)), weight
        )

    def _median_error(self, weight: np.ndarray) -> np.ndarray:
        return weighted_median(np.abs(self.values), weight)

    @staticmethod
    def _mean(values: np.ndarray) -> Measure:
        unit = values.max() or np.float64(1.0)
        return lambda weight: unit * ratio(weight @ (values / unit), weight.sum(axis=1))

    def draw(self, name: str) -> np.ndarray:
        """Return an error for all drawn samples."""
        return self._drawn[name]

    @cached_property
    def _drawn(self) -> dict[str, np.ndarray]:
        """All errors for all drawn samples: to draw takes longer than most of them."""
        n, names = len(self.y), list(self.measures)
        one, alone = np.zeros(n, np.intp), np.ones(n, np.intp)
        drawn = Resampling(one, alone, self.n_bootstrap, self.seed, clusters=self.clusters)
        values = drawn.values(lambda w: np.column_stack([*self.errors(w).values()]), self.weight)
        return dict(zip(names, values.T, strict=True))

    def quantile(self, shares: Any) -> np.ndarray:
        """Return the residuals below which these shares of the weight lie."""
        order = np.argsort(self.values)
        below = np.cumsum(self.weight[order])
        at = np.searchsorted(below, np.asarray(shares) * below[-1] * (1.0 - 1e-12))
        return self.values[order][np.minimum(at, len(order) - 1)]


def _root_mean_square(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    unit = np.abs(values).max() or np.float64(1.0)  # squares that neither overflow nor vanish
    return unit * np.sqrt(ratio(weight @ (values / unit) ** 2, weight.sum(axis=1)))


def weighted_median(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return medians for weights of shape (b, n): the mean of both middle values if there are two.

    Whole weights count as so many equal rows.
    """
    order = np.argsort(values, kind="stable")
    ordered, below = values[order], np.cumsum(weight[:, order], axis=1)  # (b, n)
    half = below[:, -1:] / 2.0
    first, next_ = (
        (below < half * (1 - ROUNDING)).sum(axis=1),
        (below <= half * (1 + ROUNDING)).sum(axis=1),
    )
    last = len(ordered) - 1
    return (ordered[np.minimum(first, last)] + ordered[np.minimum(next_, last)]) / 2.0


@dataclass(frozen=True, eq=False)
class RegressionEvaluation(Drawn):
    """What `evaluate` says of predicted numbers.

    R² = 1 − Σ(y − p)² / Σ(y − ȳ)²; NaN if y is constant, and ``notes`` says so.

    Attributes
    ----------
    r2, rmse, mae, median_error, max_error : float
        Share of the variance that is explained, root mean square, mean absolute, median absolute
        and largest error.
    relative_error, mape, rmsle : float or None
        Mean absolute error over the median of |y|; mean of |y − p| / y where all y > 0; root mean
        square of log(1 + y) − log(1 + p) where all y ≥ 0. None where these targets have no such.
    residual_quantiles : dict of float to float
        Residuals y − p below which 0, 5, 25, 50, 75, 95 and 100 % of the rows lie.
    y, prediction, residuals : array of shape (n,)
        The targets y, what was predicted, p, and y − p.
    notes : tuple of str
        What is undefined, and why; how the targets were read.
    n_rows : int
        The number of rows.

    Examples
    --------
    >>> from mercer.assess import evaluate
    >>> result = evaluate([1.0, 2.0, 3.5], [1.5, 2.0, 3.0])
    >>> result.max_error, round(result.mae, 3)
    (0.5, 0.333)
    """

    r2: float
    rmse: float
    mae: float
    median_error: float
    max_error: float
    residual_quantiles: dict[float, float]
    residuals: np.ndarray
    n_rows: int
    notes: tuple[str, ...]
    _answers: Residuals = field(repr=False)
    relative_error: float | None = None
    mape: float | None = None
    rmsle: float | None = None

    @classmethod
    def of(cls, rows: Residuals, notes: tuple[str, ...] = ()) -> RegressionEvaluation:
        """Evaluate residuals."""
        errors = {name: float(v[0]) for name, v in rows.errors(rows.weight[None]).items()}
        if np.isnan(errors["r2"]):
            notes = (*notes, "r2 is undefined: y is constant")
        residuals = rows.values
        residuals.flags.writeable = False
        return cls(
            **errors,
            max_error=float(np.abs(residuals[rows.weight > 0]).max()),
            residual_quantiles=dict(zip(QUANTILES, rows.quantile(QUANTILES).tolist(), strict=True)),
            residuals=residuals,
            n_rows=len(rows.y),
            notes=notes,
            _answers=rows,
        )

    @property
    def y(self) -> np.ndarray:
        """The targets, shape (n,)."""
        return self._answers.y

    @property
    def prediction(self) -> np.ndarray:
        """What was predicted, shape (n,)."""
        return self._answers.prediction

    def interval(self, name: str, level: float = 0.95) -> Interval:
        """Return a confidence interval of "r2", "rmse", "mae" or another mean or median error.

        Rows are drawn again with replacement, and the middle share ``level`` of the values is
        taken. The largest error has none: what is drawn again never exceeds it. Groups are drawn
        whole, and the interval of few of them is wider.
        """
        return self._ends(name, level)

    def draws(self, name: str) -> np.ndarray:
        """Return the values of an error in the drawn samples, shape (n_bootstrap,)."""
        known = list(self._answers.measures)
        if name not in known:
            raise ValueError(f"there is no interval of {name!r}; there are those of {known}")
        return self._answers.draw(name)

    # ------------------------------------------------------------ for people
    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield the lines of the table: a name and a text."""
        cheap = 0 < self.n_rows * self.n_bootstrap <= CHEAP_DRAWS
        for name in DRAWN:
            if getattr(self, name) is not None:
                yield name.replace("_", " "), self._estimate(name, cheap)
        yield "max error", number(self.max_error)
        for share, value in self.residual_quantiles.items():
            yield f"residual, {share:.0%}", number(value)
        yield from (("note", note) for note in self.notes)

    def _about(self) -> str:
        return f"{self.n_rows} rows, numbers"

    def plot(self, axes: Any = None) -> Any:
        """Draw targets against predictions, and the residuals.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        array of matplotlib Axes
        """
        axes = row_of_axes(2, axes)
        pictures.predictions(self._answers.prediction, self._answers.y, ax=axes[0])
        pictures.residuals(self._answers.prediction, self.residuals, ax=axes[1])
        return axes
