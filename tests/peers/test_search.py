"""scikit-learn's tests of grid searches."""

from __future__ import annotations

from tests.peers import adapters
from tests.peers.borrow import borrowed

SEARCH = {"GridSearchCV": adapters.GridSearchCV}
REPLACED = {"sklearn.model_selection": SEARCH, "sklearn.model_selection._search": SEARCH}

WORDS = "the warning or error is the same, in other words"
UNKNOWN = "its grid names a parameter that its estimator does not list, which is refused here"
LEFT_OUT = {
    "test_pickle": "a class of a borrowed file cannot be pickled",
    "test_grid_search_failing_classifier": WORDS,
    "test_grid_search_classifier_all_fits_fail": WORDS,
    "test_callable_multimetric_error_failing_clf": WORDS,
    "test_callable_multimetric_clf_all_fits_fail": WORDS,
    "test_search_callbacks_with_partial_fit_failures": WORDS,
    "test_custom_run_search": "compares all attributes with a class of scikit-learn's own",
    "test_search_cv_using_minimal_compatible_estimator[MinimalRegressor-GridSearchCV]": UNKNOWN,
    "test_search_cv_using_minimal_compatible_estimator[MinimalClassifier-GridSearchCV]": UNKNOWN,
}

globals().update(borrowed("sklearn.model_selection.tests.test_search", REPLACED, LEFT_OUT))
