"""A kernel for each kind of column: which may suit texts, strings, series and all the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from mercer._words import joined
from mercer.kernels import (
    DTW,
    RBF,
    GlobalAlignment,
    Kernel,
    Mismatch,
    Substring,
    WeightedDegree,
    Words,
)
from mercer.kernels.frames import Columns
from mercer.machines import SVC
from mercer.select.grids import axes
from mercer.tables import ColumnsEncoder

MOST_PARTS = 4  # that are added up; of more those that are best by themselves
HEAVIER_WEIGHT = 4.0  # times the weight of the others, for each part in turn
LONG_STRING = 8  # letters, at least, where some of them may be wrong
SHORT_TEXT = 300  # characters, on average, up to which pieces of two to five letters are counted
LONG_TEXT = 4000  # from which on those of four are too many, too
BANDS = (0.1, None)
WIDTHS = (0.25, 1.0, 4.0, 16.0)  # times the kernel's own rule for γ


@dataclass(frozen=True)
class KindOfColumns:
    """Columns of one kind, and the kernels that may suit them, all with k(x, x) = 1."""

    words: str
    kernels: tuple[Kernel, ...]

    def with_kernel(self, kernel: Kernel) -> KindOfColumns:
        """Return the part with the kernel that was found to suit it."""
        return KindOfColumns(self.words, (kernel,))


def parts_of(encoder: ColumnsEncoder, rows: Columns, seed: int) -> list[KindOfColumns]:
    """Return the parts of a prepared table: one for each object, one for all numbers."""
    found = []
    for state in encoder.columns_:
        name, kind = state["name"], state["kind"]
        kernels = [k.on(name) for k in SUITING[kind](rows.column(name))]
        found.append(KindOfColumns(f"{kind} {name!r}", tuple(kernels)))
    if encoder.numbers_:
        found.append(
            KindOfColumns("numbers and categories", tuple(_gaussians(encoder, rows, seed)))
        )
    return found


# ---------------------------------------------------------------- kernels for each kind
def _of_texts(cells: np.ndarray) -> Iterator[Kernel]:
    """Words, pairs of words, letters inside words, and both."""
    words = Words((1, 2), sublinear=True).normalized()
    yield Words(sublinear=True).normalized()
    yield words
    length = np.mean([len(cell) for cell in cells])
    if length <= LONG_TEXT:
        letters = _letters(2, 5) if length <= SHORT_TEXT else _letters(4, 4)
        yield letters
        yield 0.5 * words + 0.5 * letters


def _letters(least: int, most: int) -> Kernel:
    return Words((least, most), analyzer="char_wb", sublinear=True).normalized()


def _of_strings(cells: np.ndarray) -> Iterator[Kernel]:
    """Letters in a row, some of them wrong, all substrings; places where all are equally long."""
    yield _letters(1, 5)
    if np.mean([len(cell.split()) for cell in cells]) > 1.5:
        yield 0.5 * Words((1, 2), sublinear=True).normalized() + 0.5 * _letters(1, 5)
    yield Substring(weights=0.7).normalized()
    lengths = [len(cell) for cell in cells]
    if min(lengths) >= LONG_STRING:
        yield Mismatch(5, 1).normalized()
    if min(lengths) == max(lengths) > 1:
        places = [WeightedDegree(min(d, lengths[0])).normalized() for d in (3, 6)]
        yield from (*places, places[0] ** 2)


def _of_series(cells: np.ndarray) -> Iterator[Kernel]:
    """All alignments and the best one, near the diagonal or anywhere, at several widths.

    That of the best is not positive semidefinite. It comes last: equal scores take the others.
    """
    for kind in (GlobalAlignment, DTW):
        for band in BANDS:
            rule = kind(band=band).bind(list(cells)).get_params()
            for factor in WIDTHS:
                gamma = float(f"{factor * rule['gamma']:.3g}")
                kernel = kind(gamma, rule["band"])
                yield kernel if kind is DTW else kernel.normalized()


SUITING: dict[str, Callable[[np.ndarray], Iterator[Kernel]]] = {
    "text": _of_texts,
    "string": _of_strings,
    "series": _of_series,
}


def _gaussians(encoder: ColumnsEncoder, rows: Columns, seed: int) -> Iterator[Kernel]:
    """Gaussian kernels on all numbers, from wide ones to narrow ones."""
    kernel = RBF().on(list(encoder.numbers_))
    found = axes(SVC(kernel), rows, None, np.random.default_rng(seed))
    widths = next(axis.values for axis in found if axis.name.endswith("gamma"))
    yield from (RBF(gamma).on(list(encoder.numbers_)) for gamma in widths)


# ---------------------------------------------------------------- sums
def sums(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return sums with k(x, x) = 1: all parts alike, each heavier, each lighter, without each."""
    if len(kernels) == 1:
        return list(kernels)
    alike = np.ones(len(kernels))
    weights = [alike]
    for factor in (HEAVIER_WEIGHT, 1.0 / HEAVIER_WEIGHT, 0.0):
        weights += [
            np.where(np.arange(len(kernels)) == i, factor, alike) for i in range(len(alike))
        ]
    distinct = {tuple(np.round(w / w.sum(), 3)): None for w in weights}
    return [_weighted(kernels, shares) for shares in distinct]


def _weighted(kernels: Sequence[Kernel], shares: tuple[float, ...]) -> Kernel:
    terms = [(float(w), k) for w, k in zip(shares, kernels, strict=True) if w > 0]
    return reduce(add, [k if w == 1.0 else w * k for w, k in terms])


def in_words(parts: Sequence[KindOfColumns]) -> str:
    """Return the parts as one phrase."""
    return joined([part.words for part in parts])
