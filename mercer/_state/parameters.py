"""Parameters of fitted estimators, and of the kernels and losses in them."""

from __future__ import annotations

from typing import Any

MOST_PARTS = 10_000  # of an expression of kernels, counting what is shared as often as it occurs


class StateError(ValueError):
    """A fitted model that is not what its class declares."""


def distinct_parts(value: Any) -> list[Any]:
    """Return an object and the objects among its parameters, each once; refuse too large ones.

    What is shared counts as often as it occurs: that is what walking through it would cost.
    """
    sizes: dict[int, int] = {}
    found: list[Any] = []
    stack = [value]
    while stack:
        parts = _parts(stack[-1])
        open_parts = [part for part in parts if id(part) not in sizes]
        if open_parts:
            stack.extend(open_parts)
            continue
        top = stack.pop()
        if id(top) not in sizes:
            found.append(top)
            sizes[id(top)] = 1 + sum(sizes[id(part)] for part in parts)
    if sizes[id(value)] > MOST_PARTS:
        raise StateError(f"is an expression of more than {MOST_PARTS} parts")
    return found


def _parts(value: Any) -> list[Any]:
    given = value.get_params(deep=False).values() if hasattr(value, "get_params") else ()
    return [part for part in given if hasattr(part, "get_params") and not isinstance(part, type)]


def check_parameters(value: Any) -> None:
    """Raise if a parameter of a fitted estimator, a kernel or a loss is out of its range."""
    check = getattr(value, "check", None) or getattr(value, "_validate_params", None)
    if check is None:
        return
    try:
        check()
    except (ValueError, TypeError, AttributeError) as error:
        raise StateError(
            f"has a parameter out of its range: {' '.join(str(error).split())}"
        ) from error
