"""scikit-learn's tests of the perceptron."""

from __future__ import annotations

from tests.peers import adapters_linear as adapters
from tests.peers.borrow import borrowed

NAMES = ("Perceptron",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

LEFT_OUT = {"test_perceptron_l1_ratio": "there is no penalty: the theorem is of the plain rule"}

FILE = "sklearn.linear_model.tests.test_perceptron"
globals().update(borrowed(FILE, {"sklearn.linear_model": MACHINES}, LEFT_OUT))
