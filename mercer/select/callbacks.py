"""scikit-learn's callbacks (1.9 and later): every evaluation is a task of the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

try:
    from mercer._sklearn import callback_management_context
except ImportError:  # an older scikit-learn has none
    callback_management_context = None


def nothing() -> bool:
    """Do nothing, and do not stop."""
    return False


@contextmanager
def calling_back(search: Any, X: Any, y: Any) -> Iterator[Callable[[], bool]]:
    """Call the hooks of a search's callbacks; yields what to call after each evaluation.

    That function returns whether a callback asks to stop.
    """
    if callback_management_context is None or not getattr(search, "_skl_callbacks", None):
        yield nothing
        return
    with callback_management_context(search):
        root = search._init_callback_context(max_subtasks=None)
        root.call_on_fit_task_begin(estimator=search, X=X, y=y)

        def after_each() -> bool:
            task = root.subcontext(task_name="candidate-split-evaluation")
            task.call_on_fit_task_begin(estimator=search, X=X, y=y)
            return bool(task.call_on_fit_task_end(estimator=search, X=X, y=y))

        yield after_each
        root.call_on_fit_task_end(estimator=search, X=X, y=y)
