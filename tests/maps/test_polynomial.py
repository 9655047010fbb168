"""The polynomial map: inner products are the kernel, names, sparse rows, the budget."""

from __future__ import annotations

from math import comb

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import PolynomialFeatures

from mercer import PolynomialMap
from mercer.kernels import Polynomial
from tests.cases import SAMPLES, sparse_table, table
from tests.compare import refuses


@given(
    st.integers(0, 5),
    st.integers(1, 5),
    st.floats(0.1, 3.0),
    st.sampled_from([0.0, 0.5, 1.0, 2.5]),
    st.integers(0, 10**6),
)
def test_inner_products_are_the_kernel(degree, d, scale, bias, seed):
    X, Y = table(6, d, seed), table(4, d, seed + 1)
    phi = PolynomialMap(degree, scale=scale, bias=bias).fit(X)
    kernel = Polynomial(degree, scale=scale, bias=bias)
    size = np.sqrt(np.outer(kernel.diagonal(X), kernel.diagonal(Y)))
    error = np.abs(phi.transform(X) @ phi.transform(Y).T - kernel(X, Y))
    assert np.all(error <= 1e-13 * size + 1e-300)
    assert phi.certificate_.ok
    assert phi.certificate_.gram_error < 1e-13


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_columns_are_the_monomials_of_their_names_times_the_weight(degree):
    X = table(5, 3)
    phi, plain = PolynomialMap(degree).fit(X), PolynomialFeatures(degree).fit(X)
    assert phi.get_feature_names_out().tolist() == plain.get_feature_names_out().tolist()
    weights = phi.transform(X) / plain.transform(X)
    np.testing.assert_allclose(weights, np.broadcast_to(weights[0], weights.shape))
    # Σ weight² is the kernel of ones with x_i y_i = 1: (d + 1)^n
    np.testing.assert_allclose((weights[0] ** 2).sum(), 4.0**degree)


def test_weights_of_the_square_are_those_of_the_binomial_formula():
    features = PolynomialMap(2, scale=2.0, bias=3.0).fit_transform([[1.0, 1.0]])[0]
    # (2a + 2b + 3)² = 9 + 12a + 12b + 4a² + 8ab + 4b²
    np.testing.assert_allclose(features**2, [9.0, 12.0, 12.0, 4.0, 8.0, 4.0])


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_the_number_of_columns(bias):
    for d, n in [(1, 4), (3, 0), (4, 3)]:
        phi = PolynomialMap(n, bias=bias).fit(table(3, d))
        wanted = comb(d + n, n) if bias else comb(d + n - 1, n)
        assert phi.n_output_features_ == phi.transform(table(3, d)).shape[1] == wanted
        assert len(phi.get_feature_names_out()) == wanted


@pytest.mark.parametrize("degree", range(5))
@pytest.mark.parametrize("bias", [0.0, 0.7])
def test_sparse_rows_give_the_same_and_stay_sparse(degree, bias):
    rows = sparse_table(9, 8)
    phi = PolynomialMap(degree, bias=bias).fit(rows)
    features = phi.transform(rows)
    assert sp.issparse(features)
    dense = PolynomialMap(degree, bias=bias).fit_transform(rows.toarray())
    np.testing.assert_allclose(features.toarray(), dense, atol=1e-14)


def test_sparse_cells_given_twice_are_added():
    twice = sp.csr_array((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    wanted = PolynomialMap().fit_transform([[3.0, 0.0]])
    np.testing.assert_allclose(PolynomialMap().fit_transform(twice).toarray(), wanted)
    assert twice.nnz == 2  # the rows of the caller are left alone


def test_wide_sparse_rows_have_only_the_products_of_their_entries():
    rows = sp.random_array((20, 30_000), density=2e-4, format="csr", rng=np.random.default_rng(0))
    features = PolynomialMap(2, bias=0.0).fit_transform(rows)
    widths = np.diff(rows.indptr)
    assert features.nnz == (widths * (widths + 1) // 2).sum()
    assert features.shape[1] == 30_000 * 30_001 // 2


@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES.keys())
def test_every_kind_of_rows(rows):
    features = PolynomialMap(3).fit_transform(rows)
    assert features.dtype == rows.dtype
    dense = features.toarray() if sp.issparse(features) else features
    K = Polynomial(3)(rows)
    eps = np.finfo(rows.dtype).eps
    np.testing.assert_allclose(dense @ dense.T, K, atol=100 * eps * np.abs(K).max())


def test_set_output_names_the_columns():
    frame = pd.DataFrame(table(4, 2), columns=["a", "b"])
    out = PolynomialMap().set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == ["1", "a", "b", "a^2", "a b", "b^2"]


def test_more_columns_than_fit_are_an_error_that_counts_them():
    X = table(10, 40)
    refuses(lambda: PolynomialMap(12).fit(X), ValueError, "degree=12 makes [0-9]+ columns")
    refuses(
        lambda: PolynomialMap(3, memory="100KB").fit(X),
        ValueError,
        f"makes {comb(43, 3)} columns: 10 rows take 987 kB, the budget is 100 kB",
    )


def test_bad_parameters():
    X = table(4, 2)
    refuses(lambda: PolynomialMap(-1).fit(X), ValueError, "'degree' parameter")
    refuses(lambda: PolynomialMap(bias=-1.0).fit(X), ValueError, "'bias' parameter")
    refuses(lambda: PolynomialMap(scale=0.0).fit(X), ValueError, "'scale' parameter")
    refuses(lambda: PolynomialMap(3).fit(1e120 * X), ValueError, "too large for degree=3")
