"""Graphs of neighbours and their Laplacians: what is near is alike."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer.kernels import Kernel
from mercer.kernels.sample import Sample
from mercer.solvers.nearest import FeatureSearch

CHECKED = 200  # rows whose lists are searched exactly where most are enough
ASYMMETRY = 1e-8  # of the largest weight: more is no rounding


class NearLists(NamedTuple):
    """Squared distances and positions of the k nearest others of each row, (n, k) each."""

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

    def weights(self) -> tuple[sp.csr_array, float]:
        """Return W, and the unit m: w = exp(−d²/m).

        m is the median of d² over all edges, so that W does not depend on the scale of the rows.
        Edges go both ways. A row that is far from all others has weights of almost 0.
        """
        unit = median_unit(self.squares)
        n, k = self.positions.shape
        values = heat(self.squares, unit).ravel()
        W = sp.csr_array((values, self.positions.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
        W = sp.csr_array(W.maximum(W.T))
        W.eliminate_zeros()
        return W, unit


def median_unit(squares: np.ndarray) -> float:
    """Return the median of the squares that are not 0; 1 if all are."""
    positive = squares[squares > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def heat(squares: np.ndarray, unit: float) -> np.ndarray:
    """Return exp(−d²/unit)."""
    with np.errstate(under="ignore", over="ignore"):
        return np.exp(-squares / unit)


def without_self(ranks: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Drop from each row's list the row itself, or the last one if more are as near as itself."""
    own = index == np.arange(len(index))[:, None]
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
