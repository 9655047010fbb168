"""The ridge system by products with K alone, for matrices that no memory holds."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from mercer._array import parse_memory, ranges
from mercer._floats import EPS
from mercer.gram import Gram
from mercer.result import Solution, Status
from mercer.solvers._scaled import ScaledSystem
from mercer.solvers.pivoted import randomly_pivoted_cholesky

MAX_PRODUCTS = 1000
GOAL = 0.1  # of the tolerance, relative to the centred targets
PATIENCE = 50  # products without a smaller residual: rounding stops it
RESTARTS = 5  # from the recomputed residual
MOST_ROWS = 2000  # of K in the preconditioner; more cost longer than the products they save
ARRAYS = 3  # of n × rank values: the factor, and room for what makes it


def solve_ridge_cg(
    K: Gram,
    Y: np.ndarray,
    ridge: np.ndarray,
    *,
    fit_intercept: bool = True,
    tolerance: float = 1e-8,
    memory: int | float | str | None = None,
) -> Solution:
    """Solve (K + diag(ridge)) α + 1bᵀ = Y with 1ᵀα = 0 by block conjugate gradients.

    One product with K a step serves all targets, and the targets share their search directions.
    The preconditioner is a Nyström approximation from as many rows of K as the budget holds. The
    offset is taken out by a projection: the system stays positive definite, as conjugate gradients
    need it, which a border of ones would not. Ctrl-C returns the best so far.

    Parameters
    ----------
    K, Y, ridge
        As for `solve_ridge`; K may have any storage.

    Returns
    -------
    Solution
        ``value`` has shape (n, t), ``intercept`` shape (t,); ``stats`` counts products.
    """
    lam = float(ridge.min())
    weight = lam / ridge if lam > 0 else np.ones(len(ridge))
    system = ScaledSystem(lambda V: K @ V, Y, weight, fit_intercept)
    run = _CgRun(system, lam, goal=GOAL * tolerance)
    interrupted = False
    try:
        run.prepare(K, parse_memory(memory) // 2)
        run.solve()
    except KeyboardInterrupt:
        interrupted = True
    alpha, b, certificate = system.proved(
        K, run.X.T, ridge, condition=run.condition, tolerance=tolerance
    )
    status = Status.OPTIMAL if certificate.ok else Status.ILL_CONDITIONED
    if interrupted and not certificate.ok:
        status = Status.INTERRUPTED
    stats = {"products": run.products, "rank": run.rank}
    return Solution(alpha, status, certificate, intercept=b, stats=stats)


class _InverseRoot:
    """S = (U diag(s) Uᵀ + λ + tail on the rest)^-½, up to a factor, near (P D K D P + λ)^-½.

    U and s come from as many rows of K as the budget of bytes holds, the same in every run.
    """

    def __init__(self, K: Gram, system: ScaledSystem, lam: float, budget: int):
        n = K.shape[0]
        rank = int(min(MOST_ROWS, n, budget // (ARRAYS * 8 * n)))
        F, _ = randomly_pivoted_cholesky(K, rank, np.random.RandomState(0))
        F *= system.root[:, None]
        if system.unit is not None:
            means = system.unit @ F
            for part in ranges(n, 4096):
                F[part] -= np.outer(system.unit[part], means)
        Q, R = qr(F, mode="economic", overwrite_a=True, check_finite=False)  # where F was
        left, sizes, _ = np.linalg.svd(R)
        kept = int((sizes > len(sizes) * EPS * sizes.max(initial=0.0)).sum())
        for part in ranges(n, 4096):
            Q[part] = Q[part] @ left
        self.U, values = Q[:, :kept], sizes[:kept] ** 2
        self.largest = float(values.max(initial=0.0))
        # if every row of K is in the span, what is left is λ alone
        tail = values.min() if len(values) and len(values) == rank < n else 0.0
        floor = max(lam + tail, EPS * self.largest)
        self._shrink = np.sqrt(floor / (values + lam)) if len(values) else values

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return S X."""
        return X + self.U @ ((self._shrink - 1.0)[:, None] * (self.U.T @ X))

    def undo(self, X: np.ndarray) -> np.ndarray:
        """Return S⁻¹ X."""
        return X + self.U @ ((1.0 / self._shrink - 1.0)[:, None] * (self.U.T @ X))


class _CgRun:
    """x so far, and how much it cost."""

    def __init__(self, system: ScaledSystem, lam: float, goal: float):
        self._system, self._lam = system, lam
        self._target = system.target.T  # (n, t)
        rounding = 10.0 * EPS * system.size  # what constant targets leave
        self._limit = max(goal * float(np.linalg.norm(self._target)), rounding)
        self.X = np.zeros_like(self._target)
        self.products, self.rank, self.condition = 0, 0, np.inf

    def prepare(self, K: Gram, budget: int) -> None:
        """Make the preconditioner."""
        self._S = _InverseRoot(K, self._system, self._lam, budget)
        self.rank = self._S.U.shape[1]
        if self._lam > 0:  # from above: the smallest eigenvalue of K may be 0
            self.condition = (self._S.largest + self._lam) / self._lam

    def solve(self) -> None:
        """Run until the recomputed residual is small, or nothing helps any more."""
        R = self._target
        for _ in range(RESTARTS):
            before = float(np.linalg.norm(R))
            self._conjugate_gradients(R)
            R = self._target - self._apply(self.X)
            size = float(np.linalg.norm(R))
            if size <= self._limit or size > 0.5 * before or self.products >= MAX_PRODUCTS:
                return

    def _apply(self, X: np.ndarray) -> np.ndarray:
        self.products += 1
        # directions for targets of zero are arbitrary: the projection keeps the matrix symmetric
        return self._system.apply(self._system.project(X.T)).T + self._lam * X

    def _conjugate_gradients(self, R: np.ndarray) -> None:
        """Add the solution for the residual R to x.

        This is the variant of Dubrulle, which keeps the residuals orthonormal (R = Q C): targets
        that depend on each other, or are done before the others, do no harm.
        """
        S = self._S
        Q, C = np.linalg.qr(S.apply(R))
        P, X = Q, self.X
        least, since = np.inf, 0
        while self.products < MAX_PRODUCTS and since < PATIENCE:
            size = float(np.linalg.norm(S.undo(Q @ C)))
            since = 0 if size < least else since + 1
            if size < least:
                least, self.X = size, X
            if size <= self._limit:
                return
            step = S.apply(P)
            T = S.apply(self._apply(step))
            inverse = np.linalg.pinv(P.T @ T, hermitian=True)
            X = X + step @ (inverse @ C)
            Q, Z = np.linalg.qr(Q - T @ inverse)
            P = Q + P @ Z.T
            C = Z @ C
