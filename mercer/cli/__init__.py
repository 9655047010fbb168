"""The command ``mercer``: fit, predict, look, from files to files."""

from __future__ import annotations

import os
import sys
from importlib import import_module

EXTRA = {"typer", "rich", "polars"}

PATIENT = {"OPENBLAS_THREAD_TIMEOUT": "4", "OMP_WAIT_POLICY": "PASSIVE"}
"""Threads that wait sleep at once: those that spin take the core from the thread they wait for
where other programs run, and products of small matrices are then ten times slower and more."""


def main() -> None:
    """Run the command; without its extra packages say how to get them."""
    for name, value in PATIENT.items():  # read when the numerical libraries are loaded
        os.environ.setdefault(name, value)
    try:
        import_module("mercer.cli.streams").prepare()
        import_module("mercer.cli.app").run()
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        sys.exit("mercer: the command needs more packages: pip install 'mercer[app]'")
    except KeyboardInterrupt:  # while the libraries were loaded
        print("mercer: interrupted before there was a result", file=sys.stderr)
        sys.exit(130)
