"""What a person sees of a result: a table of names and texts, in a terminal and in a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any, ClassVar

Row = tuple[str, str]

# control characters (a return would write over the line), halves of characters, other ends of
# lines, and marks that turn the direction of what follows
UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)

# inherits letters and colours from the notebook, so that it is at home in light and dark
TABLE_STYLE = (
    ".mercer-table{max-width:100%;overflow-x:auto;font-size:.92em;line-height:1.45}"
    ".mercer-table table{border-collapse:collapse;border:0;margin:4px 0 8px}"
    ".mercer-table caption{caption-side:top;text-align:left;padding:2px 0 6px;color:inherit}"
    ".mercer-table tr{background:none!important}"
    ".mercer-table :is(th,td){text-align:left!important;vertical-align:top;padding:3px 20px 3px 0;"
    "border:0;border-top:1px solid rgba(128,128,128,.3);max-width:60em}"
    ".mercer-table th{font-weight:500;opacity:.75;white-space:nowrap}"
)
# green and red that can be read on white and on black
SEAL = {
    True: '<b style="color:#1f9d61">✓ proved</b>:',
    False: '<b style="color:#e0533d">✗ NOT proved</b>:',
}


class Shown:
    """Something that prints as a table; a child yields its ``rows``."""

    _title: ClassVar[str]
    about: Any = ""
    """What stands behind the title."""

    def rows(self) -> Iterator[Row]:
        """Yield the lines of the table: a name and a text."""
        raise NotImplementedError

    def __str__(self) -> str:
        return text_table(self._title, self.rows(), self.about)

    def _repr_html_(self) -> str:
        return html_table(self._title, self.rows(), self.about)


class CheckReport(Shown):
    """What a check found: true if every test passed.

    A child is a frozen dataclass without a repr of its own, and has ``ok``, ``reason`` and, if
    something breaks a test, a witness of it.
    """

    ok: bool

    def __repr__(self) -> str:
        return str(self)

    def __bool__(self) -> bool:
        return self.ok


def printable(text: Any) -> str:
    """Return a text whose control characters are shown: a terminal would obey them.

    Examples
    --------
    >>> print(printable("\\x1b[31mred\\x07"))
    \\x1b[31mred\\x07
    """
    return UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], str(text))


def four_digits(value: float) -> str:
    """Return a number as Python writes it, in about four digits without a power of ten up to 10⁷.

    Examples
    --------
    >>> four_digits(18820.4), four_digits(0.25), four_digits(37.0), four_digits(1.2e9)
    ('18,820', '0.25', '37', '1.2e+09')
    """
    whole = 9999.5 <= abs(value) < 1e7 or (value == round(value) if abs(value) < 1e7 else False)
    return f"{value:,.0f}" if whole else f"{value:.4g}"


def yes_no(flag: bool) -> str:
    """Return the text of a test: what failed stands out."""
    return "yes" if flag else "NO"


def text_table(title: str, rows: Iterable[Row], about: str = "") -> str:
    """Return lines ``name  value`` under a title, aligned."""
    rows = [(printable(name), printable(value)) for name, value in rows]
    width = max((len(name) for name, _ in rows), default=0)
    lines = [printable(f"{title}{': ' + about if about else ''}")]
    return "\n".join(lines + [f"  {name:<{width}}  {value}" for name, value in rows])


def html_table(title: str, rows: Iterable[Row], about: str = "") -> str:
    """Return the same table for a notebook."""
    body = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows
    )
    caption = f"<caption><b>{escape(title)}</b> {escape(about)}</caption>"
    style = f"<style>{TABLE_STYLE}</style>"
    return f'<div class="mercer-table">{style}<table>{caption}{body}</table></div>'


def folded_proof(certificate: Any) -> str:
    """Return a certificate for a notebook as one line that opens to its table."""
    line = f"{SEAL[certificate.ok]} {escape(certificate.kind)} {certificate.value:.2g}"
    return (
        f'<details style="margin:6px 0"><summary style="cursor:pointer">{line}</summary>'
        f"{certificate._repr_html_()}</details>"
    )
