"""What was done, in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from mercer._words import count
from mercer.report._subject import Subject

LONGEST_REPR = 300
LONG_NUMBER = re.compile(r"\d+\.\d{5,}(e-?\d+)?")


def title_of(subject: Subject, n: int) -> str:
    """Return a heading."""
    verb = "classifies" if subject.task == "classify" else "predicts"
    return f"{type(subject.final).__name__} {verb} {n:,} rows"


def what_was_done(
    subject: Subject, evaluation: Any, train: Any, words: Sequence[str], notes: Sequence[str]
) -> dict[str, list[str]]:
    """Return sentences about the model, the columns and the test; those of the caller first."""
    found = {
        "The model": [*map(str, words), _model(subject, train)],
        "The columns": [told for encoder in subject.encoders for told in _encoding(encoder)],
        "The test": [*_test(evaluation), *notes],
    }
    return {heading: told for heading, told in found.items() if told}


def _model(subject: Subject, train: Any) -> str:
    model, kernel = _rounded(subject.final), _rounded(subject.kernel) if subject.kernel else ""
    fitted = "" if train is None else f", fitted to {len(train[0]):,} rows"
    shown = f" with the kernel {kernel}" if kernel and kernel not in model else ""
    return f"the model is {model}{shown}{fitted}"


def _test(evaluation: Any) -> Iterator[str]:
    yield f"it was judged by {count(evaluation.n_rows, 'row')}"
    yield (
        f"intervals hold 95 % of the scores of {evaluation.n_bootstrap:,} samples of these rows, "
        f"drawn with replacement"
    )


def _encoding(encoder: Any) -> Iterator[str]:
    """Yield what an encoder says of itself, or how it is written."""
    if hasattr(encoder, "describe"):
        yield from map(str, encoder.describe())
    else:
        yield f"rows pass through {_rounded(encoder)} first"


def command_of(subject: Subject, has_train: bool, time_limit: Any, random_state: Any) -> str:
    """Return lines of Python that make the report again."""
    train = ", train=(X_train, y_train)" if has_train else ""
    limit = "" if time_limit is None else f", time_limit={time_limit!r}"
    return (
        f"from mercer.report import write_report\n\n"
        f"model = {_short(subject.model, 2000)}\n"
        f"model.fit(X_train, y_train)\n"
        f"write_report(model, 'report.html', X, y{train}{limit}, random_state={random_state!r})"
    )


def _short(value: Any, longest: int = LONGEST_REPR) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _rounded(value: Any) -> str:
    """Return a value as people read it; the command has all digits."""
    return LONG_NUMBER.sub(lambda found: f"{float(found[0]):.4g}", _short(value))
