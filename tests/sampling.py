"""Which cases of a large matrix a quick run takes: few, the same in every run, each value once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from functools import partial
from typing import Any
from zlib import crc32

MANY = 24  # cases: tests with fewer are run whole
EVERY = 8  # of more, one in so many is taken
EVERY_OF_A_LIST = 4  # of a test with one parameter, whose every value is a case of its own


def sample(cases: Mapping[str, Iterable[Hashable]]) -> set[str]:
    """Return the cases to run, of cases with the values of their parameters.

    Every value of a product occurs in one of them, such as every estimator and every check of a
    matrix of both; beyond that they are spread evenly by a hash of their names. Of a mere list,
    such as the estimators, each test takes others: what one leaves out is seen by those beside it.
    """
    if all(len(list(values)) == 1 for values in cases.values()):
        return set(_by_hash(cases)[::EVERY_OF_A_LIST])
    seen: set[Hashable] = set()
    kept: set[str] = set()
    for place, case in enumerate(_by_hash(cases)):
        values = set(cases[case])
        if place % EVERY == 0 or not values <= seen:
            kept.add(case)
            seen |= values
    return kept


def _by_hash(cases: Iterable[str]) -> list[str]:
    return sorted(cases, key=lambda case: crc32(case.encode()))


def left_out(items: Iterable[Any]) -> list[Any]:
    """Return the collected tests that a quick run leaves out: most cases of large matrices."""
    matrices: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for item in items:
        if hasattr(item, "callspec"):
            matrices[item.nodeid.partition("[")[0]][item.nodeid] = item
    return [
        item for cases in matrices.values() if len(cases) > MANY for item in _beyond_sample(cases)
    ]


def _beyond_sample(cases: Mapping[str, Any]) -> list[Any]:
    kept = sample({name: _values(item) for name, item in cases.items()})
    return [item for name, item in cases.items() if name not in kept]


def _values(item: Any) -> list[Hashable]:
    """Return what tells the values of parameters apart: cases of a product share the objects."""
    params = item.callspec.params.items()
    # scikit-learn wraps its checks anew for each estimator
    return [(name, id(v.func if isinstance(v, partial) else v)) for name, v in params]
