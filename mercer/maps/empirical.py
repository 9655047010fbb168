"""Maps by kernel values against the training points."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from mercer._array import parse_memory, take
from mercer._estimator import KeptRows
from mercer._sklearn import Interval
from mercer._state import Attribute, FittedRows, Floats, Integers, SizeOf
from mercer.gram import fresh_array, gram
from mercer.maps._base import KernelMap, some_rows
from mercer.result import Certificate, Solution, Status
from mercer.solvers import leading_eigenpairs
from mercer.solvers.gram_eigen import STORED_ARRAYS


class EmpiricalMap(KernelMap):
    """The empirical kernel map x ↦ (k(x, x_1), …, k(x, x_n)).

    Inner products of these features are not the kernel; with K⁺ between them they are:
    k(x, y) = φ(x)ᵀ K⁺ φ(y) for points of the sample. `KernelPCAMap` has that built in.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    n_components : int or None, default=None
        How many of the training points, drawn at random, are columns; None means all.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.
    memory : int, str or None, default=None
        The byte budget of the features; None is half of the free memory.

    Attributes
    ----------
    points_ : table or list
        The points of the columns (none are stored of a precomputed kernel).
    point_indices_ : array of int
        Their numbers among the training rows.
    certificate_ : Certificate
        How well K K⁺ K = K holds on up to 256 of the points.

    Examples
    --------
    >>> from mercer import EmpiricalMap
    >>> EmpiricalMap("linear").fit([[1.0, 0.0], [1.0, 2.0]]).transform([[3.0, 1.0]])
    array([[3., 5.]])
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_fit_": SizeOf("rows"),
        "point_indices_": Integers("points", below="rows"),
        "points_": KeptRows("points"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        n_components: int | None = None,
        *,
        random_state: Any = None,
        memory: int | str | None = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state
        self.memory = memory

    def fit(self, X: Any, y: Any = None) -> EmpiricalMap:
        """Keep the points of the columns; ``y`` is not used."""
        self._validate_params()
        sample, _, _ = self._fit_rows(X)
        self.n_fit_ = len(sample)
        self.point_indices_ = np.arange(len(sample))
        if self.n_components is not None and self.n_components < len(sample):
            random = check_random_state(self.random_state)
            self.point_indices_ = np.sort(random.permutation(len(sample))[: self.n_components])
        self.points_ = take(sample.data, slice(0) if self._pairwise else self.point_indices_)
        checked = sample[self.point_indices_[some_rows(len(self.point_indices_))]]
        proof = _reproduced(fresh_array(gram(self.kernel_, checked, dtype=np.float64)))
        self._accept(Solution(None, Status.OPTIMAL if proof.ok else Status.INACCURATE, proof))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the kernel values of rows against the points, shape (m, n)."""
        rows = self._new_rows(X)
        points = self._kept(self.points_, self.point_indices_, self.n_fit_)
        K = gram(self.kernel_, rows, points, storage="dense", dtype=np.float64, memory=self.memory)
        return K.toarray().astype(rows.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return len(self.point_indices_)


def _reproduced(K: np.ndarray) -> Certificate:
    """Prove φᵀK⁺φ = k: the solution Z of K Z = K by least squares gives K Z = K back."""
    largest = float(np.abs(K).max(initial=0.0)) or 1.0
    Z = np.linalg.lstsq(K, K, rcond=None)[0]
    error = float(np.abs(K @ Z - K).max(initial=0.0)) / largest
    about = f"k(x, y) = φ(x)ᵀ K⁺ φ(y) on {len(K)} points"
    return Certificate("Gram error", error, 1e-8, about, {"gram_error": error, "storage": "dense"})


class KernelPCAMap(KernelMap):
    """The kernel PCA map x ↦ K^(−½) (k(x, x_1), …, k(x, x_n)), in the basis of eigenvectors.

    With K = VΛVᵀ the features are Λ^(−½) Vᵀ (k(x, x_i)). Their inner products are the kernel:
    φ(x_i)·φ(x_j) = k(x_i, x_j) on the sample, and φ(x)·φ(x_j) = k(x, x_j) for any x, exact
    up to rounding if all components are kept. Nothing is centred: that is the difference to
    `KernelPCA`.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    n_components : int or None, default=None
        How many; None means all with a positive eigenvalue. Fewer give the best approximation of K
        of that rank.
    memory : int, str or None, default=None
        The byte budget; None is half of the free memory.

    Attributes
    ----------
    eigenvalues_, eigenvectors_ : array of shape (k,), (n, k)
        Of K, falling.
    certificate_ : Certificate
        Eigen residual, orthogonality error, and ``discarded``: tr(K − K̂)/tr(K) for the inner
        products K̂ of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCAMap
    >>> F = KernelPCAMap("linear").fit_transform(np.array([[3.0, 0.0], [0.0, 1.0]]))
    >>> (F @ F.T).round(6)
    array([[9., 0.],
           [0., 1.]])
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "X_fit_": FittedRows("rows"),
        "eigenvectors_": Floats("rows", "components"),
        "eigenvalues_": Floats("components"),
    }

    stores_rows = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None]
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        n_components: int | None = None,
        *,
        memory: int | str | None = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.memory = memory

    def fit(self, X: Any, y: Any = None) -> KernelPCAMap:
        """Find the eigenvectors of K; ``y`` is not used."""
        self._validate_params()
        sample, _, _ = self._fit_rows(X)
        self.X_fit_ = sample.data
        budget = parse_memory(self.memory)
        K = gram(self.kernel_, sample, memory=int(budget / STORED_ARRAYS), dtype=np.float64)
        solution = leading_eigenpairs(K, self.n_components, memory=budget)
        self.eigenvectors_, self.eigenvalues_ = solution.value, solution.eigenvalues
        if len(solution.negative):  # no real features have these inner products
            solution = replace(solution, status=Status.INDEFINITE)
        self._accept(solution)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the features of rows, shape (m, k)."""
        rows = self._new_rows(X)
        K = gram(self.kernel_, rows, self.X_fit_, storage="blocked", dtype=np.float64)
        features = K @ (self.eigenvectors_ / np.sqrt(self.eigenvalues_))
        return features.astype(rows.dtype, copy=False)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return the features of the training rows without computing K again."""
        self.fit(X, y)
        single = getattr(self.X_fit_, "dtype", None) == np.float32
        features = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        return features.astype(np.float32 if single else np.float64, copy=False)

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)
