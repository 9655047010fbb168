"""Metrics: a kernel under a metric is the plain kernel of mapped rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import Matern as PeerMatern

from mercer import KNN, SVC, RandomFourier, tune
from mercer.kernels import RBF, Exponential, Laplacian, Matern
from mercer.kernels.shared import SharedStatistics

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(30, 4)), rng.normal(size=(20, 4))
w = np.array([1.0, 0.5, 0.0, 2.0])
A = rng.normal(size=(4, 4))
P = A @ A.T
EUCLIDEAN = [RBF(gamma=0.3), Exponential(gamma=0.3), Matern(gamma=0.3), Matern(2.5, 0.2)]


@pytest.mark.parametrize("kernel", EUCLIDEAN, ids=repr)
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e150])
def test_a_matrix_is_a_map_of_the_rows(kernel, size):
    """(x − y)ᵀP(x − y) = ‖L'x − L'y‖² with P = LL', whatever the size of P."""
    L = np.linalg.cholesky(P)
    factor = size ** (0.5 if kernel.gamma_power == 1 else 1.0)
    under = type(kernel)(**kernel.get_params(deep=False) | {"metric": P * size})
    under.gamma = kernel.gamma / factor
    np.testing.assert_allclose(under(X, Y), kernel(X @ L, Y @ L), rtol=1e-9)


@pytest.mark.parametrize("kernel", [*EUCLIDEAN, Laplacian(gamma=0.3)], ids=repr)
def test_weights_scale_columns(kernel):
    under = type(kernel)(**kernel.get_params(deep=False) | {"metric": w})
    scaled = w ** (1.0 / kernel.p)
    np.testing.assert_allclose(under(X, Y), kernel(X * scaled, Y * scaled), rtol=1e-12)
    np.testing.assert_allclose(under(sp.csr_array(X), sp.csr_array(Y)), under(X, Y), rtol=1e-12)
    single = under(X.astype(np.float32), Y.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, under(X, Y), rtol=2e-5)


@pytest.mark.parametrize(
    ("kernel", "metric"),
    [(Laplacian(gamma=0.3), w), *((kernel, metric) for kernel in EUCLIDEAN for metric in (w, P))],
)
def test_columns_far_from_0_lose_no_digits(kernel, metric):
    near = np.round(X * 2.0**10) / 2.0**10  # so that the sums are exact
    far = near + np.array([1e8, 0.0, -1e9, 3e4])
    under = type(kernel)(**kernel.get_params(deep=False) | {"metric": metric})
    np.testing.assert_allclose(under(far), under(near), rtol=1e-12)
    np.testing.assert_allclose(under(far[:9], far), under(near[:9], near), rtol=1e-12)
    np.testing.assert_allclose(under(far[:1], far[1:2]), under(near[:1], near[1:2]), rtol=1e-12)


@given(p=st.floats(0.2, 2.0), share=st.floats(0.1, 1.0), gamma=st.floats(0.01, 10.0))
def test_any_exponent_of_any_norm(p, share, gamma):
    q = p * share
    kernel = Exponential(gamma=gamma, p=p, exponent=q, metric=w)
    D = (w * np.abs(X[:, None] - Y[None]) ** p).sum(axis=2)
    same = partial(np.testing.assert_allclose, rtol=1e-9, atol=np.finfo(float).tiny)
    same(kernel(X, Y), np.exp(-(gamma**q) * D ** (q / p)))
    same(kernel(sp.csr_array(X), sp.csr_array(Y)), kernel(X, Y))
    values = np.linalg.eigvalsh(kernel(X))
    assert kernel.definiteness == "psd"
    assert values[0] > -1e-10 * values[-1]


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_matern_is_that_of_gaussian_processes(nu):
    peer = PeerMatern(length_scale=2.0, nu=nu)
    np.testing.assert_allclose(Matern(nu=nu, gamma=0.5)(X, Y), peer(X, Y), rtol=1e-12)
    assert np.isfinite(Matern(nu=nu, gamma=1e300)(X)).all()


def test_scale_looks_at_the_rows_under_the_metric():
    assert RBF(metric=w * 7.0).bind(X).gamma == pytest.approx(RBF(metric=w).bind(X).gamma / 7.0)
    plain, ones = RBF().bind(X).gamma, RBF(metric=np.ones(4)).bind(X).gamma
    assert plain == pytest.approx(ones)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(metric=[1.0, 2.0]), r"4 finite weights ≥ 0.*got shape \(2,\)"),
        (RBF(metric=[1.0, -1.0, 0.0, 0.0]), "≥ 0 and not all zero; they lie between -1 and 1"),
        (RBF(metric=np.zeros(4)), "not all zero"),
        (RBF(metric=["a", "b", "c", "d"]), "4 finite weights"),
        (RBF(metric=A), r"symmetric matrix; entries \("),
        (RBF(metric=-P), "positive semidefinite"),
        (RBF(metric=np.full((4, 4), np.nan)), "finite"),
        (Laplacian(metric=P), "weights of the columns; got a matrix"),
        (Exponential(metric=P, p=1.5, exponent=1.0), "needs p=2"),
        (Exponential(p=1.0, exponent=1.5), "exponent must not exceed p"),
    ],
)
def test_what_is_no_metric_is_refused(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(X)


def test_a_metric_is_part_of_the_value():
    assert RBF(metric=w) == RBF(metric=w.copy()) == RBF(metric=w.tolist()) != RBF()
    assert repr(RBF(metric=w)) == "RBF(metric=[1.0, 0.5, 0.0, 2.0])"
    assert eval(repr(RBF(metric=w))) == RBF(metric=w)
    assert "<4 × 4 numbers>" in repr(RBF(metric=P))
    kernel = RBF(gamma=0.3, metric=w)
    before = kernel.bind(X)(X)
    np.testing.assert_allclose(kernel.set_params(metric=w[::-1])(X[:, ::-1]), before)
    given = w.copy()
    bound = RBF(gamma=0.3, metric=given).bind(X)
    given[:] = 1.0
    np.testing.assert_array_equal(bound.metric, w)


def test_shortcuts_of_plain_kernels_are_not_taken():
    """Neighbours, searches and random features look at the metric, or say that they can't."""
    y = np.arange(30) % 2
    kernel = RBF(gamma=0.3, metric=w)
    mapped = X * np.sqrt(w)
    by_metric = KNN(kernel=kernel, n_neighbors=3).fit(X, y)
    by_map = KNN(kernel=RBF(gamma=0.3), n_neighbors=3).fit(mapped, y)
    np.testing.assert_array_equal(by_metric.predict(Y), by_map.predict(Y * np.sqrt(w)))
    with pytest.raises(ValueError, match="without metric or exponent"):
        RandomFourier(kernel=kernel).fit(X)
    shared = SharedStatistics(kernel.sample(X), np.float64, ["squared_distance"])
    np.testing.assert_allclose(shared.gram(kernel.bind(X)), kernel(X))
    both = kernel + RBF(gamma=0.1) + Laplacian(gamma=0.2)
    np.testing.assert_allclose(both(X), kernel(X) + RBF(gamma=0.1)(X) + Laplacian(gamma=0.2)(X))
    found = tune(SVC(RBF(metric=w)), X, y, cv=3)
    np.testing.assert_array_equal(found.best_estimator_.kernel_.metric, w)
