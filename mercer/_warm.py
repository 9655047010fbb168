"""Compiling ahead of the first fit: what is usual, once, with a bar."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from platform import python_version
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np

from mercer._words import count
from mercer.kernels import RBF
from mercer.linear import Lasso, LogisticRegression
from mercer.machines import KNN, SVC, SVR
from mercer.select import tune
from mercer.solvers import _newton_loops, dense

ROOT = Path(__file__).parent
HOMES = ("", "gram", "kernels", "linear", "optimize", "solvers")  # of loops that are compiled here
WIDTH = 24  # characters of the bar


def prepare(*, progress: Any = "auto") -> Path | None:
    """Compile what the usual fits need, unless that was done before, and return where it is kept.

    The first fit on a machine takes longer than the next ones, because loops are compiled. This
    does it ahead of time: after an installation, or in the image of a container. Compiled code
    lies beside the sources; where these are read-only, in the user's cache folder, or in one of
    theirs among the temporary files; and in the folder that the environment variable
    ``NUMBA_CACHE_DIR`` names, if there is one. It holds for one version of mercer, of Numba and of
    Python, and one kind of processor. Where no folder can be written to, None is returned, and
    every process compiles what it needs when it needs it.

    Parameters
    ----------
    progress : "auto" or bool, default="auto"
        Whether to draw a bar on stderr; "auto" draws on a terminal, and says elsewhere in one line
        what takes the time.

    Examples
    --------
    >>> import mercer
    >>> mercer.prepare(progress=False).is_dir()
    True
    """
    marker = _marker()
    if marker is None:
        return None
    if not marker.exists():
        bar = _Bar(progress)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the toys that are fitted
            for done, (words, task) in enumerate(TASKS.items()):
                bar.show(done, words)
                task()
        bar.clear()
        _leave(marker)
    return marker.parent


# ---------------------------------------------------------------- whether it was done
def _marker() -> Path | None:
    """Return the file that says that all is compiled: for these sources, on this machine."""
    statistics = getattr(dense.take_turns, "stats", None)  # none if Numba is told not to compile
    if statistics is None or statistics.cache_path is None:
        return None
    sources = sorted(path for home in HOMES for path in (ROOT / home).glob("*.py"))
    stamps = [(str(path.relative_to(ROOT)), *_stamp(path)) for path in sources]
    features = llvm.get_host_cpu_features().flatten()
    known = (numba.__version__, python_version(), llvm.get_host_cpu_name(), features, stamps)
    key = sha256(repr(known).encode()).hexdigest()[:16]
    return Path(statistics.cache_path) / f"prepared-{key}"


def _stamp(path: Path) -> tuple[float, int]:
    """Return what Numba tells two versions of a file by."""
    stat = path.stat()
    return stat.st_mtime, stat.st_size


def _leave(marker: Path) -> None:
    for old in marker.parent.glob("prepared-*"):
        old.unlink(missing_ok=True)
    marker.touch()


# ---------------------------------------------------------------- what is compiled
def _rows(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, X[:, 0] + np.sin(X[:, 1])


def _classes(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    X, y = _rows(n)
    return X, np.digitize(y, [-0.5, 0.5])


def _kernel_values() -> None:
    X, _ = _rows()
    for rows in (X, X.astype(np.float32)):
        RBF(gamma=0.5)(rows, np.vstack([rows, rows + rows.dtype.type(1e-4)]))


def _newton_steps() -> None:
    K, ones = np.eye(4), np.ones(4)
    K.flags.writeable = False  # as loops see it
    z = np.array([1.0, -1.0, 1.0, -1.0])
    _newton_loops.newton(K, z, -ones, ones, 0.0, 0.0, 1e-9, 0.5 * z, 0.5 * z)


def _pairwise_steps() -> None:
    SVC().fit(*_classes())


TASKS: dict[str, Callable[[], object]] = {
    "kernel values": _kernel_values,
    "Newton steps": _newton_steps,
    "support vector machines": _pairwise_steps,
    "their probabilities": lambda: [SVC(probability=True).fit(*_classes(n)) for n in (60, 700)],
    "support vector regression": lambda: SVR().fit(*_rows()),
    "searches": lambda: tune("svc", *_classes(), cv=2, progress=False),
    "kernel ridge regression": lambda: tune("ridge", *_rows(), cv=2, progress=False),
    "linear models": lambda: (LogisticRegression().fit(*_classes()), Lasso().fit(*_rows())),
    "neighbours": lambda: KNN().fit(*_classes()).predict(_rows()[0]),
}
"""Small fits that go through the loops of the usual ones, those that others contain first."""


# ---------------------------------------------------------------- the bar
class _Bar:
    """A line on stderr that is drawn again and again; without a terminal it is said once."""

    def __init__(self, progress: Any):
        self.drawn = sys.stderr.isatty() if progress == "auto" else bool(progress)
        if progress == "auto" and not self.drawn:
            print(f"preparing (once): compiling {count(len(TASKS), 'part')}", file=sys.stderr)

    def show(self, done: int, words: str) -> None:
        """Draw how far it is, and what is compiled now."""
        full = WIDTH * done // len(TASKS)
        self._write(f"preparing (once) {'━' * full}{'─' * (WIDTH - full)} {words}")

    def clear(self) -> None:
        """Leave the line empty."""
        self._write("")

    def _write(self, text: str) -> None:
        if self.drawn:
            sys.stderr.write(f"\r\033[K{text}")
            sys.stderr.flush()
