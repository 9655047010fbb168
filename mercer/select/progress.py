"""A line on the terminal while a search runs: how far, the best score so far, the time left."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from typing import Any

import numpy as np

SILENT = 1.5  # seconds: what ends sooner shows nothing
PAUSE = 0.2  # seconds between two drawings


class Progress:
    """Counts results and draws a bar on stderr if that is a terminal.

    Parameters
    ----------
    total : int
        The number of results to come.
    n_folds : int
        How many results make a candidate complete.
    metric : str
        The scorer whose best value is shown, of several.
    shown : "auto" or bool
        "auto" draws on a terminal only.
    """

    def __init__(self, total: int, n_folds: int, metric: Any = "score", shown: Any = "auto"):
        self.total, self.n_folds, self.metric = total, n_folds, metric
        self.shown = sys.stderr.isatty() if shown == "auto" else bool(shown)
        self.done, self.best = 0, -np.inf
        self._scores: defaultdict[int, list[float]] = defaultdict(list)
        self._start = self._drawn = time.monotonic()
        self._line: Any = None

    def update(self, candidate: int, result: dict[str, Any]) -> None:
        """Count one result."""
        self.done += 1
        score = result["test_scores"]
        self._scores[candidate].append(
            score.get(self.metric, np.nan) if isinstance(score, dict) else score
        )
        if len(self._scores[candidate]) == self.n_folds:
            self.best = max(self.best, -np.inf, float(np.mean(self._scores[candidate])))
        if self.shown:
            self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if now - self._start < SILENT or now - self._drawn < PAUSE:
            return
        self._drawn = now
        if self._line is None:
            self._line = _open_line(self.total)
        self._line.show(self.done, self._text(now - self._start))

    def _text(self, seconds: float) -> str:
        left = seconds * (self.total - self.done) / self.done
        best = f"best {self.best:.4g}, " if np.isfinite(self.best) else ""
        return f"{best}{left:.0f} s left"

    def close(self) -> None:
        """End the line."""
        if self._line is not None:
            self._line.close()


def _open_line(total: int) -> Any:
    try:
        import rich.progress as bars  # type: ignore[import-not-found,unused-ignore]
        from rich.console import Console  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return _TextLine(total)
    columns = bars.BarColumn(), bars.MofNCompleteColumn(), bars.TextColumn("{task.description}")
    return _RichLine(bars.Progress(*columns, console=Console(stderr=True), transient=True), total)


class _TextLine:
    """One line of text, written over itself."""

    WIDTH = 24

    def __init__(self, total: int):
        self.total = total

    def show(self, done: int, text: str) -> None:
        full = self.WIDTH * done // self.total
        bar = "#" * full + "-" * (self.WIDTH - full)
        sys.stderr.write(f"\r[{bar}] {done}/{self.total}  {text}\x1b[K")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


class _RichLine:
    """The bar of the package rich."""

    def __init__(self, progress: Any, total: int):
        self._progress = progress
        self._progress.start()
        self._task = self._progress.add_task("", total=total)

    def show(self, done: int, text: str) -> None:
        self._progress.update(self._task, completed=done, description=text)

    def close(self) -> None:
        self._progress.stop()
