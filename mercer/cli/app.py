"""The commands, their options and their help; the work is imported when a command runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.cli.ending import ended
from mercer.cli.errors import INTERRUPTED, CommandError
from mercer.cli.flags import (
    Checkpoint,
    ClassWeight,
    ComparisonPage,
    Coordinates,
    Cutoff,
    Dask,
    DataFile,
    Decimal,
    EffortName,
    EmbeddingPage,
    Extrapolate,
    Group,
    GroupedRows,
    Ignore,
    Json,
    KernelText,
    Kind,
    Memory,
    MetricName,
    Model,
    ModelFile,
    Na,
    NoPage,
    NoSave,
    Out,
    Page,
    Positive,
    Quiet,
    Report,
    Save,
    Script,
    Seed,
    Sep,
    Sheet,
    Strict,
    Target,
    TargetTransform,
    Task,
    TestFile,
    TestSize,
    Time,
    TimeLimit,
    Unlabelled,
)
from mercer.cli.interrupts import OF_COMPILED_CODE, is_interrupt, remembered

app = typer.Typer(
    name="mercer",
    help="Kernel machines from the command line: [bold]mercer fit data.csv --target column[/].",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"mercer {metadata.version('mercer')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _command(name: str) -> Any:
    """Return the module of a command; it loads the numerical libraries, so not before."""
    with _interruptible():
        return import_module(f"mercer.cli.{name}")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Say that Ctrl-C came too early for a result: Typer would end without a word."""
    with remembered():
        try:
            yield
        except CommandError:
            raise
        except (KeyboardInterrupt, *OF_COMPILED_CODE) as error:
            if not is_interrupt(error):
                raise
            raise CommandError("interrupted before there was a result", INTERRUPTED) from None


def _screen(quiet: bool, as_json: bool) -> Any:
    return _command("screen").Screen(quiet=quiet, as_json=as_json)


EXAMPLES = """
[bold]Examples[/]

  mercer fit penguins.csv --target species

  mercer fit houses.parquet -t price --model ridge --time-limit 5m

  mercer fit 'parts/*.parquet' -t price --memory 2GB

  mercer fit train.csv.gz -t income --test test.csv.gz --save income.mercer
"""


@app.command(epilog=EXAMPLES)
def fit(
    data: DataFile,
    target: Target = None,
    task: Task = "auto",
    model: Model = "auto",
    kernel: KernelText = "auto",
    ignore: Ignore = None,
    test_size: TestSize = 0.2,
    test: TestFile = None,
    group: Group = None,
    time: Time = None,
    unlabelled: Unlabelled = "drop",
    strict: Strict = False,
    sep: Sep = None,
    na: Na = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    kind: Kind = None,
    effort: EffortName = "standard",
    time_limit: TimeLimit = "10m",
    memory: Memory = None,
    checkpoint: Checkpoint = None,
    dask: Dask = None,
    seed: Seed = 0,
    metric: MetricName = "auto",
    positive: Positive = None,
    class_weight: ClassWeight = "none",
    threshold: Cutoff = None,
    target_transform: TargetTransform = "auto",
    extrapolate: Extrapolate = False,
    save: Save = None,
    report: Page = None,
    script: Script = None,
    no_save: NoSave = False,
    no_report: NoPage = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn to predict a column: tune, fit, test on held-out rows, write a model and a report."""
    stem = _stem(data)
    given = (data, target, task, model, kernel, test_size, test, tuple(ignore or ()))
    by = (group, time, strict)
    save = None if no_save else save or Path(f"{stem}.mercer")
    report = None if no_report else report or Path(f"{stem}.report.html")
    command = _command("fit")
    wishes = command.Wishes(
        metric, positive, class_weight, threshold, target_transform, extrapolate
    )
    reading = _command("reading").read_options(sep, na, decimal, sheet, kind)
    more = (effort, time_limit, memory, seed, save, report, reading, wishes, script, checkpoint)
    options = command.FitOptions(*given, *by, *more, dask, unlabelled)
    _run(command.fit, options, screen=_screen(quiet, json))


def _stem(data: Path) -> str:
    """Return the name of what a file, a folder or a pattern holds."""
    name = data.name.split(".")[0]
    return data.absolute().parent.name if set(name) & set("*?[") else name


@app.command(
    epilog="[bold]Example[/]\n\n  mercer predict penguins.mercer new.csv --out answers.csv"
)
def predict(
    model: ModelFile,
    data: DataFile,
    out: Out = None,
    proba: Annotated[bool, typer.Option("--proba", help="A column for each class.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option(help="A column of the data to copy; repeatable.")
    ] = None,
    sep: Sep = None,
    na: Na = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict new rows, a block at a time: a file of any size."""
    command = _command("predict")
    reading = _command("reading").read_options(sep, na, decimal, sheet)
    options = command.PredictOptions(model, data, out, proba, tuple(keep or ()), reading)
    _run(command.predict, options, screen=_screen(quiet, json))


@app.command(epilog="[bold]Example[/]\n\n  mercer evaluate penguins.mercer labelled.csv")
def evaluate(
    model: ModelFile,
    data: DataFile,
    target: Target = None,
    group: GroupedRows = None,
    report: Report = None,
    sep: Sep = None,
    na: Na = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare predictions with the truth: rates, intervals, and a report if asked for."""
    reading = _command("reading").read_options(sep, na, decimal, sheet)
    given = (model, data, target, report, group, reading)
    _run(_command("saved").evaluate, *given, screen=_screen(quiet, json))


COMPARISONS = """
[bold]Examples[/]

  mercer compare svm.mercer ridge.mercer new.csv

  mercer compare houses.csv --target price --models ridge,svm,knn
"""


@app.command(epilog=COMPARISONS)
def compare(
    files: Annotated[
        list[Path],
        typer.Argument(help="A table, and saved models to compare on it.", metavar="DATA MODEL…"),
    ],
    models: Annotated[
        str, typer.Option(help="Models to fit instead, by name: svm,ridge,…", metavar="NAMES")
    ] = "",
    target: Target = None,
    test_size: Annotated[
        float, typer.Option(help="With --models: the share held out.", min=0.01, max=0.9)
    ] = 0.2,
    ignore: Annotated[
        list[str] | None, typer.Option(help="A column to leave out; repeatable.", metavar="COLUMN")
    ] = None,
    group: Group = None,
    effort: Annotated[
        str, typer.Option(help="With --models: quick, standard or thorough.")
    ] = "standard",
    time_limit: Annotated[str, typer.Option(help="With --models: when to cut that short.")] = "10m",
    seed: Annotated[int, typer.Option(help="Of the split and the samples.", min=0)] = 0,
    report: ComparisonPage = None,
    sep: Sep = None,
    na: Na = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    kind: Kind = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare models on the same rows: scores, and which differences are more than chance."""
    command = _command("compare")
    names = tuple(name.strip() for name in models.split(",") if name.strip())
    left_out = tuple(ignore or ())
    reading = _command("reading").read_options(sep, na, decimal, sheet, kind)
    given = (tuple(files), names, target, test_size, left_out, effort, time_limit, seed, report)
    options = command.CompareOptions(*given, reading, group)
    _run(command.run, options, screen=_screen(quiet, json))


@app.command(
    epilog="[bold]Example[/]\n\n  mercer embed penguins.csv --method kernel-pca --color species"
)
def embed(
    data: DataFile,
    method: Annotated[
        str,
        typer.Option(help="pca, kernel-pca, lda, mds, isomap, lle, spectral, ica or sparse-pca."),
    ] = "kernel-pca",
    color: Annotated[
        str | None, typer.Option(help="A column that colours the points.", metavar="COLUMN")
    ] = None,
    kernel: Annotated[str, typer.Option(help="For kernel-pca.")] = "rbf",
    ignore: Annotated[
        list[str] | None, typer.Option(help="A column to leave out; repeatable.", metavar="COLUMN")
    ] = None,
    report: EmbeddingPage = None,
    out: Coordinates = None,
    seed: Annotated[int, typer.Option(help="Of the sample, if there are many rows.", min=0)] = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw the rows as points of a plane."""
    command = _command("embed")
    page = report or Path(f"{data.name.split('.')[0]}.{method}.html")
    options = command.EmbedOptions(
        data, method, color, kernel, tuple(ignore or ()), page, out, seed
    )
    _run(command.embed, options, screen=_screen(quiet, json))


@app.command()
def info(model: ModelFile, json: Json = False) -> None:
    """Say what a saved model is, how it was made and how good it was."""
    _run(_command("saved").info, model, screen=_screen(False, json))


@app.command()
def kernels(json: Json = False) -> None:
    """List the kernels: formulas, parameters, definiteness."""
    _run(_command("kernels").kernels, screen=_screen(False, json))


@app.command("check-kernel", epilog="[bold]Example[/]\n\n  mercer check-kernel 'rbf + sigmoid'")
def check_kernel(
    kernel: Annotated[str, typer.Argument(help="A name or an expression.", metavar="KERNEL")],
    data: Annotated[
        Path | None,
        typer.Argument(help="Rows to check it on.  \\[default: random points]", metavar="[DATA]"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the random points.", min=0)] = 0,
    json: Json = False,
) -> None:
    """Check that a function is a kernel on a sample; exit code 1 if it is not."""
    _run(_command("kernels").check, kernel, data, seed, screen=_screen(False, json))


@app.command()
def prepare(json: Json = False, quiet: Quiet = False) -> None:
    """Compile ahead of the first fit what the usual ones need; say where it is kept."""
    _run(_command("prepare").prepare, screen=_screen(quiet, json))


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Option(help="Where to write.  \\[default: mercer-demo]")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write a table of penguins, fit a model to it, and write its report."""
    _run(_command("demo").demo, folder, screen=_screen(quiet, False))


def _run(command: Any, *given: Any, screen: Any) -> None:
    """Do the work; what the library warns of is said as a note."""
    with _interruptible(), screen.noting():
        code = command(*given, screen)
    if code:
        raise typer.Exit(code)


def run() -> None:
    """Run a command: what is wrong with its input is said in one line."""
    ended(app)
