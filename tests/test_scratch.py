"""Working memory has one owner at a time, and is handed out again only when that one is gone."""

from __future__ import annotations

import gc
import os
import sys
from threading import Thread

import numpy as np
import pytest

from mercer import _scratch
from mercer._scratch import scratch


@pytest.fixture(autouse=True)
def no_free_blocks():
    gc.collect()
    _scratch.settle()
    _scratch._free.clear()


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


def test_no_more_is_kept_than_allowed():
    blocks = [_scratch._Memory(800_000) for _ in range(10)]
    free = {id(block): block for block in blocks}
    _scratch._keep_at_most(2_000_000, free)
    assert list(free.values()) == blocks[-2:]


def test_of_a_budget_what_is_free_gets_what_is_left():
    used = [scratch((100_000,), np.float64) for _ in range(3)]
    del used[1:]
    scratch((200_000,), np.float64)
    _scratch.settle()
    assert sum(block.nbytes for block in _scratch._free.values()) == 3_200_000
    array = scratch((50_000,), np.float64, budget=2_500_000)  # in use: 800,000 and 800,000
    assert array.size == 50_000
    assert sum(block.nbytes for block in _scratch._free.values()) <= 900_000


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


def test_memory_is_never_shared_under_a_tracer():
    """Debuggers and coverage hold frames, and with them what a line has on its stack."""
    seen = []

    def trace(frame, event, arg):
        seen.append(frame.f_locals)
        return trace

    def work():
        first = scratch((200, 300), np.float64)
        first[...] = 1.0
        second = scratch((200, 300), np.float64)
        second[...] = 2.0
        return first, second, np.add(first, second, out=scratch((200, 300), np.float64))

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        first, second, third = work()
    finally:
        sys.settrace(before)
    assert seen
    assert [float(a.max()) for a in (first, second, third)] == [1.0, 2.0, 3.0]


def test_an_exception_that_holds_its_frames_holds_their_memory():
    def fail():
        array = scratch((200, 300), np.float64)
        array[...] = 7.0
        raise ValueError(address(array))

    with pytest.raises(ValueError, match=r"\d+") as caught:
        fail()
    held = caught.value.args[0]
    other = scratch((200, 300), np.float64)
    other[...] = 0.0
    assert address(other) != held
    inner = caught.tb
    while inner.tb_next is not None:
        inner = inner.tb_next
    assert (inner.tb_frame.f_locals["array"] == 7.0).all()


def test_what_only_a_stack_refers_to_is_in_use():
    """A reference that no variable holds: an argument that is still being worked on."""

    def both(a, b):
        return float(a.max()), float(b.max()), address(a) != address(b)

    def filled(value):
        array = scratch((200, 300), np.float64)
        array[...] = value
        return array

    assert both(filled(1.0), filled(2.0)) == (1.0, 2.0, True)
    assert [float(a.max()) for a in (filled(3.0), filled(4.0), filled(5.0))] == [3.0, 4.0, 5.0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_memory_of_its_own():
    kept = scratch((200, 300), np.float64)
    kept[...] = 7.0
    child = os.fork()
    if child == 0:
        kept[...] = 1.0
        del kept
        scratch((200, 300), np.float64)[...] = 2.0
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (kept == 7.0).all()


def test_threads_that_take_and_give_back_at_once_share_nothing():
    wrong = []

    def work(value):
        held = []
        for i in range(300):
            array = scratch((100, 100 + 7 * (i % 5)), np.float64, brief=True)
            array[...] = value
            held.append(array)
            wrong.extend(1 for a in held if not (a == value).all())
            del held[: i % 4]

    threads = [Thread(target=work, args=(v,)) for v in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_ctrl_c_while_memory_is_given_back_is_not_lost():
    """What Python code does when an object is destroyed cannot be interrupted: errors are dropped.

    So there must be none: nothing of this module may run between the last use and the next.
    """
    array = scratch((200, 300), np.float64)
    place = address(array)
    calls = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, arg: calls.append((event, frame.f_code.co_name)))
    try:
        del array
    finally:
        sys.setprofile(before)
    assert not [name for event, name in calls if event == "call"]
    assert address(scratch((200, 300), np.float64)) == place


def test_much_that_is_given_back_is_let_go_when_free_memory_is_asked_for():
    arrays = [scratch((100_000,), np.float64) for _ in range(10)]
    del arrays
    _scratch.settle(most=2_000_000)
    assert sum(block.nbytes for block in _scratch._free.values()) <= 2_000_000
    assert not [back for back in _scratch._leased.values() if back() is None]


def interrupted_at(moment):
    """Ask for memory, give it back and ask again, with a Ctrl-C at a line of this module."""
    lines = iter(range(moment, -1, -1))

    def trace(frame, event, arg):
        if frame.f_globals is not vars(_scratch):
            return None
        if event == "line" and next(lines, 1) == 0:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for _ in range(2):
            scratch((200, 300), np.float64)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.fixture
def old_objects_left_alone():
    """What is there before a test is no garbage: to look for some in the test takes no time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("old_objects_left_alone")
def test_a_ctrl_c_at_any_line_loses_no_memory():
    _scratch.settle()
    leased, moment = len(_scratch._leased), 0
    while interrupted_at(moment):
        moment += 1
        gc.collect()
        _scratch.settle()
        assert len(_scratch._leased) == leased
    assert moment > 20
