"""How the files of a command are read: as asked for, else as the model's own file was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mercer.cli.errors import USAGE, CommandError
from mercer.cli.options import chosen
from mercer.datasets.files.dialect import SEPARATOR_NAMES
from mercer.datasets.files.source import Source
from mercer.tables import ColumnsEncoder, TableEncoder
from mercer.tables.kinds import GIVEN, came_as_text

AS_WRITTEN = ("category", "text", "string", "series", "date")
"""Kinds whose values should come as they stand in the file: 007 is not 7."""


@dataclass(frozen=True)
class ReadOptions:
    """What was asked for, or remembered; ``text`` are columns that come as they are written."""

    sep: str | None = None
    na: tuple[str, ...] = ()
    decimal: str | None = None
    sheet: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    text: tuple[str, ...] = ()

    def for_file(self) -> dict[str, Any]:
        """Return the options of `load_file` and `read_batches`."""
        return {name: value for name, value in asdict(self).items() if name != "kinds"}

    def about(self) -> dict[str, Any]:
        """Return what a model remembers."""
        return asdict(self) | {"kinds": dict(self.kinds)}

    def check_kinds(self, columns: Iterable[str], target: str | None) -> None:
        """Refuse kinds of columns that are not there, and of the target."""
        for name in self.kinds:
            if name == target:
                raise CommandError(
                    f"--kind: {name!r} is the target; --task classify or --task regress says what "
                    f"it is",
                    USAGE,
                )
            chosen("--kind", name, columns)


AS_FOUND = ReadOptions()
"""Nothing was asked for: everything is found in the file."""


def read_options(
    sep: str | None = None,
    na: Iterable[str] | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
    kind: Iterable[str] | None = None,
) -> ReadOptions:
    """Return the options of the command line."""
    if decimal not in (None, ".", ","):
        raise CommandError(f"--decimal: {decimal!r} is no decimal sign; write . or ,", USAGE)
    kinds = dict(_kind(text) for text in kind or ())
    written = tuple(name for name, what in kinds.items() if what in AS_WRITTEN)
    sep = SEPARATOR_NAMES.get(sep or "", sep)
    return ReadOptions(sep, tuple(na or ()), decimal, sheet, kinds, written)


def _kind(text: str) -> tuple[str, str]:
    column, equals, kind = text.rpartition("=")
    if not equals or not column:
        raise CommandError(
            f"--kind: {text!r} names no column and kind; write e.g. --kind zip=category", USAGE
        )
    return column, chosen("--kind", kind, GIVEN)


def remembered(given: ReadOptions, about: Mapping[str, Any], model: Any, path: Path) -> ReadOptions:
    """Return what is asked for now, and what the model remembers of the rest."""
    known = about.get("reading") or {}
    return ReadOptions(
        sep=given.sep or _separator(known.get("sep"), path),
        na=given.na or tuple(known.get("na", ())),
        decimal=given.decimal or known.get("decimal"),
        sheet=given.sheet or known.get("sheet"),
        text=(*_text_columns(model), *known.get("target_text", ())),
    )


def _separator(known: str | None, path: Path) -> str | None:
    """Return the separator of the model's own file if this one may have it too."""
    if known is None:
        return None
    lines = Source.of(path).head.splitlines()
    first = next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
    return known if known.encode() in first else None


def _text_columns(model: Any) -> list[str]:
    """Return the columns that came as texts when the model was fitted."""
    steps = [step for _, step in getattr(model, "steps", [("", model)])]
    kept = [step for step in steps if isinstance(step, ColumnsEncoder)]
    steps += [step.encoder_ for step in kept]
    encoders = [step for step in steps if isinstance(step, (ColumnsEncoder, TableEncoder))]
    return [s["name"] for encoder in encoders for s in encoder.columns_ if came_as_text(s)]
