"""Expectation maximisation in general: the loop, its monotone likelihood and its proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._limits import Limits
from mercer.result import Certificate, Solution, Status

ROUNDING = 1e-9  # of a log-likelihood, relative to its size: such a fall is none


@dataclass(frozen=True)
class EMSolution(Solution):
    """A solution that knows the log-likelihood of its parameters."""

    log_likelihood: float = -np.inf


def em(
    e_step: Callable[[Any], Any],
    m_step: Callable[[Any], Any],
    start: Any,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    log_likelihood: Callable[[Any], float] | None = None,
    distance: Callable[[Any, Any], float] | None = None,
    time_limit: float | None = None,
    about: str = "EM",
) -> EMSolution:
    """Maximise a likelihood with hidden variables by steps that never lower it.

    θ ← argmax Q(θ; θ_old), where Q is the expected log-likelihood of all variables, those that are
    hidden included; then log p(x; θ) ≥ log p(x; θ_old). It stops at the first θ from which a step
    gains at most ``tol``: a local optimum or a saddle, with no guarantee that it is the best.

    Parameters
    ----------
    e_step : callable
        ``e_step(theta)`` returns what the M step needs to know of the hidden variables; without
        ``log_likelihood`` a pair: that, and the log-likelihood of theta.
    m_step : callable
        ``m_step(expected)`` returns the parameters that maximise Q.
    start : object
        The first parameters.
    tol : float, default=1e-6
        The gain of a step that is too small to go on.
    max_iter : int, default=1000
        Most steps.
    log_likelihood : callable, default=None
        ``log_likelihood(theta)``; None if the E step returns it as well.
    distance : callable, default=None
        ``distance(theta, after_one_more_step)`` for the certificate's ``residual``.
    time_limit : float or None, default=None
        Seconds; then the best so far is returned.
    about : str, default="EM"
        What the certificate calls it.

    Returns
    -------
    Solution
        ``value`` holds the parameters, ``log_likelihood`` theirs, ``stats`` the iterations, the
        certificate the likelihood after each step (``steps``), their ``largest_fall`` and the gain
        of one more step, which is computed afresh. A fall beyond rounding ends the run with the
        status ``FELL``.

    Examples
    --------
    Two coins, one of which was tossed ten times in each of four rounds, nobody knows which:

    >>> import numpy as np
    >>> from mercer import em
    >>> heads = np.array([9, 8, 2, 1])
    >>> def e_step(p):
    ...     chance = 0.5 * p ** heads[:, None] * (1 - p) ** (10 - heads[:, None])
    ...     total = chance.sum(axis=1)
    ...     return chance / total[:, None], float(np.log(total).sum())
    >>> def m_step(share):
    ...     return (share.T @ heads) / (10 * share.sum(axis=0))
    >>> solution = em(e_step, m_step, np.array([0.4, 0.6]))
    >>> solution.value.round(2).tolist(), solution.certificate.ok
    ([0.15, 0.85], True)
    """
    _check(tol, max_iter)
    expect = e_step if log_likelihood is None else _with_likelihood(e_step, log_likelihood)
    run = _EmRun(expect, m_step, start, tol)
    run.go(Limits.of(max_iter, time_limit))
    return _proved(run, distance, about)


def _check(tol: float, max_iter: int) -> None:
    if not tol >= 0.0:
        raise ValueError(f"tol must be ≥ 0; got {tol!r}")
    if max_iter < 0:
        raise ValueError(f"max_iter must be ≥ 0; got {max_iter!r}")


def _with_likelihood(
    e_step: Callable[[Any], Any], log_likelihood: Callable[[Any], float]
) -> Callable[[Any], Any]:
    return lambda theta: (e_step(theta), log_likelihood(theta))


@dataclass
class _EmRun:
    """One run: ``theta`` is the best so far, ``steps`` the likelihoods on the way."""

    expect: Callable[[Any], Any]
    m_step: Callable[[Any], Any]
    theta: Any
    tol: float
    steps: list[float] = field(default_factory=list)
    iterations: int = 0
    status: Status = Status.OPTIMAL

    def go(self, limits: Limits) -> None:
        """Step until a step gains nothing, or until a limit."""
        try:
            expected, value = self._expected(self.theta)
            while (stopped := limits.stopped(self.iterations)) is None:
                after = self.m_step(expected)
                expected, value = self._expected(after)
                self.iterations += 1
                gain = value - self.steps[-2]
                if gain < -rounding(value):
                    self.status = Status.FELL
                    return
                if gain <= self.tol + rounding(value):
                    return  # theta stays where it is: of it the gain is known
                self.theta = after
            self.status = stopped
        except KeyboardInterrupt:
            self.status = Status.INTERRUPTED

    def _expected(self, theta: Any) -> tuple[Any, float]:
        expected, value = self.expect(theta)
        if np.isnan(value):
            raise ValueError("the log-likelihood is not a number: check e_step and the data")
        self.steps.append(float(value))
        return expected, float(value)


def rounding(value: float) -> float:
    """Return what is only rounding in a log-likelihood of this size."""
    return ROUNDING * max(1.0, abs(value))


def _proved(run: _EmRun, distance: Callable[[Any, Any], float] | None, about: str) -> EMSolution:
    """Take one more step from the returned parameters, afresh, and see what it brings."""
    expected, value = run.expect(run.theta)
    after = run.m_step(expected)
    gain = float(run.expect(after)[1]) - float(value)
    falls = [0.0, *(a - b for a, b in zip(run.steps, run.steps[1:], strict=False))]
    parts = {
        "log_likelihood": float(value),
        "last_gain": gain,
        "largest_fall": max(falls),
        "monotone": all(fall <= rounding(value) for fall in falls),
        **({} if distance is None else {"residual": float(distance(run.theta, after))}),
        "iterations": run.iterations,
        "steps": run.steps,
    }
    text = f"{about}: what one more step gains; a local optimum, no global guarantee"
    tolerance = run.tol + rounding(value)
    proof = Certificate("gain of one more step", abs(gain), tolerance, text, parts)
    status = run.status
    if status is Status.OPTIMAL and not proof.ok:
        status = Status.INACCURATE
    stats = {"iterations": run.iterations}
    return EMSolution(run.theta, status, proof, stats=stats, log_likelihood=float(value))
