"""scikit-learn's tests of Gaussian mixtures."""

from __future__ import annotations

from tests.peers import adapters_more as adapters
from tests.peers.borrow import borrowed

NAMES = ("GaussianMixture",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

WORDS = "the error or warning is the same, in other words"
WEIGHTS = "a start is means or components of the rows: weights and precisions follow from it"
STEP = "EM takes one step at least"
ZERO = "variances have a floor: without one the likelihood has no maximum"
LEFT_OUT = {
    "test_check_weights": WEIGHTS,
    "test_check_precisions": WEIGHTS,
    "test_gaussian_mixture_precisions_init_diag": WEIGHTS,
    "test_gaussian_mixture_precisions_init": WEIGHTS,
    "test_gaussian_mixture_all_init_does_not_estimate_gaussian_parameters": WEIGHTS,
    "test_check_means": WORDS,
    "test_gaussian_mixture_fit_convergence_warning": WORDS,
    "test_sample": WORDS,
    "test_regularisation": ZERO,
    "test_gaussian_mixture_setting_best_params": ZERO,
    "test_init_means_not_duplicated": STEP,
    "test_max_iter_zero": STEP,
    "test_warm_start": "there is no warm_start: start=model.means_ goes on from a fit",
    "test_convergence_detected_with_warm_start": "there is no warm_start",
    "test_monotonic_likelihood": "goes on by warm_start, which is not here",
    "test_init": "looks at lower_bound_: certificate_ has the likelihood after each step",
}

FILE = "sklearn.mixture.tests.test_gaussian_mixture"
globals().update(borrowed(FILE, {"sklearn.mixture": MACHINES}, LEFT_OUT))
