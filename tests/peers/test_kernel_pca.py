"""scikit-learn's tests of kernel principal components."""

from __future__ import annotations

from tests.peers import adapters
from tests.peers.borrow import borrowed

MACHINES = {"KernelPCA": adapters.KernelPCA}

INVERSE = "inverse_transform is there without having been asked for, also of sparse rows"
INVALID = "tests which parameters scikit-learn refuses"
LEFT_OUT = {
    "test_kernel_pca_invalid_parameters": INVALID,
    "test_kernel_pca_sparse": INVERSE,
    "test_kernel_pca_raise_not_fitted_error": INVERSE,
    "test_remove_zero_eig": "components without variance are never kept",
    "test_kernel_conditioning": "components without variance are never kept",
    "test_leave_zero_eig": "components without variance are never kept",
    "test_kernel_pca_precomputed_non_symmetric": "a matrix that is not symmetric is refused",
    "test_precomputed_kernel_not_psd": "negative eigenvalues are told by the certificate",
    "test_kernel_pca_inverse_correct_gamma": "γ of a fit is kernel_.gamma",
}

globals().update(
    borrowed(
        "sklearn.decomposition.tests.test_kernel_pca", {"sklearn.decomposition": MACHINES}, LEFT_OUT
    )
)
