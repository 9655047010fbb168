"""Which columns matter: how much the score falls when one of them is shuffled.

For each column the mean loss of a row over the shuffles is held against its loss as it is. Both
scores are sums over rows (of class shares, or of squares over the variance), so that drawing the
rows again gives an interval in one matrix product; it holds the chance of the rows and that of the
shuffles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from mercer._words import count
from mercer.assess.bootstrap import Resampling, percentiles
from mercer.assess.rates import ratio
from mercer.report._answers import Answers
from mercer.report._clock import Clock
from mercer.report._left_out import LeftOutError
from mercer.report._pace import seconds_per_row
from mercer.report._rows import Rows, Shuffle
from mercer.report._subject import Subject
from mercer.report.study import Estimate, Importance

REPEATS = 5
MOST_ROWS, LEAST_ROWS = 2000, 100
MOST_COLUMNS = 60
BATCH_ROWS = 20_000  # rows that are predicted together
BATCH_CELLS = 5_000_000
DRAWS = 1000

NAMES = {"classify": "mean recall of the classes (UAR)", "regress": "R²"}


@dataclass(frozen=True, eq=False)
class Findings:
    """Columns, the most important first, and what was done in words."""

    importances: list[Importance]
    words: str


def importances(
    subject: Subject, rows: Rows, answers: Answers, clock: Clock, share: float, seed: int
) -> Findings:
    """Shuffle one column after the other before the first step of the model."""
    _check(subject, rows, answers)
    rng = np.random.default_rng(seed)
    columns, notes = _chosen(rows)
    until = clock.passed() + clock.share(share)
    budget = max(until - clock.passed(), 1e-9)
    pace = seconds_per_row(subject, rows, budget)
    affordable = int(np.clip(budget / (pace * REPEATS * len(columns)), LEAST_ROWS, MOST_ROWS))
    part = np.sort(rng.permutation(len(rows))[:affordable])
    rows, judge = rows.take(part), Judge.of(answers, part)
    batches = _batches(columns, rows, int(budget / (4 * pace)))
    losses = _losses(subject, rows, judge, batches, rng, lambda: clock.passed() < until)
    if len(losses) < len(columns):
        notes.append(f"time was up after {len(losses)} of {len(columns)} columns")
    drops = judge.drops(np.array(losses).T, seed)
    found = [Importance(rows.names[j], e) for j, e in zip(columns, drops, strict=False)]
    first = (
        f"how much the {NAMES[subject.task]} falls when a column is shuffled: mean of {REPEATS} "
        f"shuffles of {len(rows):,} rows, with 95 % intervals"
    )
    return Findings(sorted(found, key=lambda i: -i.drop.value), "; ".join([first, *notes]))


def _check(subject: Subject, rows: Rows, answers: Answers) -> None:
    if not rows.has_columns:
        raise LeftOutError("the rows are objects: they have no columns")
    if subject.pairwise:
        raise LeftOutError("the rows are kernel values: they have no columns of their own")
    if len(rows) < 5:
        raise LeftOutError(f"{count(len(rows), 'row')}: too few to shuffle a column")
    if len(np.unique(answers.y)) < 2:
        raise LeftOutError("all rows have the same target: no column can matter")


def _chosen(rows: Rows) -> tuple[np.ndarray, list[str]]:
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
    rows: Rows,
    judge: Judge,
    batches: Iterable[np.ndarray],
    rng: np.random.Generator,
    in_time: Callable[[], bool],
) -> list[np.ndarray]:
    """Return each row's mean loss over the shuffles, for as many columns as there is time for."""
    orders = [rng.permutation(len(rows)) for _ in range(REPEATS)]  # the same for all columns
    losses: list[np.ndarray] = []
    for batch in batches:
        if losses and not in_time():
            break
        shuffles: list[Shuffle] = [(int(j), order) for j in batch for order in orders]
        answers = subject.predict(rows.shuffled(shuffles))
        each = judge.loss(answers.reshape(-1, REPEATS, len(rows)))
        losses.extend(each.mean(axis=1))
    return losses


def _batches(columns: np.ndarray, rows: Rows, in_time: int) -> Iterator[np.ndarray]:
    """Yield columns that are predicted together: enough rows to be fast, few enough to stop."""
    height = min(BATCH_ROWS, BATCH_CELLS // max(len(rows.names), 1), in_time)
    step = max(1, height // (len(rows) * REPEATS))
    yield from (columns[i : i + step] for i in range(0, len(columns), step))


@dataclass(frozen=True, eq=False)
class Judge:
    """The truth of the rows, and the loss of a prediction: 0 or 1, or a square."""

    y: np.ndarray
    prediction: np.ndarray
    numbers: bool
    unit: float

    @classmethod
    def of(cls, answers: Answers, part: np.ndarray) -> Judge:
        y, numbers = answers.y[part], answers.labels is None
        unit = float(np.abs(y - y.mean()).max()) if numbers else 1.0
        return cls(y, answers.prediction[part], numbers, unit or 1.0)

    def loss(self, prediction: np.ndarray) -> np.ndarray:
        """Return the loss of each row; the rows are the last axis."""
        if self.numbers:
            return ((self.y - prediction) / self.unit) ** 2
        return (self.y != prediction).astype(np.float64)

    def drops(self, losses: np.ndarray, seed: int) -> list[Estimate]:
        """Return how much the score falls for each column of losses, shape (n, columns)."""
        rise = losses - self.loss(self.prediction)[:, None]
        statistic = self._lost_r2 if self.numbers else self._lost_recall
        n = len(self.y)
        strata = np.zeros(n, np.intp) if self.numbers else np.unique(self.y, return_inverse=True)[1]
        drawn = Resampling(strata, np.ones(n, np.intp), DRAWS, seed, rise.shape[1])
        low, high = percentiles(drawn.values(lambda w: statistic(w, rise), np.ones(n)), 0.95)
        values = statistic(np.ones((1, n)), rise)[0]
        return [Estimate(*map(float, e)) for e in zip(values, low, high, strict=True)]

    def _lost_recall(self, weight: np.ndarray, rise: np.ndarray) -> np.ndarray:
        """Return the mean over the classes of the recall that is lost; weights (b, n)."""
        _, codes, counts = np.unique(self.y, return_inverse=True, return_counts=True)
        return weight @ (rise / (len(counts) * counts[codes])[:, None])

    def _lost_r2(self, weight: np.ndarray, rise: np.ndarray) -> np.ndarray:
        y, total = (self.y - self.y.mean()) / self.unit, weight.sum(axis=1)
        mean, square = weight @ y / total, weight @ y**2 / total
        return ratio(weight @ rise / total[:, None], np.maximum(square - mean**2, 0.0)[:, None])
