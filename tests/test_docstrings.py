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
    counts = [doctest.testmod(importlib.import_module(m)).attempted for m in MERCER.files]
    assert sum(counts) > 20
