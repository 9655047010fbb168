"""Passes that are not lost: each result is kept in a folder, and found again after a restart."""

from __future__ import annotations

import json
import logging
import os
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer._array import n_threads
from mercer._replacing import replacing
from mercer.rows.passes import map_reduce
from mercer.rows.stored import RowsError

ABOUT = "fit.json"
LOG = logging.getLogger("mercer")
SILENT_SECONDS = 5.0  # seconds


class Checkpoint:
    """A folder with the results of the passes of one fit, in their order.

    All between two passes is computed from their results, so that these are all that a fit needs to
    go on. A file is complete or not there.

    Parameters
    ----------
    folder : path
        Where; it is made if it is not there.
    about : dict of str
        What the fit is of: rows, kernel, parameters, version. Another one is refused.
    """

    def __init__(self, folder: str | os.PathLike[str], about: dict[str, str]):
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / ABOUT
        if path.exists():
            self._require(json.loads(path.read_text(encoding="utf-8")), about)
        else:
            with replacing(path) as file:
                file.write(json.dumps(about, indent=1).encode())

    def _require(self, known: dict[str, str], about: dict[str, str]) -> None:
        other = [name for name in about if known.get(name) != about[name]]
        if other:
            raise RowsError(
                f"checkpoint {str(self._folder)!r} is of another fit: its {other[0]} differs "
                f"({known.get(other[0])!r}, here {about[other[0]]!r}); name another folder, or "
                f"remove this one to begin again"
            )

    def kept(self, number: int) -> tuple[np.ndarray, ...] | None:
        """Return the result of a pass, or None if it has not ended yet."""
        path = self._path(number)
        if not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return tuple(arrays[f"arr_{i}"] for i in range(len(arrays.files)))
        except (ValueError, OSError, zipfile.BadZipFile) as error:
            raise RowsError(
                f"{str(path)!r} is damaged ({error}): remove it, and the passes after it"
            ) from error

    def keep(self, number: int, result: tuple[Any, ...]) -> None:
        """Write the result of a pass."""
        with replacing(self._path(number)) as file:
            np.savez(file, *result)

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:04}.npz"


class Passes:
    """Runs the passes of a fit and counts them.

    Parameters
    ----------
    check : callable, default=None
        Called before and after each pass; raises if the rows have changed.
    checkpoint : Checkpoint, default=None
        Where results are kept.
    workers : int, default=None
        Threads; None: one for each core.
    silent : float
        Seconds between two words on how far a pass is.
    """

    def __init__(
        self,
        check: Callable[[], None] | None = None,
        checkpoint: Checkpoint | None = None,
        workers: int | None = None,
        silent: float = SILENT_SECONDS,
    ):
        self._check, self._checkpoint, self._workers = check, checkpoint, workers
        self._silent = silent
        self._results = 0
        self.count = 0
        """Passes so far, those that were found included."""

    def run(
        self, task: Callable[[Any, Any], tuple[Any, ...]], blocks: Sequence[Any], state: Any
    ) -> tuple[Any, ...]:
        """Return the sum of ``task(block, state)`` over the blocks: one pass."""
        self.count += 1
        return self.once(lambda: self._pass(task, blocks, state, self._workers))

    def visit(self, task: Callable[[Any, Any], Any], blocks: Sequence[Any]) -> Any:
        """Let a task see all blocks in this process, and write where it will; return the sum."""
        self.count += 1
        return self._pass(
            task, blocks, None, n_threads() if self._workers is None else self._workers
        )

    def once(self, make: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Return arrays that are made once for all runs of a fit, such as what chance has drawn."""
        number, self._results = self._results, self._results + 1
        if self._checkpoint is None:
            return make()
        found = self._checkpoint.kept(number)
        if found is None:
            found = make()
            self._checkpoint.keep(number, found)
        return found

    def _pass(
        self, task: Callable[[Any, Any], Any], blocks: Sequence[Any], state: Any, workers: Any
    ) -> Any:
        if self._check is not None:
            self._check()
        start = time.monotonic()
        told = _PassClock(self.count, self._silent).told
        result = map_reduce(task, blocks, state, workers=workers, told=told)
        if self._check is not None:
            self._check()
        LOG.info("pass %d: %.1f s", self.count, time.monotonic() - start)
        return result


class _PassClock:
    """Says now and then how long a pass will take."""

    def __init__(self, number: int, silent: float):
        self._number, self._silent, self._start = number, silent, time.monotonic()
        self._said = self._start

    def told(self, done: int, of: int) -> None:
        """Hear how many blocks are done."""
        now = time.monotonic()
        if now - self._said > self._silent:
            left, share = (now - self._start) * (of - done) / done, 100 * done / of
            LOG.info("pass %d: %.0f %%, about %.0f s left", self._number, share, left)
            self._said = now
