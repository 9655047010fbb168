"""What threads share: locks that a forked child finds open, and the threads of BLAS.

The number of BLAS threads belongs to the whole process, and is held at one while tiles bring their
own. Who needs that refers to a lease, which all share; when nobody refers to it any more, the
numbers from before are restored. There is no count that could be wrong: the interpreter counts the
references, whatever ends a block.

A signal reaches Python code between any two steps, the first step of ``__exit__`` included, but not
the inside of a step. So a block is left through ``memoryview.__exit__``, and the numbers are
restored by a weak reference that calls the library itself: both are written in C.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import RLock
from typing import Any, cast
from weakref import ref

from threadpoolctl import ThreadpoolController

THREADED_OPERATIONS = 1e9  # multiplications of a product, from where on threads are worth it

# ---------------------------------------------------------------- locks
_process = [object()]  # what tells this process from the one that it was forked from


def _is_a_new_process() -> None:
    _process[0] = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_is_a_new_process)


class ForkLock:
    """A re-entrant lock for ``with lock():``, another one in every process.

    Who holds a lock at a fork does not live on in the child, and would never open it again.

    What the ``with`` statement sees is the interpreter's own lock: no signal comes between taking
    it and being sure to open it again.
    """

    def __init__(self) -> None:
        self._locks: dict[object, Any] = {}

    def __call__(self) -> Any:
        """Return this process's lock."""
        process = _process[0]
        return self._locks.get(process) or self._locks.setdefault(process, RLock())

    def __reduce__(self) -> tuple[type[ForkLock], tuple[()]]:
        return ForkLock, ()  # a copy in another process has locks of its own


# ---------------------------------------------------------------- BLAS
class _ThreadLease(bytearray):
    """BLAS has one thread while something refers to this, which has bytes only to be viewed."""


class _Restore(ref):
    """Gives a library its threads back when a lease is gone.

    The weak reference is the only argument of the call; ``_as_parameter_`` is what C sees of it.
    """

    __slots__ = ("_as_parameter_", "library")
    _as_parameter_: int
    library: _Library

    def __new__(cls, lease: _ThreadLease, library: _Library) -> _Restore:
        self = super().__new__(cls, lease, library.set_threads)
        self._as_parameter_, self.library = library.count_threads(), library
        return self

    def now(self) -> None:
        """Do it now."""
        self.library.set_threads(self)


class _Library:
    """A BLAS library that is loaded: how many threads it uses, and how to say it."""

    def __init__(self, controller: Any):
        self.count_threads: Callable[[], int] = controller.get_num_threads
        self.set_threads: Callable[[Any], object] = _setter(controller)


def _setter(controller: Any) -> Callable[[Any], object]:
    """Return a function of C where there is one.

    threadpoolctl lets one thread of Python alone change OpenBLAS, which then stays as that thread
    has left it; here any thread may be the last.
    """
    if getattr(controller, "threading_layer", None) == "pthreads":
        symbol = controller._get_symbol("openblas_set_num_threads")
        if symbol is not None:
            return cast("Callable[[Any], object]", symbol)
    return lambda wanted: controller.set_num_threads(getattr(wanted, "_as_parameter_", wanted))


@cache
def _libraries() -> list[_Library]:
    controllers = ThreadpoolController().select(user_api="blas").lib_controllers
    return [_Library(controller) for controller in controllers]


class _Held:
    """A lease and what happens when it ends: the libraries' threads, then the note that it is over.

    Callbacks of weak references run from the newest to the oldest.
    """

    def __init__(self, lease: _ThreadLease, libraries: list[_Library]):
        self._over: list[object] = []
        self.ready = False  # whether the libraries have been told
        self.lease = ref(lease, self._over.append)
        self._restores = [_Restore(lease, library) for library in libraries]
        self._next: dict[str, _Held] = {}

    @property
    def ended(self) -> bool:
        """Whether the numbers from before are back."""
        return bool(self._over)

    def followed_by(self, other: _Held) -> _Held:
        """Return the one that comes after this one: the first of all that ask for it."""
        return self._next.setdefault("held", other)

    def start(self) -> None:
        """Tell the libraries."""
        for library in _libraries():
            library.set_threads(1)
        self.ready = True

    def restore(self) -> None:
        """Restore the numbers now, whoever refers to the lease."""
        for restore in self._restores:
            restore.now()


_last = {"held": _Held(_ThreadLease(1), [])}  # or one before it; the first has ended already


def one_blas_thread() -> memoryview:
    """Return a context in which BLAS uses one thread, in all threads of the process.

    Examples
    --------
    >>> from mercer._threads import one_blas_thread
    >>> with one_blas_thread():
    ...     pass
    """
    held = _last["held"]
    lease = (held.lease() if held.ready else None) or _begin(held)
    try:
        return memoryview(lease)
    finally:
        del lease  # a traceback must not keep it


def threads_for(operations: float) -> AbstractContextManager[object]:
    """Return a context for products of so many multiplications: below a limit BLAS has one thread.

    Its threads wait for one another by spinning. Where other processes want the cores, too, a
    product that takes 15 ms alone was measured to take 800 ms in two threads; where they are idle,
    two threads save less than what is worth that risk.
    """
    return nullcontext() if operations > THREADED_OPERATIONS else one_blas_thread()


def threads_of_fit(estimator: Any, X: Any = None) -> AbstractContextManager[object]:
    """Return the context of a fit to rows X, by its largest product as far as that is known.

    It is one of all pairs of rows, or of columns only if the class says so by ``by_columns``.
    """
    shape: Any = getattr(X, "shape", ())
    if len(shape) != 2 or not all(isinstance(size, int) for size in shape):
        return nullcontext()
    n, d = float(shape[0]), float(shape[1])
    return threads_for(n * d * min(n, d) if getattr(estimator, "by_columns", False) else n**3)


def _begin(held: _Held) -> _ThreadLease:
    """Return the lease of this one, or of the first after it that has not ended.

    No lock: of threads that come at once one is the first to follow, and the others join it.
    """
    while True:
        lease = held.lease()
        if lease is not None:
            held.start()
            return lease
        if not held.ended:
            time.sleep(0)  # another thread is about to restore the numbers
            continue
        lease = _ThreadLease(1)
        held = _last["held"] = held.followed_by(_Held(lease, _libraries()))


def _end_in_child() -> None:
    """End the lease of threads that a fork has left behind."""
    if not _last["held"].ended:
        _last["held"].restore()
    _last["held"] = _Held(_ThreadLease(1), [])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_in_child)
