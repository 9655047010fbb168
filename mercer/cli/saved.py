"""``mercer evaluate`` and ``mercer info``: how good a saved model is on other rows, what it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mercer._words import called, count, fixed, last_part, listing, setting
from mercer.assess import evaluate as assess
from mercer.assess.evaluate import of_positive
from mercer.cli.errors import DATA, MODEL, CommandError
from mercer.cli.files import (
    digest,
    predicted,
    read_model,
    read_with_target,
    said_in_one_line,
)
from mercer.cli.places import check_places
from mercer.cli.problem import TableProblem, as_problem
from mercer.cli.reading import ReadOptions, remembered
from mercer.cli.recipes import RECIPES
from mercer.cli.screen import Screen, command_line, interval
from mercer.cli.together import drawn_whole
from mercer.io import inspect
from mercer.report import write_report

SCORES = (
    *("accuracy", "uar", "auc", "average_precision", "confusion", "recall", "precision", "f1"),
    *("labels", "positive", "brier", "log_loss"),
    *("r2", "rmse", "mae", "median_error", "relative_error", "mape", "rmsle"),
)


def evaluate(
    model_file: Path,
    data: Path,
    target: str | None,
    report: Path | None,
    group: str | None,
    given: ReadOptions,
    screen: Screen,
) -> int:
    """Run the command; return its exit code."""
    check_places({"MODEL": model_file, "DATA": data}, {"--report": report})
    model, manifest = read_model(model_file)
    about = manifest.get("about") or {}
    if not hasattr(model, "predict"):
        raise CommandError(f"{model_file.name} does not predict: nothing to evaluate", MODEL)
    problem = _read(model, about, data, target, given)
    for note in problem.notes:
        screen.note(note)
    if data.resolve() == Path(about.get("data", "")).resolve():
        screen.note("the model has learned from rows of this file: new rows may be harder")
    y = problem.y if problem.task == "regress" else labels_like(model, problem.y)
    positive = positive_of(model, about)
    problem = drawn_whole(problem, group, [about], screen)
    result = _judged(model, problem, y, data, screen, positive)
    screen.show(f"{model_file.name} on {count(len(problem), 'row')} of {data.name}")
    screen.show(result)
    if problem.task == "regress":
        screen.show(f"rmse, mae and residuals are in units of {problem.target}")
    if report is not None:
        shown: dict[str, Any] = {
            "command": command_line(),
            "row_numbers": problem.numbers,
            "row_groups": problem.groups,
            "repeat": {f"SHA-256 of {path.name}": digest(path) for path in (model_file, data)},
        }
        shown |= {"positive": positive, "metric": about.get("metric")}
        write_report(model, report, problem.X, y, title=f"Predicting {problem.target}", **shown)
        screen.say("report", f"{report}  (open it in a browser)")
    screen.result({"rows": len(problem), "task": problem.task, "scores": _plain(result)})
    return 0


def _read(
    model: Any, about: Mapping[str, Any], data: Path, target: str | None, given: ReadOptions
) -> TableProblem:
    """Return the rows of a file and their targets, as the model was told to read them."""
    with said_in_one_line():
        reading = remembered(given, about, model, data)
    known = read_with_target(data, target or about.get("target"), (), reading)
    decimal = (about.get("reading") or {}).get("target_decimal")
    return as_problem(known, about.get("task", "auto"), decimal)


def labels_like(model: Any, y: Any) -> Any:
    """Return labels of the type that the model was fitted to; refuse those it cannot have."""
    classes = getattr(model, "classes_", y)
    if classes.dtype.kind == y.dtype.kind or {classes.dtype.kind, y.dtype.kind} == {"i", "u"}:
        return y
    if classes.dtype.kind == "U":
        return y.astype(str)
    known = {str(label): label for label in classes.tolist()}
    known |= {"0": False, "1": True} if classes.dtype.kind == "b" else {}
    labels, places = np.unique(y, return_inverse=True)
    if unknown := [label for label in labels.tolist() if str(label) not in known]:
        raise CommandError(
            f"the class {called(unknown[0])!r} is none of the model's: it knows "
            f"{listing([called(label) for label in classes])}",
            DATA,
        )
    return np.array([known[str(label)] for label in labels.tolist()], classes.dtype)[places]


def positive_of(model: Any, about: dict[str, Any]) -> Any:
    """Return the positive class of the fit, if it is still one of the model's."""
    known = getattr(model, "classes_", np.zeros(0)).tolist()
    return about["positive"] if about.get("positive") in known else None


def _judged(
    model: Any, problem: TableProblem, y: np.ndarray, data: Path, screen: Screen, positive: Any
) -> Any:
    """Compare; rows of a class that the model has never seen count as mistakes."""
    prediction, groups = predicted(model, problem.X, data), problem.groups
    if problem.task == "regress":
        return assess(y, prediction, groups=groups)
    unknown = ~np.isin(y, model.classes_)
    if unknown.any():
        names = ", ".join(map(str, np.unique(y[unknown])[:3]))
        rows = count(int(unknown.sum()), "row")
        screen.note(f"{rows} of classes that the model has never seen ({names}): mistakes, all")
        return assess(y, prediction, labels=np.union1d(model.classes_, y), groups=groups)
    scores = of_positive(_scores(model, problem.X), model.classes_, positive)
    known = {"labels": model.classes_, "positive": positive, "groups": groups}
    return assess(y, prediction, scores=scores, **known)


def _scores(model: Any, X: Any) -> Any:
    for method in ("predict_proba", "decision_function"):
        if hasattr(model, method):
            return getattr(model, method)(X)
    return None


def _plain(result: Any) -> dict[str, Any]:
    return {name: getattr(result, name) for name in SCORES if hasattr(result, name)}


# ---------------------------------------------------------------- info
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
        yield "optimiser", about["proof"]["sentence"]
    for name, text in (about.get("repeat") or {}).items():
        if name.startswith("SHA-256"):
            yield "data", f"{name}: {text}"
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
