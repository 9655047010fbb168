"""Graphs of neighbours and their Laplacians: what is near is alike."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from mercer._floats import TINY
from mercer.kernels import Kernel
from mercer.kernels.sample import Sample
from mercer.solvers.nearest import FeatureSearch

CHECKED = 200  # rows whose lists are searched exactly where most are enough
UNIT = 0.5  # of the median of t: bridges between crowds are longer than most edges
ROUNDED_NORMS = 1e-12  # how far squared norms may be apart that are one
ASYMMETRY = 1e-8  # of the largest weight: more is no rounding


class NearLists(NamedTuple):
    """Distances t and positions of the k nearest others of each row, (n, k) each.

    t is ‖φ(x) − φ(y)‖², or what `by_angle` makes of it.
    """

    squares: np.ndarray
    positions: np.ndarray
    found: float | None = None  # the share that is right, on some rows, where it was not all

    @classmethod
    def exact(cls, kernel: Kernel, rows: Sample, k: int, memory: Any = None) -> NearLists:
        """Search among all rows; the kernel is bound to them."""
        search = FeatureSearch(kernel, rows)
        ranks, index = without_self(*search.find(rows, k + 1, memory))
        return cls(search.squared_distances(ranks, rows), index)

    @classmethod
    def most(cls, kernel: Kernel, rows: Sample, k: int, memory: Any = None) -> NearLists:
        """Find most of them, and which part on some rows."""
        search = FeatureSearch(kernel, rows)
        ranks, index = search.find_most(k, memory)
        some = np.random.default_rng(0).choice(len(rows), min(CHECKED, len(rows)), replace=False)
        found = search.share_found(ranks, some)
        return cls(search.squared_distances(ranks, rows), index, found)

    def by_angle(self, squared_norms: np.ndarray) -> NearLists:
        """Return lists with t = −log cos of the angle between φ(x) and φ(y), if all norms are one.

        No two points on a sphere are far apart: with a Gaussian kernel ‖φ(x) − φ(y)‖² ends at 2.
        t has no end, and is γ‖x − y‖² there.
        """
        largest = float(squared_norms.max(initial=0.0))
        if not largest - squared_norms.min() <= ROUNDED_NORMS * largest:
            return self
        with np.errstate(divide="ignore"):
            angles = -np.log1p(-np.minimum(self.squares / (2.0 * largest), 1.0))
        return self._replace(squares=angles)

    def weights(self) -> tuple[sp.csr_array, np.ndarray]:
        """Return W, and a unit m of each row: w = exp(−t/m), m the smaller one of both rows.

        m is half the median of t among rows that reach each other through neighbours on both sides,
        so that W does not depend on the scale of the rows, nor on rows elsewhere. Edges go both
        ways. A row that is far from all others is in nobody's list; measured by the unit of those
        in its own, its weights are 0.
        """
        units = self._units()
        least = np.minimum(units[:, None], units[self.positions])
        W = self._graph(heat(self.squares, least).ravel())
        W = sp.csr_array(W.maximum(W.T))
        W.eliminate_zeros()
        return W, np.where(np.isfinite(units), units, 1.0)

    def _graph(self, values: np.ndarray) -> sp.csr_array:
        n, k = self.positions.shape
        starts = np.arange(0, n * k + 1, k)
        return sp.csr_array((values, self.positions.ravel(), starts), shape=(n, n))

    def _units(self) -> np.ndarray:
        """Return the unit of each row; inf where all that is near is equal, or has no digits."""
        n, k = self.positions.shape
        lists = self._graph(np.ones(n * k, dtype=np.int8))
        count, part = connected_components(lists.minimum(lists.T), directed=False)
        apart = (self.squares > 0) & np.isfinite(self.squares)
        inside = (part[self.positions] == part[:, None]) & apart
        units = _medians(self.squares[inside], np.repeat(part, inside.sum(axis=1)), count)[part]
        alone = np.isinf(units)  # nobody near on both sides: by its own list
        own = apart & alone[:, None]
        units[alone] = _medians(self.squares[own], np.nonzero(own)[0], n)[alone]
        return np.where(UNIT * units > TINY, UNIT * units, np.inf)


def _medians(values: np.ndarray, part: np.ndarray, count: int) -> np.ndarray:
    """Return the median of the values of each part; inf for parts that have none."""
    order = np.lexsort((values, part))
    values, sizes = values[order], np.bincount(part, minlength=count)
    ends, some = np.cumsum(sizes), sizes > 0
    starts = (ends - sizes)[some]
    low, high = starts + (sizes[some] - 1) // 2, starts + sizes[some] // 2
    out = np.full(count, np.inf)
    out[some] = (values[low] + values[high]) / 2.0
    return out


def heat(squares: np.ndarray, unit: Any) -> np.ndarray:
    """Return exp(−t/unit); 0 for a t of inf, in any unit."""
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        return np.where(np.isinf(squares), 0.0, np.exp(-squares / unit))


def weights_of_some(lists: NearLists, some: np.ndarray, n: int) -> tuple[sp.csr_array, np.ndarray]:
    """Return `weights` for n rows, of which the lists of some say who is near among these."""
    W, known = lists.weights()
    edges, units = W.tocoo(), np.full(n, np.median(known))  # of the others, a guess
    units[some] = known
    ends = some[edges.coords[0]], some[edges.coords[1]]
    return sp.csr_array((edges.data, ends), shape=(n, n)), units


def without_self(
    ranks: np.ndarray, index: np.ndarray, first: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Drop from each row's list the row itself, or the last one if more are as near as itself.

    ``first`` is the number of the first row.
    """
    own = index == np.arange(first, first + len(index))[:, None]
    own[~own.any(axis=1), -1] = True
    kept = (len(index), index.shape[1] - 1)
    return ranks[~own].reshape(kept), index[~own].reshape(kept)


def check_graph(graph: Any, n: int) -> sp.csr_array:
    """Return a graph that was given: n × n weights ≥ 0, symmetric, loops left out."""
    if not sp.issparse(graph) and np.ndim(graph) != 2:
        raise ValueError(f"graph must be a matrix of weights, sparse or dense; got {graph!r}")
    W = sp.csr_array(graph, dtype=np.float64, copy=True)
    if W.shape != (n, n):
        raise ValueError(
            f"graph must have a row and a column for each of the {n} rows of X; got shape {W.shape}"
        )
    if not np.isfinite(W.data).all() or W.data.min(initial=0.0) < 0:
        least = W.data.min(initial=0.0)
        raise ValueError(f"graph must have finite weights ≥ 0; the least is {least:.4g}")
    W.sum_duplicates()
    apart = abs(W - W.T).max() if W.nnz else 0.0
    if apart > ASYMMETRY * W.max():
        raise ValueError(
            f"graph must be symmetric; weights of the two directions differ by up to {apart:.4g}: "
            f"use graph.maximum(graph.T)"
        )
    W = sp.csr_array((W + W.T) / 2 - sp.diags_array(W.diagonal()))
    W.eliminate_zeros()
    return W


def normalized_weights(W: sp.csr_array) -> sp.csr_array:
    """Return D^(−½) W D^(−½); rows without edges stay empty."""
    degrees = np.asarray(W.sum(axis=1)).ravel()
    root = np.zeros(len(degrees))
    np.divide(1.0, np.sqrt(degrees), out=root, where=degrees > 0)
    # row by row and in place: the product of three matrices would make copies
    S = W.copy()
    S.data *= np.repeat(root, np.diff(S.indptr)) * root[S.indices]
    return S


def laplacian(W: sp.csr_array, normalized: bool) -> sp.csr_array:
    """Return L = D − W, or I − D^(−½) W D^(−½); rows without edges are 0 in both."""
    if not normalized:
        return sp.csr_array(sp.diags_array(np.asarray(W.sum(axis=1)).ravel()) - W)
    touched = np.diff(W.indptr) > 0
    return sp.csr_array(sp.diags_array(touched.astype(np.float64)) - normalized_weights(W))


class GraphPenalty:
    """N = λ Lᵖ + diag(w): a positive semidefinite matrix that is known by its products.

    Parameters
    ----------
    L : sparse array of shape (n, n)
        A Laplacian.
    lam : float
        λ ≥ 0.
    power : int
        p ≥ 1.
    weight : array of shape (n,), default=None
        w ≥ 0; None: 0.
    """

    def __init__(
        self, L: sp.csr_array, lam: float, power: int = 1, weight: np.ndarray | None = None
    ):
        self.L, self.lam, self.power, self.weight = L, lam, power, weight

    @property
    def acts(self) -> bool:
        """Whether it is not 0."""
        return self.lam > 0 or self.weight is not None

    def graph(self, V: np.ndarray) -> np.ndarray:
        """Return λ Lᵖ V."""
        if self.lam == 0:
            return np.zeros_like(V)
        out = V
        for _ in range(self.power):
            out = self.L @ out
        return self.lam * out

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        if self.weight is None:
            return self.graph(V)
        own = self.weight.reshape(-1, *[1] * (V.ndim - 1)) * V
        return own if self.lam == 0 else own + self.graph(V)
