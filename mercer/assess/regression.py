"""What is said of predicted numbers: how large the residuals are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.assess.bootstrap import (
    Drawn,
    Interval,
    Resampling,
    number,
    percentiles,
)
from mercer.plot import numbers as pictures
from mercer.plot._axes import row_of_axes
from mercer.plot.records import ratio

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
CHEAP_DRAWS = 3e7  # values drawn for an interval that is printed without being asked for
DRAWN = ("r2", "rmse", "mae")


@dataclass(frozen=True, eq=False)
class Residuals:
    """Targets, predictions and weights, and what is drawn from them."""

    y: np.ndarray
    prediction: np.ndarray
    weight: np.ndarray
    n_bootstrap: int
    seed: int

    @property
    def values(self) -> np.ndarray:
        return self.y - self.prediction

    def _centered(self) -> np.ndarray:
        """Return y less its mean: exactly 0 where y is constant, in spite of rounding."""
        if self.y.min() == self.y.max():
            return np.zeros_like(self.y)
        return self.y - np.average(self.y, weights=self.weight)

    def errors(self, weight: np.ndarray) -> dict[str, np.ndarray]:
        """Return r2, rmse and mae for weights of shape (b, n)."""
        residual, y = self.values, self._centered()
        unit, spread = (np.abs(v).max() or np.float64(1.0) for v in (residual, y))
        r, t = residual / unit, y / spread  # squares that neither overflow nor vanish
        total = weight.sum(axis=1)
        squared, absolute, mean, square = (
            ratio(weight @ v, total) for v in (r**2, abs(r), t, t**2)
        )
        variance = np.maximum(square - mean**2, 0.0)
        with np.errstate(over="ignore"):
            share = ratio(squared, variance) * (unit / spread) ** 2
        return {"r2": 1.0 - share, "rmse": unit * np.sqrt(squared), "mae": unit * absolute}

    def draw(self, name: str) -> np.ndarray:
        """Return an error for all drawn samples."""
        n = len(self.y)
        drawn = Resampling(np.zeros(n, np.intp), np.ones(n, np.intp), self.n_bootstrap, self.seed)
        return drawn.values(lambda w: self.errors(w)[name], self.weight)

    def quantile(self, shares: Any) -> np.ndarray:
        """Return the residuals below which these shares of the weight lie."""
        order = np.argsort(self.values)
        below = np.cumsum(self.weight[order])
        at = np.searchsorted(below, np.asarray(shares) * below[-1] * (1.0 - 1e-12))
        return self.values[order][np.minimum(at, len(order) - 1)]


@dataclass(frozen=True, eq=False)
class RegressionEvaluation(Drawn):
    """What `evaluate` says of predicted numbers.

    R² = 1 − Σ(y − p)² / Σ(y − ȳ)²; NaN if y is constant, and ``notes`` says so.

    Attributes
    ----------
    r2, rmse, mae, max_error : float
        Share of the variance that is explained, root mean square, mean absolute and largest error.
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
    max_error: float
    residual_quantiles: dict[float, float]
    residuals: np.ndarray
    n_rows: int
    notes: tuple[str, ...]
    _answers: Residuals = field(repr=False)

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
        """Return a confidence interval of "r2", "rmse" or "mae".

        Rows are drawn again with replacement, and the middle share ``level`` of the values is
        taken. The largest error has none: what is drawn again never exceeds it.
        """
        return percentiles(self.draws(name), level)

    def draws(self, name: str) -> np.ndarray:
        """Return the values of an error in the drawn samples, shape (n_bootstrap,)."""
        if name not in DRAWN:
            raise ValueError(f"there is no interval of {name!r}; there are those of {list(DRAWN)}")
        return self._answers.draw(name)

    # ------------------------------------------------------------ for people
    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield the lines of the table: a name and a text."""
        cheap = 0 < self.n_rows * self.n_bootstrap <= CHEAP_DRAWS
        for name in DRAWN:
            yield name, self._estimate(name, cheap)
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
