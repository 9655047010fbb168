"""How a command ends: with a code, and where it cannot go on with one line."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer
from rich.markup import escape

from mercer._display import printable
from mercer.cli.errors import DATA, UNREAD, USAGE, CommandError
from mercer.cli.streams import Lasting, release, unread

UsageError: Any = typer.BadParameter.__mro__[1]  # wherever this version of Typer keeps it


def ended(app: Any) -> None:
    """Run a command and end the process; what is wrong with its input is said in one line."""
    try:
        code = app(prog_name="mercer", standalone_mode=False)
        release()
        sys.exit(code)
    except BrokenPipeError:  # whoever read the answer has seen enough
        unread(sys.stdout)
        sys.exit(UNREAD)
    except CommandError as error:
        _stop(str(error), error.code)
    except UsageError as error:
        _misused(error)
    except OSError as error:
        _stop(f"{error.filename or 'a file'}: {error.strerror or error}", DATA)
    except ValueError as error:
        if os.environ.get("MERCER_TRACEBACK"):
            raise
        first, *_ = (str(error).strip() or repr(error)).splitlines()  # others say where it was
        _stop(f"{first} (MERCER_TRACEBACK=1 shows where)", DATA)


def _misused(error: Any) -> None:
    """Say what is wrong with the words of the command line."""
    message = error.format_message()
    if not message:  # a command without a word: Typer has shown the help
        sys.exit(USAGE)
    path = error.ctx.command_path if error.ctx else "mercer"
    _stop(f"{message} ({path} --help says more)", USAGE)


def _stop(message: str, code: int) -> None:
    text = printable(" ".join(message.split()))
    Lasting(stderr=True, highlight=False, soft_wrap=True).print(
        f"[bold red]mercer:[/] {escape(text)}"
    )
    sys.exit(code)
