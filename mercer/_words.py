"""Numbers, counts and names as people read them: the words that several rooms share."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from mercer._display import four_digits

NBSP = "\u00a0"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LONGEST_LISTED = 80  # characters of a name in a list
MOST_NEAREST = 3  # names that a hint offers


# ---------------------------------------------------------------- numbers
def count(n: float, noun: str, plural: str = "") -> str:
    """Return a number and its noun.

    Examples
    --------
    >>> count(1, "row"), count(1200, "row"), count(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{n:,.0f} {noun if n == 1 else plural or noun + 's'}"


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


def short_number(value: float) -> str:
    """Return a number in at most four digits, as Python writes it.

    Examples
    --------
    >>> short_number(37.0), short_number(0.25), short_number(1.2e9)
    ('37', '0.25', '1.2e+09')
    """
    return four_digits(value)


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


def percent(share: float, digits: int = 1) -> str:
    """Return a share in per cent; what is not quite all or nothing does not look like it.

    It is rounded as a share: 0.8625 is 0.863 in a table, and so 86.3 % (not 86.2 %) beside it.

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
    rounded = float(f"{share:.{digits + 2}f}")
    return minus(f"{100 * rounded:.{digits}f}") + NBSP + "%"


def duration(seconds: float) -> str:
    """Return a time.

    Examples
    --------
    >>> duration(0.43), duration(12.3), duration(190.0)
    ('0.4 s', '12 s', '3 min')
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def setting(value: Any, digits: int = 3) -> str:
    """Return the value of a parameter: floats with so many digits, all else as it is.

    Examples
    --------
    >>> setting(0.0123456), setting("rbf"), setting(None)
    ('0.0123', 'rbf', 'None')
    """
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def minus(digits: str) -> str:
    """Return digits with the sign that is as wide as a digit."""
    return digits.replace("-", "−")


def _powers(value: float, digits: int) -> str:
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    power = "10" + str(int(exponent)).translate(SUPERSCRIPT)
    return minus(power if mantissa == "1" else f"{mantissa}×{power}")


# ---------------------------------------------------------------- names
def short(name: Any, length: int = 24) -> str:
    """Return a name that is at most so long."""
    name = " ".join(str(name).split())
    return name if len(name) <= length else name[: length - 1].rstrip() + "…"


def called(label: Any, length: int = 24) -> str:
    """Return the name of a class, which may be nothing but blanks."""
    return short(label, length) or "(blank)"


def quoted(label: Any, length: int = 24) -> str:
    """Return the name of a class in a sentence: texts in quotes, numbers as they are.

    Examples
    --------
    >>> quoted("yes"), quoted(1), quoted(np.int64(1)), quoted(True)
    ("'yes'", '1', '1', 'True')
    """
    name = called(label, length)
    return repr(name) if isinstance(label, str) else name


def last_part(name: str) -> str:
    """Return the last part of a parameter's name: "gamma" of "kernel__gamma"."""
    return name.rpartition("__")[2]


def listing(names: Sequence[str], joint: str = "and", most: int = 4) -> str:
    """Return quoted names, cut after ``most``.

    Examples
    --------
    >>> listing(["a", "b", "c"]), listing(["a", "b"], "or"), listing("abcde", most=3)
    ("'a', 'b' and 'c'", "'a' or 'b'", "'a', 'b' and 3 others")
    """
    found = [repr(short(name, LONGEST_LISTED)) for name in names]
    if len(found) > most:
        found = [*found[: most - 1], f"{len(found) - most + 1} others"]
    return joined(found, joint)


def joined(words: Sequence[str], joint: str = "and") -> str:
    """Return words as a sentence has them.

    Examples
    --------
    >>> joined(["MAE", "RMSE", "R²"]), joined(["MAE"])
    ('MAE, RMSE and R²', 'MAE')
    """
    return f" {joint} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def nearest(name: str, known: Sequence[str], likeness: float = 0.5) -> list[str]:
    """Return at most three known names that look like this one, the nearest first.

    The likeness is twice the letters in common over the letters of both, from 0 to 1.

    Examples
    --------
    >>> nearest("gama", ["C", "gamma", "degree"])
    ['gamma']
    """
    lower = {other.lower(): other for other in reversed(known)}
    found = get_close_matches(name.lower(), lower, n=MOST_NEAREST, cutoff=likeness)
    return [lower[match] for match in found]


def hint(name: str, known: Sequence[str]) -> str:
    """Return which known names look like a wrong one or, where none does, which there are.

    Examples
    --------
    >>> hint("gama", ["C", "gamma"]), hint("width", ["C", "gamma"])
    ("did you mean 'gamma'?", "it has 'C' and 'gamma'")
    """
    near = nearest(name, known)
    return f"did you mean {listing(near, 'or')}?" if near else f"it has {listing(known)}"


# ---------------------------------------------------------------- sentences
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


def literal(name: str) -> str:
    """Return a name that means itself to polars, to which ``*`` and ``^…$`` are patterns."""
    return f"({name})" if name == "*" or (name[:1] == "^" and name[-1:] == "$") else name


def with_literal_names(frame: Any) -> Any:
    """Return a frame, or a lazy one, in whose names there is no pattern."""
    names = frame.collect_schema().names()
    patterns = {name: literal(name) for name in names if literal(name) != name}
    return frame.rename(patterns) if patterns else frame
