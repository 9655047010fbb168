"""Rosenblatt's perceptron for any kernel, with Novikoff's theorem as its proof.

f(x) = Σᵢ αᵢ yᵢ (k(x, xᵢ) + c): a point with y f(x) ≤ 0 adds 1 to its α. If some function of norm 1
separates the points with margin ρ there are at most (R/ρ)² updates, R² = max k(x, x) + c; and any
α ≥ 0 shows that no margin is larger than ‖f‖ / Σα.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._array import allocate
from mercer._compiled import compiled, compiled_part
from mercer._limits import Limits
from mercer.gram import Gram, require_finite
from mercer.kernels.sample import squared_norms
from mercer.result import Certificate, Solution, Status
from mercer.solvers.dual_coordinate import LinearRows, add_row, row_dot

WORK = 5e7  # values touched between two looks at the clock
ROWS_AHEAD = 8  # rows of K that are computed together; with more, too many are never needed


class History(NamedTuple):
    """The point of each update, and how many visits the function after it stood."""

    who: np.ndarray
    stood: np.ndarray


@dataclass(frozen=True)
class PerceptronSolution(Solution):
    """β of the points and the proof; its margin; the list of all updates, if it was asked for."""

    margin: float = 0.0
    history: History | None = None


class Counts:
    """What the updates leave behind: α, the visits before each update, the counters, the list."""

    def __init__(self, n: int):
        self.alpha, self.late = np.zeros(n), np.zeros(n)
        self.visits_updates_mistakes = np.zeros(3, np.int64)
        self.who, self.when = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.epochs: list[tuple[np.ndarray, np.ndarray]] = []

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.alpha, self.late, self.visits_updates_mistakes, self.who, self.when

    def keep_epoch(self) -> None:
        """Put the updates of this epoch, which the next one writes over, on the list."""
        k = int(self.visits_updates_mistakes[2])
        self.epochs.append((self.who[:k].copy(), self.when[:k].copy()))

    def history(self) -> History:
        """Return all updates and how long each function lived."""
        who, when = (np.concatenate(part) for part in zip(*self.epochs, strict=True))
        return History(who, np.diff(when, append=self.visits_updates_mistakes[0]))


class ColumnScores:
    """How scores follow the updates. The linear kernel: w = Σ β x, no kernel values at all."""

    storage = "none"

    def __init__(self, X: Any, offset: float, work: float = WORK):
        self.rows, self.offset, self.work = LinearRows.of(X, 0.0), offset, work
        self.X, self.radius2 = X, float(squared_norms(X).max()) + offset

    def begin(self, n: int) -> None:
        """Start from f = 0."""
        self.w = np.zeros(self.rows.n_columns + 1)

    def sweep(self, sign: np.ndarray, order: np.ndarray, start: int, counts: Counts) -> int:
        """Visit points from order[start] on; return where to go on."""
        room = max(1, int(self.work / (1 + self.rows.values.size / len(order))))
        return _sweep_columns(
            *self.rows[:3], self.w, sign, self.offset, order, start, room, *counts.arrays
        )

    def refresh(self, beta: np.ndarray) -> np.ndarray:
        """Return f at all points, computed from β alone, and go on from there."""
        w = np.asarray(self.X.T @ beta, dtype=np.float64).ravel()
        self.w = np.append(w, beta.sum())
        return np.asarray(self.X @ w, dtype=np.float64).ravel() + self.offset * self.w[-1]


class RowScores:
    """Any kernel: the scores of all points follow each update by one row of K.

    Rows are computed when their point makes its first mistake, and kept while memory lasts.
    """

    def __init__(
        self, K: Gram, offset: float, memory: int, ahead: int = ROWS_AHEAD, work: float = WORK
    ):
        n = K.shape[0]
        self.K, self.offset, self.storage, self.work = K, offset, K.storage, work
        self.radius2 = float(K.diagonal().max()) + offset
        self.ahead, self.n_kept = ahead, 0
        if K.holds_array:
            self.values, self.slot = K.toarray(), np.arange(n)
        else:
            most = int(np.clip(memory // (8 * n), 1, n))
            self.values, self.slot = allocate((most, n), np.float64, memory), np.full(n, -1)

    def begin(self, n: int) -> None:
        self.f = np.zeros(n)

    def sweep(self, sign: np.ndarray, order: np.ndarray, start: int, counts: Counts) -> int:
        if sign[order[start]] * self.f[order[start]] <= 0 and self.slot[order[start]] < 0:
            self._compute(sign, order[start:])
        room = max(1, int(self.work / len(order)))
        return _sweep_rows(
            self.values, self.slot, self.f, sign, self.offset, order, start, room, *counts.arrays
        )

    def _compute(self, sign: np.ndarray, coming: np.ndarray) -> None:
        """Compute the rows of the next points that are wrong as things stand."""
        missing = coming[(sign[coming] * self.f[coming] <= 0) & (self.slot[coming] < 0)]
        missing = missing[: min(self.ahead, len(self.values))]
        if self.n_kept + len(missing) > len(self.values):
            self.slot[:], self.n_kept = -1, 0
        places = np.arange(self.n_kept, self.n_kept + len(missing))
        self.values[places] = self.K.rows(missing)
        self.slot[missing] = places
        self.n_kept += len(missing)

    def refresh(self, beta: np.ndarray) -> np.ndarray:
        used, n = np.flatnonzero(beta), len(beta)
        self.f = self.K.combine(used, beta[used], np.arange(n)) + self.offset * beta.sum()
        return self.f


Scores = ColumnScores | RowScores


def solve_perceptron(
    scores: Scores,
    sign: np.ndarray,
    draw: Callable[[], np.ndarray],
    *,
    limits: Limits | None = None,
    averaged: bool = False,
    history: bool = False,
    psd: bool = True,
    about: str = "",
) -> PerceptronSolution:
    """Go through the points until an epoch has no mistake.

    Parameters
    ----------
    scores : Scores
        The points.
    sign : array of shape (n,)
        Labels ±1.
    draw : callable
        ``draw()`` returns the order of the points in the next epoch.
    averaged : bool, default=False
        Whether ``value`` is the average over all visits, not the last β.
    history : bool, default=False
        Whether to keep the list of all updates.
    psd : bool, default=True
        Whether the kernel is positive semidefinite: else the theorem says nothing.
    """
    limits, counts = limits or Limits(), Counts(len(sign))
    require_finite(scores.radius2)
    scores.begin(len(sign))
    status, n_epochs = None, 0
    while status is None:
        try:
            finished = _epoch(scores, sign, draw(), counts, limits)
            n_epochs += finished
        except KeyboardInterrupt:
            limits.interrupted, finished = True, False
        if history:
            counts.keep_epoch()
        # what rounding has left in the scores must not decide that there are no mistakes
        if finished and not counts.visits_updates_mistakes[2]:
            exact = scores.refresh(counts.alpha * sign)
            status = Status.OPTIMAL if (sign * exact > 0).all() else None
        status = status or limits.stopped(n_epochs)
    if status is Status.MAX_ITER:
        status = Status.NOT_SEPARATED
    certificate, margin = _novikoff(scores, sign, counts, n_epochs, psd, about)
    value = counts.alpha * sign
    if averaged:
        visits = max(int(counts.visits_updates_mistakes[0]), 1)
        value = (counts.alpha - counts.late / visits) * sign
        wrong = int(np.count_nonzero(~(sign * scores.refresh(value) > 0)))
        certificate = certificate.with_parts(averaged_mistakes=wrong)
    status = Status.OPTIMAL if certificate.ok else status
    updates = counts.history() if history else None
    stats = {"epochs": n_epochs}
    return PerceptronSolution(
        value, status, certificate, stats=stats, margin=margin, history=updates
    )


def _epoch(
    scores: Scores, sign: np.ndarray, order: np.ndarray, counts: Counts, limits: Limits
) -> bool:
    """Visit all points once; return False if the time was up before the end."""
    counts.visits_updates_mistakes[2] = position = 0
    while position < len(order):
        position = scores.sweep(sign, order, position, counts)
        if position < len(order) and limits.stopped(-1):
            return False
    return True


def _novikoff(
    scores: Scores, sign: np.ndarray, counts: Counts, n_epochs: int, psd: bool, about: str
) -> tuple[Certificate, float]:
    """Prove that the last β separates the points, by which margin, and hold it to the theorem."""
    beta = counts.alpha * sign
    f = scores.refresh(beta)
    margins, norm2 = sign * f, float(beta @ f)
    norm, updates = float(np.sqrt(max(norm2, 0.0))), float(counts.alpha.sum())
    psd, mistakes = psd and norm2 >= 0, int(np.count_nonzero(~(margins > 0)))
    margin = float(margins.min()) / norm if norm > 0 else 0.0
    parts = {
        "updates": int(updates),
        "bound": scores.radius2 / margin**2 if psd and margin > 0 else np.inf,
        "margin": margin,
        "margin_limit": norm / updates if psd and updates else np.inf,
        "radius": float(np.sqrt(max(scores.radius2, 0.0))),
        "squared_norm": norm2,
        "mistakes": mistakes,
        "last_epoch_mistakes": int(counts.visits_updates_mistakes[2]),
        "epochs": n_epochs,
        "theorem": "applies" if psd else "does not apply: the kernel is not known to be psd",
        "storage": scores.storage,
    }
    return Certificate("training mistakes", mistakes, 0.0, about, parts), margin


# -------------------------------------------------------------------- compiled epochs
# counts holds the visits, the updates, and the mistakes of this epoch. alpha counts the
# updates of a point, late adds up the visits that came before them: α − late / visits is the
# average over all visits. who and when list the updates of this epoch.
@compiled_part()
def _note(i, alpha, late, counts, who, when):
    who[counts[2]], when[counts[2]] = i, counts[0]
    alpha[i] += 1.0
    late[i] += counts[0]
    counts[1] += 1
    counts[2] += 1


@compiled()
def _sweep_rows(rows, slot, f, sign, offset, order, start, room, alpha, late, counts, who, when):
    """Visit order[start:]; return where it stopped: a row is missing, or ``room`` is used up."""
    for p in range(start, len(order)):
        i = order[p]
        if sign[i] * f[i] <= 0.0:
            if slot[i] < 0 or room == 0:
                return p
            room -= 1
            row, y = rows[slot[i]], sign[i]
            for j in range(len(f)):
                f[j] += y * (row[j] + offset)
            _note(i, alpha, late, counts, who, when)
        counts[0] += 1
    return len(order)


@compiled()
def _sweep_columns(
    values, columns, pointers, w, sign, offset, order, start, room, alpha, late, counts, who, when
):
    """Visit at most ``room`` points of order[start:]; w ends with the sum of the coefficients."""
    stop = min(len(order), start + room)
    for p in range(start, stop):
        i = order[p]
        a, b = pointers[i], pointers[i + 1]
        if sign[i] * (row_dot(values, columns, a, b, w) + offset * w[-1]) <= 0.0:
            add_row(values, columns, a, b, sign[i], w)
            w[-1] += sign[i]
            _note(i, alpha, late, counts, who, when)
        counts[0] += 1
    return stop


@compiled()
def vote(rows, order, sign, votes, offset, out):
    """Add up the votes of all functions on the way: out_i = Σ_t votes_t sign(f_t(x_i)).

    A row holds the values k(x_i, ·) that ``order`` points to, one for each update.
    """
    for i in range(rows.shape[0]):
        f, total = 0.0, 0.0
        for t in range(len(order)):
            f += sign[t] * (rows[i, order[t]] + offset)
            if f > 0.0:
                total += votes[t]
            elif f < 0.0:
                total -= votes[t]
        out[i] = total
