"""Linear support vector classification for many rows and sparse text."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._docstrings import described
from mercer._estimator import FLOATS, WEIGHTED, ProvedEstimator, check_weights, validated
from mercer._labels import (
    class_codes,
    codes_among,
    known_classes,
    labels_of,
    not_balanced,
    one_or_all,
    part_factors,
)
from mercer._limits import Limits
from mercer._random import seed_of
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, Floats, Integers, Labels, per_class
from mercer.losses import ScalarRisk, SquaredHinge
from mercer.machines._margin import (
    against_rest,
    merged,
    weighted_classes,
)
from mercer.optimize._in_parts import KEPT_STATE, PARTS, forget, learn_parts
from mercer.optimize._l1_newton import L1Newton, L1Problem
from mercer.result import Solution
from mercer.solvers import solve_dual_coordinate


def _has_parabola(model: Any) -> bool:
    if model.penalty == "l1" or model.loss == "hinge":
        raise AttributeError(
            'partial_fit needs penalty="l2" and loss="squared_hinge", which are smooth; '
            f"got {model.penalty!r} and {model.loss!r}"
        )
    return not_balanced(model)


class LinearSVC(ClassifierMixin, ProvedEstimator):
    """Linear support vector classifier: min ½‖w‖² + C Σᵢ ℓ(yᵢ(w·xᵢ + b)), or ‖w‖₁ + C Σᵢ ℓ.

    Dual coordinate descent over the rows: no Gram matrix, so that a million sparse rows fit. As in
    LIBLINEAR the intercept is the weight of a constant column and is penalised with w; several
    classes are one against the rest. With ‖w‖₁ many coefficients are exactly 0: Newton's method on
    a growing set of columns.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss, C > 0.
    penalty : {"l2", "l1"}, default="l2"
        ½‖w‖² or ‖w‖₁.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        max(0, 1 − m)² or max(0, 1 − m); ``penalty="l1"`` takes the first.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    intercept_scaling : float, default=1.0
        Value of the constant column; larger values penalise the intercept less.
    tol : float, default=1e-3
        Relative duality gap at which the fit is done; of ``penalty="l1"`` relative to the
        objective of w = 0.
    class_weight : dict, "balanced" or None, default=None
        Factors of C for each class.
    random_state : int, RandomState instance or None, default=None
        Order of the rows in the sweeps.
    max_iter : int, default=10000
        Most sweeps (steps of Newton's method) of each problem; −1 is no limit.
    time_limit : float or None, default=None
        Seconds for the whole fit; then the best so far is kept, with a warning.

    Attributes
    ----------
    coef_, intercept_
        Weights (1, d) or (n_classes, d) and offsets.
    curvature_, n_rows_seen_ : array, int
        What `partial_fit` keeps of the rows before.
    certificate_ : Certificate
        ``primal, dual, gap, relative_gap, kkt``; of several classes each one's in ``problems``.

    Examples
    --------
    >>> from mercer import LinearSVC
    >>> model = LinearSVC().fit([[-1.0], [-0.5], [0.5], [1.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.8]]).tolist(), model.certificate_.ok
    (['b'], True)
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "classes_": Labels("classes"),
        "coef_": Floats(per_class, "columns"),
        "intercept_": Floats(per_class),
        "n_iter_": Integers(),
        **KEPT_STATE,
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 1e-3,
        class_weight: Any = None,
        random_state: Any = None,
        max_iter: int = 10000,
        time_limit: float | None = None,
    ):
        self.C = C
        self.penalty = penalty
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_iter = max_iter
        self.time_limit = time_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fit the machine to rows X (dense or sparse) and labels y."""
        self._validate_params()
        forget(self)
        X, y = validated(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        weight = check_weights(sample_weight, X.shape[0])
        self.classes_, codes, cost = weighted_classes(y, self.C * weight, self.class_weight)
        class_codes(y[weight > 0], among=WEIGHTED)  # of these, too, there must be two
        limits = Limits.of(self.max_iter, self.time_limit)
        seed = seed_of(self.random_state)
        bias = self.intercept_scaling if self.fit_intercept else 0.0
        given: dict[str, Any] = {"bias": bias, "tol": self.tol, "limits": limits}
        solve: Any = solve_l1
        if self.penalty == "l2":
            given |= {"squared": self.loss == "squared_hinge", "random_state": seed}
            solve = solve_dual_coordinate
        elif self.loss == "hinge":
            raise ValueError(
                'penalty="l1" needs loss="squared_hinge", which is smooth; got "hinge"'
            )
        solutions = [
            solve(X, sign, cost, about=about, **given)
            for sign, about in against_rest(self.classes_, codes)
        ]
        self.coef_ = np.array([s.value for s in solutions])
        self.intercept_ = np.array([s.intercept for s in solutions])
        self.n_iter_ = max(s.stats["sweeps"] for s in solutions)
        self._accept(merged(solutions))
        return self

    @available_if(_has_parabola)
    @described(PARTS)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> LinearSVC:
        """Take in more rows: the minimum of their loss and the parabola of all rows before.

        [parts]
        """
        self._validate_params()
        X, y = validated(
            self, X, y, accept_sparse="csr", dtype=FLOATS, reset=not hasattr(self, "coef_")
        )
        weight = self.C * check_weights(sample_weight, X.shape[0])
        self.classes_ = known_classes(self, classes)
        codes = codes_among(y, self.classes_)
        cost = weight * part_factors(self.class_weight, self.classes_)[codes]
        problems = against_rest(self.classes_, codes)
        risks = [(ScalarRisk(SquaredHinge(), sign, cost), f"{name}, ") for sign, name in problems]
        bias = self.intercept_scaling if self.fit_intercept else 0.0
        penalty = np.ones(X.shape[1] + int(bias > 0.0))
        limits = Limits.of(self.max_iter, self.time_limit)
        solutions = learn_parts(self, X, risks, penalty, bias, limits)
        self.n_iter_ = max(s.stats["steps"] for s in solutions)
        self._accept(merged(solutions))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return w·x + b: shape (m,) for two classes, positive for ``classes_[1]``; else (m, k)."""
        check_is_fitted(self)
        X = validated(self, X, accept_sparse="csr", order="C", reset=False)
        return one_or_all(np.asarray(X @ self.coef_.T + self.intercept_), self.classes_)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows."""
        return labels_of(self.decision_function(X), self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def solve_l1(
    X: Any,
    sign: np.ndarray,
    C: np.ndarray,
    *,
    bias: float,
    tol: float,
    limits: Limits,
    about: str = "",
) -> Solution:
    """Minimise ‖w‖₁ + Σ C max(0, 1 − ym)², in columns whose curvature at 0 is 1."""
    used = np.flatnonzero(C)
    A, one = X[used], np.full((len(used), int(bias > 0.0)), bias)
    A = sp.hstack([A, one], "csc") if sp.issparse(A) else np.hstack([A, one])
    A = A.astype(np.float64)
    largest = np.asarray(abs(A).max(axis=0).todense() if sp.issparse(A) else np.abs(A).max(axis=0))
    size = np.where(largest > 0.0, largest, 1.0).ravel()
    A = _divided(A, size)
    squares = np.asarray((A.power(2) if sp.issparse(A) else A**2).T @ (2.0 * C[used]))
    scale = np.where(squares > 0.0, np.sqrt(squares), 1.0)
    risk = ScalarRisk(SquaredHinge(), sign[used], C[used])
    kinks = 1.0 / scale / size
    problem = L1Problem(_divided(A, scale), risk, kinks, np.zeros(len(scale)), balanced=False)
    found = L1Newton(problem).solution(tol, limits, about)
    w = found.value[:, 0] / scale / size
    stats = {"sweeps": found.stats["steps"]}
    offset = float(w[-1] * bias) if bias > 0.0 else 0.0
    coef = w[:-1] if bias > 0.0 else w
    return Solution(coef, found.status, found.certificate, offset, stats=stats)


def _divided(A: Any, scale: np.ndarray) -> Any:
    """Return a table with its columns divided by their scales."""
    return sp.csc_array(A @ sp.diags_array(1.0 / scale)) if sp.issparse(A) else A / scale
