"""scikit-learn's tests of logistic regression."""

from __future__ import annotations

from tests.peers import adapters_linear as adapters
from tests.peers.borrow import borrowed

NAMES = ("LogisticRegression",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

LEFT_OUT: dict[str, str] = {}

FILE = "sklearn.linear_model.tests.test_logistic"
globals().update(borrowed(FILE, {"sklearn.linear_model": MACHINES}, LEFT_OUT))
