"""``mercer demo``: a table, a model and a report to look at, and how to go on from there."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from mercer._replacing import replacing
from mercer.cli.errors import USAGE, CommandError
from mercer.cli.fit import FitOptions, fit
from mercer.cli.screen import Screen
from mercer.datasets.shipped import PENGUINS

FOLDER = Path("mercer-demo")
WORDS = ("fit", "penguins.csv", "--target", "species", "--test-size", "0.3")


def demo(folder: Path | None, screen: Screen) -> int:
    """Write the penguins, fit, test, prove and report; return the exit code."""
    folder = FOLDER if folder is None else folder
    table = _copied(folder)
    options = FitOptions(
        data=table,
        target="species",
        test_size=0.3,
        save=folder / "penguins.mercer",
        report=folder / "penguins.report.html",
    )
    screen.say("demo", f"in the folder {folder.resolve()}")
    screen.show(f"$ mercer {shlex.join(WORDS)}")
    code = fit(options, screen)
    screen.blank()
    again = f"cd {shlex.quote(str(folder))} && {shlex.join((called(), *WORDS))}"
    screen.say("again", again)
    return code


def _copied(folder: Path) -> Path:
    """Write the table into a folder; another one of the same name is not lost."""
    folder.mkdir(parents=True, exist_ok=True)
    table, content = folder / PENGUINS.name, PENGUINS.read_bytes()
    if table.exists() and (not table.is_file() or table.read_bytes() != content):
        raise CommandError(
            f"--folder: there is another {str(table)!r} already: name another folder", USAGE
        )
    with replacing(table) as file:
        file.write(content)
    return table


def called() -> str:
    """Return the word by which this command is called: a path unless a shell finds its name.

    Examples
    --------
    >>> called().split("/")[-1].startswith(("mercer", "python"))
    True
    """
    script = Path(sys.executable).parent / ("mercer.exe" if os.name == "nt" else "mercer")
    found = shutil.which("mercer")
    if found is not None and Path(found).resolve() == script.resolve():
        return "mercer"
    return str(script) if script.exists() else f"{sys.executable} -m mercer"
