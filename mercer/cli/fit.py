"""``mercer fit``: from a file with a target column to a model, a table of scores and a report."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline

from mercer._words import count
from mercer.cli.errors import INTERRUPTED, USAGE, CommandError
from mercer.cli.expressions import kernel_from_text
from mercer.cli.files import read_with_target, said_in_one_line, with_decimal_comma, writable
from mercer.cli.learn import Learned, Learner, score_of
from mercer.cli.options import chosen, seconds
from mercer.cli.problem import Problem, as_problem, learnable, split
from mercer.cli.recipes import RECIPES
from mercer.cli.scores import estimates, show
from mercer.cli.screen import Screen
from mercer.io import save
from mercer.linear import LogisticRegression, Ridge
from mercer.report import Study, examine, render, write_text

REPORT_SHARE = 0.15  # of the time for what the report computes
LINEAR_SHARE = 0.1  # of the time for the linear model to compare with
A_MOMENT = 2.0  # seconds that the scores and a fair rival need, however little time there is


@dataclass(frozen=True)
class FitOptions:
    """What was asked for on the command line."""

    data: Path
    target: str | None
    task: str
    model: str
    kernel: str
    test_size: float
    test: Path | None
    ignore: tuple[str, ...]
    time_limit: str
    seed: int
    save: Path | None
    report: Path | None


def fit(options: FitOptions, screen: Screen) -> int:
    """Run the command; return its exit code."""
    limit = seconds(options.time_limit)
    kernel = kernel_from_text("rbf" if options.kernel == "auto" else options.kernel)
    chosen("--model", options.model, ["auto", *dict.fromkeys(chain(*RECIPES.values()))])
    save_to = writable(options.save, "--save")
    report_to = writable(options.report, "--report")
    learn, test = _read(options, screen)
    _suits(options.model, learn)
    learner = Learner(learn, kernel=kernel, time_limit=limit, seed=options.seed, screen=screen)
    learned = learner.learn(options.model)
    study, ended = _examined(learned, learn, test, screen, limit)
    about = _about(options, learn, test, learned, study, screen)
    show(study, learned.name, learn.target, screen)
    screen.say("proof", study.proof.sentence)
    _write(learned, study, about, save_to, report_to, screen)
    screen.result(about)
    return INTERRUPTED if learned.interrupted or ended else 0


def _read(options: FitOptions, screen: Screen) -> tuple[Problem, Problem]:
    """Return what to learn from and what to test with."""
    with screen.step("read", f"reading {options.data.name}") as said:
        data = read_with_target(options.data, options.target, options.ignore)
        for name in with_decimal_comma(data):
            screen.note(f"{name!r} is text: write its numbers with a point, 0.5 instead of 0,5")
        problem = learnable(as_problem(data, options.task))
        size = f"{count(data.X.shape[0], 'row')}, {count(len(data.feature_names), 'column')}"
        said.append(f"{options.data.name}: {size}")
    screen.say("target", problem.about)
    for note in problem.notes:
        screen.note(note)
    if options.test is None:
        learn, test = split(problem, options.test_size, options.seed)
    else:
        learn, test = problem, _test_rows(options, problem)
    screen.say("split", f"{count(len(learn), 'row')} to learn from, {len(test):,} held out")
    return learn, test


def _test_rows(options: FitOptions, problem: Problem) -> Problem:
    data = read_with_target(Path(str(options.test)), problem.target, options.ignore)
    lacking = [name for name in _names(problem.X) if name not in data.feature_names]
    if lacking:
        raise CommandError(
            f"--test: {options.test} lacks the column {lacking[0]!r} of {options.data.name}; add "
            f"it, or leave it out of both by --ignore"
        )
    test = as_problem(data, problem.task)
    if problem.task == "classify" and not set(test.y.tolist()) <= set(problem.y.tolist()):
        unknown = sorted(map(str, set(test.y.tolist()) - set(problem.y.tolist())))
        raise CommandError(f"--test has classes that {options.data.name} has not: {unknown[:3]}")
    return test


def _names(X: Any) -> list[str]:
    return list(getattr(X, "columns", []))  # sparse rows have places, no names


def _suits(model: str, problem: Problem) -> None:
    known = RECIPES[problem.task]
    if model != "auto" and model not in known:
        raise CommandError(
            f"--model {model} is not for --task {problem.task}; there are auto, {', '.join(known)}",
            USAGE,
        )


def _baseline(learn: Problem) -> dict[str, Any]:
    """Return what does not look at the columns: the most frequent class, or the mean."""
    rows = np.zeros((len(learn), 1))
    if learn.task == "regress":
        return {"always the mean": DummyRegressor().fit(rows, learn.y)}
    labels, counts = np.unique(learn.y, return_counts=True)
    name = f"always {str(labels[counts.argmax()])!r}"
    return {name: DummyClassifier(strategy="prior").fit(rows, learn.y)}


def _linear(learn: Problem, learned: Learned, limit: float | None) -> dict[str, Any]:
    """Return a plain linear model of the same encoded columns."""
    encoder = learned.model[0]
    seconds = None if limit is None else max(LINEAR_SHARE * limit, A_MOMENT)
    linear = LogisticRegression(time_limit=seconds) if learn.task == "classify" else Ridge()
    linear.fit(encoder.transform(learn.X), learn.y)
    return {"linear model": Pipeline([("encode", encoder), ("model", linear)])}


def _examined(
    learned: Learned, learn: Problem, test: Problem, screen: Screen, limit: float | None
) -> tuple[Study, bool]:
    """Return all there is to show, and whether Ctrl-C left out what takes long."""
    given: dict[str, Any] = {
        "search": learned.search,
        "title": f"Predicting {test.target}: {learned.recipe.words}",
        "row_numbers": test.numbers,
        "command": "mercer " + shlex.join(sys.argv[1:]),
        "words": (*learned.words, *screen.notes),
    }
    with screen.step("test", "looking at the held-out rows") as said:
        study, ended = _looked_at(learned, learn, test, limit, given)
        part = f"{study.evaluation.n_rows:,} of " if study.evaluation.n_rows < len(test) else ""
        said.append(f"on {part}{count(len(test), 'held-out row')}:")
    return study, ended


def _looked_at(
    learned: Learned, learn: Problem, test: Problem, limit: float | None, given: dict[str, Any]
) -> tuple[Study, bool]:
    try:
        if not learned.interrupted:
            return _closely(learned, learn, test, limit, given), False
    except KeyboardInterrupt:
        given["words"] = (*given["words"], "interrupted: the scores only")
    given |= {"rivals": _baseline(learn), "time_limit": A_MOMENT}
    return examine(learned.model, test.X, test.y, **given), True


def _closely(
    learned: Learned, learn: Problem, test: Problem, limit: float | None, given: dict[str, Any]
) -> Study:
    rivals = _linear(learn, learned, limit) | _baseline(learn)
    seconds = None if limit is None else max(REPORT_SHARE * limit, A_MOMENT)
    train = (learn.X, learn.y)
    return examine(
        learned.model, test.X, test.y, train=train, rivals=rivals, time_limit=seconds, **given
    )


def _about(
    options: FitOptions,
    learn: Problem,
    test: Problem,
    learned: Learned,
    study: Study,
    screen: Screen,
) -> dict[str, Any]:
    """Return what is kept with the model, and printed for machines."""
    return {
        "data": str(options.data),
        "target": learn.target,
        "task": learn.task,
        "classes": np.unique(learn.y).tolist() if learn.task == "classify" else None,
        "columns": [column["name"] for column in learned.model[0].columns_],
        "ignore": list(options.ignore),
        "model": learned.name,
        "parameters": {k: _plain(v) for k, v in learned.search.best_params_.items()},
        "cross_validated": score_of(learned.search),
        "learned_rows": len(learn),
        "test_rows": int(study.evaluation.n_rows),
        "scores": estimates(study),
        "proof": {"sentence": study.proof.sentence, "ok": study.proof.ok},
        "notes": list(screen.notes),
        "seconds": {name: round(value, 3) for name, value in screen.seconds.items()},
        "interrupted": learned.interrupted,
        "command": study.command,
        "environment": dict(study.environment),
        "save": None if options.save is None else str(options.save),
        "report": None if options.report is None else str(options.report),
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


def _write(
    learned: Learned,
    study: Study,
    about: dict[str, Any],
    save_to: Path | None,
    report_to: Path | None,
    screen: Screen,
) -> None:
    if save_to is not None:
        with said_in_one_line():
            save(learned.model, save_to, about=about)
        screen.say("model", f"{save_to}  (mercer predict {shlex.quote(str(save_to))} NEW_ROWS)")
    if report_to is not None:
        write_text(report_to, render(study))
        screen.say("report", f"{report_to}  (open it in a browser)")
