"""Functions that are smooth in space and along a graph: f = K(r − N f).

With the penalty ½‖f‖² + ½ fᵀNf on a function f = Σ αᵢ k(·, xᵢ), N = λLᵖ (and what a squared loss
adds to its diagonal), whatever pulls at rows with forces r moves f to

    (I + N K) α = r,    f = K α,    α = r − N f.

Nothing of n × n is inverted: f solves (I + K N) f = K r, which is symmetric and positive in the
inner product uᵀNv, by block conjugate gradients. Their preconditioner is the same equation for a
factor FFᵀ ≈ K of few columns, solved by Woodbury's formula.

The values of f for forces of 1 at the points of a set, at these points, are the kernel K̃ deformed
by the graph (Sindhwani, Niyogi and Belkin, "Beyond the point cloud"): a machine that sees labels
there alone is the supervised machine with K̃.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, solve_triangular
from scipy.linalg.lapack import dpotrf

from mercer._array import allocate, ranges
from mercer._floats import EPS
from mercer._limits import Limits
from mercer.gram import SINGLE_RANGE, gram
from mercer.kernels import Kernel
from mercer.kernels.sample import Sample
from mercer.solvers.graphs import GraphPenalty
from mercer.solvers.pivoted import pivoted_cholesky, randomly_pivoted_cholesky

MOST_ROWS = 1000  # more cost longer than the products they save
FEW_ROWS, ROWS_EACH = 200, 8  # of K in a factor: one of eight, as long as there are more than few
ARRAYS = 4  # of n × rank values that live at the same time
COLUMNS = 128  # forces that share their search directions
MAX_PRODUCTS = 500  # with K, of a block
RESTARTS = 3  # from the recomputed residual
SINGLE_FROM = 2000  # rows from which steps in float32 save more than they cost
ROUGH_DIGITS = 5e-5  # of a residual is left by steps in float32 at best
LEADING = 64  # directions of K that stay in float64: what they leave is small
PATIENCE = 30  # products without a smaller residual: rounding stops it
LIFTS = 10.0 ** np.arange(-12, 0)  # of the mean diagonal
NEGLIGIBLE = 1e-13  # of the largest eigenvalue of ZᵀNR: such directions are rounding

Product = Callable[[np.ndarray], np.ndarray]


class Landmarks(NamedTuple):
    """Rows in whose span f is sought: ΦΦᵀ takes the place of K."""

    F: np.ndarray  # Φ, (n, r)
    U: np.ndarray  # (r, r), upper: k(Z, Z) = UᵀU
    order: np.ndarray  # which of the points belong to the columns
    trace_error: float  # the part of Σ k(x, x) that they do not reach

    @classmethod
    def of(cls, kernel: Kernel, rows: Sample, points: Sample, memory: int) -> Landmarks:
        """Return the features of all rows, n × m values within the budget."""
        K = gram(kernel, rows, points, storage="dense", dtype=np.float64, memory=memory)
        core = gram(kernel, points, storage="dense", dtype=np.float64, memory=memory).toarray()
        U, order = pivoted_cholesky(core)
        r = len(U)
        U, order = U[:, :r], order[:r]
        F = np.ascontiguousarray(solve_triangular(U, K.toarray()[:, order].T, trans="T").T)
        trace = float(kernel.diagonal_of(rows, np.dtype(np.float64)).sum())
        missed = 1.0 - float(np.einsum("ij,ij->", F, F)) / trace if trace > 0 else 0.0
        return cls(F, U, order, max(missed, 0.0))

    def product(self, V: np.ndarray) -> np.ndarray:
        """Return ΦΦᵀ V."""
        return self.F @ (self.F.T @ V)

    def coefficients(self, alpha: np.ndarray, count: int) -> np.ndarray:
        """Return β with Σ βⱼ k(x, zⱼ) = Σ αᵢ φ(xᵢ)·φ(x); landmarks that add nothing have 0."""
        beta = np.zeros((count, alpha.shape[1]))
        beta[self.order] = solve_triangular(self.U, self.F.T @ alpha)
        return beta


class SingleProduct:
    """K V to about seven digits of what leading directions leave of K.

    The largest eigenvalue of a kernel matrix may be n, and the graph multiplies what float32 loses
    of it. So the first columns of a Cholesky factor FFᵀ ≈ K stay in float64.
    """

    def __init__(self, K: np.ndarray, F: np.ndarray):
        self.F = np.ascontiguousarray(F[:, :LEADING])
        self.rest = np.empty(K.shape, np.float32)
        for rows in ranges(len(K), COLUMNS):
            self.rest[rows] = K[rows] - self.F[rows] @ self.F.T

    def __call__(self, V: np.ndarray) -> np.ndarray:
        return self.F @ (self.F.T @ V) + self.rest @ V.astype(np.float32)


class Deformation:
    """The equation (I + K N) f = K r, ready to be solved for many r.

    Parameters
    ----------
    product : callable
        V ↦ K V in float64.
    F : array of shape (n, r)
        FFᵀ ≈ K.
    N : GraphPenalty
        The penalty.
    roughly : callable, default=None
        The same product, less exact and faster, for the steps from one residual to the next.
    """

    def __init__(
        self, product: Product, F: np.ndarray, N: GraphPenalty, roughly: Product | None = None
    ):
        self.product, self.roughly, self.N, self._F = product, roughly, N, F
        self._NF = N @ F
        core = F.T @ self._NF
        core = (core + core.T) / 2.0
        core[np.diag_indices_from(core)] += 1.0
        self._core = cho_factor(core, overwrite_a=True, check_finite=False)
        self.products = 0

    def _near_inverse(self, R: np.ndarray) -> np.ndarray:
        """Return (I + FFᵀN)⁻¹ R."""
        return R - self._F @ cho_solve(self._core, self._NF.T @ R, check_finite=False)

    def solve(
        self,
        right: np.ndarray,
        *,
        goal: float,
        limits: Limits | None = None,
        start: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return g of shape (n, t) with (I + K N) g = right, right = K r, and what is left.

        With the rest, right − g − K N g, the values K(r − N g) are g + rest: what N does not see of
        g is in them.

        Each column is done when its residual is ``goal`` of what it was at f = 0, in the norm of
        the equation, which does not see what N takes to 0. Out of time, or if rounding stops it,
        the best so far is returned.
        """
        limits, most = limits or Limits(), self.products + MAX_PRODUCTS
        g, rest, sizes = np.zeros_like(right), right, self._sizes(right)
        if start is not None:
            g, rest = start, right - start - self._apply(self.product, self.N @ start)
        before, rough = np.inf, self.roughly is not None
        for _ in range(RESTARTS):
            part = _worst(self._sizes(rest), sizes)
            stuck = part > 0.5 * before
            if part <= goal or limits.stopped() or self.products >= most or (stuck and not rough):
                break
            # steps in float32 where one turn of them is enough
            rough = rough and not stuck and goal >= 2.0 * ROUGH_DIGITS * part
            product = self.roughly if rough and self.roughly else self.product
            goals = (0.5 if rough else 1.0) * goal * sizes
            g = g + self._conjugate_gradients(product, rest, goals, limits, most)
            rest, before = right - g - self._apply(self.product, self.N @ g), part
        return g, rest

    def _apply(self, product: Product, NV: np.ndarray) -> np.ndarray:
        self.products += 1
        return product(NV)

    def _sizes(self, R: np.ndarray) -> np.ndarray:
        """Return the norm of each column's residual."""
        squares = np.einsum("ij,ij->j", self._near_inverse(R), self.N @ R)
        return np.sqrt(np.maximum(squares, 0.0))

    def _conjugate_gradients(
        self, product: Product, R: np.ndarray, goals: np.ndarray, limits: Limits, most: int
    ) -> np.ndarray:
        """Return the solution for the right-hand side R, each column up to its goal.

        This is the variant of Dubrulle, which keeps the residuals orthonormal (in the inner product
        of the preconditioned equation), so that forces which depend on each other, or are done
        before the others, do no harm: they leave the block.
        """
        X = best = np.zeros_like(R)
        Z, NZ, R, C = self._orthonormal(R)
        D, ND = Z, NZ
        least, since = np.inf, 0
        while len(C) and since < PATIENCE and self.products < most and not limits.stopped():
            W = D + self._apply(product, ND)
            inverse = np.linalg.pinv(ND.T @ W, hermitian=True)
            X = X + D @ (inverse @ C)
            Z, NZ, R, S = self._orthonormal(R - W @ inverse)
            C = S @ C
            D, ND = Z + D @ S.T, NZ + ND @ S.T
            worst = _worst(np.linalg.norm(C, axis=0), goals)
            since = 0 if worst < least else since + 1
            if worst < least:
                least, best = worst, X
            if worst <= 1.0:
                break
        return best

    def _orthonormal(self, R: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return Z, NZ and R with ZᵀNR = I, Z the preconditioned R, and S: R before is R S."""
        Z = self._near_inverse(R)
        NZ = self.N @ Z
        G = NZ.T @ R
        values, V = eigh((G + G.T) / 2.0, check_finite=False)
        kept = values > max(NEGLIGIBLE * values[-1], 0.0)
        root = np.sqrt(values[kept])
        V = V[:, kept]
        inverse = V / root
        return Z @ inverse, NZ @ inverse, R @ inverse, root[:, None] * V.T


def _worst(sizes: np.ndarray, wholes: np.ndarray) -> float:
    """Return the largest part; what is 0 beside 0 is done."""
    parts = np.divide(sizes, wholes, out=np.where(sizes > 0, np.inf, 0.0), where=wholes > 0)
    return float(parts.max(initial=0.0))


def _lifted(K: np.ndarray, most: float) -> np.ndarray:
    """Return K with the least of some parts of its mean diagonal added that makes it positive.

    Columns that are solved for one by one are a psd matrix up to what is left of each, and machines
    whose Newton steps fail take thousands of others. What would need more than ``most`` is left.
    """
    unit = float(np.diagonal(K).mean()) * np.eye(len(K))
    for part in LIFTS[most >= LIFTS]:
        lifted = K + part * unit
        if not dpotrf(lifted, lower=True)[1]:
            return lifted
    return K


# ---------------------------------------------------------------- rows and their graph
class Manifold:
    """Rows with a kernel and a graph: what is pulled at some of them moves all.

    Parameters
    ----------
    kernel : Kernel
        Bound to the rows.
    rows : Sample
        All rows, labelled or not.
    N : GraphPenalty
        The penalty beside ‖f‖².
    landmarks : Sample, default=None
        Rows in whose span f is sought; None: all.
    memory : int
        The byte budget.
    most_rows : int
        Of K in the preconditioner.
    single_from : int
        Rows from which steps between two residuals are in float32.
    """

    def __init__(
        self,
        kernel: Kernel,
        rows: Sample,
        N: GraphPenalty,
        landmarks: Sample | None = None,
        memory: int = 2**62,
        most_rows: int = MOST_ROWS,
        single_from: int = SINGLE_FROM,
    ):
        self.N, self.n, self._memory = N, len(rows), memory
        self._most_rows, self._single_from = most_rows, single_from
        self.landmarks: Landmarks | None = None
        self._responses: np.ndarray | None = None
        if landmarks is None:
            self.K = gram(kernel, rows, purpose="direct", memory=memory // 2)
            self.product: Product = lambda V: self.K @ V
            self.storage = self.K.storage
        else:
            self.landmarks = Landmarks.of(kernel, rows, landmarks, memory)
            self.product = self.landmarks.product
            self.storage = "landmarks"

    @cached_property
    def system(self) -> Deformation:
        """The equation."""
        return Deformation(self.product, self.factor, self.N, self.roughly)

    @cached_property
    def roughly(self) -> Product | None:
        """K V for conjugate gradients, where a second matrix has room and is worth its making."""
        held = self.landmarks is None and self.K.holds_array and self.n >= self._single_from
        if not held or 4 * self.n**2 > self._memory // 8 or self.K.diagonal().max() > SINGLE_RANGE:
            return None
        return SingleProduct(self.K.toarray(), self.factor)

    @cached_property
    def factor(self) -> np.ndarray:
        """F with FFᵀ ≈ K, which costs some rows of K; of landmarks it is all there is."""
        if self.landmarks is not None:
            return self.landmarks.F
        affordable = self._memory // 4 // (ARRAYS * 8 * self.n)
        worth = max(FEW_ROWS, self.n // ROWS_EACH)
        rank = int(max(1, min(self._most_rows, worth, self.n, affordable)))
        return randomly_pivoted_cholesky(self.K, rank, np.random.RandomState(0))[0]

    def under(self, N: GraphPenalty) -> Manifold:
        """Return the same rows under another penalty, with the same K and its factor."""
        other = copy(self)
        other.N, other.factor, other.roughly = N, self.factor, self.roughly
        other._responses = None
        other.__dict__.pop("system", None)
        return other

    def _columns(self, points: np.ndarray) -> np.ndarray:
        if self.landmarks is None:
            return np.array(self.K.rows(points).T, dtype=np.float64)
        return self.landmarks.F @ self.landmarks.F[points].T

    def deformed(self, points: np.ndarray, *, goal: float, limits: Limits) -> np.ndarray:
        """Return K̃ among some rows, (l, l): f at these for a force of 1 at each of them.

        What all rows answer is kept, if there is room: `settle` starts from it. Out of time,
        columns that are not begun are those of K.
        """
        out = allocate((len(points), len(points)), np.float64, self._memory)
        kept = self.N.lam > 0 and 8 * self.n * len(points) <= self._memory // 8
        self._responses = np.zeros((self.n, len(points))) if kept else None
        for part in ranges(len(points), COLUMNS):
            right = self._columns(points[part])
            if self.N.lam > 0 and not limits.stopped():
                right = np.add(*self.system.solve(right, goal=goal, limits=limits))
                if self._responses is not None:
                    self._responses[:, part] = right
            out[:, part] = right[points]
        return _lifted((out + out.T) / 2.0, goal)

    def settle(
        self,
        forces: np.ndarray,
        *,
        goal: float,
        limits: Limits,
        points: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return α = r − N g and g ≈ Kα for forces r, each of shape (n, t).

        ``points`` are those of the last `deformed`, if there are no forces elsewhere.
        """
        if not self.N.acts:
            return forces, np.zeros_like(forces)
        known = points is not None and self._responses is not None
        start = self._responses @ forces[points] if known else None
        g, _ = self.system.solve(self.product(forces), goal=goal, limits=limits, start=start)
        return forces - self.N @ g, g

    def rounding_of_norm2(self, alpha: np.ndarray) -> np.ndarray:
        """Return what rounding may leave in αᵀKα, for each column."""
        F = None if self.landmarks is None else self.landmarks.F
        squares = self.K.diagonal() if F is None else np.einsum("ij,ij->i", F, F)
        sizes = np.sqrt(np.abs(squares)) @ np.abs(alpha)
        return max(self.n, 64) * EPS * sizes**2

    def coefficients(self, alpha: np.ndarray, points: int) -> np.ndarray:
        """Return what new rows are told by: α, or with landmarks theirs."""
        return alpha if self.landmarks is None else self.landmarks.coefficients(alpha, points)
