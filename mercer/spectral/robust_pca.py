"""Robust principal component analysis: a low-rank table with a few gross errors."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from mercer._floats import EPS
from mercer._limits import Limits
from mercer._sklearn import Interval
from mercer.result import Solution
from mercer.solvers import fix_signs
from mercer.spectral._base import LinearProjection
from mercer.spectral._low_rank_sparse import split_low_rank_sparse


class RobustPCA(LinearProjection):
    """Robust PCA: X = L + S with L of low rank and S sparse.

    min ‖L‖_* + λ‖S‖₁ subject to L + S = X, with ‖L‖_* the sum of the singular values. Entries that
    are wrong by any amount go into S and leave the components of L alone. The problem is convex:
    the certificate bounds how far the split is from the best one.

    Parameters
    ----------
    lam : float or None, default=None
        λ > 0, the price of an entry of S; None is 1/√max(n, d), which recovers L and S if the rank
        is small enough and the errors lie at random (Candès, Li, Ma and Wright).
    center : bool, default=False
        Whether the medians of the columns are subtracted first; the convex problem itself knows
        no centre, and means would follow the gross errors.
    tol : float, default=1e-7
        What the relative duality gap and ‖X − L − S‖/‖X‖ must not exceed.
    max_iter : int, default=10000
        Most steps; −1 is no limit.
    time_limit : float or None, default=None
        Seconds for the fit; then the best so far is kept, with a warning.

    Attributes
    ----------
    low_rank_, sparse_ : array of shape (n, d)
        L and S; their sum is X − mean_ up to the feasibility in the certificate.
    rank_ : int
        The rank of L.
    components_ : array of shape (rank_, d)
        Orthonormal directions that span the rows of L.
    singular_values_ : array of shape (rank_,)
        Singular values of L, falling.
    mean_ : array of shape (d,)
        The medians that were subtracted, or zeros.
    n_iter_ : int
        Steps of the solver.
    certificate_ : Certificate
        ``feasibility, primal, dual, relative_gap``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RobustPCA
    >>> X = np.outer(np.arange(1.0, 9.0), np.ones(6))
    >>> X[2, 3] += 50.0
    >>> pca = RobustPCA().fit(X)
    >>> pca.rank_, np.argwhere(np.abs(pca.sparse_) > 1e-3).tolist(), pca.certificate_.ok
    (1, [[2, 3]], True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "center": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        lam: float | None = None,
        center: bool = False,
        tol: float = 1e-7,
        max_iter: int = 10000,
        time_limit: float | None = None,
    ):
        self.lam = lam
        self.center = center
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit

    def fit(self, X: Any, y: Any = None) -> RobustPCA:
        """Split the table; ``y`` is not used."""
        self._validate_params()
        X = self._fit_table(X).astype(np.float64)
        limits = Limits.of(self.max_iter, self.time_limit)
        self.mean_ = np.median(X, axis=0) if self.center else np.zeros(X.shape[1])
        X -= self.mean_
        lam = max(X.shape) ** -0.5 if self.lam is None else float(self.lam)
        scale = float(np.abs(X).max()) or 1.0  # the problem has no unit, squares have a range
        solution = split_low_rank_sparse(X / scale, lam, tol=self.tol, limits=limits)
        self._keep(solution, scale)
        self._accept(_in_units(solution, scale))
        return self

    def _keep(self, solution: Solution, scale: float) -> None:
        L, S, _ = solution.value
        _, values, directions = np.linalg.svd(L, full_matrices=False)
        rounding = max(L.shape) * EPS * values.max(initial=0.0)
        self.rank_ = int(np.count_nonzero(values > rounding))
        self.components_ = fix_signs(directions[: self.rank_].T).T
        self.singular_values_ = scale * values[: self.rank_]
        self.low_rank_, self.sparse_ = scale * L, scale * S
        self.n_iter_ = solution.stats["steps"]

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows of the span that have these scores, shape (m, d)."""
        return np.asarray(X) @ self.components_ + self.mean_


def _in_units(solution: Solution, scale: float) -> Solution:
    """Return the solution with its objectives in the unit of X."""
    parts = dict(solution.certificate.parts)
    for name in ("primal", "dual", "nuclear_norm"):
        parts[name] *= scale
    return replace(solution, certificate=replace(solution.certificate, parts=parts))
