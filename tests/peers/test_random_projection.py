"""scikit-learn's tests of random projections."""

from __future__ import annotations

from tests.peers import adapters_spectral as adapters
from tests.peers.borrow import borrowed

NAMES = ("GaussianRandomProjection", "SparseRandomProjection")
MACHINES = {name: getattr(adapters, name) for name in NAMES}

WIDE = "n_components above the number of columns is refused: nothing is reduced by it"
LEFT_OUT = {
    "test_random_projection_transformer_invalid_input": WIDE,
    "test_too_many_samples_to_find_a_safe_embedding": WIDE,
    "test_warning_n_components_greater_than_n_features": WIDE,
    "test_inverse_transform": "there is no inverse: distances are kept, not rows",
    "test_SparseRandomProj_output_representation": "projected rows are dense",
    "test_correct_RandomProjection_dimensions_embedding": "there is no density to choose",
    "test_random_projection_dtype_match": "directions are float64, also of float32 rows",
}

FILE = "sklearn.tests.test_random_projection"
globals().update(borrowed(FILE, {"sklearn.random_projection": MACHINES}, LEFT_OUT))
