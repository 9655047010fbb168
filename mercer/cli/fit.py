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

from mercer.cli.errors import INTERRUPTED, USAGE, CommandError
from mercer.cli.expressions import kernel_from_text
from mercer.cli.files import read_with_target, writable
from mercer.cli.learn import Learned, Learner
from mercer.cli.options import chosen, seconds
from mercer.cli.problem import Problem, as_problem, split
from mercer.cli.recipes import RECIPES
from mercer.cli.screen import Screen, count
from mercer.io import save
from mercer.linear import LogisticRegression, Ridge
from mercer.report import Study, examine, render, write_text

REPORT_SHARE = 0.25  # of the time for what the report computes


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
    rivals = _rivals(learn, learned)
    command = "mercer " + shlex.join(sys.argv[1:])
    study, ended = _examined(learned, learn, test, rivals, screen, limit, command)
    about = _about(options, learn, test, learned, study, screen)
    _show(study, learned, test, screen)
    _write(learned, study, about, save_to, report_to, screen)
    screen.result(about)
    return INTERRUPTED if learned.interrupted or ended else 0


def _read(options: FitOptions, screen: Screen) -> tuple[Problem, Problem]:
    """Return what to learn from and what to test with."""
    with screen.step("read", f"reading {options.data.name}") as said:
        data = read_with_target(options.data, options.target, options.ignore)
        problem = as_problem(data, options.task)
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
    test = as_problem(data, problem.task)
    if problem.task == "classify" and not set(test.y.tolist()) <= set(problem.y.tolist()):
        unknown = sorted(map(str, set(test.y.tolist()) - set(problem.y.tolist())))
        raise CommandError(f"--test has classes that {options.data.name} has not: {unknown[:3]}")
    return test


def _suits(model: str, problem: Problem) -> None:
    known = RECIPES[problem.task]
    if model != "auto" and model not in known:
        raise CommandError(
            f"--model {model} is not for --task {problem.task}; there are auto, {', '.join(known)}",
            USAGE,
        )


def _rivals(learn: Problem, learned: Learned) -> dict[str, Any]:
    """Return a baseline that does not look at the columns, and a plain linear model."""
    classify = learn.task == "classify"
    if classify:
        labels, counts = np.unique(learn.y, return_counts=True)
        baseline: Any = DummyClassifier(strategy="prior").fit(learn.X, learn.y)
        name = f"always {str(labels[counts.argmax()])!r}"
    else:
        baseline, name = DummyRegressor().fit(np.zeros((len(learn), 1)), learn.y), "always the mean"
    encoder = learned.model[0]
    linear = LogisticRegression() if classify else Ridge()
    linear.fit(encoder.transform(learn.X), learn.y)
    return {
        "linear model": Pipeline([("encode", encoder), ("model", linear)]),
        name: baseline,
    }


def _examined(
    learned: Learned,
    learn: Problem,
    test: Problem,
    rivals: dict[str, Any],
    screen: Screen,
    limit: float | None,
    command: str,
) -> tuple[Study, bool]:
    """Return all there is to show; Ctrl-C leaves out what takes long."""
    given: dict[str, Any] = {
        "search": learned.search,
        "rivals": rivals,
        "title": f"{test.target}: {learned.recipe.words}",
        "command": command,
        "words": (*learned.words, *screen.notes),
    }
    budget = None if limit is None else REPORT_SHARE * limit
    with screen.step("test", "looking at the held-out rows") as said:
        try:
            train = (learn.X, learn.y)
            study = examine(learned.model, test.X, test.y, train=train, time_limit=budget, **given)
            ended = False
        except KeyboardInterrupt:
            study = examine(learned.model, test.X, test.y, time_limit=0.1, **given)
            ended = True
        said.append(f"on {count(len(test), 'held-out row')}:")
    return study, ended


def _about(
    options: FitOptions,
    learn: Problem,
    test: Problem,
    learned: Learned,
    study: Study,
    screen: Screen,
) -> dict[str, Any]:
    """Return what is kept with the model, and printed for machines."""
    scores = {
        name: {score.name: _of(score, name) for score in study.scores}
        for name in ("model", *_rival_names(study))
    }
    return {
        "data": str(options.data),
        "target": learn.target,
        "task": learn.task,
        "classes": np.unique(learn.y).tolist() if learn.task == "classify" else None,
        "columns": [column["name"] for column in learned.model[0].columns_],
        "ignore": list(options.ignore),
        "model": learned.name,
        "parameters": {k: _plain(v) for k, v in learned.search.best_params_.items()},
        "cross_validated": float(learned.search.best_score_),
        "learned_rows": len(learn),
        "test_rows": len(test),
        "scores": scores,
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


def _rival_names(study: Study) -> list[str]:
    return list(dict.fromkeys(name for score in study.scores for name in score.rivals))


def _of(score: Any, name: str) -> Any:
    estimate = score.model if name == "model" else score.rivals.get(name)
    if estimate is None:
        return None
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def _show(study: Study, learned: Learned, test: Problem, screen: Screen) -> None:
    """Print the table of scores and what is proved."""
    names = {"model": learned.recipe.words, **{name: name for name in _rival_names(study)}}
    rows = [
        [words, *(_text(_of(score, name)) for score in study.scores)]
        for name, words in names.items()
    ]
    screen.table(["", *(score.name for score in study.scores)], rows)
    screen.blank()
    screen.say("proof", study.proof.sentence)


def _text(estimate: Any) -> str:
    if estimate is None or estimate["value"] is None:
        return "–"
    value, low, high = (_digits(estimate[name]) for name in ("value", "low", "high"))
    return value if low == high else f"{value} ({low}–{high})"


def _digits(value: float) -> str:
    return f"{value:.3f}" if abs(value) <= 1 else f"{value:.4g}"


def _write(
    learned: Learned,
    study: Study,
    about: dict[str, Any],
    save_to: Path | None,
    report_to: Path | None,
    screen: Screen,
) -> None:
    if save_to is not None:
        save(learned.model, save_to, about=about)
        screen.say("model", f"{save_to}  (mercer predict {save_to} NEW_ROWS)")
    if report_to is not None:
        write_text(report_to, render(study))
        screen.say("report", f"{report_to}  (open it in a browser)")
