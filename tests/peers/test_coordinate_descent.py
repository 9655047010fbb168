"""scikit-learn's tests of the lasso and the elastic net."""

from __future__ import annotations

from tests.peers import adapters_linear as adapters
from tests.peers.borrow import borrowed

NAMES = (
    "Lasso",
    "ElasticNet",
)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

WORDS = "the error or warning is the same, in other words"
ONE = "several targets are several fits here"
UNCHECKED = "rows are always checked, and never changed in place"
GRAM = "inner products cannot be given: they are computed where they help"
STEPS = "counts steps of scikit-learn's sweeps, of which none are needed here"
LEFT_OUT = {
    "test_check_input_false": UNCHECKED,
    "test_enet_copy_X_False_check_input_False": UNCHECKED,
    "test_enet_copy_X_True": UNCHECKED,
    "test_enet_sample_weight_does_not_overwrite_sample_weight": UNCHECKED,
    "test_elasticnet_precompute_incorrect_gram": GRAM,
    "test_overridden_gram_matrix": GRAM,
    "test_warm_start": STEPS,
    "test_warm_start_convergence": STEPS,
    "test_enet_coordinate_descent_raises_convergence": WORDS,
    "test_enet_float_precision": "coefficients are float64, also of float32 rows",
    "test_enet_multitarget": ONE,
    "test_enet_nonfinite_params": "numbers near the largest float have units of their own",
    "test_lasso_alpha_warning": "λ = 0 is refused: LinearRegression is for it",
    "test_lasso_dual_gap": "compares a gap of 0 with rounding of 5e-16, without a tolerance",
}

FILE = "sklearn.linear_model.tests.test_coordinate_descent"
globals().update(borrowed(FILE, {"sklearn.linear_model": MACHINES}, LEFT_OUT))
