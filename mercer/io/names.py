"""The only way from a name in a file to a class or a function, and back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from mercer.io.allowed import BASES, FUNCTIONS, MERCER, PLAIN_VALUES, SCIKIT_LEARN


# ---------------------------------------------------------------- from an object to its name
def class_name(cls: type) -> str | None:
    """Return the name of an allowed class, or None."""
    package = _package_of(cls)
    # the public name comes first: it outlives a move from one file of the folder to another
    for module in (package, sys.modules.get(cls.__module__)) if package else ():
        if module is not None and getattr(module, cls.__qualname__, None) is cls:
            return f"{module.__name__}.{cls.__qualname__}"
    return None


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
    return _classes_of(part).get(name) if part in _mercer_packages() else None


def known_function(name: str) -> Callable[..., Any] | None:
    """Return the allowed function of this name, or None."""
    package, _, own = name.rpartition(".")
    known = own in FUNCTIONS.get(package, ())
    return getattr(import_module(package), own, None) if known else None


@cache
def _classes_of(package: str) -> dict[str, type]:
    """Return the allowed classes that a part of mercer defines, by their names."""
    classes = (
        value
        for module in _modules_of(package)
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    )
    return {name: cls for cls in classes if (name := class_name(cls))}


def _modules_of(package: str) -> list[ModuleType]:
    if find_spec(package) is None:
        return []
    top = import_module(package)
    inside = iter_modules(getattr(top, "__path__", ()), f"{package}.")
    return [top, *(import_module(info.name) for info in inside)]
