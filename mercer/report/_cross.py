"""Answers by cross-validation, where few rows could be held out: no model answers its own rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer._words import count
from mercer.meta import require_uninterrupted
from mercer.report._budget import collected
from mercer.report._rivals import baseline, usual_rivals
from mercer.report._rows import TableRows, Training
from mercer.report._subject import ModelAnswers, Subject, limited

Folds = Sequence[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Refitted:
    """The model fitted anew to the rows outside a fold, and its answers to those inside."""

    subject: Subject
    rows: TableRows  # of the fold
    train: Training
    test: np.ndarray
    own: ModelAnswers


class CrossFitted:
    """A model that was refitted for each fold; the folds hold every row once.

    Where the first fit shows that there is no time for all, folds are joined to fewer.
    """

    def __init__(
        self,
        subject: Subject,
        rows: TableRows,
        y: np.ndarray,
        folds: Folds,
        seconds: float = np.inf,
    ):
        held_out = np.sort(np.concatenate([test for _, test in folds]))
        if not np.array_equal(held_out, np.arange(len(y))):
            raise ValueError("folds must hold out each row of X once")
        self.rows, self.y = rows, y
        asked = len(folds)

        def refitted(fold: tuple[np.ndarray, np.ndarray]) -> Refitted:
            return _refitted(subject, rows, y, *fold, seconds)

        with collected(ConvergenceWarning, UserWarning) as told:
            start = time.perf_counter()
            first = refitted(folds[0])
            folds = joined(folds, seconds / max(time.perf_counter() - start, 1e-9))
            known = [first] if len(folds) == asked else []
            self.parts = known + [refitted(fold) for fold in folds[len(known) :]]
        cut = [] if len(folds) == asked else [f"there was no time for {asked} folds"]
        warned = dict.fromkeys(text.splitlines()[0] for text in told)
        self.notes = [_words(len(folds)), *cut, *warned]

    @property
    def answers(self) -> ModelAnswers:
        """The answers to all rows, each by a model that has not seen it."""
        return self._joined([part.own for part in self.parts])

    def rivals(
        self, own: ModelAnswers, seconds: float
    ) -> tuple[dict[str, ModelAnswers], list[str]]:
        """Return the answers of the usual rivals, and words on them.

        Models are refitted, too. A rule that does not look at the rows is that of all of them:
        rules of folds differ a little, which would rank rows for no reason.
        """
        share = seconds / len(self.parts)
        found = [usual_rivals(p.subject, p.rows, p.own, p.train, share) for p in self.parts]
        name, rule = baseline(self.y, classes=own.labels)
        joined = {name: ModelAnswers.of(Subject(rule), self.rows.data, self.y)}
        by_fold = [answers for answers, _ in found]
        for rival in list(by_fold[0])[1:]:
            if all(rival in answers for answers in by_fold):  # else it has not answered all rows
                joined[rival] = self._joined([answers[rival] for answers in by_fold])
        like_own = {name: answers.drawn_like(own) for name, answers in joined.items()}
        return like_own, list(dict.fromkeys(word for _, words in found for word in words))

    def _joined(self, parts: Sequence[ModelAnswers]) -> ModelAnswers:
        """Return answers to the folds as answers to all rows, in their order."""
        order = np.argsort(np.concatenate([part.test for part in self.parts]))
        scored = all(part.scores is not None for part in parts) and _same_labels(parts)
        scores = np.concatenate([part.scores for part in parts]) if scored else None
        labels = np.unique(np.concatenate([_labels(part) for part in parts]))
        whole = ModelAnswers(
            np.concatenate([part.y for part in parts]),
            np.concatenate([part.prediction for part in parts]),
            scores,
            None if parts[0].labels is None else labels,
        )
        return whole.take(order)


def joined(folds: Folds, most: float) -> Folds:
    """Return at most so many folds, and two at least, some of them put together."""
    n = int(max(min(most, len(folds)), min(2, len(folds))))
    if n == len(folds):
        return folds
    found = []
    for k in range(n):
        part = folds[k::n]
        learn = reduce(np.intersect1d, [rows for rows, _ in part])
        found.append((learn, np.sort(np.concatenate([test for _, test in part]))))
    return found


def _refitted(
    subject: Subject,
    rows: TableRows,
    y: np.ndarray,
    learn: np.ndarray,
    test: np.ndarray,
    seconds: float,
) -> Refitted:
    before, inside = rows.take(learn), rows.take(test)
    fitted = limited(clone(subject.model), seconds).fit(before.data, y[learn])
    model = Subject(require_uninterrupted(fitted))
    own = ModelAnswers.of(model, inside.data, y[test])
    return Refitted(model, inside, (before, y[learn]), test, own)


def _same_labels(parts: Sequence[ModelAnswers]) -> bool:
    return all(np.array_equal(_labels(part), _labels(parts[0])) for part in parts)


def _labels(part: ModelAnswers) -> np.ndarray:
    return np.empty(0) if part.labels is None else part.labels


def _words(n_folds: int) -> str:
    return (
        f"every row was predicted by a model like this one, fitted to the rows outside its fold "
        f"({count(n_folds, 'fold')}); the parameters were chosen with all rows, which makes the "
        f"scores a little too good"
    )
