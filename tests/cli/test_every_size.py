"""``fit`` on tables of every size: all small ones, and those around each figure that work has."""

from __future__ import annotations

import numpy as np
import pytest

pl = pytest.importorskip("polars")

from mercer.cli.problem import FEW_VALUES, MANY  # noqa: E402
from mercer.cli.recipes import EFFORTS, WIDE  # noqa: E402
from mercer.select import Staged  # noqa: E402
from mercer.select.grids import SUBSAMPLE  # noqa: E402
from mercer.select.rounds import SMALLEST  # noqa: E402

LARGEST = 3000
TEST_SIZE = 0.2
TASKS = ("classify", "regress")
BOTH_TASKS = 61  # smaller tables are tried with both
SHORT = {
    4: "classify",
    5: "regress",
    7: "classify",
    8: "regress",
    10: "classify",
    13: "regress",
} | {
    21: "classify",
    26: "regress",
    40: "classify",
    51: "regress",
    101: "classify",
    126: "regress",
}
"""Sizes of every run of the tests, each with one task."""


def figures() -> set[int]:
    """Return the numbers of rows at which the command or the search does something else."""
    effort, staged = EFFORTS["quick"], Staged()
    sizes = {n for size in effort.sizes.values() for n in (*size.rounds, size.fit)}
    usual = {staged.first_rows, *staged.more_rows, staged.enough, FEW_VALUES, MANY, WIDE, SUBSAMPLE}
    return sizes | usual | {effort.first_rows, effort.landmarks, SMALLEST}


def near_figures(distance: int) -> set[int]:
    """Return the sizes near a figure, be it that of the rows to learn from or of all rows."""
    whole = {n for figure in figures() for n in (figure, round(figure / (1 - TEST_SIZE)))}
    return {n + step for n in whole for step in range(-distance, distance + 1)}


def sizes() -> list[int]:
    """Return sizes of tables: all small ones, those near a figure, and a few others."""
    drawn = np.random.default_rng(0).integers(BOTH_TASKS, LARGEST, 8).tolist()
    return sorted(n for n in {*range(4, BOTH_TASKS), *near_figures(1), *drawn} if 4 <= n <= LARGEST)


def cases() -> list:
    """Return sizes and tasks; of large ones every other, so that each figure meets both tasks."""
    return [
        pytest.param(n, task, marks=() if SHORT.get(n) == task else (pytest.mark.long,))
        for n in sorted({*sizes(), *SHORT})
        for place, task in enumerate(TASKS)
        if n < BOTH_TASKS or n % 2 == place or SHORT.get(n) == task
    ]


def table(n: int, task: str) -> pl.DataFrame:
    """Return numbers and words with a target that they explain in part."""
    rng = np.random.default_rng(n)
    a, b, c = rng.normal(size=n), rng.normal(size=n), rng.choice(["u", "v", "w"], n)
    value = a * b + (c == "u") + 0.3 * rng.normal(size=n)
    target = value if task == "regress" else np.where(np.arange(n) % 2, "yes", "no")
    return pl.DataFrame({"a": a, "b": b, "c": c, "y": target})


@pytest.mark.parametrize(("n", "task"), cases())
def test_a_table_of_any_size(mercer, tmp_path, n, task):
    table(n, task).write_csv(tmp_path / "t.csv")
    ended = mercer("fit", "t.csv", "-t", "y", "--effort", "quick", "-q", "--no-report", "--no-save")
    if ended.code:
        assert n < 8  # so few rows may be refused, in a line that says so
        assert "too few" in ended.err


@pytest.mark.parametrize("n", [4, 8, 16])
@pytest.mark.parametrize("task", ["classify", "regress"])
def test_a_metric_for_a_table_of_any_size(mercer, tmp_path, n, task):
    table(n, task).write_csv(tmp_path / "t.csv")
    words = ("--model", "metric", "--effort", "quick", "-q", "--no-report", "--no-save")
    ended = mercer("fit", "t.csv", "-t", "y", *words)
    if ended.code:
        assert n < 8
        assert "too few" in ended.err
