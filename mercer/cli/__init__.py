"""The command ``mercer``: fit, predict, look, from files to files."""

from __future__ import annotations

import sys
from importlib import import_module

EXTRA = {"typer", "rich", "polars"}


def main() -> None:
    """Run the command; without its extra packages say how to get them."""
    try:
        import_module("mercer.cli.streams").prepare()
        import_module("mercer.cli.app").run()
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        sys.exit("mercer: the command needs more packages: pip install 'mercer[app]'")
    except KeyboardInterrupt:  # while the libraries were loaded
        sys.exit(130)
