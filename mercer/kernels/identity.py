"""Objects that are their parameters: equality, hash and a repr that can be evaluated."""

from __future__ import annotations

from functools import cache
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


class ParameterValue(BaseEstimator):
    """A scikit-learn object that is used as a value: equal if its parameters are equal."""

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
