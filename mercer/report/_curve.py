"""Whether more rows would help: scores of the same model fitted to growing parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import KFold, StratifiedKFold

from mercer.report._budget import LeftOutError, collected, measured, some_rows
from mercer.report._rows import TableRows
from mercer.report._subject import Subject
from mercer.report.study import Curve
from mercer.select import learning_curve

FOLDS = 3
FRACTIONS = np.array([0.1, 0.2, 0.4, 0.7, 1.0])
PROBE_ROWS = (50, 100, 200, 400)
FEWEST_ROWS = 30
FEWEST_SIZES = 3  # two points are no curve
MOST_ROWS = 20_000


def curve_of(subject: Subject, rows: TableRows, y: np.ndarray, seconds: float, seed: int) -> Curve:
    """Return training and held-out scores over the number of training rows."""
    classes = subject.task == "classify"
    _check(subject, y, classes)
    rng = np.random.default_rng(seed)
    most = _affordable(subject, rows, y, seconds, rng)
    kept = some_rows(y, most, rng, classes=classes)
    sizes = _sizes(len(kept), len(np.unique(y)) if classes else 1)
    _check_part(y[kept], sizes, classes)
    splitter = (StratifiedKFold if classes else KFold)(FOLDS, shuffle=True, random_state=seed)
    with collected(ConvergenceWarning, FitFailedWarning, UserWarning) as told:
        sizes, train, test = learning_curve(
            clone(subject.model),
            rows.take(kept).data,
            y[kept],
            train_sizes=sizes,
            cv=splitter,
            shuffle=True,
            random_state=seed,
        )
    words = f"{FOLDS} folds of {_of(len(kept), len(rows))} training rows"
    if told:
        words += f"; {_summary(told)}"
    return _curve("accuracy" if classes else "R²", sizes, train, test, words)


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}" if part < whole else f"{whole:,}"


def _summary(told: list[str]) -> str:
    """Return the first lines of warnings, each once."""
    firsts = dict.fromkeys(text.splitlines()[0][:200] for text in told if text)
    return "; ".join(list(firsts)[:3])


def _check(subject: Subject, y: np.ndarray, classes: bool) -> None:
    if subject.pairwise:
        raise LeftOutError("the rows are kernel values of all training rows")
    if len(y) < FEWEST_ROWS:
        raise LeftOutError(f"{len(y)} training rows are too few to be cut")
    if classes and np.unique(y, return_counts=True)[1].min() < FOLDS:
        raise LeftOutError(f"a class has fewer training rows than there are folds ({FOLDS})")


def _check_part(y: np.ndarray, sizes: np.ndarray, classes: bool) -> None:
    """Refuse a part of the rows that says nothing about how the score grows."""
    thin = classes and np.unique(y, return_counts=True)[1].min() < FOLDS
    if thin or len(sizes) < FEWEST_SIZES:
        raise LeftOutError(
            f"there is time for fits of {len(y):,} rows at most, too few for a curve"
        )


def _affordable(
    subject: Subject, rows: TableRows, y: np.ndarray, seconds: float, rng: np.random.Generator
) -> int:
    """Return how many rows fit into the time, from a small fit whose time grows as n²."""

    def fit(size: int) -> None:
        part = some_rows(y, size, rng, classes=subject.task == "classify")
        with collected(ConvergenceWarning, UserWarning):
            _fitted(subject, rows.take(part).data, y[part])

    size, one = measured(fit, PROBE_ROWS, len(rows), seconds, power=2)
    fit_sizes = FRACTIONS * (1.0 - 1.0 / FOLDS) / size  # for each row that is kept
    squares = FOLDS * one * float((fit_sizes**2).sum())
    most = int(np.sqrt(seconds / max(squares, 1e-12)))
    if most < FEWEST_ROWS:
        raise LeftOutError(f"no time: one fit of {size} rows takes {one:.2g} s")
    return min(most, MOST_ROWS)


def _fitted(subject: Subject, X: Any, y: np.ndarray) -> None:
    try:
        clone(subject.model).fit(X, y)
    except ValueError as error:  # what is enough for all rows may be too much for a few
        first = str(error).splitlines()[0]
        raise LeftOutError(f"the model cannot be fitted to {len(y)} rows: {first}") from error


def _sizes(n: int, classes: int) -> np.ndarray:
    """Return growing training sizes, the smallest with a few rows of each class."""
    largest = n - -(-n // FOLDS)
    smallest = min(max(5 * classes, 10), largest)
    return np.unique(np.maximum((FRACTIONS * largest).astype(int), smallest))


def _curve(
    scoring: str, sizes: np.ndarray, train: np.ndarray, test: np.ndarray, words: str
) -> Curve:
    """Return means and spreads over the folds that were fitted."""
    kept = ~np.isnan(test).all(axis=1)
    if not kept.any():
        raise LeftOutError(f"no part of the rows could be fitted ({words})")
    seen, held_out = _mean_and_spread(train[kept]), _mean_and_spread(test[kept])
    return Curve(scoring, np.asarray(sizes)[kept], *seen, *held_out, words=words)


def _mean_and_spread(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.nanmean(scores, axis=1), np.nanstd(scores, axis=1)
