"""What a logistic regression is made of: its table, its likelihood, separation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._array import largest_size
from mercer._floats import COLUMN_NOISE
from mercer._limits import Limits
from mercer._scratch import scratch
from mercer._threads import threads_for
from mercer.linear._base import Range, checked_unit
from mercer.optimize import linear_program
from mercer.result import Status

DIRECT_OPERATIONS = 5e7  # of a Hessian and its factor: up to these, steps are solved directly
SHORT_ROW = 40  # entries
MARGIN_BEHIND = 1e-7  # margin, relative to the largest, that a linear program may leave below 0
MARGIN_AHEAD = 1e-7  # margin, relative to what is possible, that is more than rounding


class LogisticDesign(NamedTuple):
    """Columns A, scales and penalties of coordinates θ, and the way back to coefficients.

    G = A (θ / scale). Columns are centred (not those of a sparse table), and scaled so that the
    curvature at the start is about 1 in each coordinate; the last one is that of the intercept.
    Without a penalty the columns are a basis of the range of X, so that w is of least norm.
    """

    A: Any  # (n, m)
    scale: np.ndarray  # (m, 1)
    penalty: np.ndarray  # (m, 1), of θ²/2
    mean: np.ndarray  # (d,)
    unit: float
    intercept: bool
    basis: Range | None
    products: np.ndarray | None  # AᵀWA of a dense table whose steps may be solved directly

    @classmethod
    def of(
        cls, X: Any, weight: np.ndarray, lam: float, intercept: bool, by_columns: bool = False
    ) -> LogisticDesign:
        """Return the columns for a penalty λ; ``by_columns`` keeps them apart without one, too."""
        unit = checked_unit(largest_size(X))
        if float(lam) / unit / unit == np.inf:
            raise ValueError(
                f"lam over squares of X overflows (lam={lam:g}, X: {unit:g}); rescale X"
            )
        A: Any
        A, mean = (_sparse if sp.issparse(X) else _dense)(X, unit, weight, intercept)
        d, basis, products = X.shape[1], None, None
        if sp.issparse(A):
            squares = np.asarray(A.power(2).T @ weight)
        else:
            products, squares = _products(A, weight)
            if intercept:
                noise = (COLUMN_NOISE * mean / unit) ** 2 * weight.sum()
                _drop_constant(A, products, squares, np.flatnonzero(squares[:d] <= noise))
            if lam == 0.0 and not by_columns:
                basis = Range.of(A[:, :d], np.abs(mean / unit) * len(A) ** 0.5)
                A = np.hstack([basis.U, A[:, d:]])
                products, squares = _products(A, weight)
        penalties = np.full(len(squares), lam / unit / unit)
        if intercept:
            penalties[-1] = 0.0
        scale = np.sqrt(0.25 * squares + penalties)
        scale[scale == 0.0] = 1.0
        penalty = (penalties / scale / scale)[:, None]
        return cls(A, scale[:, None], penalty, mean, unit, intercept, basis, products)

    def values(self, theta: np.ndarray) -> np.ndarray:
        """Return G = A (θ / scale)."""
        with threads_for(self._products_of(theta)):
            return product_by_columns(self.A, theta / self.scale)

    def slopes(self, S: np.ndarray) -> np.ndarray:
        """Return the derivative in θ of what has the slopes S in G."""
        with threads_for(self._products_of(S)):
            return product_of_columns(self.A, S) / self.scale

    def _products_of(self, V: np.ndarray) -> float:
        """Return the multiplications of a product with a table V."""
        return float(self.A.shape[0]) * self.A.shape[1] * V.shape[1]

    def back(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return w (d, k) and b (k,) in the units of the data."""
        gamma = theta / self.scale
        inner, offset = (gamma[:-1], gamma[-1]) if self.intercept else (gamma, 0.0)
        w = (inner if self.basis is None else self.basis.coef(inner)) / self.unit
        return w, offset - self.mean @ w

    def inner(self, w: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the coordinates θ of w (d, k) and b (k,): what `back` leads back to them."""
        gamma = w * self.unit
        if self.basis is not None:
            gamma = self.basis.U.T @ (self.basis.X @ gamma)
        if self.intercept:
            gamma = np.vstack([gamma, b + self.mean @ w])
        return gamma * self.scale


def _dense(
    X: Any, unit: float, weight: np.ndarray, intercept: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the centred columns, in one pass, with one of ones; and the means."""
    n, d = X.shape
    A = scratch((n, d + intercept), np.float64)
    mean = np.zeros(d)
    if intercept:
        A[:, d] = 1.0
        mean = (weight / weight.sum()) @ X
        mean = mean.astype(np.float64)
    np.subtract(X, mean, out=A[:, :d])
    if unit != 1.0:
        A[:, :d] /= unit
    return A, mean


def _sparse(X: Any, unit: float, weight: np.ndarray, intercept: bool) -> tuple[Any, np.ndarray]:
    A = sp.csr_array(X, dtype=np.float64) / unit
    if intercept:
        A = sp.csr_array(sp.hstack([A, np.ones((X.shape[0], 1))]))
    return A, np.zeros(X.shape[1])


def _drop_constant(
    A: np.ndarray, products: np.ndarray | None, squares: np.ndarray, constant: np.ndarray
) -> None:
    """Set columns to 0 whose squares are rounding: their values are all equal."""
    A[:, constant] = 0.0
    squares[constant] = 0.0
    if products is not None:
        products[constant] = 0.0
        products[:, constant] = 0.0


def scaled(A: Any, scale: np.ndarray) -> Any:
    """Return a table with its columns divided by their scales."""
    return A @ sp.diags_array(1.0 / scale) if sp.issparse(A) else A / scale


def product_by_columns(A: Any, V: np.ndarray) -> np.ndarray:
    """Return AV, of a dense table with its columns one behind the other.

    So what is done to few columns for each row is done to long stretches of memory. Of the two ways
    to write the product BLAS is faster with the one in float32, with the other in float64.
    """
    if sp.issparse(A):
        return np.asarray(A @ V)
    return np.asfortranarray(A @ V) if A.dtype == np.float32 else (V.T @ A.T).T


def product_of_columns(A: Any, S: np.ndarray) -> np.ndarray:
    """Return AᵀS; of a dense table it is faster by the rows of Sᵀ, which are columns of S."""
    return np.asarray(A.T @ S) if sp.issparse(A) else (S.T @ A).T


def factor_cost(n: int, m: int) -> float:
    """Return the operations of a Hessian of m coordinates from n rows, and of its factor."""
    return 0.5 * n * m**2 + m**3 / 3


def _products(A: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Return AᵀWA, or None where it is too large to be of use, and its diagonal."""
    if factor_cost(*A.shape) > DIRECT_OPERATIONS:
        return None, np.einsum("i,ij,ij->j", weight, A, A)
    with threads_for(float(A.size) * A.shape[1]):
        if (weight == weight[0]).all():
            products = weight[0] * (A.T @ A)
        else:
            B = A * np.sqrt(weight)[:, None]
            products = B.T @ B
    return products, np.diag(products).copy()


# ---------------------------------------------------------------- likelihood
class BinaryPoint(NamedTuple):
    """Value, slopes (n, 1) and curvature at a G of shape (n, 1)."""

    value: float
    slopes: np.ndarray
    h: np.ndarray  # (n,)

    def apply(self, V: np.ndarray) -> np.ndarray:
        """Return the curvature times V."""
        return self.h[:, None] * V

    def entry(self, c: int, d: int) -> np.ndarray:
        """Return the curvature in the functions c and d, for each row."""
        return self.h

    def rounded(self, dtype: Any) -> BinaryPoint:
        """Return the same in another precision."""
        return self._replace(h=self.h.astype(dtype))


class SoftmaxPoint(NamedTuple):
    """Value, slopes (n, k) and probabilities at a G of shape (n, k)."""

    value: float
    slopes: np.ndarray
    P: np.ndarray  # (n, k)
    w: np.ndarray  # (n, 1)

    def apply(self, V: np.ndarray) -> np.ndarray:
        """Return the curvature w (diag(p) − ppᵀ) times V."""
        Z = self.P * V
        Z -= self.P * row_sums(Z)
        Z *= self.w
        return Z

    def entry(self, c: int, d: int) -> np.ndarray:
        """Return the curvature in the functions c and d, for each row."""
        p, q = self.P[:, c], self.P[:, d]
        return self.w[:, 0] * (p * (1.0 - p) if c == d else -p * q)

    def rounded(self, dtype: Any) -> SoftmaxPoint:
        """Return the same in another precision."""
        return self._replace(P=self.P.astype(dtype), w=self.w.astype(dtype))


def row_maxima(G: np.ndarray) -> np.ndarray:
    """Return the largest of each row, as a column; of short rows a column after the other."""
    if G.shape[1] > SHORT_ROW:
        return G.max(axis=1, keepdims=True)
    largest = G[:, 0].copy()
    for column in G.T[1:]:
        np.maximum(largest, column, out=largest)
    return largest[:, None]


def row_sums(Z: np.ndarray) -> np.ndarray:
    """Return Σ of each row, as a column: a product, which short rows are much faster by."""
    return Z @ np.ones((Z.shape[1], 1), Z.dtype)


class BinaryLikelihood:
    """Σ w log(1 + exp(−yg)) with labels y = ±1."""

    n_outputs = 1

    def __init__(self, codes: np.ndarray, weight: np.ndarray):
        self.y, self.w = 2.0 * codes - 1.0, weight

    def at(self, G: np.ndarray) -> BinaryPoint:
        """Return what is known of the likelihood at G."""
        margin = self.y * G[:, 0]
        e = np.exp(-np.abs(margin))
        share = 1.0 / (1.0 + e)
        p = np.where(margin > 0.0, e * share, share)  # of the other class
        wp = self.w * p
        value = float(self.w @ (np.log1p(e) - np.minimum(margin, 0.0)))
        return BinaryPoint(value, (-self.y * wp)[:, None], wp * (1.0 - p))

    def margins(self, G: np.ndarray) -> np.ndarray:
        """Return by how much each label is ahead of the other, (n,)."""
        return self.y * G[:, 0]


class SoftmaxLikelihood:
    """Σ w [log Σ_c exp(g_c) − g_y]."""

    def __init__(self, codes: np.ndarray, weight: np.ndarray, n_classes: int):
        self.codes, self.w, self.n_outputs = codes, weight[:, None], n_classes
        self.rows = np.arange(len(codes))

    def at(self, G: np.ndarray) -> SoftmaxPoint:
        """Return what is known of the likelihood at G."""
        shifted = G - row_maxima(G)
        P = np.exp(shifted)
        total = row_sums(P)
        P /= total
        losses = np.log(total[:, 0]) - shifted[self.rows, self.codes]
        slopes = P.copy(order="K")
        slopes[self.rows, self.codes] -= 1.0
        slopes *= self.w
        return SoftmaxPoint(float(self.w[:, 0] @ losses), slopes, P, self.w)

    def margins(self, G: np.ndarray) -> np.ndarray:
        """Return by how much each label is ahead of the best other one, (n,)."""
        others = G.copy()
        others[self.rows, self.codes] = -np.inf
        return G[self.rows, self.codes] - others.max(axis=1)


Likelihood = BinaryLikelihood | SoftmaxLikelihood
LikelihoodPoint = BinaryPoint | SoftmaxPoint


# ---------------------------------------------------------------- separation
class Separation(NamedTuple):
    """A separating direction θ (m, k) and whether all labels are strictly ahead."""

    theta: np.ndarray
    complete: bool

    @property
    def kind(self) -> str:
        """The name of the case."""
        return "complete" if self.complete else "quasi-complete"


def find_separation(
    A: Any, codes: np.ndarray, k: int, limits: Limits
) -> tuple[Separation | None, Status | None]:
    """Return a separating direction, or None: then the likelihood has a maximum.

    It has none if and only if some θ ≠ 0 puts no label behind another class and some label ahead
    of one. If all are ahead the separation is complete, else it is quasi-complete.

    The linear program max Σ margins with all margins ≥ 0 and |θ| ≤ 1 has the value 0 if and only
    if there is none. The status says if it was stopped before that was known.
    """
    M = _margin_table(A, codes, k)
    some, stopped = _program(M, np.asarray(M.sum(axis=0)).ravel(), 0.0, limits)
    if some is None:
        return None, stopped
    every, _ = _program(M, np.zeros(M.shape[1]), 1.0, limits)
    theta = some if every is None else every
    return Separation(theta.reshape(k, -1).T, every is not None), None


def _program(
    M: Any, gains: np.ndarray, share: float, limits: Limits
) -> tuple[np.ndarray | None, Status | None]:
    """Maximise gains·θ + share · t with all margins ≥ share · t and |θ| ≤ 1; None if that is 0."""
    room = np.full((M.shape[0], 1), share)
    table = sp.hstack([-M, room], "csr") if sp.issparse(M) else np.hstack([-M, room])
    found = linear_program(
        -np.append(gains, share),
        table,
        np.zeros(M.shape[0]),
        bounds=(-1.0, 1.0),
        time_limit=limits.seconds_left(),
    )
    theta = found.value[:-1]
    margins = np.asarray(M @ theta)
    possible = float(np.max(abs(M).sum(axis=1)))
    ahead = float(margins.min() if share else margins.max())
    if ahead <= MARGIN_AHEAD * possible or margins.min() < -MARGIN_BEHIND * float(
        np.abs(margins).max()
    ):
        stopped = found.status in (Status.TIME_LIMIT, Status.INTERRUPTED)
        return None, found.status if stopped else None
    return theta, None


def _margin_table(A: Any, codes: np.ndarray, k: int) -> Any:
    """Return the table whose products with θ (class by class) are the margins of all labels."""
    if k == 1:
        sign = 2.0 * codes - 1.0
        return sp.diags_array(sign) @ A if sp.issparse(A) else A * sign[:, None]
    A = sp.csr_array(A)
    return sp.vstack([_against(A[codes != c], codes[codes != c], c, k) for c in range(k)], "csr")


def _against(A: Any, codes: np.ndarray, other: int, k: int) -> Any:
    """Return the table of the margins of rows against one class that is not theirs."""
    parts = [sp.diags_array((codes == c) - 1.0 * (c == other)) @ A for c in range(k)]
    return sp.hstack(parts, "csr")
