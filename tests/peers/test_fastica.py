"""scikit-learn's tests of independent components."""

from __future__ import annotations

from tests.peers import adapters_more as adapters
from tests.peers.borrow import borrowed

NAMES = ("FastICA",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

WARNING = "the warning is of how scikit-learn's solver works"
COUNT = "n_components beside whiten=False is refused, not ignored"
LEFT_OUT = {
    "test_fastica_simple": "a contrast of one's own gives G too, of which the certificate speaks",
    "test_fastica_attributes_dtypes": "the whitening has no attribute of its own",
    "test_fastica_nowhiten": COUNT,
    "test_inverse_transform[False-5-expected_mixing_shape4]": COUNT,
    "test_fastica_convergence_fail": "tol=0 is refused",
    "test_fastica_eigh_low_rank_warning": WARNING,
}

FILE = "sklearn.decomposition.tests.test_fastica"
globals().update(borrowed(FILE, {"sklearn.decomposition": MACHINES}, LEFT_OUT))
