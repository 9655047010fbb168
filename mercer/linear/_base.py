"""What linear models share: checked tables, centred columns, the range of a table, predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, solve_triangular, svd
from sklearn.utils.validation import check_is_fitted

from mercer._array import allocate, largest_size
from mercer._estimator import ProvedEstimator, check_weights, validated
from mercer._floats import COLUMN_NOISE, EPS, safe_unit
from mercer._scratch import scratch
from mercer._state import Attribute, Either, Floats
from mercer.result import Certificate, Solution

FLOATS = [np.float64, np.float32]
SMALLEST_VALUE = 1e-290
NOISY_ROUNDINGS = 4  # roundings of what was subtracted from a column
REFINEMENTS = 2  # of coefficients


class LinearModel(ProvedEstimator):
    """An estimator with f(x) = w·x + b.

    A child that accepts sparse tables says so by ``accepts_sparse = True``.
    """

    by_columns = True

    accepts_sparse = False
    coef_: np.ndarray
    intercept_: Any

    def _fit_table(self, X: Any, y: Any, **checks: Any) -> tuple[Any, np.ndarray]:
        self._validate_params()
        X, y = validated(self, X, y, **self._table(), **checks)
        return X, y

    def _table(self) -> dict[str, Any]:
        sparse = "csr" if self.accepts_sparse else False
        return {"dtype": FLOATS, "accept_sparse": sparse, "order": "C"}

    def _linear_values(self, X: Any) -> np.ndarray:
        """Return w·x + b of new rows, in float64; (m,) or a column for each row of w."""
        check_is_fitted(self)
        X = validated(self, X, reset=False, **self._table())
        return np.asarray(X @ self.coef_.T) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.accepts_sparse
        return tags


class LinearRegressor(LinearModel):
    """A linear model whose prediction is f(x)."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "coef_": Floats("targets?", "columns"),
        "intercept_": Either(Floats("targets?"), Floats()),
    }

    fit_intercept: bool

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to rows X, dense or sparse, and targets y.

        Models of several targets take a y of shape (n, n_targets) too.
        """
        self._accept(self._fit(X, y, sample_weight))
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> Solution:
        """Fit and keep what is known of the model, but for the proof."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Return w·x + b of new rows."""
        return self._linear_values(X)

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, several: bool = False
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """Check rows, targets and weights."""
        X, y = self._fit_table(X, y, y_numeric=True, multi_output=several)
        weight = check_weights(sample_weight, X.shape[0])
        return X, np.asarray(y, dtype=np.float64), weight

    def _keep(self, rows: Any, coef: np.ndarray, offset: Any = 0.0) -> None:
        """Store coefficients (d, t) and offsets of the centred rows in the units of the data."""
        coef, offset = rows.in_units(coef, offset)
        self.coef_ = coef[:, 0] if rows.flat else coef.T
        if not self.fit_intercept:
            self.intercept_: Any = 0.0
        else:
            self.intercept_ = float(offset[0]) if rows.flat else offset


class DenseDesign(NamedTuple):
    """Rows and targets of positive weight, centred if there is an intercept, and their units.

    X is (rows − mean) / unit and Y is (targets − center) / y_unit; the units are 1 unless squares
    of the data would overflow or vanish.
    """

    X: np.ndarray  # (n, d)
    Y: np.ndarray  # (n, t)
    weight: np.ndarray  # (n,), its mean is 1
    mean: np.ndarray  # (d,)
    center: np.ndarray  # (t,)
    unit: float
    y_unit: float
    flat: bool  # y has no axis for its one target
    share: float  # the weights as they were given are share · weight

    @classmethod
    def of(cls, X: Any, y: np.ndarray, weight: np.ndarray, intercept: bool) -> DenseDesign:
        used = np.flatnonzero(weight)
        if len(used) < len(weight):
            X, y, weight = X[used], y[used], weight[used]
        share = float(weight.max()) * float((weight / weight.max()).mean())
        weight = weight / share
        Y = y.reshape(len(y), -1)
        X, mean, unit = centered(np.asarray(dense(X), dtype=np.float64), weight, intercept)
        Y, center, y_unit = centered(Y, weight, intercept)
        return cls(X, Y, weight, mean, center, unit, y_unit, y.ndim == 1, share)

    def apart_from(self, X: Any, y: Any) -> DenseDesign:
        """Return rows that do not change with the user's arrays."""
        arrays = [a for a in (X, y) if isinstance(a, np.ndarray)]
        own: dict[str, Any] = {
            name: part.copy()
            for name, part in (("X", self.X), ("Y", self.Y))
            if any(np.may_share_memory(part, a) for a in arrays)
        }
        return self._replace(**own)

    @property
    def subtracted(self) -> np.ndarray:
        """The norm of what centring took from each column."""
        return np.abs(self.mean / self.unit) * len(self.X) ** 0.5

    def basis(self) -> Range:
        """Return the range of the (unweighted) rows."""
        return Range.of(self.X, self.subtracted)

    @property
    def root(self) -> np.ndarray | None:
        """√weight as a column, None where all weights are equal."""
        return None if (self.weight == 1.0).all() else np.sqrt(self.weight)[:, None]

    def weighted(self) -> tuple[np.ndarray, np.ndarray]:
        """Return X and Y with each row times the root of its weight."""
        root = self.root
        return (self.X, self.Y) if root is None else (self.X * root, self.Y * root)

    def weighted_targets(self) -> np.ndarray:
        """Return Y with each row times the root of its weight."""
        root = self.root
        return self.Y if root is None else self.Y * root

    def in_units(self, coef: np.ndarray, offset: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (d, t) and offsets (t,) in the units of the data.

        ``offset`` is that of the centred problem, in its own unit.
        """
        return to_units(coef, offset, self.mean, self.center, self.unit, self.y_unit)


def dense(X: Any) -> Any:
    """Return a sparse table as a dense array, if the budget of memory allows it."""
    return X.toarray(out=allocate(X.shape, X.dtype)) if sp.issparse(X) else X


def to_units(
    coef: np.ndarray, offset: Any, mean: np.ndarray, center: np.ndarray, unit: float, y_unit: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients and offsets of the data from those of centred columns and targets."""
    coef = coef * (y_unit / unit)
    return coef, center + y_unit * np.asarray(offset) - mean @ coef


def centered(
    X: np.ndarray, weight: np.ndarray, intercept: bool
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (X − mean) / unit, the weighted mean (0 without an intercept) and the unit."""
    unit = checked_unit(largest_size(X))
    mean = np.zeros(X.shape[1])
    rows = X / unit if unit != 1.0 else X
    if not intercept:
        return rows, mean, unit
    share = weight / weight.sum()
    mean = share @ rows
    rows = np.subtract(rows, mean, out=scratch(rows.shape, np.float64))
    correction = share @ rows  # a long sum rounds
    if np.any(np.abs(correction) > COLUMN_NOISE * np.abs(mean)):
        rows -= correction
        mean += correction
    maybe = np.flatnonzero(np.abs(rows[0]) <= COLUMN_NOISE * np.abs(mean))
    largest = np.abs(rows[:, maybe]).max(axis=0, initial=0.0)
    rows[:, maybe[largest <= COLUMN_NOISE * np.abs(mean[maybe])]] = 0.0
    return rows, mean * unit, unit


def checked_unit(largest: float) -> float:
    """Return `safe_unit`; raise where even that cannot save what is divided by such values."""
    if 0.0 < largest < SMALLEST_VALUE:
        raise ValueError(
            f"X, y and sample_weight must each be 0 everywhere, or have a value of at least "
            f"{SMALLEST_VALUE:g}; the largest of one is {largest:.3g}, and dividing by that "
            f"overflows: rescale it"
        )
    return safe_unit(largest)


class Range(NamedTuple):
    """An orthonormal basis U of the range of a table X, and the way back to coefficients.

    X = U diag(sizes) Vᵀ diag(scale) with columns of X in the unit of their norms, so that the
    rank is not a matter of the units. Of all w with the same Xw the one of least norm is meant.
    """

    X: np.ndarray  # (n, d)
    U: np.ndarray  # (n, r)
    sizes: np.ndarray  # (r,), falling
    V: np.ndarray  # (d, r)
    scale: np.ndarray  # (d,)

    @classmethod
    def of(cls, X: np.ndarray, subtracted: Any = 0.0) -> Range:
        """Return the range; ``subtracted`` is the norm of what centring took from each column.

        Columns carry its rounding: what is not larger is no direction of theirs.
        """
        norms = np.sqrt(np.einsum("ij,ij->j", X, X))
        scale = np.where(norms > 0.0, norms, 1.0)
        U, sizes, Vt = thin_svd(X / scale)
        noise = float(np.max(np.where(norms > 0.0, subtracted / scale, 0.0), initial=0.0))
        keep = sizes > EPS * (max(X.shape) * sizes.max(initial=0.0) + NOISY_ROUNDINGS * noise)
        return cls(X, U[:, keep], sizes[keep], Vt[keep].T, scale)

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def condition(self) -> float:
        """The condition number of the table with columns of norm 1."""
        return float(self.sizes[0] / self.sizes[-1]) if self.rank else 1.0

    def coef(self, gamma: np.ndarray) -> np.ndarray:
        """Return the w of least norm with Xw = U gamma, for gamma of shape (r, t)."""
        w = self._solve(gamma)
        for _ in range(REFINEMENTS):
            w = w + self._solve(gamma - self.U.T @ (self.X @ w))
        return w

    def _solve(self, gamma: np.ndarray) -> np.ndarray:
        inner = gamma / self.sizes[:, None]
        if self.rank == len(self.scale):
            return (self.V @ inner) / self.scale[:, None]
        # large rows first, large columns first: stable however different the scales are
        order = np.argsort(-self.scale)
        rows = (self.scale[:, None] * self.V)[order]
        Q, R, pivots = qr(rows, mode="economic", pivoting=True, check_finite=False)
        w = np.empty((len(order), gamma.shape[1]))
        w[order] = Q @ solve_triangular(R, inner[pivots], trans="T", check_finite=False)
        return w


def thin_svd(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return U, s, Vᵀ; of tall tables through QR, which is faster."""
    n, d = X.shape
    if n <= 2 * d:
        return svd(X, full_matrices=False, check_finite=False)
    Q, R = qr(X, mode="economic", check_finite=False)
    U, sizes, Vt = svd(R, full_matrices=False, check_finite=False)
    return Q @ U, sizes, Vt


def all_targets(solutions: Sequence[Solution]) -> Solution:
    """Return the solutions of several targets as one, proved as well as the worst of them."""
    worst = max(solutions, key=lambda s: (not s.status.ok, s.certificate.value))
    proof = worst.certificate
    if len(solutions) > 1:
        each = {str(i): s.certificate.parts for i, s in enumerate(solutions)}
        parts = {**proof.parts, "problems": each}
        value = np.max([s.certificate.value for s in solutions])  # NaN if one of them is
        proof = Certificate(proof.kind, value, proof.tolerance, proof.about, parts)
    coef = np.column_stack([s.value for s in solutions])
    offset = np.array([s.intercept for s in solutions])
    return Solution(coef, worst.status, proof, offset)
