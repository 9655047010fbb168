"""``mercer compare``: several models on the same rows, in one table and one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mercer._limits import Limits
from mercer._warm import prepare
from mercer._words import count, fixed
from mercer.cli.errors import MODEL, USAGE, CommandError
from mercer.cli.expressions import kernel_from_text
from mercer.cli.files import check_there, digest, read_model, read_with_target, said_in_one_line
from mercer.cli.fit import FitOptions, read_rows, suits
from mercer.cli.goal import Wishes, goal_of
from mercer.cli.learn import Learner
from mercer.cli.options import chosen, seconds
from mercer.cli.parts import Folds
from mercer.cli.places import check_places
from mercer.cli.problem import TableProblem, as_problem
from mercer.cli.reading import AS_FOUND, ReadOptions, remembered
from mercer.cli.recipes import EFFORTS
from mercer.cli.saved import labels_like, positive_of
from mercer.cli.screen import Screen, command_line, interval
from mercer.cli.together import drawn_whole
from mercer.io import ModelFileError, inspect
from mercer.report import Comparison, compare, comparison_page, environment, write_text
from mercer.report.compare import CHANCE


@dataclass(frozen=True)
class CompareOptions:
    """What was asked for on the command line."""

    files: tuple[Path, ...]
    models: tuple[str, ...]
    target: str | None
    test_size: float
    ignore: tuple[str, ...]
    effort: str
    time_limit: str
    seed: int
    report: Path | None
    reading: ReadOptions = AS_FOUND
    group: str | None = None


@dataclass(frozen=True)
class Contest:
    """Models by name, and what judges them; ``folds`` where rows are too few to hold some out."""

    models: dict[str, Any]
    rows: TableProblem
    positive: Any = None
    folds: Folds | None = None

    def judged(self, seed: int) -> Comparison:
        """Return the comparison."""
        by: dict[str, Any] = {"row_groups": self.rows.groups, "folds": self.folds}
        by |= {"positive": self.positive, "random_state": seed}
        try:
            return compare(self.models, self.rows.X, self.rows.y, **by)
        except ValueError as error:
            raise CommandError(str(error), MODEL) from None


def run(options: CompareOptions, screen: Screen) -> int:
    """Run the command; return its exit code."""
    saved, data = _sorted(options)
    report = options.report or Path(f"{data.name.split('.')[0]}.compare.html")
    read = {f"MODEL {path.name}": path for path in saved}
    check_places({"DATA": data, **read}, {"--report": report})
    take = _saved if saved else _fitted
    contest = take(options, saved, data, screen)
    found = contest.judged(options.seed)
    write_text(report, _page(found, contest.rows, [data, *saved], options))
    _show(found, screen)
    screen.say("report", f"{report}  (open it in a browser)")
    screen.result(_plain(found) | {"report": str(report)})
    return 0


def _sorted(options: CompareOptions) -> tuple[list[Path], Path]:
    """Return the saved models among the files, and the table."""
    saved = [path for path in options.files if _is_model(path)]
    tables = [path for path in options.files if path not in saved]
    if len(tables) != 1:
        told = ", ".join(path.name for path in tables) or "none"
        raise CommandError(f"compare needs one table among its files; got {told}", USAGE)
    if bool(saved) == bool(options.models):
        raise CommandError(
            "compare needs saved models, or --models svm,ridge to fit some, and not both", USAGE
        )
    if len(saved or options.models) < 2:
        raise CommandError("compare needs two models or more", USAGE)
    if saved and options.reading.kinds:
        raise CommandError("--kind is for --models: saved models know what columns are", USAGE)
    return saved, tables[0]


def _is_model(path: Path) -> bool:
    if path.suffix == ".mercer":
        return True
    try:
        inspect(path)
    except (ModelFileError, OSError):
        return False
    return True


# ---------------------------------------------------------------- the models and the rows
def _saved(options: CompareOptions, saved: list[Path], data: Path, screen: Screen) -> Contest:
    """Read models and the rows that they are judged by."""
    read = [read_model(path) for path in saved]
    abouts = [manifest.get("about") or {} for _, manifest in read]
    target = options.target or next((a["target"] for a in abouts if a.get("target")), None)
    task = next((a["task"] for a in abouts if a.get("task")), "auto")
    with said_in_one_line():
        reading = _as_all_read(options.reading, read, abouts, data)
    known = read_with_target(data, target, options.ignore, reading)
    decimal = (abouts[0].get("reading") or {}).get("target_decimal")
    rows = as_problem(known, task, decimal)
    for note in rows.notes:
        screen.note(note)
    for path, about in zip(saved, abouts, strict=True):
        if Path(about.get("data", "")).resolve() == data.resolve():
            screen.note(f"{path.name} has learned from rows of {data.name}: new rows may be harder")
    rows = drawn_whole(rows, options.group, abouts, screen)
    if rows.task == "classify":
        rows = rows.with_targets(labels_like(read[0][0], rows.y))
    short = len({path.stem for path in saved}) == len(saved)
    names = [path.stem if short else str(path) for path in saved]
    models = dict(zip(names, (model for model, _ in read), strict=True))
    return Contest(models, rows, positive_of(read[0][0], abouts[0]))


def _as_all_read(
    given: ReadOptions,
    read: Sequence[tuple[Any, Any]],
    abouts: Sequence[dict[str, Any]],
    data: Path,
) -> ReadOptions:
    """Return how the first model's file was read, with the columns that are texts for any model.

    What was asked for on the command line goes first.
    """
    found = [
        remembered(given, about, model, data)
        for (model, _), about in zip(read, abouts, strict=True)
    ]
    texts = dict.fromkeys(name for one in found for name in one.text)
    return replace(found[0], text=tuple(texts))


def _fitted(options: CompareOptions, saved: list[Path], data: Path, screen: Screen) -> Contest:
    """Fit models to the same rows; return them, the rows that judge them, and folds for few."""
    limit = seconds(options.time_limit)
    chosen("--effort", options.effort, EFFORTS)
    check_there(data)
    prepare(progress=screen.bar)
    limits = Limits.of(time_limit=limit)
    given = FitOptions(
        data,
        options.target,
        test_size=options.test_size,
        ignore=options.ignore,
        group=options.group,
        seed=options.seed,
        reading=options.reading,
    )
    parts = read_rows(given, screen)
    learn = parts.learn
    for name in options.models:
        suits(name, learn)
    models = {}
    for place, name in enumerate(options.models):
        left = limits.seconds_left()
        share = None if left is None else max(left / (len(options.models) - place), 0.1)
        models[name] = _learned(name, learn, options, Limits.of(time_limit=share), screen)
    positive = goal_of(Wishes(), learn).positive
    return Contest(models, parts.test, positive, parts.folds)


def _learned(
    name: str, learn: TableProblem, options: CompareOptions, limits: Limits, screen: Screen
) -> Any:
    """Return a model that is tuned and fitted; one line says so, and its notes are passed on."""
    hushed = Screen(quiet=True)
    with screen.step("fit", f"fitting {name}") as said:
        learner = Learner(
            learn,
            kernel=kernel_from_text("rbf"),
            effort=EFFORTS[options.effort],
            limits=limits,
            seed=options.seed,
            screen=hushed,
        )
        learned = learner.learn(name)
        said.append(f"{name}: {learned.recipe.words}, {count(learned.n_rows, 'row')}")
    for note in hushed.notes:
        screen.note(f"{name}: {note}")
    return learned.model


# ---------------------------------------------------------------- what is said
def _show(found: Comparison, screen: Screen) -> None:
    first, *others = found.scores
    head = ["", first.name, "95 % interval", "best less this", "", *(s.name for s in others)]
    screen.table(head, [_row(found, name) for name in found.names])
    screen.blank()
    screen.say("verdict", found.sentence)


def _row(found: Comparison, name: str) -> list[str]:
    first, *others = found.scores
    own, lead = found.estimate(first, name), first.leads.get(name)
    between = "" if lead is None else interval(vars(lead))
    verdict = "the best" if name == found.best else CHANCE[found.is_apart(name)]
    estimates = [found.estimate(score, name) for score in others]
    values = ["–" if e is None else fixed(e.value) for e in estimates]
    scores = ["–", "–"] if own is None else [fixed(own.value), interval(vars(own))]
    return [name, *scores, between, verdict, *values]


def _page(found: Comparison, rows: TableProblem, files: list[Path], options: CompareOptions) -> str:
    return comparison_page(
        f"Predicting {rows.target}: {count(len(found.names), 'model')} compared",
        found,
        environment=environment(0.0),
        command=command_line(),
        repeat={f"SHA-256 of {path.name}": digest(path) for path in files}
        | {"seed": str(options.seed)},
    )


def _plain(found: Comparison) -> dict[str, Any]:
    """Return the comparison as plain values: by model, by score."""
    scores: dict[str, dict[str, Any]] = {name: {} for name in found.names}
    for score in found.scores:
        for name in found.names:
            estimate, lead = found.estimate(score, name), score.leads.get(name)
            told = {} if estimate is None else dict(vars(estimate))
            if lead is not None:
                told["best_less_this"] = vars(lead)
                told["more_than_chance"] = found.is_apart(name, score)
            scores[name][score.name] = told
    return {"rows": found.n_rows, "best": found.best, "models": scores, "verdict": found.sentence}
