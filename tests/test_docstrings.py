"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest

from tests.test_architecture import MERCER

every_module = pytest.mark.parametrize("module", MERCER.files)


@every_module
def test_examples_run(module):
    results = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def test_there_are_examples():
    find = doctest.DocTestFinder().find
    found = [test for m in MERCER.files for test in find(importlib.import_module(m))]
    assert sum(len(test.examples) for test in found) > 400
