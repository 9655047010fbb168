"""Rows of a table of measurements: what ours does, what each peer does, a check of the results."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One line of the table."""

    label: str
    ours: Callable[[], Any]
    peers: dict[str, Callable[[], Any]]
    check: Callable[[Any, Any], str]  # of our result and a peer's: how they differ, in words


ROWS: list[Callable[[], Row]] = []


def row(make: Callable[[], Row]) -> Callable[[], Row]:
    """Add a row to the table."""
    ROWS.append(make)
    return make


def best_times(
    runs: dict[str, Callable[[], Any]], enough: float = 3.0, most: int = 15
) -> Iterator[tuple[str, float, Any]]:
    """Yield name, shortest time and last result; the runs take turns, so that all see the same."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    results: dict[str, Any] = {}
    while True:
        open_runs = [
            n for n, t in times.items() if len(t) < 2 or (sum(t) < enough and len(t) < most)
        ]
        if not open_runs:
            break
        for name in open_runs:
            start = time.perf_counter()
            results[name] = runs[name]()
            times[name].append(time.perf_counter() - start)
    for name in runs:
        yield name, min(times[name]), results[name]


def measure(task: Row) -> None:
    """Print the times of a row, and how the results differ."""
    measured = list(best_times({"mercer": task.ours, **task.peers}))
    _, mine, model = measured[0]
    fastest = min(seconds for _, seconds, _ in measured[1:])
    print(f"{task.label}: {fastest / mine:.1f}× the fastest peer")
    print(f"  {'mercer':<28} {mine:8.4f} s           {proof(model)}")
    for name, seconds, peer in measured[1:]:
        print(f"  {name:<28} {seconds:8.4f} s ({seconds / mine:5.1f}×)  {task.check(model, peer)}")
    print(flush=True)


def proof(model: Any) -> str:
    """Return what a fitted model has proved, in a line."""
    proof = model.certificate_
    return f"{proof.kind} {proof.value:.1e}" + ("" if proof.ok else ", NOT PROVED")


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return the options that all scripts of rows have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--only", default="", help="part of a row's name, such as tall or sparse")
    return parser


def run(only: str = "") -> None:
    """Measure the rows whose names contain a text."""
    for make in ROWS:
        if only in make.__name__:
            measure(make())
