"""``mercer demo``: the whole way on data that comes with the library."""

from __future__ import annotations

import tempfile
from pathlib import Path

from mercer.cli.fit import FitOptions, fit
from mercer.cli.screen import Screen
from mercer.datasets import load_penguins


def demo(folder: Path | None, screen: Screen) -> int:
    """Fit, test, prove and report on the penguins; return the exit code."""
    folder = folder or Path(tempfile.mkdtemp(prefix="mercer-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    options = FitOptions(
        data=Path(str(load_penguins().path)),
        target="species",
        task="auto",
        model="auto",
        kernel="auto",
        test_size=0.3,
        test=None,
        ignore=(),
        time_limit="30s",
        seed=0,
        save=folder / "penguins.mercer",
        report=folder / "penguins.report.html",
    )
    if screen.talks:
        screen.console.print("[dim]$[/] mercer fit penguins.csv --target species --test-size 0.3")
    return fit(options, screen)
