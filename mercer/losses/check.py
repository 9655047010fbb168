"""Whether a loss is what it says: for users who write their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._display import CheckReport, Row, yes_no
from mercer.losses.base import CLASSIFY, Loss
from mercer.losses.names import as_loss


@dataclass(frozen=True, repr=False)
class LossReport(CheckReport):
    """What `check_loss` found.

    Parameters
    ----------
    ok : bool
        Whether every test passed at the points that were tried.
    tests : dict
        The name of each test and whether it passed.
    witness : dict or None
        The targets and predictions that break the first test that failed.
    reason : str
        The finding in words.
    """

    _title = "check_loss"

    ok: bool
    tests: dict[str, bool]
    witness: dict[str, float] | None
    reason: str
    loss: str

    @property
    def about(self) -> str:
        """What was checked."""
        return self.loss

    def rows(self) -> Iterator[Row]:
        """Yield the lines of the table."""
        yield from ((name, yes_no(passed)) for name, passed in self.tests.items())
        yield "verdict", self.reason


def check_loss(
    loss: Any, *, tol: float = 1e-6, n_points: int = 500, random_state: Any = 0
) -> LossReport:
    """Test whether the parts of a loss belong together: convexity, slope, curvature, conjugate.

    Passing is evidence, failing is proof: the report names a target and predictions.

    Parameters
    ----------
    loss : Loss or str
        The loss.
    tol : float, default=1e-6
        What counts as zero, relative to the values that are compared.
    n_points : int, default=500
        How many random targets and pairs of predictions are tried.

    Examples
    --------
    >>> from mercer import check_loss
    >>> check_loss("huber").ok
    True
    """
    if not (n_points >= 1 and tol > 0):
        raise ValueError(f"n_points must be ≥ 1 and tol must be > 0; got {n_points} and {tol}")
    loss = as_loss(loss)
    loss.check()
    rng = np.random.default_rng(random_state)
    y = rng.choice([-1.0, 1.0], n_points)
    if loss.kind != CLASSIFY:
        y = 3.0 * rng.standard_normal(n_points)
    f, g = y + 3.0 * rng.standard_normal((2, n_points))
    t = rng.random(n_points)
    with np.errstate(all="ignore"):  # what is not a number fails its test
        found = {name: test(loss, y, f, g, t, tol) for name, test in _LOSS_TESTS.items()}
    broken = next((name for name, excess in found.items() if not (excess <= 0).all()), None)
    witness, reason = None, "no objection at these points"
    if broken is not None:
        at = int(np.argmax(np.where(np.isnan(found[broken]), np.inf, found[broken])))
        witness = {"y": float(y[at]), "f": float(f[at]), "g": float(g[at]), "t": float(t[at])}
        where = ", ".join(f"{name} = {value:.4g}" for name, value in witness.items())
        reason = f"{_LOSS_FAULTS[broken]} ({where})"
    tests = {name: bool((excess <= 0).all()) for name, excess in found.items()}
    return LossReport(broken is None, tests, witness, reason, repr(loss))


def _excess(error: np.ndarray, size: np.ndarray, tol: float) -> np.ndarray:
    return error - tol * (1.0 + np.abs(size))


def _convex(loss: Loss, y: Any, f: Any, g: Any, t: Any, tol: float) -> np.ndarray:
    chord = (1.0 - t) * loss.value(y, f) + t * loss.value(y, g)
    return _excess(loss.value(y, (1.0 - t) * f + t * g) - chord, chord, tol)


def _slope(loss: Loss, y: Any, f: Any, g: Any, t: Any, tol: float) -> np.ndarray:
    """A difference quotient of a convex function lies between the slopes at its ends."""
    h = 1e-4
    quotient = (loss.value(y, f + h) - loss.value(y, f - h)) / (2.0 * h)
    low, high = loss.derivative(y, f - h), loss.derivative(y, f + h)
    return _excess(np.maximum(low - quotient, quotient - high), quotient, tol)


def _continuous(loss: Loss, y: Any, f: Any, g: Any, t: Any, tol: float) -> np.ndarray:
    """Halve [f, g] towards the larger rise of the slope: a kink keeps its rise."""
    low, high = np.minimum(f, g), np.maximum(f, g)
    for _ in range(45):
        middle = 0.5 * (low + high)
        slopes = [loss.derivative(y, x) for x in (low, middle, high)]
        left = slopes[1] - slopes[0] > slopes[2] - slopes[1]
        low, high = np.where(left, low, middle), np.where(left, middle, high)
    rise = loss.derivative(y, high) - loss.derivative(y, low)
    return _excess(rise if loss.smooth else np.zeros_like(rise), rise, 1e-3)


def _bend(loss: Loss, y: Any, f: Any, g: Any, t: Any, tol: float) -> np.ndarray:
    """Where the slope bends evenly, its difference quotient is the curvature."""
    h = 1e-4
    slopes = [loss.derivative(y, f + step * h) for step in (-2.0, -1.0, 1.0, 2.0)]
    near, far = (slopes[2] - slopes[1]) / (2.0 * h), (slopes[3] - slopes[0]) / (4.0 * h)
    given = loss.curvature(y, f)
    even = np.abs(near - far) <= 1e-3 * (1.0 + np.abs(near))
    return np.maximum(
        np.where(even, _excess(np.abs(given - near), near, 1e-2), 0.0), -np.sign(given)
    )


def _young(loss: Loss, y: Any, f: Any, g: Any, t: Any, tol: float) -> np.ndarray:
    """ℓ(f) + ℓ*(v) ≥ vf for every v, with equality at v = ℓ′(f)."""
    own, other = loss.derivative(y, f), loss.derivative(y, g)
    equal = loss.value(y, f) + loss.conjugate(y, own) - own * f
    below = other * f - loss.value(y, f) - loss.conjugate(y, other)
    return np.maximum(_excess(np.abs(equal), own * f, tol), _excess(below, other * f, tol))


_LOSS_TESTS: dict[str, Callable[..., np.ndarray]] = {
    "convex": _convex,
    "derivative": _slope,
    "smooth as it says": _continuous,
    "curvature": _bend,
    "conjugate": _young,
}

_LOSS_FAULTS = {
    "convex": "not convex: ℓ((1 − t)f + tg) > (1 − t)ℓ(f) + tℓ(g)",
    "derivative": "derivative(y, f) is not the slope of value(y, f)",
    "smooth as it says": "the derivative jumps between f and g, but the loss says smooth=True",
    "curvature": "curvature(y, f) is negative or not the slope of derivative(y, f)",
    "conjugate": "ℓ(f) + ℓ*(v) ≥ vf, equal for v = ℓ′(f), does not hold for v = ℓ′(f) or ℓ′(g)",
}
