"""scikit-learn's tests of linear discriminant analysis."""

from __future__ import annotations

from tests.peers import adapters_spectral as adapters
from tests.peers.borrow import borrowed

NAMES = ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis")
MACHINES = {name: getattr(adapters, name) for name in NAMES}

WORDS = "the error or warning is the same, in other words"
SOLVERS = "what some of its solvers cannot do, there being one here"
LEFT_OUT = {
    "test_lda_dimension_warning": "n_components above what there is means all there is",
    "test_lda_dtype_match": "coefficients are float64; scores keep the precision of the rows",
    "test_lda_predict": SOLVERS,
    "test_lda_transform": SOLVERS,
    "test_lda_priors": WORDS,
    "test_raises_value_error_on_same_number_of_classes_and_samples": WORDS,
    "test_lda_store_covariance": "covariance_ is computed when asked for, always",
}

FILE = "sklearn.tests.test_discriminant_analysis"
globals().update(borrowed(FILE, {"sklearn.discriminant_analysis": MACHINES}, LEFT_OUT))
