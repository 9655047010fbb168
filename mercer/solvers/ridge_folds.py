"""Sums over rows by which ridge regression is solved and cross-validated, for all λ at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh, solve_triangular

from mercer._floats import EPS
from mercer.solvers._factors import form_for_many
from mercer.solvers.ridge_loo import search_lam

FOLDS = 5
GOLDEN, MIX, STIR = (
    np.uint64(value) for value in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def fold_numbers(start: int, stop: int, folds: int) -> np.ndarray:
    """Return the fold of each row, from its number alone: random, but the same in every pass."""
    z = np.arange(start, stop, dtype=np.uint64) * GOLDEN + GOLDEN  # the generator SplitMix64
    z = (z ^ (z >> np.uint64(30))) * MIX
    z = (z ^ (z >> np.uint64(27))) * STIR
    return ((z ^ (z >> np.uint64(31))) % np.uint64(folds)).astype(np.intp)


class FoldErrors(NamedTuple):
    """Cross-validated errors of every λ that was tried."""

    lams: np.ndarray
    cv: np.ndarray
    """Mean squared error of rows by the fit to the other folds, by weight, over targets."""

    @property
    def best(self) -> float:
        """The λ of the smallest error."""
        return float(self.lams[np.nanargmin(self.cv)])

    def merged(self, more: FoldErrors) -> FoldErrors:
        """Return the errors of both, by rising λ."""
        lams, cv = (np.concatenate(pair) for pair in zip(self, more, strict=True))
        order = lams.argsort()
        return FoldErrors(lams[order], cv[order])


class Centred(NamedTuple):
    """A least squares problem min over c of cᵀAc − 2c·T, and what is taken off for the offset."""

    A: np.ndarray  # (r, r)
    T: np.ndarray  # (r, t)
    mean: np.ndarray  # (r,) of the features
    level: np.ndarray  # (t,) of the targets


class FoldMoments:
    """Σ w v vᵀ of v = (φ, 1, y), for each fold.

    Parameters
    ----------
    sums : array of shape (folds, r + 1 + t, r + 1 + t)
        The sums.
    rank : int
        r, the number of features.
    fit_intercept : bool
        Whether there is an offset, which is not penalised.
    """

    def __init__(self, sums: np.ndarray, rank: int, fit_intercept: bool):
        self.sums, self.rank, self.fit_intercept = sums, rank, fit_intercept
        self.total = sums.sum(axis=0)

    @classmethod
    def of_values(
        cls, sums: np.ndarray, U: np.ndarray, rank: int, fit_intercept: bool
    ) -> FoldMoments:
        """Return the moments of φ = U⁻ᵀk from those of the kernel values k."""
        for fold in sums:
            for side in (fold, fold.T):
                side[:rank] = solve_triangular(U, side[:rank], trans="T", check_finite=False)
        return cls(sums, rank, fit_intercept)

    def centred(self, sums: np.ndarray) -> Centred:
        """Return the problem of some of the rows, about their means if there is an offset."""
        r = self.rank
        A, T = sums[:r, :r], sums[:r, r + 1 :]
        if not self.fit_intercept:
            return Centred(A, T, np.zeros(r), np.zeros(T.shape[1]))
        weight = sums[r, r]
        mean, level = sums[:r, r] / weight, sums[r, r + 1 :] / weight
        return Centred(
            A - weight * np.outer(mean, mean), T - weight * np.outer(mean, level), mean, level
        )

    @property
    def explained(self) -> float:
        """Σ w ‖φ‖²."""
        return float(np.trace(self.total[: self.rank, : self.rank]))

    # ------------------------------------------------------------ cross-validation
    def errors(self, lams: np.ndarray | None = None) -> FoldErrors:
        """Return the errors of these λ, or of a grid that is extended until the best lies inside.

        A fit without a fold needs the sums of all less those of the fold; its error on the fold is
        a quadratic form of the fold's sums. No row is looked at again.
        """
        if lams is not None:
            return self._errors(lams)
        # all of them: LAPACK's way for the last one alone gives up on some clusters
        top = float(eigvalsh(self.centred(self.total).A)[-1])
        return search_lam(self._errors, top, lowest=self.rank * EPS)

    def _errors(self, lams: np.ndarray) -> FoldErrors:
        errors = sum(self._fold_errors(fold, lams) for fold in self.sums)
        weight, t = self.total[self.rank, self.rank], self.total.shape[0] - self.rank - 1
        return FoldErrors(lams, np.asarray(errors) / (weight * t))

    def _fold_errors(self, fold: np.ndarray, lams: np.ndarray) -> np.ndarray:
        """Return the sum of squares on a fold for each λ, fitted to the others."""
        rest = self.centred(self.total - fold)
        form = form_for_many(np.array(rest.A, order="F"), lams)
        C = form.solve(rest.T.T[None], np.arange(len(lams)))  # (n_lams, t, r)
        t = C.shape[1]
        offset = (rest.level - C @ rest.mean)[..., None]
        own = np.broadcast_to(-np.eye(t), (len(lams), t, t))
        V = np.concatenate([C, offset, own], axis=2)  # v·(φ, 1, y) is what a row is off by
        squares = np.einsum("ltp,ltp->l", V @ fold, V)
        return np.where(form.usable, np.maximum(squares, 0.0), np.inf)
