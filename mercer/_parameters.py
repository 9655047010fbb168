"""Objects that are their parameters, such as kernels and losses, and how to ask for one by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from inspect import signature
from typing import Any, ClassVar, TypeVar

import numpy as np

from mercer._sklearn import validate_parameter_constraints

Value = TypeVar("Value", bound="ParameterValue")

SHOWN = 12  # numbers of an array that are printed
LONGEST_SHOWN = 80  # characters of a name that nobody knows


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
                f"{what} must be one of {sorted(names)} or a {kind.__name__}; got "
                f"{given[:LONGEST_SHOWN]!r}"
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


class ParameterValue:
    """An object that is its parameters: equal if they are, printed as what makes it again.

    It has ``get_params`` and ``set_params``, which is all that scikit-learn's ``clone`` and
    searches ask for. It is no ``BaseEstimator``: the printer of scikit-learn would take an
    expression of kernels apart.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    def check(self) -> None:
        """Raise if a parameter is out of its range."""
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )

    @classmethod
    @cache  # kernels are asked often, and reading a signature is slow
    def _defaults(cls) -> dict[str, Any]:
        """Return the parameters in alphabetical order, each with its default."""
        if cls.__init__ is object.__init__:
            return {}
        return {name: p.default for name, p in sorted(signature(cls).parameters.items())}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` also those of parts, as ``part__name``."""
        params = {name: getattr(self, name) for name in self._defaults()}
        return {**_parts_of(params), **params} if deep else params

    def set_params(self: Value, **params: Any) -> Value:
        """Set parameters, also those of parts (``part__name``), and return the object."""
        for path in sorted(params, key=lambda path: path.count("__")):  # owners before their parts
            name, _, inner = path.partition("__")
            part = getattr(self, name, None)
            if name not in self._defaults() or (inner and not hasattr(part, "set_params")):
                known = [*self.get_params()]
                raise ValueError(f"{self!r} has no parameter {path!r}; it has {known}")
            if inner:
                part.set_params(**{inner: params[path]})  # type: ignore[union-attr]
            else:
                setattr(self, name, params[path])
        return self

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
        defaults = self._defaults()
        shown = (
            f"{name}={_literal(value)}"
            for name, value in self.get_params(deep=False).items()
            if not _same(value, defaults[name])
        )
        return f"{type(self).__name__}({', '.join(shown)})"


def _parts_of(params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        f"{name}__{inner}": value
        for name, part in params.items()
        if hasattr(part, "get_params") and not isinstance(part, type)
        for inner, value in part.get_params().items()
    }


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return all(isinstance(v, (np.ndarray, list, tuple)) for v in (a, b)) and bool(
            np.array_equal(a, b)
        )
    return bool(a is b or a == b)


def _literal(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return _array_literal(value)
    return getattr(value, "__name__", None) or repr(value)


def _array_literal(value: np.ndarray) -> str:
    """Return a list that can be read back, or of many numbers what they are."""
    if value.size <= SHOWN:
        return repr(value.tolist())
    kind = "numbers" if value.dtype.kind in "biufc" else "values"
    return f"<{' × '.join(map(str, value.shape))} {kind}>"
