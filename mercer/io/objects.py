"""Objects: a class that is looked up in a table, and attributes. Nothing is called."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from mercer.io.allowed import BASES, ONLY_NONE
from mercer.io.errors import ModelFileError
from mercer.io.names import class_name, is_record, known_class
from mercer.io.parts import Pieces


def take_object(value: Any) -> Pieces | None:
    """Return the pieces of an object, or None if its class can't be saved."""
    name = saved_name(type(value))
    if name is None:
        return None
    if is_record(type(value)):
        return Pieces("record", [name], value)
    state = state_of(value)
    _check_state(name, state)
    return Pieces("object", [name, *state], list(state.values()))


def saved_name(cls: type) -> str | None:
    """Return the name of an allowed class, or of one that the reader must hand over."""
    allowed, own = class_name(cls), f"{cls.__module__}.{cls.__qualname__}"
    if allowed or not issubclass(cls, BASES) or known_class(own):
        return allowed  # a class of the user's own can't take a name that is taken
    return own


def state_of(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, without what it computes from them when asked."""
    cls = type(value)
    slots = {name: getattr(value, name) for name in _slots(cls) if hasattr(value, name)}
    own = _own_state(value).items()
    kept = {k: v for k, v in own if not isinstance(getattr(cls, k, None), cached_property)}
    return slots | kept


def _own_state(value: Any) -> dict[str, Any]:
    """Return what the object itself would store, if its class has a say in it."""
    cls: Any = type(value)
    given = None if cls.__getstate__ is object.__getstate__ else value.__getstate__()
    state = dict(given if isinstance(given, dict) else getattr(value, "__dict__", {}))
    state.pop("_sklearn_version", None)  # the file says so for all objects
    return state


def _slots(cls: type) -> list[str]:
    listed = [vars(base).get("__slots__", ()) for base in cls.__mro__]
    names = [name for part in listed for name in ([part] if isinstance(part, str) else part)]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _check_state(name: str, state: dict[str, Any]) -> None:
    for attribute, value in state.items():
        reason = ONLY_NONE.get((name, attribute))
        if reason and value is not None:
            raise ModelFileError(
                f"{name}.{attribute} must be None in a model file, because {reason}; "
                f"got {str(value)[:80]!r}"
            )


# ---------------------------------------------------------------- reading
def make_record(head: Any, parts: list[Any], classes: dict[str, type]) -> Any:
    """Return a named tuple."""
    (name,) = head
    cls = classes[name]
    if not is_record(cls) or len(cls._fields) != len(parts):  # type: ignore[attr-defined]
        raise ModelFileError(f"the model holds a {name} that does not fit its class")
    return tuple.__new__(cls, parts)


def make_object(head: Any, parts: list[Any], classes: dict[str, type]) -> Any:
    """Return an object of an allowed class with these attributes."""
    name, *attributes = head
    state = dict(zip(attributes, parts, strict=True))
    if len(state) != len(parts) or not all(map(_is_attribute, attributes)):
        raise ModelFileError(f"the model holds a {name} with impossible names of attributes")
    _check_state(name, state)
    cls: Any = classes[name]
    made = cls.__new__(cls)
    slots = set(_slots(cls))
    for attribute in slots & state.keys():
        object.__setattr__(made, attribute, state.pop(attribute))
    if state:
        made.__dict__.update(state)
    return made


def _is_attribute(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier() and not name.startswith("__")
