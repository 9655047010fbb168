"""Tests of others are long; those in the table of a file are skipped, and say why."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent


def pytest_configure(config):
    for name in ("thread_unsafe", "no_check_spmatrix"):
        config.addinivalue_line("markers", f"{name}: a mark of scikit-learn's tests")


@pytest.fixture
def global_random_seed():
    """The seed that scikit-learn's own runs take by default."""
    return 42


@pytest.fixture
def global_dtype():
    """The precision that scikit-learn's own runs take by default."""
    return np.float64


def _may_pass(mark):
    """Return a mark that lets pass what fails in scikit-learn."""
    if mark.name != "xfail":
        return mark
    return pytest.mark.xfail(*mark.args, **{**mark.kwargs, "strict": False}).mark


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if HERE not in item.path.parents:
            continue
        table = item.module.LEFT_OUT
        item.add_marker(pytest.mark.long)
        item.add_marker(pytest.mark.filterwarnings("ignore"))
        item.own_markers[:] = map(_may_pass, item.own_markers)
        why = table.get(item.name) or table.get(item.originalname)
        if why:
            item.add_marker(pytest.mark.skip(reason=why))
