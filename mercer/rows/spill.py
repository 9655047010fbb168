"""Text that is parsed once: a binary copy in a temporary folder, complete or not there."""

from __future__ import annotations

import os
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from weakref import finalize

from mercer._replacing import replacing
from mercer.rows.stored import RowsError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
MISSING = ["", "NA", "N/A", "?", "nan", "NaN", "null", "None"]


class Spill:
    """A folder for the binary copies of texts, made when it is first needed.

    It goes away when nothing refers to it any more, at the latest at the end of the process.

    Parameters
    ----------
    home : path or None
        Where to make it; None: where the system keeps temporary files.
    """

    def __init__(self, home: str | os.PathLike[str] | None):
        self._home = home
        self._folder: Path | None = None

    def parsed(self, path: Path) -> Path:
        """Return the binary copy of a text file."""
        import polars as pl
        from polars.exceptions import PolarsError

        folder = self._made()
        copy = folder / f"{len(list(folder.iterdir())):06}.arrow"
        options = {"separator": SEPARATORS[path.suffix.lower()], "null_values": MISSING}
        try:
            # all lines tell the type of a column: the first ones may look like whole numbers
            text = pl.scan_csv(path, infer_schema_length=None, glob=False, **options)  # type: ignore[arg-type]
            with replacing(copy) as file:
                text.sink_ipc(file)
        except PolarsError as error:
            first = str(error).strip().splitlines()[0]
            raise RowsError(f"{str(path)!r} cannot be read: {first}") from error
        except OSError as error:
            raise RowsError(
                f"the numbers of {str(path)!r} cannot be written to {str(folder)!r}: "
                f"{error.strerror or error}; make room there, or name another folder by temporary="
            ) from error
        return copy

    def _made(self) -> Path:
        if self._folder is None:
            self._folder = Path(mkdtemp(prefix="mercer-rows-", dir=self._home))
            finalize(self, rmtree, self._folder, ignore_errors=True)
        return self._folder
