"""Lines that several docstrings share, written once; a line ``[name]`` stands for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any, TypeVar

Described = TypeVar("Described", bound=Callable[..., Any])


def described(shared: Mapping[str, str]) -> Callable[[Described], Described]:
    """Return a decorator that puts shared lines into the docstring of a class or a function.

    The lines take the place of a line ``[name]`` and are indented as it is. In them
    ``{parameter}`` is the default of a parameter, as in the signature.

    Examples
    --------
    >>> shared = {"limit": "max_iter : int, default={max_iter}\\n    Most steps."}
    >>> @described(shared)
    ... def run(max_iter=100):
    ...     '''Run.
    ...
    ...     Parameters
    ...     ----------
    ...     [limit]
    ...     '''
    >>> print(run.__doc__.splitlines()[4].strip())
    max_iter : int, default=100
    """

    def describe(thing: Described) -> Described:
        parameters = signature(thing).parameters.values()
        defaults = {p.name: p.default for p in parameters if p.default is not Parameter.empty}
        lines = (thing.__doc__ or "").split("\n")  # none under python -OO
        thing.__doc__ = "\n".join(new for line in lines for new in _filled(line, shared, defaults))
        return thing

    return describe


def _filled(line: str, shared: Mapping[str, str], defaults: Mapping[str, Any]) -> list[str]:
    """Return what a line stands for: itself, or shared lines with the same indentation."""
    name = line.strip().removeprefix("[").removesuffix("]")
    if line.strip() != f"[{name}]" or name not in shared:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return [f"{indent}{own}" for own in shared[name].format(**defaults).rstrip("\n").split("\n")]
