"""How loops are compiled: once, kept on disk, without the GIL, and no more of them than is called.

Compiled code lies beside the sources, in ``__pycache__``; where that is read-only, in the user's
cache folder; and in ``NUMBA_CACHE_DIR`` if that is set.
"""

from __future__ import annotations

from typing import Any

from numba import njit


def compiled(**flags: Any) -> Any:
    """Return a decorator for a loop that Python calls; flags as for ``numba.njit``."""
    options: Any = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, **flags}
    return njit(**options)


def compiled_part(**flags: Any) -> Any:
    """Return a decorator for a loop that only other compiled loops call.

    It cannot be called from Python: what translates arguments is left out, which is a third of
    the time that compiling takes.
    """
    return compiled(no_cpython_wrapper=True, **flags)
