"""Fuzz model files: change one thing in the file of a fitted model, load it, ask it.

Each file is either refused, or the model answers or raises an exception. What must not happen:
compiled code that reaches outside of an array (which is seen, as Numba looks at bounds here), a
process that dies, a call that does not come back.

    python -m tests.fuzz.fuzz_models --count 20000 --seed 7
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import mercer
from tests.fuzz.models import mutated_file, outcome, subjects

SLOW = 60  # seconds for one file, compiling included
MEMORY = 8 * 2**30  # bytes of addresses
FIRST, LAST = "case ", "end "


def run_cases(start: int, count: int, seed: int, subjects: Path) -> None:
    """Run cases in this process; each says its number before it begins."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    models = [mercer.load(path) for path in sorted(subjects.iterdir())]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(start, count):
            print(f"{FIRST}{number}", flush=True)
            faulthandler.dump_traceback_later(SLOW, exit=True)
            rng = np.random.default_rng([seed, number])
            model, rows = models[number % len(models)]
            path = mutated_file(model, rng, Path(folder) / "m")
            print(f"{LAST}{outcome(path, rows)}", flush=True)


def watch(
    count: int, seed: int, only: Sequence[str] = ()
) -> tuple[collections.Counter[str], list[str]]:
    """Run all cases in processes of their own; return how they ended, and the findings."""
    ends: collections.Counter[str] = collections.Counter()
    findings: list[str] = []
    start = 0
    with tempfile.TemporaryDirectory() as folder:
        # fitted here, so that only what answers is compiled again with bounds
        for number, subject in enumerate(subjects(only)):
            mercer.save(subject, Path(folder) / f"{number:03d}")
        while start < count:
            start, found = _one_process(start, count, seed, folder, ends)
            findings += found
    return ends, findings


def _one_process(
    start: int, count: int, seed: int, folder: str, ends: collections.Counter[str]
) -> tuple[int, list[str]]:
    command = [sys.executable, "-m", "tests.fuzz.fuzz_models", "--worker", str(start)]
    command += ["--count", str(count), "--seed", str(seed), "--subjects", folder]
    number = start - 1
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=_environment()
        ) as process:
            for line in process.stdout or ():
                if line.startswith(FIRST):
                    number = int(line.removeprefix(FIRST))
                else:
                    ends[line.removeprefix(LAST).strip()] += 1
        if process.returncode == 0:
            return count, []
        errors.seek(0)
        tail = " | ".join(errors.read().splitlines()[-12:])
    if number < start:
        raise RuntimeError(f"the worker does not start: {tail}")
    return number + 1, [f"case {number} of seed {seed}: exit code {process.returncode}: {tail}"]


def _environment() -> dict[str, str]:
    """Let Numba look at bounds, and keep what it compiles so apart from all other code."""
    cache = os.environ.get("FUZZ_NUMBA_CACHE") or str(Path(tempfile.gettempdir()) / "mercer-bounds")
    return {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": cache,
        "OPENBLAS_NUM_THREADS": "1",
    }


def main() -> int:
    """Read the arguments, run, print the counts."""
    parser = argparse.ArgumentParser(description="fuzz model files")
    parser.add_argument("--count", type=int, default=2000, help="how many files")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--only", nargs="*", default=(), help="names of estimators")
    parser.add_argument("--worker", type=int, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--subjects", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker is not None:
        run_cases(given.worker, given.count, given.seed, given.subjects)
        return 0
    ends, findings = watch(given.count, given.seed, given.only)
    how = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
    print(f"models: {given.count} inputs ({how}), {len(findings)} findings")
    print(*findings, sep="\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
