"""Classical multidimensional scaling: points from their distances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigvalsh
from sklearn.metrics import pairwise_distances

from mercer._array import allocate, as_table, largest_size, ranges
from mercer._floats import TINY, require_squares
from mercer._sklearn import _VALID_METRICS, StrOptions
from mercer._state import Attribute, Floats, Instance, Maybe, Tuple
from mercer.certify import eigen_residual
from mercer.gram import Gram, fresh_array, gram
from mercer.kernels import VectorKernel
from mercer.kernels.sample import Sample
from mercer.schoenberg import Identity, Transform, as_transform
from mercer.solvers import EigenSolution, fix_signs, leading_eigenpairs
from mercer.solvers.eigen import status_of
from mercer.spectral._base import COUNT, centered_product
from mercer.spectral._covariance import narrow, principal_axes
from mercer.spectral._scaling import (
    ScaledEmbedding,
    centered_products,
    check_distances,
    check_not_negative,
    with_parts,
)

BLOCK_VALUES = 2**20  # distances that are compared together
ZERO_SHARE = 1e-10  # eigenvalues below this share of the largest are zero
LARGEST_UNIT = 1e153  # the eigenvalues are in its square
NOTED_SHARE = 1e-6  # negative eigenvalues beyond this share are worth a note
NOTE = (
    "the distances are not Euclidean: the coordinates cannot reproduce them; see check_distance, "
    "and transform=schoenberg.Power(p) with a small p"
)


class HalfSquares(VectorKernel):
    """−½Φ(‖x − y‖²): inner products of the scaled points, once centred."""

    statistic = "squared_distance"
    _parameter_constraints: ClassVar[dict[str, Any]] = {"transform": [Transform]}

    def __init__(self, transform: Transform):
        self.transform = transform

    def epilogue(self, values: np.ndarray) -> None:
        self.transform.apply(values)
        values *= -0.5


class _MDS(ScaledEmbedding):
    """Everything of `MDS` but the name ``transform``, which is a parameter and a method there."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "transform_": Instance(Transform),
        "kernel_": Maybe(Instance(HalfSquares)),
        "mean_": Maybe(Floats("columns")),
        "negative_eigenvalues_": Floats("negative eigenvalues"),
        "goodness_of_fit_": Tuple(Floats(), Floats()),
        "is_euclidean_": Instance(bool),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [COUNT],
        "metric": [StrOptions({"precomputed", *_VALID_METRICS}), callable],
        "transform": [Transform, str, None],
    }

    n_components: int

    def fit(self, X: Any, y: Any = None) -> Any:
        """Find the coordinates of points from a table or from distances; ``y`` is not used."""
        self._validate_params()
        self.transform_ = as_transform(vars(self)["transform"])
        self.X_fit_ = self._fit_table(X, ensure_min_samples=2)
        if not self._is_euclidean:
            self._fit_given(self._training_distances(self.X_fit_))
        elif self._is_linear:
            self._fit_linear(as_table(self.X_fit_, "X", "MDS"))
        else:
            self._fit_transformed(self.X_fit_)
        return self

    @property
    def _is_euclidean(self) -> bool:
        return isinstance(self.metric, str) and self.metric in ("euclidean", "l2")

    @property
    def _is_linear(self) -> bool:
        """Whether the answer is that of PCA."""
        return self._is_euclidean and isinstance(self.transform_, Identity)

    # ------------------------------------------------------------ distances of any metric
    def _training_distances(self, X: np.ndarray) -> np.ndarray:
        """Return the checked distances of the training points."""
        if self._is_given:
            check_distances(X)
            return X
        D = allocate((len(X), len(X)), np.float64)
        for rows in ranges(len(X), max(1, BLOCK_VALUES // len(X))):
            D[rows] = self._distances_from(X[rows])
        if isinstance(self.metric, str):
            np.fill_diagonal(D, 0.0)  # where rounding may have left something
        check_distances(D, f"the metric {self.metric!r}")
        return D

    def _distances_from(self, X: np.ndarray) -> np.ndarray:
        """Return the distances of rows to the training points."""
        return X if self._is_given else pairwise_distances(X, self.X_fit_, metric=self.metric)

    # ------------------------------------------------------------ three ways to the same answer
    def _fit_linear(self, X: np.ndarray) -> None:
        """Turn the table: B = X̃X̃ᵀ has the scores X̃V for its V √Λ, with X̃ᵀX̃ = VΛVᵀ.

        V is orthonormal to the last digit, so that distances stay, however small.
        """
        self.scale_ = max(largest_size(X), TINY)
        self.mean_ = X.mean(axis=0, dtype=np.float64)
        rows = X - self.mean_
        rows -= rows.mean(axis=0)  # the mean of rows that are far off is rounded
        basis, table = narrow(rows / self.scale_)
        axes = principal_axes(table)
        V, values = axes.vectors[:, : self.n_components], axes.sizes[: self.n_components] ** 2
        proof = eigen_residual(table.T @ table, values, V)
        solution = EigenSolution(V, status_of(proof), proof, eigenvalues=values)
        scores = table @ V
        signs = np.sign((fix_signs(scores) * scores).sum(axis=0))
        V = (V if basis is None else basis @ V) * signs
        self.directions_, self.embedding_ = V, scores * (signs * self.scale_)
        total = float(np.vdot(table, table))
        self._describe(solution, np.empty(0), total)

    def _fit_transformed(self, X: np.ndarray) -> None:
        """Scale Φ(‖x − y‖²), which is psd after centring whatever the points."""
        self.kernel_, self.scale_ = HalfSquares(self.transform_), 1.0
        K = gram(self.kernel_, X, dtype=np.float64).centered()
        solution = leading_eigenpairs(K, self.n_components)
        self._place(solution, K.centering.means)
        self._describe(solution, np.empty(0), solution.trace)

    def _fit_given(self, D: np.ndarray) -> None:
        """Scale Φ(D²), and look at all eigenvalues: some may be negative."""
        self.scale_ = self._unit_of(D)
        K = centered_products(self._halves(D, self.scale_))
        solution = leading_eigenpairs(K, self.n_components)
        spectrum = eigvalsh(fresh_array(K), overwrite_a=True, check_finite=False, driver="evd")
        floor = ZERO_SHARE * max(float(np.abs(spectrum).max()), TINY)
        negative, positive = spectrum[spectrum < -floor], spectrum[spectrum > floor]
        self._place(solution, K.centering.means)
        self._describe(solution, negative, float(positive.sum()))

    def _unit_of(self, D: np.ndarray) -> float:
        """Return the unit of the distances, Φ(D²) being their squares; raise if there is none."""
        largest = float(largest_size(D))
        if isinstance(self.transform_, Identity) and largest < LARGEST_UNIT:
            return max(largest, TINY)
        require_squares(largest)
        return max(float(largest_size(self._halves(D, 1.0))) ** 0.5, TINY)

    def _halves(self, D: np.ndarray, unit: float) -> np.ndarray:
        """Return −½Φ(D²) in a unit; other transforms than the identity need D as it is."""
        D = np.asarray(D, dtype=np.float64)
        if isinstance(self.transform_, Identity):
            return -0.5 * (D / unit) ** 2
        squares = D**2
        self.transform_.apply(squares)
        return -0.5 * squares / unit / unit

    def _describe(self, solution: EigenSolution, negative: np.ndarray, positive_sum: float) -> None:
        values, unit = solution.eigenvalues, self.scale_**2
        kept, lost = float(values.sum()), float(-negative.sum())
        largest = max(float(values.max(initial=0.0)), TINY)
        smallest = float(negative.min(initial=0.0))
        self.goodness_of_fit_ = (
            kept / max(positive_sum + lost, TINY),
            kept / max(positive_sum, TINY),
        )
        self.eigenvalues_, self.negative_eigenvalues_ = values * unit, negative * unit
        self.is_euclidean_ = len(negative) == 0
        parts = {
            "negative_eigenvalues": len(negative),
            "smallest_eigenvalue": smallest * unit,
            "negative_share": lost / max(positive_sum + lost, TINY),
            **({"note": NOTE} if smallest < -NOTED_SHARE * largest else {}),
        }
        about = f"−½HD²H v = λ v for {len(values)} coordinates of {len(self.embedding_)} points"
        self._accept(with_parts(solution, about, **parts))

    # ------------------------------------------------------------ new points
    def _scores(self, X: Any) -> np.ndarray:
        """Place new points by Gower's formula, z = −½ Λ^(−½) Vᵀ (d²(x) − mean d²)."""
        if self._is_linear:
            return centered_product(X, self.mean_, self.directions_)
        V = self.directions_
        if self._is_euclidean:
            K = gram(self.kernel_, X, self.X_fit_, storage="blocked", dtype=np.float64)
            return K @ V - self.centering_means_ @ V
        out = np.empty((len(X), V.shape[1]))
        for rows in ranges(len(X), max(1, BLOCK_VALUES // len(V))):
            D = self._distances_from(X[rows])
            check_not_negative(D)
            out[rows] = self._placed(self._halves(D, self.scale_))
        return out

    # ------------------------------------------------------------ how well it fits
    @property
    def stress_(self) -> float:
        """Kruskal's stress √(Σ(δ − d)²/Σδ²): given against embedded distances, when asked for."""
        missed = total = 0.0
        for given, found in self._distances():
            missed += float(np.sum((given - found) ** 2))
            total += float(np.sum(given**2))
        return (missed / total) ** 0.5 if total > 0 else 0.0

    def _distances(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield blocks of δ and d, both in the unit of the largest coordinate."""
        unit = max(largest_size(self.embedding_), TINY)
        embedded = _squares(Identity(), self.embedding_ / unit)
        n = len(self.embedding_)
        given = _squares(self.transform_, self.X_fit_) if self._is_euclidean else None
        for rows in ranges(n, max(1, BLOCK_VALUES // n)):
            if given:
                found = np.sqrt(-2.0 * given.rows(rows)) / unit
            else:
                found = np.sqrt(-2.0 * self._halves(self._distances_from(self.X_fit_[rows]), unit))
            yield found, np.sqrt(-2.0 * embedded.rows(rows))


def _squares(transform: Transform, X: np.ndarray) -> Gram:
    return gram(HalfSquares(transform), Sample(X), storage="blocked", dtype=np.float64)


class MDS(_MDS):
    """Classical scaling: coordinates whose distances are the given ones, as well as possible.

    B = −½HD²H = V Λ Vᵀ with H = I − 11ᵀ/n, Z = V Λ^½. Of Euclidean distances all eigenvalues are
    ≥ 0, and with enough coordinates Z has exactly these distances; of a table with the Euclidean
    distance Z are its principal components, and no matrix of distances is made. A Schoenberg
    transform Φ of the squared distances gives other Euclidean distances (generalised scaling).

    Parameters
    ----------
    n_components : int, default=2
        The number of coordinates; fewer are kept if fewer eigenvalues are positive.
    metric : str or callable, default="euclidean"
        A name of `sklearn.metrics.pairwise_distances`, or a function of two rows; distances that
        are not Euclidean are told by negative eigenvalues. "precomputed": X holds distances (not
        squares), for new points those to the training points.
    transform : schoenberg transform, str or None, default=None
        Φ, applied to squared distances first.

    Attributes
    ----------
    embedding_ : array of shape (n, k)
        The coordinates.
    eigenvalues_, negative_eigenvalues_ : array
        The k largest eigenvalues of B, falling; its negative ones, the most negative first.
    goodness_of_fit_ : tuple of two floats
        Σλ of the coordinates over Σ|λ|, and over the sum of the positive λ.
    is_euclidean_ : bool
        Whether no eigenvalue is negative.
    stress_ : float
        Kruskal's stress √(Σ(δ − d)²/Σδ²) of given distances δ (transformed) and embedded ones d.
    certificate_ : Certificate
        Eigen residual, orthogonality error, negative eigenvalues.

    Examples
    --------
    >>> from mercer import MDS
    >>> D = [[0.0, 3.0, 5.0], [3.0, 0.0, 4.0], [5.0, 4.0, 0.0]]
    >>> model = MDS(metric="precomputed").fit(D)
    >>> model.is_euclidean_, model.stress_ < 1e-10
    (True, True)
    """

    def __init__(self, n_components: int = 2, *, metric: Any = "euclidean", transform: Any = None):
        self.n_components = n_components
        self.metric = metric
        self.transform = transform  # type: ignore[method-assign]

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of new rows by Gower's formula, shape (m, k)."""
        X = self._new_table(X)
        return self._scores(X).astype(X.dtype, copy=False)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        params = {name: vars(self)[name] for name in self._get_param_names()}
        given = params["transform"]
        if deep and isinstance(given, Transform):
            params |= {f"transform__{name}": v for name, v in given.get_params().items()}
        return params


class _MethodAndParameter:
    """A name that is read as a method, while what is assigned to it is kept as a parameter."""

    def __init__(self, method: Any):
        self.method, self.__doc__ = method, method.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.method if instance is None else self.method.__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)["transform"] = value


# both names are the contract: scikit-learn's for the method, the literature's for Φ. This comes
# after the class is made, because scikit-learn wraps the method for `set_output` when it is made
MDS.transform = _MethodAndParameter(MDS.transform)  # type: ignore[method-assign,assignment]
