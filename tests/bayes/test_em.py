"""EM in general: it never lowers the likelihood, ends at a stationary point, and says so."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Status, em
from tests.compare import refuses

HEADS = np.array([9.0, 8.0, 2.0, 1.0, 5.0, 7.0])
TOSSES = 10.0


def chances(p):
    """Two coins, one of which is tossed ten times in each round; nobody knows which."""
    return 0.5 * p ** HEADS[:, None] * (1 - p) ** (TOSSES - HEADS[:, None])


def e_step(p):
    return chances(p) / chances(p).sum(axis=1, keepdims=True)


def log_likelihood(p):
    return float(np.log(chances(p).sum(axis=1)).sum())


def m_step(share):
    return (share.T @ HEADS) / (TOSSES * share.sum(axis=0))


START = np.array([0.4, 0.6])


def gradient(p):
    """The derivative of the log-likelihood, written down by hand."""
    share = e_step(p)
    return (share.T @ HEADS) / p - (share.T @ (TOSSES - HEADS)) / (1 - p)


def test_it_ends_where_the_gradient_of_the_likelihood_is_zero():
    solution = em(e_step, m_step, START, tol=0.0, log_likelihood=log_likelihood)
    assert solution.status is Status.OPTIMAL
    # at tol=0 a gain of ROUNDING = 1e-9 is left, and the likelihood has a curvature of about 100
    assert np.abs(gradient(solution.value)).max() < 10 * (1e-9 * 40 * 100) ** 0.5


def test_both_ways_to_give_the_likelihood_are_the_same():
    apart = em(e_step, m_step, START, log_likelihood=log_likelihood)
    together = em(lambda p: (e_step(p), log_likelihood(p)), m_step, START)
    np.testing.assert_array_equal(apart.value, together.value)
    assert apart.certificate == together.certificate
    assert apart.log_likelihood == log_likelihood(apart.value)


def test_every_step_is_recorded_and_none_falls():
    certificate = em(e_step, m_step, START, log_likelihood=log_likelihood).certificate
    steps = np.array(certificate.steps)
    assert len(steps) == certificate.iterations + 1
    assert steps[0] == log_likelihood(START)
    assert np.diff(steps).min() >= -1e-12
    assert certificate.monotone
    assert "local optimum" in certificate.about


def test_the_proof_is_the_gain_of_one_more_step():
    solution = em(e_step, m_step, START, tol=1e-3, log_likelihood=log_likelihood)
    p = solution.value
    gain = log_likelihood(m_step(e_step(p))) - log_likelihood(p)
    assert solution.certificate.last_gain == gain
    assert gain <= 1e-3


def test_the_distance_of_one_more_step_is_the_residual():
    solution = em(
        e_step,
        m_step,
        START,
        log_likelihood=log_likelihood,
        distance=lambda a, b: float(np.abs(a - b).max()),
    )
    p = solution.value
    assert solution.certificate.residual == np.abs(m_step(e_step(p)) - p).max()


def test_an_m_step_that_lowers_the_likelihood_is_found_out():
    worse = np.array([0.01, 0.02])
    solution = em(e_step, lambda share: worse, START, log_likelihood=log_likelihood)
    assert solution.status is Status.FELL
    assert not solution.certificate.monotone
    np.testing.assert_array_equal(solution.value, START)  # the best that was seen


def test_a_stop_at_max_iter_is_not_called_optimal():
    solution = em(e_step, m_step, START, max_iter=1, tol=1e-9, log_likelihood=log_likelihood)
    assert solution.status is Status.MAX_ITER
    assert not solution.certificate.ok
    assert solution.certificate.last_gain > 1e-9


def test_out_of_time_the_start_is_returned_with_an_honest_certificate():
    solution = em(e_step, m_step, START, time_limit=-1.0, log_likelihood=log_likelihood)
    assert solution.status is Status.TIME_LIMIT
    np.testing.assert_array_equal(solution.value, START)
    assert not solution.certificate.ok


def test_an_interrupt_returns_the_best_so_far():
    def interrupted(share):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return m_step(share)

    calls = []
    solution = em(e_step, interrupted, START, tol=0.0, log_likelihood=log_likelihood)
    assert solution.status is Status.INTERRUPTED
    np.testing.assert_array_equal(solution.value, m_step(e_step(m_step(e_step(START)))))


@pytest.mark.parametrize(
    ("settings", "match"),
    [({"tol": -1.0}, "tol must be ≥ 0"), ({"max_iter": -1}, "max_iter must be ≥ 0")],
)
def test_bad_settings_are_named(settings, match):
    refuses(
        lambda: em(e_step, m_step, START, log_likelihood=log_likelihood, **settings),
        ValueError,
        match,
    )


def test_a_likelihood_that_is_no_number_is_an_error():
    refuses(
        lambda: em(e_step, m_step, START, log_likelihood=lambda p: np.nan),
        ValueError,
        "log-likelihood is not a number",
    )
