"""Tables as matrices, and what was done to their columns."""

from __future__ import annotations

from typing import Any

from mercer.cli.errors import CommandError
from mercer.cli.screen import Screen
from mercer.tables import TableEncoder


def encoded(X: Any, screen: Screen) -> tuple[TableEncoder, Any]:
    """Return a fitted encoder and the matrix of a table."""
    with screen.step("columns", "encoding the columns") as said:
        encoder = TableEncoder()
        try:
            Z = encoder.fit_transform(X)
        except ValueError as error:  # one row, or no column that varies
            raise CommandError(str(error)) from None
        said += encoder.describe()
    return encoder, Z
