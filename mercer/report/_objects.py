"""Texts, strings and series among the columns: what the model finds in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plot.object_records import MOST_CLASSES, SeriesLines, StrongTerms
from mercer.report._budget import LeftOutError
from mercer.report._cases import fitted_rows
from mercer.report._rows import TableRows, Training
from mercer.report._subject import Subject
from mercer.tables import ColumnsEncoder, object_kinds

MOST_ROWS = 2000  # whose answers are asked for

ObjectPicture = SeriesLines | StrongTerms


def object_pictures(subject: Subject, train: Training | None, seed: int) -> list[ObjectPicture]:
    """Return a picture for each column of texts, strings or series of the training rows."""
    if train is None:
        raise LeftOutError("no training rows were given")
    rows, y = train
    kinds = object_kinds(rows.data) if rows.has_columns else {}
    if not kinds:
        return []
    part = np.sort(np.random.default_rng(seed).permutation(len(rows))[:MOST_ROWS])
    some = rows.take(part)
    cells = ColumnsEncoder(kinds, encode=False).fit(rows.data).transform(some.data)
    scores = _scores(subject, some) if set(kinds.values()) - {"series"} else (np.zeros(0), None)
    found: list[ObjectPicture] = []
    for name, kind in kinds.items():
        if kind == "series":
            found.append(_lines(name, cells.column(name), y[part], subject, part, len(rows)))
        else:
            table, classes = scores
            given: dict[str, Any] = {"classes": classes, "name": name, "kind": kind}
            found.append(StrongTerms.of(list(cells.column(name)), table, **given))
    return found


def _scores(subject: Subject, rows: TableRows) -> tuple[np.ndarray, Any]:
    """Return a score for each class, of the most frequent ones, or predicted numbers."""
    if subject.task == "regress":
        return subject.predict(rows.data).astype(np.float64), None
    scores, predicted = subject.scores(rows.data), subject.predict(rows.data)
    if scores is None:
        scores = (predicted[:, None] == subject.classes).astype(np.float64)
    table = scores if scores.ndim == 2 else np.column_stack([-scores, scores])
    often = np.argsort(-(predicted[:, None] == subject.classes).sum(axis=0), kind="stable")
    shown = np.sort(often[:MOST_CLASSES])
    return table[:, shown], subject.classes[shown]


def _lines(
    name: str, series: np.ndarray, y: np.ndarray, subject: Subject, part: np.ndarray, n: int
) -> SeriesLines:
    final = subject.final
    known = hasattr(final, "support_") and fitted_rows(final) == n
    carries = np.flatnonzero(np.isin(part, final.support_)) if known else None
    labels = y if subject.task == "classify" else _halves(y)
    return SeriesLines.of(list(series), labels, name=name, support=carries)


def _halves(y: np.ndarray) -> np.ndarray:
    middle = float(np.median(y))
    return np.where(y <= middle, f"up to {middle:.4g}", f"above {middle:.4g}")
