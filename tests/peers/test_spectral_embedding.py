"""scikit-learn's tests of spectral embedding."""

from __future__ import annotations

from tests.peers import adapters_spectral as adapters
from tests.peers.borrow import borrowed

NAMES = ("SpectralEmbedding",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

MATRIX = "the affinities are not kept: they may be n² numbers"
LEFT_OUT = {
    "test_spectral_embedding_precomputed_affinity": MATRIX,
    "test_spectral_embedding_preserves_dtype": MATRIX,
    "test_spectral_embedding_callable_affinity": "a Python function is of two objects here",
    "test_error_pyamg_not_available": "there is one solver",
}

FILE = "sklearn.manifold.tests.test_spectral_embedding"
globals().update(borrowed(FILE, {"sklearn.manifold": MACHINES}, LEFT_OUT))
