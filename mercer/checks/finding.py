"""A finding: what is odd about a table, how bad that is, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["leak", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("leak", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """One thing that a score on held-out rows does not show by itself.

    Parameters
    ----------
    kind : str
        What it is in a word or two: "repeated rows", "near copies", "gives the target away",
        "row number", "group", "time order", "sentinel", "constant", "duplicate column",
        "small test", "sample".
    severity : {"leak", "warning", "note"}
        "leak": a score cannot be believed; "warning": it may mean less than it seems; "note": good
        to know.
    columns : tuple of str
        The columns it is about.
    sentence : str
        What was seen, with figures.
    advice : str
        What to do, with the option of ``mercer fit`` that does it.
    mended : str, default=""
        What was done about it already.
    """

    kind: str
    severity: Severity
    columns: tuple[str, ...]
    sentence: str
    advice: str
    mended: str = ""

    @property
    def is_open_leak(self) -> bool:
        """Whether scores cannot be believed: a leak that nothing was done about."""
        return self.severity == "leak" and not self.mended

    def __str__(self) -> str:
        return f"{self.kind}: {self.sentence}; {self.mended or self.advice}"


def open_leaks(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings because of which a score cannot be believed."""
    return [finding for finding in findings if finding.is_open_leak]


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return leaks, then warnings, then notes; those that were mended after their like."""
    return sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), bool(f.mended)))
