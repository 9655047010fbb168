"""The zip around a model: written whole or not at all, read with suspicion."""

from __future__ import annotations

import json
import os
import re
import secrets
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mercer.io.arrays import read_array, write_array
from mercer.io.errors import ModelFileError

MANIFEST = "model.json"
DEFLATED = 2**24
"""Bytes of the manifest that are compressed at most. A longer one is stored as it is, so that no
member of an honest file is much larger than the file, and no small file asks for much memory."""
_ARRAY = re.compile(r"arrays/\d{3,9}\.npy")
_ZIP, _PICKLE = b"PK\x03\x04", b"\x80"


def array_name(number: int) -> str:
    """Return the member that holds an array."""
    return f"arrays/{number:03d}.npy"


# ---------------------------------------------------------------- writing
@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file beside ``path`` that takes its place at the end, if nothing went wrong."""
    beside = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def write_archive(path: Path, manifest: dict[str, Any], arrays: Sequence[np.ndarray]) -> None:
    """Write the arrays and, with their digests, the manifest."""
    with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        digests = [_write_member(archive, i, array) for i, array in enumerate(arrays)]
        text = json.dumps(manifest | {"arrays": digests}, separators=(",", ":")).encode()
        info = zipfile.ZipInfo(MANIFEST)  # the date is always 1980: equal models, equal files
        short = len(text) <= DEFLATED
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
        if not (stored or (deflated and info.file_size <= DEFLATED)):
            raise ModelFileError(f"{info.filename} is compressed in a way that no model is")
    if sum(info.compress_size for info in infos) > size:
        raise ModelFileError("the members claim to be larger than the file")
