"""One pass over blocks: sums in order, whoever computes them."""

from __future__ import annotations

import signal
from _thread import interrupt_main
from threading import Lock, get_ident
from time import sleep
from typing import NamedTuple

import numpy as np
import pytest

from mercer import rows
from mercer.kernels import RBF
from mercer.rows import map_reduce


class Sums(NamedTuple):
    products: np.ndarray
    total: float


def test_the_number_of_workers_changes_no_bit():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(3_000, 7)) * 10.0 ** rng.integers(-6, 6, size=(3_000, 1))).astype(float)
    Z, kernel = kernel_points(X)

    def task(block, state):
        K = kernel.block(block.read().X, Z)
        return Sums(K.T @ K, float(K.sum()))

    blocks = rows.open(X).blocks(97)
    one, *others = (map_reduce(task, blocks, workers=w) for w in (1, 2, 3, 8))
    for other in others:
        assert one.products.tobytes() == other.products.tobytes()
        assert one.total == other.total
    np.testing.assert_allclose(one.products, kernel(X, Z).T @ kernel(X, Z), rtol=1e-10)


def kernel_points(X):
    return X[:600], RBF(gamma=0.1)


def test_results_are_added_in_the_order_of_blocks():
    def task(block, state):
        sleep(0.002 * (block % 3))  # the last of three is ready last
        return ((block,),)

    found = []
    for _, part in rows.passes._in_order(task, range(20), None, 4):
        found.extend(part[0])
    assert found == list(range(20))


def test_few_blocks_are_under_way_at_once():
    lock, open_, most = Lock(), set(), []

    def task(block, state):
        with lock:
            open_.add(get_ident())
            most.append(len(open_))
        sleep(0.001)
        with lock:
            open_.discard(get_ident())
        return 1

    assert map_reduce(task, iter(range(50)), workers=3) == 50
    assert max(most) <= 3


def test_nothing_to_add_is_none():
    assert map_reduce(lambda block, state: 1, []) is None


def test_an_error_ends_the_pass():
    seen = []

    def task(block, state):
        seen.append(block)
        if block == 4:
            raise ValueError("block 4 is bad")
        return block

    with pytest.raises(ValueError, match="block 4 is bad"):
        map_reduce(task, range(1000), workers=2)
    assert max(seen) < 10


@pytest.fixture
def _ctrl_c():
    """Hear Ctrl-C also where the suite runs in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ctrl_c")
def test_an_interrupt_ends_the_pass_and_the_threads_are_used_again():
    def task(block, state):
        if block == 3:
            interrupt_main()
        sleep(0.01)
        return 1

    with pytest.raises(KeyboardInterrupt):
        map_reduce(task, range(10_000))
    assert map_reduce(lambda block, state: block, range(10)) == 45
