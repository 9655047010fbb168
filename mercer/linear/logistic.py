"""Logistic regression."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from mercer._estimator import LogisticAnswers, check_weights
from mercer._labels import class_codes, class_factors, one_or_all
from mercer._limits import Limits
from mercer._sklearn import Interval, StrOptions, _check_feature_names_in
from mercer._state import Attribute, Floats, Instance, Integers, Labels, Maybe, one_more, per_class
from mercer._threads import threads_for
from mercer.linear._base import checked_unit
from mercer.linear._inference import CoefficientTable
from mercer.linear._logistic import (
    BinaryLikelihood,
    Likelihood,
    LogisticDesign,
    Separation,
    SoftmaxLikelihood,
    find_separation,
    scaled,
)
from mercer.linear._logistic_hessian import HeldCurvature
from mercer.linear._logistic_l1 import solve_l1
from mercer.linear._logistic_lbfgs import descend_lbfgs
from mercer.linear._logistic_newton import SETTLED_ERROR, NewtonRun
from mercer.linear._logistic_parts import LogisticParts, LogisticStart
from mercer.optimize._in_parts import forget
from mercer.result import Certificate, Solution, Status

STILL_MOVING = 0.1  # change of a decision value by the last step that says: not at a minimum
ERROR_OPERATIONS = 4e8  # operations that standard errors may take
HELD_ENTRIES = 2**22  # of a table that a model keeps until it is asked for them
MANY_CLASSES = 20  # classes


class LogisticRegression(LogisticAnswers, LogisticParts):
    """Logistic regression: min over w and b of −Σᵢ sᵢ log p(yᵢ | xᵢ) + (λ/2)‖w‖².

    Two classes have p = 1 / (1 + exp(−w·x − b)) for ``classes_[1]``; several have a function for
    each class, p = softmax(Wx + b), and λ/2 times the sum of all squares. λ is scikit-learn's 1/C.
    Newton's method (iteratively reweighted least squares), by a factor where coefficients are few,
    else by conjugate gradients; or L-BFGS, whose end is proved by a step of Newton's method.

    With ``l1_ratio`` ρ > 0 the penalty is λρ‖w‖₁ + ½λ(1 − ρ)‖w‖²: many coefficients are exactly 0.
    Newton's method then works on a growing set of columns, and the proof is a duality gap.

    Without a penalty (λ = 0) there is no minimum if a linear function separates the classes: the
    coefficients would grow without end. That is found out, said, and the function is given.

    Parameters
    ----------
    lam : float, default=1.0
        λ ≥ 0, the weight of the penalty; the intercept is not penalised.
    l1_ratio : float, default=0.0
        ρ, 0 ≤ ρ ≤ 1: the share of ‖w‖₁ in the penalty. 0 is ‖w‖²/2 alone, 1 is ‖w‖₁ alone.
    fit_intercept : bool, default=True
        Whether to fit the offset b.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of each class.
    solver : {"auto", "newton", "lbfgs"}, default="auto"
        "auto" is Newton's method unless there are 20 classes or more on more than 150 dense
        columns, for which L-BFGS tends to be faster.
    tol : float, default=1e-6
        The error that is proved: √(what a Newton step would gain, relative to the value at w = 0),
        and the largest entry of the gradient, relative to the terms of its sum. Where coefficients
        are few the fit goes on to rounding. With ρ > 0: the duality gap, relative to that value.
    warm_start : bool, default=False
        Whether to begin with the coefficients of the fit before, but for ρ > 0; the answer is the
        same, sooner.
    max_iter : int, default=1000
        Most steps of all; −1 is no limit.
    time_limit : float or None, default=None
        Seconds; then, and on Ctrl-C, the best so far is kept, with a warning.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    coef_ : array of shape (1, d) or (n_classes, d)
        w.
    intercept_ : array of shape (1,) or (n_classes,)
        b; of several classes they add up to 0.
    n_iter_ : int
        Steps.
    solver_ : str
        The method that was used, "newton" or "lbfgs".
    standard_errors_, intercept_standard_errors_ : array
        Standard errors of ``coef_`` and ``intercept_`` from the inverse of the Hessian of the
        objective, computed when they are asked for. Not there with ρ > 0, nor for very many
        coefficients, for which they take longer than the fit.
    separating_direction_, separating_intercept_ : array or None
        w and b of a function that separates the classes, shaped as ``coef_`` and ``intercept_``:
        no label is behind another class, and some are ahead. None if there is none or λ > 0.
    curvature_, n_rows_seen_ : array, int
        What `partial_fit` keeps of the rows before.
    certificate_ : Certificate
        Newton's decrement, the norm of the gradient, the objective; ``separation`` where there is
        one. With ρ > 0: primal, dual, duality gap.

    Examples
    --------
    >>> from mercer import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "no", "yes"]
    >>> model = LogisticRegression(lam=0.1).fit(X, y)
    >>> model.predict([[3.5]]), model.certificate_.ok
    (array(['yes'], dtype='<U3'), True)
    >>> print(LogisticRegression(lam=0).fit(X, y).summary())
                     coef  std error        z        p
    x0               1.09     0.9749    1.119    0.263
    intercept      -2.804      2.563   -1.094    0.274
    """

    by_columns = True

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "classes_": Labels("classes"),
        "coef_": Floats(per_class, "columns"),
        "intercept_": Floats(per_class),
        "separating_direction_": Maybe(Floats(per_class, "columns")),
        "separating_intercept_": Maybe(Floats(per_class)),
        "solver_": Instance(str),
        "n_iter_": Integers(),
        "_errors": Maybe(Floats(one_more("columns"), per_class)),
    }

    accepts_sparse = True
    separating_direction_: np.ndarray | None
    separating_intercept_: np.ndarray | None
    _errors: np.ndarray | None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "solver": [StrOptions({"auto", "newton", "lbfgs"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "warm_start": ["boolean"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        lam: float = 1.0,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "auto",
        tol: float = 1e-6,
        warm_start: bool = False,
        max_iter: int = 1000,
        time_limit: float | None = None,
    ):
        self.lam = lam
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.time_limit = time_limit

    # ------------------------------------------------------------ fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LogisticRegression:
        """Fit the model to rows X (dense or sparse) and labels y."""
        self._accept(self._fit(X, y, sample_weight))
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any = None, **thresholds: float) -> Solution:
        """Fit and keep all but the proof; thresholds are those of `NewtonRun`."""
        forget(self)
        X, y = self._fit_table(X, y)
        limits = Limits.of(self.max_iter, self.time_limit)
        before = LogisticStart.of(self)
        codes, weight = self._codes(y, check_weights(sample_weight, X.shape[0]))
        largest = float(X.shape[0]) * (X.shape[1] * len(self.classes_)) ** 2
        with threads_for(largest):  # else each product decides for itself
            return self._minimise(X, codes, weight, limits, before, **thresholds)

    def _minimise(
        self,
        X: Any,
        codes: np.ndarray,
        weight: np.ndarray,
        limits: Limits,
        before: LogisticStart | None,
        **thresholds: float,
    ) -> Solution:
        used = np.flatnonzero(weight)
        if len(used) < len(weight):
            X, codes, weight = X[used], codes[used], weight[used]
        unit = checked_unit(float(weight.max()))  # 1, unless weights are huge or tiny
        lam = float(self.lam) / unit
        l1, ridge = lam * self.l1_ratio, lam * (1.0 - self.l1_ratio)
        design = LogisticDesign.of(X, weight / unit, ridge, self.fit_intercept, l1 > 0.0)
        if l1 > 0.0:
            return self._keep_sparse(design, codes, weight / unit, l1, unit, limits)
        run = NewtonRun(design, self._likelihood(codes, weight / unit), **thresholds)
        if before is not None:
            run.move(before.coordinates(design, self.classes_))
        return self._keep_fit(run, unit, *self._solved(run, codes, limits))

    def _codes(self, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the classes; return the number of each label's class, and all weights."""
        self.classes_, codes = class_codes(y)
        if self.class_weight is not None:
            weight = weight * class_factors(self.class_weight, self.classes_, codes, weight)[codes]
        found = np.flatnonzero(np.bincount(codes, weight) > 0)
        if len(found) < len(self.classes_):
            raise ValueError(
                f"each class of y must have a positive weight; got "
                f"{len(found)} class(es) with one: {self.classes_[found].tolist()}"
            )
        return codes, weight

    def _likelihood(self, codes: np.ndarray, weight: np.ndarray) -> Likelihood:
        if len(self.classes_) == 2:
            return BinaryLikelihood(codes, weight)
        return SoftmaxLikelihood(codes, weight, len(self.classes_))

    def _solved(
        self, run: NewtonRun, codes: np.ndarray, limits: Limits
    ) -> tuple[Status, Separation | None]:
        """Minimise; without a penalty, stop and say so where the classes are separated."""
        goal = min(self.tol, SETTLED_ERROR) if run.small else self.tol
        self.solver_ = self._given_solver(run)
        if self.solver_ == "lbfgs":
            descend_lbfgs(run, self.tol, limits)  # Newton's step that follows proves it, or goes on
        if self.lam > 0:
            return self._to_the_end(run, goal, limits), None

        def separated(G: np.ndarray) -> bool:
            return bool(run.likelihood.margins(G).min() > 0.0)

        status = run.solve(self.tol, limits, separated)
        found = None
        if separated(run.state.G):
            found = Separation(run.state.theta, True)
        elif status in (Status.INTERRUPTED, Status.TIME_LIMIT):
            return status, None
        elif (
            run.reach > STILL_MOVING or not status.ok
        ):  # the last step still moved far: is there an end?
            table = scaled(run.design.A, run.design.scale[:, 0])
            found, stopped = find_separation(table, codes, run.likelihood.n_outputs, limits)
            status = stopped or status
        if found is not None:
            return Status.SEPARATED, found
        return self._to_the_end(run, goal, limits) if status.ok else status, None

    def _given_solver(self, run: NewtonRun) -> str:
        """Return the method, by measurements: only a dense guide for many classes is slow."""
        m, k = run.design.A.shape[1], run.likelihood.n_outputs
        many = (
            k >= MANY_CLASSES and m > run.cheap and not run.direct and not sp.issparse(run.design.A)
        )
        return ("lbfgs" if many else "newton") if self.solver == "auto" else self.solver

    def _to_the_end(self, run: NewtonRun, goal: float, limits: Limits) -> Status:
        """Minimise to ``goal``; it is enough that the error is within ``tol``."""
        status = run.solve(goal, limits)
        return Status.OPTIMAL if run.error <= self.tol else status

    # ------------------------------------------------------------ what is kept
    def _keep_sparse(
        self,
        design: LogisticDesign,
        codes: np.ndarray,
        weight: np.ndarray,
        l1: float,
        unit: float,
        limits: Limits,
    ) -> Solution:
        """Minimise with λρ‖w‖₁, and keep what is found."""
        if self.solver == "lbfgs":
            raise ValueError("solver='lbfgs' needs l1_ratio=0: use solver='newton'")
        k = len(self.classes_)
        solution = solve_l1(design, codes, weight, k, l1, unit, tol=self.tol, limits=limits)
        self.coef_, self.intercept_ = self._in_units(design, solution.value)
        self.n_iter_, self.solver_ = solution.stats["steps"], "newton"
        self.separating_direction_ = self.separating_intercept_ = None
        self._forget_errors()
        return solution

    def _keep_fit(
        self, run: NewtonRun, unit: float, status: Status, found: Separation | None
    ) -> Solution:
        self.coef_, self.intercept_ = self._in_units(run.design, run.state.theta)
        self.n_iter_ = max(run.steps, 1)
        self.separating_direction_ = self.separating_intercept_ = None
        if found is not None:
            direction = self._in_units(run.design, found.theta)
            self.separating_direction_, self.separating_intercept_ = direction
        self._keep_curvature(run, unit, found is not None)
        certificate = self._prove(run, unit, found)
        if not certificate.ok and status.ok:
            status = Status.ROUNDING
        return Solution(self.coef_, status, certificate, self.intercept_)

    def _in_units(self, design: LogisticDesign, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        w, b = design.back(theta)
        if len(self.classes_) > 2:  # the same for all classes changes nothing
            b = b - b.mean()
            w = w - w.mean(axis=1, keepdims=True) if self.lam == 0 else w
        return w.T, b if self.fit_intercept else np.zeros_like(b)

    def _keep_curvature(self, run: NewtonRun, unit: float, separated: bool) -> None:
        """Keep what standard errors are computed from, or themselves if that is large, or None."""
        self._forget_errors()
        held = HeldCurvature(run.design, run.state.point, run.likelihood.n_outputs, unit)
        if not separated and held.operations <= ERROR_OPERATIONS:
            self._held = held
            if run.design.A.size > HELD_ENTRIES:
                self._settle_errors()

    def _prove(self, run: NewtonRun, unit: float, found: Separation | None) -> Certificate:
        """Prove the stationarity of the returned point, or that there is none."""
        state, relative = run.state, run.relative_gradient()
        parts = {
            "objective": state.value * unit,
            "newton_decrement": run.error * (run.null * unit) ** 0.5,
            "relative_decrement": run.error,
            "gradient_norm": relative,
            "steps": run.steps,
        }
        value = max(run.error, relative)
        about = f"stationary point of the likelihood of {len(self.classes_)} classes"
        if found is not None:
            value, about = np.inf, "the classes are separated: the likelihood has no maximum"
            margins = run.likelihood.margins(run.design.values(found.theta))
            parts |= {"separation": found.kind, "least_margin": float(margins.min())}
        return Certificate("error and relative gradient", value, self.tol, about, parts)

    # ------------------------------------------------------------ inference
    @property
    def standard_errors_(self) -> np.ndarray:
        """Standard errors of the coefficients, shaped as ``coef_``."""
        return self._known_errors()[:-1].T

    @property
    def intercept_standard_errors_(self) -> np.ndarray:
        """Standard errors of the intercepts, shaped as ``intercept_``."""
        return self._known_errors()[-1]

    def _known_errors(self) -> np.ndarray:
        if not hasattr(self, "_errors"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        self._settle_errors()
        if self._errors is None:
            raise AttributeError(
                "there are no standard errors: the classes are separated, l1_ratio is above 0, or "
                "there are so many coefficients that they would take longer than the fit"
            )
        return self._errors

    def summary(self) -> CoefficientTable:
        """Return a table of coefficients, standard errors, z and p values; it prints itself."""
        check_is_fitted(self)
        names = [*_check_feature_names_in(self), *["intercept"] * self.fit_intercept]
        coef = np.column_stack([self.coef_, self.intercept_[:, None]])[:, : len(names)]
        errors = self._known_errors().T[:, : len(names)]
        if len(coef) > 1:
            names = [f"{label}: {name}" for label in self.classes_ for name in names]
        return CoefficientTable.of(list(names), coef.ravel(), errors.ravel())

    # ------------------------------------------------------------ answers
    def decision_function(self, X: Any) -> np.ndarray:
        """Return w·x + b: (m,), positive for ``classes_[1]``, or a column for each class."""
        return one_or_all(self._linear_values(X), self.classes_)
