"""Kernels on series: every alignment written out, lengths, channels, bands, and what is refused."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numba import njit
from sklearn.base import clone

from mercer import SVC, KernelPCA, KernelRidge, check_kernel, dtw_distance, gram, load, save
from mercer.kernels import DTW, RBF, GlobalAlignment
from mercer.kernels._alignment_loops import (
    CHUNK,
    _add_squares,
    _add_squares_slowly,
    _align_chunk,
    _align_chunk_slowly,
    _align_near,
    _align_near_slowly,
)
from mercer.kernels._series import as_series, chunks_suffice, fill_pairs
from mercer.kernels._series_loops import LANES
from tests.compare import assert_close

RNG = np.random.default_rng(0)
UNEQUAL = [RNG.normal(size=(n, 2)) for n in (1, 3, 2, 5, 4, 3, 4, 1, 2, 4, 3)]
EQUAL = RNG.normal(size=(10, 4))
SERIES = {
    "unequal, two channels": UNEQUAL,
    "equal": list(EQUAL),
    "one step": [[0.3], [2.0], [0.3]],
    "constant": [np.ones(3), np.ones(5), np.zeros(4)],
}
every_sample = pytest.mark.parametrize("X", SERIES.values(), ids=SERIES.keys())
every_band = pytest.mark.parametrize("band", [None, 0, 1, 3])


# ---------------------------------------------------------------- slow truths
@cache
def alignments(n, m):
    """Return all paths from (0, 0) to (n − 1, m − 1) by steps right, down and both."""

    @cache
    def to(i, j):
        if i < 0 or j < 0:
            return []
        if i == j == 0:
            return [((0, 0),)]
        before = to(i - 1, j) + to(i, j - 1) + to(i - 1, j - 1)
        return [(*path, (i, j)) for path in before]

    return to(n - 1, m - 1)


def steps(x):
    return np.reshape(np.asarray(x, dtype=float), (len(x), -1))


def slow_dtw(x, y, band=None):
    x, y = steps(x), steps(y)
    gap = len(y) - len(x)
    low, high = (-np.inf, np.inf) if band is None else (min(gap, 0) - band, max(gap, 0) + band)
    sums = [
        sum(((x[i] - y[j]) ** 2).sum() for i, j in path)
        for path in alignments(len(x), len(y))
        if all(low <= j - i <= high for i, j in path)
    ]
    return min(sums)


def slow_alignment(x, y, gamma, band=None):
    x, y = steps(x), steps(y)

    def local(i, j):
        weight = 1.0 if band is None else max(0.0, 1.0 - abs(i - j) / (band + 1))
        e = weight * np.exp(-gamma * ((x[i] - y[j]) ** 2).sum())
        return e / (2.0 - e)

    paths = alignments(len(x), len(y))
    return sum(np.prod([local(i, j) for i, j in path]) for path in paths)


def table(function, X, Y):
    return np.array([[function(x, y) for y in Y] for x in X])


# ---------------------------------------------------------------- values
@every_sample
@every_band
def test_the_distance_is_the_best_of_all_alignments(X, band):
    wanted = np.sqrt(table(lambda x, y: slow_dtw(x, y, band), X, X))
    np.testing.assert_allclose(dtw_distance(X, band=band), wanted, atol=1e-12)
    np.testing.assert_allclose(dtw_distance(X[:3], X, band), wanted[:3], atol=1e-12)


@every_sample
@every_band
def test_dtw_is_its_formula(X, band):
    wanted = np.exp(-0.3 * table(lambda x, y: slow_dtw(x, y, band), X, X))
    np.testing.assert_allclose(DTW(0.3, band)(X), wanted, rtol=1e-12)
    np.testing.assert_array_equal(DTW(0.3, band).diagonal(X), np.ones(len(X)))


@every_sample
@every_band
def test_global_alignment_is_the_sum_over_all_alignments(X, band):
    kernel = GlobalAlignment(0.3, band)
    wanted = table(lambda x, y: slow_alignment(x, y, 0.3, band), X, X)
    np.testing.assert_allclose(kernel(X), wanted, rtol=1e-12)
    np.testing.assert_allclose(kernel(X[:3], X), wanted[:3], rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(X), np.diagonal(wanted), rtol=1e-12)
    lengths = np.sqrt(np.diagonal(wanted))
    np.testing.assert_allclose(
        kernel.normalized()(X), wanted / np.outer(lengths, lengths), rtol=1e-12
    )


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 50.0])
def test_global_alignment_agrees_with_the_recursion_in_logarithms(gamma):
    x, y = RNG.normal(size=(2, 60))
    logs = np.full((61, 61), -np.inf)
    logs[0, 0] = 0.0
    for i in range(60):
        for j in range(60):
            t = gamma * (x[i] - y[j]) ** 2
            before = np.logaddexp.reduce([logs[i, j], logs[i, j + 1], logs[i + 1, j]])
            logs[i + 1, j + 1] = before - t - np.log(2.0 - np.exp(-t))
    found = GlobalAlignment(gamma)([x], [y])[0, 0]
    assert found == pytest.approx(np.exp(logs[60, 60]), rel=1e-11)


def test_tiles_and_views_change_nothing(small_tiles):
    for kernel in (DTW(0.3), GlobalAlignment(0.3).normalized(), GlobalAlignment(0.3, band=2)):
        whole = kernel(UNEQUAL, list(UNEQUAL))
        assert_close(kernel(UNEQUAL), whole)
        operator = gram(kernel, UNEQUAL, storage="blocked")
        assert_close(operator.rows(np.array([3, 1])), whole[[3, 1]])


def test_long_series_neither_under_nor_overflow():
    t = np.linspace(0.0, 20.0, 2000)
    X = [np.sin(t), np.sin(t + 0.3), 50.0 + np.sin(t)[::2]]
    for gamma in (1e-4, 10.0):
        K = GlobalAlignment(gamma).normalized()(X)
        assert np.isfinite(K).all()
        np.testing.assert_allclose(np.diagonal(K), 1.0, rtol=1e-11)
        assert (K <= 1.0 + 1e-11).all()
        assert (K >= 0.0).all()
    with pytest.raises(OverflowError, match=r"use GlobalAlignment\(…\).normalized\(\)"):
        GlobalAlignment(1e-4)(X)


def test_calls_that_are_cut_into_rows_give_the_same():
    kernels = [DTW(0.1), DTW(0.1, band=1), GlobalAlignment(0.1, band=2), GlobalAlignment(0.1)]
    for kernel in kernels:
        options = {"gamma": 0.1, "band": -1 if kernel.band is None else kernel.band}
        whole, cut = np.empty((2, len(UNEQUAL), len(UNEQUAL)))
        fill_pairs(kernel._loop, UNEQUAL, UNEQUAL, whole, mirror=True, **options)
        fill_pairs(kernel._loop, UNEQUAL, UNEQUAL, cut, mirror=True, work=100, **options)
        np.testing.assert_array_equal(cut, whole)


# ---------------------------------------------------------------- cells that share a power of two
def logs_of(kernel, X, monkeypatch, chunks):
    """Return the logarithms of the values, by one of the two loops, and whether it was taken."""
    taken = []

    def suffice(*given):
        taken.append(chunks_suffice(*given))
        return taken[-1] and chunks

    monkeypatch.setattr("mercer.kernels._series.chunks_suffice", suffice)
    bound = kernel.bind(X)
    sample = bound.sample(X)
    logs = np.empty((len(X), len(X)))
    bound._fill_pairs(sample.derive("series", as_series).data, list(map(steps, X)), logs, False)
    return logs, all(taken)


@pytest.mark.parametrize("band", [None, 0, 1, 15, 16, 17, 32, 100])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("gamma", [1e-6, 0.02, 0.3])
def test_both_loops_give_the_same(band, channels, gamma, monkeypatch):
    rng = np.random.default_rng(3)
    ends = [1, 2, 15, 16, 17, 31, 33, 48, 49, 70] if band is None else [49] * 9
    X = [np.cumsum(rng.normal(size=(n, channels)), axis=0) / 4.0 for n in ends]
    kernel = GlobalAlignment(gamma, band)
    chunks, taken = logs_of(kernel, X, monkeypatch, True)
    cells, _ = logs_of(kernel, X, monkeypatch, False)
    np.testing.assert_allclose(chunks, cells, rtol=1e-12, atol=1e-11)
    assert taken or gamma > 0.01


def test_what_a_chunk_could_lose_is_not_lost(monkeypatch):
    """The best path waits in columns that are tiny beside others of their chunk, and wins later."""
    x, y = np.repeat([5.0, 0.0], [100, 150]), np.repeat([0.0, 5.0], [10, 6])
    for gamma in (0.01, 0.1, 1.0):
        chunks, taken = logs_of(GlobalAlignment(gamma), [x, y], monkeypatch, True)
        cells, _ = logs_of(GlobalAlignment(gamma), [x, y], monkeypatch, False)
        np.testing.assert_allclose(chunks, cells, rtol=1e-12, atol=1e-11)
        assert taken == (gamma == 0.01)
    monkeypatch.setattr("mercer.kernels._series.chunks_suffice", lambda *given: True)
    lost = np.empty((1, 1))
    GlobalAlignment(1.0)._fill_pairs([steps(x)], [steps(y)], lost, False)
    assert lost[0, 0] < cells[0, 1] - 100.0


def test_cells_share_powers_of_two_where_steps_lose_little():
    assert chunks_suffice(0.0, 250, 250, -1)
    assert chunks_suffice(1.1, 250, 250, -1)
    assert not chunks_suffice(1.1, 2000, 250, -1)  # 2.3 bits of 2,000 steps are more than 900
    assert chunks_suffice(1.1, 2000, 250, 25)  # a path waits as long as a column is in the band
    assert not chunks_suffice(np.inf, 2, 2, -1)


@pytest.mark.parametrize("c", [0, 2])
@pytest.mark.parametrize("spread", [5, 40, 400])
def test_a_chunk_is_what_its_slow_twin_says(c, spread):
    """For numbers of one size, of sizes that are scaled again, and of sizes that are not added."""
    rng = np.random.default_rng(c)
    table, near = rng.random(3 * CHUNK * LANES), rng.random(CHUNK * LANES)
    powers = rng.integers(-spread, spread, 6 * LANES).astype(float)
    powers.reshape(3, 2, LANES)[:, 1] = table.reshape(3, CHUNK, LANES).sum(axis=1)
    carry = np.concatenate([rng.random(2 * LANES), rng.integers(-spread, spread, LANES)])
    fast, slow = ([a.copy() for a in (table, powers, carry, near)] for _ in range(2))
    _one_chunk(*fast, c)
    _align_chunk_slowly(*slow, c)
    _assert_same_sums(fast, slow)
    Y = 0.1 * rng.random(CHUNK * LANES)
    fast, slow = ([a.copy() for a in (table, powers, carry, 0.01 * near)] for _ in range(2))
    _one_chunk_at_once(*fast, c, 0.04, Y, 0, LANES)
    _align_near_slowly(*slow, c, 0.04, Y, 0, LANES)
    _assert_same_sums(fast, slow)
    out = [rng.random(CHUNK * LANES)] * 2
    fast_sums, slow_sums = (a.copy() for a in out)
    _one_square(0.4, table, c, LANES, 1.0, fast_sums)
    _add_squares_slowly(0.4, table, c, LANES, 1.0, slow_sums)
    np.testing.assert_allclose(fast_sums, slow_sums, rtol=1e-14)


def _assert_same_sums(fast, slow):
    """Compare cells and what is carried on as numbers: a power may be another by one."""
    for a, b in zip(_as_numbers(*fast), _as_numbers(*slow), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def _as_numbers(table, powers, carry, near):
    power = powers.reshape(-1, 2, LANES)
    cells = np.ldexp(table.reshape(-1, CHUNK, LANES), power[:, :1].astype(int))
    totals = np.ldexp(power[:, 1], power[:, 0].astype(int))
    return (
        cells,
        totals,
        np.ldexp(carry.reshape(3, LANES)[:2], carry[2 * LANES :].astype(int)),
        near,
    )


@njit
def _one_chunk(table, powers, carry, near, c):
    _align_chunk(table, powers, carry, near, c)


@njit
def _one_chunk_at_once(table, powers, carry, near, c, x, Y, start, stride):
    _align_near(table, powers, carry, near, c, x, Y, start, stride)


@njit
def _one_square(x, Y, start, stride, keep, out):
    _add_squares(x, Y, start, stride, keep, out)


# ---------------------------------------------------------------- definiteness
@pytest.mark.parametrize("band", [None, 2])
@pytest.mark.parametrize("gamma", [0.01, 1.0])
def test_global_alignment_is_positive_semidefinite(gamma, band):
    X = [RNG.normal(size=RNG.integers(3, 9)) for _ in range(30)]
    kernel = GlobalAlignment(gamma, band).normalized()
    assert kernel.definiteness == "psd"
    assert check_kernel(kernel, X).ok


def test_dtw_has_a_witness_against_it():
    words = [[int(bit) for bit in f"{number:05b}"] for number in range(32)]
    assert DTW().definiteness == "indefinite"
    assert np.linalg.eigvalsh(DTW(0.3)(words))[0] < -1e-3


# ---------------------------------------------------------------- forms and parameters
def test_lists_and_padded_arrays_are_the_same_series():
    padded = np.full((len(UNEQUAL), 5, 2), np.nan)
    for row, one in zip(padded, UNEQUAL, strict=True):
        row[: len(one)] = one
    for kernel in (DTW(), GlobalAlignment()):
        np.testing.assert_array_equal(kernel(padded), kernel(UNEQUAL))
        np.testing.assert_array_equal(kernel(EQUAL), kernel(EQUAL.tolist()))
        np.testing.assert_array_equal(kernel(EQUAL), kernel(EQUAL[:, :, None]))
    single = EQUAL.astype(np.float32)
    assert DTW(1.0)(single).dtype == np.float32
    np.testing.assert_allclose(DTW(1.0)(single), DTW(1.0)(single.astype(float)), rtol=1e-6)


def test_rules_of_gamma_are_medians():
    squares = dtw_distance(EQUAL) ** 2
    median = np.median(squares[np.triu_indices(10, 1)])
    assert DTW().bind(EQUAL).gamma == pytest.approx(1 / median)
    points = EQUAL.ravel()
    apart = np.square(points[:, None] - points)[np.triu_indices(40, 1)]
    assert GlobalAlignment().bind(EQUAL).gamma == pytest.approx(0.5 / np.median(apart) / 4)
    assert DTW().bind(np.ones((3, 4))).gamma == GlobalAlignment().bind(np.ones((3, 4))).gamma == 1.0


def test_rows_without_weight_do_not_decide():
    weights = np.r_[np.zeros(2), np.ones(8)]
    for kernel in (DTW(), GlobalAlignment(band=0.5)):
        assert kernel.bind(EQUAL, weights) == kernel.bind(EQUAL[2:])


def test_a_share_is_a_band_of_the_longest_series():
    assert DTW(1.0, 0.5).bind(UNEQUAL) == DTW(1.0, 3)
    np.testing.assert_array_equal(dtw_distance(UNEQUAL, band=0.3), dtw_distance(UNEQUAL, band=2))


def test_two_single_series_have_one_distance():
    assert dtw_distance([0, 1, 2], np.array([0.0, 2.0])) == 1.0


@pytest.mark.parametrize("kernel", [DTW(2.0, 3), GlobalAlignment(band=0.2), 0.5 * DTW() + 1.0])
def test_it_is_a_value(kernel):
    assert clone(kernel) == kernel
    assert eval(repr(kernel)) == kernel


# ---------------------------------------------------------------- machines
@pytest.mark.parametrize("kernel", [GlobalAlignment().normalized(), DTW(band=3)], ids=repr)
@pytest.mark.filterwarnings("ignore:KernelPCA.*DTW:UserWarning", "ignore:SVC.*not positive")
def test_machines_learn_from_series(kernel, tmp_path):
    rng = np.random.default_rng(1)
    y = np.arange(40) % 2
    X = [np.sin(np.linspace(0, 6 + 3 * c, rng.integers(15, 25))) + 0.2 * rng.normal() for c in y]
    model = SVC(kernel).fit(X[:30], y[:30])
    assert model.score(X[30:], y[30:]) == 1.0
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").decision_function(X), model.decision_function(X)
    )
    KernelPCA(kernel=kernel, n_components=2).fit(X)
    if kernel.definiteness == "psd":
        assert KernelRidge(kernel, lam=0.01).fit(X[:30], y[:30]).score(X[30:], y[30:]) > 0.8


# ---------------------------------------------------------------- bad input
GAP = EQUAL.copy()
GAP[3, 2] = np.nan
REFUSED = {
    "gap": (GAP, ValueError, "series 3 has nan at step 2: series must be finite"),
    "channel": ([UNEQUAL[1], [[1.0, np.inf]]], ValueError, "series 1 has inf at step 0, channel 1"),
    "empty": ([[1.0, 2.0], []], ValueError, "series 1 is empty"),
    "padding alone": ([[1.0], [np.nan]], ValueError, "series 1 is empty"),
    "texts": (["one", "two"], TypeError, "series 0 is not: got str"),
    "numbers": ([1.0, 2.0], TypeError, r"series 0 is not: got shape \(\)"),
    "ragged": ([[[1.0, 2.0], [3.0]]], TypeError, "series 0 is not: got list"),
    "channels": ([UNEQUAL[0], [1.0]], ValueError, "series 0 has 2, series 1 has 1"),
    "huge": ([[1e200]], ValueError, "series 0 has values beyond 1e150"),
}


@pytest.mark.parametrize(("X", "error", "message"), REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("kernel", [DTW(), 2.0 * GlobalAlignment().normalized()], ids=repr)
def test_what_is_no_series_is_refused(kernel, X, error, message):
    with pytest.raises(error, match=message):
        kernel(X)


def test_new_series_with_other_channels_are_refused():
    with pytest.raises(ValueError, match="same number of channels; got 1 and 2"):
        DTW()(EQUAL, UNEQUAL)


@pytest.mark.parametrize("band", [-1, 1.5, "wide"])
def test_bands_that_are_none_are_refused(band):
    with pytest.raises(ValueError, match="'band' parameter"):
        DTW(band=band)(EQUAL)
    with pytest.raises(ValueError, match="'band' parameter"):
        dtw_distance(EQUAL, band=band)


def test_a_table_kernel_does_not_mix_with_lengths():
    with pytest.raises((TypeError, ValueError)):
        (DTW() + RBF())(UNEQUAL)
