"""Locally linear embedding: each point stays the same mixture of its neighbours."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from mercer._array import largest_size, ranges
from mercer._estimator import TableTransformer
from mercer._floats import TINY
from mercer._sklearn import StrOptions
from mercer._state import Attribute, Floats, Integers, one_more
from mercer.solvers import smallest_eigenpairs
from mercer.spectral._alignment import BLOCK_VALUES, alignment, neighbourhoods
from mercer.spectral._base import COUNT, POSITIVE, Embedding
from mercer.spectral._graph import TablePoints, check_neighbours, nearest_others, neighbour_matrix
from mercer.spectral._scaling import of_graph, without_direction


class LLE(Embedding, TableTransformer):
    """Locally linear embedding: coordinates in which each point is the mixture it was.

    x ≈ Σⱼ wⱼ xⱼ over the neighbours with Σw = 1 gives the weights; the coordinates minimise
    ‖Z − WZ‖² with ZᵀZ = I, 1ᵀZ = 0: the eigenvectors of (I − W)ᵀ(I − W) with the smallest
    eigenvalues after the constant one. A new point is the mixture of its neighbours' coordinates.

    Other methods put another matrix M in the place of (I − W)ᵀ(I − W): "modified" takes several
    weights for each point [1]_, "hessian" second derivatives in tangent coordinates [2]_, "ltsa"
    what local tangent spaces do not explain [3]_.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours a point is a mixture of.
    n_components : int, default=2
        The number of coordinates.
    method : {"standard", "modified", "hessian", "ltsa"}, default="standard"
        What the coordinates keep, see above. "hessian" needs more than m(m + 3)/2 neighbours for m
        coordinates, "ltsa" more than m, "modified" as many.
    reg : float, default=1e-3
        What is added to the diagonal of the local Gram matrices, as a share of their trace.

    Attributes
    ----------
    embedding_ : array of shape (n, k)
        The coordinates of the training points.
    eigenvalues_ : array of shape (k,)
        ‖z − Wz‖² of each coordinate (of other methods zᵀMz), rising.
    reconstruction_error_ : float
        Their sum, ‖Z − WZ‖².
    n_graph_components_ : int
        Into how many parts the neighbour graph falls; with more than one the coordinates only
        tell the parts from each other, and a warning says so.
    certificate_ : Certificate
        Eigen residual and orthogonality error.

    References
    ----------
    .. [1] Z. Zhang, J. Wang, "MLLE: Modified locally linear embedding using multiple weights",
       NIPS 19 (2006).
    .. [2] D. Donoho, C. Grimes, "Hessian eigenmaps", PNAS 100 (2003) 5591–5596.
    .. [3] Z. Zhang, H. Zha, "Principal manifolds and nonlinear dimensionality reduction via
       tangent space alignment", SIAM Journal on Scientific Computing 26 (2004) 313–338.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LLE
    >>> t = np.linspace(0, 3, 40)
    >>> arc = np.column_stack([np.cos(t), np.sin(t)])
    >>> z = LLE(n_neighbors=4, n_components=1).fit_transform(arc)[:, 0]
    >>> bool((np.diff(z) > 0).all() or (np.diff(z) < 0).all())
    True
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_neighbors": Integers(least=1, below=one_more("rows")),
        "n_graph_components_": Integers(least=1),
        "eigenvalues_": Floats("components"),
        "reconstruction_error_": Floats(),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbors": [COUNT],
        "n_components": [COUNT],
        "method": [StrOptions({"standard", "modified", "hessian", "ltsa"})],
        "reg": [POSITIVE],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        n_components: int = 2,
        *,
        method: str = "standard",
        reg: float = 1e-3,
    ):
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.method = method
        self.reg = reg

    def fit(self, X: Any, y: Any = None) -> LLE:
        """Find the coordinates of the rows X; ``y`` is not used."""
        self._validate_params()
        X = self._fit_table(X, ensure_min_samples=2)
        n = X.shape[0]
        check_neighbours(self.n_neighbors, n)
        if self.n_components >= n:
            raise ValueError(
                f"n_components must be smaller than the number of points, n_samples = {n}; got "
                f"{self.n_components}"
            )
        self.X_fit_ = X
        _, index = nearest_others(TablePoints(X), self.n_neighbors)
        joined = neighbour_matrix(index, 1.0, n)
        self.n_graph_components_ = int(connected_components(joined, directed=False)[0])
        solution = smallest_eigenpairs(self._costs(X, index), self.n_components + 1)
        self._keep(*without_direction(solution.eigenvalues, solution.value, np.ones(n)))
        matrix = "(I − W)ᵀ(I − W)" if self.method == "standard" else "M"
        about = f"{matrix} z = λ z for {self.n_components} coordinates of {n} points"
        count = self.n_graph_components_
        self._accept(of_graph(solution, about, count, trace=None, discarded=None))
        return self

    def _costs(self, X: np.ndarray, index: np.ndarray) -> Any:
        """Return the matrix whose eigenvectors are the coordinates."""
        if self.method != "standard":
            return sp.csc_array(alignment(X, index, self.method, self.n_components))
        W = neighbour_matrix(index, self._weights(X, index), len(index))
        rest = sp.csc_array(sp.eye_array(len(index), format="csr") - W)
        return rest.T @ rest

    def _keep(self, values: np.ndarray, vectors: np.ndarray) -> None:
        self.eigenvalues_ = np.maximum(values, 0.0)
        self.reconstruction_error_ = float(self.eigenvalues_.sum())
        self.embedding_ = vectors

    def _weights(self, X: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Return for each row the weights of its neighbours, which sum to 1, shape (m, k)."""
        k = index.shape[1]
        scale = max(largest_size(self.X_fit_), TINY)  # squares neither overflow nor vanish
        out = np.empty(index.shape)
        for rows in neighbourhoods(len(X), k, X.shape[1]):
            gaps = self.X_fit_[index[rows]].astype(np.float64) - X[rows][:, None]  # (b, k, d)
            out[rows] = _mixtures(gaps / scale, self.reg)
        return out

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of new rows, shape (m, k)."""
        X = self._new_table(X)
        _, index = TablePoints(self.X_fit_).nearest(X, self.n_neighbors)
        out = np.empty((len(X), self._n_features_out))
        for rows in ranges(len(X), max(1, BLOCK_VALUES // self.n_neighbors)):
            weights = self._weights(X[rows], index[rows])
            out[rows] = np.einsum("mk,mkc->mc", weights, self.embedding_[index[rows]])
        return out.astype(X.dtype, copy=False)


def _mixtures(gaps: np.ndarray, reg: float) -> np.ndarray:
    """Return w with Σw = 1 that minimise ‖Σ w (x_j − x)‖² + R‖w‖², R = reg Σ‖x_j − x‖²."""
    G = gaps @ gaps.transpose(0, 2, 1)  # (b, k, k)
    trace = np.trace(G, axis1=1, axis2=2)
    ridge = np.where(trace > 0, reg * trace, 1.0)
    G[:, np.arange(G.shape[1]), np.arange(G.shape[1])] += ridge[:, None]
    G /= ridge[:, None, None]  # the size of the gaps does not matter
    w = np.linalg.solve(G, np.ones((*G.shape[:2], 1)))[:, :, 0]
    return w / w.sum(axis=1, keepdims=True)
