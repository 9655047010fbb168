"""What the command says: lines for people on the terminal, or one JSON object for machines."""

from __future__ import annotations

import json
import shlex
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mercer._display import printable
from mercer._words import duration, fixed
from mercer.checks import Finding
from mercer.cli.streams import Lasting, write_data

NAME = 10  # columns for the name of a step
LINES = 8  # of a step; the report has them all


def command_line() -> str:
    """Return the command that runs, as a shell reads it."""
    return "mercer " + shlex.join(sys.argv[1:])


class Screen:
    """The terminal, or silence: ``quiet`` says nothing but errors, ``as_json`` one object."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False):
        self.quiet, self.as_json = quiet, as_json
        self.talks = not (quiet or as_json)
        self.console = Lasting(highlight=False)
        self.errors = Lasting(stderr=True, highlight=False)
        self.bar: bool | str = "auto" if not quiet else False
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []
        self._turning = False  # a spinner on the terminal, above which lines must be printed

    @contextmanager
    def step(self, name: str, doing: str) -> Iterator[list[str]]:
        """Time a step and print its line; the caller appends what there is to say."""
        said: list[str] = []
        start = time.monotonic()
        if self.talks and self.console.is_terminal and doing:
            with self._status(doing):
                yield said
        else:
            yield said
        seconds = time.monotonic() - start
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        for i, line in enumerate(_few(said)):
            self._line(name if i == 0 else "", line, seconds if i == 0 else None)

    def note(self, text: str) -> None:
        """Say what the reader should know, and keep it for the report."""
        self.notes.append(text)
        together = self._turning and self.errors.is_terminal
        self._print("note", "yellow", text, self.console if together else self.errors)

    @contextmanager
    def _status(self, doing: str) -> Iterator[None]:
        """Turn a spinner while something is done."""
        utf8 = (self.console.encoding or "").startswith("utf")
        told = f"[dim]{escape(printable(doing))} …"
        self._turning = True
        try:
            with self.console.status(told, spinner="dots" if utf8 else "line"):
                yield
        finally:
            self._turning = False

    def found(self, finding: Finding) -> None:
        """Say what is odd about the rows: how bad it is, what it is, and what to do."""
        color = {"leak": "bold red", "warning": "yellow"}.get(finding.severity, "cyan")
        name, color = ("mended", "yellow") if finding.mended else (finding.severity, color)
        self._print(name, color, str(finding), self.console)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Turn the warnings of the library into notes."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for text in dict.fromkeys(str(warning.message) for warning in caught):
            self.note(text)

    def say(self, name: str, text: str) -> None:
        """Print a named line."""
        self._line(name, text, None)

    def _line(self, name: str, text: str, seconds: float | None) -> None:
        spent = "" if seconds is None or seconds < 0.1 else duration(seconds)
        self._print(name, "cyan", text, self.console, spent)

    def _print(self, name: str, color: str, text: str, console: Console, spent: str = "") -> None:
        if self.talks:
            line = Table.grid(padding=(0, 1, 0, 0))
            line.add_column(width=NAME, style=color, no_wrap=True)
            line.add_column(overflow="fold")
            cells = [escape(name), escape(printable(" ".join(text.split())))]
            if spent:
                line.add_column(style="dim", no_wrap=True)
                cells.append(f" {spent}")
            line.add_row(*cells)
            console.print(line)

    def show(self, text: Any) -> None:
        """Print lines as they are."""
        if self.talks:
            for line in str(text).split("\n"):
                self.console.print(escape(printable(line)), soft_wrap=True)

    def blank(self) -> None:
        """Leave a line free."""
        if self.talks:
            self.console.print()

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        title: str | None = None,
        left: bool = False,
    ) -> None:
        """Print a small table; all columns but the first are numbers, unless ``left``."""
        if not self.talks:
            return
        table = Table(title=title, box=None, title_justify="left", padding=(0, 1), pad_edge=True)
        for i, column in enumerate(columns):
            side: Any = "right" if i and not left else "left"
            table.add_column(_cell(column), justify=side, overflow="fold")
        for row in rows:
            table.add_row(*map(_cell, row))
        self.console.print(table)

    def result(self, values: dict[str, Any]) -> None:
        """Print the JSON object, if that was asked for."""
        if self.as_json:
            write_data(json.dumps(plain(values), indent=2, ensure_ascii=False, allow_nan=False))
            write_data("\n")


def _cell(text: str) -> str:
    """Return a text for one line of a table: what it holds is neither obeyed nor styled."""
    return escape(printable(text.replace("\n", " ").replace("\t", " ")))


def _few(lines: list[str]) -> list[str]:
    """Return the first lines, and how many more there are."""
    if len(lines) <= LINES:
        return lines
    return [*lines[: LINES - 1], f"and {len(lines) - LINES + 1} more (in the report)"]


def plain(value: Any) -> Any:
    """Return a value as JSON knows it: NaN and infinities are null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)


def interval(estimate: Mapping[str, float]) -> str:
    """Return the ends of an interval, or a dash where it has no length."""
    low, high = fixed(estimate["low"]), fixed(estimate["high"])
    return "–" if low == high else f"{low} … {high}"
