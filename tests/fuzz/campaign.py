"""A run over many inputs: each has a number, by which it is made again; what is odd is told."""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SLOWEST = 20.0  # seconds that an input may take
SHOWN = 20  # findings that are printed


class SlowError(BaseException):
    """An input took too long."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise where something takes longer; compiled code is waited for."""

    def stop(number: int, frame: Any) -> None:
        raise SlowError(f"it took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def attempted(attempt: Callable[[random.Random], str], seed: int, i: int) -> tuple[str, str]:
    """Return the kind of an outcome, and what is odd about it if it is none that is allowed.

    An attempt returns its kind; it raises nothing.
    """
    try:
        with within(SLOWEST):
            return attempt(random.Random(f"{seed}-{i}")), ""
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of compiled code is no Exception
        return "odd", f"input {i}: {type(error).__name__}: {' '.join(str(error).split())[:200]}"


def run(attempt: Callable[[random.Random], str], count: int, seed: int, first: int = 0) -> int:
    """Try so many inputs, print what became of them; return how many findings there are."""
    kinds: Counter[str] = Counter()
    findings: list[str] = []
    start = time.monotonic()
    for i in range(first, first + count):
        kind, finding = attempted(attempt, seed, i)
        kinds[kind] += 1
        findings += [finding] if finding else []
    told = ", ".join(f"{kind} {n:,}" for kind, n in sorted(kinds.items()))
    print(f"{count:,} inputs in {time.monotonic() - start:.0f} s: {told}")
    for finding in findings[:SHOWN]:
        print(f"  {finding}")
    print(f"{len(findings):,} findings")
    return len(findings)


def main(attempt: Callable[[random.Random], str], count: int) -> None:
    """Run from the command line: ``--count``, ``--seed`` and ``--first`` (to see one again)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    sys.exit(bool(run(attempt, given.count, given.seed, given.first)))


# ---------------------------------------------------------------- mutations
def mutated(rng: random.Random, content: bytes, words: list[bytes]) -> bytes:
    """Return bytes with some changes: single ones, cuts, copies, and words that mean something."""
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        content = rng.choice(MUTATIONS)(rng, content, words)
    return content[:LONGEST]


LONGEST = 2**18  # bytes of an input


def _place(rng: random.Random, content: bytes) -> int:
    return rng.randrange(len(content) + 1)


def _flip(rng: random.Random, content: bytes, words: list[bytes]) -> bytes:
    i = _place(rng, content)
    return content[:i] + bytes([rng.randrange(256)]) + content[i + 1 :]


def _cut(rng: random.Random, content: bytes, words: list[bytes]) -> bytes:
    a, b = sorted((_place(rng, content), _place(rng, content)))
    return content[:a] + content[b:] if rng.random() < 0.7 else content[:a]


def _copy(rng: random.Random, content: bytes, words: list[bytes]) -> bytes:
    a, b = sorted((_place(rng, content), _place(rng, content)))
    return content[:b] + content[a:b] * rng.choice((1, 1, 2, 20)) + content[b:]


def _insert(rng: random.Random, content: bytes, words: list[bytes]) -> bytes:
    i = _place(rng, content)
    return content[:i] + rng.choice(words) * rng.choice((1, 1, 1, 2, 300)) + content[i:]


def _overwrite(rng: random.Random, content: bytes, words: list[bytes]) -> bytes:
    i, word = _place(rng, content), rng.choice(words)
    return content[:i] + word + content[i + len(word) :]


MUTATIONS = (_flip, _cut, _copy, _insert, _overwrite)
