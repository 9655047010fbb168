"""scikit-learn's tests of locally linear embedding."""

from __future__ import annotations

from tests.peers import adapters_spectral as adapters
from tests.peers.borrow import borrowed

NAMES = ("LocallyLinearEmbedding",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

LEFT_OUT: dict[str, str] = {}

FILE = "sklearn.manifold.tests.test_locally_linear"
globals().update(borrowed(FILE, {"sklearn.manifold": MACHINES}, LEFT_OUT))
