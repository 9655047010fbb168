"""``mercer fit`` on tables that are not to be in memory: learned in passes, tested on a sample."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from mercer._array import parse_memory
from mercer._limits import Limits
from mercer._words import count, setting
from mercer.checks import Finding, check_table
from mercer.cli.errors import DATA, INTERRUPTED, USAGE, CommandError
from mercer.cli.files import said_in_one_line
from mercer.cli.goal import Wishes
from mercer.cli.interrupts import OF_COMPILED_CODE, is_interrupt
from mercer.cli.options import budget, chosen, seconds
from mercer.cli.parts import stop_at_leaks
from mercer.cli.problem import task_of
from mercer.cli.reading import AS_FOUND
from mercer.cli.recipes import RECIPES, Effort
from mercer.cli.scores import LEAST_SECONDS, estimates, seconds_to_look, show
from mercer.cli.screen import Screen, command_line
from mercer.io import save
from mercer.machines import KernelRidge, KernelRidgeClassifier
from mercer.report import Study, examine, render, write_text
from mercer.rows import Rows, RowsError
from mercer.rows import open as open_rows
from mercer.rows.opening import PATTERN, READERS
from mercer.select import tune
from mercer.tables import TableEncoder

COPIES = 10  # of a table in memory: as read, checked, encoded, of the rivals
TEXT_TO_NUMBERS = 1.5  # bytes of numbers for a byte of text
PACKED = 3.0  # bytes of numbers for a byte of Parquet
ENCODER_ROWS = 50_000  # by which the columns are encoded
TEST_ROWS = 50_000  # most rows to test with
SHARE = 0.6  # of the time limit for the search
ANSWERS_WITHIN = 10  # seconds, or there is no cluster


def is_many(data: Path) -> bool:
    """Tell whether a path is a folder or a pattern, which stand for files."""
    return data.is_dir() or (bool(PATTERN & set(data.name)) and not data.exists())


def is_large(data: Path, memory: int | None) -> bool:
    """Tell whether a table is a folder or a pattern, or too large for the memory."""
    if is_many(data):
        return True
    if data.suffix.lower() not in READERS or not data.is_file():
        return False
    factor = TEXT_TO_NUMBERS if data.suffix.lower() in (".csv", ".tsv") else PACKED
    return COPIES * factor * data.stat().st_size > parse_memory(memory)


def fit_large(options: Any, effort: Effort, kernel: Any, screen: Screen) -> int:
    """Run the command on rows in blocks; return its exit code."""
    _refuse_what_needs_a_table(options)
    try:
        with _cluster(options.dask, screen):
            return _fit(options, effort, kernel, screen)
    except RowsError as error:
        raise CommandError(str(error), DATA) from None


@contextmanager
def _cluster(address: str | None, screen: Screen) -> Iterator[None]:
    """Let passes run on a Dask cluster, if there is an address of one."""
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise CommandError("--dask needs Dask: pip install mercer[dask]", USAGE) from None
    try:
        client = Client(address, timeout=ANSWERS_WITHIN)
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0]
        raise CommandError(f"--dask: no cluster answers at {address!r} ({why})", USAGE) from None
    with client:
        workers = client.nthreads()
        threads = count(sum(workers.values()), "thread")
        screen.say("cluster", f"{address}: {count(len(workers), 'worker')}, {threads}")
        yield


def _fit(options: Any, effort: Effort, kernel: Any, screen: Screen) -> int:
    limits = Limits.of(time_limit=seconds(options.time_limit))
    with screen.step("read", f"opening {options.data}") as said:
        table = _opened(options)
        size = f"{count(table.n, 'row')}, {count(table.n_columns, 'column')}"
        said.append(f"{options.data.name}: {size}")
    random = np.random.default_rng(options.seed)
    some = table.take_both(np.sort(_drawn(random, table.n, ENCODER_ROWS)))
    task, why = (options.task, "") if options.task != "auto" else task_of(some.y, options.target)
    screen.say("target", f"{options.target}, to {task}; the table is learned in passes")
    if why:
        screen.note(why)
    findings = _checked(some, task, options, screen)
    with screen.step("columns", "encoding the columns") as said:
        encoder = TableEncoder(kinds=dict(options.reading.kinds) or None).fit(some.X)
        said += encoder.describe()
    n_test = min(TEST_ROWS, max(1, int(options.test_size * table.n)))
    held = np.sort(_drawn(random, table.n, n_test))
    rows, weight = table.encoded(encoder), np.ones(table.n)
    weight[held] = 0.0
    screen.say("split", f"{table.n - len(held):,} rows to learn from, {len(held):,} to test with")
    search = _searched(options, effort, kernel, task, rows, weight, limits, screen)
    model = Pipeline([("encode", encoder), ("ridge", search.best_estimator_)])
    test = table.take_both(held)
    study, ended = _examined(options, model, test, findings, limits, search.status_, screen)
    about = _about(options, task, table, encoder, search, study, weight)
    _write(options, model, study, about)
    show(study, "ridge", options.target, screen)
    screen.say("optimiser", study.proof.sentence)
    if options.save is not None:
        screen.say("model", f"{options.save}  (mercer predict {options.save} NEW_ROWS)")
    screen.result(about)
    return INTERRUPTED if ended else 0


def _checked(some: Any, task: str, options: Any, screen: Screen) -> list[Finding]:
    """Say what is odd about the rows that were drawn; with --strict stop at what is a leak."""
    known = {"target": options.target, "random_state": options.seed}
    findings = check_table(some.X, some.y, task=task, **known)
    if options.strict:
        stop_at_leaks(findings)
    for finding in findings:
        if finding.severity != "note":
            screen.found(finding)
    return findings


def _refuse_what_needs_a_table(options: Any) -> None:
    """Raise if something was asked for that passes cannot do."""
    if options.target is None:
        raise CommandError("which column is to be predicted? --target COLUMN", USAGE)
    asked = {
        "--test": options.test,
        "--group": options.group,
        "--time": options.time,
        "--script": options.script,
        "--unlabelled": None if options.unlabelled == "drop" else options.unlabelled,
        "--model": None if options.model in ("auto", "ridge") else options.model,
        **_given(options.reading, AS_FOUND, ("sep", "na", "decimal", "sheet")),
        **_given(options.wishes, Wishes(), tuple(vars(options.wishes))),
    }
    for option, value in asked.items():
        if value is not None:
            raise CommandError(
                f"{option}: a table that is learned in passes cannot do this; raise --memory, or "
                f"take a part of the rows",
                USAGE,
            )


def _given(found: Any, default: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the options that are not as they are by default, by the names of the command line."""
    values = {name: getattr(found, name) for name in names}
    return {
        f"--{name.replace('_', '-')}": value
        for name, value in values.items()
        if value != getattr(default, name)
    }


def _opened(options: Any) -> Rows:
    source, target = str(options.data), options.target
    if not options.ignore:
        return open_rows(source, target, mixed=True)
    names = open_rows(source, target, mixed=True).columns or ()
    for name in options.ignore:
        chosen("--ignore", name, names)
    kept = [name for name in names if name not in options.ignore]
    return open_rows(source, target, mixed=True, columns=kept)


def _drawn(random: np.random.Generator, n: int, most: int) -> np.ndarray:
    return random.choice(n, min(n, most), replace=False, shuffle=False)


def _searched(
    options: Any,
    effort: Effort,
    kernel: Any,
    task: str,
    rows: Rows,
    weight: np.ndarray,
    limits: Limits,
    screen: Screen,
) -> Any:
    make: Any = KernelRidgeClassifier if task == "classify" else KernelRidge
    given = {"memory": budget(options.memory), "random_state": options.seed, "lam": "loo"}
    own = make(kernel, **given).route_of(rows).landmarks or rows.n
    landmarks = min(effort.landmarks, own)  # also where all rows would fit: that search is slow
    checkpoint = None if options.checkpoint is None else str(options.checkpoint)
    model = make(kernel, landmarks=landmarks, checkpoint=checkpoint, **given)
    screen.say("route", str(model.route_of(rows)))
    with screen.step("tuned", "going over the rows") as said:
        search = tune(
            model,
            rows,
            sample_weight=weight,
            random_state=options.seed,
            time_limit=limits.share(SHARE),
        )
        best = ", ".join(f"{k} = {setting(v)}" for k, v in search.best_params_.items())
        said.append(f"{best} ({search.route_})")
    return search


def _examined(
    options: Any,
    model: Any,
    test: Any,
    findings: list[Finding],
    limits: Limits,
    status: str,
    screen: Screen,
) -> tuple[Study, bool]:
    """Return all there is to show, and whether Ctrl-C left out what takes long."""
    given: dict[str, Any] = {
        "title": f"Predicting {options.target}: kernel ridge in passes",
        "command": command_line(),
        "findings": findings,
    }
    with screen.step("test", "looking at the held-out rows") as said:
        said.append(f"on {count(len(test.y), 'held-out row')}:")
        try:
            if status != "interrupted":
                more: dict[str, Any] = {
                    "only_scores": options.report is None,
                    "time_limit": seconds_to_look(limits),
                }
                return examine(model, test.X, test.y, **more, **given), False
        except (KeyboardInterrupt, *OF_COMPILED_CODE) as error:
            if not is_interrupt(error):
                raise
            screen.note("interrupted: the scores only")
        given |= {"only_scores": True, "time_limit": LEAST_SECONDS}
        return examine(model, test.X, test.y, **given), True


def _about(
    options: Any,
    task: str,
    table: Rows,
    encoder: TableEncoder,
    search: Any,
    study: Study,
    weight: np.ndarray,
) -> dict[str, Any]:
    """Return what is kept with the model, and printed for machines."""
    classes = getattr(search.best_estimator_, "classes_", None)
    return {
        "data": str(options.data),
        "target": options.target,
        "task": task,
        "classes": None if classes is None else classes.tolist(),
        "columns": [column["name"] for column in encoder.columns_],
        "ignore": list(options.ignore),
        "reading": options.reading.about(),
        "model": "ridge",
        "parameters": {k: setting(v) for k, v in search.best_params_.items()},
        "route": search.best_estimator_.route_,
        "cross_validated": float(search.best_score_),
        "seed": options.seed,
        "learned_rows": int(weight.sum()),
        "test_rows": int(study.evaluation.n_rows),
        "scores": estimates(study),
        "findings": [asdict(finding) for finding in study.findings],
        "proof": {"sentence": study.proof.sentence, "ok": study.proof.ok},
        "words": RECIPES[task]["ridge"].words,
        "command": study.command,
        "environment": dict(study.environment),
        "save": None if options.save is None else str(options.save),
        "report": None if options.report is None else str(options.report),
        "rows": table.n,
    }


def _write(options: Any, model: Any, study: Study, about: dict[str, Any]) -> None:
    if options.save is not None:
        with said_in_one_line():
            save(model, options.save, about=about)
    if options.report is not None:
        write_text(options.report, render(study))
