"""Support vector classification."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from mercer._sklearn import Interval, StrOptions
from mercer.kernels.sample import Sample
from mercer.machines._cells import CellTree, InCells, merged_proof, solve_cells
from mercer.machines._voting import VotingMachine
from mercer.rows import Rows, as_rows

EXACT_ROWS = 50_000


def goes_in_cells(route: str, X: Any, exact_rows: int = EXACT_ROWS) -> bool:
    """Tell whether rows are cut into cells: if asked for, and "auto" for more `Rows` than these."""
    many = isinstance(X, Rows) and X.n > exact_rows
    return route == "cells" or (route == "auto" and many)


class SVC(InCells, VotingMachine):
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
    route : {"auto", "exact", "cells"}, default="auto"
        "cells": one exact machine for each cell of the space, which is cut in halves along the
        direction of the largest variance until cells are small; the kernel is then
        k(x, y)·[same cell], and the proof that of the whole problem with it. "auto" is "exact" but
        for `Rows` of more than 50,000 rows.
    cell_size : int, default=2000
        The most rows of a cell.
    max_iter : int, default=-1
        Most steps of each problem; −1 is no limit.
    time_limit : float or None, default=None
        Seconds for the whole fit; then the best so far is kept, with a warning.
    memory : int, str or None, default=None
        Byte budget; None is half of the free memory.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in scikit-learn.
    certificate_ : Certificate
        ``primal, dual, gap, relative_gap, kkt``, numbers of free and bounded vectors; for several
        classes sums and worst values, and each problem's own in ``problems``.
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
        "C": [Interval(Real, 0, None, closed="right")],
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "route": [StrOptions({"auto", "exact", "cells"})],
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
        route: str = "auto",
        cell_size: int = 2000,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: Any = None,
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
        self.route = route
        self.cell_size = cell_size
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SVC:
        """Fit the machine to rows X and labels y; `Rows` and Dask collections come into memory."""
        X = as_rows(X)
        in_cells = goes_in_cells(self.route, X)
        if isinstance(X, Rows):
            X, y = (X if y is None else X.with_target(np.asarray(y))).in_memory(None, self)
        if in_cells:
            self._fit_in_cells(X, y, sample_weight)
        else:
            self._forget_cells()
            super().fit(X, y, sample_weight)
        return self

    def _fit_in_cells(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit one machine for each cell."""
        self._validate_params()
        self._check_cells()
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

    def _check_cells(self) -> None:
        for name, asked in {"probability": False, "multiclass": "ovo"}.items():
            if getattr(self, name) != asked:
                raise ValueError(
                    f"route='cells' needs {name}={asked!r}; got {getattr(self, name)!r}"
                )
        if not np.isfinite(self.C):
            raise ValueError(f"route='cells' needs a finite C; got {self.C!r}")

    @property
    def _n_coef_rows(self) -> int:
        return len(self.classes_) - 1 if self._by_pairs else 1

    def path(self, X: Any, y: Any, Cs: Any, sample_weight: Any = None) -> list[SVC]:
        """Return machines fitted for each C, each started from the one before, one Gram for all."""
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
            raise AttributeError(f"there is no {what} by cells: each has a function of its own")
