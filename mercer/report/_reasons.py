"""Which columns moved the prediction of one row: Shapley values, by sampling.

Columns are set from another row to those of the row, one after the other, in random orders;
the part of a column is the mean change that it makes. The numbers of columns and orders are fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._limits import Limits
from mercer._words import count, short_number
from mercer.report._budget import LeftOutError
from mercer.report._dependence import Question, check_columns
from mercer.report._rows import TableRows
from mercer.report._subject import ModelAnswers, Subject
from mercer.report.study import Importance

PLAYERS = 8  # columns whose part in a prediction is told; the others count as one
PERMUTATIONS = 20  # orders in which columns are set, each from a row of its own
MOST_NAMED = 3  # of the columns that moved a prediction
REST = "all other columns"

Told = tuple[tuple[str, str], ...]
"""Columns, and by how much each moved the prediction."""


@dataclass(frozen=True, eq=False)
class Reasons:
    """The parts that columns have in predictions; those that are no players count as one more."""

    subject: Subject
    rows: TableRows
    answers: ModelAnswers
    players: tuple[int, ...]
    limits: Limits
    n_permutations: int = PERMUTATIONS

    @classmethod
    def of(
        cls,
        subject: Subject,
        rows: TableRows,
        answers: ModelAnswers,
        importances: Sequence[Importance],
        limits: Limits,
    ) -> Reasons:
        """Take the most important columns as players."""
        check_columns(subject, rows)
        if sp.issparse(rows.data):
            raise LeftOutError("the rows are a sparse matrix")
        if not importances:
            raise LeftOutError("it is not known which columns matter")
        places = {name: j for j, name in enumerate(rows.names)}
        players = tuple(places[one.column] for one in importances[:PLAYERS])
        return cls(subject, rows, answers, players, limits)

    @property
    def names(self) -> list[str]:
        """The names of the players."""
        return [*(self.rows.names[j] for j in self.players), *([REST] if self.has_rest else [])]

    @property
    def has_rest(self) -> bool:
        """Whether there are columns that are no players."""
        return len(self.rows.names) > len(self.players)

    @property
    def words(self) -> str:
        """What was done."""
        what = "prediction" if self.subject.task == "regress" else "score of the predicted class"
        return (
            f"“moved by” names the columns that moved the {what} most from that of other rows "
            f"(Shapley values from {self.n_permutations} random orders)"
        )

    def told(self, index: np.ndarray) -> list[Told]:
        """Return the columns of the largest parts in each of some rows, while there is time.

        Rows for which there was none are left out at the end; `told_words` says how many.
        """
        found: list[Told] = []
        for i in index:
            if self.limits.stopped():
                break
            parts = self.parts(int(i))
            order = np.argsort(-np.abs(parts), kind="stable")[:MOST_NAMED]
            found.append(tuple((self.names[k], signed(parts[k])) for k in order if parts[k]))
        return found

    def told_words(self, told: int, rows: int) -> str:
        """Return what was done for so many of the rows."""
        cut = f"; time was up after {told} of {count(rows, 'row')}" if told < rows else ""
        return self.words + cut

    def parts(self, i: int) -> np.ndarray:
        """Return the part of each player in the prediction of a row, shape (players,).

        They sum to the prediction of the row less the mean prediction of the other rows.
        """
        turn, others = self._orders()
        m, n = turn.shape[1], self.n_permutations
        is_set = turn[:, None, :] < np.arange(m + 1)[None, :, None]  # (orders, steps, players)
        source = np.where(is_set, i, others[:, None, None]).reshape(-1, m)
        sources = {j: source[:, k] for k, j in enumerate(self.players)}
        values = self._followed(i, self.rows.mixed(source[:, -1], sources)).reshape(n, m + 1)
        steps = np.diff(values, axis=1)  # what the player at each place of an order adds
        return np.take_along_axis(steps, turn, axis=1).mean(axis=0)

    def _orders(self) -> tuple[np.ndarray, np.ndarray]:
        """Return when each player is set, (orders, players), and the rows that orders start at."""
        rng = np.random.default_rng(self.answers.seed)
        size = len(self.players) + self.has_rest
        turn = np.array([rng.permutation(size) for _ in range(self.n_permutations)])
        return turn, rng.integers(len(self.rows), size=self.n_permutations)

    def _followed(self, i: int, X: Any) -> np.ndarray:
        """Return the prediction, or the score of the class that was predicted for row i."""
        own = np.array([], int)
        if self.subject.task == "classify":
            own = np.flatnonzero(self.subject.classes == self.answers.prediction[i])
        return np.asarray(Question(self.subject, ("",), own, "").ask(X), np.float64)[:, 0]


def signed(value: float) -> str:
    """Return a number of two digits with its sign.

    Examples
    --------
    >>> signed(0.1234), signed(-18234.0)
    ('+0.12', '−18,000')
    """
    return f"{'−' if value < 0 else '+'}{short_number(float(f'{abs(value):.2g}'))}"
