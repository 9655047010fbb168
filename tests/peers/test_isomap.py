"""scikit-learn's tests of isomap."""

from __future__ import annotations

from tests.peers import adapters_spectral as adapters
from tests.peers.borrow import borrowed

NAMES = ("Isomap",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

WORDS = "the error or warning is the same, in other words"
MATRIX = "the distances along the graph are not kept: they are n² numbers"
RADIUS = "a radius takes the place of n_neighbors"
LEFT_OUT = {
    "test_different_metric[<lambda>-2-False]": "a metric is a norm, or given distances",
    "test_isomap_clone_bug": "sets n_neighbors of the adapter, where it cannot be set",
    "test_isomap_dtype_equivalence": MATRIX,
    "test_isomap_fitted_attributes_dtype": MATRIX,
    "test_isomap_raise_error_when_neighbor_and_radius_both_set": RADIUS,
    "test_multiple_connected_components": WORDS,
    "test_multiple_connected_components_metric_precomputed": WORDS,
    "test_pipeline_with_nearest_neighbors_transformer": "all edges of a given graph count",
}

FILE = "sklearn.manifold.tests.test_isomap"
globals().update(borrowed(FILE, {"sklearn.manifold": MACHINES}, LEFT_OUT))
