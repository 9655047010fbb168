"""Which candidate of a search to take: the smoothest of those that the folds cannot tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

NOISE = 0.5  # standard errors of the best mean score within which candidates are as good


def smoothest(results: Mapping[str, Any]) -> int:
    """Return the row of ``cv_results_`` to take.

    Of the candidates within half a standard error of the best mean score the one with the smallest
    C or the largest λ; among equals the best. Where the surface is flat its far end is no better,
    and takes many times as long.
    """
    mean, spread = results["mean_test_score"], results["std_test_score"]
    n_folds = sum(key.startswith("split") and key.endswith("_test_score") for key in results)
    best = int(np.nanargmax(mean))
    good = np.flatnonzero(mean >= mean[best] - NOISE * spread[best] / n_folds**0.5)
    return int(min(good, key=lambda i: (_roughness(results["params"][i]), -mean[i])))


def _roughness(params: Mapping[str, Any]) -> float:
    """Return log(C / λ): how little a function is held back."""
    sizes = {name.split("__")[-1]: value for name, value in params.items()}
    return float(np.log(sizes.get("C", 1.0)) - np.log(sizes.get("lam", 1.0)))
