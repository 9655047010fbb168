"""``mercer info``: what a saved model is, without loading it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mercer.cli.files import said_in_one_line
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
    yield "model", f"{manifest['model']} of {', '.join(map(_name, manifest['classes']))}"
    for name in ("target", "task", "data", "command"):
        if about.get(name):
            yield name, str(about[name])
    if about.get("classes"):
        yield "classes", ", ".join(map(str, about["classes"]))
    if about.get("parameters"):
        yield "tuned", ", ".join(f"{k} = {_short(v)}" for k, v in about["parameters"].items())
    for name, estimate in about.get("scores", {}).get("model", {}).items():
        if estimate:
            yield name, _score(estimate)
    if about.get("proof"):
        yield "proof", about["proof"]["sentence"]
    if about.get("columns"):
        yield "columns", ", ".join(about["columns"])
    libraries = ("mercer", "scikit-learn", "numpy")
    yield "made with", ", ".join(f"{name} {manifest[name]}" for name in libraries)


def _name(path: str) -> str:
    return path.split(".")[-1]


def _score(estimate: dict[str, float]) -> str:
    return f"{estimate['value']:.4g}  ({estimate['low']:.3g} … {estimate['high']:.3g})"


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
