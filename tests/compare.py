"""How equal is equal, and what an error must say."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests import naive


def assert_close(got: Any, wanted: Any, roundings: float = 100.0, scale: float = 0.0) -> None:
    """Assert |got − wanted| ≤ roundings · ε · (largest value), ε of got's precision.

    A kernel value is a sum of d products and a few elementary functions, each with one rounding;
    the samples have d ≤ 11 and the epilogues a condition number of at most 5 (degree 5), so that
    100 roundings of the largest value is the worst case and not a guess.
    """
    got, wanted = np.asarray(got), np.asarray(wanted, dtype=np.float64)
    assert got.shape == wanted.shape, f"shape {got.shape} is not {wanted.shape}"
    largest = max(float(np.abs(wanted).max(initial=0.0)), scale)
    atol = roundings * float(np.finfo(got.dtype).eps) * largest
    np.testing.assert_allclose(got, wanted, rtol=0, atol=atol)


def largest_value(kernel: Any, *samples: Any) -> float:
    """Return the largest k(x, x): it bounds all |k(x, y)| of a kernel, by Cauchy–Schwarz."""
    return max(float(np.abs(naive.diagonal(kernel.bind(samples[-1]), X)).max()) for X in samples)


def is_absent(call: Callable[[], Any], why: str) -> None:
    """Assert that a method is not there, and that what made the error says why."""
    with pytest.raises(AttributeError) as error:
        call()
    assert re.search(why, str(error.value.__cause__))


def refuses(call: Callable[[], Any], error: Any, match: str) -> None:
    """Assert that a call raises this error with a message that matches."""
    with pytest.raises(error, match=match):
        call()
