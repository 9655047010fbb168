"""Threads side by side: all calls are made, errors raised, no Ctrl-C closes anything for ever."""

from __future__ import annotations

import threading
import time

import pytest

from mercer import _crew
from mercer._crew import Crew
from tests.ctrl_c import CtrlC

SOON = 20.0  # seconds: nothing here waits so long, but for what is closed for ever


def soon(call):
    """Call in a thread of its own; fail if it does not end."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(SOON)
    assert not thread.is_alive()


def test_all_calls_are_made():
    made, crew = [], Crew(2, "crew")
    crew.side_by_side([lambda k=k: made.append(k) for k in range(9)], lambda: None)
    assert sorted(made) == list(range(9))
    crew.side_by_side([], lambda: None)


def test_the_first_error_is_raised_when_the_others_have_ended():
    made, stopped, begun = [], [], threading.Event()

    def fails():
        begun.wait()
        raise ValueError("of a call")

    def slow():
        begun.set()
        time.sleep(0.05)
        made.append(1)

    with pytest.raises(ValueError, match="of a call"):
        Crew(2, "crew").side_by_side([fails, slow], lambda: stopped.append(1))
    assert (made, stopped) == ([1], [1])


def test_several_threads_may_ask_at_once():
    crew, sums = Crew(2, "crew"), []

    def ask():
        own = []
        crew.side_by_side([lambda k=k: own.append(k) for k in range(20)], lambda: None)
        sums.append(sum(own))

    threads = [threading.Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert sums == [190] * 5


def test_ctrl_c_at_any_instruction_leaves_the_crew_at_work():
    crew, at = Crew(2, "crew"), 1
    calls = [lambda: time.sleep(1e-4)] * 3
    while CtrlC(at, _crew.__file__).run(lambda: crew.side_by_side(calls, lambda: None)):
        soon(lambda: crew.side_by_side(calls, lambda: None))
        at += 1
    assert at > 50


def test_ctrl_c_at_any_instruction_leaves_no_call_at_work():
    """What runs on would write into arrays that a later call works with."""
    crew, at, begun, ended = Crew(2, "crew"), 1, [], []

    def call():
        begun.append(1)
        time.sleep(2e-3)
        ended.append(1)

    while CtrlC(at, _crew.__file__).run(lambda: crew.side_by_side([call] * 3, lambda: None)):
        left_behind = len(begun) - len(ended)
        soon(lambda: crew.side_by_side([lambda: time.sleep(1e-3)] * 4, lambda: None))
        assert (left_behind, len(begun)) == (0, len(ended)), f"instruction {at}"
        at += 1
    assert at > 50
