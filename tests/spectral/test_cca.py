"""CCA: planted correlations, scikit-learn where that converges, white variates, any rank."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh
from sklearn import cross_decomposition
from sklearn.linear_model import LinearRegression

from mercer import CCA
from tests.cases import table
from tests.compare import refuses

PLANTED = np.array([0.9, 0.6, 0.2])


def planted(n, seed=0, mixed=True):
    """Return X (n, 5) and Y (n, 4) with canonical correlations 0.9, 0.6, 0.2 and 0."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, 5)), rng.normal(size=(n, 4))
    y[:, :3] = PLANTED * x[:, :3] + np.sqrt(1 - PLANTED**2) * y[:, :3]
    if not mixed:
        return x, y
    return x @ rng.normal(size=(5, 5)) + 3.0, y @ rng.normal(size=(4, 4)) - 1.0


X, Y = planted(500)


def variances(U):
    return np.atleast_2d(np.cov(U.T))


# ---------------------------------------------------------------- planted structure, other ways
def test_planted_correlations_are_recovered():
    cca = CCA(4).fit(*planted(20_000))
    np.testing.assert_allclose(cca.correlations_, [*PLANTED, 0.0], atol=0.03)


def test_planted_directions_are_recovered():
    x, y = planted(20_000, mixed=False)
    cca = CCA(2).fit(x, y)
    for weights in (cca.x_weights_, cca.y_weights_):
        leading = weights[:2] / np.linalg.norm(weights, axis=0)
        np.testing.assert_allclose(np.abs(leading), np.eye(2), atol=0.05)


def test_it_equals_scikit_learn_up_to_sign_and_scale():
    reference = cross_decomposition.CCA(3, max_iter=20_000, tol=1e-14).fit(X, Y)
    got, wanted = CCA(3).fit(X, Y).transform(X, Y), reference.transform(X, Y)
    for a, b in zip(got, wanted, strict=True):
        alike = np.corrcoef(a.T, b.T)[:3, 3:]
        np.testing.assert_allclose(np.abs(np.diag(alike)), 1.0, atol=1e-5)


def test_it_solves_the_generalised_eigenproblem():
    C = np.cov(X.T, Y.T)
    S_xx, S_xy, S_yy = C[:5, :5], C[:5, 5:], C[5:, 5:]
    squares = eigh(S_xy @ np.linalg.solve(S_yy, S_xy.T), S_xx, eigvals_only=True)[::-1][:4]
    cca = CCA(4).fit(X, Y)
    np.testing.assert_allclose(cca.correlations_**2, squares, atol=1e-11)
    np.testing.assert_allclose(
        S_xy @ cca.y_weights_, S_xx @ cca.x_weights_ * cca.correlations_, atol=1e-10
    )


def test_of_one_target_the_correlation_is_that_of_least_squares():
    y = Y[:, 0]
    cca = CCA().fit(X, y)
    r2 = LinearRegression().fit(X, y).score(X, y)
    np.testing.assert_allclose(cca.correlations_, [np.sqrt(r2)], rtol=1e-10)
    assert cca.score(X, y) == pytest.approx(np.sqrt(r2))


# ---------------------------------------------------------------- variates
def test_variates_are_white_and_correlated_only_in_pairs():
    cca = CCA(4).fit(X, Y)
    U, V = cca.transform(X, Y)
    np.testing.assert_allclose(variances(U), np.eye(4), atol=1e-11)
    np.testing.assert_allclose(variances(V), np.eye(4), atol=1e-11)
    np.testing.assert_allclose(np.cov(U.T, V.T)[:4, 4:], np.diag(cca.correlations_), atol=1e-11)
    np.testing.assert_allclose(cca.correlations(X, Y), cca.correlations_, atol=1e-11)
    assert cca.score(X, Y) == pytest.approx(cca.correlations_.mean())


def test_transform_and_fit_transform():
    cca = CCA(2)
    U, V = cca.fit_transform(X, Y)
    np.testing.assert_array_equal(cca.transform(X), U)
    np.testing.assert_allclose(V, (Y - cca.y_mean_) @ cca.y_weights_, atol=1e-12)


def test_held_out_rows_have_the_planted_correlation():
    cca = CCA(1).fit(*planted(2000, mixed=False))
    assert cca.score(*planted(2000, seed=1, mixed=False)) == pytest.approx(0.9, abs=0.03)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4))
def test_invertible_maps_of_the_columns_change_no_correlation(seed, p, q):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(30, p)), rng.normal(size=(30, q))
    A, B = (np.eye(d) + 0.3 * np.triu(rng.uniform(-1, 1, size=(d, d)), 1) for d in (p, q))
    wanted = CCA(4).fit(x, y).correlations_
    np.testing.assert_allclose(CCA(4).fit(x @ A + 1, y @ B - 2).correlations_, wanted, atol=1e-8)
    np.testing.assert_allclose(CCA(4).fit(y, x).correlations_, wanted, atol=1e-8)


def test_no_pair_of_directions_is_more_correlated():
    best = CCA(1).fit(X, Y).correlations_[0]
    rng = np.random.default_rng(0)
    A, B = X @ rng.normal(size=(5, 300)), Y @ rng.normal(size=(4, 300))
    assert np.abs(np.corrcoef(A.T, B.T)[:300, 300:]).max() <= best


# ---------------------------------------------------------------- rank, ridge, units
def test_rank_deficient_blocks():
    rows = np.column_stack([X, X[:, 0] + X[:, 1], np.full(500, 0.1)])
    targets = np.column_stack([Y, 2 * Y[:, 0] - Y[:, 3]])
    wanted, got = CCA(4).fit(X, Y), CCA(9).fit(rows, targets)
    np.testing.assert_allclose(got.correlations_, wanted.correlations_, atol=1e-10)
    np.testing.assert_allclose(
        got.transform(rows)
        @ np.diag(np.sign(np.sum(got.transform(rows) * wanted.transform(X), 0))),
        wanted.transform(X),
        atol=1e-8,
    )
    assert (got.certificate_.rank_x, got.certificate_.rank_y) == (5, 4)


def test_correlations_that_few_rows_force_are_counted():
    cca = CCA(3).fit(table(8, 6), table(8, 4, seed=1))
    np.testing.assert_allclose(cca.correlations_, 1.0)
    assert cca.certificate_.forced == 6 + 4 - 7
    assert CCA(3, lam=1.0).fit(table(8, 6), table(8, 4, seed=1)).correlations_[0] < 0.9


@pytest.mark.parametrize("lam", [0.01, 1.0])
def test_with_a_ridge_it_solves_the_regularised_problem(lam):
    R = np.corrcoef(X.T, Y.T)
    R_xx, R_xy, R_yy = R[:5, :5] + lam * np.eye(5), R[:5, 5:], R[5:, 5:] + lam * np.eye(4)
    squares = eigh(R_xy @ np.linalg.solve(R_yy, R_xy.T), R_xx, eigvals_only=True)[::-1][:4]
    cca = CCA(4, lam=lam).fit(X, Y)
    np.testing.assert_allclose(cca.correlations_**2, squares, atol=1e-11)


@pytest.mark.parametrize("lam", [0.0, 0.1])
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e20, 1e150])
def test_the_units_of_columns_do_not_matter(lam, scale):
    units = np.array([1.0, scale, 1.0, 1e-3, scale])
    wanted = CCA(2, lam=lam).fit(X, Y).transform(X)
    np.testing.assert_allclose(CCA(2, lam=lam).fit(X * units, Y).transform(X * units), wanted, 1e-7)


def test_a_constant_target_has_no_correlation():
    cca = CCA().fit(X, np.ones(500))
    assert cca.transform(X).shape == (500, 0)
    assert cca.score(X, np.ones(500)) == 0.0


def test_data_frames():
    cca = CCA().set_output(transform="pandas").fit(pd.DataFrame(X), pd.DataFrame(Y))
    assert list(cca.transform(pd.DataFrame(X)).columns) == ["cca0", "cca1"]


def test_bad_input():
    refuses(lambda: CCA().fit(X, Y[:7]), ValueError, "inconsistent numbers of samples")
    refuses(lambda: CCA().fit(X, None), ValueError, "requires y to be passed")
    refuses(lambda: CCA().fit(X, ["a"] * 500), TypeError, "y must be a table of numbers")
    refuses(lambda: CCA(0).fit(X, Y), ValueError, "'n_components' parameter")
    refuses(lambda: CCA(lam=-1.0).fit(X, Y), ValueError, "'lam' parameter")
    refuses(lambda: CCA().fit(X[:1], Y[:1]), ValueError, "minimum of 2")
    refuses(lambda: CCA().fit(X, Y).transform(X, Y[:, :2]), ValueError, r"shape \(500, 4\)")
