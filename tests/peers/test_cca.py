"""scikit-learn's tests of canonical correlations."""

from __future__ import annotations

from tests.peers import adapters_spectral as adapters
from tests.peers.borrow import borrowed

NAMES = ("CCA",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

LEFT_OUT = {
    "test_copy[CCA]": "rows are never changed in place",
    "test_n_components_upper_bounds[CCA]": "n_components above what there is means all there is",
    "test_pls_prediction[CCA-True]": "asks for copy= of predict; rows are never changed in place",
    "test_pls_prediction[CCA-False]": "asks for copy= of predict; rows are never changed in place",
}

FILE = "sklearn.cross_decomposition.tests.test_pls"
globals().update(borrowed(FILE, {"sklearn.cross_decomposition": MACHINES}, LEFT_OUT))
