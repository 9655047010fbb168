"""Files that appear when they are complete: the old one or the new one, whatever happens."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap

import pytest

from mercer._replacing import replacing


def test_the_new_file_takes_the_place_of_the_old_one(tmp_path):
    path = tmp_path / "a.txt"
    for content in (b"old", b"new"):
        with replacing(path) as file:
            file.write(content)
        assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["a.txt"]


def _write_half(path, error):
    with replacing(path) as file:
        file.write(b"half")
        raise error


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
def test_what_goes_wrong_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with pytest.raises(error):
        _write_half(path, error)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")
def test_a_mode_is_kept_and_a_link_stays_a_link(tmp_path):
    private, link = tmp_path / "private", tmp_path / "link"
    private.write_bytes(b"old")
    private.chmod(0o600)
    link.symlink_to(private)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert private.read_bytes() == b"new"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name == "nt", reason="the mask of POSIX")
def test_a_new_file_has_the_mode_that_the_mask_asks_for(tmp_path):
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "a") as file:
            file.write(b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


# ---------------------------------------------------------------- in processes of their own
def in_process(code: str, folder) -> subprocess.Popen:
    """Run code that may write files of at most 64 kB."""
    limit = """
    import resource, signal
    from mercer._replacing import replacing
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, 2**16))
    """
    text = textwrap.dedent(limit) + textwrap.dedent(code)
    return subprocess.Popen([sys.executable, "-c", text], cwd=folder, stderr=subprocess.PIPE)


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
def test_a_full_disk_is_told_under_the_name_of_the_file(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    process = in_process("with replacing('a') as file: file.write(bytes(2**20))", tmp_path)
    told = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 1
    assert told.splitlines()[-1].endswith("'a'")
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_killed_process_leaves_the_old_file(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    code = """
    import os
    with replacing('a') as file:
        file.write(b"half")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    process = in_process(code, tmp_path)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert (tmp_path / "a").read_bytes() == b"old"
