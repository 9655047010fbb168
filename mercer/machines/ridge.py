"""Kernel ridge regression, and classification by it."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._array import parse_memory
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, Floats, Integers, Labels, Maybe, Rows, Size, Tuple
from mercer.gram import Gram, gram
from mercer.kernels.sample import Sample
from mercer.machines._expansion import KernelExpansion
from mercer.machines._margin import against_rest, labels_of, used_rows, weighted_classes
from mercer.result import Solution
from mercer.solvers import solve_ridge
from mercer.solvers.ridge_landmarks import solve_ridge_landmarks
from mercer.solvers.ridge_loo import LooErrors, LooSolution, solve_ridge_loo
from mercer.solvers.ridge_path import check_lams


class RidgeEstimator(KernelExpansion):
    """What regression and classification share: the choice of λ, the solve, the sum."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_fit_": Size("rows"),
        "landmark_indices_": Maybe(Integers("points", below="rows")),
        "X_fit_": Rows("points"),
        "dual_coef_": Floats("points", "targets?"),
        "intercept_": Floats("targets?"),
        "lam_": Floats(),
        "lams_": Floats("penalties"),
        "_weight": Floats("rows"),
        "_errors": Maybe(Tuple(*[Floats("penalties")] * 3)),
    }

    stores_rows = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"loo"}), "array-like"],
        "fit_intercept": ["boolean"],
        "landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    lam: Any
    fit_intercept: bool
    landmarks: int | None
    random_state: Any
    memory: Any

    _target_checks: ClassVar[dict[str, Any]] = {}

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return targets (n, t), weights, and whether y has one target without an axis for it."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine to rows X and targets y.

        Parameters
        ----------
        X : table or list of objects
            Rows.
        y : array of shape (n,) or (n, n_targets)
            Numbers; of a classifier labels, shape (n,).
        sample_weight : array of shape (n,), default=None
            Weights ≥ 0; a row of weight 0 is no row.
        """
        self._validate_params()
        sample, y, self._weight = self._fit_rows(X, y, sample_weight, **self._target_checks)
        Y, self._weight, flat = self._targets(np.asarray(y), self._weight)
        rows, used = used_rows(sample, self._weight)
        self._learn_kernel(rows, Y[used], self._weight[used])
        self.n_fit_, self.landmark_indices_ = len(sample), self._drawn(used)
        if self.landmark_indices_ is None:
            solution = self._solve(self._gram(rows), Y[used], self._weight[used])
            kept, alpha = sample, np.zeros_like(Y)
            alpha[used] = solution.value
        else:
            kept = sample[self.landmark_indices_]
            solution = self._solve_in_span(rows, kept, Y[used], self._weight[used])
            alpha = solution.value
        self.X_fit_ = kept.data
        self.dual_coef_ = alpha[:, 0] if flat else alpha
        self.intercept_ = float(solution.intercept[0]) if flat else solution.intercept
        self._errors = solution.errors if isinstance(solution, LooSolution) else None
        self.lam_ = self._lam_taken()
        self.lams_ = np.array([self.lam_]) if self._errors is None else self._errors.lams
        self._accept(solution)
        return self

    def _learn_kernel(self, rows: Sample, Y: np.ndarray, weight: np.ndarray) -> None:
        """Change the kernel by what the targets say; here it is as it was given."""

    def _gram(self, rows: Sample) -> Gram:
        # half of the budget for K, half for its factor
        budget = parse_memory(self.memory) // 2
        return gram(self.kernel_, rows, purpose="direct", memory=budget)

    def _solve(self, K: Gram, Y: np.ndarray, weight: np.ndarray) -> Solution:
        options: dict[str, Any] = {
            "fit_intercept": self.fit_intercept,
            "memory": parse_memory(self.memory),
        }
        if isinstance(self.lam, Real):
            return solve_ridge(K, Y, float(self.lam) / weight, **options)
        lams = None if isinstance(self.lam, str) else check_lams(self.lam, "lam")
        return solve_ridge_loo(K, Y, weight, lams, **options)

    def _drawn(self, used: np.ndarray) -> np.ndarray | None:
        """Return the numbers of the landmarks; None: every row has a coefficient of its own."""
        if self.landmarks is None or self.landmarks >= len(used):
            return None
        random = check_random_state(self.random_state)
        return np.sort(used[random.permutation(len(used))[: self.landmarks]])

    def _lam_taken(self) -> float:
        if self._errors is not None:
            return self._errors.best
        return float(self.lam) if self.landmark_indices_ is None else self._lam_of_span()

    def _lam_of_span(self) -> float:
        """Return the λ of a fit with landmarks."""
        if not isinstance(self.lam, Real):
            raise ValueError(f"landmarks need a number as lam; got lam={self.lam!r}")
        return float(self.lam)

    def _solve_in_span(
        self, rows: Sample, points: Sample, Y: np.ndarray, weight: np.ndarray
    ) -> Solution:
        options: dict[str, Any] = {"fit_intercept": self.fit_intercept, "memory": self.memory}
        given = (self.kernel_, rows, points, Y, weight, self._lam_of_span())
        return solve_ridge_landmarks(*given, **options)

    @property
    def coef_(self) -> np.ndarray:
        """Weights w of f(x) = w·x + b, for the linear kernel: (d,), or a row for each target."""
        check_is_fitted(self)
        w = self._linear_weights(np.atleast_2d(self.dual_coef_.T), self.X_fit_)
        return w[0] if self.dual_coef_.ndim == 1 and not hasattr(self, "classes_") else w

    @property
    def loo_error_(self) -> np.ndarray:
        """Mean squared leave-one-out error of each λ that was tried."""
        return self._all_errors().loo

    @property
    def gcv_error_(self) -> np.ndarray:
        """Error of each λ by generalised cross-validation."""
        return self._all_errors().gcv

    def _all_errors(self) -> LooErrors:
        """Return the errors; those of one number cost more than its fit, so only if asked."""
        if not hasattr(self, "_errors"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        if self._errors is None:
            self._errors = self._errors_of_number()
        return self._errors

    def _errors_of_number(self) -> LooErrors:
        if self.lam_ == 0:
            raise AttributeError("there is no leave-one-out error for lam=0: use a small lam > 0")
        if self.landmark_indices_ is not None:
            raise AttributeError("there is no leave-one-out error with landmarks: cross-validate")
        rows, used = used_rows(self.kernel_.sample(self.X_fit_), self._weight)
        K, weight = self._gram(rows), self._weight[used]
        alpha = self.dual_coef_.reshape(len(self._weight), -1)[used]
        Y = K @ alpha + (self.lam_ / weight)[:, None] * alpha + self.intercept_
        offset = self.fit_intercept
        return solve_ridge_loo(K, Y, weight, np.array([self.lam_]), fit_intercept=offset).errors

    def _values(self, X: Any) -> np.ndarray:
        """Return f(x) + b for new rows."""
        rows = self._new_rows(X)
        K = gram(self.kernel_, rows, self._centres(), storage="blocked", dtype=np.float64)
        return K @ self.dual_coef_ + self.intercept_

    def _centres(self) -> Sample:
        index = self.landmark_indices_
        if index is None:
            return self.kernel_.sample(self.X_fit_)
        return self._kept(self.X_fit_, index, self.n_fit_)

    def _expansion(self) -> tuple[Sample, np.ndarray]:
        return self._centres(), self.dual_coef_.reshape(len(self.dual_coef_), -1)


class OfNumbers(MultiOutputMixin, RegressorMixin, RidgeEstimator):
    """Ridge regression of numbers, one target or several."""

    _target_checks: ClassVar[dict[str, Any]] = {"multi_output": True, "y_numeric": True}

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        return y.astype(np.float64).reshape(len(y), -1), weight, y.ndim == 1

    def predict(self, X: Any) -> np.ndarray:
        """Return f(x) + b for new rows."""
        return self._values(X)


class OfClasses(ClassifierMixin, RidgeEstimator):
    """Ridge regression on targets ±1, each class against the rest."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "classes_": Labels("classes"),
    }

    class_weight: Any

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        self.classes_, codes, weight = weighted_classes(y, weight, self.class_weight)
        Y = np.column_stack([sign for sign, _ in against_rest(self.classes_, codes)])
        return Y, weight, len(self.classes_) == 2

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x) + b: shape (m,) for two classes (positive: the second), else (m, k)."""
        return self._values(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows."""
        return self._labels(self._values(X))

    def _labels(self, values: np.ndarray) -> np.ndarray:
        """Return the labels that decision values stand for."""
        return labels_of(values, self.classes_)


class KernelRidge(OfNumbers):
    """Kernel ridge regression: min over f and b of Σᵢ wᵢ(yᵢ − f(xᵢ) − b)² + λ‖f‖².

    f(x) = Σᵢ αᵢ k(x, xᵢ), with (K + λW⁻¹)α + b = y and Σα = 0. A matrix that does not fit into the
    byte budget is never formed: conjugate gradients solve the system by products with it.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    lam : float, list of floats or "loo", default=1.0
        λ ≥ 0, the weight of ‖f‖². Of a list of λ > 0 the one with the smallest exact leave-one-out
        error is taken, all of them from one eigendecomposition. "loo" makes the list: 30 values,
        evenly in the logarithm, from 10⁻⁹ to 10 times the largest eigenvalue of the weighted,
        centred Gram matrix, and 10 more beyond a border at which the best lies.
    fit_intercept : bool, default=True
        Whether to fit the offset b, which is not penalised.
    landmarks : int or None, default=None
        If there are more rows than this, f is sought in the span of so many of them, drawn at
        random: two passes over the rows, time n·m² and memory m². The certificate then proves the
        optimum in that span, and says what part of the trace of K the landmarks miss.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw of the landmarks.
    memory : int, str or None, default=None
        The byte budget; None is half of the free memory.

    Attributes
    ----------
    dual_coef_ : array of shape (n,) or (n, n_targets)
        α; with landmarks one coefficient each.
    landmark_indices_ : array of int or None
        The numbers of the landmarks among the training rows, if there are any.
    intercept_ : float or array of shape (n_targets,)
        b.
    lam_ : float
        The λ of this fit.
    lams_ : array of shape (n_lams,)
        All λ that were tried.
    loo_error_ : array of shape (n_lams,)
        Mean squared leave-one-out error of each λ, over rows (by their weights) and targets. For a
        number it is computed when first asked for: it costs more than the fit.
    gcv_error_ : array of shape (n_lams,)
        The same by generalised cross-validation: each row has the leverage of the average row.
    certificate_ : Certificate
        Relative residual of the linear system and a condition estimate.
    kernel_ : Kernel
        The kernel with data-dependent parameters made concrete.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> model = KernelRidge("rbf", lam=1e-3).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(2)
    array([1.])
    >>> model.certificate_.ok
    True
    >>> KernelRidge("rbf", lam=[1e-3, 1.0, 1e3]).fit(X, np.sin(X[:, 0])).lam_
    0.001
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        lam: Any = 1.0,
        fit_intercept: bool = True,
        landmarks: int | None = None,
        random_state: Any = None,
        memory: int | str | None = None,
    ):
        self.kernel = kernel
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.landmarks = landmarks
        self.random_state = random_state
        self.memory = memory


class KernelRidgeClassifier(OfClasses):
    """Classification by kernel ridge regression on targets ±1, each class against the rest.

    For each class the fit is min over f and b of Σᵢ wᵢ(±1 − f(xᵢ) − b)² + λ‖f‖²; the largest
    f(x) + b names the class. All classes share one decomposition and one λ.

    Parameters
    ----------
    kernel, lam, fit_intercept, landmarks, random_state, memory
        As for `KernelRidge`.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of each class.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    dual_coef_, intercept_, landmark_indices_, lam_, lams_, loo_error_, gcv_error_, certificate_,
    kernel_
        As in `KernelRidge`, with a target for each class; of two classes there is one target.

    Examples
    --------
    >>> from mercer import KernelRidgeClassifier
    >>> model = KernelRidgeClassifier("linear", lam=0.1)
    >>> model.fit([[-1.0], [-0.5], [0.5], [1.0]], ["no", "no", "yes", "yes"]).predict([[0.7]])
    array(['yes'], dtype='<U3')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RidgeEstimator._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        lam: Any = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        landmarks: int | None = None,
        random_state: Any = None,
        memory: int | str | None = None,
    ):
        self.kernel = kernel
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.landmarks = landmarks
        self.random_state = random_state
        self.class_weight = class_weight
        self.memory = memory
