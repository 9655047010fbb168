"""scikit-learn's tests of its support vector machines."""

from __future__ import annotations

from tests.peers import adapters, adapters_linear
from tests.peers.borrow import borrowed

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
MACHINES = {name: getattr(adapters, name) for name in NAMES}
MACHINES["LinearSVC"] = adapters_linear.LinearSVC

NEGATIVE = "negative weights are refused here, not taken for zero"
WORDS = "the error is the same, in other words"
PAIRS = "a Python function is of two objects here, not of two tables"
PRIVATE = "looks at private attributes of the wrapper of LIBSVM"
NOT_OURS = "tests LinearSVR, which is not replaced"
DEPRECATED = "tests warnings of what scikit-learn deprecates: probability, probA_, probB_"

LEFT_OUT = {
    "test_linearsvc_parameters": "what it refuses has a solver here, or another error",
    "test_linearsvc_crammer_singer": "classes are fitted against the rest",
    "test_linear_svm_convergence_warnings": "the warning is the same, in other words",
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
}

globals().update(borrowed("sklearn.svm.tests.test_svm", {"sklearn.svm": MACHINES}, LEFT_OUT))
