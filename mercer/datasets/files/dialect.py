"""What a reader is told about a file; what it is not told, it finds in the content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mercer.datasets.files.data import DataError

SEPARATOR_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"} | {
    "space": " ",
    "blank": " ",
}


@dataclass(frozen=True)
class Dialect:
    """How a file is written, which columns stay texts as they are, and which types are known."""

    separator: str | None = None
    missing: tuple[str, ...] = ()
    decimal: str | None = None
    sheet: str | None = None
    text: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None


def dialect(
    sep: str | None,
    na: str | Sequence[str],
    decimal: str | None,
    sheet: str | None,
    text: Sequence[str],
    schema: Mapping[str, Any] | None = None,
) -> Dialect:
    """Return the dialect of these options, or say which of them cannot be."""
    sep = SEPARATOR_NAMES.get(sep or "", sep)
    if sep is not None and (len(sep) != 1 or not sep.isascii() or sep in '"\r\n'):
        raise DataError(
            f"sep must be one character such as ';', or the word tab; got {sep!r}: leave it out "
            f"to have it found from the content"
        )
    if decimal not in (None, ".", ","):
        raise DataError(f"decimal must be '.' or ','; got {decimal!r}")
    words = (na,) if isinstance(na, str) else tuple(na)
    return Dialect(sep, words, decimal, sheet, tuple(text), schema)
