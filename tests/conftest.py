"""Settings and fixtures of the whole suite."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from mercer.kernels import tiles

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
