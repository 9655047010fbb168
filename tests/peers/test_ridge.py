"""scikit-learn's tests of ridge regression."""

from __future__ import annotations

from tests.peers import adapters_linear as adapters
from tests.peers.borrow import borrowed

NAMES = ("Ridge", "RidgeClassifier")
MACHINES = {name: getattr(adapters, name) for name in NAMES}

SOLVER = "what some of its solvers cannot do, there being one here"
DTYPE = "coefficients are float64, also of float32 rows"
LEFT_OUT = {
    "test_ridge_shapes_type": "the intercept of one target is a number",
    "test_ridge_individual_penalties": "the error is the same, in other words",
    "test_n_iter": "nothing is iterated",
    "test_ridge_fit_intercept_sparse_error": SOLVER,
    "test_ridge_fit_intercept_sparse_sag": SOLVER,
    "test_ridge_positive_error_test": SOLVER,
    "test_lbfgs_solver_error": SOLVER,
    "test_dtype_match": DTYPE,
    "test_dtype_match_cholesky": DTYPE,
}

FILE = "sklearn.linear_model.tests.test_ridge"
globals().update(borrowed(FILE, {"sklearn.linear_model": MACHINES}, LEFT_OUT))
