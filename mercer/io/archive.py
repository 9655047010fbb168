"""The zip around a model: written whole or not at all, read with suspicion.

Its arrays are ``.npy`` members, written and read in pieces, with a digest on the way.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from mercer._array import ranges
from mercer._replacing import replacing
from mercer.io.allowed import ModelFileError
from mercer.io.leaves import is_plain

MANIFEST = "model.json"
MOST_DEFLATED = 2**24
"""Bytes of the manifest that are compressed at most. A longer one is stored as it is, so that no
member of an honest file is much larger than the file, and no small file asks for much memory."""
MOST_DIRECTORY = 2**24
"""Bytes of the directory of the zip, which is read whole: some 200,000 arrays."""
_ARRAY = re.compile(r"arrays/\d{3,9}\.npy")
_ZIP, _PICKLE = b"PK\x03\x04", b"\x80"
PIECE_BYTES = 2**22  # bytes at a time: within the cache, so that digest and copy read memory once
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


# ---------------------------------------------------------------- arrays
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
    for piece in ranges(len(content), PIECE_BYTES):
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
    for piece in ranges(len(content), PIECE_BYTES):
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


def array_name(number: int) -> str:
    """Return the member that holds an array."""
    return f"arrays/{number:03d}.npy"


# ---------------------------------------------------------------- writing
def write_archive(path: Path, manifest: dict[str, Any], arrays: Sequence[np.ndarray]) -> None:
    """Write the arrays and, with their digests, the manifest."""
    with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        digests = [_write_member(archive, i, array) for i, array in enumerate(arrays)]
        text = json.dumps(manifest | {"arrays": digests}, separators=(",", ":")).encode()
        info = zipfile.ZipInfo(MANIFEST)  # the date is always 1980: equal models, equal files
        short = len(text) <= MOST_DEFLATED
        archive.writestr(info, text, zipfile.ZIP_DEFLATED if short else zipfile.ZIP_STORED)


def _write_member(archive: zipfile.ZipFile, number: int, array: np.ndarray) -> str:
    with archive.open(zipfile.ZipInfo(array_name(number)), "w", force_zip64=True) as member:
        return write_array(member, array)


# ---------------------------------------------------------------- reading
class Archive:
    """An open model file whose members have been looked at, and none of them read."""

    def __init__(self, file: BinaryIO):
        check_beginning(file)
        size = file.seek(0, os.SEEK_END)
        _check_directory(file, size)
        self._zip = zipfile.ZipFile(file)
        self._members = _by_name(self._zip.infolist())
        _check_sizes(self._members.values(), size)

    def manifest(self) -> dict[str, Any]:
        """Read the manifest."""
        manifest = json.loads(self._zip.read(self._members[MANIFEST]))
        if not isinstance(manifest, dict):
            raise ModelFileError(f"{MANIFEST} is not a description of a model")
        return manifest

    def arrays(self, digests: Sequence[str]) -> list[np.ndarray]:
        """Read the arrays, which must be those that the manifest knows."""
        names = [array_name(i) for i in range(len(digests))]
        if {MANIFEST, *names} != set(self._members):
            raise ModelFileError(f"the arrays of the file are not the {len(digests)} of the model")
        return [self._array(name, str(d)) for name, d in zip(names, digests, strict=True)]

    def _array(self, name: str, digest: str) -> np.ndarray:
        info = self._members[name]
        with self._zip.open(info) as member:
            return read_array(member, info.file_size, digest, name)


def check_beginning(file: BinaryIO) -> None:
    """Refuse what is not even a zip, by what it looks like."""
    first = file.read(4)
    if first[:1] == _PICKLE:
        raise ModelFileError("it looks like a pickle, which can run any code and is not read")
    if first != _ZIP:
        raise ModelFileError("it is not a model file, or its beginning is damaged")


_END = struct.Struct("<4s8xI4xH")  # the end of a zip: signature, bytes of the directory, comment
_LOCATOR, _LARGE_END = struct.Struct("<4s4xQ4x"), struct.Struct("<4s36xQ8x")  # of a large zip


def _check_directory(file: BinaryIO, size: int) -> None:
    """Refuse a zip with a directory that is too large to be read, or with anything behind it."""
    signature, directory, comment = _read_at(file, size - _END.size, _END)
    if signature != b"PK\x05\x06" or comment:
        raise ModelFileError("its end is damaged or missing")
    signature, place = _read_at(file, size - _END.size - _LOCATOR.size, _LOCATOR)
    if signature == b"PK\x06\x07":
        _, directory = _read_at(file, place, _LARGE_END)
    if directory > MOST_DIRECTORY:
        raise ModelFileError(f"it has more members than any model: {directory} bytes of names")


def _read_at(file: BinaryIO, place: int, record: struct.Struct) -> tuple[Any, ...]:
    file.seek(max(place, 0))
    return record.unpack(file.read(record.size).ljust(record.size, b"\0"))


def _by_name(infos: Sequence[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    members = {info.filename: info for info in infos}
    if len(members) != len(infos):
        raise ModelFileError("a member occurs twice in the file")
    strange = [name for name in members if name != MANIFEST and not _ARRAY.fullmatch(name)]
    if strange:
        raise ModelFileError(f"the file has a member that no model has: {strange[0][:80]!r}")
    if MANIFEST not in members:
        raise ModelFileError(f"the file has no {MANIFEST}: it is a zip, but not a model")
    return members


def _check_sizes(infos: Any, size: int) -> None:
    """Believe no member that claims to be larger than the file can hold."""
    for info in infos:
        deflated = info.filename == MANIFEST and info.compress_type == zipfile.ZIP_DEFLATED
        stored = info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
        if not (stored or (deflated and info.file_size <= MOST_DEFLATED)):
            raise ModelFileError(f"{info.filename} is compressed in a way that no model is")
    if sum(info.compress_size for info in infos) > size:
        raise ModelFileError("the members claim to be larger than the file")
