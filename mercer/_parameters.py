"""Objects that are their parameters, such as kernels and losses, and how to ask for one by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from inspect import signature
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from mercer._sklearn import validate_parameter_constraints

Value = TypeVar("Value", bound="ParameterValue")


def as_object(
    given: Any, kind: type[Value], names: Mapping[str, type[Value]], example: str, also: str = ""
) -> Value:
    """Return an object of a kind from itself or its name, or say what is accepted.

    Parameters
    ----------
    given : object
        What a user wrote.
    kind : type
        The class wanted; its name in small letters is what messages call it.
    names : mapping of str to type
        What each name stands for: an object with default parameters.
    example : str
        One of the names, for messages.
    also : str
        What else is accepted, for messages.
    """
    what = kind.__name__.lower()
    if isinstance(given, kind):
        return given
    if isinstance(given, str):
        if given.lower() not in names:
            raise ValueError(
                f"{what} must be one of {sorted(names)} or a {kind.__name__}; got {given!r}"
            )
        return names[given.lower()]()
    if isinstance(given, type) and issubclass(given, kind):
        raise TypeError(
            f"{what} must be a {kind.__name__} object: write {given.__name__}(), with brackets"
        )
    choices = f"a {kind.__name__}, a name such as {example!r} or {also}"
    if not also:
        choices = f"a {kind.__name__} or a name such as {example!r}"
    raise TypeError(f"{what} must be {choices}; got {type(given).__name__}")


class ParameterValue(BaseEstimator):
    """A scikit-learn object that is used as a value: equal if its parameters are equal."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    def check(self) -> None:
        """Raise if a parameter is out of its range."""
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )

    @classmethod
    @cache  # kernels are asked often, and reading a signature is slow
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ParameterValue):
            return NotImplemented
        if type(self) is not type(other):
            return False
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(_same(mine[name], theirs[name]) for name in mine)

    def __hash__(self) -> int:
        # of the shape only: set_params may change values, and equal objects must hash alike
        params = self.get_params(deep=False).values()
        parts = (p for p in params if isinstance(p, ParameterValue))
        return hash((type(self).__name__, *map(hash, parts)))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        defaults = _defaults(type(self))  # type: ignore[arg-type]
        shown = (
            f"{name}={_literal(value)}"
            for name, value in self.get_params(deep=False).items()
            if name not in defaults or not _same(value, defaults[name])
        )
        return f"{type(self).__name__}({', '.join(shown)})"


@cache
def _defaults(cls: type) -> dict[str, Any]:
    parameters = signature(cls).parameters
    return {name: p.default for name, p in parameters.items() if p.default is not p.empty}


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and np.array_equal(a, b)
    return bool(a is b or a == b)


def _literal(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    return getattr(value, "__name__", None) or repr(value)
