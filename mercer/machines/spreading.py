"""Labels spread along a graph of neighbours."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer._array import parse_memory, ranges
from mercer._clock import OutOfTimeError
from mercer._estimator import FLOATS, ProvedEstimator, validated
from mercer._labels import class_codes
from mercer._limits import Limits, of_some_rows
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, FittedRows, Floats, Integers, Labels, Sparse, one_more
from mercer.kernels import Linear
from mercer.kernels.sample import Sample
from mercer.machines._unlabelled import AMONG_LABELLED, neighbours_of, rows_in_time, split_labels
from mercer.result import Solution
from mercer.solvers.graphs import NearLists, check_graph, heat, weights_of_some
from mercer.solvers.nearest import FeatureSearch
from mercer.solvers.spreading import propagate_labels, spread_labels

TABLE: dict[str, Any] = {"accept_sparse": "csr", "dtype": FLOATS, "order": "C"}
EXACT_ROWS = 100_000  # up to which all rows are compared
BLOCK_VALUES = 2**20  # neighbours of so many new rows at once


class GraphSpreading(ClassifierMixin, ProvedEstimator):
    """Classification of all rows by labels that spread along a sparse graph of neighbours.

    F = αSF + (1 − α)Y with S = D^(−½)WD^(−½): a row takes the part α from its neighbours and the
    rest from its own label, if it has one (label spreading). With ``clamp=True`` labelled rows keep
    their labels, and all others are the weighted mean of their neighbours (label propagation).

    The equation is solved by conjugate gradients on products with the sparse graph: time and memory
    grow with the rows times their neighbours. Labels −1, None and NaN mark rows without one.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours of each row in the graph. Edges go both ways and have weights exp(−d²/m), m half
        the median of d² among rows that reach each other through neighbours on both sides.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        How they are found. An exact search compares all rows, unless columns are so few that a
        tree does not; an approximate one takes time n log n and misses some. The certificate says
        what part of them was found, counted on 200 rows. "auto" is exact up to 100,000 rows and
        where a tree is fast or X is sparse.
    graph : sparse array of shape (n, n) or None, default=None
        A graph of your own in place of that: symmetric weights ≥ 0. New rows still go by their
        nearest rows of X.
    alpha : float, default=0.9
        α, 0 ≤ α < 1.
    clamp : bool, default=False
        Whether labelled rows keep their labels; α then plays no part.
    unlabelled : object, default=-1
        The label that marks rows without one, besides None and NaN; None: no other.
    tol : float, default=1e-10
        The relative residual of the equation that is proved. F falls with every step away from the
        labels, so that many digits are needed far off.
    max_iter : int, default=-1
        Most steps; −1 is no limit.
    time_limit : float or None, default=None
        Seconds for the equation; then the best so far is kept, with a warning.
    memory : int, str or None, default=None
        Byte budget; None is half of the free memory.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    label_distributions_ : array of shape (n, n_classes)
        Shares of the classes in F; rows that no label reaches have the shares of the labels.
    transduction_ : array of shape (n,)
        The labels of all training rows.
    graph_ : sparse array of shape (n, n)
        The weights of the edges.
    unit_ : array of shape (n,)
        m of each row; an edge has the smaller one of its two.
    n_iter_ : int
        Steps.
    certificate_ : Certificate
        The relative residual; ``unreached`` counts rows that no label reaches, ``unsure`` those
        whose class could be another one within it. ``neighbors_found`` is the share of the
        neighbours that an approximate search has found: the proof is of the graph as it was made.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GraphSpreading
    >>> X = np.concatenate([np.linspace(0, 4, 40), np.linspace(6, 10, 40)])[:, None]
    >>> y = np.full(80, -1)
    >>> y[[0, 79]] = 0, 1
    >>> model = GraphSpreading(3).fit(X, y)
    >>> model.transduction_[[39, 40]], model.predict([[4.4]])
    (array([0, 1]), array([0]))
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "classes_": Labels("classes"),
        "X_fit_": FittedRows("rows"),
        "graph_": Sparse("rows", "rows"),
        "label_distributions_": Floats("rows", "classes"),
        "transduction_": Labels("rows"),
        "unit_": Floats("rows", finite=True),
        "n_iter_": Integers(),
        "n_neighbors_": Integers(least=1, below=one_more("rows")),
    }

    stores_rows = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "neighbors": [StrOptions({"auto", "exact", "approximate"})],
        "graph": ["array-like", "sparse matrix", None],
        "alpha": [Interval(Real, 0, 1, closed="left")],
        "clamp": ["boolean"],
        "unlabelled": "no_validation",
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        neighbors: str = "auto",
        graph: Any = None,
        alpha: float = 0.9,
        clamp: bool = False,
        unlabelled: Any = -1,
        tol: float = 1e-10,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: Any = None,
    ):
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.graph = graph
        self.alpha = alpha
        self.clamp = clamp
        self.unlabelled = unlabelled
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory

    # ------------------------------------------------------------ fit
    def fit(self, X: Any, y: Any) -> GraphSpreading:
        """Spread the labels y, of which some are missing, over the rows X."""
        self._validate_params()
        y, known = split_labels(y, self.unlabelled)
        X, y = validated(self, X, y, ensure_min_samples=2, **TABLE)
        sample = Sample(X)
        labelled = np.flatnonzero(known)
        self.classes_, codes = class_codes(np.asarray(y)[labelled], among=AMONG_LABELLED)
        limits = Limits.of(self.max_iter, self.time_limit)
        W, found, whole = self._weights_in_time(sample, labelled, limits)
        self.graph_ = W
        Y = np.zeros((len(sample), len(self.classes_)))
        Y[labelled, codes] = 1.0
        if self.clamp:
            solution = propagate_labels(W, Y, tol=self.tol, limits=limits)
        else:
            solution = spread_labels(W, Y, self.alpha, tol=self.tol, limits=limits)
        self.X_fit_ = sample.data
        self._keep(solution if whole else of_some_rows(solution), Y, found)
        return self

    def _weights_in_time(
        self, sample: Sample, labelled: np.ndarray, limits: Limits
    ) -> tuple[sp.csr_array, float | None, bool]:
        """Return the graph, the share of neighbours found, and whether it has all rows."""
        try:
            with limits.for_solving():
                return *self._weights(sample), True
        except OutOfTimeError:
            some, k = rows_in_time(len(sample), first=labelled), self.n_neighbors_
            lists = NearLists.exact(Linear(), sample[some], min(k, len(some) - 1))
            W, self.unit_ = weights_of_some(lists, some, len(sample))
            return W, None, False

    def _weights(self, sample: Sample) -> tuple[sp.csr_array, float | None]:
        """Return the graph, and the share of neighbours found; keep what weighs new rows."""
        self.n_neighbors_ = neighbours_of(self.n_neighbors, len(sample))
        if self.graph is not None:
            self.unit_ = np.ones(len(sample))
            return check_graph(self.graph, len(sample)), None
        budget = parse_memory(self.memory)
        lists = self._search(sample)(Linear(), sample, self.n_neighbors_, budget)
        W, self.unit_ = lists.weights()
        return W, lists.found

    def _search(self, sample: Sample) -> Callable[..., NearLists]:
        """Return the exact search, or for many rows the one that finds most."""
        able = FeatureSearch(Linear(), sample).finds_most
        if self.neighbors == "approximate" and not able:
            raise ValueError(
                "neighbors='approximate' is for dense tables of more than a few columns; use "
                "neighbors='exact'"
            )
        many = len(sample) > EXACT_ROWS and self.neighbors == "auto"
        roughly = self.neighbors == "approximate" or (many and able)
        return NearLists.most if roughly else NearLists.exact

    def _keep(self, solution: Solution, Y: np.ndarray, share: float | None) -> None:
        F = np.maximum(solution.value, 0.0)
        totals = F.sum(axis=1)
        unreached = totals <= 0
        F[unreached] = Y.sum(axis=0)
        self.label_distributions_ = F / F.sum(axis=1, keepdims=True)
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]
        self.n_iter_ = max(1, int(solution.stats["steps"]))
        found = solution.certificate
        unsure = self._unsure(solution, Y)
        proof = found.with_parts(unreached=int(unreached.sum()), **unsure)
        proof = proof if share is None else proof.with_parts(neighbors_found=share)
        self._accept(Solution(None, solution.status, proof))

    def _unsure(self, solution: Solution, Y: np.ndarray) -> dict[str, int]:
        """Count rows whose two best classes are nearer than F may be off: 1 − α bounds I − αS."""
        if self.clamp:
            return {}
        error = solution.certificate.value * float(np.linalg.norm(Y))
        best = np.sort(solution.value, axis=1)[:, -2:]
        close = (best[:, 1] - best[:, 0] <= 2.0 * error) & (best[:, 1] > 0)
        return {"unsure": int(close.sum())}

    # ------------------------------------------------------------ use
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the weighted mean of the nearest training rows' distributions, (m, n_classes)."""
        check_is_fitted(self)
        rows = Sample(validated(self, X, reset=False, **TABLE))
        search, k = FeatureSearch(Linear(), Sample(self.X_fit_)), self.n_neighbors_
        out = np.empty((len(rows), len(self.classes_)))
        for block in ranges(len(rows), max(1, BLOCK_VALUES // k)):
            ranks, index = search.find(rows[block], k, parse_memory(self.memory))
            squares = search.squared_distances(ranks, rows[block])
            # only how much farther the others are than the nearest: no row is too far to be told
            weights = heat(squares - squares[:, :1], self.unit_[index[:, :1]])
            weights /= weights.sum(axis=1, keepdims=True)
            out[block] = np.einsum("mk,mkc->mc", weights, self.label_distributions_[index])
        return out

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
