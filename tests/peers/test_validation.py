"""scikit-learn's tests of cross-validation, learning and validation curves."""

from __future__ import annotations

import mercer
from tests.peers.borrow import borrowed

NAMES = ("cross_validate", "learning_curve", "validation_curve")
FUNCTIONS = {name: getattr(mercer, name) for name in NAMES}
PLACES = ("sklearn.model_selection", "sklearn.model_selection._validation")

WORDS = "the warning or error is the same, in other words"
LEFT_OUT = {
    "test_learning_curve_verbose": "what is printed is of the shared work",
    "test_learning_curve_some_failing_fits_warning": WORDS,
    "test_cross_validate_some_failing_fits_warning": WORDS,
    "test_cross_validate_all_failing_fits_error": WORDS,
}

FILE = "sklearn.model_selection.tests.test_validation"
globals().update(borrowed(FILE, dict.fromkeys(PLACES, FUNCTIONS), LEFT_OUT))
