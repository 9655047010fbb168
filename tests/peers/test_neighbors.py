"""scikit-learn's tests of nearest neighbours."""

from __future__ import annotations

from tests.peers import adapters_more as adapters
from tests.peers.borrow import borrowed

NAMES = ("KNeighborsClassifier", "KNeighborsRegressor", "NearestNeighbors")
MACHINES = {name: getattr(adapters, name) for name in NAMES}

WORDS = "the error is the same, in other words"
NORMS = "a metric is a norm or given distances: kernels have other distances"
SPARSE = "given distances are dense here; Isomap and spectral methods take sparse ones"
SEVERAL = "several labels of a row are several fits here"
ROUTE = "tests by which structure scikit-learn searches, or in which loop"
OBJECT = "the metric is an object of scikit-learn's own"
SORTED = "the nearest always come first, where scikit-learn may keep the order of the rows"
LEFT_OUT = {
    "test_valid_brute_metric_for_auto_algorithm": NORMS,
    "test_kneighbors_brute_backend": NORMS,
    "test_neighbors_metrics": NORMS,
    "test_callable_metric": NORMS,
    "test_metric_params_interface": NORMS,
    "test_nan_euclidean_support": NORMS,
    "test_pairwise_boolean_distance": NORMS,
    "test_sparse_metric_callable": NORMS,
    "test_non_euclidean_kneighbors": NORMS,
    "test_nearest_neighbours_works_with_p_less_than_1": NORMS,
    "test_neighbors_minkowski_semimetric_algo_warn": NORMS,
    "test_neighbors_minkowski_semimetric_algo_error": NORMS,
    "test_precomputed_sparse_knn": SPARSE,
    "test_precomputed_sparse_radius": SPARSE,
    "test_precomputed_sparse_invalid": SPARSE,
    "test_pipeline_with_nearest_neighbors_transformer": SPARSE,
    "test_KNeighborsClassifier_multioutput": SEVERAL,
    "test_auto_algorithm": ROUTE,
    "test_predict_sparse_ball_kd_tree": ROUTE,
    "test_neigh_predictions_algorithm_agnosticity": ROUTE,
    "test_radius_neighbors_brute_backend": ROUTE,
    "test_knn_forcing_backend": ROUTE,
    "test_unsupervised_inputs": ROUTE,
    "test_neighbors_validate_parameters": WORDS,
    "test_nearest_neighbors_validate_params": WORDS,
    "test_KNeighborsClassifier_raise_on_all_zero_weights": WORDS,
    "test_unsupervised_kneighbors[DM_euclidean-False-100-100-10-100]": OBJECT,
    "test_unsupervised_kneighbors[DM_euclidean-False-1000-5-100-1]": OBJECT,
    "test_unsupervised_kneighbors[DM_euclidean-True-100-100-10-100]": OBJECT,
    "test_unsupervised_kneighbors[DM_euclidean-True-1000-5-100-1]": OBJECT,
    "test_kneighbors_regressor_sparse": SPARSE,
    "test_radius_neighbors_sort_results": SORTED,
    "test_k_and_radius_neighbors_train_is_not_query": SORTED,
    "test_k_and_radius_neighbors_duplicates": SORTED,
    "test_radius_neighbors_returns_array_of_objects": SPARSE,
    "test_radius_neighbors_parallel_array_radius": "a radius is one number",
}

FILE = "sklearn.neighbors.tests.test_neighbors"
globals().update(borrowed(FILE, {"sklearn.neighbors": MACHINES}, LEFT_OUT))
