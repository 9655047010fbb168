"""Linear support vector classification for many rows and sparse text."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._estimator import WEIGHTED, ProvedEstimator, check_weights, class_codes, validated
from mercer._limits import Limits
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, Floats, Integers, Labels, per_class
from mercer.machines._margin import (
    against_rest,
    labels_of,
    merged,
    one_or_all,
    weighted_classes,
)
from mercer.solvers import solve_dual_coordinate


class LinearSVC(ClassifierMixin, ProvedEstimator):
    """Linear support vector classifier: min ½‖w‖² + C Σᵢ ℓ(yᵢ(w·xᵢ + b)).

    Dual coordinate descent over the rows: no Gram matrix, so that a million sparse rows fit. As in
    LIBLINEAR the intercept is the weight of a constant column and is penalised with w; several
    classes are one against the rest.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss, C > 0.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        max(0, 1 − m)² or max(0, 1 − m).
    fit_intercept : bool, default=True
        Whether there is an intercept.
    intercept_scaling : float, default=1.0
        Value of the constant column; larger values penalise the intercept less.
    tol : float, default=1e-3
        Relative duality gap at which the fit is done.
    class_weight : dict, "balanced" or None, default=None
        Factors of C for each class.
    random_state : int, RandomState instance or None, default=None
        Order of the rows in the sweeps.
    max_iter : int, default=10000
        Most sweeps of each problem; −1 is no limit.
    time_limit : float or None, default=None
        Seconds for the whole fit; then the best so far is kept, with a warning.

    Attributes
    ----------
    coef_, intercept_
        Weights (1, d) or (n_classes, d) and offsets.
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
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
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
        X, y = validated(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        weight = check_weights(sample_weight, X.shape[0])
        self.classes_, codes, cost = weighted_classes(y, self.C * weight, self.class_weight)
        class_codes(y[weight > 0], among=WEIGHTED)  # of these, too, there must be two
        limits = Limits.of(self.max_iter, self.time_limit)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        solutions = [
            solve_dual_coordinate(
                X,
                sign,
                cost,
                squared=self.loss == "squared_hinge",
                bias=self.intercept_scaling if self.fit_intercept else 0.0,
                tol=self.tol,
                limits=limits,
                random_state=seed,
                about=about,
            )
            for sign, about in against_rest(self.classes_, codes)
        ]
        self.coef_ = np.array([s.value for s in solutions])
        self.intercept_ = np.array([s.intercept for s in solutions])
        self.n_iter_ = max(s.stats["sweeps"] for s in solutions)
        self._accept(merged(solutions))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return w·x + b: shape (m,) for two classes, positive for ``classes_[1]``; else (m, k)."""
        check_is_fitted(self)
        X = validated(self, X, accept_sparse="csr", reset=False)
        return one_or_all(np.asarray(X @ self.coef_.T + self.intercept_), self.classes_)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows."""
        return labels_of(self.decision_function(X), self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
