"""Values without parts: what JSON knows as itself, all else as ``{"tag": data}``.

Each tag has a function that writes it and one that reads it, side by side.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from functools import cache
from pathlib import PurePath
from typing import Any

import numpy as np

from mercer.io.allowed import TYPES, ModelFileError
from mercer.io.objects import class_name, function_name, known_function

NOT_A_LEAF = object()
LONGEST_INT = 4000  # decimal digits that Python turns into an integer without objection
_DTYPE = re.compile(r"[<>|=]?[biufcSUMm]\d{1,9}(\[\w{1,12}\])?|[|=]?O|\|b1")
_PLAIN_KINDS = "biufcSUMm"

Leaf = Any  # None, bool, int, float, str or {"tag": data}


def leaf(value: Any) -> Leaf:
    """Return a value without parts as JSON, or `NOT_A_LEAF`."""
    kind = type(value)
    if kind in (type(None), bool, float, str):
        return value
    if kind in _WRITERS:
        return _WRITERS[kind](value)
    if isinstance(value, PurePath):  # which comes back as text: paths of other systems differ
        return str(value)
    if isinstance(value, np.generic):
        return _scalar(value)
    if isinstance(value, np.dtype):
        return {"dtype": value.str} if is_plain(value) or value.kind == "O" else NOT_A_LEAF
    if isinstance(value, Enum):
        return _enum(value)
    if isinstance(value, type):
        return _type(value)
    name = function_name(value) if callable(value) else None
    return {"function": name} if name else NOT_A_LEAF


def read_leaf(value: Leaf, classes: dict[str, type]) -> Any:
    """Return the value that a leaf stands for."""
    if not isinstance(value, dict):
        return value
    tag, data = single(value)
    return _READERS[tag](data, classes)


def single(value: dict[str, Any]) -> tuple[str, Any]:
    """Return the tag and the data of a tagged value."""
    if len(value) != 1:
        raise ModelFileError("a value of the model has no tag or several")
    tag, data = next(iter(value.items()))
    if tag not in _READERS and tag != "ref":
        raise ModelFileError(f"a value of the model has the unknown tag {tag[:40]!r}")
    return tag, data


@cache
def is_plain(dtype: np.dtype) -> bool:
    """Return whether values of this type are bytes and nothing else."""
    return type(dtype).__module__ == "numpy.dtypes" and dtype.kind in _PLAIN_KINDS


# ---------------------------------------------------------------- writing
def _int(value: int) -> Leaf:
    return value if value.bit_length() < 3 * LONGEST_INT else {"int": hex(value)}


def _complex(value: complex) -> Leaf:
    return {"complex": [value.real, value.imag]}


def _scalar(value: np.generic) -> Leaf:
    """Keep the bits, so that a NaN stays the same NaN."""
    dtype = value.dtype
    return {"numpy": [dtype.str, value.tobytes().hex()]} if is_plain(dtype) else NOT_A_LEAF


def _enum(value: Enum) -> Leaf:
    name = class_name(type(value))
    return {"enum": [name, value.name]} if name else NOT_A_LEAF


def _type(value: type) -> Leaf:
    names = [name for name, known in TYPES.items() if known is value]
    return {"type": names[0]} if names else NOT_A_LEAF


_WRITERS: dict[type, Callable[[Any], Leaf]] = {
    int: _int,
    complex: _complex,
    bytes: lambda value: {"bytes": value.hex()},
    range: lambda value: {"range": [value.start, value.stop, value.step]},
    # an element of an array loses the zeros at its end, a scalar does not
    np.str_: lambda value: {"str_": str(value)},
    np.bytes_: lambda value: {"bytes_": bytes(value).hex()},
}


# ---------------------------------------------------------------- reading
@cache
def _read_dtype(text: Any) -> np.dtype:
    if not isinstance(text, str) or not _DTYPE.fullmatch(text):
        raise ModelFileError(f"a value of the model has the unknown type {str(text)[:40]!r}")
    return np.dtype(text)


def _read_scalar(data: Any) -> Any:
    dtype, content = _read_dtype(data[0]), bytes.fromhex(data[1])
    if not is_plain(dtype) or len(content) != dtype.itemsize:
        raise ModelFileError(f"a number of the model does not fit its type {dtype.str}")
    return np.frombuffer(content, dtype)[0]


def _read_enum(data: Any, classes: dict[str, type]) -> Any:
    members = classes[data[0]]
    if not issubclass(members, Enum):
        raise ModelFileError(f"the model names a member of {data[0]}, which has none")
    return members[data[1]]


def _read_function(name: str) -> Any:
    function = known_function(name)
    if function is None:
        raise ModelFileError(f"the model names the function {name[:80]!r}, which is not allowed")
    return function


_READERS: dict[str, Callable[[Any, dict[str, type]], Any]] = {
    "int": lambda data, _: int(data, 16),
    "complex": lambda data, _: complex(*data),
    "bytes": lambda data, _: bytes.fromhex(data),
    "range": lambda data, _: range(*data),
    "str_": lambda data, _: np.str_(data),
    "bytes_": lambda data, _: np.bytes_(bytes.fromhex(data)),
    "numpy": lambda data, _: _read_scalar(data),
    "dtype": lambda data, _: _read_dtype(data),
    "enum": _read_enum,
    "type": lambda data, _: TYPES[data],
    "function": lambda data, _: _read_function(data),
}
