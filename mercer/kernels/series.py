"""Kernels on series: by the best alignment of two (DTW), and by all alignments."""

from __future__ import annotations

from math import ceil
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from mercer._array import allocate, as_objects, spread_out
from mercer._sklearn import Interval, StrOptions
from mercer.kernels import _series_loops as loops
from mercer.kernels._series import as_series, fill_pairs, lengths
from mercer.kernels.base import INDEFINITE, PSD, Kernel
from mercer.kernels.radial import POSITIVE
from mercer.kernels.sample import Pair, Sample
from mercer.kernels.tiles import fill_tiles
from mercer.kernels.widths import widths

NO_BAND = -1
WIDEST = 2**40  # steps: no series is as long, and sums of such numbers do not overflow
ASKED_SERIES = 24  # for the median of distances between series
ASKED_STEPS = 512  # for the median of distances between steps
BANDS = (0, 0.05, 0.2, None)  # that a search tries: step by step, nearly, loosely, anyhow

Series = list[np.ndarray]


class SeriesKernel(Kernel):
    """A kernel on series, each of shape (length,) or (length, channels).

    A child names its compiled ``_loop``, and what its answers are.
    """

    releases_gil = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "gamma": [POSITIVE, StrOptions({"scale"})],
        "band": [
            Interval(Integral, 0, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            None,
        ],
    }
    _loop: Any
    _reach = 1.0  # what γ by the rule "scale" makes of a typical distance

    def __init__(self, gamma: float | str = "scale", band: Any = None):
        self.gamma = gamma
        self.band = band

    def check_pair(self, X: Sample, Y: Sample) -> None:
        x, y = (_series(sample).data[0].shape[1] for sample in (X, Y))
        if x != y:
            raise ValueError(f"X and Y must have the same number of channels; got {x} and {y}")

    def work_per_value(self, X: Sample) -> int:
        """Return about how many operations one value costs."""
        steps = int(X.summary("steps", lambda _: lengths(_series(X.root).data).max()))
        return steps * (steps if self.band is None else min(steps, 2 * int(self.band) + 1))

    # ------------------------------------------------------------ what the training rows decide
    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        series: Series = _series(X).data
        if weights is not None:
            series = [one for one, weight in zip(series, weights, strict=True) if weight > 0]
        band = _steps(self.band, series)
        gamma = self._scale(series, band) if isinstance(self.gamma, str) else float(self.gamma)
        return {"band": band, "gamma": gamma}

    def _scale(self, series: Series, band: int | None) -> float:
        """Return γ by the rule "scale"."""
        raise NotImplementedError

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        return {"gamma": widths(self._reach / self._scale(_series(X).data, None)), "band": BANDS}

    # ------------------------------------------------------------ values
    def _answers(self, pair: Pair, out: np.ndarray) -> None:
        """Write what the loop says of all pairs of series."""
        both = pair.derive("series", as_series)
        found = out if out.dtype == np.float64 else np.empty(out.shape)
        self._fill_pairs(both.X.data, both.Y.data, found, _is_same(pair.X, pair.Y))
        if found is not out:
            out[...] = found

    def _fill_pairs(self, X: Series, Y: Series, out: np.ndarray, mirror: bool) -> None:
        gamma = 1.0 if isinstance(self.gamma, str) else float(self.gamma)
        band = NO_BAND if self.band is None else min(int(self.band), WIDEST)
        fill_pairs(self._loop, X, Y, out, gamma=gamma, band=band, mirror=mirror)


def _series(sample: Sample) -> Sample:
    return sample.derive("series", as_series)


def _is_same(X: Sample, Y: Sample) -> bool:
    """Return whether two views are of the same rows of one sample."""
    if X.root is not Y.root or len(X) != len(Y):
        return False
    everything = np.arange(len(X.root))
    return bool(np.array_equal(everything[X.index], everything[Y.index]))


def _steps(band: Any, series: Series) -> int | None:
    """Return a band as a number of steps; a share is one of the longest series."""
    if band is None or isinstance(band, Integral):
        return None if band is None else int(band)
    return ceil(band * int(lengths(series).max()))


def _median(values: np.ndarray) -> float:
    """Return the median of positive values, or 0 if there are none."""
    positive = values[values > 0]
    return float(np.median(positive)) if len(positive) else 0.0


class _SquaredDTW(SeriesKernel):
    """DTW² as the values of a tile (it is no kernel)."""

    _loop = staticmethod(loops.warp)

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        self._answers(pair, out)

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        return {"band": _steps(self.band, _series(X).data)}


class DTW(_SquaredDTW):
    """The function k(x, y) = exp(−γ · DTW(x, y)²) of series: not positive semidefinite.

    DTW² is the least sum of ‖xᵢ − yⱼ‖² along an alignment: a path through all steps of both series
    that never goes back. Series have one or several channels, and may differ in length.

    Parameters
    ----------
    gamma : float or "scale", default="scale"
        γ > 0. "scale" is 1/median of DTW² between training series (of at most 24).
    band : int, float or None, default=None
        The alignment stays so many steps (or this share of the longest training series) off the
        diagonals that lead from the first steps and to the last; None means anywhere.

    Examples
    --------
    >>> from mercer.kernels import DTW
    >>> DTW(gamma=1.0)([[0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 2.0, 2.0], [0.0, 2.0]]).round(4)
    array([[1.    , 1.    , 0.3679],
           [1.    , 1.    , 0.3679],
           [0.3679, 0.3679, 1.    ]])
    """

    @property
    def definiteness(self) -> str:
        return INDEFINITE

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        return SeriesKernel._bound_values(self, X, weights)

    def _scale(self, series: Series, band: int | None) -> float:
        chosen = [series[i] for i in spread_out(len(series), ASKED_SERIES)]
        squares = np.empty((len(chosen), len(chosen)))
        _SquaredDTW(band=band)._fill_pairs(chosen, chosen, squares, True)
        median = _median(squares)
        return 1.0 / median if median > 0 else 1.0

    @property
    def shares(self) -> _SquaredDTW:
        """The statistic that serves every γ."""
        return _SquaredDTW(band=self.band)

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        pair.fill(self.shares, out)
        out *= -float(self.gamma)
        np.exp(out, out=out)

    def _diagonal(self, X: Sample) -> np.ndarray:
        return np.ones(len(X))


def dtw_distance(X: Any, Y: Any = None, band: float | None = None) -> Any:
    """Return the distances of dynamic time warping between series.

    DTW(x, y)² is the least sum of ‖xᵢ − yⱼ‖² along an alignment of x and y.

    Parameters
    ----------
    X, Y : series
        A list of arrays of shape (length,) or (length, channels), or an array of shape (n, length)
        or (n, length, channels), in which shorter series are padded with NaN at their end;
        ``Y=None`` means ``Y = X``. Two single series of numbers, each of shape (length,), are
        understood as well.
    band : int, float or None, default=None
        As for `mercer.kernels.DTW`; a share is one of the longest series of both.

    Returns
    -------
    array of shape (n, m), or float
        The distances; of two single series one number.

    Examples
    --------
    >>> from mercer import dtw_distance
    >>> dtw_distance([0.0, 1.0, 2.0], [0.0, 2.0, 2.0])
    1.0
    >>> dtw_distance([[0.0, 1.0, 2.0], [0.0, 2.0, 2.0]])
    array([[0., 1.],
           [1., 0.]])
    """
    if Y is not None and _is_single(X) and _is_single(Y):
        return float(dtw_distance([X], [Y], band)[0, 0])
    kernel = _SquaredDTW(band=band)
    kernel.check()
    right = Sample(as_objects(X if Y is None else Y, "X" if Y is None else "Y"))
    left = right if Y is None else Sample(as_objects(X, "X"))
    kernel.check_pair(left, right)
    bound = _SquaredDTW(band=_steps(band, _series(left).data + _series(right).data))
    out = allocate((len(left), len(right)), np.float64)
    fill_tiles(bound, left, right, out)
    return np.sqrt(out, out=out)


def _is_single(X: Any) -> bool:
    """Return whether this is one series of numbers, not several."""
    return len(X) > 0 and all(isinstance(value, Real) for value in X)


class GlobalAlignment(SeriesKernel):
    """Global alignment kernel: the sum over all alignments of two series (Cuturi, 2011).

    An alignment counts Π κ(xᵢ, yⱼ) over its pairs of steps, with κ = e/(2 − e) and
    e = exp(−γ‖xᵢ − yⱼ‖²), which is exp of −γ‖xᵢ − yⱼ‖² − log(2 − e). The number of alignments
    grows like 5.8 to the power of the length: machines need ``GlobalAlignment().normalized()``,
    which is computed from logarithms and neither under- nor overflows. The kernel alone raises
    where its values leave the range of numbers.

    Parameters
    ----------
    gamma : float or "scale", default="scale"
        γ > 0. "scale" is 1/(2 σ²) with σ = the median distance between steps of the training
        series (of at most 512 of them) times √(the median length).
    band : int, float or None, default=None
        T steps (or this share of the longest training series): e is multiplied by
        1 − |i − j|/(T + 1) for |i − j| ≤ T and by 0 beyond, which keeps the kernel positive
        semidefinite. Series that differ by more than T in length have the value 0.

    Examples
    --------
    >>> from mercer.kernels import GlobalAlignment
    >>> kernel = GlobalAlignment(gamma=0.1).normalized()
    >>> kernel([[0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 2.0], [2.0, 1.0]]).round(3)
    array([[1.   , 0.811, 0.365],
           [0.811, 1.   , 0.149],
           [0.365, 0.149, 1.   ]])
    """

    _loop = staticmethod(loops.align)
    _reach = 0.5
    needs_normalizing = True

    @property
    def definiteness(self) -> str:
        return PSD

    def _scale(self, series: Series, band: int | None) -> float:
        steps = np.concatenate(series)
        steps = steps[spread_out(len(steps), ASKED_STEPS)]
        squares = np.square(steps[:, None, :] - steps[None, :, :]).sum(axis=2)
        spread = _median(squares) * float(np.median(lengths(series)))
        return 0.5 / spread if spread > 0 else 1.0

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        self._answers(pair, out)
        _exp_or_raise(out)

    def _diagonal(self, X: Sample) -> np.ndarray:
        values = self._log_diagonal(X).copy()
        _exp_or_raise(values)
        return values

    def _log_diagonal(self, X: Sample) -> np.ndarray:
        """Return log k(x, x), computed once for each series of the whole sample.

        Tiles side by side each compute what they need: they would wait for the whole otherwise.
        """
        known = X.summary(("log diagonal", self), lambda _: np.full(len(X.root), np.nan))
        rows = np.arange(len(X.root))[X.index]
        one, series = np.empty((1, 1)), _series(X).data
        for place, row in enumerate(rows):
            if np.isnan(known[row]):
                self._fill_pairs([series[place]], [series[place]], one, False)
                known[row] = one[0, 0]
        return known[rows]

    def _fill_normalized(self, pair: Pair, out: np.ndarray) -> None:
        logs = np.empty(out.shape)  # differences of numbers that may be thousands
        self._answers(pair, logs)
        same = _is_same(pair.X, pair.Y)  # then the diagonal is there already
        of_x = np.diagonal(logs).copy() if same else self._log_diagonal(pair.X)
        of_y = of_x if same else self._log_diagonal(pair.Y)
        logs -= 0.5 * of_x[:, None]
        logs -= 0.5 * of_y[None, :]
        out[...] = np.exp(logs)

    def _diagonal_normalized(self, X: Sample) -> np.ndarray:
        return np.ones(len(X))  # k(x, x) is never 0, though it may underflow or overflow


def _exp_or_raise(logs: np.ndarray) -> None:
    """Replace logarithms by their exponentials, in place, or say that they are beyond numbers."""
    largest = float(logs.max(initial=-np.inf))
    if largest > np.log(np.finfo(logs.dtype).max):
        raise OverflowError(
            f"GlobalAlignment has a value of e^{largest:.0f}, beyond {logs.dtype}: use "
            f"GlobalAlignment(…).normalized(), which is computed from logarithms"
        )
    np.exp(logs, out=logs)
