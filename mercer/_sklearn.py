"""The private names of scikit-learn that this library uses, all of them, and where they live.

Nothing here is promised to stay where it is: when a release of scikit-learn moves a name, this is
the one file to mend. Names are imported when first asked for, because some of their modules are
slow to load and most programs need few of them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

HOMES = {
    "sklearn.callback._callback_support": ("callback_management_context",),
    "sklearn.metrics._scorer": ("_BaseScorer", "_MultimetricScorer", "_PassthroughScorer"),
    "sklearn.metrics.pairwise": ("_VALID_METRICS",),
    "sklearn.model_selection._search": ("BaseSearchCV",),
    "sklearn.model_selection._validation": (
        "_fit_and_score",
        "_insert_error_scores",
        "_normalize_score_results",
        "_score",
        "_translate_train_sizes",
    ),
    "sklearn.utils": ("_safe_indexing",),
    "sklearn.utils._param_validation": (
        "HasMethods",
        "Interval",
        "Options",
        "StrOptions",
        "validate_parameter_constraints",
    ),
    "sklearn.utils.metaestimators": ("_safe_split",),
    "sklearn.utils.multiclass": ("_ovr_decision_function",),
    "sklearn.utils.validation": (
        "_check_feature_names",
        "_check_feature_names_in",
        "_check_method_params",
        "_check_n_features",
        "_check_sample_weight",
        "_num_samples",
    ),
}
_HOME_OF = {name: home for home, names in HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOME_OF[name]), name)
    return _of_numbers(found) if name == "Interval" else found


@cache
def _of_numbers(interval: Any) -> Any:
    """Return intervals without True and False, which Python takes for numbers."""

    class Interval(interval):
        def is_satisfied_by(self, value: Any) -> bool:
            return not isinstance(value, (bool, np.bool_)) and super().is_satisfied_by(value)

    return Interval
