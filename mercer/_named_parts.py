"""Parameters of estimators that are objects and may be given by name, such as ``kernel="rbf"``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from mercer._parameters import ParameterValue

SYNONYMS = {"gamma": "scale", "coef0": "bias"}  # what scikit-learn calls parameters of kernels


class NamedParts(BaseEstimator):
    """An estimator whose parts are searchable although they are given by name.

    ``SVC("rbf")`` has the parameter ``kernel__gamma``: who sets it makes an object of the name. A
    child says by ``named_parts`` which of its parameters may be names, and what reads each.
    """

    named_parts: ClassVar[Mapping[str, Callable[[Any], ParameterValue]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            cls.__init__ = _explaining(cls.__init__)  # type: ignore[method-assign]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` also those of parts, as ``kernel__gamma``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to list the parameters of parts too, also of those given by name.
        """
        params = super().get_params(deep=deep)
        if deep:
            for name in self.named_parts:
                part = self._part(name, params[name])
                inner = {} if part is None else part.get_params()
                params.update({f"{name}__{key}": value for key, value in inner.items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also of parts, as ``kernel__gamma``; return the estimator.

        Parameters
        ----------
        **params : dict
            Values by name. A part that is given by name becomes an object if that changes it.
        """
        inner = {path: params[path] for path in params if path.partition("__")[1]}
        super().set_params(**{name: params[name] for name in params if name not in inner})
        for name, read in self.named_parts.items():
            mine = {path for path in inner if path.startswith(f"{name}__")}
            if mine and isinstance(given := getattr(self, name), str):
                changes = {path.removeprefix(f"{name}__"): inner.pop(path) for path in mine}
                part = read(given).set_params(**changes)
                setattr(self, name, given if part == read(given) else part)
        return super().set_params(**inner)

    def _part(self, name: str, given: Any) -> ParameterValue | None:
        """Return a part from itself or its name; None if it has no such name, as fits will say."""
        if not isinstance(given, (str, ParameterValue)):
            return None
        try:
            return self.named_parts[name](given)
        except ValueError:
            return None

    def _advice(self, unknown: dict[str, Any], given: dict[str, Any]) -> str:
        """Return what to write instead of parameters that the estimator does not have."""
        text = f"{type(self).__name__} has no parameter {next(iter(unknown))!r}"
        for name in self.named_parts:
            part = _changed(self._part(name, given.get(name)), unknown)
            if part is not None:
                right = " ".join(repr(type(self)(**{**given, name: part})).split())
                return f"{text}: it belongs to its {name}; write {right}"
        return f"{text}; it has {self._get_param_names()}"


def _changed(part: ParameterValue | None, unknown: dict[str, Any]) -> ParameterValue | None:
    """Return a part with these parameters, or None if it has not all of them."""
    if part is None:
        return None
    known = part.get_params(deep=False)
    values = {
        name if name in known else SYNONYMS.get(name, name): unknown[name] for name in unknown
    }
    return copy(part).set_params(**values) if values.keys() <= known.keys() else None


def _explaining(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that says what to write where a parameter is unknown.

    Its signature is still that of ``init`` for scikit-learn, editors and type checkers.
    """
    accepted = signature(init)
    if any(p.kind is Parameter.VAR_KEYWORD for p in accepted.parameters.values()):
        return init

    @wraps(init)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        unknown = {name: v for name, v in kwargs.items() if name not in accepted.parameters}
        if unknown:
            known = {name: v for name, v in kwargs.items() if name in accepted.parameters}
            bound = accepted.bind(self, *args, **known)
            bound.apply_defaults()
            given = dict(bound.arguments)
            given.pop(next(iter(given)))  # the object itself
            raise TypeError(self._advice(unknown, given))
        init(self, *args, **kwargs)

    return construct
