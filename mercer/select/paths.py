"""Which route an estimator takes through a search."""

from __future__ import annotations

from typing import Any

from mercer.machines import SVC, SVR, KernelRidge, KernelRidgeClassifier
from mercer.select.margin_paths import margin_paths
from mercer.select.ridge_paths import ridge_paths
from mercer.select.routes import METHODS, Route, fits_from_gram, follows_from_gram

ROUTES = [
    Route(lambda estimator: type(estimator) in (SVC, SVR), margin_paths),
    Route(lambda estimator: type(estimator) in (KernelRidge, KernelRidgeClassifier), ridge_paths),
    Route(follows_from_gram, fits_from_gram, independent=True),
]
"""Special routes stand before the general one, which is the last."""


def route_of(estimator: Any) -> Route | None:
    """Return the first route that accepts an estimator, or None."""
    if _has_own_methods(estimator):
        return None
    return next((route for route in ROUTES if route.accepts(estimator)), None)


def _has_own_methods(estimator: Any) -> bool:
    """Whether a class outside this library changes a method: it may look at the rows."""
    return any(
        name in ("fit", "_fit_rows", "_new_rows", *METHODS)
        for cls in type(estimator).__mro__
        if cls.__module__.partition(".")[0] not in ("mercer", "sklearn", "builtins")
        for name in vars(cls)
    )
