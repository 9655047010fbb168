"""What a report does not show, and why."""

from __future__ import annotations


class LeftOutError(Exception):
    """A section cannot be computed for this model or these rows; the text is the reason."""
