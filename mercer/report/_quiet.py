"""Warnings of fits that only serve a comparison: counted and said on the page, not printed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collected(*categories: type[Warning]) -> Iterator[list[str]]:
    """Collect the texts of warnings of these kinds; all others go where they would have gone."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        for category in categories:
            warnings.simplefilter("always", category)
        yield texts
    for warning in caught:
        if issubclass(warning.category, categories):
            texts.append(str(warning.message))
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
