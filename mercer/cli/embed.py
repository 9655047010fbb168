"""``mercer embed``: the rows of a table as points of a plane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer._sklearn import _safe_indexing
from mercer._words import count
from mercer.cli.errors import USAGE, CommandError
from mercer.cli.expressions import kernel_from_text
from mercer.cli.files import check_table_format, encoded, read, said_in_one_line
from mercer.cli.options import chosen
from mercer.cli.places import check_places
from mercer.cli.screen import Screen, command_line
from mercer.datasets import write_table
from mercer.report import Cloud, as_rows, embedding_page, environment, explain, write_text
from mercer.spectral import (
    ICA,
    LDA,
    LLE,
    MDS,
    PCA,
    Isomap,
    KernelPCA,
    SparsePCA,
    SpectralEmbedding,
)

MOST_COLUMNS = 12  # in what a hover shows
MOST_ROWS = 3000  # more points than this are neither drawn well nor placed soon


@dataclass(frozen=True)
class EmbedOptions:
    """What was asked for on the command line."""

    data: Path
    method: str
    color: str | None
    kernel: str
    ignore: tuple[str, ...]
    report: Path
    out: Path | None
    seed: int


NEIGHBOURS = 10

METHODS: dict[str, Callable[[EmbedOptions, int], Any]] = {
    "pca": lambda options, n: PCA(2),
    "kernel-pca": lambda options, n: KernelPCA(2, kernel=kernel_from_text(options.kernel)),
    "lda": lambda options, n: LDA(),
    "mds": lambda options, n: MDS(2),
    "isomap": lambda options, n: Isomap(n_neighbors=min(NEIGHBOURS, n - 1), n_components=2),
    "lle": lambda options, n: LLE(n_neighbors=min(NEIGHBOURS, n - 1), n_components=2),
    "spectral": lambda options, n: SpectralEmbedding(2, n_neighbors=min(NEIGHBOURS, n - 1)),
    "ica": lambda options, n: ICA(2, random_state=options.seed),
    "sparse-pca": lambda options, n: SparsePCA(2),
}


def embed(options: EmbedOptions, screen: Screen) -> int:
    """Run the command; return its exit code."""
    chosen("--method", options.method, METHODS)
    if options.method == "lda" and options.color is None:
        raise CommandError("--method lda separates classes: name their column by --color", USAGE)
    check_places({"DATA": options.data}, {"--report": options.report, "--out": options.out})
    check_table_format(options.out, "--out")
    X, labels, words = _rows(options, screen)
    encoder, Z = encoded(X, screen)
    n = Z.shape[0]
    with screen.step("embed", f"placing {count(n, 'point')}") as said:
        model = METHODS[options.method](options, n)
        points = _plane(model, Z, labels, options)
        said.append(f"{count(n, 'point')} by {options.method}")
    proof = explain(model)
    screen.say("proof", proof.sentence)
    cloud = Cloud(f"by {options.method}", points, labels, np.array([]), _hover(X, labels, options))
    _write(options, cloud, model, proof, (*words, *encoder.describe()), screen)
    return 0


def _rows(options: EmbedOptions, screen: Screen) -> tuple[Any, np.ndarray, list[str]]:
    """Return the columns to embed, what colours the points, and what was done."""
    with screen.step("read", f"reading {options.data.name}") as said:
        data = read(options.data, options.color, options.ignore)
        n = data.X.shape[0]
        said.append(f"{options.data.name}: {count(n, 'row')}")
    labels = np.array([]) if data.y is None else _shown(np.asarray(data.y))
    X, words = data.X, [f"{count(n, 'row')} of {options.data.name}."]
    if n > MOST_ROWS:
        rows = np.sort(np.random.default_rng(options.seed).permutation(n)[:MOST_ROWS])
        X, labels = _safe_indexing(X, rows), labels[rows] if len(labels) else labels
        words = [f"{MOST_ROWS:,} rows drawn at random from {n:,} of {options.data.name}."]
        screen.note(words[0])
    return X, labels, words


def _hover(X: Any, labels: np.ndarray, options: EmbedOptions) -> list[dict[str, str]]:
    """Return what is shown of each point: its colour's value and the first columns."""
    rows = as_rows(X)
    columns = range(min(MOST_COLUMNS, len(rows.names)))
    colors = [{str(options.color): str(value)} for value in labels] or [{}] * X.shape[0]
    return [color | rows.texts(i, columns) for i, color in enumerate(colors)]


def _shown(y: np.ndarray) -> np.ndarray:
    """Return numbers as they are and all else as text; what is missing says so."""
    if y.dtype.kind in "iuf":
        return y
    return np.array(["missing" if v is None else str(v) for v in y])


def _plane(model: Any, Z: Any, labels: np.ndarray, options: EmbedOptions) -> np.ndarray:
    dense = Z if options.method == "kernel-pca" or not hasattr(Z, "toarray") else Z.toarray()
    points = np.asarray(
        model.fit_transform(dense, labels)
        if options.method == "lda"
        else model.fit_transform(dense),
        dtype=np.float64,
    )
    if points.shape[1] == 1:  # two classes, or one column: a line
        points = np.column_stack([points[:, 0], np.zeros(len(points))])
    return points[:, :2]


def _write(
    options: EmbedOptions,
    cloud: Cloud,
    model: Any,
    proof: Any,
    words: tuple[str, ...],
    screen: Screen,
) -> None:
    page, out = options.report, options.out
    if out is not None:
        _write_coordinates(cloud, options.color, out)
        screen.say("points", str(out))
    text = embedding_page(
        f"{options.data.name}: {options.method}",
        cloud,
        proof,
        words,
        scree=getattr(model, "explained_variance_ratio_", None),
        environment=environment(sum(screen.seconds.values())),
        command=command_line(),
    )
    write_text(page, text)
    screen.say("report", f"{page}  (open it in a browser)")
    screen.result(
        {
            "rows": len(cloud.points),
            "method": options.method,
            "proof": {"sentence": proof.sentence, "ok": proof.ok},
            "report": str(page),
            "out": None if out is None else str(out),
        }
    )


def _write_coordinates(cloud: Cloud, color: str | None, out: Path) -> None:
    import polars as pl

    columns = [pl.Series(f"component{i}", cloud.points[:, i - 1]) for i in (1, 2)]
    if color is not None:
        taken = {column.name for column in columns}
        columns.append(pl.Series(f"{color}_2" if color in taken else color, cloud.label))
    with said_in_one_line():
        write_table(pl.DataFrame(columns), out)
