"""Fits on a real cluster of processes, some of which die: each run ends within a limit of time."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

pytest.importorskip("distributed")

from tests.rows import on_cluster

pytestmark = pytest.mark.long
LIMIT = 300  # seconds


def ended(workers, ending, folder):
    """Return what a run prints; it is a process of its own, so that nothing of it can stay."""
    words = [sys.executable, "-m", "tests.rows.on_cluster", str(workers), ending, str(folder)]
    run = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout.splitlines()[-1])


@cache
def here():
    model = on_cluster.model().fit(*on_cluster.problem())
    return model.dual_coef_


@pytest.mark.parametrize("workers", [2, 4])
def test_the_number_of_workers_changes_rounding_only(workers, tmp_path):
    found = np.array(ended(workers, "well", tmp_path)["coef"])
    np.testing.assert_allclose(found, here(), atol=1e-7 * np.abs(here()).max())


def test_a_worker_that_is_killed_in_a_pass_costs_at_most_that_pass(tmp_path):
    (tmp_path / "well").mkdir()
    (tmp_path / "worker").mkdir()
    well = ended(2, "well", tmp_path / "well")
    found = ended(2, "worker", tmp_path / "worker")
    coef = np.array(well["coef"])
    np.testing.assert_allclose(found["coef"], coef, atol=1e-7 * np.abs(coef).max())
    assert found["passes"] == well["passes"]
    assert well["looks"] < found["looks"] <= well["looks"] + 2  # a partition, not all of them


def test_a_cluster_that_goes_away_is_said(tmp_path):
    said = ended(1, "scheduler", tmp_path)["said"]
    assert "the Dask cluster" in said
    assert "has gone away in the middle of a pass" in said
    assert "checkpoint=" in said
