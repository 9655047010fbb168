"""``mercer prepare``: compile ahead of the first fit."""

from __future__ import annotations

from mercer import _warm
from mercer.cli.screen import Screen

NO_FOLDER = "no folder can be written to: every run compiles for itself (set NUMBA_CACHE_DIR)"


def prepare(screen: Screen) -> int:
    """Compile what the usual fits need, say where it is kept; return the exit code."""
    with screen.step("prepare", "") as said:
        folder = _warm.prepare(progress=screen.bar)
        said.append(f"compiled code is in {folder}" if folder else NO_FOLDER)
    screen.result({"folder": str(folder) if folder else None})
    return 0
