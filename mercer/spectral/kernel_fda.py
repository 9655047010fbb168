"""The kernel Fisher discriminant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer._array import parse_memory
from mercer._estimator import KernelEstimator, Transformer
from mercer._floats import EPS, TINY
from mercer._labels import class_codes
from mercer._state import Attribute, FittedRows, Floats
from mercer.gram import CenteredGram, Gram, gram
from mercer.result import Solution, Status
from mercer.solvers import pencil_eigenpairs, solve_ridge
from mercer.spectral._base import (
    COUNT,
    POSITIVE,
    NearestMean,
    class_means,
    eigen_proof,
    off_identity,
)
from mercer.spectral._centered_factor import RidgedFactor

SOLVE_TOLERANCE = 1e-10  # of the linear systems: the proof divides their residuals by √ρ

Lengths = Callable[[np.ndarray], np.ndarray]


class KernelFDA(NearestMean, Transformer, KernelEstimator):
    """Kernel Fisher discriminant: LDA of the features φ(x), with a ridge.

    The functions f = ⟨w, φ(·)⟩ maximise wᵀS_b w / wᵀ(S_w + ρI)w, the variance of the class means
    over that within classes and ρ‖f‖². In the coordinates z(x) of these functions, a row belongs
    to the class with the largest log π_c − ½‖z − z_c‖².

    S_b has rank C − 1, and S_b w = μ(S_b + S_w + ρI)w has the same solutions: they are spanned by
    the kernel ridge regressions on the indicators of the classes. One Cholesky factor of the
    centred K + nρI serves all of them, and an eigenproblem of size C − 1 is left.

    Parameters
    ----------
    n_components : int or None, default=None
        How many functions, at most C − 1 (fewer are kept if there are fewer); None means all.
        With fewer than there are both the projection and the classifier are the rank-reduced ones.
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    lam : float, default=1e-3
        λ > 0: ρ is λ times the variance of the sample in feature space, the mean of
        k̃(x, x) = ‖φ(x) − mean‖². It does not depend on the scale of the kernel.
    memory : int, str or None, default=None
        The byte budget; None is half of the free memory. Without room for a factor the regressions
        are found by conjugate gradients.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    priors_ : array of shape (n_classes,)
        π, the shares of the classes.
    dual_coef_ : array of shape (n, k)
        The functions are f(x) = Σᵢ αᵢ k(x, xᵢ) + intercept_, with Σα = 0.
    intercept_ : array of shape (k,)
        The offsets that centre the functions on the training rows.
    eigenvalues_ : array of shape (k,)
        The values of the quotient, falling.
    explained_variance_ratio_ : array of shape (k,)
        Their shares in the sum of all.
    class_scores_ : array of shape (n_classes, k)
        z_c, the class means.
    certificate_ : Certificate
        Residual of the eigenproblem in feature space, orthogonality error, the discarded share.
    kernel_ : Kernel
        The kernel with data-dependent parameters made concrete.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelFDA
    >>> angle = np.linspace(0, 6, 30)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X, y = np.vstack([ring, 3 * ring]), ["inner"] * 30 + ["outer"] * 30
    >>> fda = KernelFDA(kernel="rbf").fit(X, y)
    >>> fda.score(X, y)
    1.0
    >>> fda.transform(X).shape
    (60, 1)
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "X_fit_": FittedRows("rows"),
        "dual_coef_": Floats("rows", "components"),
        "intercept_": Floats("components"),
        "eigenvalues_": Floats("components"),
        "explained_variance_ratio_": Floats("components"),
    }

    stores_rows = True

    accepts_sparse = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [COUNT, None],
        "lam": [POSITIVE],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "rbf",
        lam: float = 1e-3,
        memory: int | str | None = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.lam = lam
        self.memory = memory

    def fit(self, X: Any, y: Any) -> KernelFDA:
        """Find the functions of rows X with labels y."""
        self._validate_params()
        sample, y, _ = self._fit_rows(X, y)
        self.classes_, codes = class_codes(y)
        self.X_fit_ = sample.data
        self.priors_ = np.bincount(codes) / len(codes)
        budget = parse_memory(self.memory)  # half for K, half for its factor
        K = gram(self.kernel_, sample, memory=budget // 2, dtype=np.float64)
        centred = K.centered()
        problem = FisherProblem(centred, codes, self.lam * _variance(centred))
        solution = problem.solve(K, self.n_components, memory=budget)
        self.dual_coef_, self.eigenvalues_, self.class_scores_, total = solution.value
        self.intercept_ = -(centred.centering.means @ self.dual_coef_)
        self.explained_variance_ratio_ = self.eigenvalues_ / total
        self._accept(solution)
        return self

    def _discriminants(self, X: Any) -> np.ndarray:
        return self._values(self._new_rows(X))

    def _values(self, rows: Any) -> np.ndarray:
        K = gram(self.kernel_, rows, self.X_fit_, storage="blocked", dtype=np.float64)
        return K @ self.dual_coef_ + self.intercept_

    def transform(self, X: Any) -> np.ndarray:
        """Return the discriminant coordinates of rows, shape (m, k)."""
        rows = self._new_rows(X)
        return self._values(rows).astype(rows.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return self.dual_coef_.shape[1]


def _variance(K: CenteredGram) -> float:
    variance = float(K.diagonal().mean())
    if not variance > 64 * EPS * float(np.abs(K.base.diagonal()).max()):
        raise ValueError(
            "X must hold rows that differ for the kernel: the variance in feature space is "
            f"{variance:.3g}"
        )
    return variance


# ------------------------------------------------------------------------ the eigenproblem
class FisherFunctions(NamedTuple):
    """Functions that tell classes apart, and what they do to the class means."""

    alpha: np.ndarray  # (n, k), the coefficients
    values: np.ndarray  # (k,), falling
    means: np.ndarray  # (C, k), the functions at the class means
    total: float  # the sum of all eigenvalues


class FisherProblem:
    """S_b w = λ(S_w + ρI)w on functions w = Σ αᵢ φ̃(xᵢ) with the centred Gram matrix K."""

    def __init__(self, K: CenteredGram, codes: np.ndarray, rho: float):
        self.K, self.codes, self.rho = K, codes, rho
        self.counts = np.bincount(codes)

    def solve(self, raw: Gram, k: int | None, *, memory: int) -> Solution:
        """Return `FisherFunctions` as ``value``; ``raw`` is K not centred.

        If K has a low rank or a large mean came off it, rounding of its entries is divided by ρ,
        and the proof can fail. Then a factor of K finds functions of small coefficients.
        """
        n = len(self.codes)
        ridge = np.full(n, n * self.rho)
        Y = self._targets()
        regressions = solve_ridge(raw, Y, ridge, tolerance=SOLVE_TOLERANCE, memory=memory)
        solution = self._reduce(regressions.value, k, self._by_products)
        if regressions.status is Status.INDEFINITE:
            return replace(solution, status=Status.INDEFINITE)
        if solution.status.ok or 8 * n * n > parse_memory(memory):
            return solution
        return min(solution, self._by_factor(k, memory), key=lambda s: s.certificate.value)

    def _targets(self) -> np.ndarray:
        """Return indicators of all classes but the last: with a constant they span the others."""
        first = self.codes[:, None] == np.arange(len(self.counts) - 1)
        return first / np.sqrt(self.counts[:-1])

    def _by_factor(self, k: int | None, memory: Any) -> Solution:
        factor = RidgedFactor(self.K, len(self.codes) * self.rho, memory)
        Y = self._targets()
        Y -= Y.mean(axis=0)
        w = factor.solve(factor.solve(factor.G.T @ Y, transposed=True))
        A = factor.coefficients(w, Y)
        return self._reduce(A, k, lambda r: np.linalg.norm(factor.G.T @ r, axis=0))

    def _by_products(self, r: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(np.einsum("ij,ij->j", r, self.K @ r), 0.0))

    def _reduce(self, A: np.ndarray, k: int | None, lengths: Lengths) -> Solution:
        """Solve the eigenproblem in the span of the columns of A, and prove the result."""
        A = A - A.mean(axis=0)
        between, within, _ = self._forms(A, self.K @ A)
        # of size one: the columns may differ by orders of magnitude
        unit = np.sqrt(np.maximum(np.diag(within), TINY))
        small = pencil_eigenpairs(between / np.outer(unit, unit), within / np.outer(unit, unit))
        A = A @ (small.value[:, :k] / unit[:, None])
        values = np.maximum(small.eigenvalues, 0.0)
        return self._prove(A, values[:k], max(float(values.sum()), TINY), lengths)

    def _forms(self, A: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return S_b and S_w + ρI on the columns of A with values Z = KA, and their class means."""
        n, means = len(Z), class_means(Z, self.codes)
        rest = Z - means[self.codes]
        between = means.T @ (means * (self.counts / n)[:, None])
        norm2 = A.T @ Z
        return between, rest.T @ rest / n + self.rho * (norm2 + norm2.T) / 2, means

    def _prove(self, A: np.ndarray, values: np.ndarray, total: float, lengths: Lengths) -> Solution:
        """Prove the eigenproblem: the two sides differ by Σ rᵢ φ̃(xᵢ).

        √(rᵀKr / ρ) bounds the length of that where S_w + ρI is white.
        """
        n, Z = len(A), self.K @ A
        _, within, means = self._forms(A, Z)
        own = means[self.codes]
        r = own / n - ((Z - own) / n + self.rho * A) * values
        worst = float(lengths(r).max(initial=0.0)) / np.sqrt(self.rho)
        proof = eigen_proof(
            worst / max(float(values.max(initial=0.0)), TINY),
            off_identity(within),
            f"S_b w = λ (S_w + ρI) w for {len(values)} functions, {len(self.counts)} classes",
            trace=total,
            discarded=max(1.0 - float(values.sum()) / total, 0.0),
            ridge=self.rho,
            storage=self.K.storage,
        )
        status = Status.OPTIMAL if proof.ok else Status.ILL_CONDITIONED
        return Solution(FisherFunctions(A, values, means, total), status, proof)
