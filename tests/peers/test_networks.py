"""scikit-learn's tests of networks."""

from __future__ import annotations

from tests.peers import adapters_more as adapters
from tests.peers.borrow import borrowed

NAMES = ("MLPClassifier", "MLPRegressor")
MACHINES = {name: getattr(adapters, name) for name in NAMES}

LEFT_OUT: dict[str, str] = {}

FILE = "sklearn.neural_network.tests.test_mlp"
globals().update(borrowed(FILE, {"sklearn.neural_network": MACHINES}, LEFT_OUT))
