"""How the command ends when it cannot go on: one line, and a code for scripts."""

from __future__ import annotations

USAGE, DATA, MODEL, LEAK, INTERRUPTED, UNREAD = 2, 3, 4, 5, 130, 141
"""Exit codes: an option; data; a model file; --strict; Ctrl-C; a reader that has gone away."""


class CommandError(Exception):
    """What went wrong and what to do, in one line, and the exit code."""

    def __init__(self, message: str, code: int = DATA):
        super().__init__(message)
        self.code = code
