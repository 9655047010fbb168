"""What an attribute may be: the words in which estimators declare their fitted state."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._state.parameters import StateError, check_parameters, distinct_parts

Lengths = dict[str, int | None]
Length = int | str | Callable[[Lengths], int]
COLUMNS = "columns"


# ---------------------------------------------------------------- lengths that follow from others
def per_class(lengths: Lengths) -> int:
    """Return the number of problems one against the rest: one for two classes."""
    classes = lengths["classes"] or 0
    return 1 if classes == 2 else classes


def per_pair(lengths: Lengths) -> int:
    """Return the number of pairs of classes."""
    classes = lengths["classes"] or 0
    return classes * (classes - 1) // 2


def one_more(name: str) -> Callable[[Lengths], int]:
    """Return a length that is another one and 1."""
    return lambda lengths: (lengths[name] or 0) + 1


def _bind(length: Length, found: int | None, lengths: Lengths) -> int | None:
    """Return what a length must be: found, if its name is new."""
    if isinstance(length, int):
        return length
    if callable(length):
        return length(lengths)
    return lengths.setdefault(length.rstrip("?"), found)


# ---------------------------------------------------------------- what an attribute may be
class Attribute:
    """What an attribute must be; a child says no by raising `StateError`."""

    required = True

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if the value is not this."""
        raise NotImplementedError


class Maybe(Attribute):
    """What an attribute is if it is there and not None."""

    required = False

    def __init__(self, attribute: Attribute):
        self.attribute = attribute

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if the value is there and not what it must be."""
        if value is not None:
            self.attribute.check(value, lengths)


class Either(Attribute):
    """One of several."""

    def __init__(self, *choices: Attribute):
        self.choices = choices

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if the value is none of them."""
        errors = []
        for choice in self.choices:
            trial = dict(lengths)
            try:
                choice.check(value, trial)
            except StateError as error:
                errors.append(str(error))
            else:
                lengths.update(trial)
                return
        raise StateError(" or ".join(errors))


class _Numbers(Attribute):
    """An array, or a number where no axis is left."""

    kinds: ClassVar[str]
    types: ClassVar[Any]
    what: ClassVar[str]

    def __init__(self, *axes: Length):
        self.axes = axes

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if the type, the shape or a number is wrong."""
        if not isinstance(value, np.ndarray):
            self._check_number(value)
        elif type(value) not in (np.ndarray, np.memmap) or not self._is_type(value.dtype):
            raise StateError(f"must be {self.what}; got {type(value).__name__} of {value.dtype}")
        _check_shape(np.shape(value), self.axes, lengths)
        self._check_values(np.asarray(value), lengths)

    def _check_number(self, value: Any) -> None:
        if not isinstance(value, self.types) or isinstance(value, (bool, np.bool_)):
            raise StateError(f"must be {self.what}; got {type(value).__name__}")

    def _is_type(self, dtype: np.dtype) -> bool:
        return dtype.kind in self.kinds and dtype.isnative

    def _check_values(self, values: np.ndarray, lengths: Lengths) -> None:
        """Raise if a number is out of its range."""


class Floats(_Numbers):
    """Real numbers in float64 or float32, from ``least`` on; ``finite`` says that all are."""

    kinds, types, what = "f", Real, "numbers in float64 or float32"

    def __init__(self, *axes: Length, finite: bool = False, least: float = -np.inf):
        super().__init__(*axes)
        self.finite, self.least = finite, least

    def _is_type(self, dtype: np.dtype) -> bool:
        return super()._is_type(dtype) and dtype.itemsize in (4, 8)

    def _check_values(self, values: np.ndarray, lengths: Lengths) -> None:
        if self.finite and not np.isfinite(values).all():
            raise StateError("must be finite; it holds NaN or infinity")
        if (values < self.least).any():
            raise StateError(f"must be at least {self.least:g}; its least is {values.min():g}")


class Integers(_Numbers):
    """Integers from ``least`` on and below ``below``, which is a length."""

    kinds, types, what = "iu", Integral, "integers"

    def __init__(self, *axes: Length, least: int = 0, below: Length | None = None):
        super().__init__(*axes)
        self.least, self.below = least, below

    def _check_values(self, values: np.ndarray, lengths: Lengths) -> None:
        if not values.size:
            return
        low, high = int(values.min()), int(values.max())
        if low < self.least:
            raise StateError(f"must be at least {self.least}; its least is {low}")
        if self.below is not None and high >= (_bind(self.below, None, lengths) or 0):
            limit = _bind(self.below, None, lengths)
            raise StateError(f"must be below {limit}; its largest is {high}")


class SizeOf(Integers):
    """An integer ≥ 0 that gives a length its name."""

    def __init__(self, name: str):
        super().__init__()
        self.name = name

    def _check_values(self, values: np.ndarray, lengths: Lengths) -> None:
        super()._check_values(values, lengths)
        if lengths.setdefault(self.name, int(values)) != int(values):
            raise StateError(f"must be {lengths[self.name]}; got {int(values)}")


class Pointers(Integers):
    """Where each of several stretches begins and the last one ends: 0, rising, up to ``into``."""

    def __init__(self, stretches: Length, *, into: str):
        super().__init__(self._count)
        self.stretches, self.into = stretches, into

    def _count(self, lengths: Lengths) -> int:
        return (_bind(self.stretches, None, lengths) or 0) + 1

    def _check_values(self, values: np.ndarray, lengths: Lengths) -> None:
        end = lengths.setdefault(self.into, int(values[-1]))
        if values[0] != 0 or values[-1] != end or (np.diff(values.astype(np.int64)) < 0).any():
            raise StateError(f"must rise from 0 to {end}")


class Labels(Attribute):
    """A vector of labels or names: numbers, texts or objects."""

    def __init__(self, length: Length):
        self.length = length

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if the value is not such a vector."""
        if type(value) is not np.ndarray or value.dtype.kind not in "biufUSO":
            raise StateError(f"must be an array of labels; got {type(value).__name__}")
        _check_shape(value.shape, (self.length,), lengths)


class LabelsEach(Attribute):
    """A list of vectors of labels, one for each output; the longest gives a length its name."""

    def __init__(self, length: str, outputs: str):
        self.length, self.outputs = length, outputs

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if the value is no list of such vectors."""
        if not isinstance(value, list) or not value:
            raise StateError(f"must be a list of arrays of labels; got {type(value).__name__}")
        SizeOf(self.outputs).check(len(value), lengths)
        for labels in value:
            Labels("labels").check(labels, {})
        SizeOf(self.length).check(max(map(len, value)), lengths)


class Objects(Attribute):
    """A list of objects, such as words: only how many they are is known of them."""

    def __init__(self, length: Length):
        self.length = length

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if the value is no list, or not as long as it should be."""
        shape: Any = getattr(value, "shape", ())
        if not (isinstance(value, (list, tuple)) or shape):
            raise StateError(f"must be a list of objects; got {type(value).__name__}")
        count = shape[0] if shape else len(value)
        _check_shape((count,), (self.length,), lengths)


class FittedRows(Attribute):
    """Finite rows as `fit` checks them: a table, dense or CSR; else a list of objects.

    ``columns=None`` leaves the width open.
    """

    def __init__(self, length: Length, columns: str | None = COLUMNS):
        self.length, self.columns = length, columns

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if the value is not such rows."""
        if self.columns is not None and self.columns not in lengths:
            return Objects(self.length).check(value, lengths)
        width = "width of rows" if self.columns is None else self.columns
        if sp.issparse(value) and value.format == "csr":
            _check_shape(value.shape, (self.length, width), lengths)
            return Floats("entries", finite=True).check(value.data, {})
        return Floats(self.length, width, finite=True).check(value, lengths)


class Sparse(Attribute):
    """A CSR matrix of real numbers."""

    def __init__(self, *axes: Length):
        self.axes = axes

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if the value is not such a matrix."""
        if not sp.issparse(value) or value.format != "csr":
            raise StateError(f"must be a CSR matrix; got {type(value).__name__}")
        _check_shape(value.shape, self.axes, lengths)
        Floats("entries").check(value.data, {})


class Instance(Attribute):
    """An object of a class; parameters of kernels and the like are within their ranges."""

    def __init__(self, *classes: type):
        self.classes = classes

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if the value is of another class, or a part of it is out of its range."""
        if not isinstance(value, self.classes):
            names = " or ".join(cls.__name__ for cls in self.classes)
            raise StateError(f"must be a {names}; got {type(value).__name__}")
        for part in distinct_parts(value):
            check_parameters(part)


class ShapeOf(Attribute):
    """The shape of the rows of the fit; the number of rows gives a length its name."""

    def __init__(self, length: str):
        self.length = length

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if the value is no shape."""
        if not isinstance(value, tuple) or not value:
            raise StateError(f"must be a shape; got {type(value).__name__}")
        for axis in value:
            Integers().check(axis, lengths)
        SizeOf(self.length).check(value[0], lengths)


class Tuple(Attribute):
    """A tuple, named or not, with these parts."""

    def __init__(self, *parts: Attribute):
        self.parts = parts

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if the value is no tuple of such parts."""
        if not isinstance(value, tuple) or len(value) != len(self.parts):
            raise StateError(f"must be a tuple of {len(self.parts)}; got {type(value).__name__}")
        for attribute, part in zip(self.parts, value, strict=True):
            attribute.check(part, lengths)


class Chain(Attribute):
    """Arrays one behind the other, each taking what the one before gives, from the columns on."""

    def __init__(self, *, biases: bool = False, last: str = "outputs"):
        self.biases, self.last = biases, last

    def check(self, value: Any, lengths: Lengths) -> None:
        """Raise if a layer does not fit the one before."""
        if not isinstance(value, list) or not value:
            raise StateError(f"must be a list of arrays; got {type(value).__name__}")
        lengths.setdefault("layer 0", lengths[COLUMNS])
        SizeOf("layers").check(len(value), lengths)
        names = [*(f"layer {i}" for i in range(len(value))), self.last]
        for array, (given, taken) in zip(value, pairwise(names), strict=True):
            Floats(*((taken,) if self.biases else (given, taken))).check(array, lengths)


def _check_shape(shape: tuple[int, ...], axes: tuple[Length, ...], lengths: Lengths) -> None:
    wanted = [_wanted(axis, len(shape) < len(axes), lengths) for axis in axes]
    kept = [axis for axis in wanted if axis is not _MISSING]
    found = iter(shape)
    must = tuple(_bind(axis, next(found, None), lengths) for axis in kept)
    if must != shape:
        raise StateError(f"must have the shape {must}; got {shape}")


_MISSING = object()


def _wanted(axis: Length, short: bool, lengths: Lengths) -> Any:
    """Return an axis, or that it is missing here as it was before."""
    if not isinstance(axis, str) or not axis.endswith("?"):
        return axis
    known = lengths.setdefault(axis[:-1], None) if short else lengths.get(axis[:-1], axis)
    return _MISSING if known is None else axis
