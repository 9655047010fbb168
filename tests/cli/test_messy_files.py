"""Messy files go through ``fit``, ``predict`` and ``evaluate`` without a traceback, twice alike."""

from __future__ import annotations

import json

import pytest

pl = pytest.importorskip("polars")
pytest.importorskip("fastexcel")
pytest.importorskip("openpyxl")
pytest.importorskip("odf")

from tests.cli.messy import FILES, SAMPLE  # noqa: E402

UNEXPECTED = "MERCER_TRACEBACK"  # in the line for an error that nobody foresaw
CHANGING = ("seconds", "environment")


def cases():
    for file in FILES:
        marks = () if file.name in SAMPLE else (pytest.mark.long,)
        yield pytest.param(file, id=file.name, marks=marks)


def told(ended) -> dict:
    """Return the JSON that a command printed, without what differs from run to run."""
    assert ended.code == 0, ended.err
    return {name: value for name, value in json.loads(ended.out).items() if name not in CHANGING}


def refused(ended, file) -> str:
    assert ended.code == file.code, ended.err
    assert len(ended.err.strip().splitlines()) == 1
    assert file.says in ended.err
    assert UNEXPECTED not in ended.err
    return ended.err


def all_of_it(mercer, file, path) -> list:
    """Fit, predict and evaluate; return what was said."""
    words = ("-t", file.target, *file.words, "--effort", "quick", "--no-report", "--json")
    ended = mercer("fit", path, *words, "--save", "m.mercer")
    if file.code:
        return [refused(ended, file)]
    fitted = told(ended)
    answers = mercer("predict", "m.mercer", path)
    assert answers.code == 0, answers.err
    return [fitted, answers.out, told(mercer("evaluate", "m.mercer", path, "--json"))]


@pytest.mark.parametrize("file", list(cases()))
def test_a_messy_file(mercer, tmp_path, file):
    path = tmp_path / file.name
    path.write_bytes(file.content())
    first = all_of_it(mercer, file, path)
    assert all_of_it(mercer, file, path) == first


def test_there_are_enough_of_them():
    names = [file.name for file in FILES]
    assert len(set(names)) == len(names) >= 60
    assert set(names) >= SAMPLE
