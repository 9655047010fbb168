"""``mercer prepare``: compile ahead of the first fit."""

from __future__ import annotations

from mercer import _warm
from mercer.cli.screen import Screen


def prepare(screen: Screen) -> int:
    """Compile what the usual fits need, say where it is kept; return the exit code."""
    with screen.step("prepare", "") as said:
        folder = _warm.prepare(progress=screen.bar)
        said.append(f"compiled code is in {folder}")
    screen.result({"folder": str(folder)})
    return 0
