"""scikit-learn's tests of AdaBoost."""

from __future__ import annotations

from tests.peers import adapters_more as adapters
from tests.peers.borrow import borrowed

NAMES = ("AdaBoostClassifier",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

STUMPS = "stumps are the only learners here, and have no estimators_"
LEFT_OUT = {
    "test_sparse_classification": "columns are sorted, which needs dense ones",
    "test_sample_weights_infinite": STUMPS,
    "test_estimator": STUMPS,
    "test_iris": STUMPS,
    "test_adaboostclassifier_without_sample_weight": STUMPS,
    "test_multidimensional_X": STUMPS,
    "test_oneclass_adaboost_proba": "a single class is refused",
    "test_adaboost_decision_function": "votes of classes are sums of α, not centred",
    "test_adaboost_negative_weight_error": "the error is the same, in other words",
}

FILE = "sklearn.ensemble.tests.test_weight_boosting"
globals().update(borrowed(FILE, {"sklearn.ensemble": MACHINES}, LEFT_OUT))
