"""How predictions go with one column: it is set to values of other rows, and the model asked again.

The numbers of rows, values and columns are fixed, so that the work is bounded by counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._limits import Limits
from mercer._words import called
from mercer.plot.records import PartialDependence
from mercer.report._budget import LeftOutError
from mercer.report._rows import TableRows, cell_text, missing
from mercer.report._subject import ModelAnswers, Subject
from mercer.report.study import Importance

COLUMNS = 6  # whose dependence is shown
ROWS = 200  # over which it is averaged
VALUES = 20  # of a quantity
LEVELS = 10
CLASSES = 3  # whose probability is shown


# ---------------------------------------------------------------- what is asked of the model
@dataclass(frozen=True, eq=False)
class Question:
    """The numbers that are followed: the prediction, or the score of some classes."""

    subject: Subject
    names: tuple[str, ...]
    classes: np.ndarray  # places among the model's classes; empty for numbers
    unit: str

    @classmethod
    def of(cls, subject: Subject, answers: ModelAnswers) -> Question:
        """Choose the classes that are most frequent; of two the one that is spoken of."""
        if subject.task == "regress":
            return cls(subject, ("prediction",), np.array([], int), "mean prediction")
        labels = subject.classes
        sizes = np.array([(answers.y == label).sum() for label in labels])
        kept = np.sort(np.argsort(-sizes, kind="stable")[:CLASSES])
        kept = np.array([1]) if len(labels) == 2 else kept
        if answers.scores is None:
            unit = "share predicted as the class"
        else:
            unit = "mean probability" if answers.probabilistic else "mean decision value"
        return cls(subject, tuple(called(labels[k]) for k in kept), kept, unit)

    def ask(self, X: Any) -> np.ndarray:
        """Return the numbers for rows, shape (n, names)."""
        if not len(self.classes):
            return self.subject.predict(X).astype(np.float64)[:, None]
        scores = self.subject.scores(X)
        if scores is None:
            return self.subject.predict(X)[:, None] == self.subject.classes[self.classes]
        if scores.ndim == 1:  # of two classes
            scores = np.column_stack([-scores, scores])
        return scores[:, self.classes]


def check_columns(subject: Subject, rows: TableRows) -> None:
    if not rows.has_columns or subject.pairwise:
        raise LeftOutError("the rows have no columns of their own")
    if len(rows) < 5:
        raise LeftOutError("there are too few rows")


# ---------------------------------------------------------------- one column
def dependences(
    subject: Subject,
    rows: TableRows,
    answers: ModelAnswers,
    importances: Sequence[Importance],
    limits: Limits,
) -> tuple[list[PartialDependence], str]:
    """Return the partial dependence on the most important columns, and what was done in words."""
    check_columns(subject, rows)
    if not importances:
        raise LeftOutError("it is not known which columns matter")
    part = np.sort(np.random.default_rng(answers.seed).permutation(len(rows))[:ROWS])
    rows, question = rows.take(part), Question.of(subject, answers)
    places = {name: j for j, name in enumerate(rows.names)}
    chosen = [places[one.column] for one in importances[:COLUMNS]]
    found: list[PartialDependence] = []
    for column in chosen:
        if found and limits.stopped():
            break
        found.append(_dependence(rows, column, question))
    words = (
        f"the {question.unit} of {len(rows):,} rows when one column of all of them is set to a "
        f"value and the others stay as they are"
    )
    if len(question.names) == 1:
        words += "; the band holds the middle half of the rows"
    if len(found) < len(chosen):
        words += f"; time was up after {len(found)} of {len(chosen)} columns"
    return [one for one in found if len(one.values) > 1], words


def _dependence(rows: TableRows, column: int, question: Question) -> PartialDependence:
    values, donors = _values(rows, column)
    n = len(rows)
    copies = rows.shuffled([(column, np.full(n, donor)) for donor in donors])
    told = np.asarray(question.ask(copies), np.float64).reshape(len(donors), n, -1)
    return PartialDependence.of(rows.names[column], values, question.names, told)


def _values(rows: TableRows, column: int) -> tuple[list[Any], np.ndarray]:
    """Return values of a column in order, and for each a row that has it."""
    cells = [rows.cell(i, column) for i in range(len(rows))]
    known = np.flatnonzero(~missing(_objects(cells)))
    if not len(known):
        return [], known
    if all(isinstance(cells[i], (int, float, np.number)) for i in known):
        return _quantity(np.array([float(cells[i]) for i in known]), known)
    texts = np.array([cell_text(cells[i]) for i in known])
    names, first, sizes = np.unique(texts, return_index=True, return_counts=True)
    kept = np.argsort(-sizes, kind="stable")[:LEVELS]
    return names[kept].tolist(), known[first[kept]]


def _quantity(values: np.ndarray, rows: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """Return values at even shares of the rows, from 2 to 98 %, and for each a row that has it."""
    order = np.argsort(values, kind="stable")
    shares = np.linspace(0.02, 0.98, VALUES) * (len(values) - 1)
    places = order[np.unique(shares.round().astype(int))]
    distinct, first = np.unique(values[places], return_index=True)
    return distinct.tolist(), rows[places[first]]


def _objects(cells: Sequence[Any]) -> np.ndarray:
    array = np.empty(len(cells), object)
    array[:] = cells
    return array
