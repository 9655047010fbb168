"""Kill a process while it writes: the file holds all of the old content or all of the new one.

A child writes two contents in turn over the same file, without end, and is killed at a random
moment, by a signal that nothing can catch. Models by `mercer.save`, pages by the report's writer.

    python -m tests.fuzz.fuzz_kills --count 100
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer.report import write_text

LONGEST = 0.04  # seconds until the kill: several times what a write takes
MODE = 0o640


def models() -> list[Any]:
    """Return two models whose files are large enough to be hit on the way."""
    rng = np.random.default_rng(0)
    return [mercer.Nystrom(landmarks=rng.normal(size=(200, 400))) for _ in range(2)]


PAGES = ["<p>first</p>" * 100_000, "<p>second</p>" * 100_000]
WRITERS: dict[str, tuple[Callable[[Any, Path], Any], Callable[[], list[Any]]]] = {
    "model": (mercer.save, models),
    "report": (lambda page, path: write_text(path, page), lambda: PAGES),
}


def write_for_ever(write: Callable[[Any, Path], Any], values: list[Any], path: Path) -> None:
    """Write the values in turn until the process ends."""
    for value in itertools.cycle(values):
        write(value, path)


def killed(write: Callable[[Any, Path], Any], values: list[Any], path: Path, wait: float) -> bool:
    """Kill a child that writes; return whether it left a file half written beside the target."""
    before = len(list(path.parent.iterdir()))
    child = os.fork()
    if child == 0:
        write_for_ever(write, values, path)
    time.sleep(wait)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return len(list(path.parent.iterdir())) > before


def run(name: str, count: int, seed: int) -> tuple[int, list[str]]:
    """Kill so many writers; return how many were hit within a write, and the findings."""
    write, make = WRITERS[name]
    rng, values, findings, hits = random.Random(seed), make(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "target"
        whole = [_content(write, value, path) for value in values]
        path.chmod(MODE)
        for number in range(count):
            hits += killed(write, values, path, rng.uniform(0, LONGEST))
            if path.read_bytes() not in whole:
                findings.append(f"{name}, kill {number} of seed {seed}: the file is half written")
            if path.stat().st_mode & 0o777 != MODE:
                findings.append(f"{name}, kill {number} of seed {seed}: other permissions")
    return hits, findings


def _content(write: Callable[[Any, Path], Any], value: Any, path: Path) -> bytes:
    write(value, path)
    return path.read_bytes()


def main() -> int:
    """Read the arguments, run, print the counts."""
    parser = argparse.ArgumentParser(description="kill processes that write files")
    parser.add_argument("--count", type=int, default=200, help="how many kills")
    parser.add_argument("--seed", type=int, default=0, help="which moments")
    given = parser.parse_args()
    findings: list[str] = []
    for name in WRITERS:
        hits, found = run(name, given.count // len(WRITERS), given.seed)
        print(f"kills of a {name}: {given.count // len(WRITERS)} inputs, {hits} within a write")
        findings += found
    print(f"kills: {given.count} inputs, {len(findings)} findings", *findings, sep="\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
