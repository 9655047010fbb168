"""Kernel principal component analysis."""

from __future__ import annotations

import warnings
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from mercer._array import parse_memory
from mercer._estimator import Transformer
from mercer._floats import LEAST_DIVISOR
from mercer._in_span import InSpan, no_targets
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, FittedRows, Floats, Maybe
from mercer.gram import Centering, gram
from mercer.kernels import Precomputed
from mercer.kernels.sample import Sample
from mercer.rows import Rows, as_rows
from mercer.rows import open as open_rows
from mercer.solvers import EigenSolution, leading_centered_eigenpairs, leading_eigenpairs
from mercer.solvers.eigen import few
from mercer.solvers.gram_eigen import STORED_ARRAYS
from mercer.spectral._base import COUNT, POSITIVE, check_scores, precision_of
from mercer.spectral._pca_span import span_pca
from mercer.spectral._preimage import METHODS, FeaturePoints, choose_method, preimages

STORED_UP_TO = 3000  # points whose float64 matrix is stored; above, tiles are computed when needed


class KernelPCA(Transformer, InSpan):
    """Kernel PCA: the directions of largest variance of the centred features φ(x).

    K̃ = HKH = V Λ Vᵀ; the scores of the training points are V Λ^½, those of a new point
    Λ^(−½) Vᵀ k̃(x). Many points and few components need no matrix in memory: tiles of kernel
    values are computed, used and forgotten.

    Parameters
    ----------
    n_components : int or None, default=None
        How many components; None means all with a positive eigenvalue. Fewer are kept if fewer
        eigenvalues are positive.
    kernel : Kernel, str or callable, default="rbf"
        The kernel. If it is not positive semidefinite on the sample, the components of positive
        eigenvalues are kept, and the negative eigenvalues are reported.
    preimage : {"auto", "fixed_point", "distances", "ridge"}, default="auto"
        How `inverse_transform` finds a row whose features lie near a point of feature space:

        - "fixed_point": the nearest features, by a fixed point (Gaussian kernel);
        - "distances": from the distances to the 10 nearest training points (Gaussian kernel);
        - "ridge": a regression of the rows on their scores, learned when it is first needed;
        - "auto": exact for the linear kernel, "fixed_point" for the Gaussian, else "ridge".
    tol : float, default=1e-6
        The largest ‖K̃v − λv‖ / λ₁ of the proof. Up to 3,000 points it is about 1e-9 anyway.
    landmarks : int, array or None, default=None
        Seek the components in the span of so many rows, drawn at random, of rows with these
        numbers, or of these points, shape (m, d): two passes over rows that need not be in memory,
        n·m² operations. None: of all rows, unless `Rows` are too many for the budget.
    memory : int, str or None, default=None
        The byte budget; None is half of the free memory.
    checkpoint : path or None, default=None
        A folder for the results of passes, from where a fit that was killed goes on.
    random_state : int, default=0
        Of the start of the iteration, on which the result does not depend but for rounding, and of
        the landmarks.

    Attributes
    ----------
    eigenvalues_ : array of shape (k,)
        Eigenvalues of K̃, falling.
    eigenvectors_ : array of shape (n, k)
        Orthonormal eigenvectors of K̃. With landmarks, shape (m, k): their coefficients in the
        components, times √λ.
    explained_variance_ : array of shape (k,)
        Variances in feature space, λ/n.
    explained_variance_ratio_ : array of shape (k,)
        Shares of the variance in feature space.
    negative_eigenvalues_ : array
        Of a kernel that is not known to be positive semidefinite: the negative eigenvalues, the
        most negative first (all of them if LAPACK has computed all, else the first).
    certificate_ : Certificate
        Eigen residual, orthogonality error, the discarded share of the variance. With landmarks
        an eigenvalue over all functions is larger than ``eigenvalues_`` by
        ``eigenvalues_at_most_above`` at most.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> X = np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    >>> pca = KernelPCA(kernel="linear").fit(X)
    >>> pca.eigenvalues_.round(6)
    array([2.])
    >>> pca.certificate_.ok
    True
    >>> pca.inverse_transform(pca.transform([[3.0, 4.0]])).round(6)
    array([[3., 0.]])
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "X_fit_": FittedRows("rows"),
        "eigenvectors_": Floats("rows", "components"),
        "eigenvalues_": Floats("components"),
        "explained_variance_": Floats("components"),
        "explained_variance_ratio_": Floats("components"),
        "negative_eigenvalues_": Floats("negative eigenvalues"),
        "centering_means_": Floats("rows"),
        "centering_total_": Floats(),
        "_mean_coef": Maybe(Floats("rows")),
    }

    stores_rows = True
    _mean_coef: np.ndarray | None

    accepts_sparse = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [COUNT, None],
        "preimage": [StrOptions(set(METHODS))],
        "tol": [POSITIVE],
        "landmarks": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "checkpoint": [str, PathLike, None],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "rbf",
        preimage: str = "auto",
        tol: float = 1e-6,
        landmarks: Any = None,
        memory: int | str | None = None,
        checkpoint: str | PathLike[str] | None = None,
        random_state: int = 0,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.preimage = preimage
        self.tol = tol
        self.landmarks = landmarks
        self.memory = memory
        self.checkpoint = checkpoint
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> KernelPCA:
        """Find the components; ``y`` is not used."""
        self._validate_params()
        X = as_rows(X)
        if self._needs_landmarks(X):
            return self._fit_in_passes(X)
        sample, _, _ = self._fit_rows(X)
        self.X_fit_, self._mean_coef = sample.data, None
        tiled = self._is_tiled(sample)
        solution, centering = (self._solve_tiled if tiled else self._solve_stored)(sample)
        self.eigenvectors_, self.eigenvalues_ = solution.value, solution.eigenvalues
        # of an indefinite kernel the positive part alone exceeds the trace
        total = max(solution.trace, float(self.eigenvalues_.sum()), LEAST_DIVISOR)
        self.explained_variance_ratio_ = self.eigenvalues_ / total
        self.explained_variance_ = self.eigenvalues_ / len(sample)
        self.centering_means_, self.centering_total_ = centering.means, centering.total
        self.negative_eigenvalues_ = solution.negative
        self._accept(solution)
        self._warn_of_negative()
        return self

    def _needs_landmarks(self, X: Any) -> bool:
        if self.landmarks is not None:
            return True
        return isinstance(X, Rows) and 8 * X.n * (X.n_columns + X.n) > parse_memory(self.memory)

    def _fit_in_passes(self, X: Any) -> KernelPCA:
        """Find the components in the span of landmarks."""
        rows, names = X, None
        if not isinstance(X, Rows):
            rows = open_rows(self._fit_rows(X)[0].data)
            names = getattr(self, "feature_names_in_", None)
        m = self._span_route("normal", *rows.shape, in_memory=False).landmarks
        task = self._prepared(rows, m, None, (no_targets, 1))
        found = span_pca(
            self._span_of(task.points), task.problem, self.n_components, self.tol, task.passes
        )
        self._keep_columns(rows)
        if names is not None:
            self.feature_names_in_ = names
        self.X_fit_, self._mean_coef = task.points.data, found.mean
        self.eigenvalues_ = found.eigenvalues
        self.eigenvectors_ = found.directions * np.sqrt(found.eigenvalues)
        self.explained_variance_ratio_ = found.eigenvalues / max(found.total, LEAST_DIVISOR)
        self.explained_variance_ = found.eigenvalues / rows.n
        self.centering_means_, self.centering_total_ = found.means, found.centre
        self.negative_eigenvalues_ = np.empty(0)
        self._accept(found.solution)
        return self

    def _is_tiled(self, sample: Sample) -> bool:
        is_computed = self.kernel_.releases_gil and not isinstance(self.kernel_, Precomputed)
        n, k = len(sample), self.n_components
        return is_computed and n > STORED_UP_TO and k is not None and few(n, k)

    @property
    def _may_be_indefinite(self) -> bool:
        return self.kernel_.definiteness != "psd"

    def _solve_stored(self, sample: Sample) -> tuple[EigenSolution, Centering]:
        budget = parse_memory(self.memory)
        stored = int(budget / STORED_ARRAYS)
        K = gram(self.kernel_, sample, dtype=np.float64, memory=stored).centered()
        solution = leading_eigenpairs(
            K,
            self.n_components,
            tolerance=min(self.tol, 1e-8),
            memory=budget,
            below=self._may_be_indefinite,
            random_state=self.random_state,
        )
        return solution, K.centering

    def _solve_tiled(self, sample: Sample) -> tuple[EigenSolution, Centering]:
        exact = gram(self.kernel_, sample, storage="blocked", dtype=np.float64)
        fast = gram(self.kernel_, sample, purpose="products", memory=self.memory)
        return leading_centered_eigenpairs(
            exact,
            fast,
            self.n_components or len(sample),
            tolerance=self.tol,
            below=self._may_be_indefinite,
            random_state=self.random_state,
        )

    def _warn_of_negative(self) -> None:
        if len(self.negative_eigenvalues_) == 0 or not self.certificate_.ok:
            return
        warnings.warn(
            f"KernelPCA: {self.kernel_!r} is not positive semidefinite on this sample: its "
            f"smallest eigenvalue is {self.negative_eigenvalues_[0]:.3g}, the largest "
            f"{self.eigenvalues_.max(initial=0.0):.3g}. Only components of positive eigenvalues "
            f"are kept; see negative_eigenvalues_",
            UserWarning,
            stacklevel=3,
        )

    def transform(self, X: Any) -> np.ndarray:
        """Return the scores of new rows, shape (m, k)."""
        rows = self._new_rows(X)
        K = gram(self.kernel_, rows, self.X_fit_, storage="blocked", dtype=np.float64)
        if self._mean_coef is not None:
            scores = K @ self._directions - self.centering_means_ @ self._directions
        else:
            scores = K.centered(reference=self._centering) @ self._directions
        return scores.astype(rows.dtype, copy=False)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return the scores of the training rows without computing the kernel again."""
        self.fit(X, y)
        if self._mean_coef is not None:
            return self.transform(X)
        return self._training_scores.astype(precision_of(self.X_fit_), copy=False)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return rows whose features lie near the points with scores X, shape (m, d).

        See the parameter ``preimage``. ``inverse_transform(transform(rows))`` removes what is not
        in the leading components: noise.
        """
        Z = check_scores(self, X)
        if self._mean_coef is not None:
            raise AttributeError(
                "inverse_transform needs the scores of all rows: fit without landmarks"
            )
        method = choose_method(self.kernel_, self.preimage)
        scores = Z.astype(np.float64, copy=False)
        return preimages(self._feature_points(scores), method).astype(Z.dtype, copy=False)

    def reconstruction_error(self, X: Any) -> np.ndarray:
        """Return ‖φ̃(x) − Pφ̃(x)‖², the squared distance to the components, shape (m,).

        Summed over the training rows it is the sum of the discarded eigenvalues.
        """
        rows = self._new_rows(X)
        K = gram(self.kernel_, rows, self.X_fit_, storage="blocked", dtype=np.float64)
        weights = self._centering.weights
        both = K @ np.column_stack([self._directions, weights])
        # the directions sum to zero: centring the columns is all that is left to do
        scores = both[:, :-1] - self.centering_means_ @ self._directions
        squares = K.diagonal() - 2.0 * both[:, -1] + self.centering_total_
        return np.maximum(squares - np.einsum("ij,ij->i", scores, scores), 0.0)

    @property
    def _directions(self) -> np.ndarray:
        """Coefficients of the orthonormal directions in feature space."""
        return self.eigenvectors_ / np.sqrt(self.eigenvalues_)

    @property
    def _training_scores(self) -> np.ndarray:
        return self.eigenvectors_ * np.sqrt(self.eigenvalues_)

    @property
    def _centering(self) -> Centering:
        n, weights = len(self.centering_means_), self._mean_coef
        weights = np.full(n, 1.0 / n) if weights is None else weights
        return Centering(weights, self.centering_means_, self.centering_total_)

    def _feature_points(self, scores: np.ndarray) -> FeaturePoints:
        return FeaturePoints(
            self.kernel_,
            self.X_fit_,
            self._training_scores,
            scores,
            self._directions,
            self.centering_means_,
            self.centering_total_,
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)
