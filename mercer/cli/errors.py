"""How the command ends when it cannot go on: one line, and a code for scripts."""

from __future__ import annotations

USAGE, DATA, MODEL, INTERRUPTED, UNREAD = 2, 3, 4, 130, 141
"""Exit codes: a wrong option; data that cannot be used; a model file; Ctrl-C; a closed pipe."""


class CommandError(Exception):
    """What went wrong and what to do, in one line, and the exit code."""

    def __init__(self, message: str, code: int = DATA):
        super().__init__(message)
        self.code = code
