"""Kill a process while it writes: the file holds all of the old content or all of the new one.

A child writes two contents in turn over the same file, without end, and is killed at a random
moment, by a signal that nothing can catch. Models by `mercer.save`, pages by the report's writer,
results of passes by a checkpoint. Whole fits, by the command and in passes with a checkpoint, are
killed as well: what they would replace is the old one or a new one that works, and who goes on from
the checkpoint gets the model of a fit that nobody disturbed.

    python -m tests.fuzz.fuzz_kills --count 100
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer.cli import main as command
from mercer.report import write_text
from mercer.rows.checkpoint import Checkpoint

LONGEST = 0.04  # seconds until the kill: several times what a write takes
MODE = 0o640


def models() -> list[Any]:
    """Return two models whose files are large enough to be hit on the way."""
    rng = np.random.default_rng(0)
    return [mercer.Nystrom(landmarks=rng.normal(size=(200, 400))) for _ in range(2)]


PAGES = ["<p>first</p>" * 100_000, "<p>second</p>" * 100_000]
PASSES = [(np.full(400_000, float(value)),) for value in range(2)]
WRITERS: dict[str, tuple[Callable[[Any, Path], Any], Callable[[], list[Any]]]] = {
    "model": (mercer.save, models),
    "report": (lambda page, path: write_text(path, page), lambda: PAGES),
    "checkpoint": (lambda result, path: _kept(result, path), lambda: PASSES),
}


def _kept(result: tuple[np.ndarray, ...], path: Path) -> None:
    """Keep the result of a pass, and have it under the path as well, where kills are looked for."""
    kept = path.parent / "0000.npz"
    if not path.is_symlink():
        path.unlink(missing_ok=True)
        kept.touch()
        path.symlink_to(kept)
    Checkpoint(path.parent, {}).keep(0, result)


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


# ---------------------------------------------------------------- whole fits
def _table(path: Path, n: int = 120) -> Path:
    """Write a table that a fit has a few seconds to do with."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, "yes", "no")
    lines = (f"{a:.4f},{b:.4f},{c:.4f},{label}" for (a, b, c), label in zip(X, y, strict=True))
    path.write_text("a,b,c,y\n" + "\n".join(lines) + "\n")
    return path


def _command(table: Path, folder: Path, seed: int) -> None:
    """Run ``mercer fit`` with a model and a report, without a word."""
    words = ["mercer", "fit", table, "--target", "y", "--effort", "quick", "--seed", seed]
    sys.argv = [*map(str, [*words, "--save", folder / "model", "--report", folder / "page.html"])]
    with (
        open(os.devnull, "w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
        contextlib.suppress(SystemExit),
    ):
        command()


def _in_child(work: Callable[[], Any], wait: float) -> bool:
    """Do something in a child that is killed after so many seconds; return whether it was."""
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    deadline = time.monotonic() + wait
    while time.monotonic() < deadline:
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def kill_commands(count: int, seed: int) -> tuple[int, list[str]]:
    """Kill so many runs of ``mercer fit``; return how many had not ended, and the findings."""
    rng, findings, hits = random.Random(seed), [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = _table(folder / "table.csv")
        _command(table, folder, 0)
        begin = time.monotonic()
        _command(table, folder, 1)
        length = time.monotonic() - begin
        for number in range(count):
            wait = rng.uniform(0.0, 1.05 * length)
            hits += _in_child(lambda n=number: _command(table, folder, n), wait)
            found = f"command, kill {number} of seed {seed}: "
            try:
                mercer.load(folder / "model")
            except Exception as error:
                findings.append(f"{found}{error}")
            if not (folder / "page.html").read_text().rstrip().endswith("</html>"):
                findings.append(f"{found}half a report")
    return hits, findings


def kill_passes(count: int, seed: int) -> tuple[int, list[str]]:
    """Kill fits with a checkpoint until one ends; it must be the fit that nobody disturbed."""
    rng, findings, hits = random.Random(seed), [], 0
    X = np.random.default_rng(0).normal(size=(60_000, 6))
    rows = mercer.rows.open(X)
    y = np.sin(X[:, 0]) + X[:, 1]

    def fit(folder: Path | None) -> Any:
        machine = mercer.KernelRidge(
            mercer.kernels.RBF(0.2), lam=1e-6, landmarks=200, route="cg", random_state=0,
            checkpoint=folder,
        )  # fmt: skip
        return machine.fit(rows, y)

    whole = fit(None).predict(X[:100])
    begin = time.monotonic()
    fit(None)
    length = time.monotonic() - begin
    while hits < count:
        with tempfile.TemporaryDirectory() as folder:
            while hits < count and _in_child(
                lambda f=folder: fit(Path(f)), rng.uniform(0.0, length)
            ):
                hits += 1
            apart = float(np.abs(fit(Path(folder)).predict(X[:100]) - whole).max())
            if apart > 1e-8:
                findings.append(f"passes, kill {hits} of seed {seed}: {apart:.1e} off")
    return hits, findings


FITS = {"fit --save": kill_commands, "fit in passes": kill_passes}


def main() -> int:
    """Read the arguments, run, print the counts."""
    parser = argparse.ArgumentParser(description="kill processes that write files")
    parser.add_argument("--count", type=int, default=200, help="how many kills")
    parser.add_argument("--seed", type=int, default=0, help="which moments")
    given = parser.parse_args()
    findings: list[str] = []
    each = given.count // (len(WRITERS) + len(FITS))
    for name in WRITERS:
        hits, found = run(name, each, given.seed)
        print(f"kills of a {name}: {each} inputs, {hits} within a write")
        findings += found
    for name, kill in FITS.items():
        hits, found = kill(each, given.seed)
        print(f"kills of {name}: {each} inputs, {hits} before its end")
        findings += found
    print(f"kills: {given.count} inputs, {len(findings)} findings", *findings, sep="\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
