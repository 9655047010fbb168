"""Vector kernels agree with independent libraries, also where the textbook formula cancels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

from mercer.kernels import RBF, Exponential, Laplacian, Linear, Polynomial, Sigmoid
from tests.cases import sparse_table, table

# what each precision owes to an independent implementation
TOLERANCE = {"float64": 1e-12, "float32": 1e-6}

REFERENCES = {
    "linear": (Linear(), pairwise.linear_kernel, {}),
    "polynomial": (
        Polynomial(degree=3, scale=0.2, bias=0.5),
        pairwise.polynomial_kernel,
        {"degree": 3, "gamma": 0.2, "coef0": 0.5},
    ),
    "sigmoid": (
        Sigmoid(scale=0.3, bias=-0.5),
        pairwise.sigmoid_kernel,
        {"gamma": 0.3, "coef0": -0.5},
    ),
    "rbf": (RBF(gamma=0.4), pairwise.rbf_kernel, {"gamma": 0.4}),
    "laplacian": (Laplacian(gamma=0.4), pairwise.laplacian_kernel, {"gamma": 0.4}),
    "normalised linear": (Linear().normalized(), pairwise.cosine_similarity, {}),
}

every_reference = pytest.mark.parametrize(
    ("kernel", "reference", "parameters"), REFERENCES.values(), ids=REFERENCES.keys()
)
both_precisions = pytest.mark.parametrize("dtype", ["float64", "float32"])


def largest_error(got, wanted):
    wanted = np.asarray(wanted, dtype=np.float64)
    return np.abs(got - wanted).max() / max(1.0, np.abs(wanted).max())


@every_reference
@both_precisions
def test_kernel_equals_scikit_learn(kernel, reference, parameters, dtype):
    X, Y = table(60, 7).astype(dtype), table(40, 7, seed=1).astype(dtype)
    assert largest_error(kernel(X, Y), reference(X, Y, **parameters)) < TOLERANCE[dtype]
    assert largest_error(kernel(X), reference(X, **parameters)) < TOLERANCE[dtype]


@every_reference
@both_precisions
def test_kernel_on_sparse_rows_equals_scikit_learn(kernel, reference, parameters, dtype):
    X, Y = sparse_table(60, 30).astype(dtype), sparse_table(40, 30, seed=5).astype(dtype)
    wanted = reference(X.toarray(), Y.toarray(), **parameters)
    assert largest_error(kernel(X, Y), wanted) < TOLERANCE[dtype]


@both_precisions
def test_gamma_scale_equals_scikit_learn(dtype):
    X = (3.0 + 2.0 * table(50, 4)).astype(dtype)
    wanted = pairwise.rbf_kernel(X, gamma=1.0 / (4 * X.astype(np.float64).var()))
    assert largest_error(RBF()(X), wanted) < TOLERANCE[dtype]


# scikit-learn expands ‖x − y‖² = ‖x‖² + ‖y‖² − 2x·y and loses its digits below; SciPy subtracts
def by_differences(kernel, X, Y):
    """Return the kernel from differences of rows, in float64."""
    metric = {RBF: "sqeuclidean", Exponential: "euclidean", Laplacian: "cityblock"}[type(kernel)]
    return np.exp(-kernel.gamma * cdist(X.astype(np.float64), Y.astype(np.float64), metric))


def _offset(rng, size):
    return 1e6 + 50.0 * rng.normal(size=size)


def _near_duplicates(rng, size):
    rows = 1e4 * rng.normal(size=(size[0] // 2, size[1]))
    return np.vstack([rows, rows + 1e-2 * rng.normal(size=rows.shape)])


def _near_zero_but_mean_far_away(rng, size):
    """The mean is far from zero, yet two rows lie within 1e-9 of it and of each other."""
    rows = rng.uniform(0.5, 1.5, size=size)
    rows[:2] = 1e-9 * rng.normal(size=(2, size[1]))
    return rows


def _mixed_sizes(rng, size):
    return rng.normal(size=size) * 10.0 ** rng.uniform(-8, 8, size=(size[0], 1))


HARD = {
    "offset": _offset,
    "near duplicates": _near_duplicates,
    "near zero": _near_zero_but_mean_far_away,
    "mixed sizes": _mixed_sizes,
}


@pytest.mark.parametrize("make", HARD.values(), ids=HARD.keys())
@pytest.mark.parametrize("radial", [RBF, Exponential, Laplacian])
@pytest.mark.parametrize("gamma", [1e-16, 1e-4, 1.0, 1e4, 1e18])
@both_precisions
def test_distances_do_not_cancel(make, radial, gamma, dtype):
    X = make(np.random.default_rng(0), (40, 5)).astype(dtype)
    kernel = radial(gamma=gamma)
    assert np.abs(kernel(X) - by_differences(kernel, X, X)).max() < TOLERANCE[dtype]
    assert np.abs(kernel(X[:7], X) - by_differences(kernel, X[:7], X)).max() < TOLERANCE[dtype]


@pytest.mark.parametrize("make", HARD.values(), ids=HARD.keys())
@pytest.mark.parametrize("gamma", [1e-4, 1.0, 1e4])
def test_distances_do_not_cancel_when_an_inner_product_is_shared(make, gamma):
    # in a sum with a linear kernel one product serves both, and rows are not shifted
    X = make(np.random.default_rng(0), (40, 5))
    kernel = RBF(gamma=gamma)
    shared = (kernel + 0.0 * Linear())(X)
    assert np.abs(shared - by_differences(kernel, X, X)).max() < TOLERANCE["float64"]


def test_gamma_beyond_single_precision_is_no_nan():
    X = table(5, 2).astype(np.float32)
    np.testing.assert_array_equal(RBF(gamma=1e300)(X), np.eye(5, dtype=np.float32))


def test_accuracy_holds_over_many_tiles():
    X = table(1100, 6).astype(np.float32)  # more than two tiles of 512 rows, in threads
    kernel = RBF(gamma=0.2)
    assert np.abs(kernel(X) - by_differences(kernel, X, X)).max() < TOLERANCE["float32"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("density", [0.01, 0.03])  # up to a twelfth they stay sparse
def test_sparse_products_are_those_of_dense_rows(density, dtype):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(70, 40)) * (rng.random((70, 40)) < density)
    rows[:, 7] = 1.0  # a column without a zero, among others of none
    rows[5] = 0.0
    X, Y = sp.csr_array(rows[:50].astype(dtype)), sp.csr_array(rows[20:].astype(dtype))
    products = Linear()(X, Y)
    terms = np.abs(rows[:50]) @ np.abs(rows[20:]).T
    assert (np.abs(products - rows[:50] @ rows[20:].T) <= 8 * np.finfo(dtype).eps * terms).all()
    np.testing.assert_array_equal(products, Linear()(Y, X).T)
