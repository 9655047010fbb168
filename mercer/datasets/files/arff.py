"""Weka's format: declared attributes, then rows, dense or sparse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from mercer._words import short
from mercer.datasets.files.data import DataError, FileTable, polars
from mercer.datasets.files.dialect import Dialect
from mercer.datasets.files.layout import clear_names
from mercer.datasets.files.source import Source, as_utf8
from mercer.datasets.files.words import convert, kinds_of, lacking

MOST_DIGITS = 9  # of the number of an attribute
NUMERIC = ("numeric", "real", "integer")

# each character is matched in one way only: what is no quoted text is refused in linear time
_QUOTED = r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
_ATTRIBUTE = re.compile(
    rf"""@attribute\s+ ({_QUOTED} | \S+) \s* (\{{.*\}} | \S.*)""", re.IGNORECASE | re.VERBOSE
)
_TOKEN = re.compile(rf"""\s*({_QUOTED})\s*(?:,|$)|([^,]*)(?:,|$)""")
_PAIR = re.compile(rf"""\s*([0-9]+)\s(?:\s*({_QUOTED})\s*(?:,|$)|([^,]*)(?:,|$))""")


class _Attribute(NamedTuple):
    """A declared column: its kind, and what a sparse row leaves out."""

    name: str
    kind: str
    zero: str | None


def read(source: Source, dialect: Dialect) -> FileTable:
    """Read a whole file."""
    source.refuse_binary()
    text = b"".join(source.text_blocks(2**24))
    lines = enumerate(as_utf8(text).decode().splitlines(), start=1)
    attributes = _header(lines, source)
    rows = [_row(words, attributes, source, n) for n, words in lines if _is_row(words)]
    if not rows:
        raise DataError(f"{source.name} has attributes and no rows: give a file with rows")
    return FileTable(lacking(_frame(rows, attributes, source), dialect.missing))


def _frame(rows: list[list[Any]], attributes: list[_Attribute], source: Source) -> Any:
    pl = polars()
    names = clear_names([attribute.name for attribute in attributes])
    words = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    kinds = {name: a.kind for name, a in zip(names, attributes, strict=True)}
    dates = words.select([name for name, kind in kinds.items() if kind == "date"])
    return convert(words, kinds | kinds_of(dates), str(source.path))


# ---------------------------------------------------------------- header
def _header(lines: Iterator[tuple[int, str]], source: Source) -> list[_Attribute]:
    """Read the declarations up to ``@data``."""
    attributes = []
    for number, line in lines:
        word = line.strip().lower()
        if word.startswith("@attribute"):
            attributes.append(_attribute(line.strip(), source, number))
        if word.startswith("@data"):
            return attributes
    raise DataError(f"{source.name} has no @data line: is it an ARFF file?")


def _attribute(line: str, source: Source, number: int) -> _Attribute:
    match = _ATTRIBUTE.fullmatch(line)
    if match is None:
        raise DataError(f"{source.name}: line {number} is not '@attribute name type'")
    name, declared = _plain(match[1]), match[2].strip()
    if declared.startswith("{"):
        values = [_plain(v) for v in _tokens(declared.strip("{}"))]
        return _Attribute(name, "text", values[0] if values else None)
    kind = declared.split()[0].lower()
    if kind in NUMERIC:
        return _Attribute(name, "integer", "0")
    if kind in ("string", "date"):
        return _Attribute(name, "date" if kind == "date" else "text", None)
    raise DataError(
        f"{source.name}: attribute {short(name)!r} in line {number} is of type {short(kind)!r}: "
        f"numbers, nominal values, strings and dates are read"
    )


# ---------------------------------------------------------------- rows
def _is_row(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("%")


def _row(line: str, attributes: list[_Attribute], source: Source, number: int) -> list[Any]:
    line = line.strip()
    if line.startswith("{"):
        return _sparse_row(line, attributes, source, number)
    row = [_value(token) for token in _tokens(line)]
    if len(row) != len(attributes):
        raise DataError(
            f"{source.name}: line {number} has {len(row)} values for {len(attributes)} attributes"
        )
    return row


def _sparse_row(line: str, attributes: list[_Attribute], source: Source, number: int) -> list[Any]:
    row: list[Any] = [attribute.zero for attribute in attributes]
    for place, value in _pairs(line.strip("{} \t"), f"{source.name}: line {number}"):
        if len(place) > MOST_DIGITS or int(place) >= len(row):
            raise DataError(
                f"{source.name}: line {number} has a value for attribute {short(place)}, "
                f"the last one is {len(row) - 1} (counted from 0)"
            )
        row[int(place)] = _value(value)
    return row


def _pairs(line: str, where: str) -> Iterator[tuple[str, str]]:
    """Yield the places and values of a sparse row."""
    position = 0
    while position < len(line):
        match = _PAIR.match(line, position)
        if match is None:
            raise DataError(f"{where} is not '{{place value, place value, …}}'")
        yield match[1], (match[2] or match[3]).strip()
        position = match.end()


def _tokens(line: str) -> list[str]:
    """Split at commas outside of quotes."""
    if "'" not in line and '"' not in line:
        return [token.strip() for token in line.split(",")]
    tokens, position = [], 0
    while match := _TOKEN.match(line, position):
        tokens.append((match[1] or match[2]).strip())
        position = match.end()
        if not match[0].endswith(","):
            break
    return tokens


def _value(token: str) -> str | None:
    """Return the word, or nothing for a bare question mark."""
    return None if token in ("?", "") else _plain(token)


def _plain(token: str) -> str:
    """Take off quotes and the backslashes between them."""
    if len(token) > 1 and token[0] == token[-1] and token[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", token[1:-1])
    return token
