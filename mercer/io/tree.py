"""A model as a flat list of nodes, each ``[kind, head, parts]``, that refer to earlier ones only.

A list in this order cannot hold a cycle and is read without recursion, however deep the model is.
What occurs twice in the model is one node and stays one object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mercer.io.allowed import ModelFileError
from mercer.io.leaves import NOT_A_LEAF, is_plain, leaf, read_leaf, single
from mercer.io.objects import known_class, make_object, make_record, saved_name, take_object
from mercer.io.parts import Pieces, put_together, take_apart, take_objects

SHOWN_PARTS, SHOWN_DEPTH = 1000, 50  # of what is shown to people as text


# ---------------------------------------------------------------- writing
class _Open:
    """A value whose parts are being written."""

    def __init__(self, value: Any, pieces: Pieces):
        self.value, self.pieces = value, pieces
        self.written: list[Any] = []

    def label(self) -> str:
        """Return how the part that is being written is reached from the value."""
        kind, head, parts = self.pieces
        i = len(self.written)
        if kind == "object":
            return f".{head[i + 1]}"  # the head begins with the class
        if kind in ("dict", "ordered", "bunch", "proxy"):
            return f"[{parts[i - i % 2]!r}]"
        return f"[{i}]"


class Writer:
    """Turns a model into nodes and arrays.

    Attributes
    ----------
    nodes : list
        What JSON holds.
    arrays : list of array
        What it refers to by number.
    root : leaf
        The model: a reference to the last node, or a plain value.
    """

    def __init__(self, model: Any):
        self.nodes: list[Any] = []
        self.arrays: list[np.ndarray] = []
        self._name = type(model).__name__
        self._number: dict[Any, int] = {}
        self._extents: list[tuple[int, int]] = []  # the size and the depth below each node
        self._keep: list[Any] = []  # an id is an identity only as long as its object lives
        self._stack: list[_Open] = []
        self._on_stack: set[int] = set()
        self.root = self._written(model)

    def _written(self, model: Any) -> Any:
        if self._value(model) is NOT_A_LEAF:
            self._open(model)
        while self._stack:
            self._step(self._stack[-1])
        return self._value(model)

    def _step(self, top: _Open) -> None:
        """Write the parts of a value up to one that has parts itself, or close the value."""
        kind, head, parts = top.pieces
        while len(top.written) < len(parts):
            part = parts[len(top.written)]
            written = self._value(part)
            if written is NOT_A_LEAF:
                return self._open(part)
            top.written.append(written)
        self._add(top.value, [kind, head, top.written])
        self._on_stack.discard(id(top.value))
        self._stack.pop()

    def _open(self, value: Any) -> None:
        if id(value) in self._on_stack:
            raise ModelFileError(f"{self._where()} refers back to what holds it; remove the circle")
        if isinstance(value, np.ndarray) and is_plain(value.dtype) and _is_array(value):
            return self._add_array(value)
        pieces = self._pieces(value)
        self._stack.append(_Open(value, pieces))
        self._on_stack.add(id(value))

    def _pieces(self, value: Any) -> Pieces:
        if type(value) is np.ndarray and value.dtype == object:
            return take_objects(value)
        pieces = take_apart(value) or take_object(value)
        if pieces is None:
            raise ModelFileError(f"{self._where()} cannot be saved: {_advice(value)}")
        return pieces

    def _where(self) -> str:
        return self._name + "".join(level.label() for level in self._stack)

    def _add(self, value: Any, node: Any) -> None:
        self._number[id(value)] = len(self.nodes)
        self._keep.append(value)
        self.nodes.append(node)
        inside = [self._extents[part["ref"]] for part in node[2] if _is_reference(part)]
        size = len(node[2]) + sum(size for size, _ in inside)
        self._extents.append((size, 1 + max((depth for _, depth in inside), default=0)))

    def is_small(self, value: Any) -> bool:
        """Return whether the text of a written value is short; text repeats what is shared."""
        number = self._number.get(id(value))
        size, depth = (0, 0) if number is None else self._extents[number]
        return size <= SHOWN_PARTS and depth <= SHOWN_DEPTH

    def _add_array(self, array: np.ndarray) -> None:
        """Keep an array; another view of the same memory is the same node."""
        key = (array.ctypes.data, array.shape, array.strides, array.dtype.str)
        if array.size and key in self._number:
            self._number[id(array)] = self._number[key]
            self._keep.append(array)
            return
        axes = _axes(array)
        self._number[key] = len(self.nodes)
        self._add(array, ["array", [len(self.arrays), axes, array.flags.writeable], []])
        self.arrays.append(np.asarray(array).transpose(axes))

    def _value(self, value: Any) -> Any:
        """Return a leaf or a reference to what is written already, or `NOT_A_LEAF`."""
        written = leaf(value)
        if written is NOT_A_LEAF and id(value) in self._number:
            return {"ref": self._number[id(value)]}
        return written


def _is_reference(part: Any) -> bool:
    return isinstance(part, dict) and "ref" in part


def _is_array(value: np.ndarray) -> bool:
    return type(value) in (np.ndarray, np.memmap)


def _axes(array: np.ndarray) -> list[int]:
    """Return the order of the axes in memory: kept, because sums depend on it in the last bit."""
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return list(range(array.ndim))
    return sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))


def _advice(value: Any) -> str:
    if callable(value) and not hasattr(value, "get_params"):
        name = getattr(value, "__qualname__", type(value).__name__)
        return (
            f"{name} is a Python function, and a file holds no code. Write a class instead (a "
            "Kernel with its parameters) and load with trusted=[YourClass], or compute the matrix "
            "yourself and use kernel='precomputed'"
        )
    cls = type(value)
    return (
        f"it is a {cls.__module__}.{cls.__qualname__}; what can be saved is numbers, text, arrays, "
        "lists, tuples, sets, dicts, estimators and kernels"
    )


# ---------------------------------------------------------------- reading
def class_names(nodes: Sequence[Any], root: Any = None) -> list[str]:
    """Return the names of all classes in the nodes, and refuse what is not a node."""
    names = {name for i, node in enumerate(nodes) for name in _names(node, i)}
    names.update(_leaf_names(root, len(nodes)))
    return sorted(names)


def _names(node: Any, i: int) -> Iterator[str]:
    if not (isinstance(node, list) and len(node) == 3 and isinstance(node[2], list)):
        raise ModelFileError(f"node {i} of the model is not a kind, a head and a list")
    kind, head, parts = node
    if not isinstance(kind, str):
        raise ModelFileError(f"node {i} of the model has no kind")
    if kind in ("object", "record"):
        yield _text(head[0])
    for part in parts:
        yield from _leaf_names(part, i)


def _leaf_names(value: Any, i: int) -> Iterator[str]:
    if isinstance(value, list):
        raise ModelFileError(f"node {i} of the model has a list where a value should be")
    if isinstance(value, dict):
        tag, data = single(value)
        if tag == "ref" and not (type(data) is int and 0 <= data < i):
            raise ModelFileError(f"node {i} of the model refers to a node that is not before it")
        if tag == "enum":
            yield _text(data[0])


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise ModelFileError("a class of the model has no name")
    return name


def look_up(names: Sequence[str], trusted: Sequence[type]) -> dict[str, type]:
    """Return the classes of these names, or refuse all of the file."""
    handed_over = {saved_name(cls): cls for cls in trusted}
    found = {name: known_class(name) or handed_over.get(name) for name in names}
    unknown = [name[:80] for name, cls in found.items() if cls is None]
    if unknown:
        last = unknown[0].rpartition(".")[2]
        raise ModelFileError(
            f"the file names classes that are not known: {', '.join(unknown[:5])}; nothing was "
            f"loaded. If it is a class of yours: load(path, trusted=[{last}])"
        )
    return {name: cls for name, cls in found.items() if cls is not None}


def read_nodes(
    nodes: Sequence[Any], root: Any, arrays: Sequence[np.ndarray], classes: dict[str, type]
) -> Any:
    """Return the model, from nodes that `class_names` has seen."""
    made: list[Any] = []

    def value(part: Any) -> Any:
        if _is_reference(part):
            return made[part["ref"]]
        return read_leaf(part, classes)

    for kind, head, parts in nodes:
        made.append(_make(kind, head, [value(part) for part in parts], arrays, classes))
    return value(root)


def _make(kind: str, head: Any, parts: list[Any], arrays: Any, classes: Any) -> Any:
    if kind == "array":
        return _make_array(head, arrays)
    if kind == "object":
        return make_object(head, parts, classes)
    if kind == "record":
        return make_record(head, parts, classes)
    return put_together(kind, head, parts)


def _make_array(head: Any, arrays: Sequence[np.ndarray]) -> np.ndarray:
    number, axes, writeable = head
    if not 0 <= number < len(arrays):
        raise ModelFileError(f"the model refers to array {number} of {len(arrays)}")
    stored = arrays[number]
    array = stored if axes == list(range(stored.ndim)) else stored.transpose(np.argsort(axes))
    array.flags.writeable = bool(writeable)
    return array
