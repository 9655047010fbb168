"""Working memory is handed out again only when nobody refers to it."""

from __future__ import annotations

import gc
from threading import Thread

import numpy as np
import pytest

from mercer import _scratch
from mercer._scratch import scratch


@pytest.fixture(autouse=True)
def no_buffers(monkeypatch):
    monkeypatch.setattr(_scratch, "_buffers", [])


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again():
    first = scratch((200, 300), np.float64)
    place = address(first)
    del first
    gc.collect()
    assert address(scratch((250, 240), np.float64)) == place


@pytest.mark.parametrize("hold", [lambda a: a, lambda a: a[10:], lambda a: a.T[3:5]])
def test_what_is_in_use_is_left_alone(hold):
    kept = hold(scratch((200, 300), np.float64))
    kept[...] = 7.0
    others = [scratch((200, 300), np.float64) for _ in range(3)]
    for other in others:
        other[...] = 0.0
    assert (kept == 7.0).all()
    assert len({address(other) for other in others}) == 3


def test_a_lasting_array_does_not_pin_a_much_larger_buffer():
    large = scratch((1000, 1000), np.float64)
    place = address(large)
    del large
    assert address(scratch((100, 100), np.float64)) != place
    assert address(scratch((100, 200), np.float64, brief=True)) == place


def test_shapes_and_types():
    for shape, dtype in (((0,), float), ((3, 5), np.float32), ((1000, 77), np.int32)):
        array = scratch(shape, dtype)
        assert array.shape == shape
        assert array.dtype == dtype
        assert array.flags.writeable


def test_no_more_is_kept_than_allowed(monkeypatch):
    monkeypatch.setattr(_scratch, "MOST", 2_000_000)
    kept = [scratch((100, 1000), np.float64) for _ in range(10)]
    assert sum(b.nbytes for b in _scratch._buffers) <= 2_000_000
    assert len({address(a) for a in kept}) == 10


def test_threads_get_memory_of_their_own():
    results = []

    def work(value):
        for _ in range(200):
            array = scratch((100, 120), np.float64)
            array[...] = value
            results.append((array == value).all())

    threads = [Thread(target=work, args=(v,)) for v in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(results)
