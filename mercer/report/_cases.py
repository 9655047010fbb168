"""Rows that are worth a look: sure and wrong, sure and right, unsure, and support vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._words import percent
from mercer.report._answers import Answers
from mercer.report._rows import ArrayRows, Rows, SparseRows, as_rows
from mercer.report._subject import Subject
from mercer.report.study import Case, CaseTable

SHOWN = 10


def case_tables(answers: Answers, rows: Rows, columns: Sequence[int]) -> list[CaseTable]:
    """Return the tables of the rows that were predicted."""
    tables = _numbers(answers) if answers.labels is None else _classes(answers)
    return [
        CaseTable(
            heading, words, [_case(answers, rows, int(i), columns) for i in order], measure(answers)
        )
        for heading, words, order in tables
        if len(order)
    ]


def measure(answers: Answers) -> str:
    """Return the name of what is said of each row beside its prediction."""
    if answers.labels is None:
        return "residual"
    return "confidence" if answers.probabilistic else "margin"


Listing = tuple[str, str, np.ndarray]


def _classes(answers: Answers) -> Iterator[Listing]:
    wrong = np.flatnonzero(answers.wrong)
    sure = answers.certainty
    if sure is None:
        words = f"{len(wrong):,} wrong in all; the model does not say how sure it is"
        yield "wrong", words, wrong[:SHOWN]
        return
    first = wrong[np.argsort(-sure[wrong], kind="stable")][:SHOWN]
    shown = _how_many(len(first), len(wrong))
    unit = "" if answers.probabilistic else "; margin: how far the prediction is ahead of the next"
    yield "most certain and wrong", f"{shown}{unit}", first
    order = np.argsort(sure, kind="stable")
    yield "least certain", "rows that could have gone either way", order[:SHOWN]
    words = "what the model takes for typical: the surest of each class in turn"
    yield "most certain and right", words, _in_turn(order[::-1], answers)[:SHOWN]


def _how_many(shown: int, wrong: int) -> str:
    if wrong == 1:
        return "the one wrong row"
    rows = f"{shown} of {wrong:,} wrong rows" if shown < wrong else f"all {wrong} wrong rows"
    return f"{rows}, the most certain first"


def _in_turn(order: np.ndarray, answers: Answers) -> np.ndarray:
    """Return the rows that are right, the first of each class before the second of any."""
    right = order[~answers.wrong[order]]
    turn = np.empty(len(right), np.intp)
    for label in np.unique(answers.y[right]):
        mine = np.flatnonzero(answers.y[right] == label)
        turn[mine] = np.arange(len(mine))
    return right[np.argsort(turn, kind="stable")]


def _numbers(answers: Answers) -> Iterator[Listing]:
    order = np.argsort(-np.abs(answers.wrong), kind="stable")
    yield "largest residuals", "where the prediction is furthest from the target", order[:SHOWN]
    rest = order[SHOWN:]
    yield "smallest residuals", "where it is nearest", rest[::-1][:SHOWN]


def _case(answers: Answers, rows: Rows, i: int, columns: Sequence[int]) -> Case:
    truth, prediction = _text(answers.y[i]), _text(answers.prediction[i])
    right = None if answers.labels is None else not bool(answers.wrong[i])
    values = rows.texts(i, columns)
    return Case(int(rows.numbers[i]), truth, prediction, _confidence(answers, i), right, values)


def _confidence(answers: Answers, i: int) -> str:
    if answers.labels is None:
        return f"{answers.wrong[i]:+.4g}"
    if answers.certainty is None:
        return ""
    sure = float(answers.certainty[i])
    return _share(sure) if answers.probabilistic else f"{sure:.3g}"


def _share(probability: float) -> str:
    """Return a probability in percent, with more digits the nearer it is to 1."""
    return percent(probability, 0 if probability < 0.985 else 1 if probability < 0.9985 else 2)


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


# ---------------------------------------------------------------- support vectors
def support_table(
    subject: Subject, train: tuple[Rows, np.ndarray] | None, columns: Sequence[int]
) -> CaseTable | None:
    """Return the training rows with the largest coefficients; None for models without any."""
    final = subject.final
    if not all(hasattr(final, name) for name in ("support_", "dual_coef_", "support_vectors_")):
        return None
    weights = np.abs(_dense(final.dual_coef_)).reshape(-1, len(final.support_)).max(axis=0)
    first = np.argsort(-weights, kind="stable")[:SHOWN]
    cases = (
        _from_training(subject, train, weights, first, columns)
        if train is not None and _same_rows(final, train[0])
        else _from_model(subject, weights, first)
    )
    words = _support_words(final, len(weights), len(cases))
    return CaseTable("support vectors", words, cases, "weight")


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if sp.issparse(values) else values, np.float64)


def _same_rows(final: Any, rows: Rows) -> bool:
    """Tell whether the numbers of the support vectors can be numbers of these rows."""
    fitted = getattr(final, "shape_fit_", (len(rows),))[0]
    return int(fitted) == len(rows)


def _support_words(final: Any, count: int, shown: int) -> str:
    fitted = getattr(final, "shape_fit_", None)
    words = f"{count:,} support vectors carry the model"
    if fitted is not None:
        words = (
            f"{count:,} of {fitted[0]:,} training rows ({count / fitted[0]:.0%}) carry the model"
        )
    if not shown:
        return words
    return f"{words}; the {shown} with the largest coefficients, by their number in the training"


def _from_training(
    subject: Subject, train: Any, weights: np.ndarray, first: np.ndarray, columns: Sequence[int]
) -> list[Case]:
    if not len(first):
        return []
    numbers = np.asarray(subject.final.support_)[first]
    rows, y = train[0].take(numbers), train[1][numbers]
    answers = Answers.of(subject, rows.data, y)
    return [
        Case(
            int(rows.numbers[i]),
            _text(y[i]),
            _text(answers.prediction[i]),
            f"{weights[k]:.4g}",
            None if answers.labels is None else not bool(answers.wrong[i]),
            rows.texts(i, columns),
        )
        for i, k in enumerate(first)
    ]


def _from_model(subject: Subject, weights: np.ndarray, first: np.ndarray) -> list[Case]:
    """Return what the model has kept of them: encoded columns, and no truth."""
    final, vectors = subject.final, subject.final.support_vectors_
    if subject.pairwise or not len(first):
        return []
    objects = subject.kernel is not None and subject.kernel.domain == "objects"
    rows = as_rows(vectors, names=_encoded_names(subject), objects=objects).take(first)
    predicted = np.asarray(final.predict(rows.data))
    shown = _largest_columns(rows)
    return [
        Case(
            int(np.asarray(final.support_)[k]),
            "",
            _text(predicted[i]),
            f"{weights[k]:.4g}",
            None,
            rows.texts(i, shown),
        )
        for i, k in enumerate(first)
    ]


def _encoded_names(subject: Subject) -> Any:
    if not subject.encoders:
        return subject.column_names
    last = subject.encoders[-1]
    return last.get_feature_names_out() if hasattr(last, "get_feature_names_out") else None


def _largest_columns(rows: Rows) -> list[int]:
    if not isinstance(rows, (ArrayRows, SparseRows)) or len(rows.names) <= SHOWN:
        return list(range(len(rows.names)))
    return np.argsort(-rows.spreads(), kind="stable")[:SHOWN].tolist()
