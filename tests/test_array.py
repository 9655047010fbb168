"""The border: tiles cover everything once, threads stop at the first error, indices are checked."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mercer._array import as_index, as_table, n_threads, ranges, run_tiles, take
from mercer.kernels.tiles import TILE, tile_grid
from tests.cases import sparse_table, table


# ---------------------------------------------------------------- tiles
@given(st.integers(0, 50), st.integers(1, 60))
def test_ranges_cover_everything_once(n, step):
    covered = [i for part in ranges(n, step) for i in range(n)[part]]
    assert covered == list(range(n))
    assert all(part.stop - part.start <= step for part in ranges(n, step))


@given(st.integers(0, 3 * TILE), st.integers(0, 3 * TILE))
def test_tiles_cover_every_value_once(n, m):
    count = np.zeros((n, m), np.uint8)
    for tile in tile_grid(n, m, mirror=False):
        count[tile] += 1
    assert (count == 1).all()


@given(st.integers(0, 4 * TILE))
def test_tiles_and_their_mirror_images_cover_a_square_once(n):
    count = np.zeros((n, n), np.uint8)
    for rows, columns in tile_grid(n, n, mirror=True):
        count[rows, columns] += 1
        if columns.start > rows.start:
            count[columns, rows] += 1
    assert (count == 1).all()


# ---------------------------------------------------------------- threads
@pytest.mark.parametrize("workers", [1, 2, 5, 100])
def test_every_tile_is_worked_on_once_by_a_fixed_worker(workers):
    seen = []
    run_tiles(lambda tile, worker: seen.append((tile, worker)), range(10), workers)
    used = min(workers, 10)
    assert sorted(seen) == [(tile, tile % used) for tile in range(10)]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_a_tile_reaches_the_caller_and_stops_the_others(workers, error):
    done = []

    def work(tile, worker):
        if tile == 0:
            raise error("stop")
        done.append(tile)
        threading.Event().wait(0.001)

    with pytest.raises(error, match="stop"):
        run_tiles(work, range(3000), workers)
    assert len(done) < 2000


TILES_IN_TILES = """
from mercer._array import run_tiles
done = []
run_tiles(lambda i, _: run_tiles(lambda j, _: done.append((i, j)), range(5), 3), range(4), 2)
assert sorted(done) == [(i, j) for i in range(4) for j in range(5)]
"""


def test_tiles_within_tiles_do_not_wait_for_each_other():
    # as in a feature map that is itself a kernel machine; a process can be stopped if they do wait
    subprocess.run([sys.executable, "-c", TILES_IN_TILES], check=True, timeout=120)


def test_no_tiles_are_no_work():
    run_tiles(lambda tile, worker: pytest.fail("there is no tile"), [], 3)


def test_there_is_at_least_one_thread():
    assert n_threads() >= 1


# ---------------------------------------------------------------- indices
@given(st.integers(1, 9), st.data())
def test_integers_mean_what_they_mean_to_numpy(n, data):
    index = data.draw(st.lists(st.integers(-n, n - 1), max_size=6))
    wanted = np.arange(n)[np.array(index, dtype=int)]
    np.testing.assert_array_equal(as_index(index, n, "rows"), wanted)


@given(st.integers(1, 9), st.data())
def test_slices_and_masks_mean_what_they_mean_to_numpy(n, data):
    part = data.draw(st.slices(n))
    np.testing.assert_array_equal(as_index(part, n, "rows"), np.arange(n)[part])
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    np.testing.assert_array_equal(as_index(mask, n, "rows"), np.flatnonzero(mask))


@pytest.mark.parametrize("index", [[3, 0], slice(1, 4), np.array([2])], ids=str)
def test_rows_are_taken_from_arrays_sparse_matrices_and_lists(index):
    rows, sparse, words = table(5, 2), sparse_table(5, 4), list("abcde")
    np.testing.assert_array_equal(take(rows, index), rows[index])
    np.testing.assert_array_equal(take(sparse, index).toarray(), sparse.toarray()[index])
    assert take(words, index) == [words[i] for i in np.arange(5)[index]]


# ---------------------------------------------------------------- tables
def test_a_good_table_is_not_copied():
    rows, sparse = table(5, 2), sparse_table(5, 4)
    assert as_table(rows, "X", "RBF") is rows
    assert np.shares_memory(as_table(sparse, "X", "RBF").data, sparse.data)


def test_repeated_and_unsorted_cells_of_a_sparse_table_are_summed():
    cells = ([1.0, 2.0, 4.0], [3, 0, 3], [0, 3])
    messy = sp.csr_array(cells, shape=(1, 4))
    tidy = as_table(messy, "X", "RBF")
    np.testing.assert_array_equal(tidy.toarray(), [[2.0, 0.0, 0.0, 5.0]])
    assert tidy.has_canonical_format
    assert messy.nnz == 3  # the caller's matrix stays as it was
