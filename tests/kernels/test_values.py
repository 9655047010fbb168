"""Every kernel of the table equals its formula, computed by loops, on every sample."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import RBF, Exponential, Laplacian, Normalized
from tests import naive
from tests.cases import (
    EXTREME_SAMPLES,
    KERNELS,
    OBJECT_KERNELS,
    SAMPLES,
    SCALE_FREE_KERNELS,
    WORDS,
    new_points,
)
from tests.compare import assert_close, largest_value

every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
every_sample = pytest.mark.parametrize("X", SAMPLES.values(), ids=SAMPLES.keys())
every_object_kernel = pytest.mark.parametrize(
    "kernel", OBJECT_KERNELS.values(), ids=OBJECT_KERNELS.keys()
)


@every_kernel
@every_sample
def test_training_matrix_is_the_formula(kernel, X):
    assert_close(kernel(X), naive.matrix(kernel, X))


@every_kernel
@every_sample
def test_new_points_against_training_points_are_the_formula(kernel, X):
    new, bound = new_points(X), kernel.bind(X)
    scale = largest_value(bound, new, X)
    assert_close(bound(new, X), naive.matrix(bound, new, X), scale=scale)


@every_kernel
@every_sample
def test_diagonal_is_that_of_the_matrix(kernel, X):
    assert_close(kernel.diagonal(X), naive.diagonal(kernel, X))


@every_kernel
@every_sample
def test_precision_of_the_rows_is_kept(kernel, X):
    assert kernel(X).dtype == kernel(X, X).dtype == kernel.diagonal(X).dtype == X.dtype


@every_kernel
@every_sample
def test_matrix_is_symmetric(kernel, X):
    # X is computed as one triangle, (X, copy of X) as a full block
    full = kernel(X, X.copy())
    assert_close(full, full.T)
    assert_close(kernel(X), full.astype(np.float64))


@every_kernel
def test_tiles_and_threads_change_nothing(kernel, small_tiles):
    X = SAMPLES["float64"]
    assert_close(kernel(X), naive.matrix(kernel, X))
    assert_close(kernel(X[:8], X), naive.matrix(kernel, X)[:8])


@every_kernel
def test_sparse_rows_give_what_dense_rows_give(kernel):
    X = SAMPLES["CSR float64"]
    assert_close(kernel(X), kernel(X.toarray()))


@every_kernel
def test_sparse_rows_against_dense_rows(kernel):
    X = SAMPLES["CSR float64"]
    dense, bound = X.toarray(), kernel.bind(X)
    assert_close(bound(X[:4], dense), bound(dense)[:4])
    assert_close(bound(dense[:4], X), bound(dense)[:4])


@every_kernel
def test_any_sparse_format_is_understood(kernel):
    X = SAMPLES["CSR float64"]
    for form in (sp.csc_array, sp.coo_array, sp.csr_matrix):
        assert_close(kernel(form(X)), kernel(X))


@every_kernel
def test_block_writes_into_the_array_it_is_given(kernel):
    X = SAMPLES["float64"]
    out = np.full((len(X), 4), np.nan)
    assert kernel.block(X, X[:4], out=out) is out
    assert_close(out, kernel(X, X[:4]))


@every_kernel
def test_block_writes_into_a_view_with_strides(kernel):
    X = SAMPLES["float64"]
    whole = np.full((2 * len(X), 2 * len(X)), np.nan)
    kernel.block(X, out=whole[::2, 1::2])
    assert_close(whole[::2, 1::2], kernel(X))
    assert np.isnan(whole[1::2]).all()


@every_kernel
def test_double_precision_of_single_rows_when_asked_for(kernel):
    X = SAMPLES["float32"]
    out = np.empty((len(X), len(X)))
    assert_close(kernel.block(X, out=out), naive.matrix(kernel, X))


@every_kernel
@every_sample
def test_rows_are_not_changed(kernel, X):
    before = X.copy()
    kernel(X), kernel.diagonal(X), kernel.bind(X)
    assert (before != X).sum() == 0


@every_object_kernel
def test_kernels_on_words_are_the_formula(kernel):
    assert_close(kernel(WORDS), naive.matrix(kernel, WORDS))
    assert_close(kernel(WORDS[:3], WORDS), naive.matrix(kernel, WORDS[:3], WORDS))
    assert_close(kernel.diagonal(WORDS), naive.diagonal(kernel, WORDS))


@every_object_kernel
def test_kernels_on_words_in_tiles(kernel, small_tiles):
    assert_close(kernel(WORDS), naive.matrix(kernel, WORDS))


@every_object_kernel
def test_words_may_come_as_a_list_an_array_or_a_tuple(kernel):
    K = kernel(WORDS)
    assert_close(kernel(np.array(WORDS)), K)
    assert_close(kernel(np.array(WORDS, dtype=object)), K)
    assert_close(kernel(tuple(WORDS)), K)


# ---------------------------------------------------------------- data of any size
@pytest.mark.parametrize("kernel", SCALE_FREE_KERNELS.values(), ids=SCALE_FREE_KERNELS.keys())
@pytest.mark.parametrize("X", EXTREME_SAMPLES.values(), ids=EXTREME_SAMPLES.keys())
def test_scale_free_kernels_are_exact_on_data_of_any_size(kernel, X):
    # no overflow, no cancellation: squared distances of rows of norm 1e6 are as good as of norm 1
    assert_close(kernel(X), naive.matrix(kernel, X))


@pytest.mark.parametrize("X", EXTREME_SAMPLES.values(), ids=EXTREME_SAMPLES.keys())
@pytest.mark.parametrize("kernel", [RBF(), Exponential(), Laplacian()], ids=repr)
def test_distance_to_itself_is_exactly_zero(kernel, X):
    assert (np.diagonal(kernel(X)) == 1.0).all()
    assert (np.diagonal(kernel(X, X.copy())) == 1.0).all()
    assert (kernel.diagonal(X) == 1.0).all()


@every_sample
@pytest.mark.parametrize("kernel", [RBF(), RBF(gamma=1e30), Exponential(), Laplacian()], ids=repr)
def test_radial_diagonal_is_exactly_one(kernel, X):
    assert (np.diagonal(kernel(X)) == 1.0).all()


POSITIVE = {name: k for name, k in KERNELS.items() if (k.diagonal(SAMPLES["float64"]) > 0).all()}


@pytest.mark.parametrize("kernel", POSITIVE.values(), ids=POSITIVE.keys())
def test_normalised_kernel_has_a_unit_diagonal(kernel):
    X = SAMPLES["float64"]
    assert_close(np.diagonal(Normalized(kernel)(X)), np.ones(len(X)))
    assert (Normalized(kernel).diagonal(X) == 1.0).all()
