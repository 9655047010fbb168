"""The routes, in the order in which they are asked."""

from __future__ import annotations

from typing import Any

from mercer.select.gram_route import GramRoute
from mercer.select.margin_route import MarginRoute
from mercer.select.ridge_route import RidgeRoute
from mercer.select.routes import Route, StandIn

ROUTES: list[Route] = [MarginRoute(), RidgeRoute(), GramRoute()]
"""Special routes stand before the general one, which is the last."""


def route_of(estimator: Any) -> Route | None:
    """Return the first route that accepts an estimator, or None."""
    if _has_own_methods(estimator):
        return None
    return next((route for route in ROUTES if route.accepts(estimator)), None)


def _has_own_methods(estimator: Any) -> bool:
    """Whether a class outside this library changes a method: it may look at the rows."""
    return any(
        name in ("fit", "_fit_rows", "_new_rows", *StandIn.ANSWERS)
        for cls in type(estimator).__mro__
        if cls.__module__.partition(".")[0] not in ("mercer", "sklearn", "builtins")
        for name in vars(cls)
    )
