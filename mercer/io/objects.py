"""Objects: a class that is looked up by its name, and attributes. Nothing is called.

This is the only way from a name in a file to a class or a function, and back. A class of mercer is
named by its folder and itself, ``mercer.machines.SVC``, whichever file of the folder it stands in;
only where two of a folder share a name and neither is public, the file is named too. Whatever file
a name says, the class is looked for in the whole folder: it may have moved since.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from enum import Enum
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter, signature
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from mercer._named_parts import NamedParts
from mercer._state import StateError, check_state, declared
from mercer.io.allowed import (
    BASES,
    FUNCTIONS,
    MERCER,
    ONLY_NONE,
    PLAIN_VALUES,
    SCIKIT_LEARN,
    ModelFileError,
)
from mercer.io.foreign import check_foreign
from mercer.io.parts import Pieces


# ---------------------------------------------------------------- from an object to its name
def class_name(cls: type) -> str | None:
    """Return the name of an allowed class, or None."""
    package = _package_of(cls)
    if package is None:
        return None
    own = cls.__qualname__
    if getattr(package, own, None) is cls:
        return f"{package.__name__}.{own}"
    namesakes = _classes_of(package.__name__).get(own, [])
    if cls not in namesakes:
        return None
    return f"{package.__name__ if len(namesakes) == 1 else cls.__module__}.{own}"


def function_name(function: Any) -> str | None:
    """Return the name of an allowed function, or None."""
    name = getattr(function, "__name__", None)
    for package, names in FUNCTIONS.items():
        if name in names and getattr(sys.modules.get(package), str(name), None) is function:
            return f"{package}.{name}"
    return None


def _package_of(cls: type) -> ModuleType | None:
    """Return the package that an allowed class belongs to."""
    for package in _beginnings(cls.__module__):
        if package in _mercer_packages() and is_value(cls):
            return sys.modules.get(package)
        if cls.__name__ in SCIKIT_LEARN.get(package, ()):
            module = sys.modules.get(package)
            return module if getattr(module, cls.__name__, None) is cls else None
    return None


def _beginnings(module: str) -> Iterator[str]:
    parts = module.split(".")
    return (".".join(parts[:i]) for i in range(len(parts), 0, -1))


@cache
def _mercer_packages() -> frozenset[str]:
    return frozenset(f"mercer.{name}" for name in MERCER)


def is_value(cls: type) -> bool:
    """Return whether objects of a class of mercer are no more than their attributes."""
    return (
        issubclass(cls, (*BASES, Enum))
        or is_dataclass(cls)
        or is_record(cls)
        or cls.__name__ in PLAIN_VALUES
    )


def is_record(cls: type) -> bool:
    """Return whether a class is a named tuple."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


# ---------------------------------------------------------------- from a name to the object
def known_class(name: str) -> type | None:
    """Return the allowed class of this name, or None; only modules of the tables are imported."""
    package, _, own = name.rpartition(".")
    if own in SCIKIT_LEARN.get(package, ()):
        return getattr(import_module(package), own, None)
    part = ".".join(name.split(".")[:2])
    found = _classes_of(part).get(own, []) if part in _mercer_packages() else []
    return found[0] if len(found) == 1 else next((c for c in found if class_name(c) == name), None)


def known_function(name: str) -> Callable[..., Any] | None:
    """Return the allowed function of this name, or None."""
    package, _, own = name.rpartition(".")
    known = own in FUNCTIONS.get(package, ())
    return getattr(import_module(package), own, None) if known else None


@cache
def _classes_of(package: str) -> dict[str, list[type]]:
    """Return the allowed classes that a part of mercer defines, by their own names."""
    found: dict[str, list[type]] = {}
    for module in _modules_of(package):
        for name, value in vars(module).items():
            own = isinstance(value, type) and value.__module__ == module.__name__
            if own and name == value.__qualname__ and is_value(value):
                found.setdefault(name, []).append(value)
    return found


def _modules_of(package: str) -> list[ModuleType]:
    if find_spec(package) is None:
        return []
    top = import_module(package)
    inside = iter_modules(getattr(top, "__path__", ()), f"{package}.")
    return [top, *(import_module(info.name) for info in inside)]


# ---------------------------------------------------------------- writing
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
    _check_hidden(cls, attributes)
    made = cls.__new__(cls)
    slots = set(_slots(cls))
    for attribute in slots & state.keys():
        object.__setattr__(made, attribute, state.pop(attribute))
    if state:
        made.__dict__.update(state)
    if isinstance(made, NamedParts):
        _add_later_parameters(made)
    try:
        check_state(made)
        check_foreign(made)
    except StateError as error:
        raise ModelFileError(f"the model is not what a fit leaves: {error}") from error
    return made


def _add_later_parameters(made: NamedParts) -> None:
    """Give parameters that came after the file was written their defaults."""
    for name, parameter in signature(type(made)).parameters.items():
        if name not in vars(made) and parameter.default is not Parameter.empty:
            made.__dict__[name] = parameter.default


def _check_hidden(cls: Any, attributes: list[str]) -> None:
    """Let no attribute hide what the class itself has, such as a method that checks rows."""
    own = {*declared(cls), *_slots(cls), *getattr(cls, "__dataclass_fields__", ())}
    parameters = getattr(cls, "_get_param_names", getattr(cls, "_defaults", list))
    hidden = [a for a in attributes if a not in own and hasattr(cls, a) and a not in parameters()]
    if hidden:
        raise ModelFileError(
            f"the model holds a {cls.__name__} with the attribute {hidden[0]!r}, which is a part "
            "of its class"
        )


def _is_attribute(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier() and not name.startswith("__")
