"""A file as a stream of bytes: compression is told from the content, damage is said."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from mercer.datasets.files.data import DataError, missing_file
from mercer.datasets.files.sizes import Bounded, memory_bound

BUFFER_BYTES = 2**20
HEAD_BYTES = 2**16
"""How much of a file is looked at to tell its format."""

MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
ENDINGS = {".gz", ".bz2", ".xz", ".zst"}
_WIDE = {  # the longer mark first: one begins with the other
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True)
class Source:
    """A file that can be read from the beginning as often as needed."""

    path: Path
    compression: str
    head: bytes
    kept: bytes | None = None
    most: int | None = None  # bytes that are read

    @classmethod
    def of(cls, path: Any) -> Source:
        """Look at a file, or say why it cannot be read."""
        path = _existing(path)
        compression = _compression(path)
        with _unpacked(path, compression) as stream:
            head = stream.read(HEAD_BYTES)
        if not head:
            raise DataError(f"{str(path)!r} is empty: there is nothing to read")
        return cls(path, compression, head)

    @property
    def name(self) -> str:
        """The path as errors say it."""
        return repr(str(self.path))

    @property
    def ending(self) -> str:
        """Return the ending without that of a compression: ``'.csv'`` of ``'a.csv.gz'``."""
        endings = [s.lower() for s in self.path.suffixes]
        while endings and endings[-1] in ENDINGS:
            endings.pop()
        return endings[-1] if endings else ""

    def open(self) -> Any:
        """Return a context manager of the unpacked bytes."""
        if self.kept is not None:
            return io.BytesIO(self.kept)
        return _unpacked(self.path, self.compression, self.most)

    def in_memory(self) -> Source:
        """Return the same file, to be read whole: as far as there is memory for it."""
        return replace(self, most=memory_bound())

    def keep(self, most: int) -> Source:
        """Return the same with its content in memory if that is not larger than this."""
        with self.open() as stream:
            content = stream.read(most + 1)
        return replace(self, kept=content) if len(content) <= most else self

    def content(self) -> bytes:
        """Return everything."""
        with self.open() as stream:
            return stream.read()

    def text_blocks(self, size: int) -> Iterator[bytes]:
        """Yield blocks of UTF-8 text with the line ends of Unix, without a byte order mark."""
        decode = self._decoder()
        with self.open() as stream:
            while block := stream.read(size):
                yield decode(block)

    def _decoder(self) -> Callable[[bytes], bytes]:
        if wide := _wide(self.head):
            decoder = codecs.getincrementaldecoder(wide)(errors="replace")
            return lambda block: decoder.decode(block).encode()
        if b"\r" in self.head and b"\n" not in self.head:
            return lambda block: block.replace(b"\r", b"\n")
        return _WithoutMark()

    def refuse_binary(self) -> None:
        """Raise if this is no text."""
        if _wide(self.head):
            return
        strange = sum(self.head.count(code) for code in _CONTROL)
        if strange > len(self.head) // 1000:
            raise DataError(
                f"{self.name} is not a text file (it holds binary data): "
                f"give the right ending or format=…"
            )


_CONTROL = [bytes([code]) for code in range(32) if code not in b"\t\n\r\f\x1a\x1b"]


def _wide(head: bytes) -> str:
    """Return the encoding that a byte order mark tells, or "" for the usual one."""
    return next((name for mark, name in _WIDE.items() if head.startswith(mark)), "")


class _WithoutMark:
    """Cut the byte order mark off the first block."""

    def __init__(self) -> None:
        self.first = True

    def __call__(self, block: bytes) -> bytes:
        first, self.first = self.first, False
        return block.removeprefix(codecs.BOM_UTF8) if first else block


def as_utf8(text: bytes) -> bytes:
    """Return text that is not UTF-8 as if written by Windows, and UTF-8 as it is."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode("cp1252", errors="replace").encode()
    return text


# ---------------------------------------------------------------- opening
def _existing(path: Any) -> Path:
    path = Path(path).expanduser()
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder: give the path of a file in it")
    if not path.exists():
        raise missing_file(path)
    return path


def _compression(path: Path) -> str:
    with _unpacked(path, "") as stream:
        start = stream.read(6)
    return next((name for magic, name in MAGIC.items() if start.startswith(magic)), "")


@contextmanager
def _unpacked(path: Path, compression: str, most: int | None = None) -> Iterator[IO[bytes]]:
    """Open a file; what goes wrong while it is read becomes an error of one line."""
    try:
        with _OPEN[compression](path) as stream:
            yield stream if most is None else _bounded(stream, most, path)
    except PermissionError:
        raise DataError(f"{str(path)!r} may not be read: permission denied") from None
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        if not compression:
            raise
        raise DataError(
            f"{str(path)!r} is damaged or cut off ({compression}: {error}): get the file again"
        ) from None


def _bounded(stream: Any, most: int, path: Path) -> IO[bytes]:
    return io.BufferedReader(Bounded(stream, most, repr(str(path))), BUFFER_BYTES)


def _open_zst(path: Path) -> Any:
    """Open with whatever can: Python from 3.14 on, or one of two packages."""
    for module, opener in _ZST.items():
        try:
            found = import_module(module)
        except ImportError:
            continue
        return opener(found, path)
    raise DataError(f"{str(path)!r} is compressed with Zstandard: pip install zstandard to read it")


_ZST: dict[str, Callable[[Any, Path], Any]] = {
    "compression.zstd": lambda zstd, path: zstd.open(path, "rb"),
    "zstandard": lambda zstandard, path: zstandard.open(path, "rb"),
    "pyarrow": lambda arrow, path: arrow.input_stream(str(path), compression="zstd"),
}

_OPEN: dict[str, Callable[[Path], Any]] = {
    "": lambda path: path.open("rb"),
    "gz": gzip.GzipFile,
    "bz2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zst": _open_zst,
}
