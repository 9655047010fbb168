"""Support vector classification."""

from __future__ import annotations

from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from mercer._docstrings import described
from mercer._estimator import check_weights
from mercer._sklearn import Interval, StrOptions
from mercer.kernels.sample import Sample
from mercer.machines._cells import CellTree, InCells, merged_proof, solve_cells
from mercer.machines._margin import merged
from mercer.machines._margin_span import SPAN, MarginInSpan
from mercer.machines._voting import VotingMachine
from mercer.margin import MarginProblem
from mercer.rows import Rows, as_rows
from mercer.solvers.span_margin import SpanMargin


@described(SPAN)
class SVC(MarginInSpan, InCells, VotingMachine):
    """Support vector classifier: min ½‖f‖² + C Σᵢ max(0, 1 − yᵢ(f(xᵢ) + b)).

    Exact for every kernel, several classes from one shared Gram matrix, and a duality gap on the
    fitted model.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    C : float, default=1.0
        Bound of the coefficients, C > 0; ``inf`` is the hard margin.
    lam : float or None, default=None
        λ > 0 of the form (1/n) Σ loss + λ‖f‖²; sets C = 1/(2nλ) in place of ``C``.
    tol : float, default=1e-3
        The fit is done when the relative duality gap and the violation of the KKT conditions by
        the worst pair of points (LIBSVM's rule) are both at most ``tol``.
    class_weight : dict, "balanced" or None, default=None
        Factors of C for each class.
    probability : bool, default=False
        Whether to calibrate ``predict_proba`` by 5-fold cross-validation on the same Gram matrix
        (of many rows only as many folds as give 2,000 held-out values). The likeliest class is
        always the predicted one.
    multiclass : {"ovo", "ovr"}, default="ovo"
        One problem for each pair of classes, or for each class against the rest.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Of several classes: a column for each class or for each pair.
    break_ties : bool, default=False
        Whether `predict` takes the largest ``decision_function`` of several classes, which tells
        apart classes with equally many votes, in place of the first of these.
    [landmarks]
    route : {"auto", "exact", "cells", "landmarks"}, default="auto"
        "cells": one exact machine for each cell of the space, which is cut in halves along the
        direction of the largest variance until cells are small; the kernel is then
        k(x, y)·[same cell], and the proof that of the whole problem with it. "auto" is "exact"
        without landmarks, but for `Rows` of more than 50,000 rows: these go into cells, or have
        landmarks if they do not fit into memory.
    cell_size : int, default=2000
        The most rows of a cell.
    max_iter : int, default=-1
        Most steps of each problem; −1 is no limit.
    time_limit : float or None, default=None
        Seconds for the whole fit; then the best so far is kept, with a warning.
    [drawn]
    memory : int, str or None, default=None
        Byte budget; None is half of the free memory.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in scikit-learn. By landmarks these are the support vectors, all counted with the first
        class, and ``dual_coef_`` has a row for each problem.
    certificate_ : Certificate
        ``primal, dual, gap, relative_gap, kkt``, numbers of free and bounded vectors; for several
        classes sums and worst values, and each problem's own in ``problems``. By landmarks
        ``restriction`` says how well it is known what they cost.
    route_ : str
        The route of the fit.
    cell_directions_, cell_thresholds_, cell_intercepts_, support_cells_ : array or None
        By cells: the cuts, in the order of a heap (v·x at most the threshold goes left), the
        offsets of each cell, and the cell of each support vector. ``intercept_`` is then 0.
    margin_ : float or array
        1/‖f‖, the distance of the margin from the hyperplane, of each problem.
    n_iter_ : array
        Steps of each problem.

    Examples
    --------
    >>> from mercer import SVC
    >>> model = SVC("linear", C=10.0).fit([[-1.0], [-0.5], [0.5], [1.0]], [0, 0, 1, 1])
    >>> float(model.margin_.round(3)), model.certificate_.ok
    (0.5, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **VotingMachine._parameter_constraints,
        **MarginInSpan._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="right")],
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "route": [StrOptions({"auto", "exact", "cells", "landmarks"})],
        "cell_size": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        C: float = 1.0,
        lam: float | None = None,
        tol: float = 1e-3,
        class_weight: Any = None,
        probability: bool = False,
        multiclass: str = "ovo",
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        landmarks: Any = None,
        route: str = "auto",
        cell_size: int = 2000,
        max_iter: int = -1,
        time_limit: float | None = None,
        random_state: Any = None,
        memory: Any = None,
        checkpoint: str | PathLike[str] | None = None,
    ):
        self.kernel = kernel
        self.C = C
        self.lam = lam
        self.tol = tol
        self.class_weight = class_weight
        self.probability = probability
        self.multiclass = multiclass
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.landmarks = landmarks
        self.route = route
        self.cell_size = cell_size
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.memory = memory
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SVC:
        """Fit the machine to rows X and labels y.

        `Rows` and Dask collections come in blocks where there are landmarks, else into memory.
        """
        self._validate_params()
        X = as_rows(X)
        route = self._choose_route(X, has_cells=True)
        self._forget_cells()
        if route == "landmarks":
            self._fit_in_span(self._blocks_of(X, y), sample_weight)
            return self
        if isinstance(X, Rows):
            X, y = X.with_target(y).in_memory(None, self)
        if route == "cells":
            self._fit_in_cells(X, y, sample_weight)
        else:
            super().fit(X, y, sample_weight)
        self.route_ = route
        return self

    def _fit_in_span(self, rows: Rows, sample_weight: Any) -> None:
        """Fit functions in the span of landmarks, one for each problem."""
        self._require("landmarks", probability=False)
        y, weight = rows.targets(), check_weights(sample_weight, rows.n)
        codes = self._codes_of(y)
        bounds = self._bounds(y, codes, weight)
        order = np.argsort(codes, kind="stable")
        place = np.empty(rows.n, np.intp)
        place[order] = np.arange(rows.n)
        edges = np.cumsum([0, *np.bincount(codes)])
        margins = [self._span_margin(*pair, edges, bounds[order]) for pair in self._problems()]
        solutions = self._solve_in_span(rows, weight, place, margins)
        k = len(self.classes_)
        self.n_support_ = np.array([len(self.support_), *[0] * (k - 1)], dtype=np.int32)
        self._keep_margins(solutions)
        self._accept(merged(solutions))

    def _span_margin(
        self, plus: int, minus: int, edges: np.ndarray, bounds: np.ndarray
    ) -> SpanMargin:
        """Return a problem of rows that are sorted by class; −1 stands for all other classes."""
        classes = range(len(edges) - 1) if minus < 0 else (plus, minus)
        groups = [slice(int(edges[c]), int(edges[c + 1])) for c in classes]
        sign = np.concatenate(
            [
                np.full(group.stop - group.start, 1.0 if c == plus else -1.0)
                for c, group in zip(classes, groups, strict=True)
            ]
        )
        C = np.concatenate([bounds[group] for group in groups])
        problem = MarginProblem.classify(sign, C)
        return SpanMargin(groups, problem, self._name(plus, minus))

    def _fit_in_cells(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit one machine for each cell."""
        self._require("cells", probability=False, multiclass="ovo")
        limits = self._limits()
        sample, y, weight = self._fit_rows(X, y, sample_weight)
        if not isinstance(sample.data, np.ndarray) or self._pairwise:
            raise TypeError(
                "route='cells' takes dense tables of numbers; sparse input, objects and given "
                "matrices are not supported: use route='exact'"
            )
        bounds = self._bounds(y, self._codes_of(y), weight)
        tree = CellTree.grown(sample.data[bounds > 0], self.cell_size)
        cells = solve_cells(self, sample.data, y, bounds, tree, limits)
        self._store_cells(cells, tree, sample)
        self._accept(merged_proof(cells, self.tol, len(sample)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.route != "cells"
        return tags

    def _require(self, route: str, **needed: Any) -> None:
        for name, asked in needed.items():
            if getattr(self, name) != asked:
                raise ValueError(
                    f"route={route!r} needs {name}={asked!r}; got {getattr(self, name)!r}"
                )
        if not np.isfinite(self.C):
            raise ValueError(f"route={route!r} needs a finite C; got {self.C!r}")

    @property
    def _is_compact(self) -> bool:
        return self._by_pairs and self.route_ != "landmarks"

    @property
    def _n_coef_rows(self) -> int:
        return len(self.classes_) - 1 if self._by_pairs else 1

    def path(self, X: Any, y: Any, Cs: Any, sample_weight: Any = None) -> list[SVC]:
        """Return machines fitted for each C, each started from the one before, one Gram for all.

        They are exact: with landmarks or cells there is no such path.
        """
        if self.landmarks is not None or self.route not in ("auto", "exact"):
            raise ValueError(
                f"a path is one of exact machines; got landmarks={self.landmarks!r} and "
                f"route={self.route!r}: fit a machine for each C, or leave them out"
            )
        return self._path(X, y, Cs, sample_weight)

    def _path(self, X: Any, y: Any, Cs: Any, sample_weight: Any = None) -> list[SVC]:
        machines, starts, limits = [], None, self._limits()
        training, before = None, 1.0
        for C in Cs:
            machine = self._with_bound(float(C))
            if training is None:
                training = machine._prepare(X, y, sample_weight)
            else:
                machine._share(machines[0])
                training = training._replace(weight=training.weight * (float(C) / before))
            solutions = machine._solve(training, limits, starts, float(C) / before)
            machine._finish(training, solutions)
            if self.probability:
                machine.slopes_ = machine._calibrate(training, limits)
            machines.append(machine)
            starts, before = [s.state for s in solutions], float(C)
        return machines

    def _with_bound(self, C: float) -> SVC:
        return clone(self).set_params(C=C, lam=None)

    def _share(self, other: SVC) -> None:
        for name in ("kernel_", "classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))

    def _decisions(self, rows: Sample, only_signs: bool) -> np.ndarray:
        if self._in_cells():
            return self._decision_in_cells(rows, lambda own, some: own._decisions(some, only_signs))
        return super()._decisions(rows, only_signs)

    @property
    def coef_(self) -> np.ndarray:
        """Weights w of f(x) = w·x + b, for the linear kernel; a row for each problem."""
        self._refuse_cells("coef_")
        return super().coef_

    def _expansion(self) -> tuple[Sample, np.ndarray]:
        self._refuse_cells("gradient")
        return super()._expansion()

    def _refuse_cells(self, what: str) -> None:
        if self._in_cells():
            raise AttributeError(
                f"there is no {what} for route='cells': each cell has its own function"
            )
