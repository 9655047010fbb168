"""What was done, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mercer.report._subject import Subject

LONGEST_REPR = 300


def title_of(subject: Subject, n: int) -> str:
    """Return a heading."""
    verb = "classifies" if subject.task == "classify" else "predicts"
    return f"{type(subject.final).__name__} {verb} {n:,} rows"


def sentences(subject: Subject, evaluation: Any, train: Any) -> Iterator[str]:
    """Yield what the model is, and what it was tried on."""
    kernel = "" if subject.kernel is None else f" with the kernel {_short(subject.kernel)}"
    fitted = "" if train is None else f", fitted to {len(train[0]):,} rows"
    yield f"the model is {_short(subject.final)}{kernel}{fitted}"
    for encoder in subject.encoders:
        yield from _encoding(encoder)
    yield f"it was judged by {evaluation.n_rows:,} rows"
    yield (
        f"intervals hold 95 % of the scores of {evaluation.n_bootstrap:,} samples of these rows, "
        f"drawn with replacement"
    )


def _encoding(encoder: Any) -> Iterator[str]:
    """Yield what an encoder says of itself, or its name."""
    if hasattr(encoder, "describe"):
        yield from map(str, encoder.describe())
    else:
        yield f"rows pass through {type(encoder).__name__} first"


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
