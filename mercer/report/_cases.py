"""Rows that are worth a look: sure and wrong, sure and right, unsure, and support vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._words import percent, short_number
from mercer.report._reasons import Reasons
from mercer.report._rows import TableRows, Training, as_rows
from mercer.report._subject import ModelAnswers, Subject
from mercer.report.study import Case, CaseTable

SHOWN = 10


TYPICAL = ("most certain and right", "smallest residuals")
"""Tables of rows that need no explanation."""


def case_tables(
    answers: ModelAnswers, rows: TableRows, columns: Sequence[int], reasons: Reasons | None = None
) -> list[CaseTable]:
    """Return the tables of the rows that were predicted, with what moved the predictions."""
    tables = _numbers(answers) if answers.labels is None else _classes(answers)
    unit = "confidence" if answers.probabilistic else "margin"
    measure = "residual" if answers.labels is None else unit
    found = []
    for heading, words, order in tables:
        cases = [_case(answers, rows, int(i), columns) for i in order]
        if reasons is not None and heading not in TYPICAL:
            told = reasons.told(order)
            words = f"{words}; {reasons.told_words(len(told), len(order))}"
            missing = [()] * (len(order) - len(told))
            explained = zip(cases, [*told, *missing], strict=True)
            cases = [replace(case, reasons=why) for case, why in explained]
        found.append(CaseTable(heading, words, cases, measure))
    return [table for table in found if table.cases]


Listing = tuple[str, str, np.ndarray]


def _classes(answers: ModelAnswers) -> Iterator[Listing]:
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


def _in_turn(order: np.ndarray, answers: ModelAnswers) -> np.ndarray:
    """Return the rows that are right, the first of each class before the second of any."""
    right = order[~answers.wrong[order]]
    turn = np.empty(len(right), np.intp)
    for label in np.unique(answers.y[right]):
        mine = np.flatnonzero(answers.y[right] == label)
        turn[mine] = np.arange(len(mine))
    return right[np.argsort(turn, kind="stable")]


def _numbers(answers: ModelAnswers) -> Iterator[Listing]:
    order = np.argsort(-np.abs(answers.wrong), kind="stable")
    yield "largest residuals", "where the prediction is furthest from the target", order[:SHOWN]
    rest = order[SHOWN:]
    yield "smallest residuals", "where it is nearest", rest[::-1][:SHOWN]


def _case(
    answers: ModelAnswers, rows: TableRows, i: int, columns: Sequence[int], said: str | None = None
) -> Case:
    """Return a row, with its confidence if nothing else is ``said`` of it."""
    truth, prediction = _text(answers.y[i]), _text(answers.prediction[i])
    right = None if answers.labels is None else not bool(answers.wrong[i])
    told = _confidence(answers, i) if said is None else said
    return Case(int(rows.numbers[i]), truth, prediction, told, right, rows.texts(i, columns))


def _confidence(answers: ModelAnswers, i: int) -> str:
    if answers.labels is None:
        return f"{'+' if answers.wrong[i] > 0 else ''}{short_number(answers.wrong[i])}"
    if answers.certainty is None:
        return ""
    sure = float(answers.certainty[i])
    return _share(sure) if answers.probabilistic else short_number(float(f"{sure:.3g}"))


def _share(probability: float) -> str:
    """Return a probability in percent, with more digits the nearer it is to 1."""
    return percent(probability, 0 if probability < 0.985 else 1 if probability < 0.9985 else 2)


def _text(value: Any) -> str:
    return short_number(float(value)) if isinstance(value, (float, np.floating)) else str(value)


# ---------------------------------------------------------------- support vectors
def support_table(
    subject: Subject, train: Training | None, columns: Sequence[int]
) -> CaseTable | None:
    """Return the training rows with the largest coefficients; None for models without any."""
    final = subject.final
    if not all(hasattr(final, name) for name in ("support_", "dual_coef_", "support_vectors_")):
        return None
    weights = np.abs(_dense(final.dual_coef_)).reshape(-1, len(final.support_)).max(axis=0)
    first = np.argsort(-weights, kind="stable")[:SHOWN]
    told = [short_number(weights[k]) for k in first]
    if not len(first):
        cases = []
    elif train is not None and fitted_rows(final, len(train[1])) == len(train[1]):
        cases = _from_training(subject, *train, first, told, columns)
    else:
        cases = _from_model(subject, first, told)
    words = _support_words(len(weights), fitted_rows(final), len(cases))
    return CaseTable("support vectors", words, cases, "weight")


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if sp.issparse(values) else values, np.float64)


def fitted_rows(final: Any, unknown: int = 0) -> int:
    """Return how many rows the model was fitted to: support vectors are numbered among them."""
    return int(getattr(final, "shape_fit_", (unknown,))[0])


def _support_words(count: int, fitted: int, shown: int) -> str:
    words = f"{count:,} support vectors carry the model"
    if fitted:
        words = f"{count:,} of {fitted:,} training rows ({count / fitted:.0%}) carry the model"
    if not shown:
        return words
    return f"{words}; the {shown} with the largest coefficients, by their number in the training"


def _from_training(
    subject: Subject,
    rows: TableRows,
    y: np.ndarray,
    first: np.ndarray,
    told: Sequence[str],
    columns: Sequence[int],
) -> list[Case]:
    numbers = np.asarray(subject.final.support_)[first]
    rows = rows.take(numbers)
    answers = ModelAnswers.of(subject, rows.data, y[numbers])
    return [_case(answers, rows, i, columns, said) for i, said in enumerate(told)]


def _from_model(subject: Subject, first: np.ndarray, told: Sequence[str]) -> list[Case]:
    """Return what the model has kept of them: encoded columns, and no truth."""
    on_columns = subject.kernel is not None and subject.kernel.domain == "table"
    if subject.pairwise or on_columns:  # of a frame only the columns that are read are kept
        return []
    final, names = subject.final, subject.column_names
    if subject.encoders:
        named = getattr(subject.encoders[-1], "get_feature_names_out", lambda: None)
        names = named()
    objects = subject.kernel is not None and subject.kernel.domain == "objects"
    rows = as_rows(final.support_vectors_, names=names, objects=objects).take(first)
    rows.numbers = np.asarray(final.support_)[first]
    shown = range(len(rows.names))
    if len(shown) > SHOWN:
        shown = np.argsort(-rows.spreads(), kind="stable")[:SHOWN].tolist()
    predicted = map(_text, np.asarray(subject.predictor.predict(rows.data)))
    return [
        Case(int(rows.numbers[i]), "", prediction, said, None, rows.texts(i, shown))
        for i, (prediction, said) in enumerate(zip(predicted, told, strict=True))
    ]
