"""What the command writes reaches any terminal, file or pipe, whatever its encoding."""

from __future__ import annotations

import codecs
import os
import re
import sys
import unicodedata
from typing import Any

from rich.console import Console

from mercer._display import printable

SIGNS = (
    "−=- ⁻=- –=- —=- …=... ×=x ·=* ✓=+ ✗=x √=sqrt ≤=<= ≥=>= ≠=!= ≈=~ →=-> ←=<- ↑=^ ↓=v "
    "α=alpha β=beta γ=gamma δ=delta ε=eps λ=lambda σ=sigma μ=mu π=pi φ=phi Σ=sum Γ=Gamma "
    "∞=inf ‖=|| ⟨=< ⟩=> ᵀ=' ‘=' ’=' “=\" ”=\" ß=ss ø=o Ø=O æ=ae Æ=AE ł=l Ł=L"
)
PLAIN = dict(pair.split("=", 1) for pair in SIGNS.split())
"""Signs in letters that every encoding has."""

POWERS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ⁿ"
HANDLER = "mercer-plain"


def plain_letters(text: str) -> str:
    """Return text in ASCII: signs in words, accents left out, what has no likeness as "?".

    Examples
    --------
    >>> plain_letters("R² −0.5 … Köln ≤ λ")
    'R^2 -0.5 ... Koln <= lambda'
    """
    raised = re.sub(f"([{POWERS}]+)", r"^\1", text)
    return "".join(letter if letter < "\x7f" else _plain_letter(letter) for letter in raised)


def _plain_letter(letter: str) -> str:
    found = PLAIN.get(letter) or unicodedata.normalize("NFKD", letter)
    return found.encode("ascii", "ignore").decode("ascii") or "?"


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Replace what an encoding does not have."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return plain_letters(error.object[error.start : error.end]), error.end


def prepare() -> None:
    """Let both streams write every text: what their encoding lacks is written in plain letters."""
    codecs.register_error(HANDLER, _replaced)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=HANDLER)


def release() -> None:
    """Write what is left; a reader that has gone away is no error."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except BrokenPipeError:
            unread(stream)


def unread(stream: Any) -> None:
    """Send what is still written to a stream nowhere: nobody reads it any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class Lasting(Console):
    """A console that goes on in silence when its reader has gone away (``mercer fit … | head``)."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        unread(self.file)


def write_data(text: str) -> None:
    """Write data to standard output: in UTF-8 to a file or a pipe, whatever the terminal has.

    On a terminal, control codes are shown and not obeyed.
    """
    stream = sys.stdout
    if stream is None:
        return
    if stream.isatty():
        stream.write("\n".join(map(printable, text.split("\n"))))
        return
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "surrogatepass"))
    stream.buffer.flush()
