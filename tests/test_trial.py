"""Files that end the process which reads them: another one dies, and this one says so."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
from pathlib import Path

import pytest

pl = pytest.importorskip("polars")

from mercer import _trial, rows  # noqa: E402
from mercer.datasets import DataError, load_file, read_batches  # noqa: E402
from mercer.rows import RowsError  # noqa: E402

N = 40
FRAME = pl.DataFrame({"a": [1.0, None] * (N // 2)})
HUGE = 2**60
ZSTANDARD = b"\x28\xb5\x2f\xfd"  # what its frames begin with


def written(write, **options) -> bytes:
    stream = io.BytesIO()
    write(FRAME, stream, **options)
    return stream.getvalue()


def parquet() -> bytes:
    """Return a file with a page that claims to hold −1 values: polars takes it for 2⁶⁴ − 1."""
    content = bytearray(written(pl.DataFrame.write_parquet, compression="uncompressed"))
    place = content.index(2 * N, 4, 30)  # in the header of the first page
    content[place] = 1
    return bytes(content)


def arrow(write=pl.DataFrame.write_ipc) -> bytes:
    """Return a file with packed bits of what is missing that claim to unpack to 2⁶⁰ bytes."""
    content = written(write, compression="zstd")
    claim = (N // 8).to_bytes(8, "little") + ZSTANDARD
    assert content.count(claim) == 1
    return content.replace(claim, HUGE.to_bytes(8, "little") + ZSTANDARD)


def stream() -> bytes:
    return arrow(pl.DataFrame.write_ipc_stream)


DAMAGED = {
    "a.parquet": parquet,
    "a.arrow": arrow,
    "b.arrow": stream,
    "a.parquet.gz": lambda: gzip.compress(parquet()),
    "a.arrow.gz": lambda: gzip.compress(arrow()),
}


@pytest.fixture(params=list(DAMAGED))
def damaged(request, tmp_path):
    path = tmp_path / request.param
    path.write_bytes(DAMAGED[request.param]())
    return path


def test_a_file_that_ends_processes_is_refused(damaged):
    with pytest.raises(DataError, match="damaged"):
        load_file(damaged)
    with pytest.raises(DataError, match="damaged"):
        list(read_batches(damaged, rows=7))


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_rows_of_such_a_file_are_refused(tmp_path, name):
    (tmp_path / name).write_bytes(DAMAGED[name]())
    FRAME.write_parquet(tmp_path / "0.parquet")
    FRAME.write_ipc(tmp_path / "0.arrow")
    for source in (tmp_path, [tmp_path / name], str(tmp_path / "*.*")):
        with pytest.raises(RowsError, match=name):
            rows.open(source)


@pytest.mark.parametrize("name", ["a.parquet", "a[1].parquet", "a*.arrow", "é 漢.arrow"])
def test_a_good_file_is_read(tmp_path, name):
    path = tmp_path / name
    (FRAME.write_parquet if path.suffix == ".parquet" else FRAME.write_ipc)(path)
    assert _trial.first_fatal([path], "parquet" if path.suffix == ".parquet" else "arrow") is None
    assert load_file(path).X.equals(FRAME)
    assert rows.open(tmp_path).n == N


def test_an_error_is_met_by_the_one_who_asks(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + bytes(60))
    assert _trial.first_fatal([path], "parquet") is None
    with pytest.raises(DataError, match="damaged or in another format"):
        load_file(path)


def test_a_file_is_tried_again_when_it_has_changed(tmp_path):
    path = tmp_path / "a.parquet"
    FRAME.write_parquet(path)
    assert _trial.first_fatal([path], "parquet") is None
    path.write_bytes(parquet())
    assert _trial.first_fatal([path], "parquet") == path


def test_of_many_files_the_first_fatal_one_is_told(tmp_path, monkeypatch):
    paths = [tmp_path / f"{i}.parquet" for i in range(4)]
    for i, path in enumerate(paths):
        path.write_bytes(parquet() if i == 2 else written(pl.DataFrame.write_parquet))
    assert _trial.first_fatal(paths, "parquet") == paths[2]
    asked = []
    real = _trial._read
    monkeypatch.setattr(_trial, "_read", lambda *given: asked.append(given[1]) or real(*given))
    assert _trial.first_fatal(paths[:2], "parquet") is None, "these are known"
    assert asked == []


def test_a_library_that_lies_where_one_works_is_not_loaded(tmp_path, monkeypatch):
    """A stranger's folder with a polars.py runs no code of theirs."""
    (tmp_path / "polars.py").write_text("import os\nos._exit(3)\n")
    (tmp_path / "a.parquet").write_bytes(written(pl.DataFrame.write_parquet))
    monkeypatch.chdir(tmp_path)
    assert _trial.first_fatal([Path("a.parquet")], "parquet") is None


@pytest.mark.skipif(shutil.which("false") is None, reason="a program that only fails")
def test_a_process_that_cannot_start_is_told(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    FRAME.write_parquet(path)
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(OSError, match="no other process could be started"):
        load_file(path)


def test_where_python_is_built_into_a_program_that_is_not_started(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    FRAME.write_parquet(path)
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setattr(_trial, "_read", lambda *given: os._exit(3))
    assert load_file(path).X.equals(FRAME)
