"""What would be published: the package and nothing else."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import mercer

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    builders = pytest.importorskip("hatchling.builders.wheel")
    folder = tmp_path_factory.mktemp("wheel")
    built = next(builders.WheelBuilder(str(ROOT)).build(directory=str(folder)))
    with zipfile.ZipFile(built) as archive:
        yield archive


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    kept = {".py", ".pyi", ".csv", ".md", ".css", ".js", ".typed"}
    there = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "mercer").rglob("*")
        if path.suffix in kept or path.name == "py.typed"
    }
    assert names == there
    assert all(name.startswith("mercer/") for name in names)


def test_the_wheel_is_small(wheel):
    assert sum(info.compress_size for info in wheel.infolist()) < 1_400_000


def test_the_version_is_told_once(wheel):
    metadata = next(name for name in wheel.namelist() if name.endswith("METADATA"))
    assert f"\nVersion: {mercer.__version__}\n" in wheel.read(metadata).decode()
    assert f"version: {mercer.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
