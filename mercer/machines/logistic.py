"""Kernel logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from mercer._estimator import LogisticAnswers
from mercer._in_span import InSpan, Prepared, class_totals
from mercer._labels import class_factors
from mercer._sklearn import Interval, StrOptions, _num_samples
from mercer._state import Attribute, Instance, Labels
from mercer.losses import Logistic, Risk, ScalarRisk, SoftmaxRisk
from mercer.machines._margin import (
    RiskEstimator,
    require_weights,
    used_rows,
    weighted_classes,
)
from mercer.result import Solution
from mercer.rows import Rows, as_rows
from mercer.rows import open as open_rows
from mercer.solvers.primal import solve_primal
from mercer.solvers.span_newton import solve_span_newton


@dataclass(frozen=True)
class RiskOfCodes:
    """Minus the log-likelihood of classes, which come as numbers in one column."""

    n_classes: int

    def __call__(self, Y: np.ndarray, weight: np.ndarray) -> Risk:
        codes = Y[:, 0]
        if self.n_classes == 2:
            return ScalarRisk(Logistic(), 2.0 * codes - 1.0, weight)
        return SoftmaxRisk(codes.astype(np.intp), weight, self.n_classes)


class KernelLogistic(InSpan, LogisticAnswers, RiskEstimator):
    """Kernel logistic regression: min over f and b of −Σᵢ wᵢ log p(yᵢ | xᵢ) + λ‖f‖².

    Two classes have p = 1 / (1 + exp(−f(x) − b)) for ``classes_[1]``; several have a function for
    each class, p = softmax(f(x) + b), and λ Σ_c ‖f_c‖². With the linear kernel this is
    scikit-learn's ``LogisticRegression(C=1 / (2 * lam))``.

    Parameters
    ----------
    kernel, lam, fit_intercept, tol, max_iter, time_limit, memory
        As for `KernelMachine`; the steps are Newton's.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of each class.
    landmarks : int, array or None, default=None
        Seek f in the span of so many rows, drawn at random, of rows with these numbers, or of
        these points, shape (m, d): Newton's method along falling λ, whose steps are passes over
        the rows, which need not be in memory. None: every row has a coefficient, unless `Rows` are
        too many for that.
    route : {"auto", "exact", "cg"}, default="auto"
        "exact" has no landmarks, "cg" has; "auto" is "exact" if none are asked for and the rows
        are an array, or few.
    random_state : int, RandomState instance or None, default=None
        Draws the landmarks.
    checkpoint : path or None, default=None
        A folder for the results of passes, from where a fit that was killed goes on.

    Attributes
    ----------
    classes_ : array
        The labels.
    dual_coef_, support_, support_vectors_, intercept_, certificate_
        As of `KernelMachine`; offsets of several classes add up to 0. With landmarks the support
        vectors are these (numbered as they were given, if they are no rows), and
        ``certificate_.restriction`` says how well it is known what they cost.
    route_ : str
        The route of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelLogistic
    >>> X = np.linspace(-2, 2, 40)[:, None]
    >>> model = KernelLogistic("rbf", lam=0.01).fit(X, np.abs(X[:, 0]) < 1)
    >>> model.predict([[0.0], [1.9]]), model.certificate_.ok
    (array([ True, False]), True)
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "classes_": Labels("classes"),
        "route_": Instance(str),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RiskEstimator._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "landmarks": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "route": [StrOptions({"auto", "exact", "cg"})],
        "random_state": ["random_state"],
        "checkpoint": [str, PathLike, None],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        lam: float = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        landmarks: Any = None,
        route: str = "auto",
        random_state: Any = None,
        tol: float = 1e-6,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: Any = None,
        checkpoint: str | PathLike[str] | None = None,
    ):
        self.kernel = kernel
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.landmarks = landmarks
        self.route = route
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelLogistic:
        """Fit the machine to rows X and labels y; `Rows` and Dask collections come in blocks."""
        self._validate_params()
        X = as_rows(X)
        m = self._landmarks_for(X)
        if m == 0:
            return self._fit_array(X, y, sample_weight)
        if isinstance(X, Rows):
            return self._fit_in_passes(self._with_target(X, y), sample_weight, m)
        sample, y, _ = self._fit_rows(X, y, sample_weight)
        names = getattr(self, "feature_names_in_", None)
        self._fit_in_passes(open_rows(sample.data, np.asarray(y)), sample_weight, m)
        if names is not None:
            self.feature_names_in_ = names
        return self

    def _landmarks_for(self, X: Any) -> int:
        """Return the number of landmarks; 0: every row has a coefficient."""
        in_memory = not isinstance(X, Rows)
        if in_memory and self.landmarks is None and self.route != "cg":
            return 0
        n, columns = (_num_samples(X), 1) if in_memory else X.shape
        return self._span_route(self.route, n, columns, in_memory=in_memory).landmarks

    def _fit_in_passes(self, rows: Rows, sample_weight: Any, m: int) -> KernelLogistic:
        limits, weight = self._limits(), self._weights_of_rows(sample_weight, rows.n)
        classes, totals = class_totals(rows, weight)
        self.classes_, single = classes, len(classes) == 2
        factors = class_factors(self.class_weight, classes, np.arange(len(classes)), totals)

        def codes_of(y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            codes = np.searchsorted(classes, y)
            return codes[:, None].astype(np.float64), weight * factors[codes]

        task = self._prepared(rows, m, weight, (codes_of, 1))
        solution = solve_span_newton(
            self._span_of(task.points),
            task.problem,
            RiskOfCodes(len(classes)),
            1 if single else len(classes),
            self.lam,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            limits=limits,
            passes=task.passes,
            anchors=task.problem.take(task.numbers) if len(task.numbers) else None,
            about=f"logistic regression of {len(classes)} classes",
        )
        self.route_ = "cg"
        self._keep_columns(rows)
        self._keep_landmarks(task, solution, single)
        return self

    def _keep_landmarks(self, task: Prepared, solution: Solution, single: bool) -> None:
        n = len(task.points)
        numbers = task.numbers if len(task.numbers) else np.arange(n)
        self.support_ = numbers.astype(np.int32)
        self.shape_fit_ = (max(task.problem.n, n), self.n_features_in_)
        self.support_vectors_ = task.points.data
        self.dual_coef_ = solution.value[:, 0] if single else solution.value
        b = solution.intercept  # the same for all classes changes no probability
        self.intercept_ = float(b[0]) if single else b - b.mean()
        self.n_iter_ = max(1, int(solution.stats["steps"]))
        self._accept(solution)

    def _fit_array(self, X: Any, y: Any, sample_weight: Any) -> KernelLogistic:
        limits = self._limits()
        sample, y, weight = self._fit_rows(X, y, sample_weight)
        self.route_ = "exact"
        self.classes_, codes, weight = weighted_classes(y, weight, self.class_weight)
        require_weights(self.classes_, codes, weight)
        rows, used = used_rows(sample, weight)
        solution = solve_primal(
            self._gram_in_time(rows, limits),
            self._risk(codes[used], weight[used]),
            self.lam,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            limits=limits,
            about=f"logistic regression of {len(self.classes_)} classes on {len(rows)} points",
        )
        self._keep(sample, used, solution)
        return self

    def _risk(self, codes: np.ndarray, weight: np.ndarray) -> Risk:
        return RiskOfCodes(len(self.classes_))(codes[:, None], weight)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x) + b: (m,), positive for ``classes_[1]``, or a column for each class."""
        return self._decision(X)
