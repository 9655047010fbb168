"""Numbers far from one: rows that are tiny, huge or far from 0, and what is said where it ends."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import clone, is_regressor

from mercer import (
    KNN,
    MDS,
    SVC,
    Isomap,
    KernelLogistic,
    KernelMachine,
    NuSVC,
    SparsePCA,
    SupervisedPCA,
    feature_distance,
    gram,
    mean_distance,
)
from mercer.kernels import RBF, Exponential, Laplacian, Linear, Polynomial, Sigmoid
from tests.cases import ESTIMATORS, STORAGES, table
from tests.compare import refuses

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
LABELS = np.arange(60) % 2


# ---------------------------------------------------------------- neighbours
@pytest.mark.parametrize("exponent", [-1000, -560, -540, -500, 490])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("columns", [1, 5])
def test_neighbours_do_not_depend_on_the_unit(columns, form, exponent):
    """A power of two changes no digit, whether or not the square of a distance is a number."""
    X, new, unit = table(60, columns), table(9, columns, seed=1), 2.0**exponent
    plain, scaled = KNN(4).fit(form(X), LABELS), KNN(4).fit(form(X * unit), LABELS)
    distances, index = plain.kneighbors(form(new))
    found, positions = scaled.kneighbors(form(new * unit))
    np.testing.assert_array_equal(positions, index)
    np.testing.assert_allclose(found / unit, distances, rtol=1e-12)
    np.testing.assert_array_equal(scaled.kneighbors()[1], plain.kneighbors()[1])
    assert scaled.certificate_.ok


@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Exponential(gamma=0.5)], ids=repr)
def test_radial_kernels_see_the_neighbours_of_tiny_rows(kernel):
    """γ with the inverse unit: the same values, though squares of distances vanish."""
    X, unit = table(40, 3), 2.0**-510
    power = 2 if isinstance(kernel, RBF) else 1
    wide = type(kernel)(gamma=kernel.gamma * 2.0 ** (510 * power))
    if np.isinf(wide.gamma):
        pytest.skip("no such γ")
    plain = KNN(3, kernel=kernel).fit(X, LABELS[:40])
    tiny = KNN(3).fit(X * unit, LABELS[:40])
    np.testing.assert_array_equal(tiny.kneighbors()[1], plain.kneighbors()[1])


def test_neighbours_among_rows_of_two_sizes_are_not_called_proved():
    """Next to a row of size 1 squares of 1e-170 are no numbers: no order is known."""
    X = np.vstack([1e-170 * table(50, 2), np.ones((1, 2))])
    assert not KNN(3).fit(X, np.arange(51) % 2).certificate_.ok
    X[:50] = 0.0  # equal rows are no such case
    assert KNN(3).fit(X, np.arange(51) % 2).certificate_.ok


def test_graphs_of_tiny_rows_are_those_of_plain_ones():
    X = table(40, 2)
    plain, tiny = (Isomap(6).fit_transform(X * unit) for unit in (1.0, 2.0**-600))
    np.testing.assert_allclose(tiny * 2.0**600, plain, rtol=1e-9)


# ---------------------------------------------------------------- distances in feature space
RADIAL = [Linear(), Linear(3.0), RBF(gamma=0.1), Exponential(gamma=0.1), Laplacian(gamma=0.1)]


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_feature_distances_do_not_see_a_common_offset(kernel):
    X, Y = np.round(table(9, 3) * 64.0) / 64.0, np.round(table(7, 3, seed=1) * 64.0) / 64.0
    far = 2.0**20
    for left, right in ((X, None), (X, Y)):
        moved = None if right is None else right + far
        near = feature_distance(kernel, left, right)
        np.testing.assert_allclose(feature_distance(kernel, left + far, moved), near, rtol=1e-12)
    if isinstance(kernel, Linear):
        near = mean_distance(kernel, X, Y)
        np.testing.assert_allclose(mean_distance(kernel, X + far, Y + far), near, rtol=1e-9)


@pytest.mark.parametrize("size", [1e-8, 1e-100])
def test_feature_distances_of_near_points_keep_their_digits(size):
    """−2(exp(−γt) − 1) is 2γt for small t: nothing is left of 1 − exp(−γt) otherwise."""
    X = table(8, 3)
    found = feature_distance(RBF(gamma=0.5), size * X)
    np.testing.assert_allclose(found, size * cdist(X, X), rtol=1e-7)


def test_linear_feature_distances_below_the_root_of_the_least_number():
    X = table(8, 3)
    found = feature_distance("linear", X * 2.0**-600)
    np.testing.assert_allclose(found * 2.0**600, cdist(X, X), rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------- kernels of vanishing squares
@pytest.mark.parametrize(
    "kernel",
    [
        RBF(gamma=1e305),
        Exponential(gamma=1e150),
        Polynomial(2, scale=1e305),
        Sigmoid(scale=1e305),
        RBF(),
    ],
    ids=repr,
)
def test_squares_that_vanish_are_said(kernel):
    refuses(lambda: kernel(1e-150 * table(5, 3)), ValueError, "no value beyond 1e-140.*rescale X")


def test_squares_that_would_not_count_may_vanish():
    X = 1e-170 * table(5, 3)
    np.testing.assert_array_equal(RBF(gamma=1.0)(X), np.ones((5, 5)))
    np.testing.assert_allclose(
        Laplacian(gamma=1e170)(X), Laplacian(gamma=1.0)(table(5, 3)), rtol=1e-12
    )


# ---------------------------------------------------------------- complex vectors
@pytest.mark.parametrize("store", STORAGES.values(), ids=STORAGES)
def test_products_with_complex_vectors(store):
    X, new = table(9, 3), table(4, 3, seed=1)
    V = table(9, 2, seed=2) + 1j * table(9, 2, seed=3)
    for G, K in ((store(RBF(), X), RBF()(X)), (store(RBF(), new, X), RBF()(new, X))):
        np.testing.assert_allclose(G @ V, K @ V, rtol=1e-12)
        np.testing.assert_allclose(G @ V[:, 0], K @ V[:, 0], rtol=1e-12)
        W = V[: G.shape[0]]
        np.testing.assert_allclose(G.H @ W, K.T @ W, rtol=1e-12)
        np.testing.assert_allclose(G.T @ W[:, 0], K.T @ W[:, 0], rtol=1e-12)
        np.testing.assert_allclose(G.rmatvec(W[:, 0]), K.T @ W[:, 0], rtol=1e-12)
        assert (G @ V.real).dtype == np.float64
        assert G.H.H is G
    centered = gram(RBF(), X).centered()
    np.testing.assert_allclose(centered @ V, centered.toarray() @ V, rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------- estimators
@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-100, 1e-12, 1e-8, 1e-7, 1e100])
def test_scaling_of_given_distances_of_any_size(size):
    X = table(20, 2)
    placed = MDS(2, metric="precomputed").fit_transform(size * cdist(X, X))
    np.testing.assert_allclose(cdist(placed / size, placed / size), cdist(X, X), atol=1e-12)


@pytest.mark.parametrize(("size", "what"), [(1e-160, "vanish"), (1e155, "overflow")])
def test_given_distances_whose_squares_are_no_numbers(size, what):
    """A transform sees squares as they are."""
    D = size * cdist(table(9, 2), table(9, 2))
    model = MDS(2, metric="precomputed", transform="logarithm")
    refuses(lambda: model.fit(D), ValueError, f"squares {what}; rescale X")


@pytest.mark.parametrize("model", [m for m in ESTIMATORS if is_regressor(m)], ids=repr)
def test_large_targets_of_float32_rows_keep_their_digits(model):
    """Rows that float32 holds exactly: a prediction of 1e8 is not one of float32."""
    X = table(60, 3).astype(np.float32)
    y = 1e8 + 3.0 * X[:, 0].astype(np.float64)
    if type(model).__name__ in ("CCA", "KernelCCA"):
        pytest.skip("no single target")
    model = clone(model).fit(X, y)
    wide = model.predict(X.astype(np.float64))
    np.testing.assert_allclose(model.predict(X), wide, rtol=0, atol=1e-5 * max(wide.std(), 1e-3))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # kernel values overflow
@pytest.mark.parametrize("size", [1e7, 1e50, 1e140])
@pytest.mark.parametrize("kernel", ["linear", Polynomial(2)], ids=str)
@pytest.mark.parametrize("labels", [2, 3])
def test_logistic_machines_of_large_columns_end_with_a_word(size, kernel, labels):
    """Whatever comes of it, it is a status or an error that says what to do."""
    X = table(60, 3, seed=2)
    y = np.digitize(X[:, 0] + 0.3 * table(60, 1, seed=9)[:, 0], [0.0, 0.7][: labels - 1])
    for model in (KernelLogistic(kernel), KernelMachine("logistic", kernel=kernel)):
        try:
            model.set_params(max_iter=10).fit(size * X, y)
        except ValueError as error:
            if "rescale X" not in str(error):
                raise
            continue
        values = model.decision_function(size * X)
        assert np.isfinite(values).all() or not model.certificate_.ok


@pytest.mark.parametrize(
    "model", [SparsePCA(2), SupervisedPCA(2), SupervisedPCA(2, kernel_y="rbf")]
)
def test_variances_that_overflow_are_said(model):
    X = table(40, 3)
    refuses(lambda: clone(model).fit(1e200 * X, X[:, 0]), ValueError, "variances of X overflow")
    large = clone(model).fit(1e150 * X, X[:, 0])
    plain = clone(model).fit(X, X[:, 0])
    name = "eigenvalues_" if isinstance(model, SupervisedPCA) else "explained_variance_"
    assert np.isfinite(getattr(large, name)).all()
    assert getattr(large, name).shape == getattr(plain, name).shape


# ---------------------------------------------------------------- machines
@pytest.mark.parametrize("exponent", [-20, -34, -80, -330, -480])
@pytest.mark.parametrize("n", [60, 3000])
@pytest.mark.parametrize("classes", [2, 3])
def test_machines_of_tiny_rows_are_those_of_plain_ones(n, classes, exponent):
    """K is divided by 4ᵏ and C multiplied by it: the same problem, to the last digit."""
    X, unit = table(n, 3), 2.0**exponent
    noise = table(n, 1, seed=1)[:, 0]
    y = np.digitize(X[:, 0] + 0.5 * noise, [-0.5, 0.5][: classes - 1])
    plain = SVC("linear", C=1.0).fit(X, y)
    tiny = SVC("linear", C=unit**-2).fit(unit * X, y)
    assert tiny.certificate_.ok
    assert np.mean(tiny.predict(unit * X) == plain.predict(X)) >= 1 - 1 / n
    np.testing.assert_allclose(tiny.intercept_, plain.intercept_, atol=0.01)


@pytest.mark.parametrize("size", [1e-162, 1e-170, 0.0])
def test_kernel_values_without_digits_end(size):
    """Bounds of 1e300 and steps of 1e12 would take for ever."""
    X, y = size * table(24, 3), LABELS[:24]
    model = NuSVC("linear", nu=0.2, tol=1e-5, max_iter=100_000).fit(X, y)
    assert np.sum(model.n_iter_) < 100_000
    assert not model.certificate_.ok
    assert np.sum(SVC("linear", C=1e300, max_iter=100_000).fit(X, y).n_iter_) < 100_000
