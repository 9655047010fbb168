"""Kernel canonical correlation analysis."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import svd
from sklearn.utils.validation import check_array, check_consistent_length

from mercer._array import as_objects, format_bytes, parse_memory
from mercer._estimator import FLOATS, KernelEstimator
from mercer._floats import EPS
from mercer._numbers import TEXT_FOR_KERNELS, refuse_no_numbers
from mercer._state import Attribute, Either, FittedRows, Floats, Instance, Objects
from mercer.gram import CenteredGram, gram
from mercer.kernels import Kernel, as_kernel
from mercer.kernels.sample import Sample
from mercer.result import Certificate, Solution, Status
from mercer.solvers import symmetric_eigenpairs
from mercer.spectral._base import COUNT, POSITIVE, eigen_proof, off_identity
from mercer.spectral._centered_factor import RidgedFactor
from mercer.spectral.cca import CanonicalPairs, columns_of, shared_signs

LEAST_CORRELATION = 1e-7  # smaller correlations are rounding
WHOLE_SVD_UP_TO = 400  # columns; a whole singular value decomposition is fast enough below
SHARES = 8  # of the budget: two matrices, two factors of each, their product and its square at most
PROBE_TOLERANCE = 1e-6  # of a product with K: a factor that misses more shows that K is indefinite


class KernelCCA(CanonicalPairs, KernelEstimator):
    """Kernel canonical correlations: functions of x and of y that are most correlated.

    Pairs of functions f, g maximise cov(f(x), g(y)) with var f + ρ_x‖f‖² = var g + ρ_y‖g‖² = 1,
    each pair uncorrelated (in these forms) with those before it. f = Σ αᵢ k̃(·, xᵢ) and
    g = Σ βᵢ k̃(·, yᵢ) solve K_y β = κ(K_x + r_x I)α and K_x α = κ(K_y + r_y I)β with the centred
    Gram matrices.

    Parameters
    ----------
    n_components : int, default=2
        How many pairs; fewer are kept if fewer are correlated at all.
    kernel : Kernel, str or callable, default="rbf"
        The kernel of X.
    kernel_y : Kernel, str, callable or None, default=None
        The kernel of Y; None means the same as that of X.
    lam : float, default=1e-3
        λ > 0: ρ is λ times the variance of the sample in feature space, Σ k̃(x, x) / (n − 1), so
        that r = λ Σ k̃(x, x). With a rich kernel and without ρ there are functions through all
        points, and every correlation is 1. Functions along axes with more than the share λ of the
        variance are hardly penalised, those with less are.
    memory : int, str or None, default=None
        The byte budget; None is half of the free memory.

    Attributes
    ----------
    correlations_ : array of shape (k,)
        κ, falling: covariances of f(x) and g(y), below their correlations by what ρ takes.
    dual_coef_x_, dual_coef_y_ : array of shape (n, k)
        α and β, each with sum 0.
    intercept_x_, intercept_y_ : array of shape (k,)
        What centres f and g on the training rows.
    certificate_ : Certificate
        Residuals of both equations, orthogonality error, ranks.
    kernel_, kernel_y_ : Kernel
        The kernels with data-dependent parameters made concrete.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelCCA
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 6, 200)
    >>> X, Y = angle[:, None], np.column_stack([np.cos(angle), np.sin(angle)])
    >>> cca = KernelCCA(n_components=1).fit(X[:100], Y[:100])
    >>> cca.score(X[100:], Y[100:]) > 0.99
    True
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "kernel_y_": Instance(Kernel),
        "X_fit_": FittedRows("rows"),
        "Y_fit_": Either(FittedRows("rows", columns=None), Objects("rows")),
        "dual_coef_x_": Floats("rows", "components"),
        "dual_coef_y_": Floats("rows", "components"),
        "intercept_x_": Floats("components"),
        "intercept_y_": Floats("components"),
    }

    stores_rows = True

    accepts_sparse = True
    named_parts = {"kernel": as_kernel, "kernel_y": as_kernel}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [COUNT],
        "lam": [POSITIVE],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "rbf",
        kernel_y: Any = None,
        lam: float = 1e-3,
        memory: int | str | None = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_y = kernel_y
        self.lam = lam
        self.memory = memory

    def fit(self, X: Any, y: Any) -> KernelCCA:
        """Find the pairs of functions; ``y`` holds the rows of Y (a table, a column, objects)."""
        self._validate_params()
        if y is None:
            raise ValueError("KernelCCA requires y to be passed, but the target y is None")
        sample, _, _ = self._fit_rows(X, ensure_min_samples=2)
        sample_y = self._fit_other(y)
        check_consistent_length(sample.data, sample_y.data)
        _require_room(len(sample), 4 * len(sample) ** 2, self.memory)
        self.X_fit_, self.Y_fit_ = sample.data, sample_y.data
        budget = parse_memory(self.memory)
        K, L = (
            gram(kernel, rows, memory=budget // SHARES, dtype=np.float64).centered()
            for kernel, rows in ((self.kernel_, sample), (self.kernel_y_, sample_y))
        )
        solution = canonical_functions(K, L, self.n_components, self.lam, memory=budget)
        self.dual_coef_x_, self.dual_coef_y_, self.correlations_ = solution.value
        self.intercept_x_ = -(K.centering.means @ self.dual_coef_x_)
        self.intercept_y_ = -(L.centering.means @ self.dual_coef_y_)
        self._accept(solution)
        return self

    def _fit_other(self, y: Any) -> Sample:
        """Check the rows of Y and bind their kernel."""
        kernel = as_kernel(self.kernel if self.kernel_y is None else self.kernel_y)
        sample = _rows_of(kernel, y)
        self.kernel_y_ = kernel.bind(sample)
        self.kernel_y_.check_training(sample)
        return sample

    def _variates_x(self, X: Any) -> np.ndarray:
        rows = self._new_rows(X)
        K = gram(self.kernel_, rows, self.X_fit_, storage="blocked", dtype=np.float64)
        return (K @ self.dual_coef_x_ + self.intercept_x_).astype(rows.dtype, copy=False)

    def _variates_y(self, y: Any, m: int) -> np.ndarray:
        rows = _rows_of(self.kernel_y_, y)
        if len(rows) != m:
            raise ValueError(f"y must have as many rows as X, {m}; got {len(rows)}")
        K = gram(self.kernel_y_, rows, self.Y_fit_, storage="blocked", dtype=np.float64)
        return K @ self.dual_coef_y_ + self.intercept_y_

    def fit_transform(self, X: Any, y: Any) -> np.ndarray:
        """Fit, and return f(x) of the training rows alone, as pipelines need it."""
        return self.fit(X, y).transform(X)


def _require_room(n: int, count: int, memory: Any) -> None:
    """Raise if the budget has no room for so many numbers."""
    if (needed := 8 * count) > parse_memory(memory):
        raise MemoryError(
            f"KernelCCA factors two matrices of {n} × {n}, which takes {format_bytes(needed)}; the "
            f"budget is {format_bytes(parse_memory(memory))}: raise memory, or use CCA(lam=...) on "
            f"the features of a low-rank map"
        )


def _rows_of(kernel: Kernel, y: Any) -> Sample:
    """Return checked rows of Y; for kernels on vectors one target is one column."""
    if kernel.domain != "vectors":
        return kernel.sample(copy(as_objects(y, "y")), "y")
    refuse_no_numbers(y, "y", type(kernel).__name__, TEXT_FOR_KERNELS)
    table: dict[str, Any] = {"accept_sparse": "csr", "dtype": FLOATS, "order": "C"}
    Y = check_array(y, ensure_2d=False, input_name="y", copy=True, **table)
    return kernel.sample(columns_of(Y), "y")


# ------------------------------------------------------------------------ the eigenproblem
class CanonicalFunctions(NamedTuple):
    """Coefficients of the functions of x and of y, shape (n, k), and their κ, falling."""

    alpha: np.ndarray
    beta: np.ndarray
    kappa: np.ndarray


def canonical_functions(
    K: CenteredGram, L: CenteredGram, k: int, lam: float, *, memory: Any = None
) -> Solution:
    """Solve L β = κ(K + r I)α, K α = κ(L + s I)β for the k largest κ, r = λ tr K and s = λ tr L.

    With K = GGᵀ (Cholesky with pivots, as many columns as K has rank), GᵀG + rI = RᵀR and
    T = GR⁻¹ the κ are the singular values of T_KᵀT_L: P, Q its vectors, Kα = TP and Lβ = TQ.
    Functions are scaled to αᵀK(K + rI)α = n − 1. The ``value`` is `CanonicalFunctions`.
    """
    x, y = _Side(K, lam, memory), _Side(L, lam, memory)
    n, r, s = K.shape[0], x.factor.rank, y.factor.rank
    # the matrices, their factors and triangles, the product and its square, what makes them
    _require_room(n, 2 * n * n + n * (r + s) + r * r + s * s + 2 * r * s, memory)
    P, kappa, Q = leading_singular(_product(x.factor, y.factor), k)
    keep = kappa > LEAST_CORRELATION
    kappa = kappa[keep]
    scale = np.sqrt(n - 1)
    P, Q = scale * P[:, keep], scale * Q[:, keep]
    u, v = x.factor.values(P), y.factor.values(Q)
    alpha = x.factor.coefficients(x.factor.solve(P), v / kappa)
    beta = y.factor.coefficients(y.factor.solve(Q), u / kappa)
    found = CanonicalFunctions(*shared_signs(alpha, beta), kappa)
    certificate = _proof(x, y, found)
    return Solution(found, _status(x, y, certificate), certificate)


def _product(x: RidgedFactor, y: RidgedFactor) -> np.ndarray:
    """Return T_KᵀT_L = R_K⁻ᵀ (G_KᵀG_L) R_L⁻¹ without T, which would be one more factor of each."""
    product = np.asfortranarray(x.seen(y.G).T)
    return y.solve(product, transposed=True, overwrite=True).T


class _Side:
    """One sample: its matrix, and the factor with the ridge r."""

    def __init__(self, K: CenteredGram, lam: float, memory: Any):
        trace = max(float(K.diagonal().sum()), 0.0)
        self.K, self.ridge = K, lam * trace
        self.factor = RidgedFactor(K, self.ridge, memory)
        self.definite = _factor_holds(K, self.factor.G, trace)


def _factor_holds(K: CenteredGram, G: np.ndarray, trace: float) -> bool:
    n = len(G)
    probe = np.random.default_rng(0).standard_normal((n, 2))
    missed = np.linalg.norm(K @ probe - G @ (G.T @ probe))
    rounding = n * n * EPS * float(np.abs(K.base.diagonal()).max(initial=0.0))
    return bool(missed <= PROBE_TOLERANCE * trace * np.linalg.norm(probe) + rounding)


def leading_singular(
    M: np.ndarray, k: int, *, small: int = WHOLE_SVD_UP_TO
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the k largest singular values of M and their vectors, as columns."""
    if min(M.shape) <= small or k * 4 > min(M.shape):
        P, sizes, Qt = svd(M, full_matrices=False, check_finite=False)
        return P[:, :k], sizes[:k], Qt[:k].T
    if M.shape[0] > M.shape[1]:
        return leading_singular(M.T, k, small=small)[::-1]
    solved = symmetric_eigenpairs(M @ M.T, k, tolerance=1e-12)
    P, sizes = solved.value, np.sqrt(np.maximum(solved.eigenvalues, 0.0))
    return P, sizes, M.T @ P / np.maximum(sizes, LEAST_CORRELATION)


def _proof(x: _Side, y: _Side, found: CanonicalFunctions) -> Certificate:
    """Prove both equations and that the functions are uncorrelated, by products with K and L.

    An equation counts as far as functions see it: its defect e is measured by
    eᵀK(K + rI)⁻¹e = ‖Tᵀe‖², in the unit of κ.
    """
    alpha, beta, kappa = found
    n = len(alpha)
    u, v = x.K @ alpha, y.K @ beta
    right_x, right_y = u + x.ridge * alpha, v + y.ridge * beta
    defects = x.factor.seen(v - right_x * kappa), y.factor.seen(u - right_y * kappa)
    worst = max(float(np.linalg.norm(e, axis=0).max(initial=0.0)) for e in defects)
    skew = max(off_identity(u.T @ right_x / (n - 1)), off_identity(v.T @ right_y / (n - 1)))
    return eigen_proof(
        worst / np.sqrt(n - 1),
        skew,
        f"K_y β = κ (K_x + r) α, K_x α = κ (K_y + r) β for {len(kappa)} pairs on {n} points",
        rank_x=x.factor.rank,
        rank_y=y.factor.rank,
        ridge_x=x.ridge,
        ridge_y=y.ridge,
        storage=x.K.storage,
    )


def _status(x: _Side, y: _Side, certificate: Certificate) -> Status:
    if not (x.definite and y.definite):
        return Status.INDEFINITE
    return Status.OPTIMAL if certificate.ok else Status.ILL_CONDITIONED
