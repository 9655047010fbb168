"""The mean embedding: a mean over all pairs, on bags of any size."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from mercer import SVC, KernelPCA, KernelRidge, check_kernel, gram, load, save
from mercer.kernels import DTW, RBF, Laplacian, Linear, MeanEmbedding, Polynomial, Sigmoid
from mercer.kernels.sets import ROWS

RNG = np.random.default_rng(0)
BAGS = [RNG.normal(size=(n, 2)) + n for n in (1, 4, 2, 7, 1, 3)]
KERNELS = [RBF(0.3), Laplacian(0.2), Polynomial(2), 0.5 * RBF(1.0) + Linear()]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def slow(kernel, X, Y):
    return np.array([[kernel(x, y).mean() for y in Y] for x in X])


@every_kernel
def test_it_is_the_mean_over_all_pairs(kernel):
    embedding = MeanEmbedding(kernel)
    wanted = slow(kernel, BAGS, BAGS)
    np.testing.assert_allclose(embedding(BAGS), wanted, rtol=1e-12)
    np.testing.assert_allclose(embedding(BAGS[:2], BAGS), wanted[:2], rtol=1e-12)
    np.testing.assert_allclose(embedding.diagonal(BAGS), np.diagonal(wanted), rtol=1e-12)


@every_kernel
def test_it_is_positive_semidefinite(kernel):
    assert MeanEmbedding(kernel).definiteness == "psd"
    assert check_kernel(MeanEmbedding(kernel).normalized(), BAGS).ok


def test_an_indefinite_kernel_gives_something_unknown():
    assert MeanEmbedding(Sigmoid()).definiteness == "unknown"


def test_large_bags_are_taken_in_pieces():
    large = [RNG.normal(size=(n, 2)) for n in (ROWS + 10, 3, ROWS // 2, ROWS)]
    wanted = slow(RBF(0.3), large, large)
    np.testing.assert_allclose(MeanEmbedding(RBF(0.3))(large), wanted, rtol=1e-12)


def test_tiles_and_storages_change_nothing(small_tiles):
    wanted = slow(RBF(0.3), BAGS, BAGS)
    operator = gram(MeanEmbedding(RBF(0.3)), BAGS, storage="blocked")
    np.testing.assert_allclose(operator.rows(np.array([4, 1])), wanted[[4, 1]], rtol=1e-12)


def test_bags_count_the_same_in_the_rule_for_gamma():
    doubled = [np.vstack([bag, bag]) for bag in BAGS[:3]] + BAGS[3:]
    assert MeanEmbedding(RBF()).bind(doubled).kernel.gamma == pytest.approx(
        MeanEmbedding(RBF()).bind(BAGS).kernel.gamma
    )


def test_equal_bags_may_come_as_one_array():
    cube = RNG.normal(size=(5, 3, 2))
    np.testing.assert_array_equal(MeanEmbedding(RBF())(cube), MeanEmbedding(RBF())(list(cube)))


def test_it_is_a_value_with_nested_parameters():
    kernel = MeanEmbedding(RBF(0.5))
    assert clone(kernel) == kernel
    assert eval(repr(kernel)) == kernel
    assert kernel.set_params(kernel__gamma=2.0) == MeanEmbedding(RBF(2.0))


def test_machines_tell_distributions_apart(tmp_path):
    rng = np.random.default_rng(1)
    y = np.arange(60) % 2
    X = [rng.normal(scale=1.0 + 2.0 * c, size=(rng.integers(20, 40), 1)) for c in y]
    kernel = MeanEmbedding(RBF())  # the means are equal: only the spread differs
    model = SVC(kernel, C=100.0).fit(X[:40], y[:40])
    assert model.score(X[40:], y[40:]) == 1.0
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").decision_function(X), model.decision_function(X)
    )
    KernelPCA(kernel=kernel, n_components=2).fit(X)
    assert KernelRidge(kernel, lam=1e-3).fit(X[:40], y[:40]).score(X[40:], y[40:]) > 0.7


REFUSED = {
    "ragged": ([[[1.0, 2.0], [3.0]]], "bag 0 must be a table of.*got vectors of different lengths"),
    "vectors": ([[1.0, 2.0], [3.0, 4.0]], "bag 0 must be a table of vectors.*got 1 dimensions"),
    "empty": ([BAGS[0], np.empty((0, 2))], "bag 1 must be a finite table"),
    "NaN": ([BAGS[0], [[1.0, np.nan]]], "bag 1 must be a finite table"),
    "columns": ([BAGS[0], [[1.0]]], "bag 0 has 2, bag 1 has 1"),
}


@pytest.mark.parametrize(("X", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_bag_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        MeanEmbedding(RBF())(X)


def test_new_bags_with_other_columns_are_refused():
    with pytest.raises(ValueError, match="same number of columns; got 1 and 2"):
        MeanEmbedding(RBF())([[[1.0]]], BAGS)


def test_a_kernel_on_other_objects_is_refused():
    with pytest.raises(ValueError, match="must be a kernel on vectors"):
        MeanEmbedding(DTW())(BAGS)
