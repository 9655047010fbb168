"""Expressions of kernels: an answer or one line, at once, whatever stands there."""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from mercer.cli.errors import CommandError
from mercer.cli.expressions import kernel_from_text
from mercer.kernels import Kernel
from mercer.kernels.names import NAMES
from tests.fuzz.campaign import main, mutated, within

X = np.random.default_rng(0).random((4, 2))  # ≥ 0, as kernels of histograms ask
COUNT = 20_000
LONGEST_MESSAGE = 600  # characters: 60 of the text, spelled out as \udcff
NUMBERS = ("0", "1", "2", "0.5", "9", "1e308", "1e999", "1e-320", "99999999999999999999", "1_0")
VALUES = (*NUMBERS, "'scale'", "'auto'", "None", "True", "-1", "[1]", "{}", "open('x')", "1j")
PARAMETERS = ("gamma", "degree", "bias", "scale", "metric", "sigma", "__class__")
WORDS = [w.encode() for w in (*NAMES, *NUMBERS, *PARAMETERS)] + [
    *(b"+", b"*", b"**", b"(", b")", b"((((", b"-", b"~", b"lambda: ", b"[", b"{", b":=", b"'"),
    *(b"\x00", b"\xff", b"\n", b"#", b"\\", "λ".encode(), b" if ", b" for x in ", b"f'{1}'"),
]


def attempt(rng: random.Random) -> str:
    """Read one expression."""
    text = expression(rng, rng.choice((1, 2, 3, 5)))
    if rng.random() < 0.6:
        text = mutated(rng, text.encode(), WORDS).decode("utf-8", "surrogateescape")
    try:
        with within(1.0):
            kernel = kernel_from_text(text)
    except CommandError as error:
        return _refused(error)
    assert isinstance(kernel, Kernel)
    return _asked(kernel) if rng.random() < 0.1 else "read"


def _refused(error: Exception) -> str:
    return "refused" if len(str(error)) < LONGEST_MESSAGE else "refused at length"


def expression(rng: random.Random, depth: int) -> str:
    """Return an expression that may well be one."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice((*NAMES, rng.choice(NUMBERS), _called(rng)))
    left, right = expression(rng, depth - 1), expression(rng, depth - 1)
    text = f"{left}{rng.choice(('+', '*', ' ** ', '*', '-', '/'))}{right}"
    return f"({text})" if rng.random() < 0.3 else text


def _called(rng: random.Random) -> str:
    given = [
        f"{rng.choice(PARAMETERS)}={rng.choice(VALUES)}" for _ in range(rng.choice((0, 1, 1, 2)))
    ]
    return f"{rng.choice(list(NAMES))}({', '.join(given)})"


def _asked(kernel: Kernel) -> str:
    """Ask a kernel that was read for its values, and print it; rows may have too few columns."""
    assert repr(kernel)
    try:
        with np.errstate(all="ignore"):
            assert kernel(X).shape == (4, 4)
    except ValueError as error:
        if "number of columns" not in str(error):
            raise
        return _refused(error)
    return "read"


if __name__ == "__main__":
    main(attempt, COUNT)
