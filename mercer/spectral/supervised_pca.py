"""Supervised principal component analysis."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from mercer._array import largest_size
from mercer._floats import EPS
from mercer._sklearn import Interval
from mercer._state import Attribute, Floats
from mercer.certify import eigen_residual
from mercer.gram import Gram, gram
from mercer.kernels import Kernel, Linear, as_kernel
from mercer.solvers import EigenSolution, symmetric_eigenpairs
from mercer.solvers.eigen import status_of
from mercer.spectral._base import COUNT, LinearProjection, NeedsTargets
from mercer.spectral._covariance import centred_in_unit, in_squared_units, narrow

ROUNDINGS = 100  # of a sum
FEW_VALUES = 20  # integers with more different values are numbers, not classes


class SupervisedPCA(NeedsTargets, LinearProjection):
    """Supervised PCA: the orthogonal directions along which X depends on y the most.

    max tr(Uᵀ Xᵀ H L H X U) over UᵀU = I, with H = I − 11ᵀ/n and L the kernel matrix of y (the
    Hilbert–Schmidt independence criterion with a linear kernel on X): the leading eigenvectors of
    Q = Xᵀ H L H X. With L = I it is PCA.

    Parameters
    ----------
    n_components : int or None, default=None
        How many directions; None means all with a positive eigenvalue, which no more have.
    kernel_y : Kernel, str or callable, default="auto"
        The kernel on the response. "delta" is 1 for equal labels, else 0. "auto" is "delta" for
        labels and for integers with at most 20 different values, "linear" for other numbers.
    n_permutations : int, default=0
        How often y is shuffled to find out how large the eigenvalues are by chance.
    random_state : int, RandomState instance or None, default=None
        The shuffles.

    Attributes
    ----------
    components_ : array of shape (k, d)
        Orthonormal directions in rows.
    mean_ : array of shape (d,)
        Means of the columns.
    eigenvalues_ : array of shape (k,)
        Eigenvalues of Q, falling.
    p_values_ : array of shape (k,)
        The share of shuffles whose j-th eigenvalue is at least the j-th of the data, the data
        counted as one of them; empty without shuffles.
    certificate_ : Certificate
        The eigen residual, the orthogonality error, what was discarded.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SupervisedPCA
    >>> X = np.random.default_rng(0).normal(size=(300, 3)) * [1.0, 9.0, 1.0]
    >>> components = SupervisedPCA(1).fit(X, X[:, 0]).components_
    >>> bool(abs(components[0, 0]) > 0.9)  # not the column of the largest variance
    True
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "eigenvalues_": Floats("components"),
        "p_values_": Floats("tests"),
    }

    many_targets = True
    named_parts = {"kernel_y": as_kernel}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [COUNT, None],
        "n_permutations": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel_y: Any = "auto",
        n_permutations: int = 0,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.kernel_y = kernel_y
        self.n_permutations = n_permutations
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> SupervisedPCA:
        """Find the directions for rows X and responses y (numbers, rows of them, or labels)."""
        self._validate_params()
        X, y = self._fit_table(X, y, multi_output=True, ensure_min_samples=2)
        response = _response(self.kernel_y, y, keep=self.n_permutations > 0)
        rows, mean, scale = centred_in_unit(X)
        if largest_size(rows) <= 4.0 * EPS * largest_size(mean):
            rows[:] = 0.0  # all rows are equal but for rounding
        basis, table = narrow(rows)
        solution = self._leading(response.quadratic(table))
        vectors, values = solution.value, solution.eigenvalues
        self.mean_ = mean * scale
        self.components_ = (vectors if basis is None else basis @ vectors).T
        self.eigenvalues_ = in_squared_units(values, scale, response.unit)
        self.p_values_ = self._shuffled(table, response, values)
        self._accept(solution)
        return self

    def _leading(self, Q: np.ndarray) -> EigenSolution:
        """Return the leading eigenpairs of Q, as far as they are positive."""
        found = symmetric_eigenpairs(Q, self.n_components)
        keep = found.eigenvalues > ROUNDINGS * EPS * max(float(np.trace(Q)), 0.0)
        values, vectors = found.eigenvalues[keep], found.value[:, keep]
        proof = eigen_residual(Q, values, vectors)
        return EigenSolution(vectors, status_of(proof), proof, eigenvalues=values)

    def _shuffled(self, rows: np.ndarray, response: Response, values: np.ndarray) -> np.ndarray:
        """Return the share of shuffles with eigenvalues as large, by their places."""
        k, rng = len(values), check_random_state(self.random_state)
        if self.n_permutations == 0 or k == 0:
            return np.zeros(0)
        reached = np.ones(k)
        for _ in range(self.n_permutations):
            Q = response.quadratic(rows[rng.permutation(len(rows))])
            reached += symmetric_eigenpairs(Q, k).eigenvalues >= values
        return reached / (1 + self.n_permutations)


# ------------------------------------------------------------------------ responses
class Response(NamedTuple):
    """The matrix H L H = unit² F Fᵀ of a response, by its products with centred rows only."""

    features: Any  # F, an array of shape (n, q); or L, a Gram matrix: H does nothing to such rows
    unit: float
    varies: bool  # whether there is more than rounding in it

    def quadratic(self, rows: np.ndarray) -> np.ndarray:
        """Return rowsᵀ F Fᵀ rows of centred rows, shape (d, d)."""
        if isinstance(self.features, Gram):
            Q = rows.T @ (self.features @ rows)
            return (Q + Q.T) / 2
        B = rows.T @ self.features
        return B @ B.T


def _response(kernel_y: Any, y: np.ndarray, *, keep: bool) -> Response:
    """Return the response, or say why it has nothing to say; ``keep`` L for several products."""
    if isinstance(kernel_y, str) and kernel_y == "auto":
        kernel_y = "delta" if _is_label(y) else "linear"
    if isinstance(kernel_y, str) and kernel_y == "delta":
        response = _of_labels(y)
    else:
        response = _of_kernel(as_kernel(kernel_y), y, keep)
    if not response.varies:
        raise ValueError(
            f"kernel_y={kernel_y!r} is constant on y, so that no direction depends on it; y must "
            f"take at least two different values"
        )
    return response


def _is_label(y: np.ndarray) -> bool:
    if y.dtype.kind in "iu":
        return len(np.unique(y)) <= FEW_VALUES
    return y.dtype.kind != "f"


def _of_labels(y: np.ndarray) -> Response:
    """Return the response of the delta kernel: centred indicators of the classes."""
    codes = np.unique(y, return_inverse=True, axis=0)[1].ravel()
    F = np.eye(codes.max() + 1)[codes]
    return Response(F - F.mean(axis=0), 1.0, len(F.T) > 1)


def _of_kernel(kernel: Kernel, y: np.ndarray, keep: bool) -> Response:
    table = y.reshape(len(y), -1)
    if type(kernel) is Linear:
        return _of_numbers(table)
    if kernel.domain == "vectors":
        table = np.ascontiguousarray(table, dtype=np.float64)
    points = table if kernel.domain == "vectors" or y.ndim > 1 else y
    L = gram(kernel, points, storage="auto" if keep else "blocked", dtype=np.float64)
    own, first = L.diagonal(), L.rows([0])[0]
    apart = np.abs(own + own[0] - 2.0 * first)  # squared distances to the first point
    return Response(L, 1.0, float(apart.max()) > ROUNDINGS * EPS * float(np.abs(own).max()))


def _of_numbers(table: np.ndarray) -> Response:
    """Return the response of the linear kernel, whose bias goes with the mean."""
    unit = largest_size(table) or 1.0
    F = table.astype(np.float64) / unit
    F = F - F.mean(axis=0)
    return Response(F, unit, largest_size(F) > 4.0 * EPS)
