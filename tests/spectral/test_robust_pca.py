"""Robust PCA: planted parts come back, the gap is a proof, and gross errors do no harm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from mercer import RobustPCA
from mercer.solvers import Limits
from mercer.spectral import robust_pca
from mercer.spectral.robust_pca import shrink_entries, shrink_values, split_low_rank_sparse
from tests.cases import table
from tests.compare import refuses


def planted(n, d, rank, share, size=10.0, seed=0):
    """Return a table of low rank and gross errors in a share of its cells."""
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))
    return L, (rng.random((n, d)) < share) * rng.uniform(-size, size, (n, d))


@pytest.mark.parametrize("shape", [(80, 60), (60, 80), (70, 70)])
@pytest.mark.parametrize("size", [10.0, 1e4])
def test_planted_parts_are_recovered(shape, size):
    L, S = planted(*shape, 3, 0.05, size)
    model = RobustPCA().fit(L + S)
    assert model.rank_ == 3
    np.testing.assert_allclose(model.low_rank_, L, atol=1e-4 * np.abs(L).max())
    np.testing.assert_allclose(model.sparse_, S, atol=1e-4 * np.abs(L).max())
    found = np.abs(model.sparse_) > 1e-3
    np.testing.assert_array_equal(found, np.abs(S) > 1e-3)


def test_components_span_the_planted_rows_whatever_the_errors():
    L, S = planted(80, 60, 3, 0.05, 1e3)
    model = RobustPCA().fit(L + S)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-12)
    new = table(5, 3, seed=1) @ np.linalg.svd(L)[2][:3]
    np.testing.assert_allclose(model.inverse_transform(model.transform(new)), new, atol=1e-5)
    np.testing.assert_allclose(
        model.singular_values_, np.linalg.svd(L, compute_uv=False)[:3], rtol=1e-5
    )


# ---------------------------------------------------------------- the proof
def objective(L, S, lam):
    return np.linalg.svd(L, compute_uv=False).sum() + lam * np.abs(S).sum()


@given(st.integers(1, 12), st.integers(1, 12), st.floats(0.05, 1.5), st.integers(0, 10**6))
def test_no_other_split_is_better_than_the_gap_allows(n, d, lam, seed):
    X = table(n, d, seed)
    model = RobustPCA(lam=lam, tol=1e-5).fit(X)
    proof = model.certificate_
    assert proof.ok
    assert proof.feasibility <= 1e-5
    assert proof.dual <= proof.primal * (1 + 1e-14)  # the two are sums that round
    best = objective(model.low_rank_, X - model.low_rank_, lam)
    assert proof.primal == pytest.approx(best, rel=1e-9)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        other = model.low_rank_ + 10.0 ** rng.uniform(-4, 0) * rng.normal(size=X.shape)
        assert objective(other, X - other, lam) >= proof.dual * (1 - 1e-12)
    for other in (X, np.zeros_like(X)):
        assert objective(other, X - other, lam) >= proof.dual * (1 - 1e-12)


def test_the_parts_are_the_proximal_maps_they_say():
    A = table(6, 4)
    left, values, right = np.linalg.svd(A, full_matrices=False)
    for t in (0.0, 0.7, 1e3):
        wanted = left * np.maximum(values - t, 0.0) @ right
        np.testing.assert_allclose(shrink_values(A, t)[0], wanted, atol=1e-12)
        np.testing.assert_allclose(shrink_values(A.T, t)[0], wanted.T, atol=1e-12)
        np.testing.assert_allclose(
            shrink_entries(A, t), np.sign(A) * np.maximum(np.abs(A) - t, 0), atol=1e-15
        )


def test_a_matrix_that_the_fast_driver_gives_up_on_is_shrunk_all_the_same(monkeypatch):
    wanted = shrink_values(table(6, 4), 0.7)

    def give_up(*args, **kwargs):
        raise np.linalg.LinAlgError("Internal Error.")

    monkeypatch.setattr(robust_pca, "eigh", give_up)
    for got, value in zip(shrink_values(table(6, 4), 0.7), wanted, strict=True):
        np.testing.assert_allclose(got, value, atol=1e-12)


def test_large_and_small_prices_leave_one_part():
    X = table(10, 6)
    all_low = RobustPCA(lam=10.0).fit(X)
    np.testing.assert_allclose(all_low.sparse_, 0.0, atol=1e-6)
    all_sparse = RobustPCA(lam=1e-3).fit(X)
    np.testing.assert_allclose(all_sparse.low_rank_, 0.0, atol=1e-6)
    assert all_sparse.rank_ == 0
    assert all_sparse.transform(X).shape == (10, 0)


def test_a_run_that_is_cut_short_says_so():
    with pytest.warns(ConvergenceWarning, match="RobustPCA: stopped at max_iter"):
        model = RobustPCA(max_iter=3).fit(table(20, 10))
    assert not model.certificate_.ok
    assert model.n_iter_ == 3
    with pytest.warns(ConvergenceWarning, match="RobustPCA: stopped at time_limit"):
        RobustPCA(time_limit=0.0).fit(table(20, 10))


def test_an_interrupt_keeps_the_best_so_far(monkeypatch):
    def interrupt(steps):
        raise KeyboardInterrupt

    limits = Limits()
    monkeypatch.setattr(limits, "stopped", interrupt)
    solution = split_low_rank_sparse(table(9, 5), 0.3, tol=1e-7, limits=limits)
    assert solution.status.name == "INTERRUPTED"
    assert np.isfinite(solution.value.L).all()


# ---------------------------------------------------------------- scale, centre, degenerate tables
@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e150])
def test_the_unit_does_not_matter(scale):
    L, S = planted(30, 20, 2, 0.05)
    one, other = RobustPCA().fit(L + S), RobustPCA().fit(scale * (L + S))
    np.testing.assert_allclose(other.low_rank_ / scale, one.low_rank_, atol=1e-6)
    np.testing.assert_allclose(other.certificate_.primal / scale, one.certificate_.primal)


def test_medians_are_a_centre_that_gross_errors_do_not_move():
    L, S = planted(60, 30, 2, 0.03, 1e5)
    shift = np.linspace(-5, 5, 30)
    model = RobustPCA(center=True).fit(L + S + shift)
    assert np.abs(model.mean_ - np.median(L + shift, axis=0)).max() < 0.5
    total = model.low_rank_ + model.sparse_ + model.mean_
    np.testing.assert_allclose(total, L + S + shift, atol=1e-7 * np.linalg.norm(S))
    np.testing.assert_array_equal(RobustPCA().fit(L + S).mean_, 0.0)


@pytest.mark.parametrize(
    "rows",
    [np.zeros((4, 3)), np.ones((5, 2)), np.full((1, 1), 7.0), table(1, 6), table(2, 1)],
    ids=["zeros", "constant", "one cell", "one row", "two cells"],
)
def test_degenerate_tables(rows):
    model = RobustPCA().fit(rows)
    assert model.certificate_.ok
    np.testing.assert_allclose(model.low_rank_ + model.sparse_, rows, atol=1e-6)
    assert np.isfinite(model.transform(rows)).all()


def test_bad_parameters():
    X = table(6, 3)
    refuses(lambda: RobustPCA(lam=0.0).fit(X), ValueError, "'lam' parameter")
    refuses(lambda: RobustPCA(tol=-1.0).fit(X), ValueError, "'tol' parameter")
    refuses(lambda: RobustPCA(center="yes").fit(X), ValueError, "'center' parameter")
