"""Files take the place of others when they are complete, with their links and permissions."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

import mercer
from mercer import SVC, KernelRidge
from mercer._replacing import replacing
from mercer.datasets import write_table
from mercer.report import write_text

ROOT = Path(__file__).parents[1]
posix = pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")

WRITERS = {
    "a model": lambda path: mercer.save(SVC(C=2.0), path),
    "a page": lambda path: write_text(path, "<p>new</p>"),
    "a table": lambda path: write_table({"a": [1]}, path),
    "a packed table": lambda path: write_table({"a": [1]}, path),
}
NAMES = {"a table": "t.csv", "a packed table": "t.csv.gz"}
every_writer = pytest.mark.parametrize("writer", WRITERS)


@pytest.fixture
def umask():
    """Files of this process are readable by all, whatever the shell says."""
    before = os.umask(0o022)
    yield 0o022
    os.umask(before)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@posix
@every_writer
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_permissions_are_those_of_the_old_file(writer, mode, tmp_path, umask):
    path = tmp_path / NAMES.get(writer, "m")
    path.write_bytes(b"old")
    path.chmod(mode)
    WRITERS[writer](path)
    assert path.read_bytes() != b"old"
    assert mode_of(path) == mode


@posix
@every_writer
def test_a_new_file_is_readable_as_any_new_file(writer, tmp_path, umask):
    path = tmp_path / NAMES.get(writer, "m")
    WRITERS[writer](path)
    assert mode_of(path) == 0o644


@posix
def test_what_was_private_is_private_while_it_is_written(tmp_path, umask):
    path = tmp_path / "m"
    path.touch(0o600)
    with replacing(path) as file:
        file.write(b"secret")
        file.flush()
        assert [mode_of(beside) for beside in tmp_path.iterdir()] == [0o600, 0o600]


@posix
@every_writer
def test_a_link_stays_a_link_and_its_target_is_written(writer, tmp_path):
    name = NAMES.get(writer, "m")
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / name, tmp_path / name
    target.write_bytes(b"old")
    link.symlink_to(Path("elsewhere") / name)
    WRITERS[writer](link)
    assert link.is_symlink()
    assert target.read_bytes() != b"old"
    assert [path.name for path in target.parent.iterdir()] == [name]


@posix
def test_a_link_to_nothing_makes_its_target(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("target")
    mercer.save(SVC(C=3.0), link)
    assert link.is_symlink()
    assert mercer.load(tmp_path / "target").C == 3.0


@posix
def test_a_link_into_a_folder_that_is_not_there_is_said(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("none/target")
    with pytest.raises(mercer.io.ModelFileError, match=r"cannot write .*link"):
        mercer.save(SVC(), link)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("disk full"), MemoryError])
def test_an_error_leaves_the_old_file_and_nothing_beside(error, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    with suppress(type(error) if isinstance(error, Exception) else error), replacing(path) as file:
        file.write(b"half")
        raise error
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_table_does_not_write_over_a_file_with_the_ending_part(tmp_path):
    (tmp_path / "t.csv.part").write_text("mine")
    write_table({"a": [1]}, tmp_path / "t.csv")
    assert (tmp_path / "t.csv.part").read_text() == "mine"


def test_a_directory_of_too_many_members_is_not_read(tmp_path, monkeypatch):
    path = mercer.save(KernelRidge(), tmp_path / "m")
    monkeypatch.setattr("mercer.io.archive.MOST_DIRECTORY", 10)
    with pytest.raises(mercer.io.ModelFileError, match="more members than any model"):
        mercer.load(path)


def test_a_large_directory_is_looked_for_where_a_large_zip_has_it(tmp_path, monkeypatch):
    """Beyond 65,535 members the size of the directory stands in a record of its own."""
    path = tmp_path / "m"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", "{}")
        monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 0)
    assert b"PK\x06\x07" in path.read_bytes()
    monkeypatch.setattr("mercer.io.archive.MOST_DIRECTORY", 10)
    with pytest.raises(mercer.io.ModelFileError, match="more members than any model"):
        mercer.load(path)


def killed(count):
    """Kill writers in a process of their own, since it forks; return what it says."""
    command = [sys.executable, "-m", "tests.fuzz.fuzz_kills", "--count", str(count)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@posix
def test_a_process_that_is_killed_leaves_the_old_file_or_the_new_one():
    assert "kills: 20 inputs, 0 findings" in killed(20)


@posix
@pytest.mark.long
def test_a_hundred_kills_of_each_writer():
    assert "kills: 200 inputs, 0 findings" in killed(200)
