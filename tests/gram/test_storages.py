"""Every storage is the same matrix: products, rows, restrictions, diagonals."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg, eigsh

from mercer import Gram, check_gram, gram
from mercer.gram import fresh_array
from mercer.kernels import RBF, FromFunction, Linear, Precomputed
from tests import naive
from tests.cases import (
    KERNELS,
    OBJECT_KERNELS,
    SAMPLES,
    STORAGES,
    WORDS,
    new_points,
    sparse_table,
    table,
)

every_storage = pytest.mark.parametrize("store", STORAGES.values(), ids=STORAGES.keys())
lazy = pytest.mark.parametrize("storage", ["blocked", "cached"])
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())

X = table(9, 3)
NEW = table(5, 3, seed=1)
RTOL = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-5}  # about 100 roundings


@every_storage
@every_kernel
def test_training_matrix_agrees_with_its_dense_twin(store, kernel):
    check_gram(store(kernel, X), naive.matrix(kernel, X), rtol=1e-12)


@every_storage
@every_kernel
def test_matrix_of_new_points_agrees_with_its_dense_twin(store, kernel):
    kernel = kernel.bind(X)
    check_gram(store(kernel, NEW, X), naive.matrix(kernel, NEW, X), rtol=1e-12)


@every_storage
@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES.keys())
def test_every_kind_of_rows(store, rows):
    kernel = RBF(gamma=0.3) + Linear(1.0)
    G = store(kernel, rows)
    assert G.dtype == rows.dtype
    check_gram(G, naive.matrix(kernel, rows), rtol=RTOL[G.dtype])
    check_gram(
        store(kernel, new_points(rows), rows),
        naive.matrix(kernel, new_points(rows), rows),
        rtol=RTOL[G.dtype],
    )


@pytest.mark.long
@every_storage
@every_kernel
@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES.keys())
def test_every_kernel_in_every_storage_on_every_sample(store, kernel, rows):
    G = store(kernel, rows)
    check_gram(G, naive.matrix(kernel, rows), rtol=RTOL[G.dtype])


@every_storage
@every_kernel
def test_tiles_and_threads_change_nothing(store, kernel, small_tiles):
    check_gram(store(kernel, X), naive.matrix(kernel, X), rtol=1e-12)


@pytest.mark.parametrize("storage", ["dense", "blocked", "cached"])
@pytest.mark.parametrize("kernel", OBJECT_KERNELS.values(), ids=OBJECT_KERNELS.keys())
def test_matrix_of_words(storage, kernel):
    G = gram(kernel, WORDS, storage=storage)
    check_gram(G, naive.matrix(kernel, WORDS), rtol=1e-12)


# ---------------------------------------------------------------- what a Gram matrix says of itself
@every_storage
def test_a_gram_matrix_is_a_linear_operator(store):
    G = store(RBF(), X)
    assert isinstance(G, Gram)
    assert isinstance(G, LinearOperator)
    assert aslinearoperator(G) is G
    assert G.exact is True
    assert G.symmetric
    assert not store(RBF(), NEW, X).symmetric


@pytest.mark.parametrize("storage", ["dense", "cached", "blocked"])
def test_the_storage_has_a_name(storage):
    G = gram(RBF(), X, storage=storage)
    assert G.storage == storage
    assert G.restrict([0, 1]).storage == storage
    assert G.centered().storage == storage
    assert storage in repr(G).lower()


def test_bytes_are_those_that_are_held():
    assert gram(RBF(), X, storage="dense").nbytes == 9 * 9 * 8
    assert gram(RBF(), X, storage="dense", dtype="float32").nbytes == 9 * 9 * 4
    assert gram(RBF(), X, storage="blocked").nbytes == 0
    cached = gram(RBF(), X, storage="cached")
    assert cached.nbytes == 0
    cached.rows([1, 4])
    assert cached.nbytes == 2 * 9 * 8


# ---------------------------------------------------------------- indices
INDICES = {  # what is asked for, and the rows that this means
    "a list": ([4, 0, 4], [4, 0, 4]),
    "an array": (np.array([1, 2]), [1, 2]),
    "a range": (range(3), [0, 1, 2]),
    "negative": ([-1, -9], [8, 0]),
    "a slice": (slice(2, 8, 3), [2, 5]),
    "all": (slice(None), list(range(9))),
    "a mask": (np.arange(9) > 6, [7, 8]),
    "nothing": ([], []),
}


@every_storage
@pytest.mark.parametrize(("index", "meant"), INDICES.values(), ids=INDICES.keys())
def test_rows_and_restrictions_by_any_index(store, index, meant):
    G, K = store(RBF(gamma=0.5), X), RBF(gamma=0.5)(X)
    meant = np.array(meant, dtype=int)
    np.testing.assert_allclose(G.rows(index), K[meant], atol=1e-15)
    np.testing.assert_allclose(G.restrict(index).toarray(), K[np.ix_(meant, meant)], atol=1e-15)
    both = G.restrict([1, 2], index)
    np.testing.assert_allclose(both.toarray(), K[np.ix_([1, 2], meant)], atol=1e-15)


@every_storage
def test_one_row_by_its_number(store):
    np.testing.assert_allclose(store(RBF(gamma=0.5), X).rows(3), RBF(gamma=0.5)(X)[3:4], atol=1e-15)


# ---------------------------------------------------------------- restrictions
@every_storage
def test_a_restriction_of_a_restriction(store):
    kernel = RBF(gamma=0.5)
    G = store(kernel, X).restrict([8, 1, 3, 5, 0]).restrict([2, 0, 4])
    check_gram(G, naive.matrix(kernel, X[[3, 8, 0]]), rtol=1e-12)
    assert G.symmetric


@every_storage
def test_a_restriction_of_rows_and_columns(store):
    kernel = RBF(gamma=0.5)
    G = store(kernel, X).restrict([8, 1, 3], [0, 2, 4, 6])
    assert not G.symmetric
    check_gram(G, naive.matrix(kernel, X[[8, 1, 3]], X[[0, 2, 4, 6]]), rtol=1e-12)
    check_gram(G.restrict([2, 0], [3, 1]), naive.matrix(kernel, X[[3, 8]], X[[6, 2]]), rtol=1e-12)


@every_storage
def test_a_restriction_of_new_points_keeps_all_columns(store):
    kernel = RBF(gamma=0.5)
    G = store(kernel, NEW, X).restrict([3, 1])
    check_gram(G, naive.matrix(kernel, NEW[[3, 1]], X), rtol=1e-12)


@every_storage
def test_a_fold_and_the_rest_make_the_whole(store):
    G = store(RBF(), X)
    test, train = np.arange(9) < 3, np.arange(9) >= 3
    v = np.arange(9.0)
    halves = G.restrict(test, test) @ v[test] + G.restrict(test, train) @ v[train]
    np.testing.assert_allclose((G @ v)[test], halves, rtol=1e-12)


@every_storage
def test_a_restriction_holds_no_values_of_its_own(store):
    assert store(RBF(), X).restrict([0, 3, 4]).nbytes == 0


# ---------------------------------------------------------------- products
@every_storage
def test_products_from_both_sides(store):
    G, K = store(RBF(gamma=0.5), NEW, X), RBF(gamma=0.5)(NEW, X)
    v, w = np.arange(9.0), np.arange(5.0)
    np.testing.assert_allclose(G @ v, K @ v, rtol=1e-12)
    np.testing.assert_allclose(G.T @ w, K.T @ w, rtol=1e-12)
    np.testing.assert_allclose(G.H @ w, K.T @ w, rtol=1e-12)
    np.testing.assert_allclose(G.matvec(v[:, None]), (K @ v)[:, None], rtol=1e-12)


@pytest.mark.parametrize("storage", ["dense", "cached", "blocked"])
def test_the_transpose_of_a_function_that_is_not_symmetric(storage):
    skew = FromFunction(lambda x, y: x[0] - 2.0 * y[0])
    K, w = skew(X), np.arange(9.0)
    G = gram(skew, X, storage=storage)
    np.testing.assert_allclose(G.T @ w, K.T @ w, atol=1e-12)
    some = [0, 3, 5]
    np.testing.assert_allclose(G.restrict(some).T @ w[:3], K[np.ix_(some, some)].T @ w[:3])
    rectangle = gram(skew, NEW, X, storage=storage)
    np.testing.assert_allclose(rectangle.T @ w[:5], skew(NEW, X).T @ w[:5], atol=1e-12)


@pytest.mark.parametrize("storage", ["precomputed", "dense", "cached", "blocked"])
def test_a_precomputed_kernel_in_any_storage(storage):
    K, K_new = RBF(gamma=0.5)(X), RBF(gamma=0.5)(NEW, X)
    check_gram(gram(Precomputed(), K, storage=storage), K, rtol=1e-12)
    check_gram(gram(Precomputed(), K_new, K, storage=storage), K_new, rtol=1e-12)


@lazy
def test_single_precision_sums_do_not_drift(storage):
    # 4,000 terms of size 1: a float32 sum one after the other would lose three digits
    rows = table(4000, 2).astype(np.float32)
    product = gram(RBF(gamma=1e-6), rows, storage=storage) @ np.ones(4000)
    assert product.dtype == np.float32
    truth = RBF(gamma=1e-6)(rows[:50].astype(float), rows.astype(float)).sum(axis=1)
    np.testing.assert_allclose(product[:50], truth, rtol=5e-7)


@every_storage
def test_products_are_the_same_in_every_run(store, small_tiles):
    G = store(RBF(), X)
    np.testing.assert_array_equal(G @ X, G @ X)


COMBINATIONS = {  # rows, columns
    "some": ([4, 0, 7], [1, 2, 8]),
    "repeated rows": ([3, 3, 5, 3], [0, 1, 2, 3, 4, 5, 6, 7, 8]),
    "all": (list(range(9)), list(range(9))),
    "one": ([2], [6]),
    "no rows": ([], [0, 1]),
}


@every_storage
@pytest.mark.parametrize(("rows", "columns"), COMBINATIONS.values(), ids=COMBINATIONS.keys())
@pytest.mark.parametrize("restricted", [False, True], ids=["whole", "restricted"])
def test_combinations_of_rows_are_weighted_sums(store, rows, columns, restricted):
    kernel = RBF(gamma=0.5)
    G, K = store(kernel, X), naive.matrix(kernel, X)
    if restricted:
        order = np.array([0, 1, 3, 3, 4, 5, 6, 7, 8])
        G, K = G.restrict(order), K[np.ix_(order, order)]
    rows, columns = np.array(rows, dtype=int), np.array(columns, dtype=int)
    weights = np.linspace(-1.0, 2.0, len(rows))
    got = G.combine(rows, weights, columns)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, weights @ K[np.ix_(rows, columns)], atol=1e-13)


@pytest.mark.parametrize("storage", ["dense", "cached", "blocked"])
@pytest.mark.parametrize("index", [None, [5, 2, 2, 7]], ids=["whole", "restricted"])
def test_the_double_precision_form_is_exact(storage, index):
    single = X.astype(np.float32)
    G, K = gram(RBF(gamma=0.5), single, storage=storage), naive.matrix(RBF(gamma=0.5), single)
    if index is not None:
        G, K = G.restrict(index), K[np.ix_(index, index)]
    assert G.in_double().dtype == np.float64
    check_gram(G.in_double(), K, rtol=1e-13)


# ---------------------------------------------------------------- arrays
@every_storage
def test_numpy_sees_an_array(store):
    G, K = store(RBF(gamma=0.5), X), RBF(gamma=0.5)(X)
    np.testing.assert_allclose(np.asarray(G), K, atol=1e-15)
    np.testing.assert_allclose(np.array(G, dtype=np.float32), K, atol=1e-6)


@every_storage
@pytest.mark.parametrize("dtype", [None, np.float64])
def test_a_copy_is_a_copy(store, dtype):
    G = store(RBF(gamma=0.5), X)
    np.array(G, dtype=dtype)[:] = np.nan
    assert np.isfinite(G.toarray()).all()


@every_storage
def test_a_fresh_array_may_be_written_over(store):
    G = store(RBF(gamma=0.5), X)
    fresh_array(G)[:] = np.nan
    assert np.isfinite(G.toarray()).all()


@every_storage
def test_rows_are_given_away_not_lent(store):
    G, K = store(RBF(gamma=0.5), X), RBF(gamma=0.5)(X)
    G.rows([2, 3])[:] = np.nan
    G.diagonal()[:] = np.nan
    np.testing.assert_allclose(G.toarray(), K, atol=1e-15)


def test_a_precomputed_matrix_is_not_copied():
    K = RBF()(X)
    G = gram(Precomputed(), K)
    assert np.shares_memory(G.toarray(), K)
    assert np.shares_memory(gram("precomputed", K[:4], K).toarray(), K)


def test_precision_is_that_of_the_rows_unless_asked():
    single = X.astype(np.float32)
    assert gram(RBF(), single).dtype == np.float32
    assert gram(RBF(), single, X).dtype == np.float64
    assert gram(RBF(), single, dtype=np.float64).dtype == np.float64
    assert gram(RBF(), X, dtype="float32").dtype == np.float32


def test_asking_for_double_precision_computes_in_double_precision():
    single = X.astype(np.float32)
    K = gram(RBF(gamma=0.5), single, dtype=np.float64).toarray()
    np.testing.assert_allclose(K, naive.matrix(RBF(gamma=0.5), single), atol=1e-14)


# ---------------------------------------------------------------- guests
@every_storage
def test_scipy_solves_systems_with_it(store):
    K = RBF(gamma=2.0)(X)
    solution, info = cg(store(RBF(gamma=2.0), X), np.ones(9), rtol=1e-12, maxiter=100)
    assert info == 0
    np.testing.assert_allclose(K @ solution, np.ones(9), atol=1e-9)


@every_storage
def test_scipy_finds_its_eigenvalues(store):
    values = eigsh(store(RBF(), X), k=3, v0=np.ones(9), return_eigenvectors=False)
    wanted = np.linalg.eigvalsh(RBF()(X))[-3:]
    np.testing.assert_allclose(np.sort(values), wanted, rtol=1e-9)


@every_storage
def test_threads_may_ask_for_rows_side_by_side(store):
    G, K = store(RBF(gamma=0.5), X), RBF(gamma=0.5)(X)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda i: G.rows([i % 9, (i * 5) % 9]), range(200)))
    for i, rows in enumerate(answers):
        np.testing.assert_allclose(rows, K[[i % 9, (i * 5) % 9]], atol=1e-15)


# ---------------------------------------------------------------- memory
def peak_bytes(work):
    """Return the most memory that was held at once, beyond what was there before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@lazy
def test_products_never_allocate_the_matrix(storage):
    n = 5000
    rows = table(n, 3)
    G = gram(RBF(gamma=0.5), rows, storage=storage, memory="3MB")
    assert peak_bytes(lambda: G @ np.ones((n, 2))) < n * n * 8 / 10


def test_centred_products_never_allocate_the_matrix():
    n = 4000
    G = gram(RBF(gamma=0.5), table(n, 3), storage="blocked")
    assert peak_bytes(lambda: G.centered() @ np.ones(n)) < n * n * 8 / 3


def test_sparse_products_never_densify_the_rows():
    n, d = 1500, 200_000
    rows = sparse_table(n, 40)
    rows.resize((n, d))
    G = gram(Linear(), rows, storage="blocked")
    assert peak_bytes(lambda: G @ np.ones(n)) < n * d * 8 / 20
