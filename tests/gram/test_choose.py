"""`gram` chooses a storage by the byte budget, and says no when nothing fits."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import KernelPCA, KernelRidge, gram
from mercer._array import allocate, format_bytes, free_memory, parse_memory
from mercer.kernels import RBF, FromFunction, Polynomial, Precomputed
from tests.cases import table

N = 5000
X = np.zeros((N, 1))  # lazy storages do not look at it
ROW = N * 8  # bytes of a row


# ---------------------------------------------------------------- the ladder
def test_everything_fits_so_it_is_dense():
    small = table(100, 2)
    assert gram(RBF(), small).storage == "dense"
    assert gram(RBF(), small, memory=100 * 100 * 8).storage == "dense"
    assert gram(RBF(), small, memory=100 * 100 * 4, dtype="float32").storage == "dense"


def test_one_byte_less_and_rows_are_cached():
    assert gram(RBF(), table(100, 2), memory=100 * 100 * 8 - 1).storage == "cached"


def test_sixty_four_rows_make_a_cache():
    assert gram(RBF(), X, memory=64 * ROW).storage == "cached"
    assert gram(RBF(), X, memory=64 * ROW - 1).storage == "blocked"


def test_new_points_are_not_cached():
    # rows of new points are used once
    assert gram(RBF(), X, X[:4000], memory=100 * ROW).storage == "blocked"


def test_a_precomputed_matrix_is_used_as_it_is():
    K = RBF()(table(20, 2))
    assert gram(Precomputed(), K).storage == "precomputed"
    assert gram("precomputed", K, memory=1).storage == "precomputed"


def test_the_default_budget_is_half_of_what_is_free():
    assert 0 < parse_memory(None) < free_memory()


def test_the_certificate_says_which_storage_was_used():
    rows = table(60, 2)
    assert KernelRidge().fit(rows, rows[:, 0]).certificate_.storage == "dense"
    K = RBF()(rows)
    # LAPACK has the copy that it factors, the vectors, and half of these once more
    assert KernelPCA(memory=int(3.5 * K.nbytes)).fit(rows).certificate_.storage == "dense"
    assert KernelPCA(memory=int(2.5 * K.nbytes)).fit(rows).certificate_.storage != "dense"
    with pytest.raises(MemoryError, match="60×60"):
        KernelPCA(memory=2 * K.nbytes).fit(rows)
    assert KernelPCA(kernel="precomputed").fit(K).certificate_.storage == "precomputed"


# ---------------------------------------------------------------- sizes as text
SIZES = {
    "1": 1,
    "512B": 512,
    "2kB": 2_000,
    "2KB": 2_000,
    "2 kB": 2_000,
    "1.5MB": 1_500_000,
    "2GB": 2 * 10**9,
    "2G": 2 * 10**9,
    "1TB": 10**12,
    "1KiB": 1024,
    "3 MiB": 3 * 2**20,
    "0.5GiB": 2**29,
}


@pytest.mark.parametrize(("text", "size"), SIZES.items())
def test_sizes_are_understood(text, size):
    assert parse_memory(text) == size


@pytest.mark.parametrize("memory", [1000, 1000.0, np.int64(1000), np.float32(1000)])
def test_sizes_may_be_numbers(memory):
    assert parse_memory(memory) == 1000


@pytest.mark.parametrize("text", ["", "GB", "2 gigabytes", "-1GB", "0GB", "1e3", "2iB", "1PB", "a"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match=r"memory must be .*'2GB'.*got"):
        parse_memory(text)


@pytest.mark.parametrize("memory", [0, -1, float("nan"), float("inf")])
def test_sizes_must_be_positive_and_finite(memory):
    with pytest.raises(ValueError, match="memory must be a positive number of bytes"):
        parse_memory(memory)


@pytest.mark.parametrize("memory", [True, [1], b"2GB", 1j])
def test_sizes_must_be_numbers_or_text(memory):
    with pytest.raises(TypeError, match="memory must be a positive number of bytes"):
        parse_memory(memory)


def test_sizes_are_written_for_people():
    assert format_bytes(999) == "999 B"
    assert format_bytes(3.2e9) == "3.2 GB"
    assert format_bytes(5e12) == "5 TB"
    assert format_bytes(7e15) == "7e+03 TB"


# ---------------------------------------------------------------- nothing fits
def test_a_budget_below_one_block_says_what_is_needed():
    with pytest.raises(ValueError, match=r"memory is too small for even one block.*got 1 kB.*MB"):
        gram(RBF(), X, storage="blocked", memory="1kB")


@pytest.mark.parametrize("storage", ["auto", "cached"])
def test_a_budget_below_one_row_says_what_is_needed(storage):
    with pytest.raises(ValueError, match=r"memory is too small for even one row.*39\.9 kB.*40 kB"):
        gram(RBF(), X, storage=storage, memory=ROW - 100)


def test_where_no_block_fits_a_few_rows_do():
    G = gram(RBF(), X, memory=10 * ROW)
    assert G.storage == "cached"
    assert G.rows([3]).shape == (1, len(X))


def test_dense_beyond_the_budget_says_what_would_fit():
    with pytest.raises(ValueError, match=r"storage='dense'.*5000×5000.*200 MB.*1 MB.*'blocked'"):
        gram(RBF(), X, storage="dense", memory="1MB")


def test_toarray_beyond_the_budget_is_refused_before_it_is_tried():
    G = gram(RBF(), X, storage="blocked")
    with pytest.raises(MemoryError, match=r"5000×5000 float64 takes 200 MB, the budget is 1 MB"):
        G.toarray(memory="1MB")


def test_a_block_larger_than_the_machine_is_refused():
    n = 3_000_000  # 72 TB
    with pytest.raises(MemoryError, match=r"3000000×3000000 float64 takes 72 TB"):
        RBF(gamma=1.0)(np.zeros((n, 1)))


def test_a_small_array_is_not_worth_a_question(monkeypatch):
    monkeypatch.setattr("mercer._array.free_memory", lambda: 0)
    assert allocate((10, 10), np.float64).shape == (10, 10)
    with pytest.raises(MemoryError, match="budget"):
        allocate((10_000, 10_000), np.float64)


@pytest.mark.parametrize("machine", [KernelRidge(memory="100B"), KernelPCA(memory="1kB")])
def test_estimators_pass_their_budget_on(machine):
    rows = table(50, 2)
    with pytest.raises((ValueError, MemoryError), match=r"memory|budget"):
        machine.fit(rows, rows[:, 0])


def test_kernel_pca_does_not_factor_more_than_its_budget():
    rows = table(400, 2)  # the matrix takes 1.28 MB
    with pytest.raises(MemoryError, match=r"400×400 float64 takes 1\.28 MB"):
        KernelPCA(memory="1MB").fit(rows)


@pytest.mark.parametrize("storage", ["disk", "DENSE", None, 3])
def test_unknown_storage_names_those_there_are(storage):
    with pytest.raises(ValueError, match=r"storage must be one of .*'cached'.*got"):
        gram(RBF(), table(5, 2), storage=storage)


def test_precomputed_storage_needs_a_precomputed_kernel():
    with pytest.raises(ValueError, match=r"storage='precomputed' needs the kernel Precomputed\(\)"):
        gram(RBF(gamma=1.0), table(5, 2), storage="precomputed")


# ---------------------------------------------------------------- what the matrix is for
LARGE, WIDE = np.zeros((2501, 3)), np.zeros((8001, 300))
PURPOSES = {
    "direct": ("direct", table(20, 2).astype("f4"), "1GB", ("dense", "float64")),
    "direct, too large": ("direct", X, 64 * ROW, ("cached", "float64")),
    "margin, few": ("margin", table(20, 2).astype("f4"), "1GB", ("dense", "float64")),
    "margin": ("margin", LARGE, "1GB", ("blocked", "float32")),
    "margin, many columns": ("margin", WIDE[:301], "1GB", ("dense", "float32")),
    "margin, values that cost": ("margin", WIDE, "1GB", ("cached", "float32")),
    "margin, no room for a tile": ("margin", LARGE, "100kB", ("cached", "float32")),
    "rows, few": ("rows", table(20, 2), "1GB", ("dense", "float64")),
    "rows": ("rows", LARGE, "1GB", ("blocked", "float64")),
    "rows, no room for a tile": ("rows", LARGE, "100kB", ("cached", "float64")),
    "products": ("products", table(20, 2), "1GB", ("triangle", "float32")),
    "products, no room": ("products", LARGE, "1MB", ("blocked", "float32")),
}


@pytest.mark.parametrize(
    ("purpose", "rows", "memory", "wanted"), PURPOSES.values(), ids=PURPOSES.keys()
)
def test_the_storage_follows_from_what_the_matrix_is_for(purpose, rows, memory, wanted):
    G = gram(RBF(gamma=1.0), rows, purpose=purpose, memory=memory)
    assert (G.storage, G.dtype.name) == wanted


def test_margins_beyond_the_range_of_single_precision_are_double():
    far = np.full((2501, 1), 1e5)
    assert gram(Polynomial(degree=5), far, purpose="margin").dtype == np.float64


def test_margins_of_a_function_in_python_are_computed_once():
    G = gram(lambda x, y: float(x @ y), table(1001, 1), purpose="rows", memory="1GB")
    assert G.storage == "blocked"
    words = ["a" * (i % 7) for i in range(2501)]
    assert gram(FromFunction(lambda x, y: 1.0), words[:30], purpose="margin").storage == "dense"


@pytest.mark.parametrize("purpose", ["direct", "margin", "rows", "products"])
def test_a_given_matrix_is_used_whatever_it_is_for(purpose):
    K = RBF()(table(20, 2))
    assert gram("precomputed", K, purpose=purpose).storage == "precomputed"


def test_what_is_asked_for_comes_before_the_purpose():
    G = gram(RBF(), table(20, 2), purpose="margin", storage="blocked", dtype="float32")
    assert (G.storage, G.dtype.name) == ("blocked", "float32")


def test_an_unknown_purpose_names_those_there_are():
    with pytest.raises(ValueError, match=r"purpose must be one of .*'margin'.*got 'fun'"):
        gram(RBF(), table(5, 2), purpose="fun")
