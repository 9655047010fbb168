"""The page on architecture tells of the folders and of what happens in a fit: it must be so."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer import SVC

from .test_architecture import LEVELS

ROOT = Path(mercer.__file__).parent
PAGE = (ROOT.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
STEP = re.compile(r"^\| .* \| `([\w/]+\.py)` \| `([\w.]+)` \|$", re.M)
FOLDER = re.compile(r"^\| (−?\d(?:\.\d)?) \| `(\w+)` \| .+ \|$", re.M)

X = np.random.default_rng(0).normal(size=(60, 3))
y = np.where(X[:, 0] > 0, "a", "b")


def calls(work):
    """Return (file, function) of the library in the order of their calls."""
    seen = []

    def note(frame, event, arg):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(ROOT)):
            seen.append((Path(path).relative_to(ROOT).as_posix(), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return seen


def steps(heading, end):
    return STEP.findall(PAGE[PAGE.index(heading) : PAGE.index(end)])


@pytest.mark.parametrize(
    ("told", "work"),
    [
        (steps("## The life of a fit", "And `predict`"), lambda: SVC().fit(X, y)),
        (steps("And `predict`", "## Add an estimator"), SVC().fit(X, y).predict),
    ],
    ids=["fit", "predict"],
)
def test_a_fit_goes_the_way_that_the_page_tells(told, work):
    assert len(told) >= 7
    happened = iter(calls(lambda: work(X) if told[0][1].endswith(".predict") else work()))
    for step in told:
        assert step in happened, f"{step} does not follow the steps before it"


def test_the_page_lists_every_folder_with_its_level():
    told = [(name, float(level.replace("−", "-"))) for level, name in FOLDER.findall(PAGE)]
    units = [(name, level) for name, level in LEVELS.items() if not name.startswith("__")]
    assert sorted(told) == sorted(units)  # each of them once
    assert [level for _, level in told] == sorted(level for _, level in told)


def test_the_index_of_decisions_lists_every_area_once_and_ends_with_what_was_left():
    page = (ROOT.parent / "docs" / "design.md").read_text(encoding="utf-8")
    areas = re.findall(r"^## (.+)$", page, re.M)
    assert re.findall(r"^- \[(.+)\]\(#[\w-]+\)$", page, re.M) == areas
    assert areas[-1] == "Tried and left"


def test_every_level_is_of_something():
    there = {path.stem for path in ROOT.glob("*.py")} | {
        path.parent.name for path in ROOT.glob("*/__init__.py")
    }
    assert set(LEVELS) == there
