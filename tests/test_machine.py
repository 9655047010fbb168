"""Free memory is the least of what the machine, the container and the user's limits leave."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mercer import _machine
from mercer._machine import free_memory

GB = 10**9


@pytest.fixture
def container(tmp_path, monkeypatch):
    """Return a function that makes a control group of files, as the kernel shows it."""
    process = tmp_path / "process"
    process.mkdir()
    monkeypatch.setattr(_machine, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(_machine, "PROCESS", process)
    lines = process / "cgroup"
    lines.write_text("")

    def make(version, path, limit, used, inactive):
        controller = "" if version == 2 else "memory"
        names = _machine._FILES[controller]
        folder = tmp_path / "groups" / controller / path.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / names[0]).write_text(f"{limit}\n")
        (folder / names[1]).write_text(f"{used}\n")
        (folder / "memory.stat").write_text(f"anon {used - inactive}\n{names[2]} {inactive}\n")
        return lines

    return make


@pytest.mark.parametrize("version", [1, 2])
def test_files_that_were_read_do_not_count_as_used(container, version):
    lines = container(version, "/", limit=4 * GB, used=3_900_000_000, inactive=3_500_000_000)
    lines.write_text("0::/\n" if version == 2 else "3:cpu,cpuacct:/\n2:memory:/\n")
    assert list(_machine._group_free()) == [3_600_000_000]


@pytest.mark.parametrize("version", [1, 2])
def test_every_group_around_the_process_is_asked(container, version):
    container(version, "/a", limit=3 * GB, used=GB, inactive=0)
    lines = container(version, "/a/b", limit=5 * GB, used=GB, inactive=0)
    lines.write_text("0::/a/b\n" if version == 2 else "7:memory,hugetlb:/a/b\n")
    assert list(_machine._group_free()) == [4 * GB, 2 * GB]


def test_a_group_without_a_limit_says_nothing(container):
    lines = container(2, "/", limit="max", used=GB, inactive=0)
    lines.write_text("0::/not/to/be/seen/from/inside\n")
    assert list(_machine._group_free()) == []


def test_something_is_free():
    assert 0 < free_memory() < 2**60


LIMITED = """
import resource
import numpy as np
from mercer import KernelRidge
from mercer._array import allocate
from mercer._machine import free_memory

X = np.random.default_rng(0).normal(size=(2_200, 4))  # 39 MB of kernel values
y = np.sin(X[:, 0])
KernelRidge(memory="25MB").fit(X, y)  # compiled, and with its threads
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + 60_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
assert 0 < free_memory() <= 60_000_000, free_memory()
try:
    allocate((20_000, 20_000), float)
except MemoryError as error:
    assert "the budget is" in str(error), error
else:
    raise SystemExit("3.2 GB of 60 MB")
assert KernelRidge().fit(X, y).certificate_.ok
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux tells its address space")
def test_under_ulimit_a_smaller_storage_is_taken():
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
