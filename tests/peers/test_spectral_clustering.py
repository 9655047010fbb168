"""scikit-learn's tests of spectral clustering."""

from __future__ import annotations

from tests.peers import adapters_spectral as adapters
from tests.peers.borrow import borrowed

NAMES = ("SpectralClustering",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

LEFT_OUT = {
    "test_affinities": "a table that looks like an affinity is not warned of",
    "test_verbose": "there is no verbose",
}

FILE = "sklearn.cluster.tests.test_spectral"
globals().update(borrowed(FILE, {"sklearn.cluster": MACHINES}, LEFT_OUT))
