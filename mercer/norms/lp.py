"""Norms by powers: Manhattan, Euclidean, maximum and all between, and what is none below p = 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from mercer._floats import TINY
from mercer.norms.base import Norm, plain


@dataclass(frozen=True)
class Lp(Norm):
    """The norm ‖x‖_p = (Σ |xᵢ|^p)^(1/p).

    p = 1 is the Manhattan norm, 2 the Euclidean one, ``inf`` the largest |xᵢ|. With p < 1 the
    triangle inequality fails; p = 0 stands for the number of entries that are not 0, which fails
    ‖ax‖ = |a|‖x‖. These two have lengths and balls but are no norms. The dual norm is that of q
    with 1/p + 1/q = 1.

    Parameters
    ----------
    p : float
        The power, from 0 to infinity.

    Examples
    --------
    >>> from mercer.norms import Lp
    >>> [Lp(p).value([3.0, 4.0]) for p in (1, 2, float("inf"))]
    [7.0, 5.0, 4.0]
    >>> Lp(1).steepest([1.0, -3.0])
    array([0., 3.])
    """

    p: float

    def __post_init__(self) -> None:
        if not isinstance(self.p, (int, float, np.number)) or not self.p >= 0:
            raise ValueError(f"p must be a number from 0 to inf; got {self.p!r}")
        object.__setattr__(self, "p", float(self.p))

    @property
    def is_norm(self) -> bool:  # type: ignore[override]
        """Whether p ≥ 1."""
        return self.p >= 1.0

    def value(self, x: Any) -> Any:
        """Return ‖x‖ₚ of a vector, or of each row; nothing overflows on the way."""
        size = np.abs(self._vectors(x))
        if self.p == 0.0:
            return plain(np.count_nonzero(size, axis=-1).astype(np.float64))
        largest = size.max(axis=-1, initial=0.0)
        if np.isinf(self.p):
            return plain(largest)
        unit = np.maximum(largest, TINY)
        with np.errstate(over="ignore", under="ignore"):  # as p falls to 0 lengths grow without end
            total = ((size / unit[..., None]) ** self.p).sum(axis=-1)
            return plain(largest * total ** (1.0 / self.p))

    def dual(self) -> Lp:
        """Return the norm of q with 1/p + 1/q = 1."""
        self._require_norm("a dual norm")
        if self.p == 1.0:
            return Linf
        return L1 if np.isinf(self.p) else Lp(self.p / (self.p - 1.0))

    def distances(self, X: Any, Y: Any) -> np.ndarray:
        """Return ‖x − y‖ₚ for all rows of X and Y, shape (n, m)."""
        name = {1.0: "cityblock", 2.0: "euclidean", np.inf: "chebyshev"}.get(self.p)
        if name is None:
            return super().distances(X, Y)
        return cdist(*(np.atleast_2d(self._vectors(rows)) for rows in (X, Y)), name)

    def ball(self, n_points: int = 360) -> np.ndarray:
        """Return points around the boundary of the unit ball in the plane, the first one twice."""
        if self.p == 0.0:
            raise ValueError("p must be > 0 to draw a ball: for p = 0 it is the axes")
        return super().ball(n_points)

    def _extreme(self, g: np.ndarray) -> np.ndarray:
        if self.p == 1.0:
            u = np.zeros_like(g)
            i = int(np.argmax(np.abs(g)))
            u[i] = np.sign(g[i])
            return u
        # |g|^(q − 1) with q − 1 = 1/(p − 1)
        return np.sign(g) * np.abs(g) ** (1.0 / (self.p - 1.0))


L0, L1, L2, Linf = Lp(0.0), Lp(1.0), Lp(2.0), Lp(float("inf"))

NAMED_NORMS = {
    "l0": L0,
    **dict.fromkeys(("l1", "manhattan", "cityblock"), L1),
    **dict.fromkeys(("l2", "euclidean"), L2),
    **dict.fromkeys(("linf", "chebyshev"), Linf),
}

_OF_SPARSE_ROWS = (1, 2, L1, L2, *(name for name in NAMED_NORMS if NAMED_NORMS[name] in (L1, L2)))


def takes_sparse_rows(metric: Any) -> bool:
    """Whether a metric is a norm in which sparse rows are searched as they are."""
    return isinstance(metric, (str, float, int, Norm)) and metric in _OF_SPARSE_ROWS


def as_norm(norm: Any) -> Norm:
    """Return a norm from a Norm, a power p, or one of the names "l1", "l2", "linf" (and "l0").

    They have their other names, too: "manhattan" and "cityblock", "euclidean", "chebyshev".

    Examples
    --------
    >>> from mercer.norms import as_norm
    >>> as_norm("linf").value([1.0, -3.0])
    3.0
    """
    if isinstance(norm, Norm):
        return norm
    if isinstance(norm, str) and norm.lower() in NAMED_NORMS:
        return NAMED_NORMS[norm.lower()]
    if isinstance(norm, (int, float)) and not isinstance(norm, bool):
        return Lp(norm)
    raise ValueError(
        f"norm must be a Norm, a power p or one of {sorted(NAMED_NORMS)}; got {norm!r}"
    )
