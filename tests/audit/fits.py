"""Fit an estimator to odd data, if it takes it, and look at what it claims."""

from __future__ import annotations

import warnings
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

from tests.audit.claim import Case, false_claims
from tests.audit.odd import Table


def fit(estimator: Any, table: Table) -> Case | None:
    """Return the fitted model with its data; None if it refuses them, in words."""
    model = clone(estimator)
    y = table.labels if is_classifier(model) else table.y
    options = {}
    if "sample_weight" in signature(model.fit).parameters:
        options["sample_weight"] = table.weight
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(table.X, y, **options)
        except ValueError:
            return None
    weight = table.weight if options else np.ones(len(y))
    return Case(model, table.X, y, weight)


def audit(estimator: Any, table: Table) -> tuple[str, list[str]]:
    """Return how the fit ended (refused, unproved, proved) and which claims are false."""
    case = fit(estimator, table)
    if case is None:
        return "refused", []
    if not case.model.certificate_.ok:
        return "unproved", []
    return "proved", false_claims(case)
