"""The report as a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mercer._replacing import replacing
from mercer.report.examine import examine
from mercer.report.render import render


def write_report(model: Any, path: str | os.PathLike[str], X: Any, y: Any, **settings: Any) -> Path:
    """Examine a model and write the page.

    The file appears when it is complete: nobody opens half of a report.

    Parameters
    ----------
    model : fitted estimator
        A classifier or regressor, a pipeline that ends in one, or a search.
    path : path
        Where to write; its folder must be there.
    X, y : rows and targets
        Rows that the model has not seen.
    **settings : dict
        As of `mercer.report.examine.examine`: ``train``, ``search``, ``rivals``, ``title``, ….

    Returns
    -------
    Path
        The file.
    """
    target = Path(path)
    _check(target)
    return write_text(target, render(examine(model, X, y, **settings)))


def _check(target: Path) -> None:
    """Raise before the work, not after it."""
    if target.is_dir():
        raise IsADirectoryError(f"path must be a file, such as 'report.html'; {target} is a folder")
    if target.exists() and not target.is_file():
        raise ValueError(f"path must be an ordinary file; {target} is a device or a pipe")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path: there is no folder {target.parent}; make it first")


def write_text(target: Path, text: str) -> Path:
    """Write a file that appears when it is complete; return its path.

    Halves of characters, as the names of files may hold, are spelled out.
    """
    with replacing(target) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    return target
