"""scikit-learn's tests of kernel ridge regression."""

from __future__ import annotations

from tests.peers import adapters
from tests.peers.borrow import borrowed

MACHINES = {"KernelRidge": adapters.KernelRidge}
LEFT_OUT: dict[str, str] = {}

globals().update(
    borrowed("sklearn.tests.test_kernel_ridge", {"sklearn.kernel_ridge": MACHINES}, LEFT_OUT)
)
