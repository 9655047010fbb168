"""scikit-learn's tests of logistic regression."""

from __future__ import annotations

from tests.peers import adapters_linear as adapters
from tests.peers.borrow import borrowed

NAMES = ("LogisticRegression",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

WORDS = "the warning or error is the same, in other words"
SOLVER = "what some of its solvers cannot do, or do otherwise: the solver is chosen here"
CV = "tests LogisticRegressionCV, which is not replaced, against this one at its loose tolerance"
STEPS = "n_iter_ is one number, of at least one step"
OLD = "tests what scikit-learn deprecates"
CALLBACKS = "callbacks are of searches here"
LEFT_OUT = {
    "test_max_iter": WORDS,
    "test_multinomial_logistic_regression_string_inputs": "a class of weight 0 is refused",
    "test_check_solver_option": SOLVER,
    "test_liblinear_dual_random_state": SOLVER,
    "test_large_sparse_matrix": SOLVER,
    "test_liblinear_with_large_values": SOLVER,
    "test_liblinear_multiclass_raises": SOLVER,
    "test_newton_cholesky_fallback_to_lbfgs": SOLVER,
    "test_logistic_cv": CV,
    "test_logistic_cv_multinomial_score": CV,
    "test_scores_attribute_layout_elasticnet": CV,
    "test_n_iter": STEPS,
    "test_zero_max_iter": STEPS,
    "test_sparsify": "there is no sparsify: sparse rows are multiplied with dense weights",
    "test_logreg_predict_proba_multinomial": "looks at a private method",
    "test_dtype_match": "coefficients are float64, also of float32 rows",
    "test_l1_ratio_non_elasticnet": "the penalty is l1_ratio, and nothing beside it to contradict",
    "test_lr_penalty_l1ratio_incompatible": "the penalty is l1_ratio, and nothing beside it",
    "test_penalty_none": "λ = 0 is no penalty, and nothing beside it to contradict",
    "test_penalty_deprecated": OLD,
    "test_l1_ratio_None_deprecated": OLD,
    "test_logisticregression_warns_with_n_jobs": OLD,
    "test_logistic_regression_callback_support": CALLBACKS,
    "test_logistic_regression_callback_fitted_estimator": CALLBACKS,
    "test_logistic_regression_callback_support_warning": CALLBACKS,
}

FILE = "sklearn.linear_model.tests.test_logistic"
globals().update(borrowed(FILE, {"sklearn.linear_model": MACHINES}, LEFT_OUT))
