"""``mercer fit``: from a file with a target to a model, scores and a report."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from mercer._limits import Limits
from mercer._warm import prepare
from mercer._words import count
from mercer.cli.errors import INTERRUPTED, USAGE, CommandError
from mercer.cli.expressions import kernel_from_text
from mercer.cli.files import check_there, digest, read_with_target, said_in_one_line
from mercer.cli.goal import Goal, Wishes, check_wishes, goal_of
from mercer.cli.interrupts import OF_COMPILED_CODE, is_interrupt, was_heard
from mercer.cli.large import fit_large, is_large
from mercer.cli.learn import Learned, Learner
from mercer.cli.options import budget, chosen, seconds
from mercer.cli.parts import Parts, SplitOptions, parted, with_order
from mercer.cli.places import check_places
from mercer.cli.problem import TableProblem, as_problem, learnable
from mercer.cli.reading import AS_FOUND, ReadOptions
from mercer.cli.recipes import EFFORTS, RECIPES
from mercer.cli.scores import LEAST_SECONDS, estimates, seconds_to_look, show
from mercer.cli.screen import Screen, command_line
from mercer.cli.script import script
from mercer.cli.together import by_column
from mercer.cli.unlabelled import (
    CHOICES,
    LEFT_OUT,
    TAKEN,
    apart_from,
    check_wish,
    with_others,
    without_others,
    without_target,
)
from mercer.io import save
from mercer.meta import TargetRegressor
from mercer.report import Study, examine, render, write_text
from mercer.tables import ColumnsEncoder, TableEncoder

NO_WISHES = Wishes()


@dataclass(frozen=True)
class FitOptions:
    """What was asked for on the command line."""

    data: Path
    target: str | None = None
    task: str = "auto"
    model: str = "auto"
    kernel: str = "auto"
    test_size: float = 0.2
    test: Path | None = None
    ignore: tuple[str, ...] = ()
    group: str | None = None
    time: str | None = None
    strict: bool = False
    effort: str = "standard"
    time_limit: str = "10m"
    memory: str | None = None
    seed: int = 0
    save: Path | None = None
    report: Path | None = None
    reading: ReadOptions = AS_FOUND
    wishes: Wishes = NO_WISHES
    script: Path | None = None
    checkpoint: Path | None = None
    dask: str | None = None
    unlabelled: str = "drop"

    @property
    def outputs(self) -> dict[str, Path | None]:
        """The files to write, by option."""
        return {"--save": self.save, "--report": self.report, "--script": self.script}


def fit(options: FitOptions, screen: Screen) -> int:
    """Run the command; return its exit code."""
    chosen("--task", options.task, ["auto", "classify", "regress"])
    effort = EFFORTS[chosen("--effort", options.effort, EFFORTS)]
    limit, memory = seconds(options.time_limit), budget(options.memory)
    kernel = kernel_from_text("rbf" if options.kernel == "auto" else options.kernel)
    chosen("--model", options.model, ["auto", *dict.fromkeys(chain(*RECIPES.values()))])
    check_wishes(options.wishes)
    chosen("--unlabelled", options.unlabelled, CHOICES)
    check_wish(options.unlabelled, options.model)
    check_places({"DATA": options.data, "--test": options.test}, options.outputs)
    in_passes = options.dask is not None or is_large(options.data, memory)
    if not in_passes:
        check_there(options.data, options.test)
    prepare(progress=screen.bar)  # before the clock starts: a time limit is for the fit
    if in_passes:
        return fit_large(options, effort, kernel, screen)
    limits = Limits.of(time_limit=limit)
    parts = read_rows(options, screen)
    learn = parts.learn
    suits(options.model, learn)
    known: dict[str, Any] = {"kernel": kernel, "effort": effort, "memory": memory}
    known |= {"seed": options.seed, "screen": screen}
    goal = _goal(options, learn, kernel, screen)
    alone = limits if parts.others is None else Limits.of(time_limit=_half(limits))
    learner = Learner(learn, limits=alone, goal=goal, open_kernel=options.kernel == "auto", **known)
    learned = learner.learn(options.model)
    learned, helped = with_others(learned, parts, options.model, {**known, "limits": limits})
    study, ended = _examined(learned, parts, screen, limits, options)
    about = _about(options, learn, learned, study, screen) | _judged(learned)
    about["unlabelled"] = None if helped is None else helped.about()
    _write(learned, study, about, options)  # before anything is printed
    if options.script is not None:
        write_text(options.script, _script(options, parts, learned, study))
    show(study, learned.name, learn.target, screen)
    screen.say("optimiser", study.proof.sentence)
    _say_where(options, screen)
    screen.result(about)
    return INTERRUPTED if learned.interrupted or ended or was_heard() else 0


def _half(limits: Limits) -> float | None:
    left = limits.seconds_left()
    return None if left is None else left / 2.0


def read_rows(options: FitOptions, screen: Screen) -> Parts:
    """Return what to learn from and what to test with."""
    by = SplitOptions(
        options.test_size, options.seed, options.group, options.time, options.ignore, options.strict
    )
    with screen.step("read", f"reading {options.data.name}") as said:
        wanted = (options.data, options.target, by.features_to_ignore, options.reading)
        data = read_with_target(*wanted)
        options.reading.check_kinds(data.feature_names, data.target)
        use = options.unlabelled == "use"
        problem = as_problem(data, options.task, left_out=TAKEN if use else LEFT_OUT)
        problem = replace(problem, kinds=options.reading.kinds)
        others = without_target(data, problem, by) if use else None
        problem = with_order(learnable(problem), by)
        size = f"{count(data.X.shape[0], 'row')}, {count(len(data.feature_names), 'column')}"
        said.append(f"{options.data.name}: {size}")
    screen.say("target", problem.about)
    for note in problem.notes:
        screen.note(note)
    if use and others is None:
        screen.note(f"--unlabelled use: all rows have a value of {problem.target!r}")
    parts = parted(problem, None if options.test is None else _test_rows(options, problem), by)
    if others is not None:
        parts = replace(parts, others=apart_from(others, parts.test, screen))
    for finding in parts.findings:
        if finding.severity != "note":
            screen.found(finding)
    screen.say("split", parts.about)
    return parts


def _test_rows(options: FitOptions, problem: TableProblem) -> TableProblem:
    test_file = Path(str(options.test))
    data = read_with_target(test_file, problem.target, options.ignore, options.reading)
    names = _names(problem.X)  # other columns of the file are no part of the table
    lacking = [name for name in names if name not in data.feature_names]
    if lacking:
        raise CommandError(
            f"--test: {options.test} lacks the column {lacking[0]!r} of {options.data.name}; add "
            f"it, or leave it out of both by --ignore"
        )
    test = as_problem(data, problem.task, problem.decimal)
    if problem.task == "classify" and not set(test.y.tolist()) <= set(problem.y.tolist()):
        unknown = sorted(map(str, set(test.y.tolist()) - set(problem.y.tolist())))
        raise CommandError(f"--test has classes that {options.data.name} has not: {unknown[:3]}")
    test = test if options.group is None else by_column(test, options.group)
    return replace(test, X=test.X.select(names)) if names else test


def _names(X: Any) -> list[str]:
    return list(getattr(X, "columns", []))  # sparse rows have places, no names


def _columns(encoder: Any, X: Any) -> list[str]:
    """Return the names of the columns that were encoded, or that a kernel reads as they are."""
    if isinstance(encoder, ColumnsEncoder) and encoder.encode:
        inner = [] if encoder.encoder_ is None else _columns(encoder.encoder_, X)
        return [column["name"] for column in encoder.columns_] + inner
    if isinstance(encoder, TableEncoder):
        return [column["name"] for column in encoder.columns_]
    return _names(X)


def suits(model: str, problem: TableProblem) -> None:
    """Refuse a model that is for another task."""
    known = RECIPES[problem.task]
    if model != "auto" and model not in known:
        raise CommandError(
            f"--model {model} is not for --task {problem.task}; there are auto, {', '.join(known)}",
            USAGE,
        )


def _goal(options: FitOptions, learn: TableProblem, kernel: Any, screen: Screen) -> Goal:
    """Return what models are judged by, and say it; refuse a model that cannot do it."""
    goal = goal_of(options.wishes, learn)
    if options.model != "auto":
        recipe = RECIPES[learn.task][options.model]
        goal.check(options.model, recipe.estimator(kernel, options.seed))
    if goal.words:
        screen.say("metric", goal.words)
    return goal


def _examined(
    learned: Learned,
    parts: Parts,
    screen: Screen,
    limits: Limits,
    options: FitOptions,
) -> tuple[Study, bool]:
    """Return all there is to show, and whether Ctrl-C left out what takes long."""
    learn, test = parts.learn, parts.test
    goal, threshold = learned.goal, learned.threshold
    given: dict[str, Any] = {
        "positive": goal.positive,
        "metric": goal.metric.key,
        "threshold": None if threshold is None else (threshold.value, threshold.words),
        "search": learned.search,
        "title": f"Predicting {test.target}: {learned.recipe.words}",
        "row_numbers": test.numbers,
        "command": command_line(),
        "repeat": needed_again(options),
        "words": (*([goal.words] if goal.words else []), *learned.words, *screen.notes),
        "findings": parts.findings,
        "folds": parts.folds,
        "cv": learn.splitter(options.seed),
        "groups": learn.groups,
        "row_groups": test.groups,
        "only_scores": options.report is None,
    }
    with screen.step("test", "looking at the held-out rows") as said:
        study, ended = _looked_at(learned, learn, test, limits, given)
        part = f"{study.evaluation.n_rows:,} of " if study.evaluation.n_rows < len(test) else ""
        rows = "row" if parts.folds else "held-out row"
        said.append(f"on {part}{count(len(test), rows)}:")
    return study, ended


def _looked_at(
    learned: Learned,
    learn: TableProblem,
    test: TableProblem,
    limits: Limits,
    given: dict[str, Any],
) -> tuple[Study, bool]:
    try:
        if not learned.interrupted:
            seconds = seconds_to_look(limits)
            more: dict[str, Any] = {"train": (learn.X, learn.y), "time_limit": seconds}
            return examine(learned.model, test.X, test.y, **more, **given), False
    except (KeyboardInterrupt, *OF_COMPILED_CODE) as error:
        if not is_interrupt(error):
            raise
        given |= {"words": (*given["words"], "interrupted: the scores only"), "only_scores": True}
    return examine(learned.model, test.X, test.y, time_limit=LEAST_SECONDS, **given), True


def _about(
    options: FitOptions,
    learn: TableProblem,
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
        "columns": _columns(learned.model[0], learn.X),
        "ignore": list(options.ignore),
        "group": options.group,
        "reading": options.reading.about() | learn.written,
        "model": learned.name,
        "parameters": {k: _plain(v) for k, v in learned.search.best_params_.items()},
        "cross_validated": float(learned.search.best_score_),
        "effort": options.effort,
        "seed": options.seed,
        "learned_rows": learned.n_rows,
        "test_rows": int(study.evaluation.n_rows),
        "scores": estimates(study),
        "findings": [asdict(finding) for finding in study.findings],
        "cross_validated_folds": study.n_folds,
        "proof": {"sentence": study.proof.sentence, "ok": study.proof.ok},
        "cut_by_time_limit": list(learned.cut),
        "notes": list(screen.notes),
        "seconds": {name: round(value, 3) for name, value in screen.seconds.items()},
        "interrupted": learned.interrupted,
        "command": study.command,
        "repeat": dict(study.repeat),
        "environment": dict(study.environment),
        "save": None if options.save is None else str(options.save),
        "report": None if options.report is None else str(options.report),
    }


def needed_again(options: FitOptions) -> dict[str, str]:
    """Return what the same result needs: the files as they were, and the seed."""
    files = [path for path in (options.data, options.test) if path is not None and path.is_file()]
    return {
        **{f"SHA-256 of {path.name}": digest(path) for path in files},
        "seed": str(options.seed),
    }


def _judged(learned: Learned) -> dict[str, Any]:
    """Return what the model was judged by, and what becomes of its answers."""
    goal, last, threshold = learned.goal, learned.model[-1], learned.threshold
    return {
        "metric": goal.metric.key,
        "positive": None if goal.positive is None else _plain(_python(goal.positive)),
        "threshold": getattr(last, "threshold", None),
        "best_threshold": None if threshold is None else threshold.value,
        "target_transform": getattr(last, "target_transform", None),
        "range": [last.low_, last.high_] if isinstance(last, TargetRegressor) else None,
    }


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


def _write(
    learned: Learned,
    study: Study,
    about: dict[str, Any],
    options: FitOptions,
) -> None:
    if options.save is not None:
        with said_in_one_line():
            save(without_others(learned.model), options.save, about=about)
    if options.report is not None:
        write_text(options.report, render(study))


def _script(options: FitOptions, parts: Parts, learned: Learned, study: Study) -> str:
    """Return the Python that repeats it."""
    left_out = options.ignore or options.group or options.time
    return script(
        parts,
        learned,
        data=options.data,
        target=options.target,
        test_file=options.test,
        columns=(_names(parts.learn.X) or None) if left_out else None,
        reading=options.reading.for_file(),
        seed=options.seed,
        command=study.command,
        repeat=study.repeat,
    )


def _say_where(options: FitOptions, screen: Screen) -> None:
    model, report, again = options.save, options.report, options.script
    if model is not None:
        screen.say("model", f"{model}  (mercer predict {shlex.quote(str(model))} NEW_ROWS)")
    if report is not None:
        screen.say("report", f"{report}  (open it in a browser)")
    if again is not None:
        screen.say("script", f"{again}  (python {shlex.quote(str(again))})")
