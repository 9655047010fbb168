"""scikit-learn's tests of the lasso and the elastic net on sparse rows."""

from __future__ import annotations

from tests.peers import adapters_linear as adapters
from tests.peers.borrow import borrowed

NAMES = (
    "Lasso",
    "ElasticNet",
)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

ONE = "several targets are several fits here"
LEFT_OUT = {
    "test_enet_multitarget": ONE,
    "test_same_multiple_output_sparse_dense": ONE,
    "test_sparse_coef": "sets coef_ to a list",
    "test_sparse_enet_coordinate_descent": "the warning is the same, in other words",
}

FILE = "sklearn.linear_model.tests.test_sparse_coordinate_descent"
globals().update(borrowed(FILE, {"sklearn.linear_model": MACHINES}, LEFT_OUT))
