"""A fitted model held against what its class declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mercer._state.attributes import Attribute, Lengths
from mercer._state.parameters import StateError, check_parameters


def declared(cls: type) -> dict[str, Attribute]:
    """Return what a class and its bases declare of the fitted state."""
    merged: dict[str, Attribute] = {}
    for base in reversed(cls.__mro__):
        merged.update(vars(base).get("fitted_state", {}))
    return merged


def check_state(model: Any) -> None:
    """Raise `StateError` if a fitted model is not what its class declares.

    Parameters
    ----------
    model : object
        Of any class; what declares nothing, or is not fitted, passes.
    """
    attributes = declared(type(model))
    if not attributes or not _is_fitted(model, attributes):
        return
    state, lengths = vars(model), Lengths()
    for name, attribute in attributes.items():
        _check_attribute(type(model).__name__, name, attribute, state, lengths)
    check_parameters(model)


def _is_fitted(model: Any, attributes: Mapping[str, Attribute]) -> bool:
    parameters = getattr(type(model), "_get_param_names", list)
    learned = set(vars(model)).difference(parameters())
    return any(attribute.required and name in learned for name, attribute in attributes.items())


def _check_attribute(
    owner: str, name: str, attribute: Attribute, state: Mapping[str, Any], lengths: Lengths
) -> None:
    if attribute.required and name not in state:
        raise StateError(f"{owner} has no {name}, although it is fitted")
    try:
        attribute.check(state.get(name), lengths)
    except StateError as error:
        raise StateError(f"{owner}.{name} {error}") from None


def undeclared(model: Any) -> Iterator[str]:
    """Yield the names of fitted attributes that the class does not declare."""
    known = {*declared(type(model)), *model.get_params(deep=False)}
    return (name for name in vars(model) if name not in known)
