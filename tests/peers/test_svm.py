"""scikit-learn's tests of its support vector machines."""

from __future__ import annotations

from tests.peers import adapters
from tests.peers.borrow import borrowed

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
MACHINES = {name: getattr(adapters, name) for name in NAMES}

NEGATIVE = "negative weights are refused here, not taken for zero"
WORDS = "the error is the same, in other words"
PAIRS = "a Python function is of two objects here, not of two tables"
PRIVATE = "looks at private attributes of the wrapper of LIBSVM"
NOT_OURS = "tests LinearSVC or LinearSVR, which are not replaced"
DEPRECATED = "tests warnings of what scikit-learn deprecates: probability, probA_, probB_"

LEFT_OUT = {
    "test_svr_errors": PAIRS,
    "test_custom_kernel_not_array_input": PAIRS,
    "test_libsvm_convergence_warnings": PAIRS,
    "test_tweak_params": PRIVATE,
    "test_gamma_scale": PRIVATE,
    "test_svc_raises_error_internal_representation": PRIVATE,
    "test_negative_sample_weights_mask_all_samples": NEGATIVE,
    "test_negative_weights_svc_leave_just_one_label": NEGATIVE,
    "test_negative_weights_svc_leave_two_labels": NEGATIVE,
    "test_negative_weight_equal_coeffs": NEGATIVE,
    "test_bad_input": "sparse rows are accepted by a machine that was fitted to dense ones",
    "test_svc_nonfinite_params": WORDS,
    "test_sparse_precomputed": WORDS,
    "test_hasattr_predict_proba": WORDS,
    "test_sparse_fit_support_vectors_empty": "few rows are kept dense, also sparse ones",
    "test_probability_raises_futurewarning": DEPRECATED,
    "test_svc_nusvc_probA_probB_deprecated": DEPRECATED,
    "test_linearsvr": NOT_OURS,
    "test_linearsvr_fit_sampleweight": NOT_OURS,
    "test_linearsvc_parameters": NOT_OURS,
    "test_linearsvc": NOT_OURS,
    "test_linearsvc_crammer_singer": NOT_OURS,
    "test_linearsvc_fit_sampleweight": NOT_OURS,
    "test_crammer_singer_binary": NOT_OURS,
    "test_linearsvc_iris": NOT_OURS,
    "test_dense_liblinear_intercept_handling": NOT_OURS,
    "test_liblinear_set_coef": NOT_OURS,
    "test_linear_svm_convergence_warnings": NOT_OURS,
    "test_linearsvm_liblinear_sample_weight": NOT_OURS,
    "test_lsvc_intercept_scaling_zero": NOT_OURS,
    "test_linearsvc_verbose": NOT_OURS,
    "test_dual_auto": NOT_OURS,
    "test_dual_auto_edge_cases": NOT_OURS,
}

globals().update(borrowed("sklearn.svm.tests.test_svm", {"sklearn.svm": MACHINES}, LEFT_OUT))
