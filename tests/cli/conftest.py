"""The command, run in this process: what it prints, and the code it ends with."""

from __future__ import annotations

import shutil
import sys
from typing import NamedTuple

import numpy as np
import pytest

pl = pytest.importorskip("polars")
pytest.importorskip("typer")

from mercer.cli import main  # noqa: E402


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def ended(*words) -> int:
    """Run ``mercer …`` in this process; return its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["mercer", *map(str, words)])
        try:
            main()
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(bool(end.code))
    return 0


@pytest.fixture
def mercer(capsys, monkeypatch, tmp_path):
    """Run ``mercer …`` in a temporary folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words) -> Ended:
        code = ended(*words)
        return Ended(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def mixed():
    """A table with numbers, categories, missing values, and a target that they explain."""
    rng = np.random.default_rng(0)
    n = 240
    age, city = rng.uniform(20, 70, n), rng.choice(["Bonn", "Köln", "Ulm"], n)
    risk = (age > 45) ^ (city == "Ulm")
    ages = [None if i % 17 == 0 else float(a) for i, a in enumerate(age)]
    cities = [None if i % 23 == 0 else str(c) for i, c in enumerate(city)]
    cost = np.where(risk, 40.0, 10.0) + age / 10 + rng.normal(0, 0.5, n)
    return pl.DataFrame(
        {
            "id": [f"row-{i}" for i in range(n)],
            "age": ages,
            "city": cities,
            "noise": rng.normal(size=n),
            "risk": np.where(risk, "high", "low"),
            "cost": cost,
        }
    )


@pytest.fixture
def table(mixed, tmp_path):
    """The same table in a file."""
    path = tmp_path / "people.csv"
    mixed.write_csv(path)
    return path


@pytest.fixture(scope="session")
def fitted_once(mixed, tmp_path_factory):
    """A model for ``risk``, fitted once for all tests."""
    folder = tmp_path_factory.mktemp("fitted")
    mixed.write_csv(folder / "people.csv")
    words = (
        "-t",
        "risk",
        "--model",
        "svm",
        "--no-report",
        "-q",
        "--save",
        folder / "people.mercer",
    )
    assert ended("fit", folder / "people.csv", *words) == 0
    return folder / "people.mercer"


@pytest.fixture
def model(fitted_once, table, tmp_path):
    """A saved model for ``risk``, beside the table."""
    return shutil.copy(fitted_once, tmp_path / "people.mercer")
