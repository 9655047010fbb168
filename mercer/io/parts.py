"""Values with parts: how each kind is taken apart and put together again.

To take apart is to say which kind it is, a head that JSON can hold (a class, a shape) and the
parts, which may be anything. To put together gets the head and the parts back.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from mercer._state import Integers, Lengths, Pointers, StateError
from mercer.io.allowed import ModelFileError


class Pieces(NamedTuple):
    """A value taken apart."""

    kind: str
    head: Any
    parts: Sequence[Any]


def take_apart(value: Any) -> Pieces | None:
    """Return the pieces of a container, or None if it is not one of the known kinds."""
    name = _KIND_OF.get(type(value))
    if name is not None and (take := _KINDS[name].take):
        return Pieces(name, *take(value))
    if sp.issparse(value) and value.format in _SPARSE_PARTS:
        return _take_sparse(value)
    return None


def put_together(kind: str, head: Any, parts: list[Any]) -> Any:
    """Return the container that was taken apart."""
    if kind not in _KINDS:
        raise ModelFileError(f"the model holds a value of the unknown kind {kind[:40]!r}")
    return _KINDS[kind].make(head, parts)


# ---------------------------------------------------------------- mappings and sequences
_ATOMS = (type(None), bool, int, float, complex, str, bytes, np.generic, np.dtype, type, Enum)


def _check_keys(keys: Iterable[Any]) -> None:
    """Allow only keys whose hash is quick: nests of tuples or kernels can take for ever."""
    for key in keys:
        inside = key if type(key) in (tuple, frozenset) else (key,)
        if not all(isinstance(atom, _ATOMS) for atom in inside):
            raise ModelFileError(
                "keys of dicts and members of sets must be numbers, texts or tuples of them in a "
                f"model file; got a {type(key).__name__}"
            )


def _interleaved(value: Any) -> tuple[None, list[Any]]:
    _check_keys(value)
    return None, [part for item in value.items() for part in item]


def _mapping(parts: list[Any]) -> dict[Any, Any]:
    _check_keys(parts[::2])
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _members(parts: list[Any]) -> list[Any]:
    _check_keys(parts)
    return parts


def _in_fixed_order(value: Any) -> tuple[None, list[Any]]:
    """Sets of text come in another order in every process, and a file should not."""
    _check_keys(value)
    return None, sorted(value, key=repr)


def _rebuild_slice(_: Any, parts: list[Any]) -> slice:
    start, stop, step = parts
    return slice(start, stop, step)


# ---------------------------------------------------------------- arrays that are more than bytes
def take_objects(value: np.ndarray) -> Pieces:
    """Take apart an array of Python objects."""
    return Pieces("objects", list(value.shape), value.ravel().tolist())


def _make_objects(shape: Any, parts: list[Any]) -> np.ndarray:
    if not all(type(n) is int and n >= 0 for n in shape) or math.prod(shape) != len(parts):
        raise ModelFileError(f"the model has an array of shape {shape} with {len(parts)} objects")
    flat = np.empty(len(parts), dtype=object)
    for i, part in enumerate(parts):  # by slices, NumPy would look inside lists
        flat[i] = part
    return flat.reshape(shape)


def _take_masked(value: Any) -> tuple[None, list[Any]]:
    mask = None if value.mask is np.ma.nomask else np.asarray(value.mask)
    return None, [np.asarray(value.data), mask, value.fill_value]


def _make_masked(_: Any, parts: list[Any]) -> Any:
    data, mask, fill_value = parts
    given = np.ma.nomask if mask is None else mask
    return np.ma.MaskedArray(data, mask=given, fill_value=fill_value)


_SPARSE_PARTS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
}
_SPARSE_CLASSES = {
    f"{form}_{kind}": getattr(sp, f"{form}_{kind}")
    for form in _SPARSE_PARTS
    for kind in ("array", "matrix")
}


def _take_sparse(value: Any) -> Pieces | None:
    name = type(value).__name__
    if _SPARSE_CLASSES.get(name) is not type(value) or value.ndim != 2:
        return None
    names = _SPARSE_PARTS[value.format]
    shape = [int(n) for n in value.shape]
    return Pieces("sparse", [name, shape], [getattr(value, part) for part in names])


def _make_sparse(head: Any, parts: list[Any]) -> Any:
    name, shape = head
    if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
        raise ModelFileError("a sparse matrix of the model is not made of three vectors")
    data, first, second = parts
    pieces = (data, (first, second)) if name.startswith("coo") else (data, first, second)
    if not name.startswith("coo"):  # which looks at its indices itself
        _check_compressed(data, first, second, shape if name.startswith("csr") else shape[::-1])
    return _SPARSE_CLASSES[name](pieces, shape=tuple(shape))


def _check_compressed(
    data: np.ndarray, indices: np.ndarray, pointers: np.ndarray, shape: Sequence[int]
) -> None:
    """Refuse indices that lie outside: compiled code does not look, nor does SciPy at all of them.

    Its own check passes pointers that end below zero.
    """
    major, minor = shape
    lengths: Lengths = {"entries": len(indices), "stretches": major, "places": minor}
    try:
        Pointers("stretches", into="used").check(pointers, lengths)
        Integers("entries", below="places").check(indices, lengths)
    except StateError as error:
        raise ModelFileError(f"a sparse matrix of the model is damaged: it {error}") from error
    if not pointers[-1] <= len(indices) == len(data):
        raise ModelFileError("a sparse matrix of the model has not as many values as indices")


# ---------------------------------------------------------------- random numbers
_BIT_GENERATORS: dict[str, Callable[[int], np.random.BitGenerator]] = {
    name: getattr(np.random, name) for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
}


def _take_random_state(value: np.random.RandomState) -> tuple[None, list[Any]]:
    return None, [value.get_state(legacy=False)]


def _take_generator(value: np.random.Generator) -> tuple[None, list[Any]]:
    return None, [dict(value.bit_generator.state)]


def _make_random_state(_: Any, parts: list[Any]) -> np.random.RandomState:
    (state,) = parts
    random = np.random.RandomState(_bit_generator(state))
    random.set_state(state)
    return random


def _make_generator(_: Any, parts: list[Any]) -> np.random.Generator:
    (state,) = parts
    bits = _bit_generator(state)
    bits.state = state
    return np.random.Generator(bits)


def _bit_generator(state: Any) -> np.random.BitGenerator:
    _check_positions(state)
    return _BIT_GENERATORS[state["bit_generator"]](0)


def _check_positions(state: dict[str, Any]) -> None:
    """NumPy reads at these positions without looking whether they lie inside."""
    name, inner = state["bit_generator"], state["state"]
    if name == "MT19937":
        fits = np.shape(inner["key"]) == (624,) and 0 <= inner["pos"] <= 624
    elif name == "Philox":
        fits = np.shape(state["buffer"]) == (4,) and 0 <= state["buffer_pos"] <= 4
    else:
        fits = True
    if not fits:
        raise ModelFileError(f"the model has an impossible state of the random numbers {name}")


# ---------------------------------------------------------------- the table
class _Kind(NamedTuple):
    """How values of a type are taken apart, to a head and parts, and put together again."""

    cls: type | None  # None: found in another way than by the type
    take: Callable[[Any], tuple[Any, Sequence[Any]]] | None
    make: Callable[[Any, list[Any]], Any]


def _as_it_is(value: Any) -> tuple[None, Any]:
    return None, value


_KINDS = {
    "list": _Kind(list, _as_it_is, lambda _, parts: parts),
    "tuple": _Kind(tuple, _as_it_is, lambda _, parts: tuple(parts)),
    "dict": _Kind(dict, _interleaved, lambda _, parts: _mapping(parts)),
    "ordered": _Kind(OrderedDict, _interleaved, lambda _, parts: OrderedDict(_mapping(parts))),
    "bunch": _Kind(Bunch, _interleaved, lambda _, parts: Bunch(**_mapping(parts))),
    "proxy": _Kind(
        MappingProxyType, _interleaved, lambda _, parts: MappingProxyType(_mapping(parts))
    ),
    "set": _Kind(set, _in_fixed_order, lambda _, parts: set(_members(parts))),
    "frozenset": _Kind(frozenset, _in_fixed_order, lambda _, parts: frozenset(_members(parts))),
    "slice": _Kind(slice, lambda s: (None, (s.start, s.stop, s.step)), _rebuild_slice),
    "masked": _Kind(np.ma.MaskedArray, _take_masked, _make_masked),
    "random_state": _Kind(np.random.RandomState, _take_random_state, _make_random_state),
    "generator": _Kind(np.random.Generator, _take_generator, _make_generator),
    "objects": _Kind(None, None, _make_objects),
    "sparse": _Kind(None, None, _make_sparse),
}
_KIND_OF = {kind.cls: name for name, kind in _KINDS.items() if kind.cls is not None}
