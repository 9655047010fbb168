"""The Nyström map: features from kernel values against some landmarks."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from sklearn.utils import check_random_state

from mercer._array import as_index, count_rows, ranges, take
from mercer._estimator import KeptRows
from mercer._floats import EPS
from mercer._sklearn import Interval
from mercer._state import Attribute, Either, Floats, Integers, SizeOf
from mercer.gram import Gram, fresh_array, gram
from mercer.kernels.sample import Sample
from mercer.maps._base import KernelMap
from mercer.result import Certificate, Solution, Status
from mercer.solvers.pivoted import (
    NEGLIGIBLE,
    factor_from_points,
    pivoted_cholesky,
    randomly_pivoted_cholesky,
)

BLOCK_VALUES = 2**21  # features that live at once while the fit measures its error


class Nystrom(KernelMap):
    """The Nyström map: φ(x)·φ(y) = k(x, Z) k(Z, Z)⁺ k(Z, y) for landmarks Z.

    With k(Z, Z) = UᵀU, pivoted, the features are U⁻ᵀ k(Z, x). They reproduce the kernel exactly
    between a landmark and any point, and everywhere if all training points are landmarks. Of the
    features the first j are those of the first j landmarks.

    Parameters
    ----------
    n_components : int, default=100
        How many landmarks, at most n. Landmarks that are combinations of others in feature space
        are left out.
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    landmarks : {"uniform", "kmeans++", "cholesky", "leverage"} or array, default="uniform"
        How they are chosen: uniformly, far from each other in feature space, by randomly pivoted
        Cholesky (the best for its cost), by ridge leverage scores. Or which they are: row numbers,
        or rows themselves; then ``n_components`` is not used.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.
    memory : int, str or None, default=None
        The byte budget of the features; None is half of the free memory.

    Attributes
    ----------
    landmarks_ : table or list
        The landmarks in the order of their pivots (none are stored of a precomputed kernel).
    landmark_indices_ : array of int
        Their numbers among the training rows; empty if rows were given.
    factor_ : array of shape (k, k)
        U.
    certificate_ : Certificate
        The error of the inner products among all chosen landmarks, and ``trace_error``, the exact
        tr(K − K̂)/tr(K) on the training rows. What is proved of a machine on top of these features
        is proved of the approximate problem.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Nystrom
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> phi = Nystrom(50, landmarks="cholesky", random_state=0)
    >>> phi.fit_transform(X).shape, phi.certificate_.trace_error < 0.01
    ((200, 50), True)
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_fit_": SizeOf("rows"),
        "factor_": Floats("landmarks", "landmarks"),
        "landmark_indices_": Either(Integers("landmarks", below="rows"), Integers(0)),
        "landmarks_": KeptRows("landmarks"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: Any = "rbf",
        landmarks: Any = "uniform",
        random_state: Any = None,
        memory: int | str | None = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.landmarks = landmarks
        self.random_state = random_state
        self.memory = memory

    def fit(self, X: Any, y: Any = None) -> Nystrom:
        """Choose the landmarks and measure the error; ``y`` is not used."""
        sample, residual = self._prepare(X)
        step = max(1, BLOCK_VALUES // max(1, len(self.factor_)))
        explained = sum(
            float((self._features(sample[rows]) ** 2).sum()) for rows in ranges(len(sample), step)
        )
        self._prove(sample, residual, explained)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return the features of the training rows, which the error is measured from."""
        sample, residual = self._prepare(X)
        F = self._features(sample)
        self._prove(sample, residual, float(np.einsum("ij,ij->", F, F)))
        return F.astype(sample.dtype, copy=False)

    def transform(self, X: Any) -> np.ndarray:
        """Return the features of rows, shape (m, k)."""
        rows = self._new_rows(X)
        return self._features(rows).astype(rows.dtype, copy=False)

    # ------------------------------------------------------------ steps of the fit
    def _prepare(self, X: Any) -> tuple[Sample, float]:
        """Choose and factor the landmarks; return the sample and their own error."""
        self._validate_params()
        sample, _, _ = self._fit_rows(X)
        self.n_fit_ = len(sample)
        chosen, index = self._choose(sample)
        core = fresh_array(gram(self.kernel_, chosen, dtype=np.float64, memory=self.memory))
        U, order = pivoted_cholesky(core)
        self.factor_, pivots = U[:, : len(U)], order[: len(U)]
        self.landmark_indices_ = index[pivots] if len(index) else index
        self.landmarks_ = take(chosen.data, slice(0) if self._pairwise else pivots)
        return sample, _residual(core, self.factor_, pivots)

    def _choose(self, sample: Sample) -> tuple[Sample, np.ndarray]:
        """Return the landmarks, and their numbers if they are training rows."""
        if isinstance(self.landmarks, str):
            index = self._drawn(sample)
        elif np.ndim(self.landmarks) == 1 and np.asarray(self.landmarks).dtype.kind in "iub":
            index = as_index(self.landmarks, len(sample), "landmarks")
        else:
            return self._given(sample), np.empty(0, np.intp)
        return sample[index], index

    def _drawn(self, sample: Sample) -> np.ndarray:
        if self.landmarks not in RULES:
            raise ValueError(
                f"landmarks must be one of {sorted(RULES)}, row numbers or rows; got "
                f"{self.landmarks!r}"
            )
        K = gram(self.kernel_, sample, storage="blocked", dtype=np.float64)
        random = check_random_state(self.random_state)
        return choose_landmarks(self.landmarks, K, self.n_components, random)

    def _given(self, sample: Sample) -> Sample:
        if self._pairwise:
            raise ValueError(
                "landmarks of a precomputed kernel must be a rule or row numbers; got rows"
            )
        landmarks = Sample(self.kernel_.sample(self.landmarks, "landmarks").data)
        self.kernel_.check_pair(sample, landmarks)
        return landmarks

    def _features(self, rows: Sample) -> np.ndarray:
        kept = self._kept(self.landmarks_, self.landmark_indices_, self.n_fit_)
        if not count_rows(kept.data):
            return np.zeros((len(rows), 0))
        K = gram(self.kernel_, rows, kept, storage="dense", dtype=np.float64, memory=self.memory)
        # the transpose of a C array is what LAPACK solves in place
        solved = solve_triangular(
            self.factor_, K.toarray().T, trans="T", overwrite_b=True, check_finite=False
        )
        return solved.T

    def _prove(self, sample: Sample, residual: float, explained: float) -> None:
        trace = float(self.kernel_.diagonal_of(sample, np.float64).sum())
        missed = (trace - explained) / trace if trace > 0.0 else 0.0
        parts = {
            "residual": residual,
            "trace_error": max(missed, 0.0),
            "landmarks": len(self.factor_),
            "points": len(sample),
            "storage": "blocked",
        }
        about = (
            f"K̂ = k(X, Z) k(Z, Z)⁺ k(Z, X) of {len(self.factor_)} landmarks; proofs on top of it "
            f"are of the approximate problem"
        )
        proof = Certificate("landmark residual", max(residual, -missed), 1e-8, about, parts)
        self._accept(Solution(None, Status.OPTIMAL if proof.ok else Status.INDEFINITE, proof))

    @property
    def _n_features_out(self) -> int:
        return len(self.factor_)


def _residual(core: np.ndarray, U: np.ndarray, pivots: np.ndarray) -> float:
    """Return how far inner products of the landmarks' features are from the kernel, relatively."""
    largest = float(np.abs(core).max(initial=0.0)) or 1.0
    if not len(pivots):
        return float(np.abs(core).max(initial=0.0)) / largest
    F = solve_triangular(U, core[:, pivots].T, trans="T", check_finite=False).T
    return float(np.abs(F @ F.T - core).max(initial=0.0)) / largest


# ---------------------------------------------------------------- which points stand for all
def choose_landmarks(rule: str, K: Gram, m: int, random: Any) -> np.ndarray:
    """Return the numbers of at most m points of the sample, by one of the rules in `RULES`."""
    if m >= K.shape[0]:
        return np.arange(K.shape[0])
    return RULES[rule](K, m, random)


def _uniform(K: Gram, m: int, random: Any) -> np.ndarray:
    return np.sort(random.permutation(K.shape[0])[:m])


def _kmeans_plus_plus(K: Gram, m: int, random: Any) -> np.ndarray:
    """Draw each point with a probability like its squared distance to the nearest one so far."""
    diagonal = K.diagonal().astype(np.float64)
    chosen = [int(random.randint(K.shape[0]))]
    nearest = np.full(K.shape[0], np.inf)
    while True:
        i = chosen[-1]
        distance = diagonal + diagonal[i] - 2.0 * K.rows([i])[0]
        np.minimum(nearest, np.maximum(distance, 0.0), out=nearest)
        nearest[i] = 0.0
        if len(chosen) == m or not nearest.sum() > 0.0:
            return np.array(chosen)
        chosen.append(int(random.choice(K.shape[0], p=nearest / nearest.sum())))


def _cholesky(K: Gram, m: int, random: Any) -> np.ndarray:
    """Draw each point with a probability like what those before it do not explain of it."""
    return randomly_pivoted_cholesky(K, m, random)[1]


def _leverage(K: Gram, m: int, random: Any) -> np.ndarray:
    """Draw points by their ridge leverage scores, estimated from uniform landmarks."""
    points = _uniform(K, m, random)
    F = factor_from_points(K, points)
    rest = np.maximum(K.diagonal() - np.einsum("ij,ij->i", F, F), 0.0)
    if not F.size:
        return points
    gram = F.T @ F
    lam = max(float(rest.sum()) / m, NEGLIGIBLE * float(np.trace(gram)))
    gram[np.diag_indices_from(gram)] += lam
    scores = np.einsum("ij,ji->i", F, cho_solve(cho_factor(gram), F.T)) + rest / lam
    scores = np.clip(scores, EPS, 1.0)
    return np.sort(random.choice(K.shape[0], m, replace=False, p=scores / scores.sum()))


RULES: dict[str, Callable[[Gram, int, Any], np.ndarray]] = {
    "uniform": _uniform,
    "kmeans++": _kmeans_plus_plus,
    "cholesky": _cholesky,
    "leverage": _leverage,
}
