"""How people write numbers: 1.234,5, 1,234.5, 1 234,5, € 12, 12 %, (1,200), <0.1.

A column is written in one way: whether its decimal sign is the point or the comma is decided over
all of its values. A value that can be read in one way only is read so whatever the column says.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import isnan, nan
from typing import NamedTuple

POINT, COMMA, BY_VALUE = ".", ",", ""
"""The decimal sign of a column; ``""`` where no column was seen, and each value has to tell."""

MOST_BOUNDS = 0.5
"""A column of more bounds than this share (<50, >50) is no column of numbers, but of classes."""

BLANKS = frozenset(
    {
        *("", "na", "n/a", "#n/a", "n.a.", "nan", "null", "none", "nil", "?", "-", "--", "–", "—"),
        *(".", "..", "...", "unknown", "unk", "missing", "not available", "not applicable"),
        *("no data", "nd", "n.d.", "tbd", "k.a.", "k. a.", "k.a", "keine angabe", "unbekannt"),
        *("fehlt", "#value!", "#div/0!", "#ref!", "#name?", "#num!", "#null!", "inconnu"),
        *("desconocido", "sconosciuto"),
    }
)
"""What people and spreadsheets write, in lower case, where a number or a date is missing."""

FIRST_LOOK = 2000
"""Distinct texts of a long column that are asked how it is written; all, if these do not tell."""

LONGEST = 60
"""Characters of a text that may be a number: sentences are not looked at."""

_MINUS = ("-", "−", "–")
_SPACES = " \u00a0\u2009\u202f"
_CURRENCY = r"[€$£¥₹₽₺₩]|EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CAD|AUD|US\$|C\$|A\$|kr|zł"
_WRITTEN = re.compile(
    rf"""(?P<bound>[<>≤≥]=?)?\s*
    (?P<open>\()?\s*
    (?P<sign>[-+−–]?)\s*
    (?P<before>{_CURRENCY})?\s*
    (?P<inner>[-+−]?)
    (?P<body>[\d.,][\d.,'’{_SPACES}]*)
    (?P<exponent>e[-+]?\d+)?\s*
    (?P<after>%|‰|{_CURRENCY})?\s*
    (?P<close>\))?""",
    re.VERBOSE | re.IGNORECASE,
)


def _body(decimal: str, grouping: str) -> re.Pattern[str]:
    """Return the digits of a number: a group has three of them, before a comma also two (lakh)."""
    lakh = r"|[1-9]\d?(?:,\d\d)+,\d{3}" if decimal == POINT else ""
    group = rf"[{grouping}'’{_SPACES}]"
    whole = rf"\d+|[1-9]\d{{0,2}}({group})\d{{3}}(?:\1\d{{3}})*{lakh}"
    return re.compile(rf"(?:{whole})(?:[{decimal}]\d*)?|[{decimal}]\d+")


_BODY = {POINT: _body(POINT, COMMA), COMMA: _body(COMMA, POINT)}
_GROUPING = {POINT: str.maketrans("", "", f",'’{_SPACES}")}
_GROUPING[COMMA] = str.maketrans(",", ".", f".'’{_SPACES}")


class Numeral(NamedTuple):
    """A written number: its value by the point and by the comma, NaN where that is no number."""

    by_point: float
    by_comma: float
    has_currency: bool
    has_comma: bool

    @property
    def is_ambiguous(self) -> bool:
        """Whether both signs read it, and differently."""
        return abs(self.by_point - self.by_comma) > 0.0  # False for NaN


def numeral(text: str) -> Numeral | None:
    """Return what a text says if it is a written number.

    Examples
    --------
    >>> numeral("1.234,50 €")
    Numeral(by_point=nan, by_comma=1234.5, has_currency=True, has_comma=True)
    >>> numeral("1,234").is_ambiguous, numeral("about 7")
    (True, None)
    """
    match = _matched(text)
    if match is None:
        return None
    point, comma = _digits(match, POINT), _digits(match, COMMA)
    if isnan(point) and isnan(comma):
        return None
    currency = bool(match["before"]) or (match["after"] or "%") not in "%‰"
    return Numeral(point, comma, currency, "," in match["body"])


def _matched(text: str) -> re.Match[str] | None:
    match = _WRITTEN.fullmatch(text) if len(text) <= LONGEST else None
    return match if match and bool(match["open"]) == bool(match["close"]) else None


def _digits(match: re.Match[str], decimal: str) -> float:
    body = match["body"].strip()
    if _BODY[decimal].fullmatch(body) is None:
        return nan
    size = float(body.translate(_GROUPING[decimal]) + (match["exponent"] or ""))
    return -size if match["open"] or match["sign"] in _MINUS or match["inner"] in _MINUS else size


def parse_number(text: str, decimal: str = BY_VALUE) -> float:
    """Return the number that a text says, or NaN.

    A text that the column's decimal sign cannot read is read by the other one.

    Examples
    --------
    >>> parse_number("1.234", COMMA), parse_number("1.5", COMMA), parse_number("(1,200)", POINT)
    (1234.0, 1.5, -1200.0)
    >>> parse_number("0,5"), parse_number("1,234")  # thousands or decimals: not known
    (0.5, nan)
    """
    plain = as_float(text)
    if decimal != COMMA and not isnan(plain):  # most are, and this is quick
        return plain
    match = _matched(text)
    if match is None:
        return plain
    usual, other = _digits(match, decimal or POINT), COMMA if decimal == POINT else POINT
    if decimal == BY_VALUE:
        by_comma = _digits(match, COMMA)
        return by_comma if isnan(usual) else usual if isnan(by_comma) or by_comma == usual else nan
    return _digits(match, other) if isnan(usual) else usual


def as_float(text: str) -> float:
    """Return the number that Python reads in a text, or NaN."""
    try:
        return float(text)
    except ValueError:
        return nan


def is_blank(text: str) -> bool:
    """Whether a text stands for a missing value."""
    return text.lower() in BLANKS


# ---------------------------------------------------------------- columns
class Notation(NamedTuple):
    """How a column is written; unsure where other numbers could be meant."""

    decimal: str
    is_unsure: bool = False


def notation(texts: Sequence[str]) -> Notation:
    """Return the decimal sign that most of the values ask for which ask for one.

    Where no value tells, three digits behind a point are decimals, unless there is a currency: a
    price has no three decimals. Three digits behind a comma are thousands. Of many values some,
    evenly spread, are asked first.
    """
    for some in dict.fromkeys((1 + len(texts) // FIRST_LOOK, 1)):
        found = [written for t in texts[::some] if (written := numeral(t)) is not None]
        votes = Counter(_vote(written) for written in found)
        if votes[POINT] or votes[COMMA]:
            return Notation(COMMA if votes[COMMA] > votes[POINT] else POINT)
    unsure = [written for written in found if written.is_ambiguous]
    prices = any(w.has_currency and not w.has_comma for w in unsure)
    return Notation(COMMA if prices else POINT, prices or any(w.has_comma for w in unsure))


def _vote(written: Numeral) -> str:
    if isnan(written.by_point):
        return COMMA
    return POINT if isnan(written.by_comma) else BY_VALUE


def bounds(texts: Iterable[str]) -> list[str]:
    """Return the texts that are bounds of a number, as in <0.1."""
    return [t for t in texts if t[:1] in "<>≤≥" and numeral(t) is not None]
