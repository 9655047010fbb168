"""Settings and fixtures of the whole suite."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from mercer.kernels import tiles
from tests.sampling import left_out

# The same examples in every run, and no test may fail because a machine is slow.
settings.register_profile(
    "mercer",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", parent=settings.get_profile("mercer"), max_examples=2000)
settings.load_profile("mercer")  # pytest --hypothesis-profile=thorough takes the other one


@pytest.fixture
def small_tiles(monkeypatch):
    """Cut blocks into tiles of 3 rows, in threads: what large samples do, on a small one."""
    monkeypatch.setattr(tiles, "TILE", 3)
    monkeypatch.setattr(tiles, "SERIAL", 0)
    monkeypatch.setattr(tiles, "n_threads", lambda: 2)


# ---------------------------------------------------------------- a quick run and a whole one
CASES = pytest.StashKey[tuple[int, int]]()


@pytest.hookimpl(tryfirst=True)  # before pytest looks at the marks
def pytest_collection_modifyitems(config, items):
    """Mark as long what a quick run leaves out of large matrices."""
    for item in left_out(items):
        item.add_marker(pytest.mark.long)
    long = sum(item.get_closest_marker("long") is not None for item in items)
    config.stash[CASES] = len(items), long
    if hasattr(config, "workeroutput"):
        config.workeroutput["cases"] = len(items), long


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Take over what a worker has counted."""
    cases = getattr(node, "workeroutput", {}).get("cases")
    if cases is not None:
        node.config.stash[CASES] = tuple(cases)


def pytest_terminal_summary(terminalreporter, config):
    """Say what the run covers."""
    total, long = config.stash.get(CASES, (0, 0))
    if long and config.getoption("markexpr") == "not long":
        terminalreporter.write_line(
            f"{total - long:,} of {total:,} cases: of large matrices a sample in which every "
            f"estimator, kernel and check occurs; make test-all (pytest -m '') runs all of them"
        )
