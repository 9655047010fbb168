"""scikit-learn's tests of networks."""

from __future__ import annotations

from tests.peers import adapters_more as adapters
from tests.peers.borrow import borrowed

NAMES = ("MLPClassifier", "MLPRegressor")
MACHINES = {name: getattr(adapters, name) for name in NAMES}

WORDS = "the error is the same, in other words"
PRIVATE = "looks at private attributes"
TOL = "tol is of the gradient here, and positive; there, of what an epoch gains"
EPOCHS = "max_epochs is of both solvers; there is no count of evaluations"
SCHEDULE = "the rate of learning has no schedule: Adam has a step for each weight"
SCORES = "validation_curve_ holds the losses of held-out rows, not scores"
LEFT_OUT = {
    "test_fit": "sets private attributes",
    "test_gradient": PRIVATE,
    "test_learning_rate_warmstart": SCHEDULE,
    "test_adaptive_learning_rate": SCHEDULE,
    "test_n_iter_no_change": PRIVATE,
    "test_partial_fit_classification": "asks for tol=0, which is of the gradient here",
    "test_n_iter_no_change_inf": TOL,
    "test_early_stopping": TOL,
    "test_lbfgs_classification_maxfun": EPOCHS,
    "test_lbfgs_regression_maxfun": EPOCHS,
    "test_nonfinite_params": "numbers near the largest float have units of their own",
    "test_shuffle": "rows are always shuffled",
    "test_verbose_sgd": "there is no verbose",
    "test_warm_start": WORDS,
    "test_early_stopping_stratified": WORDS,
    "test_minimum_input_sample_size": WORDS,
    "test_mlp_early_stopping_string_labels": SCORES,
    "test_mlp_warm_start_with_early_stopping": SCORES,
    "test_mlp_diverging_loss": SCORES,
    "test_mlp_param_dtypes": "weights are float64, also of float32 rows",
    "test_preserve_feature_names": "all of its labels are the same, which is refused",
    "test_mlp_partial_fit_after_fit": "there is no partial_fit with early_stopping, as there",
    "test_mlp_vs_poisson_glm_equivalent": "there is no Poisson loss of networks",
}

FILE = "sklearn.neural_network.tests.test_mlp"
globals().update(borrowed(FILE, {"sklearn.neural_network": MACHINES}, LEFT_OUT))
