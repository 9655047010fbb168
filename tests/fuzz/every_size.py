"""``mercer fit`` on tables of every number of rows: a model, or one line that says why not.

``python -m tests.fuzz.every_size --first 4 --last 3000 --model auto --share 0.3 --around 3``: one
line for what was run and one for each finding. Without ``--share`` every size is run; with it that
share of them, drawn by ``--seed``, and all within ``--around`` of a figure at which something else
is done. The model decides what is gone through: knn has the rounds of the machines, linear (for
classes: logistic) those of models that are cheap, auto all that a user gets.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.cli.conftest import ended
from tests.cli.test_every_size import LARGEST, TASKS, near_figures, table

FEW = 8  # rows that may be refused
WORDS = ("--effort", "quick", "-q", "--no-report", "--no-save")
OF_CLASSES = {"linear": "logistic"}


def outcome(n: int, task: str, model: str) -> str:
    """Fit a model to a table of n rows in this folder; return what is odd about it, or ""."""
    table(n, task).write_csv("t.csv")
    name = OF_CLASSES.get(model, model) if task == "classify" else model
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = ended("fit", "t.csv", "-t", "y", "--model", name, *WORDS)
    if code == 0 or (n < FEW and "too few" in said.getvalue()):
        return ""
    return f"{n} rows, {task}, {name}: code {code}: {' '.join(said.getvalue().split())[-300:]}"


def wanted(given: argparse.Namespace) -> list[int]:
    """Return the sizes to run: all of a range, or a share of them and those near a figure."""
    whole = range(given.first, given.last + 1)
    drawn = np.random.default_rng([given.seed, given.first]).random(len(whole)) < given.share
    near = near_figures(given.around)
    return [n for n, taken in zip(whole, drawn, strict=True) if taken or n in near]


def main() -> None:
    """Run sizes of a range and print the findings; exit code 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=4)
    parser.add_argument("--last", type=int, default=LARGEST)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--around", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default="knn")
    given = parser.parse_args()
    sizes, findings = wanted(given), 0
    os.chdir(tempfile.mkdtemp(prefix="mercer-sizes-"))
    start = time.process_time()
    for n in sizes:
        for finding in filter(None, (outcome(n, task, given.model) for task in TASKS)):
            findings += 1
            print(finding, flush=True)
    print(
        f"{len(sizes):,} of the sizes {given.first}-{given.last}, both tasks, {given.model}: "
        f"{findings} findings, {time.process_time() - start:.0f} CPU s"
    )
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
