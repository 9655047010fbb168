"""The words of the command line: an answer or one line, whatever the options say.

The work behind the options is left out: what is read, checked and refused before it is tried.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mercer.cli import app as commands
from mercer.cli import fit, learn, main
from mercer.cli.errors import CommandError
from tests.fuzz import campaign

COUNT = 500
ALLOWED = {0, 1, 2, 3, 4, 5}  # exit codes
VALUES = (
    *("", " ", "-", "--", "0", "1", "-1", "0.5", "nan", "inf", "1e999", "9" * 400, "\x00", "é"),
    *("auto", "none", "quick", "svm", "ridge", "bayes", "rbf", "9**9**9*rbf", "pca", "label"),
    *("60s", "5 weeks", "0s", "2GB", "-1MB", "=", "a=", "=number", "a=number", "a=zzz", ",", ";"),
    *("data.csv", "model.mercer", "none.csv", ".", "/", "/dev/null", "new.html", "no/such/x.csv"),
    *("\udcff", "\x1b[31m", "a" * 5000, "y", "a", "b", "[bold]", "*", "~", "%s", "{0}"),
)
TABLE = "a,b,y\n" + "".join(f"{i % 7},{i * i % 11},{'pq'[i % 2]}\n" for i in range(60))


class StoppedError(CommandError):
    """All options were read: the work would begin."""


def _stopped(*given: Any, **named: Any) -> Any:
    raise StoppedError("the work would begin")


@cache
def folder() -> Path:
    """Return a folder with a table and a model, and let no command learn anything from now on."""
    place = Path(tempfile.mkdtemp(prefix="mercer-fuzz-"))
    (place / "data.csv").write_text(TABLE)
    os.chdir(place)
    words = ("-t", "y", "--model", "bayes", "--no-report", "--save", "model.mercer", "-q")
    code, told = ended(["fit", "data.csv", *words])
    assert code == 0, told
    learn.Learner.learn = _stopped  # type: ignore[method-assign]
    fit.prepare = _stopped  # type: ignore[assignment]
    return place


def ended(words: list[str]) -> tuple[int, str]:
    """Run a command; return its code and what it said."""
    sys.argv = ["mercer", *words]
    said, streams = io.BytesIO(), (sys.stdout, sys.stderr)
    sys.stdout = sys.stderr = io.TextIOWrapper(said, encoding="utf-8", write_through=True)
    try:
        with contextlib.suppress(StoppedError):
            main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
        return code, said.getvalue().decode("utf-8", "replace")
    finally:
        sys.stdout, sys.stderr = streams
    return 0, said.getvalue().decode("utf-8", "replace")


@cache
def options() -> dict[str, list[str]]:
    """Return the options of each command, as it declares them."""
    found = {}
    for command in commands.app.registered_commands:
        hints = get_type_hints(command.callback, include_extras=True)
        named = {k: get_args(h)[1] for k, h in hints.items() if hasattr(h, "__metadata__")}
        given = [f"--{k.replace('_', '-')}" for k, o in named.items() if "Option" in repr(type(o))]
        found[command.name or command.callback.__name__] = given
    return {name: given for name, given in found.items() if name not in ("prepare", "demo")}


def attempt(rng: random.Random) -> str:
    """Give a command some words."""
    place = folder()
    name = rng.choice(list(options()))
    files = ("model.mercer", "data.csv", *VALUES) if rng.random() < 0.2 else ("data.csv",)
    arguments = {"predict": ["model.mercer", "data.csv"], "evaluate": ["model.mercer", "data.csv"]}
    words = [name, *arguments.get(name, [rng.choice(files)])]
    for _ in range(rng.choice((0, 1, 2, 3))):
        option = rng.choice(options()[name] or ["--help"])
        words += [option] + [rng.choice(VALUES)] * (rng.random() < 0.9)
    before = {path.name: path.stat().st_mtime_ns for path in place.iterdir()}
    code, said = ended([word.replace("\x00", "") for word in words])
    kept = {n: (place / n).stat().st_mtime_ns for n in ("data.csv", "model.mercer")}
    assert kept == {n: before[n] for n in kept}, f"an input was written over: {words}"
    assert code in ALLOWED, f"code {code}: {words}: {said[-200:]}"
    assert "Traceback" not in said, words
    assert "\x1b[31m" not in said, words
    for path in place.iterdir():
        if path.name not in before:
            path.unlink()
    return f"code {code}"


if __name__ == "__main__":
    campaign.main(attempt, COUNT)
