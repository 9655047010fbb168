"""The spectral engine on known spectra: operators, pencils, the lower end, nothing stored."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator

from mercer import Status, gram
from mercer.kernels import RBF, Linear, Polynomial, Sigmoid
from mercer.solvers import (
    leading_centered_eigenpairs,
    leading_eigenpairs,
    pencil_eigenpairs,
    smallest_eigenpairs,
    symmetric_eigenpairs,
)
from mercer.solvers._krylov import block_krylov, orthonormal
from tests.cases import table

RNG = np.random.default_rng(0)
N = 700  # above the size that LAPACK serves

SPECTRA = {
    "falling fast": 0.8 ** np.arange(N),
    "falling slowly": 1.0 / (1.0 + np.arange(N)),
    "thirty times the largest": np.r_[np.full(30, 2.0), RNG.random(N - 30)],
    "rank three": np.r_[3.0, 2.0, 1.0, np.zeros(N - 3)],
    "zero": np.zeros(N),
    "identity": np.ones(N),
    "negative ones larger": np.r_[1.0, 0.5, np.zeros(N - 4), -0.3, -5.0],
    "no gap": RNG.random(N),
    "of size 1e-200": 1e-200 / (1.0 + np.arange(N)),
    "of size 1e150": 1e150 / (1.0 + np.arange(N)),
}
every_spectrum = pytest.mark.parametrize("values", SPECTRA.values(), ids=SPECTRA.keys())
Q = np.linalg.qr(RNG.normal(size=(N, N)))[0]


def matrix(values):
    A = (Q * values) @ Q.T
    return (A + A.T) / 2


@every_spectrum
def test_products_find_the_largest_eigenvalues(values):
    A = matrix(values)
    solution = symmetric_eigenpairs(A, 5)
    wanted = np.sort(values)[::-1][:5]
    scale = np.abs(values).max()
    np.testing.assert_allclose(solution.eigenvalues, wanted, atol=1e-12 * scale, rtol=0)
    V = solution.value
    np.testing.assert_allclose(V.T @ V, np.eye(5), atol=1e-12)
    assert np.linalg.norm(A @ V - V * solution.eigenvalues) <= 1e-8 * scale
    assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, aslinearoperator])
@pytest.mark.parametrize("k", [3, None])
def test_arrays_sparse_matrices_and_operators_give_the_same(form, k):
    A = table(40, 40)
    A = A + A.T
    solution = symmetric_eigenpairs(form(A), k)
    wanted = np.linalg.eigvalsh(A)[::-1][:k]
    np.testing.assert_allclose(solution.eigenvalues, wanted, atol=1e-12 * np.abs(wanted).max())
    assert solution.certificate.ok


def test_the_argument_is_left_as_it_was():
    A = matrix(SPECTRA["falling fast"])
    before = A.copy()
    symmetric_eigenpairs(A)
    symmetric_eigenpairs(A, 3)
    np.testing.assert_array_equal(A, before)


def test_a_spectrum_that_is_not_finite_is_refused():
    A = matrix(SPECTRA["falling fast"])
    A[3, 4] = A[4, 3] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        block_krylov(A.dot, N, 3, tolerance=1e-8)


def test_a_run_that_is_cut_short_says_how_far_it_came():
    A = matrix(SPECTRA["no gap"])
    ritz = block_krylov(A.dot, N, 5, tolerance=1e-12, max_passes=3)
    assert ritz.passes == 3
    wanted = np.linalg.norm(A @ ritz.vectors - ritz.vectors * ritz.values, axis=0).max()
    np.testing.assert_allclose(ritz.residual, wanted / ritz.values[0], rtol=1e-8)


@given(seed=st.integers(0, 2**16), rank=st.integers(0, 6), scale=st.sampled_from([1e-8, 1.0, 1e8]))
@settings(max_examples=30, deadline=None)
def test_an_orthonormal_basis_spans_the_columns(seed, rank, scale):
    rng = np.random.default_rng(seed)
    W = scale * rng.normal(size=(20, rank)) @ rng.normal(size=(rank, 6))
    B = orthonormal(orthonormal(W, 0.0), 0.5)
    assert B.shape[1] <= rank
    np.testing.assert_allclose(B.T @ B, np.eye(B.shape[1]), atol=1e-12)
    np.testing.assert_allclose(B @ (B.T @ W), W, atol=1e-6 * scale * 30)


# ---------------------------------------------------------------- the lower end
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_smallest_eigenvalues_of_a_path_are_known(form):
    n = 900
    path = sp.diags_array([np.r_[1.0, np.full(n - 2, 2.0), 1.0], -np.ones(n - 1), -np.ones(n - 1)],
                          offsets=[0, 1, -1])  # fmt: skip
    solution = smallest_eigenpairs(form(path.toarray()), 4)
    wanted = 2.0 - 2.0 * np.cos(np.pi * np.arange(4) / n)
    np.testing.assert_allclose(solution.eigenvalues, wanted, atol=1e-12)
    assert solution.certificate.ok


# ---------------------------------------------------------------- pencils
def pencil(p=8, rank=None, seed=0):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(p, p)), rng.normal(size=(p, rank or p))
    return A + A.T, B @ B.T


def test_a_pencil_is_what_lapack_says():
    A, B = pencil()
    solution = pencil_eigenpairs(A, B)
    np.testing.assert_allclose(solution.eigenvalues, scipy.linalg.eigh(A, B)[0][::-1], rtol=1e-9)
    V = solution.value
    np.testing.assert_allclose(V.T @ B @ V, np.eye(8), atol=1e-9)
    np.testing.assert_allclose(A @ V, B @ V * solution.eigenvalues, atol=1e-8)
    assert solution.certificate.ok


def test_a_rank_deficient_right_side_is_used_on_its_range():
    A, B = pencil(rank=5)
    solution = pencil_eigenpairs(A, B, 3)
    U = np.linalg.svd(B)[0][:, :5]
    wanted = scipy.linalg.eigh(U.T @ A @ U, U.T @ B @ U)[0][::-1][:3]
    np.testing.assert_allclose(solution.eigenvalues, wanted, rtol=1e-9)
    assert solution.certificate.rank == 5
    assert solution.certificate.rank == 5


def test_shrinkage_moves_the_right_side_towards_the_identity():
    A, B = pencil(rank=5)
    shrunk = 0.7 * B + 0.3 * np.trace(B) / 8 * np.eye(8)
    np.testing.assert_allclose(
        pencil_eigenpairs(A, B, shrinkage=0.3).eigenvalues, pencil_eigenpairs(A, shrunk).eigenvalues
    )
    with pytest.raises(ValueError, match=r"shrinkage must lie in \[0, 1\]; got 2"):
        pencil_eigenpairs(A, B, shrinkage=2.0)


def test_a_right_side_of_zeros_has_nothing_to_say():
    assert pencil_eigenpairs(np.eye(3), np.zeros((3, 3))).eigenvalues.shape == (0,)


# ---------------------------------------------------------------- nothing stored
ROWS = table(900, 4) * np.array([3.0, 2.0, 1.0, 0.5])


def both(kernel, rows=ROWS):
    return (gram(kernel, rows, storage="blocked", dtype=d) for d in (np.float64, np.float32))


@pytest.mark.parametrize("kernel", [RBF(gamma=0.1), Polynomial(degree=2), Linear()], ids=repr)
def test_tiles_give_what_the_centred_matrix_gives(kernel):
    wanted = leading_eigenpairs(gram(kernel, ROWS).centered(), 4)
    solution, centering = leading_centered_eigenpairs(*both(kernel), 4)
    assert solution.certificate.ok
    np.testing.assert_allclose(solution.eigenvalues, wanted.eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(solution.value, wanted.value, atol=1e-4)
    np.testing.assert_allclose(centering.means, kernel(ROWS).mean(axis=1), rtol=1e-10)
    assert solution.certificate.trace == pytest.approx(wanted.certificate.trace)


def test_what_float32_cannot_reach_is_reached_in_float64():
    wanted = leading_eigenpairs(gram(RBF(gamma=0.1), ROWS).centered(), 4)
    solution, _ = leading_centered_eigenpairs(*both(RBF(gamma=0.1)), 4, tolerance=1e-10)
    assert solution.certificate.residual <= 1e-10
    np.testing.assert_allclose(solution.value, wanted.value, atol=1e-8)


def test_equal_points_have_no_variance():
    rows = np.full((900, 2), 0.5)
    solution, _ = leading_centered_eigenpairs(*both(RBF(gamma=1.0), rows), 3)
    assert solution.eigenvalues.shape == (0,)


def test_small_eigenvalues_are_as_good_as_large_ones():
    kernel = RBF(gamma=0.0002)  # so smooth that eigenvalues fall below what float32 can tell
    wanted = leading_eigenpairs(gram(kernel, ROWS).centered(), 25, tolerance=1e-12)
    assert wanted.eigenvalues[-1] < 1e-6 * wanted.eigenvalues[0]
    solution, _ = leading_centered_eigenpairs(*both(kernel), 25)
    np.testing.assert_allclose(solution.eigenvalues, wanted.eigenvalues, rtol=1e-6)


def test_the_lower_end_of_an_indefinite_matrix_is_reported():
    kernel = Sigmoid(scale=1.0, bias=-1.0)
    H = np.eye(len(ROWS)) - 1.0 / len(ROWS)
    lowest = np.linalg.eigvalsh(H @ kernel(ROWS) @ H)[0]
    assert lowest < 0
    solution, _ = leading_centered_eigenpairs(*both(kernel), 3, below=True)
    np.testing.assert_allclose(solution.negative, [lowest], rtol=0.05)
    by_products = leading_eigenpairs(gram(kernel, ROWS).centered(), 3, below=True)
    np.testing.assert_allclose(by_products.negative, [lowest], rtol=0.05)


def test_a_start_from_few_distinct_points_is_completed():
    rows = np.repeat(table(3, 2), 300, axis=0)
    solution, _ = leading_centered_eigenpairs(*both(Linear(), rows), 4, sample=50)
    wanted = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False) ** 2
    np.testing.assert_allclose(solution.eigenvalues, wanted, rtol=1e-9)  # no more than the rank
