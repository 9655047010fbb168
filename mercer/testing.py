"""Checks for kernels, losses, Gram matrices and solvers, for users who write their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from mercer._array import allocate
from mercer._display import CheckReport, Row, yes_no
from mercer._floats import LEAST_DIVISOR, TINY
from mercer.distances import points_to_check, worst_place
from mercer.gram import Gram
from mercer.kernels import as_kernel
from mercer.kernels.sample import Sample
from mercer.losses.check import LossReport, check_loss
from mercer.result import Certificate, Solution, Status

__all__ = [
    "KernelReport",
    "LossReport",
    "check_gram",
    "check_kernel",
    "check_loss",
    "check_solver",
]


@dataclass(frozen=True, repr=False)
class KernelReport(CheckReport):
    """What `check_kernel` found on a sample.

    Parameters
    ----------
    ok : bool
        Whether every test passed on these points (no proof for all points).
    symmetric, psd, cauchy_schwarz : bool
        k(x, y) = k(y, x); no negative eigenvalue; k(x, y)² ≤ k(x, x) k(y, y).
    min_eigenvalue : float
        The smallest eigenvalue of the symmetric part of K.
    witness : array of shape (n,) or None
        v with vᵀKv < 0, if there is one.
    pair : tuple of int or None
        Two points of X (their row numbers) that break symmetry or Cauchy–Schwarz.
    points : array of int
        The rows of X that were looked at.
    reason : str
        The finding in words.
    """

    _title = "check_kernel"

    ok: bool
    symmetric: bool
    psd: bool
    cauchy_schwarz: bool
    min_eigenvalue: float
    witness: np.ndarray | None
    pair: tuple[int, int] | None
    points: np.ndarray
    reason: str
    kernel: str

    @property
    def about(self) -> str:
        """The kernel that was looked at."""
        return self.kernel

    def rows(self) -> Iterator[Row]:
        """Yield the lines of the table."""
        yield "points", str(len(self.points))
        yield "symmetric", yes_no(self.symmetric)
        yield "positive semidefinite", yes_no(self.psd)
        yield "smallest eigenvalue", f"{self.min_eigenvalue:.4g}"
        yield "Cauchy–Schwarz", yes_no(self.cauchy_schwarz)
        yield "verdict", self.reason


def check_kernel(
    kernel: Any, X: Any, *, tol: float = 1e-8, max_points: int = 1000, random_state: Any = 0
) -> KernelReport:
    """Test on a sample whether a function is a kernel, and show what breaks it.

    All of K is computed (not one triangle), in float64. Passing is evidence, failing is proof.

    Parameters
    ----------
    kernel : Kernel, str or callable
        The kernel, or a Python function of two objects.
    X : table or list of objects
        Points; of more than ``max_points`` a random choice is looked at.
    tol : float, default=1e-8
        What counts as zero, relative to the largest |K_ij|.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import check_kernel
    >>> report = check_kernel(lambda x, y: np.linalg.norm(x) * np.linalg.norm(y) - 1, [[0.0]])
    >>> report.ok, report.min_eigenvalue
    (False, -1.0)
    """
    kernel = as_kernel(kernel)
    sample = kernel.sample(X)
    points = points_to_check(len(sample), tol, max_points, random_state)
    K = _full_matrix(kernel.bind(sample), sample, points)
    scale = max(float(np.abs(K).max()), TINY)
    asymmetric = worst_place(np.abs(K - K.T), tol * scale)
    values, vectors = eigh((K + K.T) / 2)
    psd = bool(values[0] >= -tol * scale * len(K) ** 0.5)
    lengths = np.sqrt(np.maximum(np.diagonal(K), 0.0))
    broken = worst_place(np.abs(K) - np.outer(lengths, lengths), tol * scale)
    pair = asymmetric or broken
    return KernelReport(
        ok=asymmetric is None and psd and broken is None,
        symmetric=asymmetric is None,
        psd=psd,
        cauchy_schwarz=broken is None,
        min_eigenvalue=float(values[0]),
        witness=None if psd else vectors[:, 0],
        pair=None if pair is None else (int(points[pair[0]]), int(points[pair[1]])),
        points=points,
        reason=_reason(K, asymmetric, psd, broken, float(values[0]), points),
        kernel=repr(kernel),
    )


def _full_matrix(kernel: Any, sample: Sample, points: np.ndarray) -> np.ndarray:
    """Return K with both triangles computed: two views are not the same sample."""
    K = allocate((len(points), len(points)), np.float64)
    kernel.check_pair(sample, sample)
    kernel.block_of(sample[points], sample[points], K)
    if not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise ValueError(f"{kernel!r} is {K[i, j]} for the points {points[i]} and {points[j]} of X")
    return K


def _reason(
    K: np.ndarray,
    asymmetric: tuple[int, ...] | None,
    psd: bool,
    broken: tuple[int, ...] | None,
    smallest: float,
    points: np.ndarray,
) -> str:
    if asymmetric is not None:
        i, j = asymmetric
        return (
            f"not symmetric: k(x{points[i]}, x{points[j]}) = {K[i, j]:.4g}, "
            f"k(x{points[j]}, x{points[i]}) = {K[j, i]:.4g}"
        )
    if not psd and np.diagonal(K).min() < 0:
        i = int(np.argmin(np.diagonal(K)))
        return f"not a kernel: k(x{points[i]}, x{points[i]}) = {K[i, i]:.4g} < 0"
    if not psd:
        return f"not a kernel: vᵀKv = {smallest:.4g} < 0 for v = witness"
    if broken is not None:
        i, j = broken
        return f"not a kernel: k(x{points[i]}, x{points[j]})² > k(x, x) k(y, y)"
    return "no objection on these points"


def check_gram(G: Gram, K: np.ndarray, *, rtol: float = 1e-6, random_state: Any = 0) -> None:
    """Assert that a Gram storage agrees with its dense twin K in every operation.

    Parameters
    ----------
    G : Gram
        The storage under test.
    K : array of shape (n, m)
        The same matrix, computed in another way.
    """
    rng = np.random.default_rng(random_state)
    n, m = K.shape
    scale = max(float(np.abs(K).max()), LEAST_DIVISOR)

    def same(got: Any, wanted: Any, what: str, factor: float = 1.0) -> None:
        np.testing.assert_allclose(got, wanted, rtol=0, atol=rtol * scale * factor, err_msg=what)

    assert G.shape == K.shape, f"shape {G.shape} is not {K.shape}"
    V, W = rng.standard_normal((m, 3)), rng.standard_normal((n, 2))
    same(G @ V, K @ V, "G @ V", m)
    same(G @ V[:, 0], K @ V[:, 0], "G @ v", m)
    same(G.rmatmat(W), K.T @ W, "Gᵀ @ W", n)
    some = rng.integers(0, n, size=min(n, 5))
    same(G.rows(some), K[some], "rows")
    same(G.toarray(), K, "toarray")
    columns = rng.permutation(m)[: max(1, m // 2)]
    same(G.restrict(some, columns).toarray(), K[np.ix_(some, columns)], "restrict(rows, columns)")
    if G.symmetric:
        _check_square(G, K, some, same)
    assert isinstance(G.nbytes, int), "nbytes must be an int"
    assert isinstance(G.exact, bool), "exact must be a bool"


def _check_square(G: Gram, K: np.ndarray, some: np.ndarray, same: Callable[..., None]) -> None:
    n = len(K)
    same(G.diagonal(), np.diagonal(K), "diagonal")
    same(G.restrict(some).toarray(), K[np.ix_(some, some)], "restrict")
    H = np.eye(n) - 1.0 / n
    same(G.centered().toarray(), H @ K @ H, "centered", n)
    same(G.centered() @ np.arange(n), H @ K @ H @ np.arange(n), "centered @ v", n * n)
    same(G.centered().diagonal(), np.diagonal(H @ K @ H), "centered diagonal", n)


def check_solver(solve: Callable[..., Solution], *args: Any, **kwargs: Any) -> Solution:
    """Assert that a solver keeps its contract on a problem, and return its solution.

    It must return a `Solution` with a `Status` and a plain `Certificate`, leave its arguments
    alone, give the same answer twice, and call optimal only what its certificate proves.
    """
    before = [np.array(a) if isinstance(a, np.ndarray) else None for a in args]
    first, second = solve(*args, **kwargs), solve(*args, **kwargs)
    assert isinstance(first, Solution), f"a solver returns a Solution, not {type(first).__name__}"
    assert isinstance(first.status, Status), "status must be a Status"
    assert isinstance(first.certificate, Certificate), "certificate must be a Certificate"
    assert first.certificate.ok or not first.status.ok, "OPTIMAL without a proof"
    np.testing.assert_array_equal(first.value, second.value, err_msg="not the same answer twice")
    for argument, copy in zip(args, before, strict=True):
        if copy is not None:
            np.testing.assert_array_equal(argument, copy, err_msg="an argument was changed")
    return first
