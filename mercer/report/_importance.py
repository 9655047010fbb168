"""Which columns matter: how much the score falls when one of them is shuffled.

For each column the mean loss of a row over the shuffles is held against its loss as it is. Both
scores are sums over rows (of class shares, or of squares over the variance), so that drawing the
rows again gives an interval in one matrix product; it holds the chance of the rows and that of the
shuffles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer._limits import Limits
from mercer._words import count
from mercer.assess.bootstrap import Resampling, percentiles
from mercer.assess.rates import mean_defined, ratio
from mercer.report._budget import LeftOutError, numbers_read, seconds_per_row
from mercer.report._rows import Shuffle, TableRows
from mercer.report._subject import ModelAnswers, Subject
from mercer.report.study import Estimate, Importance

REPEATS = 5
MOST_ROWS, LEAST_ROWS = 1000, 100
MOST_VALUES = 4e9  # numbers of the model that are read for all shuffles
MOST_COLUMNS = 60
BATCH_ROWS = 20_000  # rows that are predicted together
BATCH_CELLS = 5_000_000
DRAWS = 1000

NAMES = {"classify": "the mean recall of the classes (UAR)", "regress": "R²"}


def importances(
    subject: Subject,
    rows: TableRows,
    answers: ModelAnswers,
    seconds: float,
    batch_rows: int = BATCH_ROWS,
) -> tuple[list[Importance], str]:
    """Shuffle one column after the other before the first step of the model.

    Returns the columns, the most important first, and what was done in words.
    """
    _check(subject, rows, answers)
    rng = np.random.default_rng(answers.seed)
    columns, notes = _chosen(rows)
    limits, seconds = Limits.of(time_limit=seconds), max(seconds, 1e-9)
    pace = seconds_per_row(subject, rows, seconds)
    in_time, counted = seconds / pace, MOST_VALUES / numbers_read(subject)
    affordable = min(in_time, counted) / (REPEATS * len(columns))
    affordable = int(np.clip(affordable, LEAST_ROWS, MOST_ROWS))
    part = np.sort(rng.permutation(len(rows))[:affordable])
    rows, judge = rows.take(part), Judge(answers.take(part))
    batches = _batches(columns, rows, min(batch_rows, int(seconds / (4 * pace))))
    losses = _losses(subject, rows, judge, batches, rng, limits)
    if len(losses) < len(columns):
        notes.append(f"time was up after {len(losses)} of {len(columns)} columns")
    drops = judge.drops(np.array(losses).T)
    found = [Importance(rows.names[j], e) for j, e in zip(columns, drops, strict=False)]
    first = (
        f"how much {NAMES[subject.task]} falls when a column is shuffled: mean of {REPEATS} "
        f"shuffles of {len(rows):,} rows, with 95 % intervals"
    )
    return sorted(found, key=lambda i: -i.drop.value), "; ".join([first, *notes])


def _check(subject: Subject, rows: TableRows, answers: ModelAnswers) -> None:
    if not rows.has_columns:
        raise LeftOutError("the rows are objects: they have no columns")
    if subject.pairwise:
        raise LeftOutError("the rows are kernel values: they have no columns of their own")
    if len(rows) < 5:
        raise LeftOutError(f"{count(len(rows), 'row')}: too few to shuffle a column")
    if len(np.unique(answers.y)) < 2:
        raise LeftOutError("all rows have the same target: no column can matter")


def _chosen(rows: TableRows) -> tuple[np.ndarray, list[str]]:
    """Return the columns that vary, at most so many, those of the largest variance first."""
    spreads, notes = rows.spreads(), []
    order = np.argsort(-spreads, kind="stable")
    varying = order[spreads[order] > 0]
    if len(varying) < len(order):
        notes.append(f"{len(order) - len(varying)} constant columns are left out")
    if len(varying) > MOST_COLUMNS:
        notes.append(f"of {len(varying)} columns the {MOST_COLUMNS} of the largest variance")
    if not len(varying):
        raise LeftOutError("no column varies over these rows")
    return varying[:MOST_COLUMNS], notes


def _losses(
    subject: Subject,
    rows: TableRows,
    judge: Judge,
    batches: Iterable[np.ndarray],
    rng: np.random.Generator,
    limits: Limits,
) -> list[np.ndarray]:
    """Return each row's mean loss over the shuffles, for as many columns as there is time for."""
    orders = [rng.permutation(len(rows)) for _ in range(REPEATS)]  # the same for all columns
    losses: list[np.ndarray] = []
    for batch in batches:
        if losses and limits.stopped():
            break
        shuffles: list[Shuffle] = [(int(j), order) for j in batch for order in orders]
        answers = subject.predict(rows.shuffled(shuffles))
        each = judge.loss(answers.reshape(-1, REPEATS, len(rows)))
        losses.extend(each.mean(axis=1))
    return losses


def _batches(columns: np.ndarray, rows: TableRows, most: int) -> Iterator[np.ndarray]:
    """Yield columns that are predicted together: enough rows to be fast, few enough to stop."""
    height = min(most, BATCH_CELLS // max(len(rows.names), 1))
    step = max(1, height // (len(rows) * REPEATS))
    yield from (columns[i : i + step] for i in range(0, len(columns), step))


@dataclass(frozen=True, eq=False)
class Judge:
    """The loss of other predictions of the same rows, 0 or 1 or a square, and what it costs."""

    answers: ModelAnswers

    @cached_property
    def unit(self) -> float:
        """The size of the targets, so that squares neither overflow nor vanish."""
        y = self.answers.y
        return float(np.abs(y - y.mean()).max()) or 1.0

    def loss(self, prediction: np.ndarray) -> np.ndarray:
        """Return the loss of each row; the rows are the last axis."""
        if self.answers.labels is None:
            return ((self.answers.y - prediction) / self.unit) ** 2
        return (self.answers.y != prediction).astype(np.float64)

    def drops(self, losses: np.ndarray) -> list[Estimate]:
        """Return how much the score falls for each column of losses, shape (n, columns)."""
        rise = losses - self.loss(self.answers.prediction)[:, None]
        lost, n = self._lost_r2 if self.answers.labels is None else self._lost_recall, len(rise)
        strata, seed = self.answers.strata, self.answers.seed
        alone, groups = np.ones(n, np.intp), self.answers.groups
        drawn = Resampling(strata, alone, DRAWS, seed, rise.shape[1], clusters=groups)
        low, high = percentiles(drawn.values(lambda w: lost(w, rise), np.ones(n)), 0.95, groups)
        values = lost(np.ones((1, n)), rise)[0]
        return [Estimate(*map(float, e)) for e in zip(values, low, high, strict=True)]

    def _lost_recall(self, weight: np.ndarray, rise: np.ndarray) -> np.ndarray:
        """Return the mean over the classes of the recall that is lost; weights (b, n)."""
        codes = self.answers.strata
        classes = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
        lost = [ratio(weight[:, c] @ rise[c], weight[:, c].sum(axis=1)[:, None]) for c in classes]
        return mean_defined(np.stack(lost, axis=-1))

    def _lost_r2(self, weight: np.ndarray, rise: np.ndarray) -> np.ndarray:
        y = (self.answers.y - self.answers.y.mean()) / self.unit
        total = weight.sum(axis=1)
        mean, square = weight @ y / total, weight @ y**2 / total
        return ratio(weight @ rise / total[:, None], np.maximum(square - mean**2, 0.0)[:, None])
