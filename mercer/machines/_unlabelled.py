"""Targets of which some are missing, and the parameters of machines that have a graph."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from mercer._array import parse_memory
from mercer._clock import OutOfTimeError
from mercer._limits import Limits
from mercer._sklearn import Interval
from mercer.kernels import Kernel
from mercer.kernels.sample import Sample
from mercer.solvers.graphs import GraphPenalty, NearLists, check_graph, laplacian, weights_of_some
from mercer.solvers.laplacian import Manifold

GRAPH_IN_TIME = 5000  # rows that are joined where there is no time for all
LANDMARKS_IN_TIME = 300  # where there is no time for all pairs of rows

AMONG_LABELLED = " among the labelled rows"
SHARED = 1e-4  # how exactly a kernel is deformed that many candidates share


# ---------------------------------------------------------------- which rows have a target
def split_labels(y: Any, marker: Any) -> tuple[Any, Any]:
    """Return labels in which the unlabelled ones are filled by another, and which are known.

    None, NaN and the marker stand for no label. What is no list of labels is returned as it is: the
    checks of rows and targets say what is wrong with it.
    """
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if y is None or values.ndim == 0:
        return y, None
    missing = _is_missing(values) | _is_marker(values, marker)
    if missing.all() and missing.size:
        raise ValueError(
            f"y has no labels: all of its {len(missing)} values are {marker!r}, None or NaN, which "
            f"mark rows without one"
        )
    if not missing.any():
        return y, np.ones(len(values), bool)
    known = ~missing.reshape(len(values), -1).any(axis=1)
    filled = values.copy()
    filled[missing] = values[~missing][0]
    if filled.dtype == object:  # numbers or texts again, now that nothing is missing
        filled = np.array(filled.tolist())
    return filled, known


def _is_missing(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(values.shape, bool)
    flat = [_is_nothing(value) for value in values.ravel()]
    return np.array(flat, dtype=bool).reshape(values.shape)


def _is_nothing(value: Any) -> bool:
    is_nan = isinstance(value, (float, np.floating)) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def _is_marker(values: np.ndarray, marker: Any) -> np.ndarray:
    """Tell where a marker stands: a number among numbers, a text among texts."""
    if marker is None:
        return np.zeros(values.shape, bool)
    kinds = "US" if isinstance(marker, str) else "iuf"
    if values.dtype.kind not in kinds + "O":
        return np.zeros(values.shape, bool)
    if values.dtype.kind == "O":
        kind = str if isinstance(marker, str) else Real
        flat = [isinstance(v, kind) and bool(v == marker) for v in values.ravel()]
        return np.array(flat, dtype=bool).reshape(values.shape)
    return values == marker


def split_numbers(y: Any) -> tuple[Any, Any]:
    """Return targets in which rows of NaN are 0, and which rows have targets."""
    values = np.asarray(y)
    if y is None or values.dtype.kind not in "biufO" or values.ndim not in (1, 2):
        return y, None
    try:
        values = values.astype(np.float64)
    except (TypeError, ValueError):  # the checks of targets say it better
        return y, None
    missing = np.isnan(values)
    if missing.all() and missing.size:
        raise ValueError(f"y has no targets: all of its {len(values)} rows are NaN")
    if not missing.any():
        return y, np.ones(len(values), bool)
    rows = missing.reshape(len(values), -1)
    if (rows.any(axis=1) & ~rows.all(axis=1)).any():
        row = int(np.flatnonzero(rows.any(axis=1) & ~rows.all(axis=1))[0])
        raise ValueError(
            f"a row of y must have all of its targets, or NaN in all of them; row {row} has only "
            f"some: fit the targets one by one"
        )
    return np.where(missing, 0.0, values), ~rows.any(axis=1)


# ---------------------------------------------------------------- machines with a graph
def rows_in_time(n: int, most: int = GRAPH_IN_TIME, first: Any = ()) -> np.ndarray:
    """Return the numbers of some rows, those that come first among them if there are not more."""
    order = np.random.default_rng(0).permutation(n)
    order = np.concatenate([np.asarray(first, dtype=np.intp), order[~np.isin(order, first)]])
    return np.sort(order[:most])


class ManifoldInTime(NamedTuple):
    """A manifold, the numbers of its landmarks (None: all rows), and whether all was done."""

    rows: Manifold
    drawn: np.ndarray | None
    whole: bool


class WithGraph:
    """What machines share that see a graph of all rows beside the kernel."""

    graph_constraints: ClassVar[dict[str, Any]] = {
        "lam_graph": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "graph": ["array-like", "sparse matrix", None],
        "normalized": ["boolean"],
        "power": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    lam_graph: float
    n_neighbors: int
    graph: Any
    normalized: bool
    power: int
    landmarks: int | None
    random_state: Any
    memory: Any
    kernel_: Kernel
    graph_: sp.csr_array

    def _weights(self, sample: Sample) -> sp.csr_array:
        """Return the graph; without a penalty none is looked for."""
        n = len(sample)
        if self.graph is not None:
            return check_graph(self.graph, n)
        if self.lam_graph == 0 or n < 2:
            return sp.csr_array((n, n))
        k = neighbours_of(self.n_neighbors, n)
        return self._near(sample, k).weights()[0]

    def _near(self, sample: Sample, k: int) -> NearLists:
        lists = NearLists.exact(self.kernel_, sample, k, parse_memory(self.memory))
        return lists.by_angle(self.kernel_.diagonal_of(sample, np.dtype(np.float64)))

    def _weights_in_time(self, sample: Sample, limits: Limits) -> tuple[sp.csr_array, bool]:
        """Return the graph, and whether it has all rows: there may be no time for that."""
        try:
            with limits.for_matrix():
                return self._weights(sample), True
        except OutOfTimeError:
            some = rows_in_time(len(sample))
            lists = self._near(sample[some], min(self.n_neighbors, len(some) - 1))
            return weights_of_some(lists, some, len(sample))[0], False

    def _drawn(self, n: int) -> np.ndarray | None:
        """Return the numbers of the landmarks; None: all rows are."""
        if self.landmarks is None or self.landmarks >= n:
            return None
        random = check_random_state(self.random_state)
        return np.sort(random.permutation(n)[: self.landmarks])

    def _under(self, N: GraphPenalty, sample: Sample, drawn: np.ndarray | None) -> Manifold:
        points = None if drawn is None else sample[drawn]
        return Manifold(self.kernel_, sample, N, points, parse_memory(self.memory))

    def _manifold_in_time(
        self,
        sample: Sample,
        limits: Limits,
        ambient: float = 1.0,
        weight: np.ndarray | None = None,
    ) -> ManifoldInTime:
        """Return the rows with their penalty (λ_graph Lᵖ + diag w)/λ beside ‖f‖².

        In the span of some rows, if there is no time for all their pairs.
        """
        drawn = self._drawn(len(sample))
        self.graph_, whole = self._weights_in_time(sample, limits)
        N = self._penalty(self.lam_graph / ambient, weight)
        try:
            with limits.for_matrix():
                return ManifoldInTime(self._under(N, sample, drawn), drawn, whole)
        except OutOfTimeError:
            drawn = rows_in_time(len(sample), LANDMARKS_IN_TIME)
            return ManifoldInTime(self._under(N, sample, drawn), drawn, False)

    def _penalty(self, lam: float, weight: np.ndarray | None = None) -> GraphPenalty:
        L = laplacian(self.graph_, self.normalized)
        return GraphPenalty(L, lam, self.power, weight)

    def deformations(
        self, X: Any, labelled: np.ndarray, parts: list[float], limits: Limits
    ) -> Iterator[np.ndarray]:
        """Yield K̃ among the labelled rows for graphs of so many times the weight of ‖f‖².

        With K̃ for the kernel, and no graph, the machine sees labelled rows alone and is the same.
        """
        sample, _, _ = self._fit_rows(X)  # type: ignore[attr-defined]
        self.graph_ = self._weights(sample)
        whole = self._under(self._penalty(self.lam_graph), sample, self._drawn(len(sample)))
        for part in parts:
            yield whole.under(self._penalty(part)).deformed(labelled, goal=SHARED, limits=limits)


def neighbours_of(n_neighbors: int, n: int) -> int:
    """Return how many neighbours each of n rows has: all others, if there are not so many."""
    return max(1, min(n_neighbors, n - 1))
