"""scikit-learn's tests of principal components."""

from __future__ import annotations

from tests.peers import adapters_spectral as adapters
from tests.peers.borrow import borrowed

NAMES = ("PCA",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

MLE = "the number of components by Minka's likelihood is not here"
LEFT_OUT = {
    "test_fit_mle_too_few_samples": MLE,
    "test_mle_redundant_data": MLE,
    "test_mle_simple_case": MLE,
    "test_n_components_mle": MLE,
    "test_n_components_mle_error": MLE,
    "test_pca_dim": MLE,
    "test_n_components_none": "directions that centring leaves without variance are not kept",
    "test_pca_score": "the likelihood of rows does not depend on whitening here",
    "test_pca_score3": "asks for 0 components",
    "test_pca_zero_noise_variance_edge_cases": "a singular covariance has no density: said",
    "test_pca_dtype_preservation": "axes are float64; scores keep the precision of the rows",
    "test_pca_svd_solver_auto": "looks at a private attribute",
    "test_pca_validation": "the error is the same, in other words",
    "test_sparse_pca_solver_error": "sparse rows are accepted on every route",
}

FILE = "sklearn.decomposition.tests.test_pca"
globals().update(borrowed(FILE, {"sklearn.decomposition": MACHINES}, LEFT_OUT))
