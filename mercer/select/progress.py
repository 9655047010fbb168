"""While a search runs: generators side by side, a bar on the terminal, scikit-learn's callbacks."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np
from sklearn import config_context, get_config

from mercer._limits import Limits
from mercer._threads import one_blas_thread
from mercer._words import duration

try:
    from mercer._sklearn import callback_management_context
except ImportError:  # before scikit-learn 1.9 there were none
    callback_management_context = None

SILENT_SECONDS, PAUSE = 1.5, 0.2  # seconds


# ---------------------------------------------------------------- several generators as one
def in_turns(generators: list[Iterator[Any]]) -> Iterator[Any]:
    """Yield one item of each generator after the other until all have ended."""
    running = list(generators)
    try:
        while running:
            for generator in tuple(running):
                try:
                    yield next(generator)
                except StopIteration:
                    running.remove(generator)
    finally:  # a generator with threads must hear that nobody listens any more
        for generator in running:
            close(generator)


def close(iterator: Iterator[Any]) -> None:
    """End an iterator that may be a generator."""
    if isinstance(iterator, Generator):
        iterator.close()


def in_threads(
    work: Callable[[Any], Iterator[Any]],
    parts: list[Any],
    on_stop: Callable[[], None] = lambda: None,
) -> Iterator[Any]:
    """Yield what ``work(part)`` yields for all parts, each in a thread, as it comes.

    An exception in one of them, Ctrl-C included, is raised here and stops the others after what
    they are at; ``on_stop`` is called before that is waited for. BLAS is held at one thread: the
    parts bring their own parallelism.
    """
    if not parts:
        return
    found: SimpleQueue[tuple[str, Any]] = SimpleQueue()
    stopped: list[bool] = []
    config, begun, ended = get_config(), set[int](), set[int]()

    def run(number: int) -> None:
        begun.add(number)
        last: tuple[str, Any] = ("end", None)
        try:
            with config_context(**config):  # scikit-learn's settings belong to a thread
                for item in work(parts[number]) if not stopped else ():
                    found.put(("item", item))
                    if stopped:
                        break
        except BaseException as error:
            last = ("error", error)
        ended.add(number)
        found.put(last)

    with one_blas_thread():
        try:
            # no executor: see `Crew`; a Ctrl-C in the start of a thread loses that thread alone
            for number in range(len(parts)):
                Thread(target=run, args=(number,), daemon=True).start()
            left = len(parts)
            while left:
                kind, value = found.get()
                if kind == "error":
                    raise value
                if kind == "end":
                    left -= 1
                else:
                    yield value
        finally:
            stopped.append(True)
            on_stop()
            while begun - ended:
                found.get()


# ---------------------------------------------------------------- the bar
class Progress:
    """Counts results and draws a bar on stderr; "auto" only if that is a terminal.

    It shows the best mean score of the candidates that have all ``n_folds`` results, by ``metric``,
    and how long the rest may take: never longer than the limits leave. What ends within ``silent``
    seconds shows no bar, and ``pause`` seconds lie between two drawings.
    """

    def __init__(
        self,
        total: int,
        n_folds: int,
        metric: Any = "score",
        shown: Any = "auto",
        limits: Limits | None = None,
        silent: float = SILENT_SECONDS,
        pause: float = PAUSE,
    ):
        self.silent, self.pause = silent, pause
        self.total, self.n_folds, self.metric = total, n_folds, metric
        self.limits = limits or Limits()
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
        if now - self._start < self.silent or now - self._drawn < self.pause:
            return
        self._drawn = now
        if self._line is None:
            self._line = _open_line(self.total)
        self._line.show(self.done, self._text(now - self._start))

    def _text(self, seconds: float) -> str:
        left = seconds * (self.total - self.done) / self.done
        most = self.limits.seconds_left()
        left = left if most is None else min(left, most)
        best = f"best {self.best:.4g}, " if np.isfinite(self.best) else ""
        return f"{best}{duration(left)} left"

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


# ---------------------------------------------------------------- callbacks
class Callbacks:
    """The hooks of a search's callbacks: tasks "search" (of evaluations) and the last fit.

    Without callbacks nothing is called.
    """

    def __init__(self, root: Any = None, **data: Any):
        self.root, self.data = root, data
        self.search: Any = None
        self.handed_over = 0

    @contextmanager
    def searching(self, n_tasks: int | None) -> Iterator[None]:
        """Be the task "search"."""
        if self.root is None:
            yield
            return
        self.search = self.root.subcontext(task_name="search", max_subtasks=n_tasks)
        self.search.call_on_fit_task_begin(estimator=self.data["estimator"])
        yield
        self.search.call_on_fit_task_end(estimator=self.data["estimator"])

    def after_each(self) -> bool:
        """Tell of an evaluation, unless scikit-learn has; return whether one asks to stop."""
        if self.search is None:
            return False
        if self.handed_over:
            self.handed_over -= 1
            return False
        task = self._evaluation()
        task.call_on_fit_task_begin(**self.data)
        return bool(task.call_on_fit_task_end(**self.data))

    def hand_over(self) -> dict[str, Any]:
        """Return what a fit by scikit-learn takes: it tells of itself, and lets its model tell."""
        if self.search is None:
            return {}
        self.handed_over += 1
        return {"caller": self.data["estimator"], "callback_ctx": self._evaluation()}

    def _evaluation(self) -> Any:
        return self.search.subcontext(task_name="candidate-split-evaluation")

    @contextmanager
    def refitting(self, model: Any) -> Iterator[None]:
        """Be the task of the last fit, whose model hears the callbacks too if it can."""
        if self.root is None:
            yield
            return
        task = self.root.subcontext(task_name="refit-with-best-params")
        with task.propagate_callback_context(model):
            task.call_on_fit_task_begin(**self.data)
            yield
        task.call_on_fit_task_end(**self.data)


@contextmanager
def calling_back(search: Any, X: Any, y: Any, weight: Any = None) -> Iterator[Callbacks]:
    """Call the hooks of a search's callbacks around its fit; yields those of its tasks."""
    if callback_management_context is None or not getattr(search, "_skl_callbacks", None):
        yield Callbacks()
        return
    metadata = None if weight is None else {"sample_weight": weight}
    with callback_management_context(search):
        root = search._init_callback_context(max_subtasks=1 + (search.refit is not False))
        callbacks = Callbacks(root, estimator=search, X=X, y=y, metadata=metadata)
        root.call_on_fit_task_begin(**callbacks.data)
        yield callbacks
        root.call_on_fit_task_end(**callbacks.data)
