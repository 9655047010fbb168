"""Honest splits: whole groups on one side, or later rows held out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from mercer._sklearn import _num_samples

DRAWS = 50  # of groups, of which the one is taken whose classes are nearest to their shares
FIRST_PART = 0.5  # of the rows in time, from which every fold may learn

Split = tuple[np.ndarray, np.ndarray]


# ---------------------------------------------------------------- groups
def held_out_groups(groups: Any, share: float, seed: int = 0, classes: Any = None) -> Split:
    """Return rows to learn from and rows to be tested with, each group on one side.

    Of many draws the one is taken in which the held-out share of the rows, of every class if there
    are classes, is nearest to what is wanted.

    Examples
    --------
    >>> from mercer.checks import held_out_groups
    >>> learn, test = held_out_groups(["a", "a", "b", "b", "c", "c"], 1 / 3)
    >>> len(learn), len(test)
    (4, 2)
    """
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    if codes.max() < 1:
        raise ValueError("the rows are of one group: nothing can be held out")
    strata = _strata(classes, len(codes))
    sizes = _sizes(codes, strata)
    rng = np.random.default_rng(seed)
    drawn = min((_drawn(sizes, share, rng) for _ in range(DRAWS)), key=lambda d: d[0])[1]
    held_out = drawn[codes]
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def _sizes(codes: np.ndarray, strata: np.ndarray) -> np.ndarray:
    """Return how many rows of each stratum a group has, (groups, strata)."""
    sizes = np.zeros((codes.max() + 1, strata.max() + 1))
    np.add.at(sizes, (codes, strata), 1.0)
    return sizes


def _strata(classes: Any, n: int) -> np.ndarray:
    if classes is None:
        return np.zeros(n, np.intp)
    return np.unique(np.asarray(classes), return_inverse=True)[1]


def _drawn(sizes: np.ndarray, share: float, rng: np.random.Generator) -> tuple[float, np.ndarray]:
    """Return how far a draw of groups is from the share of each class, and the draw."""
    order = rng.permutation(len(sizes))
    filled = np.cumsum(sizes[order].sum(axis=1))
    n = 1 + int(np.argmin(np.abs(filled[:-1] - share * filled[-1])))
    drawn = np.zeros(len(sizes), bool)
    drawn[order[:n]] = True
    totals, held_out = sizes.sum(axis=0), sizes[drawn].sum(axis=0)
    missing = float(((held_out == 0) | (held_out == totals)).sum())
    return missing + float(np.abs(held_out / totals - share).mean()), drawn


class GroupFolds:
    """Folds that keep whole groups together and the classes in proportion.

    A splitter as scikit-learn has them. Only the first ``most`` folds are taken; ``in_few`` is what
    a search of several rounds asks for.

    Examples
    --------
    >>> from mercer.checks import GroupFolds
    >>> [test.tolist() for _, test in GroupFolds(2).split([0] * 4, groups=[0, 0, 1, 1])]
    [[0, 1], [2, 3]]
    """

    def __init__(
        self, n_splits: int = 5, *, classes: bool = False, seed: int = 0, most: int | None = None
    ):
        self.n_splits, self.classes, self.seed = n_splits, classes, seed
        self.most = n_splits if most is None else most

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield the rows to learn from and those to be tested with."""
        if groups is None:
            raise ValueError("groups must be given: the group of each row")
        codes = np.unique(np.asarray(groups), return_inverse=True)[1]
        strata = _strata(y if self.classes else None, len(codes))
        folds = self._folds(codes, strata)[codes]
        parts = ((np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in np.unique(folds))
        fit_to_learn = (p for p in parts if not self.classes or np.ptp(strata[p[0]]) > 0)
        yield from islice(fit_to_learn, self.most)

    def _folds(self, codes: np.ndarray, strata: np.ndarray) -> np.ndarray:
        """Return the fold of each group: large ones first, each to where its classes are few."""
        sizes = _sizes(codes, strata)
        shares = sizes / sizes.sum(axis=0)
        order = np.random.default_rng(self.seed).permutation(len(sizes))
        order = order[np.argsort(-shares[order].max(axis=1), kind="stable")]
        filled = np.zeros((min(self.n_splits, len(sizes)), shares.shape[1]))
        folds = np.zeros(len(sizes), np.intp)
        for group in order:
            folds[group] = np.argmin(
                ((filled + shares[group]) ** 2).sum(axis=1) - (filled**2).sum(axis=1)
            )
            filled[folds[group]] += shares[group]
        return folds

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return how many folds there are."""
        return self.n_splits if groups is None else sum(1 for _ in self.split(X, y, groups))

    def in_few(self, n_splits: int, share: float) -> GroupFolds:
        """Return the splitter of a round with few splits, each of such a share of the rows."""
        folds = max(n_splits, round(1 / share))
        return GroupFolds(folds, classes=self.classes, seed=self.seed, most=n_splits)


# ---------------------------------------------------------------- time
def held_out_latest(times: Any, share: float) -> Split:
    """Return the earlier rows and the latest ones, in the order of time; a moment is not cut.

    Examples
    --------
    >>> from mercer.checks import held_out_latest
    >>> [part.tolist() for part in held_out_latest([3.0, 1.0, 2.0, 4.0, 4.0], 0.25)]
    [[1, 2, 0], [3, 4]]
    """
    times = np.asarray(times)
    order = np.argsort(times, kind="stable")
    cuts = 1 + np.flatnonzero(np.diff(times[order]) != 0)
    if not len(cuts):
        raise ValueError("the rows are all of one time: none is the latest")
    cut = int(cuts[np.argmin(np.abs(cuts - (1.0 - share) * len(times)))])
    return order[:cut], order[cut:]


class TimeFolds:
    """Folds of rows in the order of time: each is predicted from all rows before it.

    The first half of the rows is only learned from, and more of them if a class comes later.

    Examples
    --------
    >>> from mercer.checks import TimeFolds
    >>> [(len(learn), test.tolist()) for learn, test in TimeFolds(2).split([0] * 8)]
    [(4, [4, 5]), (6, [6, 7])]
    """

    def __init__(self, n_splits: int = 5, *, classes: bool = False):
        self.n_splits, self.classes = n_splits, classes

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield the rows before, and the rows of a stretch of time."""
        n = _num_samples(X)
        start = max(int(FIRST_PART * n), self._all_seen(y, n), 1)
        parts = np.array_split(np.arange(start, n), min(self.n_splits, n - start))
        yield from ((np.arange(part[0]), part) for part in parts)

    def _all_seen(self, y: Any, n: int) -> int:
        """Return after how many rows every class was seen, but leave some rows to be tested."""
        if not self.classes:
            return 0
        first = np.unique(np.asarray(y), return_index=True)[1]
        return min(int(first.max()) + 2, n - 2)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return how many folds there are."""
        return self.n_splits if X is None else sum(1 for _ in self.split(X, y))

    def in_few(self, n_splits: int, share: float) -> TimeFolds:
        """Return the splitter of a round that needs few splits."""
        return TimeFolds(n_splits, classes=self.classes)
