"""No output is an input or another output: of all commands, all pairs of files that they name."""

from __future__ import annotations

import os
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import pytest

pl = pytest.importorskip("polars")
typer = pytest.importorskip("typer")

from mercer.cli.app import app  # noqa: E402
from mercer.cli.places import same_place  # noqa: E402

COMMANDS = {c.name or c.callback.__name__: c.callback for c in app.registered_commands}
FIT = ("--model", "bayes", "--effort", "quick")
EXTRA = {
    "fit": ("-t", "risk", *FIT),
    "compare": ("people.mercer", "other.mercer"),
}
"""Words that a command cannot do without."""


class FileOption(NamedTuple):
    """A parameter of a command that names a file."""

    name: str
    is_written: bool
    is_argument: bool

    def default(self) -> Path:
        """A file that is there if it is read, and is not there if it is written."""
        if self.is_written:
            return Path(f"new{self.name.strip('-')}.csv")
        return Path("people.mercer" if self.name == "model" else "people.csv")


def file_options(command: Any) -> list[FileOption]:
    """Return the parameters of a command that are paths of files, as it declares them."""
    found = []
    for name, hint in get_type_hints(command, include_extras=True).items():
        kind, *told = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
        if name != "folder" and Path in (kind, *get_args(kind)):
            argument = isinstance(told[0], typer.models.ArgumentInfo)
            shown = name if argument else f"--{name.replace('_', '-')}"
            found.append(FileOption(shown, bool(told[0].writable), argument))
    return found


PAIRS = [
    (name, written, other)
    for name, command in COMMANDS.items()
    for written, other in permutations(file_options(command), 2)
    if written.is_written
]


def words(name: str, files: dict[FileOption, Path]) -> list[str]:
    """Return the command line that gives these files to a command."""
    arguments = [str(path) for option, path in files.items() if option.is_argument]
    options = [w for o, path in files.items() if not o.is_argument for w in (o.name, str(path))]
    return [name, *arguments, *EXTRA.get(name, ()), *options]


@pytest.fixture
def folder(mercer, model, table, tmp_path):
    """A table and two models."""
    (tmp_path / "other.mercer").write_bytes(Path(model).read_bytes())
    return tmp_path


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.exists()}


def test_the_declarations_are_found():
    assert {name for name, *_ in PAIRS} == {"fit", "predict", "evaluate", "compare", "embed"}
    assert {o.name for o in file_options(COMMANDS["fit"]) if o.is_written} == {
        *("--save", "--report", "--script"),
    }


def _named(case: Any) -> str:
    return getattr(case, "name", case)


@pytest.mark.parametrize("how", ["the same", "a way around", "symbolic", "hard"])
@pytest.mark.parametrize(
    ("name", "written", "other"), PAIRS, ids=lambda one: getattr(one, "name", one)
)
def test_nothing_is_written_over_what_is_read_or_written(folder, mercer, name, written, other, how):
    given = {option: option.default() for option in file_options(COMMANDS[name])}
    lost = given[other]
    if other.is_written and how == "hard":
        lost.touch()  # an old answer
    given[written] = linked(lost, how)
    before = content(folder)
    ended = mercer(*words(name, given))
    assert ended.code == 2, ended
    assert ended.err.startswith("mercer: --")
    assert "would be lost: name another file" in ended.err
    assert content(folder) == before


def linked(path: Path, how: str) -> Path:
    """Return another name of a file."""
    if how == "the same":
        return path
    if how == "a way around":
        return Path("..") / Path.cwd().name / path
    link = Path("link.csv")
    if how == "hard":
        link.hardlink_to(path)
    else:
        link.symlink_to(path.absolute())
    return link


def test_defaults_are_outputs_too(folder, mercer, table):
    table.rename(folder / "people.report.html")
    ended = mercer("fit", "people.report.html", *EXTRA["fit"])
    assert ended.code == 2
    assert "--report: 'people.report.html' is the file of DATA as well" in ended.err


def test_names_of_new_files_that_some_disks_take_for_one(tmp_path):
    assert same_place(tmp_path / "A.csv", tmp_path / "a.csv")
    assert same_place(tmp_path / "\u00e9", tmp_path / "e\u0301")
    assert not same_place(tmp_path / "a.csv", tmp_path / "b.csv")
    for name in ("A.csv", "a.csv"):
        (tmp_path / name).touch()
    one_file = len(os.listdir(tmp_path)) == 1
    assert same_place(tmp_path / "A.csv", tmp_path / "a.csv") is one_file


def test_an_ending_that_names_no_format_is_refused_at_once(folder, mercer):
    for words in (("predict", "people.mercer", "people.csv"), ("embed", "people.csv")):
        ended = mercer(*words, "--out", "answers.exe")
        assert ended.code == 2
        assert "--out: 'answers.exe' does not name a format" in ended.err


# ---------------------------------------------------------------- half of a file
@contextmanager
def full_disk():
    """No file can be longer than 1000 bytes: that of pytest's own lines neither."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "people.mercer", "people.csv", "--out", "old.csv"),
        ("predict", "people.mercer", "people.csv", "--keep", "noise", "--out", "old.parquet"),
        ("predict", "people.mercer", "people.csv", "--keep", "noise", "--out", "old.csv.gz"),
        ("evaluate", "people.mercer", "people.csv", "--report", "old.html"),
        ("embed", "people.csv", "--method", "pca", "--report", "old.html"),
        ("compare", *EXTRA["compare"], "people.csv", "--report", "old.html"),
        ("fit", "people.csv", *EXTRA["fit"], "--no-report", "--save", "old.mercer"),
    ],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
def test_a_full_disk_costs_no_old_file(folder, mercer, words):
    (folder / words[-1]).write_bytes(b"old")
    before = content(folder)
    with full_disk():
        ended = mercer(*words)
    assert ended.code in (3, 4), ended.err
    assert "mercer: " in ended.err
    assert words[-1] in ended.err.splitlines()[-1]
    assert content(folder) == before


def test_a_file_that_vanishes_is_told(folder, mercer, monkeypatch):
    def gone(path, **options):
        os.unlink(path)
        return original(path, **options)

    import mercer.cli.files as files

    original = files.load_file
    monkeypatch.setattr(files, "load_file", gone)
    ended = mercer("evaluate", "people.mercer", "people.csv")
    assert ended.code == 3
    assert "there is no file 'people.csv'" in ended.err
