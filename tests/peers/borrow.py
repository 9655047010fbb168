"""Tests of scikit-learn's own files, run with estimators of this library in the place of its own.

The installed scikit-learn ships its tests. A file of them is executed with some names of its
modules replaced by adapters (`adapters.py`), and its tests become ours. Those that are left out
stand in a table with the reason.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

Replaced = Mapping[str, Mapping[str, Any]]
"""Names of modules, and of what is replaced in each."""


def borrowed(
    file: str, replaced: Replaced, left_out: Mapping[str, str], only: str = "", **helpers: Any
) -> dict[str, Any]:
    """Return the tests and fixtures of a test file, with names replaced in its modules.

    Parameters
    ----------
    file : str
        The module, such as "sklearn.svm.tests.test_svm".
    left_out : mapping
        The name of a test, or of one of its cases, and why it is left out.
    only : str
        What names of tests begin with; others are of estimators that are not replaced.
    **helpers
        Functions of the file that its tests call, written anew.
    """
    spec = importlib.util.find_spec(file)
    if spec is None or spec.loader is None:
        pytest.skip(f"this scikit-learn comes without {file}", allow_module_level=True)
    module = importlib.util.module_from_spec(spec)
    with _names_replaced(replaced), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of how their tests are written
        spec.loader.exec_module(module)
    vars(module).update(helpers)
    for name, value in list(vars(module).items()):
        if isinstance(value, ModuleType) and value.__name__ in replaced:
            vars(module)[name] = SimpleNamespace(**{**vars(value), **replaced[value.__name__]})
    tests = {
        name: value
        for name, value in vars(module).items()
        if name.startswith(f"test_{only}") or type(value).__name__ == "FixtureFunctionDefinition"
    }
    for test in tests.values():
        if hasattr(test, "pytestmark"):
            test.pytestmark = [_listed(mark) for mark in test.pytestmark]
    return {**tests, "LEFT_OUT": dict(left_out), "test_no_reason_is_stale": _no_stale(tests)}


def _listed(mark: Any) -> Any:
    """Return a mark whose cases are a list: an iterator is read once only."""
    if mark.name != "parametrize" or isinstance(mark.args[1], Collection):
        return mark
    return pytest.mark.parametrize(mark.args[0], list(mark.args[1]), **mark.kwargs).mark


@contextmanager
def _names_replaced(replaced: Replaced) -> Iterator[None]:
    """Replace names in modules for a while: decorators of tests read them at once."""
    with pytest.MonkeyPatch.context() as patch:
        for module, names in replaced.items():
            for name, value in names.items():
                patch.setattr(import_module(module), name, value)
        yield


def _no_stale(tests: Mapping[str, Any]) -> Any:
    def test_no_reason_is_stale(request: pytest.FixtureRequest) -> None:
        table = request.module.LEFT_OUT
        assert {name.partition("[")[0] for name in table} <= set(tests)
        assert all(len(why.split()) >= 2 for why in table.values())

    return test_no_reason_is_stale
