"""The rows as points of a plane, seen through the model's own kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._array import take
from mercer._words import count
from mercer.report._budget import LeftOutError, collected, measured, some_rows
from mercer.report._rows import TableRows, cell_text
from mercer.report._subject import Answers, Subject
from mercer.report.study import Cloud
from mercer.spectral import PCA, KernelPCA

MOST_POINTS = 1000
FEWEST_POINTS = 3
LEAST_POINTS = 50  # of more rows, however little time there is
PROBE_ROWS = (20, 50, 100, 200)


def cloud_of(
    subject: Subject,
    rows: TableRows,
    answers: Answers,
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
    most = _affordable(subject, rows, seconds)
    kept = some_rows(answers.y, most, rng, classes=subject.task == "classify")
    points, shares, words = _points(subject, rows.take(kept))
    if len(kept) < len(rows):
        words += f"; {len(kept):,} of {len(rows):,} rows, drawn at random"
    hover = [_hover(rows, answers, int(i), columns) for i in kept]
    axes = tuple(f"component {i + 1} ({share:.0%})" for i, share in enumerate(shares))
    return Cloud(words, points, answers.y[kept], answers.wrong[kept], hover, (axes[0], axes[1]))


def _affordable(subject: Subject, rows: TableRows, seconds: float) -> int:
    """Return of how many points the kernel can be computed in the time."""
    kernel = subject.kernel
    if kernel is None:
        return MOST_POINTS
    probe = rows.take(np.arange(min(len(rows), PROBE_ROWS[-1])))
    encoded = kernel.sample(subject.encode(probe.data)).data

    def values(size: int) -> None:
        kernel.block(take(encoded, slice(size)), take(encoded, slice(size)))

    size, needed = measured(values, PROBE_ROWS, len(probe), seconds, power=2)
    return int(np.clip(size * np.sqrt(seconds / max(needed, 1e-12)), LEAST_POINTS, MOST_POINTS))


def _hover(rows: TableRows, answers: Answers, i: int, columns: Sequence[int]) -> dict[str, str]:
    """Return the row's number, what is true and predicted, and its values."""
    own = {"row": str(int(rows.numbers[i]))}
    own |= {"actual": cell_text(answers.y[i]), "predicted": cell_text(answers.prediction[i])}
    texts = rows.texts(i, columns)
    return own | {f"column {name}" if name in own else name: texts[name] for name in texts}


def _points(subject: Subject, rows: TableRows) -> tuple[np.ndarray, list[float], str]:
    """Return the plane, the shares of variance of its axes, and how it was found."""
    encoded = subject.encode(rows.data)
    if subject.kernel is not None:
        return _by_kernel(subject.kernel, encoded)
    return _by_columns(encoded)


def _by_kernel(kernel: Any, encoded: Any) -> tuple[np.ndarray, list[float], str]:
    pca = KernelPCA(2, kernel=kernel)
    with collected(UserWarning) as told:
        points = pca.fit_transform(encoded)
    words = f"kernel PCA with the model's kernel, {kernel!r}"
    if told:
        words += "; the kernel is not positive semidefinite on these rows"
    return _two(points), _shares(pca), words


def _by_columns(encoded: Any) -> tuple[np.ndarray, list[float], str]:
    table = _standardised(encoded)
    pca = PCA(min(2, *table.shape))
    with collected(UserWarning):
        points = pca.fit_transform(table)
    return _two(points), _shares(pca), "principal components of the standardised columns"


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


def _shares(pca: Any) -> list[float]:
    shares = [float(s) for s in pca.explained_variance_ratio_[:2]]
    return shares + [0.0] * (2 - len(shares))
