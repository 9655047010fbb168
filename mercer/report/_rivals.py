"""What a model must beat: the most frequent class or the mean, and a plain linear model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer.linear import LogisticRegression, Ridge
from mercer.report._answers import Answers
from mercer.report._quiet import collected
from mercer.report._rows import Rows
from mercer.report._subject import Subject

MOST_CELLS = 2e7  # of the table that the linear model is fitted to

LINEAR = "linear model"

Training = tuple[Rows, np.ndarray]


@dataclass(frozen=True, eq=False)
class Rivals:
    """The answers of the rivals by their names, and sentences about them."""

    answers: dict[str, Answers] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)


def given_rivals(models: Mapping[str, Any], subject: Subject, rows: Rows, own: Answers) -> Rivals:
    """Let fitted models answer the same rows."""
    found = Rivals()
    for name, model in models.items():
        rival = Subject.of(model, name=f"rivals[{name!r}]")
        if rival.task != subject.task:
            raise ValueError(f"rivals[{name!r}] does not predict the same kind of target as model")
        found.answers[str(name)] = Answers.of(rival, rows.data, own.y)
    return found


def usual_rivals(
    subject: Subject,
    rows: Rows,
    own: Answers,
    train: Training | None,
    seconds: float,
    seed: int,
) -> Rivals:
    """Return the baseline and, with training rows, a linear model on the same encoded columns."""
    found = Rivals()
    if train is None:
        found.answers.update([_baseline(own, own.y, " (of these rows)")])
        found.words.append(
            "no training rows were given: the baseline is taken from the rows that are judged"
        )
        return found
    found.answers.update([_baseline(own, train[1], "")])
    if not subject.is_linear:
        _add_linear(found, subject, rows, own, train, seconds, seed)
    return found


def _baseline(own: Answers, y: np.ndarray, note: str) -> tuple[str, Answers]:
    """Return the answers of a rule that does not look at the row."""
    n = len(own.y)
    if own.labels is None:
        return f"the mean{note}", Answers(own.y, np.full(n, float(np.mean(y))), None, None)
    seen, counts = np.unique(y, return_counts=True)
    label = seen[counts.argmax()]
    shares = np.array([np.mean(y == known) for known in own.labels])
    scores = None if own.scores is None else np.tile(shares, (n, 1))
    return f"always {label.item()!r}{note}", Answers(own.y, np.full(n, label), scores, own.labels)


# ---------------------------------------------------------------- the linear model
def _add_linear(
    found: Rivals,
    subject: Subject,
    rows: Rows,
    own: Answers,
    train: Training,
    seconds: float,
    seed: int,
) -> None:
    if subject.pairwise or subject.takes_objects:
        found.words.append("no linear model to compare with: the rows have no columns of numbers")
        return
    if subject.task == "classify" and len(np.unique(train[1])) < 2:
        found.words.append("no linear model to compare with: the training rows are of one class")
        return
    X, y = _some(subject, train, np.random.default_rng(seed), found)
    if not _is_table(X):
        found.words.append("no linear model to compare with: it needs finite numbers")
        return
    with collected(ConvergenceWarning) as told:
        rival = _linear(subject, X, seconds).fit(X, y)
    if told:
        found.words.append("the linear model stopped short of its optimum")
    encoded = subject.columns(rows.data)
    found.answers[LINEAR] = Answers.of(Subject.of(rival), encoded, own.y)


def _linear(subject: Subject, X: Any, seconds: float) -> Any:
    classes = subject.task == "classify"
    last = LogisticRegression(time_limit=seconds) if classes else Ridge()
    return make_pipeline(StandardScaler(with_mean=not sp.issparse(X)), last)


def _some(
    subject: Subject, train: Training, rng: np.random.Generator, found: Rivals
) -> tuple[Any, np.ndarray]:
    """Return encoded training rows, a random part of them if they are very many."""
    rows, y = train
    width = max(_width(subject.columns(rows.take(np.arange(min(len(rows), 20))).data)), 1)
    most = max(int(MOST_CELLS / width), 1000)
    if len(rows) > most:
        part = rng.choice(len(rows), most, replace=False)
        rows, y = rows.take(part), y[part]
        found.words.append(f"the linear model was fitted to {most:,} of the training rows")
    return subject.columns(rows.data), y


def _width(table: Any) -> int:
    """Return how many numbers a row holds."""
    if sp.issparse(table):
        return int(-(-table.nnz // table.shape[0]))
    return int(table.shape[1]) if getattr(table, "ndim", 0) == 2 else 1


def _is_table(X: Any) -> bool:
    """Tell whether rows are finite numbers."""
    if sp.issparse(X):
        return bool(np.isfinite(X.data).all())
    table = np.asarray(X)
    return table.ndim == 2 and table.dtype.kind in "biuf" and bool(np.isfinite(table).all())
