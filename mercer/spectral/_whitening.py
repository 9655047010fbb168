"""Whitening: rows turned into uncorrelated signals of variance one, as many as the rank allows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._array import largest_size
from mercer._floats import EPS
from mercer._scratch import scratch
from mercer.solvers import fix_signs
from mercer.spectral._covariance import principal_axes


class Whitening(NamedTuple):
    """The signals z = unmixing (x − mean), with x − mean = mixing z on the space that is kept."""

    mean: np.ndarray  # (d,)
    unmixing: np.ndarray  # (k, d)
    mixing: np.ndarray  # (d, k)
    signals: np.ndarray  # (k, n)


def whiten(X: Any, n_components: int | None) -> Whitening:
    """Return the leading principal components of X with variance one (divisor n).

    No more than the rank of the centred rows are kept.
    """
    n, d = X.shape
    scale = largest_size(X) or 1.0  # squares neither overflow nor vanish
    rows = np.divide(X, scale, out=scratch((n, d), np.float64, brief=True), dtype=np.float64)
    mean = (np.ones(n) @ rows) / n
    rows -= mean
    found = principal_axes(rows)
    sizes, axes = (
        found.sizes[:n_components] / np.sqrt(n),
        fix_signs(found.vectors[:, :n_components]),
    )
    noise = 4.0 * EPS * (max(n, d) * sizes.max(initial=0.0) + float(np.linalg.norm(mean)))
    keep = sizes > noise
    sizes, axes = sizes[keep], axes[:, keep]
    unmixing = (axes / sizes).T
    signals = scratch((len(unmixing), n), np.float64, brief=True)
    np.matmul(unmixing, rows.T, out=signals)
    return Whitening(mean * scale, unmixing / scale, axes * (sizes * scale), signals)
