"""Numbers and names as people read them."""

from __future__ import annotations

from typing import Any

import numpy as np

NBSP = "\u00a0"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: Any, digits: int = 4) -> str:
    """Return a number with so many significant digits; what is not a number says so.

    Examples
    --------
    >>> number(1234567.0), number(0.30000000004), number(2.5e-9), number(float("nan"))
    ('1,234,567', '0.3', '2.5×10⁻⁹', 'undefined')
    """
    value = float(value)
    if not np.isfinite(value):
        return "undefined" if np.isnan(value) else ("∞" if value > 0 else "−∞")
    if value and not 1e-4 <= abs(value) < 1e7:
        return _powers(value, digits)
    if abs(value) >= 10 ** (digits - 1):
        return minus(f"{value:,.0f}")
    return minus(f"{value:.{digits}g}")


def fixed(value: Any) -> str:
    """Return a score: three decimals where that says enough; what is below 1 is never 1.000.

    Examples
    --------
    >>> fixed(0.9), fixed(29.416), fixed(-0.001808), fixed(0.99963), fixed(1 - 1e-7)
    ('0.900', '29.42', '−0.0018', '0.9996', '>\\xa00.9999')
    """
    if 0.9995 <= value < 1.0:
        return f"{value:.4f}" if value < 0.99995 else f">{NBSP}0.9999"
    usual = value == 0 or 0.01 <= abs(value) < 10
    return minus(f"{value:.3f}") if usual else number(value, 4 if abs(value) >= 1 else 2)


def aligned(values: Any, digits: int = 3) -> list[str]:
    """Return numbers with as many decimals as their differences need, the same for all.

    Examples
    --------
    >>> aligned([0.9, 0.875, 0.5])
    ['0.900', '0.875', '0.500']
    """
    values = np.asarray(values, dtype=float)
    known = values[np.isfinite(values)]
    size = np.abs(known).max(initial=0.0)
    if not 1e-4 <= size < 1e7:
        return [number(v, digits) for v in values]
    span = float(np.ptp(known)) or size
    places = int(np.clip(digits - 1 - np.floor(np.log10(max(span, 1e-4 * size))), 0, 8))
    return [minus(f"{v:,.{places}f}") if np.isfinite(v) else number(v) for v in values]


def distinct(values: Any) -> list[str]:
    """Return numbers with as few digits as tell them apart."""
    for digits in range(3, 16):
        texts = [number(v, digits) for v in values]
        if len(set(texts)) == len(texts):
            break
    return texts


def _powers(value: float, digits: int) -> str:
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    power = "10" + str(int(exponent)).translate(SUPERSCRIPT)
    return minus(power if mantissa == "1" else f"{mantissa}×{power}")


def minus(digits: str) -> str:
    """Return digits with the sign that is as wide as a digit."""
    return digits.replace("-", "−")


def percent(share: float, digits: int = 1) -> str:
    """Return a share in per cent; what is not quite all or nothing does not look like it.

    Examples
    --------
    >>> [percent(share).replace(NBSP, " ") for share in (0.5, 1.0, 0.9999, 0.0, 0.0001)]
    ['50.0 %', '100 %', '> 99.9 %', '0 %', '< 0.1 %']
    """
    if not np.isfinite(share):
        return "undefined"
    if share in (0.0, 1.0):
        return f"{100 * share:.0f}{NBSP}%"
    least = 10.0**-digits
    if 0.0 < 100 * share < least / 2:
        return f"<{NBSP}{least:.{digits}f}{NBSP}%"
    if 100.0 - least / 2 <= 100 * share < 100.0:
        return f">{NBSP}{100 - least:.{digits}f}{NBSP}%"
    return minus(f"{100 * share:.{digits}f}") + NBSP + "%"


def count(value: float, noun: str, plural: str | None = None) -> str:
    """Return a count and its noun: "1 row", "1,200 rows"."""
    word = noun if value == 1 else (plural or noun + "s")
    return f"{value:,.0f} {word}"


def short(name: Any, length: int = 24) -> str:
    """Return a name that is at most so long."""
    name = " ".join(str(name).split())
    return name if len(name) <= length else name[: length - 1].rstrip() + "…"


def called(label: Any, length: int = 24) -> str:
    """Return the name of a class, which may be nothing but blanks."""
    return short(label, length) or "(blank)"


def sentence(words: str) -> str:
    """Return words as a sentence: with a capital and a full stop.

    Examples
    --------
    >>> sentence("two columns left out")
    'Two columns left out.'
    """
    words = words.strip()
    stop = "" if not words or words[-1] in ".!?…:" else "."
    return capital(words) + stop


def capital(words: str) -> str:
    """Return words that begin with a capital."""
    return words[:1].upper() + words[1:]
