"""The band form: Q B Qᵀ is the matrix, B is a band, and every λ is solved."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.solvers import _lapack
from mercer.solvers._factors import BandForm
from tests.cases import table

LAMS = np.array([0.1, 1.0, 10.0])
# a width of one is the tridiagonal form; most sizes are no multiple of the width
sizes = pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9, 17, 50, 97])
widths = pytest.mark.parametrize("width", [1, 3, 8, 48])


def definite(n):
    B = table(n, n)
    return B @ B.T / n


def form(K, width, dtype=np.float64):
    return BandForm(np.array(np.tril(K), dtype, order="F"), LAMS, width)


def from_band(band):
    """Return the symmetric matrix of the diagonals that a band array holds."""
    w, n = band.shape[0] - 1, band.shape[1]
    lower = sum(np.diag(band[d, : n - d], -d) for d in range(min(w + 1, n)))
    return lower + np.tril(lower, -1).T


@sizes
@widths
@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-11), (np.float32, 2e-3)])
def test_all_systems_are_solved(n, width, dtype, accuracy):
    K = definite(n)
    found = form(K, width, dtype)
    assert found.usable.all()
    R = np.random.default_rng(1).normal(size=(3, 2, n))
    X = found.solve(R, np.arange(3))
    for k, lam in enumerate(LAMS):
        np.testing.assert_allclose((K + lam * np.eye(n)) @ X[k].T, R[k].T, atol=accuracy)


@sizes
@widths
def test_the_band_has_the_eigenvalues_of_the_matrix(n, width):
    K = definite(n)
    band = form(K, width).band
    np.testing.assert_allclose(
        np.linalg.eigvalsh(from_band(band)), np.linalg.eigvalsh(K), atol=1e-12
    )


def test_some_numbers_and_one_right_hand_side_for_all():
    K, found = definite(30), form(definite(30), 4)
    r = table(1, 30)[None]
    X = found.solve(r, np.array([2, 0]))
    for x, lam in zip(X, (10.0, 0.1), strict=True):
        np.testing.assert_allclose(x[0], np.linalg.solve(K + lam * np.eye(30), r[0, 0]), rtol=1e-9)


def test_what_is_not_positive_definite_is_not_usable():
    K = definite(30) - 5.0 * np.eye(30)
    assert form(K, 4).usable.tolist() == [False, False, True]


# ---------------------------------------------------------------- the routines under it
def test_products_of_parts_of_arrays():
    A, B = np.asfortranarray(table(9, 7)), np.asfortranarray(table(7, 5))
    out = np.zeros((12, 5), order="F")
    _lapack.add_product(out[2:6], A[1:5, 2:6], B[3:], factor=-2.0)
    np.testing.assert_allclose(out[2:6], -2.0 * A[1:5, 2:6] @ B[3:])
    assert not out[:2].any()
    assert not out[6:].any()
    np.testing.assert_allclose(_lapack.matmul(np.ascontiguousarray(A), B), A @ B)


def test_rows_one_after_the_other_are_refused():
    A = np.ascontiguousarray(table(4, 4))
    with pytest.raises(ValueError, match="Fortran's order"):
        _lapack.symmetric_product(A, A)
