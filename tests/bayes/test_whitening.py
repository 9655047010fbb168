"""Rows are whitened by L⁻¹ as well as by solving with L, whatever L and however many rows."""

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from mercer.bayes._moments import whiten


@pytest.mark.parametrize("deviation", [1.0, 1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("n", [1, 3, 40])
def test_whitened_rows_solve_the_equations(n, deviation):
    rng = np.random.default_rng(n)
    B = rng.standard_normal((7, 20))
    B[3] = B[2] + deviation * B[3]  # two columns that are nearly alike
    L = np.linalg.cholesky(np.cov(B))
    rows = rng.standard_normal((n, 7))
    exact = solve_triangular(L, rows.T, lower=True).T
    Y = whiten(rows.copy(), L)
    np.testing.assert_allclose(Y, exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())
    rounding = 1e-14 * np.abs(Y).max() * np.abs(L).max()
    np.testing.assert_allclose(Y @ L.T, rows, rtol=0, atol=rounding)
