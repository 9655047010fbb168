"""The sample of a large matrix: small, even, the same in every run; products lose no value."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from tests.sampling import EVERY, EVERY_OF_A_LIST, MANY, left_out, sample

pytest_plugins = ["pytester"]


def matrix(*sides):
    return {str(case): [*enumerate(case)] for case in product(*map(range, sides))}


@given(st.lists(st.integers(1, 12), min_size=2, max_size=3))
def test_every_value_occurs(sides):
    cases = matrix(*sides)
    kept = sample(cases)
    assert kept <= cases.keys()
    for side, size in enumerate(sides):
        assert {value for case in kept for s, value in cases[case] if s == side} == {*range(size)}


def test_products_and_lists_become_small():
    assert 60 * 50 / EVERY <= len(sample(matrix(60, 50))) <= 60 * 50 / EVERY + 60 + 50
    assert len(sample(matrix(300))) == 300 / EVERY_OF_A_LIST


def test_tests_of_one_list_take_different_values():
    lists = ({f"{test}[{value}]": [value] for value in range(100)} for test in "abcdefghijklmnop")
    seen = [{value for case in sample(cases) for value in cases[case]} for cases in lists]
    assert len(set.union(*seen)) > 95


def test_no_side_is_favoured():
    cases = matrix(20, 40)
    kept = [cases[case][0][1] for case in sample(cases)]
    assert max(kept.count(value) for value in range(20)) < 4 * 40 / EVERY


def test_the_order_of_the_cases_does_not_matter():
    cases = matrix(9, 9)
    assert sample(dict(reversed(cases.items()))) == sample(cases)


MATRIX = """
import pytest

@pytest.mark.parametrize("a", range(10))
@pytest.mark.parametrize("b", range(10))
def test_large(a, b): ...

@pytest.mark.parametrize("a", range(4))
@pytest.mark.parametrize("b", range(6))
def test_small(a, b): ...

def test_one(): ...
"""


def test_only_large_matrices_are_cut(pytester):
    items = pytester.getitems(MATRIX)
    assert len(items) == 100 + MANY + 1
    out = left_out(items)
    assert {item.originalname for item in out} == {"test_large"}
    assert 100 * (1 - 1 / EVERY) - 20 <= len(out) <= 100 * (1 - 1 / EVERY)
