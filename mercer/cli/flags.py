"""The options of the commands: what each takes, its help, and the panel that it stands in."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

reading = partial(typer.Option, rich_help_panel="Reading the file")
rows = partial(typer.Option, rich_help_panel="Which rows")
work = partial(typer.Option, rich_help_panel="How much work")
judging = partial(typer.Option, rich_help_panel="What is judged")
output = partial(typer.Option, rich_help_panel="What is written")
written_file = partial(output, writable=True)  # by which the tests know what may not be lost

DataFile = Annotated[
    Path,
    typer.Argument(
        help="CSV, Excel, Parquet, Arrow, JSON, svmlight, ARFF or npz; gz too. For fit and predict "
        "a folder or a quoted pattern, too.",
        metavar="DATA",
    ),
]
Sep = Annotated[
    str | None,
    reading(help="What separates the fields: ';', tab, …  \\[default: found in the file]"),
]
Na = Annotated[
    list[str] | None,
    reading(help="A word or number for missing values; repeatable.", metavar="WORD"),
]
Decimal = Annotated[
    str | None,
    reading(help="The decimal sign, . or ,  \\[default: found in each column]", metavar="SIGN"),
]
Sheet = Annotated[
    str | None, reading(help="Of a workbook.  \\[default: the first]", metavar="NAME")
]
Kind = Annotated[
    list[str] | None,
    reading(
        help="What a column is: number, category, text, date or ignore; repeatable.",
        metavar="COLUMN=KIND",
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(help="A model that mercer fit has saved.", metavar="MODEL")
]
Quiet = Annotated[bool, output("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, output("--json", help="Print one JSON object instead.")]
Target = Annotated[
    str | None, typer.Option("--target", "-t", help="The column to predict.", metavar="COLUMN")
]
Report = Annotated[Path | None, written_file(help="The page to write.", metavar="HTML")]

# ---------------------------------------------------------------- of fit
Task = Annotated[str, typer.Option(help="auto, classify or regress.")]
Model = Annotated[
    str,
    typer.Option(
        help="auto, svm, metric, ridge, kernel-logistic, logistic, linear-svm, linear, lasso, knn, "
        "bayes, boost or network."
    ),
]
KernelText = Annotated[
    str, typer.Option(help="auto, a name, or an expression such as '0.5*rbf + linear'.")
]
TestSize = Annotated[float, rows(help="Share of the rows that is held out.", min=0.01, max=0.9)]
TestFile = Annotated[Path | None, rows(help="A file with the held-out rows.", metavar="FILE")]
Ignore = Annotated[
    list[str] | None, typer.Option(help="A column to leave out; repeatable.", metavar="COLUMN")
]
Group = Annotated[
    str | None, rows(help="Rows with one value of it stay together.", metavar="COLUMN")
]
GroupedRows = Annotated[
    str | None,
    typer.Option(
        help="Rows with one value of it are drawn whole for intervals.  \\[default: the column of "
        "the fit]",
        metavar="COLUMN",
    ),
]
Time = Annotated[str | None, rows(help="Hold out the latest rows by it.", metavar="COLUMN")]
Unlabelled = Annotated[
    str,
    rows(
        help="Rows whose target is empty: drop them, or use them along a graph of all rows and "
        "say whether that helped.",
        metavar="drop|use",
    ),
]
Strict = Annotated[bool, rows("--strict", help="Stop at a leak: exit code 5, nothing is written.")]
EffortName = Annotated[
    str, work(help="quick, standard or thorough: how much is tried, the same everywhere.")
]
TimeLimit = Annotated[str, work(help="When to cut that short: 60s, 5m, 1h or none.")]
Memory = Annotated[
    str | None,
    work(
        help="For the table and its matrices, beside 0.6 GB for Python and its libraries: 500MB, "
        "2GB.  \\[default: half of what is free]"
    ),
]
Checkpoint = Annotated[
    Path | None,
    work(
        help="Of a table that is learned in passes: a folder to go on from after a break.",
        metavar="FOLDER",
    ),
]
Dask = Annotated[
    str | None,
    work(
        help="Learn in passes by the workers of this Dask cluster, such as tcp://10.0.0.1:8786.",
        metavar="ADDRESS",
    ),
]
Seed = Annotated[int, work(help="Of the split, the folds and the samples.", min=0)]
MetricName = Annotated[
    str,
    judging(
        help="What models are chosen by: auto; of classes accuracy, balanced-accuracy, auc, "
        "f1, average-precision, log-loss, brier; of numbers r2, rmse, mae, median-error, "
        "mape, rmsle."
    ),
]
Positive = Annotated[
    str | None,
    judging(
        help="The class that precision and recall are of.  \\[default: the rarer of two]",
        metavar="LABEL",
    ),
]
ClassWeight = Annotated[
    str, judging(help="none, or balanced: a rare class weighs as much as a common one.")
]
Cutoff = Annotated[
    str | None,
    judging(
        help="The probability from which on a row is called positive; auto: that of the "
        "largest F1 in cross-validation.  \\[default: 0.5, auto if the class is rare]",
        metavar="PROBABILITY",
    ),
]
TargetTransform = Annotated[
    str, judging(help="The scale on which numbers are learned: auto, none or log.")
]
Extrapolate = Annotated[
    bool, judging("--extrapolate", help="Let predictions leave the range of the targets.")
]
Save = Annotated[
    Path | None, written_file(help="The model.  \\[default: DATA.mercer]", metavar="FILE")
]
Page = Annotated[
    Path | None, written_file(help="The page.  \\[default: DATA.report.html]", metavar="HTML")
]
Script = Annotated[
    Path | None, written_file(help="Python that repeats it, to write.", metavar="PY")
]
NoSave = Annotated[bool, output("--no-save", help="Write no model.")]
NoPage = Annotated[bool, output("--no-report", help="Write no page.")]

# ---------------------------------------------------------------- of the others
Out = Annotated[
    Path | None,
    written_file(help="CSV, JSON lines, Parquet or Arrow.  \\[default: CSV on stdout]"),
]
Coordinates = Annotated[Path | None, written_file(help="A file for the coordinates.")]
ComparisonPage = Annotated[
    Path | None, written_file(help="The page.  \\[default: DATA.compare.html]", metavar="HTML")
]
EmbeddingPage = Annotated[
    Path | None, written_file(help="The page.  \\[default: DATA.METHOD.html]", metavar="HTML")
]
