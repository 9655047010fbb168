"""φ of all rows in the span of landmarks, kept for solvers that go over them again and again."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from mercer._array import format_bytes
from mercer.rows.checkpoint import Passes
from mercer.rows.stored import RowsError
from mercer.solvers.span import PieceBlock, Span, SpanProblem

KEPT_SHARE = 2  # 1 / the part of the budget that features may take


class SpanFeatures:
    """φ of rows in float32, in an order of their own: in memory, or in a file if it has no room.

    Parameters
    ----------
    span : Span
        The functions.
    problem : SpanProblem
        The rows.
    place : array of shape (n,)
        Where each row's features are kept.
    passes : Passes
        What runs the pass that computes them.
    """

    def __init__(self, span: Span, problem: SpanProblem, place: np.ndarray, passes: Passes):
        self.span, self.n, self.width = span, problem.n, span.rank
        self._place, self.squares = place, np.empty(problem.n)
        """‖φ‖² of each row, in their order."""
        self._row_bytes = 4 * max(self.width, 1)
        self.room = span.budget // KEPT_SHARE
        self._kept = self._allocated() if self._row_bytes * self.n <= self.room else None
        self._file = None if self._kept is not None else _Spilled(self._row_bytes, self.n)
        try:
            passes.visit(self._keep, problem.blocks(span.rows_of_block(problem, self.width**2)))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give the file back; nothing can be read any more."""
        if self._file is not None:
            self._file.close()

    def _allocated(self) -> np.ndarray:
        return np.empty((self.n, self.width), np.float32)

    def _keep(self, block: PieceBlock, state: None) -> float:
        for numbers, piece in self.span.pieces(block):
            values = self.span.features(self.span.values(piece.rows).T).T
            at = self._place[numbers]
            self.squares[at] = np.einsum("ij,ij->i", values, values)
            order = np.argsort(at)
            self._write(at[order], values[order].astype(np.float32))
        return 0.0

    def _write(self, at: np.ndarray, values: np.ndarray) -> None:
        if self._file is None:
            self._kept[at] = values  # type: ignore[index]
            return
        for run in np.split(np.arange(len(at)), np.flatnonzero(np.diff(at) > 1) + 1):
            self._file.write(int(at[run[0]]), values[run])

    def parts_of(self, groups: Sequence[slice]) -> list[list[slice]]:
        """Return groups of rows in parts that are in memory at once, each with some of them all."""
        needed = self._row_bytes * sum(group.stop - group.start for group in groups)
        number = 1 if self._file is None else -(-2 * needed // max(self.room, 1))
        return [
            [
                slice(*(group.start + (group.stop - group.start) * k // number for k in (j, j + 1)))
                for group in groups
            ]
            for j in range(number)
        ]

    def read(self, part: Sequence[slice]) -> tuple[np.ndarray, np.ndarray]:
        """Return a table of features and which of its rows are those of a part."""
        if self._file is None:
            return self._kept, np.concatenate([np.arange(s.start, s.stop) for s in part])  # type: ignore[return-value]
        read = [self._file.read(one.start, one.stop, self.width) for one in part]
        values = read[0] if len(read) == 1 else np.concatenate(read)
        return values, np.arange(len(values))


class _Spilled:
    """Rows of bytes in a file without a name, which the system takes back with the process."""

    def __init__(self, row_bytes: int, n: int):
        self._row_bytes, self._needed, self._lock = row_bytes, row_bytes * n, Lock()
        self._file: Any = tempfile.TemporaryFile(prefix="mercer-features-", buffering=0)  # noqa: SIM115

    def close(self) -> None:
        self._file.close()

    def write(self, start: int, values: np.ndarray) -> None:
        data = memoryview(values.data).cast("B")
        try:
            with self._lock:
                self._file.seek(start * self._row_bytes)
                while data:
                    data = data[self._file.write(data) :]
        except OSError as error:
            raise RowsError(
                f"features of {format_bytes(self._needed)} cannot be written to "
                f"{tempfile.gettempdir()!r}: {error.strerror or error}; make room there, name "
                f"another folder by TMPDIR, or take fewer landmarks"
            ) from error

    def read(self, start: int, stop: int, width: int) -> np.ndarray:
        out = np.empty((stop - start, width), np.float32)
        data = memoryview(out.data).cast("B")
        with self._lock:
            self._file.seek(start * self._row_bytes)
            while data:
                data = data[self._file.readinto(data) :]
        return out
