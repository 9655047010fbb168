"""Arrays as ``.npy`` members, written and read in pieces, with a digest on the way."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
from numpy.lib import format as npy

from mercer._array import ranges
from mercer.io.errors import ModelFileError
from mercer.io.leaves import is_plain

PIECE = 2**22  # bytes at a time: within the cache, so that digest and copy read memory once
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class Digest:
    """A file that computes the SHA-256 of all that goes through it."""

    def __init__(self, file: Any):
        self._file, self._hash, self.count = file, hashlib.sha256(), 0

    def write(self, data: Any) -> None:
        """Write bytes."""
        self._hash.update(data)
        self._file.write(data)

    def read(self, size: int = -1, /) -> bytes:
        """Read up to ``size`` bytes."""
        data = self._file.read(size)
        self._hash.update(data)
        self.count += len(data)
        return data

    def text(self) -> str:
        """Return the digest of what went through so far."""
        return self._hash.hexdigest()


def write_array(file: Any, array: np.ndarray) -> str:
    """Write an array with its order in memory; return the digest."""
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = np.ascontiguousarray(array)
    out = Digest(file)
    npy.write_array_header_1_0(out, npy.header_data_from_array_1_0(array))
    content = _bytes(array)
    for piece in ranges(len(content), PIECE):
        out.write(content[piece])
    return out.text()


def read_array(file: Any, size: int, digest: str, name: str) -> np.ndarray:
    """Read an array of which all bytes, ``size`` of them, must be as they were written."""
    source = Digest(file)
    shape, fortran, dtype, header = _read_header(source, name)
    if math.prod(shape) * dtype.itemsize != size - header:
        raise ModelFileError(f"{name} has {size - header} bytes, but claims to be {shape} {dtype}")
    array = np.empty(shape, dtype, order="F" if fortran else "C")
    content = _bytes(array)
    for piece in ranges(len(content), PIECE):
        _fill(content[piece], source, name)
    if source.read(1) or source.text() != digest:
        raise ModelFileError(f"{name} was altered after it was written; save the model again")
    return array


def _read_header(source: Digest, name: str) -> tuple[Any, bool, np.dtype, int]:
    version = npy.read_magic(source)
    if version not in _HEADERS:
        raise ModelFileError(f"{name} is in version {version} of its format, which is not read")
    shape, fortran, dtype = _HEADERS[version](source)
    if not is_plain(dtype):
        raise ModelFileError(f"{name} holds {dtype} values, which are not plain numbers or text")
    return shape, fortran, dtype, source.count


def _fill(content: np.ndarray, source: Digest, name: str) -> None:
    done = 0
    while done < len(content):
        data = source.read(len(content) - done)
        if not data:
            raise ModelFileError(f"{name} ends too early")
        content[done : done + len(data)] = np.frombuffer(data, np.uint8)
        done += len(data)


def _bytes(array: np.ndarray) -> np.ndarray:
    """Return the memory of a contiguous array as bytes."""
    if array.nbytes == 0:
        return np.empty(0, np.uint8)
    return array.reshape(-1, order="A").view(np.uint8)
