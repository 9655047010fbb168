"""What the process shares is sound after whatever ends a block: an error, Ctrl-C, a fork."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from mercer import SVC, KernelRidge, _threads
from mercer._threads import ForkLock, one_blas_thread
from mercer.kernels import RBF
from tests.cases import two_classes
from tests.ctrl_c import CtrlC

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def blas_threads():
    return [library.count_threads() for library in _threads._libraries()]


@pytest.fixture(autouse=True)
def three_blas_threads():
    """A number that is not one, on any machine."""
    before = blas_threads()
    for library in _threads._libraries():
        library.set_threads(3)
    yield
    for library, count in zip(_threads._libraries(), before, strict=True):
        library.set_threads(count)


needs_blas_threads = pytest.mark.skipif(
    not all(hasattr(library.set_threads, "argtypes") for library in _threads._libraries()),
    reason="this BLAS does not run threads of its own",
)


# ---------------------------------------------------------------- the threads of BLAS
@needs_blas_threads
def test_blas_has_one_thread_inside_and_its_own_number_outside():
    with one_blas_thread():
        assert set(blas_threads()) == {1}
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {3}


@needs_blas_threads
def test_the_number_that_comes_back_is_the_one_of_the_user():
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {2}
    assert set(blas_threads()) == {3}


@needs_blas_threads
def test_the_last_one_out_restores_it_from_any_thread():
    inside, leave = threading.Event(), threading.Event()

    def stay():
        with one_blas_thread():
            inside.set()
            leave.wait()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: None).result()
        with one_blas_thread():
            other = pool.submit(stay)
            inside.wait()
        assert set(blas_threads()) == {1}
        leave.set()
        other.result()
        assert set(blas_threads()) == {3}


@needs_blas_threads
def test_many_threads_come_and_go():
    counts = []

    def work(_):
        for _ in range(200):
            with one_blas_thread():
                counts.append(max(blas_threads()))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert set(counts) == {1}
    assert set(blas_threads()) == {3}


def _block_in_block():
    with one_blas_thread():
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}


@needs_blas_threads
def test_ctrl_c_before_any_instruction_leaves_blas_as_it_was():
    moment = 1
    while CtrlC(moment, ("_threads.py", "test_threads.py")).run(_block_in_block):
        assert set(blas_threads()) == {3}, f"after an interrupt before instruction {moment}"
        moment += 1
    assert moment > 150, "too few instructions were tried"
    assert set(blas_threads()) == {3}


# ---------------------------------------------------------------- forks
def _answer(pipe, task):
    pipe.send(task())


def in_child(task):
    """Return what a forked child answers, or fail if it does not."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(there, task))
    child.start()
    try:
        assert here.poll(60), "the child does not answer"
        return here.recv()
    finally:
        child.kill()
        child.join()


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_lock_that_another_thread_holds_is_open_in_a_forked_child():
    lock = ForkLock()
    held, release = threading.Event(), threading.Event()

    def hold():
        with lock():
            held.set()
            release.wait()

    def take():
        taken = lock().acquire(timeout=10)
        return taken and lock().acquire(blocking=False)  # it is re-entrant

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert in_child(take)
        assert not lock().acquire(blocking=False), "in this process it is held"
    finally:
        release.set()
        thread.join()


@forks
@needs_blas_threads
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_has_all_threads_of_blas():
    inside, leave = threading.Event(), threading.Event()

    def stay():
        with one_blas_thread():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=stay)
    thread.start()
    inside.wait()
    try:
        assert set(in_child(blas_threads)) == {3}
        assert set(blas_threads()) == {1}
    finally:
        leave.set()
        thread.join()


def _fits():
    X, y = two_classes(150, 3)
    K = RBF(gamma=0.2)(X, X)
    return (
        SVC(C=10.0).fit(X, y).certificate_.ok,
        KernelRidge().fit(X, y).certificate_.ok,
        float(np.abs(K - K.T).max()) == 0.0,
    )


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_fits_while_a_thread_of_its_parent_fits():
    assert all(_fits())
    stop = threading.Event()

    def go_on():
        while not stop.is_set():
            _fits()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        for _ in range(2):
            assert all(in_child(_fits))
    finally:
        stop.set()
        thread.join()
