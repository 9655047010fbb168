"""scikit-learn's tests of linear discriminant analysis."""

from __future__ import annotations

from tests.peers import adapters_spectral as adapters
from tests.peers.borrow import borrowed

NAMES = ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis")
MACHINES = {name: getattr(adapters, name) for name in NAMES}

WORDS = "the error or warning is the same, in other words"
AUTO = "shrinkage='auto' shrinks only a singular covariance; covariance=LedoitWolf() shrinks all"
SOLVERS = "what some of its solvers cannot do, there being one here"
LEFT_OUT = {
    "test_lda_dimension_warning": "n_components above what there is means all there is",
    "test_lda_dtype_match": "coefficients are float64; scores keep the precision of the rows",
    "test_lda_predict": SOLVERS,
    "test_lda_transform": SOLVERS,
    "test_lda_priors": WORDS,
    "test_raises_value_error_on_same_number_of_classes_and_samples": WORDS,
    "test_qda": "a class of one row is accepted",
    "test_raises_value_error_on_one_sample_per_class": "a class of one row is accepted",
    "test_qda_covariance_estimator": SOLVERS,
    "test_qda_coefs": "rotations_ and scalings_ are factors_ here",
    "test_qda_store_covariance": "covariances_ are computed when asked for, always",
    "test_qda_regularization": WORDS,
    "test_qda_ledoitwolf": AUTO,
    "test_qda_shrinkage_performance": AUTO,
    "test_lda_store_covariance": "covariance_ is computed when asked for, always",
}

FILE = "sklearn.tests.test_discriminant_analysis"
globals().update(borrowed(FILE, {"sklearn.discriminant_analysis": MACHINES}, LEFT_OUT))
