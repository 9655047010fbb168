"""What the pictures of a report show: scores that were tried, a learning curve, rows as points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import KFold, StratifiedKFold

from mercer._array import take
from mercer._words import count
from mercer.cv_results import Axis, Trials, score_name
from mercer.meta import innermost
from mercer.plot.records import LearningCurve, Surface
from mercer.report._budget import LeftOutError, collected, measured, some_rows
from mercer.report._cross import Folds
from mercer.report._rows import TableRows, cell_text
from mercer.report._subject import ModelAnswers, Subject, limited
from mercer.report.study import Cloud
from mercer.select import learning_curve
from mercer.spectral import PCA, KernelPCA

FOLDS = 3
FRACTIONS = np.array([0.1, 0.2, 0.4, 0.7, 1.0])
FIT_ROWS = (50, 100, 200, 400)  # of fits that are timed
FEWEST_ROWS = 30
FEWEST_SIZES = 3  # two points are no curve
MOST_ROWS = 2_000  # that a learning curve cuts

FEWEST_POINTS = 3
LEAST_POINTS = 50  # of more rows, however little time there is
MOST_POINTS = 1000
KERNEL_ROWS = (20, 50, 100, 200)  # of kernel values that are timed


# ---------------------------------------------------------------- scores that were tried
def surface_of(search: Any) -> Surface:
    """Return mean scores over the parameters that matter most, the best over the others."""
    trials = Trials.of(search)
    if not trials.complete.any():
        raise LeftOutError("the search has no score")
    compared = trials.take(trials.comparable)
    axes = [_written(axis) for axis in compared.axes(unset="default")]
    if not axes:
        raise LeftOutError("the search has tried one value of each parameter")
    if compared.chosen < 0:
        raise LeftOutError("the chosen candidate is not among those that can be compared")
    first = sorted(axes, key=lambda axis: -axis.effect(compared.mean))[:2]
    drawn = [axis for axis in axes if axis in first]  # in the order of the grid
    hidden = [axis.name for axis in axes if axis not in first]
    words = _tried(search, trials, len(compared))
    words += f"; of {', '.join(hidden)} the best value at each point" if hidden else ""
    return Surface.of(compared, drawn, _scoring(search, trials.metric), words)


def _written(axis: Axis) -> Axis:
    """Return an axis whose values are numbers, or texts."""
    return axis if axis.is_numeric else replace(axis, values=tuple(map(cell_text, axis.values)))


def _scoring(search: Any, metric: str) -> str:
    if metric != "score":
        return metric
    own = search.scoring
    return own if isinstance(own, str) else score_name(search.estimator, own)


def _tried(search: Any, trials: Trials, compared: int) -> str:
    candidates = len(trials)
    seconds = float(np.nansum(trials.fit_seconds + trials.score_seconds)) * search.n_splits_
    words = f"{candidates} candidates on {search.n_splits_} folds in {seconds:.2g} s of fitting"
    status = getattr(search, "status_", "complete")
    if status != "complete":
        words += f", stopped early ({status})"
    if compared < candidates:
        words += f"; shown are the {compared} that were scored on the most rows"
    return words


# ---------------------------------------------------------------- whether more rows would help
def curve_of(
    subject: Subject,
    rows: TableRows,
    y: np.ndarray,
    seconds: float,
    seed: int,
    *,
    cv: Any = None,
    groups: Any = None,
) -> LearningCurve:
    """Return training and held-out scores over the number of training rows."""
    classes = subject.task == "classify"
    _check_rows(subject, y, classes)
    rng = np.random.default_rng(seed)
    most = _rows_in_time(subject, rows, y, seconds)
    kept = some_rows(y, most, rng, classes=classes)
    folds = _folds(y[kept], classes, seed, cv, None if groups is None else groups[kept])
    smallest = min((len(learn) for learn, _ in folds), default=0)
    sizes = _sizes(smallest, len(np.unique(y)) if classes else 1)
    if len(sizes) < FEWEST_SIZES:
        raise LeftOutError(TOO_FEW.format(f"{len(kept):,}"))
    scoring = _judged_by(subject.search)
    with collected(ConvergenceWarning, FitFailedWarning, UserWarning) as told:
        sizes, train, test = learning_curve(
            limited(as_chosen(subject.model), seconds),
            rows.take(kept).data,
            y[kept],
            train_sizes=sizes,
            cv=folds,
            scoring=scoring,
            shuffle=True,
            random_state=seed,
        )
    of = f"{len(kept):,} of {len(rows):,}" if len(kept) < len(rows) else f"{len(rows):,}"
    words = f"{len(folds)} folds of {of} training rows" + (f"; {_summary(told)}" if told else "")
    fitted = ~np.isnan(test).all(axis=1)
    if not fitted.any():
        raise LeftOutError(f"no part of the rows could be fitted ({words})")
    scores = sizes[fitted], train[fitted], test[fitted]
    return LearningCurve.of(score_name(subject.model, scoring), *scores, words)


def as_chosen(model: Any) -> Any:
    """Return an unfitted copy that does not search again for what the model has chosen."""
    copy, fitted = clone(model), innermost(model)
    if hasattr(fitted, "chosen_params"):
        innermost(copy).set_params(**fitted.chosen_params())
    return copy


def _judged_by(search: Any) -> Any:
    """Return the one score that a search went by; None is that of the model itself."""
    scoring = getattr(search, "scoring", None)
    return scoring if isinstance(scoring, str) or callable(scoring) else None


def _summary(told: list[str]) -> str:
    """Return the first lines of warnings, each once."""
    firsts = dict.fromkeys(text.splitlines()[0][:200] for text in told if text)
    return "; ".join(list(firsts)[:3])


def _check_rows(subject: Subject, y: np.ndarray, classes: bool) -> None:
    if subject.pairwise:
        raise LeftOutError("the rows are kernel values of all training rows")
    if len(y) < FEWEST_ROWS:
        raise LeftOutError(f"{len(y)} training rows are too few to be cut")
    if classes and np.unique(y, return_counts=True)[1].min() < FOLDS:
        raise LeftOutError(f"a class has fewer training rows than there are folds ({FOLDS})")


def _folds(y: np.ndarray, classes: bool, seed: int, cv: Any, groups: Any) -> Folds:
    """Return the folds of a curve; refuse rows that say nothing about how the score grows."""
    if classes and np.unique(y, return_counts=True)[1].min() < FOLDS:
        raise LeftOutError(TOO_FEW.format(f"{len(y):,}"))
    if cv is None:
        cv = (StratifiedKFold if classes else KFold)(FOLDS, shuffle=True, random_state=seed)
    return list(cv.split(np.zeros((len(y), 1)), y, groups))


TOO_FEW = "there is time for fits of {} rows at most, too few for a curve"


def _rows_in_time(subject: Subject, rows: TableRows, y: np.ndarray, seconds: float) -> int:
    """Return how many rows fit into the time, from a small fit whose time grows as n²."""

    def fit(size: int) -> None:
        rng = np.random.default_rng(size)  # how many are timed must not change later draws
        part = some_rows(y, size, rng, classes=subject.task == "classify")
        with collected(ConvergenceWarning, UserWarning):
            _fitted(subject, rows.take(part).data, y[part])

    size, one = measured(fit, FIT_ROWS, len(rows), seconds, power=2)
    fit_sizes = FRACTIONS * (1.0 - 1.0 / FOLDS) / size  # for each row that is kept
    squares = FOLDS * one * float((fit_sizes**2).sum())
    most = int(np.sqrt(seconds / max(squares, 1e-12)))
    if most < FEWEST_ROWS:
        raise LeftOutError(
            f"the {FOLDS * len(FRACTIONS)} fits of a curve of {FEWEST_ROWS} rows would take longer "
            f"than the {seconds:.2g} s that are left"
        )
    return min(most, MOST_ROWS)


def _fitted(subject: Subject, X: Any, y: np.ndarray) -> None:
    try:
        as_chosen(subject.model).fit(X, y)
    except ValueError as error:  # what is enough for all rows may be too much for a few
        first = str(error).splitlines()[0]
        raise LeftOutError(f"the model cannot be fitted to {len(y)} rows: {first}") from error


def _sizes(largest: int, classes: int) -> np.ndarray:
    """Return growing training sizes, the smallest with a few rows of each class."""
    smallest = min(max(5 * classes, 10), largest)
    return np.unique(np.maximum((FRACTIONS * largest).astype(int), smallest))


# ---------------------------------------------------------------- the rows as points
def cloud_of(
    subject: Subject,
    rows: TableRows,
    answers: ModelAnswers,
    columns: Sequence[int],
    seconds: float,
    seed: int,
) -> Cloud:
    """Return two components of a sample of the rows, with what a hover shows."""
    if len(rows) < FEWEST_POINTS:
        raise LeftOutError(
            f"{count(len(rows), 'row')} make no map: at least {FEWEST_POINTS} are needed"
        )
    rng = np.random.default_rng(seed)
    if subject.pairwise:
        raise LeftOutError("the kernel is precomputed: its values between these rows are not known")
    most = _points_in_time(subject, rows, seconds)
    kept = some_rows(answers.y, most, rng, classes=subject.task == "classify")
    points, axes, words = _points(subject, rows.take(kept))
    if len(kept) < len(rows):
        words += f"; {len(kept):,} of {len(rows):,} rows, drawn at random"
    hover = [_hover(rows, answers, int(i), columns) for i in kept]
    return Cloud(words, points, answers.y[kept], answers.wrong[kept], hover, axes)


def _points_in_time(subject: Subject, rows: TableRows, seconds: float) -> int:
    """Return of how many points the kernel can be computed in the time."""
    kernel = subject.kernel
    if kernel is None:
        return MOST_POINTS
    probe = rows.take(np.arange(min(len(rows), KERNEL_ROWS[-1])))
    encoded = kernel.sample(subject.encode(probe.data)).data

    def values(size: int) -> None:
        kernel.block(take(encoded, slice(size)), take(encoded, slice(size)))

    size, needed = measured(values, KERNEL_ROWS, len(probe), seconds, power=2)
    return int(np.clip(size * np.sqrt(seconds / max(needed, 1e-12)), LEAST_POINTS, MOST_POINTS))


def _hover(
    rows: TableRows, answers: ModelAnswers, i: int, columns: Sequence[int]
) -> dict[str, str]:
    """Return the row's number, what is true and predicted, and its values."""
    own = {"row": str(int(rows.numbers[i]))}
    own |= {"actual": cell_text(answers.y[i]), "predicted": cell_text(answers.prediction[i])}
    texts = rows.texts(i, columns)
    return own | {f"column {name}" if name in own else name: texts[name] for name in texts}


def _points(subject: Subject, rows: TableRows) -> tuple[np.ndarray, tuple[str, str], str]:
    """Return the plane, the names of its axes, and how it was found."""
    encoded, kernel = subject.encode(rows.data), subject.kernel
    if kernel is None:
        encoded = _standardised(encoded)
        pca, words = PCA(min(2, *encoded.shape)), "principal components of the standardised columns"
    else:
        pca, words = KernelPCA(2, kernel=kernel), f"kernel PCA with the model's kernel, {kernel!r}"
    with collected(UserWarning) as told:
        points = pca.fit_transform(encoded)
    if told and kernel is not None:
        words += "; the kernel is not positive semidefinite on these rows"
    shares = np.append(pca.explained_variance_ratio_, 0.0)  # of one column there is one share
    across, up = (f"component {i + 1} ({shares[i]:.0%})" for i in (0, 1))
    return _two(points), (across, up), words


def _standardised(encoded: Any) -> Any:
    """Return columns of variance 1 (of sparse ones only the unit changes)."""
    if sp.issparse(encoded):
        unit = np.sqrt(np.asarray(encoded.multiply(encoded).mean(axis=0)).ravel())
        return (encoded @ sp.diags_array(1.0 / np.where(unit > 0, unit, 1.0))).tocsr()
    table = np.asarray(encoded)
    if table.ndim != 2 or table.dtype.kind not in "biuf" or not np.isfinite(table).all():
        raise LeftOutError("the model takes text or missing values: there are no numbers to map")
    table = table - table.mean(axis=0)
    unit = np.abs(table).max(axis=0)
    table = table / np.where(unit > 0, unit, 1.0)  # first: the squares of huge values overflow
    spread = table.std(axis=0)
    return table / np.where(spread > 0, spread, 1.0)


def _two(points: Any) -> np.ndarray:
    """Return two columns; what is missing is 0."""
    points = np.asarray(points, np.float64)[:, :2]
    return np.hstack([points, np.zeros((len(points), 2 - points.shape[1]))])
