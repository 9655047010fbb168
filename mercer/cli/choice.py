"""Which candidate of a search to take, and which to try on more rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

NOISE = 0.5  # standard errors of the best mean score within which candidates are as good
MOST = 10  # candidates of the second stage
GOES_ON = 0.5  # of the gain from more rows, beyond what was seen
PENALTIES = {"C", "lam"}
STEPS = {"gamma": 2.0}  # factors between neighbours of the last stage, 3 unless named here


def smoothest(results: Mapping[str, Any], scores: np.ndarray | None = None) -> int:
    """Return the row of ``cv_results_`` to take, by its mean scores or by others.

    Of the candidates within half a standard error of the best mean score the one with the smallest
    C or the largest λ; among equals the best. Where the surface is flat its far end is no better,
    and takes many times as long.
    """
    scores = results["mean_test_score"] if scores is None else scores
    return _smoothest(results, np.flatnonzero(np.isfinite(scores)), scores)


def on_more_rows(
    results: Mapping[str, Any], earlier: Mapping[str, Any], rows: tuple[int, int, int]
) -> np.ndarray:
    """Return the scores to expect on all rows.

    What a candidate gained from the earlier search to this one, over log n, goes on by half:
    kernels that are too narrow for few rows gain the most from more of them.

    Parameters
    ----------
    results, earlier : mapping
        ``cv_results_`` of both searches.
    rows : tuple of int
        The rows of the earlier search, of this one, and all of them.
    """
    before = {
        repr(p): m for p, m in zip(earlier["params"], earlier["mean_test_score"], strict=True)
    }
    mean = results["mean_test_score"]
    gain = mean - np.array([before.get(repr(p), np.nan) for p in results["params"]])
    if not np.isfinite(gain).any():
        return mean
    gain = np.where(np.isfinite(gain), gain, np.nanmedian(gain))
    first, second, last = np.log(rows)
    return mean + GOES_ON * gain * (last - second) / (second - first)


def promising(results: Mapping[str, Any], best: int) -> list[dict[str, Any]]:
    """Return what to try on more rows: the kernel of the best, and narrower ones, each with the
    penalty that suited it.

    The best width of a kernel shrinks as rows come in, so that few rows cannot choose it; the
    penalty of each width they can.
    """
    groups: defaultdict[Any, list[int]] = defaultdict(list)
    for i in np.flatnonzero(np.isfinite(results["mean_test_score"])):
        params = results["params"][i]
        if _gamma(params) < _gamma(results["params"][best]):
            continue
        rest = {k: v for k, v in params.items() if _short(k) not in PENALTIES}
        groups[_key(rest)].append(int(i))
    if len(groups) == 1:
        return around(results, best)
    mean = results["mean_test_score"]
    chosen = [_smoothest(results, group, mean) for group in groups.values()]
    chosen.sort(key=lambda i: -mean[i])
    return [dict(results["params"][i]) for i in chosen[:MOST]]


def around(results: Mapping[str, Any], best: int) -> list[dict[str, Any]]:
    """Return the best candidate and its neighbours along each scale."""
    point = dict(results["params"][best])
    scales = [(k, STEPS.get(_short(k), 3.0)) for k, v in point.items() if isinstance(v, float)]
    neighbors = [point | {k: point[k] * f} for k, step in scales for f in (1 / step, step)]
    return [point, *neighbors]


def _smoothest(
    results: Mapping[str, Any], rows: Sequence[int] | np.ndarray, mean: np.ndarray
) -> int:
    spread = results["std_test_score"]
    n_folds = sum(key.startswith("split") and key.endswith("_test_score") for key in results)
    best = max(rows, key=lambda i: mean[i])
    least = mean[best] - NOISE * spread[best] / n_folds**0.5
    good = [int(i) for i in rows if mean[i] >= least]
    return min(good, key=lambda i: (_roughness(results["params"][i]), -mean[i]))


def _roughness(params: Mapping[str, Any]) -> float:
    """Return log(C / λ): how little a function is held back."""
    sizes = {_short(name): value for name, value in params.items()}
    return float(np.log(sizes.get("C", 1.0)) - np.log(sizes.get("lam", 1.0)))


def _gamma(params: Mapping[str, Any]) -> float:
    return next((float(v) for name, v in params.items() if _short(name) == "gamma"), 0.0)


def _key(params: Mapping[str, Any]) -> str:
    return str(sorted((name, str(value)) for name, value in params.items()))


def _short(name: str) -> str:
    return name.split("__")[-1]
