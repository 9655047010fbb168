"""The Gram matrix as an operator: products, rows and diagonals, never n × n by surprise."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from mercer._array import allocate, as_index, as_vector, ranges

ALL = slice(None)
ROW_BLOCK_VALUES = 2**20  # values of a block of rows that passes through memory at once
COSTLY = 300  # operations for a value; one that costs more is computed only where it is needed
SINGLE_RANGE = 1e20  # sums of larger values leave the range of float32


class Gram(LinearOperator):
    """The matrix K with K_ij = k(x_i, y_j), as a `scipy.sparse.linalg.LinearOperator`.

    A storage implements ``_block(rows, columns)``, ``diagonal()`` and ``nbytes``; everything else
    follows from these and is overridden only where a storage can do better.
    """

    storage: ClassVar[str]
    exact: bool = True
    """Whether the values are those of the kernel (a low-rank storage says False)."""

    holds_array: bool = False
    """Whether ``toarray()`` is the storage itself, not to be written over."""

    keeps_rows: bool = True
    """Whether rows, once computed, are read and not computed again."""

    work: int = 1
    """About how many operations a value costs: 1 if it is stored."""

    @property
    def is_costly(self) -> bool:
        """Whether a value costs so much that only those needed should be computed."""
        return self.work > COSTLY

    def __init__(self, shape: tuple[int, int], dtype: Any, symmetric: bool):
        super().__init__(np.dtype(dtype), shape)
        self.symmetric = symmetric
        """Whether rows and columns stand for the same points in the same order."""

    # ------------------------------------------------------------ what a storage implements
    def _block(self, rows: Any, columns: Any) -> np.ndarray:
        """Return K at checked rows and columns (integers or a slice)."""
        raise NotImplementedError

    def diagonal(self) -> np.ndarray:
        """Return k(x_i, x_i), shape (n,)."""
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        """Return the bytes that this storage holds."""
        raise NotImplementedError

    # ------------------------------------------------------------ what follows
    def matmat(self, X: Any) -> np.ndarray:
        """Return K X; of complex columns the real and the imaginary part."""
        return _by_parts(super().matmat, X)

    def rmatmat(self, X: Any) -> np.ndarray:
        """Return Kᵀ X; of complex columns the real and the imaginary part."""
        return _by_parts(super().rmatmat, X)

    def rmatvec(self, x: Any) -> np.ndarray:
        """Return Kᵀ x; of a complex vector the real and the imaginary part."""
        return _by_parts(super().rmatvec, x)

    def _adjoint(self) -> LinearOperator:
        return TransposedGram(self)

    _transpose = _adjoint  # K is real

    def rows(self, index: Any) -> np.ndarray:
        """Return rows of K, shape (len(index), m)."""
        return self._block(as_index(index, self.shape[0], "index"), ALL)

    def toarray(self, memory: int | float | str | None = None) -> np.ndarray:
        """Return K as an array, if it fits into the budget."""
        out = allocate(self.shape, self.dtype, memory)
        for block in self._row_blocks():
            out[block] = self._block(block, ALL)
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        protect = copy and self.holds_array  # what is fresh needs no copy
        return np.array(self.toarray(), dtype=dtype, copy=True if protect else copy and None)

    def restrict(self, rows: Any, columns: Any = None) -> Gram:
        """Return the Gram matrix of some points, without copying K.

        ``restrict(fold)`` keeps the same rows and columns of a training matrix (of a rectangular
        one: the rows); ``restrict(test, train)`` keeps these rows and those columns.
        """
        rows, columns = self._indices(rows, columns)
        return RestrictedGram(self, rows, columns)

    def among(self, points: np.ndarray) -> np.ndarray:
        """Return the values among some points in increasing order, only to be read."""
        if self.holds_array and len(points) == self.shape[0]:
            return self.toarray()
        return self._block(points, points)

    def _indices(self, rows: Any, columns: Any) -> tuple[np.ndarray, np.ndarray]:
        rows = as_index(rows, self.shape[0], "rows")
        if columns is not None:
            return rows, as_index(columns, self.shape[1], "columns")
        return rows, rows if self.symmetric else np.arange(self.shape[1])

    def centered(
        self, weights: Any = None, reference: Gram | Centering | None = None
    ) -> CenteredGram:
        """Return K of the features minus their mean: H K Hᵀ with H = I − 1αᵀ, never formed.

        Parameters
        ----------
        weights : array of shape (n,), default=None
            α with Σα = 1; None means 1/n each.
        reference : Gram, default=None
            For new points against training points: the training matrix (or its centred form,
            whose weights are then used).
        """
        if reference is None and not self.symmetric:
            raise ValueError(
                "centering a matrix of new points needs reference=, the training Gram matrix"
            )
        if reference is None:
            return CenteredGram(self, Centering.of(self, weights))
        return CenteredGram(self, _centering_of_reference(reference, weights))

    def _row_blocks(self) -> list[slice]:
        return ranges(self.shape[0], max(1, ROW_BLOCK_VALUES // max(1, self.shape[1])))

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V, dtype=self.dtype)
        out = np.empty((self.shape[0], V.shape[1]), self.dtype)
        for block in self._row_blocks():
            np.matmul(self._block(block, ALL), V, out=out[block])
        return out

    def _rmatmat(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V, dtype=self.dtype)
        out = np.zeros((self.shape[1], V.shape[1]), self.dtype)
        for block in self._row_blocks():
            out += self._block(block, ALL).T @ V[block]
        return out

    def combine(self, rows: np.ndarray, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return Σᵣ wᵣ K[rows[r], columns] in float64; the columns are increasing integers."""
        out = np.zeros(len(columns))
        for part in ranges(len(rows), max(1, ROW_BLOCK_VALUES // max(1, len(columns)))):
            out += weights[part] @ self._block(rows[part], columns).astype(np.float64, copy=False)
        return out

    def error(self, rows: Any, weights: Any, columns: Any) -> float:
        """Return how far `bounded_sums` may be off at most; inf: it is not known."""
        return np.inf

    def bounded_sums(self, rows: Any, weights: Any, columns: Any) -> np.ndarray:
        """Return what `combine` does, of values in their precision, added up in float64."""
        return self.combine(rows, weights, columns)

    def in_double(self) -> Gram:
        """Return the same matrix in float64, for proofs (recomputed where it is not stored so)."""
        raise NotImplementedError(f"{type(self).__name__} has no float64 form")

    def row_means(self, weights: np.ndarray) -> np.ndarray:
        """Return K α in float64, whatever the precision of K."""
        out = np.empty(self.shape[0])
        for block in self._row_blocks():
            out[block] = self._block(block, ALL).astype(np.float64, copy=False) @ weights
        return out

    def __repr__(self) -> str:
        return f"<{self.shape[0]} × {self.shape[1]} {type(self).__name__} of {self.dtype}>"


class TransposedGram(LinearOperator):
    """Kᵀ, by the products of K."""

    def __init__(self, base: Gram):
        super().__init__(base.dtype, base.shape[::-1])
        self.base = base

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        return self.base.rmatmat(V)

    def _rmatmat(self, V: np.ndarray) -> np.ndarray:
        return self.base.matmat(V)

    def _adjoint(self) -> LinearOperator:
        return self.base

    _transpose = _adjoint


def _by_parts(product: Callable[[Any], Any], X: Any) -> Any:
    """Return a real matrix times a vector or columns, which may be complex."""
    if not np.iscomplexobj(X):
        return product(X)
    return product(np.real(X)) + 1j * product(np.imag(X))


def fresh_array(K: Gram, memory: int | float | str | None = None) -> np.ndarray:
    """Return K as an array of finite values that the caller may write over, within the budget."""
    array = K.toarray(memory)
    require_finite(array.min(initial=0.0) + array.max(initial=0.0))
    if not K.holds_array:
        return array
    out = allocate(K.shape, K.dtype, memory)
    out[...] = array
    return out


def require_finite(value: Any) -> None:
    """Raise if kernel values, or a sum or an extreme of them, are no numbers: some overflow."""
    if not np.isfinite(value).all():
        raise ValueError(
            "the Gram matrix has values that are not finite: the kernel overflows on X; rescale X "
            "or use kernel.normalized()"
        )


class RestrictedGram(Gram):
    """Some rows and columns of another Gram matrix, read through it."""

    def __init__(self, base: Gram, rows: np.ndarray, columns: np.ndarray):
        symmetric = base.symmetric and np.array_equal(rows, columns)
        super().__init__((len(rows), len(columns)), base.dtype, symmetric)
        self.base, self._rows, self._columns = base, rows, columns
        self.exact, self.keeps_rows, self.work = base.exact, base.keeps_rows, base.work

    @property
    def storage(self) -> str:  # type: ignore[override]
        return self.base.storage

    def _block(self, rows: Any, columns: Any) -> np.ndarray:
        return self.base._block(self._rows[rows], self._columns[columns])

    def combine(self, rows: np.ndarray, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return self.base.combine(self._rows[rows], weights, self._columns[columns])

    def diagonal(self) -> np.ndarray:
        return self.base.diagonal()[self._rows]

    def in_double(self) -> Gram:
        return self.base.in_double().restrict(self._rows, self._columns)

    def restrict(self, rows: Any, columns: Any = None) -> Gram:
        rows, columns = self._indices(rows, columns)
        return self.base.restrict(self._rows[rows], self._columns[columns])

    @property
    def nbytes(self) -> int:
        return 0


class Centering(NamedTuple):
    """What centring in feature space needs: α, Kα of the training points, and αᵀKα."""

    weights: np.ndarray
    means: np.ndarray
    total: float

    @classmethod
    def of(cls, gram: Gram, weights: Any = None) -> Centering:
        """Return the centring of a training Gram matrix."""
        if not isinstance(gram, Gram):
            raise TypeError(f"reference must be a Gram; got {type(gram).__name__}")
        if not gram.symmetric:
            raise ValueError(f"reference must be a training Gram matrix (square); got {gram.shape}")
        n = gram.shape[0]
        alpha = np.full(n, 1.0 / n) if weights is None else _check_weights(weights, n)
        means = gram.row_means(alpha)
        total = float(alpha @ means)
        require_finite(total)
        return cls(alpha, means, total)


def _centering_of_reference(reference: Gram | Centering, weights: Any) -> Centering:
    """Return what centres new points as the training points are centred."""
    if isinstance(reference, Centering):
        return reference
    if isinstance(reference, CenteredGram):
        return reference.centering if weights is None else Centering.of(reference.base, weights)
    return Centering.of(reference, weights)


def _check_weights(weights: Any, n: int) -> np.ndarray:
    weights = as_vector(weights, n, "weights")
    if not np.isclose(weights.sum(), 1.0, rtol=0, atol=1e-8):
        raise ValueError(f"weights must sum to 1; they sum to {weights.sum():.6g}")
    return weights


class CenteredGram(Gram):
    """K_ij − (Kα)_i − (Kα)_j + αᵀKα: inner products of features minus their (weighted) mean."""

    def __init__(self, base: Gram, centering: Centering):
        if base.shape[1] != len(centering.weights):
            raise ValueError(
                f"reference has {len(centering.weights)} points, this has {base.shape[1]} columns"
            )
        super().__init__(base.shape, base.dtype, base.symmetric)
        self.base, self.centering, self.exact = base, centering, base.exact

    @cached_property
    def _means(self) -> np.ndarray:
        """Kα of the points of the rows."""
        if self.symmetric:
            return self.centering.means
        return self.base.row_means(self.centering.weights)

    @property
    def storage(self) -> str:  # type: ignore[override]
        return self.base.storage

    def _block(self, rows: Any, columns: Any) -> np.ndarray:
        return self._center(np.array(self.base._block(rows, columns)), rows, columns)

    def toarray(self, memory: int | float | str | None = None) -> np.ndarray:
        return self._center(fresh_array(self.base, memory), ALL, ALL)

    def _center(self, block: np.ndarray, rows: Any, columns: Any) -> np.ndarray:
        """Take the means off, in place."""
        block -= self._means[rows][:, None]
        block -= (self.centering.means - self.centering.total)[columns]
        return block

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V, dtype=np.float64)
        alpha, means, total = self.centering
        sums = V.sum(axis=0)
        if self.symmetric:
            product, own = self.base._matmat(V), means
        else:  # one pass over K gives both K V and K α
            both = self.base._matmat(np.column_stack([V, alpha]))
            product, own = both[:, :-1], both[:, -1]
        product = product - np.outer(own, sums) - (means @ V - total * sums)
        return product.astype(self.dtype, copy=False)

    def _rmatmat(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V, dtype=np.float64)
        means = self.centering.means - self.centering.total
        product = self.base._rmatmat(V) - np.outer(means, V.sum(axis=0)) - self._means @ V
        return product.astype(self.dtype, copy=False)

    def diagonal(self) -> np.ndarray:
        diagonal = self.base.diagonal() - self._means - self.centering.means + self.centering.total
        return diagonal.astype(self.dtype, copy=False)

    def row_means(self, weights: np.ndarray) -> np.ndarray:
        means, total = self.centering.means, self.centering.total
        inner = self.base.row_means(weights)
        return inner - self._means * weights.sum() - (means @ weights - total * weights.sum())

    @property
    def nbytes(self) -> int:
        return self.base.nbytes + self.centering.means.nbytes + self.centering.weights.nbytes


def center_rows(rows: Any, reference: Any, weights: Any = None) -> np.ndarray:
    """Return kernel rows of new points, centred by the training points.

    k̃(x, x_j) = k(x, x_j) − Σᵢ αᵢ k(x, x_i) − Σᵢ αᵢ k(x_i, x_j) + Σᵢₗ αᵢ αₗ k(x_i, x_l)

    Parameters
    ----------
    rows : array of shape (m, n)
        Kernel values of m new points against the n training points.
    reference : Gram
        The training Gram matrix, or its centred form.
    weights : array of shape (n,), default=None
        α with Σα = 1; None means 1/n each, or the weights of a centred reference.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import center_rows, gram
    >>> X, new = np.array([[0.0], [2.0]]), np.array([[3.0]])
    >>> center_rows(new @ X.T, gram("linear", X))
    array([[-2.,  2.]])
    """
    rows = np.asarray(rows)
    centering = _centering_of_reference(reference, weights)
    if rows.ndim != 2 or rows.shape[1] != len(centering.weights):
        raise ValueError(
            f"rows must have shape (m, {len(centering.weights)}), one column for each training "
            f"point; got {rows.shape}"
        )
    return rows - (rows @ centering.weights)[:, None] - centering.means + centering.total
