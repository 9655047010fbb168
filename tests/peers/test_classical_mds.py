"""scikit-learn's tests of classical scaling."""

from __future__ import annotations

from tests.peers import adapters_spectral as adapters
from tests.peers.borrow import borrowed

NAMES = ("ClassicalMDS",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

LEFT_OUT = {
    "test_classical_mds_wrong_inputs": "the error is the same, in other words",
    "test_classical_mds_metric_params": "a metric with parameters is a function here",
}

FILE = "sklearn.manifold.tests.test_classical_mds"
globals().update(borrowed(FILE, {"sklearn.manifold": MACHINES}, LEFT_OUT))
