"""``mercer info``: what a saved model is, without loading it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mercer._words import count, fixed, last_part, setting
from mercer.cli.files import said_in_one_line
from mercer.cli.recipes import RECIPES
from mercer.cli.scores import interval
from mercer.cli.screen import Screen
from mercer.io import inspect


def info(model_file: Path, screen: Screen) -> int:
    """Run the command; return its exit code."""
    with said_in_one_line():
        manifest = inspect(model_file)
    for name, text in _lines(manifest):
        screen.say(name, text)
    screen.result(manifest)
    return 0


def _lines(manifest: dict[str, Any]) -> Iterator[tuple[str, str]]:
    about = manifest.get("about") or {}
    yield "model", _what(manifest, about)
    for name in ("target", "task", "data", "command"):
        if about.get(name):
            yield name, str(about[name])
    if about.get("classes"):
        yield "classes", ", ".join(map(str, about["classes"]))
    if about.get("parameters"):
        tuned = about["parameters"].items()
        yield "tuned", ", ".join(f"{last_part(k)} = {setting(v)}" for k, v in tuned)
    for name, estimate in about.get("scores", {}).get("model", {}).items():
        if estimate:
            yield name, _score(estimate)
    if about.get("proof"):
        yield "proof", about["proof"]["sentence"]
    if about.get("columns"):
        yield "columns", ", ".join(about["columns"])
    libraries = ("mercer", "scikit-learn", "numpy")
    yield "made with", ", ".join(f"{name} {manifest[name]}" for name in libraries)


def _what(manifest: dict[str, Any], about: dict[str, Any]) -> str:
    """Return the model in words if mercer fit made it, else the classes it consists of."""
    recipe = RECIPES.get(about.get("task", ""), {}).get(about.get("model", ""))
    if recipe is not None:
        rows = f", learned from {count(about['learned_rows'], 'row')}"
        return f"{about['model']}: {recipe.words}{rows}"
    names = dict.fromkeys(path.split(".")[-1] for path in manifest["classes"])
    return f"{manifest['model']} of {', '.join(names)}"


def _score(estimate: dict[str, float]) -> str:
    return f"{fixed(estimate['value'])}  ({interval(estimate)})"
