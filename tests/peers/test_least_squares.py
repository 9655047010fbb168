"""scikit-learn's tests of least squares."""

from __future__ import annotations

from tests.peers import adapters_linear as adapters
from tests.peers.borrow import borrowed

NAMES = ("LinearRegression",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

LEFT_OUT = {
    "test_inplace_data_preprocessing": "rows are never changed in place, also without copy_X",
    "test_raises_value_error_if_positive_and_sparse": "sparse rows are accepted",
}

FILE = "sklearn.linear_model.tests.test_base"
globals().update(borrowed(FILE, {"sklearn.linear_model": MACHINES}, LEFT_OUT))
