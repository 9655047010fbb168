"""What the pages show runs: every block of Python, what it prints, and every command.

The blocks of a page share their names and a working directory of their own, in the order of the
page. In blocks of shell, the lines that call ``mercer`` are run and must succeed. A block of text
after a block of Python is what it prints. Words must agree; numbers must agree to
one part in a hundred, and below 1e-6 any two are the same rounding error. A line of three dots
stands for any lines, and then only words are compared.
"""

from __future__ import annotations

import importlib
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[1]
PENGUINS = ROOT / "mercer" / "datasets" / "data" / "penguins.csv"
BUILT = {"_build", "generated", "gallery"}

FENCE = re.compile(r"^( *)```(.*)\n((?:.*\n)*?)\1```$", re.M)
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:\.\d*)?(?:e[-+]?\d+)?(?![\w])")
CLOSE, NOTHING = 1e-2, 1e-6


class Block(NamedTuple):
    """A fenced part of a page: its language (or directive), its text, the line it starts on."""

    language: str
    text: str
    line: int


def pages() -> list[Path]:
    written = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return [p for p in written if p.exists() and not BUILT & set(p.relative_to(ROOT).parts)]


def blocks(page: str) -> Iterator[Block]:
    for fence in FENCE.finditer(page):
        line = page.count("\n", 0, fence.start()) + 1
        yield Block(fence.group(2).strip(), dedent(fence.group(3)), line)


def commands(block: Block) -> list[list[str]]:
    """Return the calls of ``mercer`` in a block of shell, each as a list of words."""
    lines = block.text.replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("mercer ")]


# ---------------------------------------------------------------- running
class Runner:
    """Runs the blocks of one page, one after the other."""

    def __init__(self, page: Path, capsys: Any, monkeypatch: Any):
        self.page, self.capsys, self.monkeypatch = page, capsys, monkeypatch
        self.names: dict[str, Any] = {"__name__": page.stem}
        self.printed = ""

    def run(self, block: Block) -> None:
        if block.language == "python":
            self.python(block.text, self.page, block.line)
        elif block.language.startswith("{literalinclude}"):
            file = self.page.parent / block.language.split()[1]
            self.python(file.read_text(encoding="utf-8"), file, 0)
        elif block.language == "text" and self.printed:
            assert_agree(block.text, self.printed)
        elif block.language == "sh":
            self.shell(block)

    def python(self, source: str, file: Path, line: int) -> None:
        # the empty lines make a traceback point into the page
        exec(compile("\n" * line + source, str(file), "exec"), self.names)
        self.printed = self.capsys.readouterr().out

    def shell(self, block: Block) -> None:
        for arguments in commands(block):
            self.monkeypatch.setattr(sys, "argv", ["mercer", *arguments])
            with pytest.raises(SystemExit) as end:
                sys.exit(importlib.import_module("mercer.cli").main())
            assert not end.value.code, f"mercer {shlex.join(arguments)}"
        self.capsys.readouterr()  # times and paths, not to be compared
        self.printed = ""


def assert_agree(shown: str, printed: str) -> None:
    pattern = "(?:.*\n)*".join(_line_pattern(part) for part in _parts(shown))
    plain = _without_numbers(printed)
    found = re.fullmatch(pattern, plain)
    assert found, f"the page shows\n{shown}\nbut the code prints\n{printed}"
    if len(_parts(shown)) == 1:
        pairs = zip(_numbers(shown), _numbers(printed), strict=True)
        wrong = [pair for pair in pairs if not _same(*pair)]
        assert not wrong, f"shown and printed: {wrong}"


def _parts(shown: str) -> list[str]:
    return re.split(r"^(?:\.\.\.|…)\n", shown, flags=re.M)


def _line_pattern(text: str) -> str:
    return re.escape(_without_numbers(text))


def _without_numbers(text: str) -> str:
    lines = (" ".join(NUMBER.sub("#", line).split()) for line in text.strip().splitlines())
    return "".join(line + "\n" for line in lines)


def _numbers(text: str) -> list[float]:
    return [float(number.replace("−", "-")) for number in NUMBER.findall(text)]


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= CLOSE * abs(a) or max(abs(a), abs(b)) < NOTHING


# ---------------------------------------------------------------- the pages
def _command_is_missing() -> str:
    try:
        importlib.import_module("mercer.cli")
    except ImportError as error:
        return f"the commands of this page were not run: {error}"
    return ""


with_blocks = [page for page in pages() if "```python" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", with_blocks, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_runs(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    shutil.copy(PENGUINS, tmp_path)  # what the commands of a page read
    plt.switch_backend("Agg")
    runner = Runner(page, capsys, monkeypatch)
    listed = list(blocks(page.read_text(encoding="utf-8")))
    missing = _command_is_missing() if any(commands(b) for b in listed) else ""
    for block in listed:
        if not (missing and block.language == "sh"):
            runner.run(block)
    plt.close("all")
    if missing:
        pytest.skip(missing)


# ---------------------------------------------------------------- the reading of pages
def test_blocks_are_found_with_their_lines():
    page = "a\n```python\nx = 1\n```\n\n: b\n\n  ```text\n  1\n  ```\n"
    assert list(blocks(page)) == [Block("python", "x = 1\n", 2), Block("text", "1\n", 8)]


def test_commands_are_read():
    block = Block("sh", "make\nmercer fit a.csv \\\n  --target 'y z'  # why\n", 1)
    assert commands(block) == [["fit", "a.csv", "--target", "y z"]]


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("gap  1e-14\n", "gap   3e-13\n"),
        ("x 1.00 y\n", "x 1.004 y\n"),
        ("a\n...\nd\n", "a\nb\nc\nd\n"),
        ("v = −0.5396\n", "v = -0.5396\n"),
    ],
)
def test_what_agrees(shown, printed):
    assert_agree(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("x 1.0\n", "x 1.1\n"),
        ("yes\n", "no\n"),
        ("a\n", "a\nb\n"),
        ("2\n", "2 3\n"),
        ("1\n", "-1\n"),
    ],
)
def test_what_does_not_agree(shown, printed):
    with pytest.raises(AssertionError):
        assert_agree(shown, printed)
