"""Kernel logistic regression."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import log_expit
from sklearn.base import ClassifierMixin

from mercer._sklearn import StrOptions
from mercer._state import Attribute, Labels
from mercer.losses import Logistic, Risk, ScalarRisk, SoftmaxRisk
from mercer.losses.risk import log_probabilities
from mercer.machines._margin import (
    RiskEstimator,
    labels_of,
    require_weights,
    used_rows,
    weighted_classes,
)
from mercer.solvers.primal import solve_primal


class KernelLogistic(ClassifierMixin, RiskEstimator):
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

    Attributes
    ----------
    classes_ : array
        The labels.
    dual_coef_, support_, support_vectors_, intercept_, certificate_
        As of `KernelMachine`; offsets of several classes add up to 0.

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
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RiskEstimator._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        lam: float = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: Any = None,
    ):
        self.kernel = kernel
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelLogistic:
        """Fit the machine to rows X and labels y."""
        self._validate_params()
        limits = self._limits()
        sample, y, weight = self._fit_rows(X, y, sample_weight)
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
        if len(self.classes_) == 2:
            return ScalarRisk(Logistic(), 2.0 * codes - 1.0, weight)
        return SoftmaxRisk(codes, weight, len(self.classes_))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x) + b: (m,), positive for ``classes_[1]``, or a column for each class."""
        return self._decision(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows."""
        return labels_of(self._decision(X), self.classes_)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities, shape (m, n_classes)."""
        values = self._decision(X)
        if values.ndim == 1:
            return np.column_stack([log_expit(-values), log_expit(values)])
        return log_probabilities(values)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes, shape (m, n_classes)."""
        return np.exp(self.predict_log_proba(X))
