"""scikit-learn's tests of sparse principal components."""

from __future__ import annotations

from tests.peers import adapters_spectral as adapters
from tests.peers.borrow import borrowed

NAMES = ("SparsePCA",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

VARIANCE = "components without variance are not kept"
DTYPE = "loadings are float64; scores keep the precision of the rows"
LEFT_OUT = {
    "test_correct_shapes": VARIANCE,
    "test_spca_n_components_[None-SparsePCA]": VARIANCE,
    "test_initialization": "there is one start, the principal axes",
    "test_sparse_pca_dtype_match[float32-float32-lars-SparsePCA]": DTYPE,
    "test_sparse_pca_dtype_match[float32-float32-cd-SparsePCA]": DTYPE,
}

FILE = "sklearn.decomposition.tests.test_sparse_pca"
globals().update(borrowed(FILE, {"sklearn.decomposition": MACHINES}, LEFT_OUT))
