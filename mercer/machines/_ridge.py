"""What ridge machines share: the choice of λ, the solve, the sum; numbers and classes."""

from __future__ import annotations

from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer._array import parse_memory
from mercer._in_span import class_totals
from mercer._labels import class_factors, labels_of_rows, refuse_class_weight
from mercer._limits import of_some_rows
from mercer._sklearn import Interval, StrOptions
from mercer._state import (
    Attribute,
    Either,
    FittedRows,
    Floats,
    Instance,
    Integers,
    Maybe,
    SizeOf,
    Tuple,
)
from mercer.gram import Gram, gram
from mercer.kernels.sample import Sample
from mercer.machines._expansion import SumOverRows
from mercer.machines._margin import AgainstRest, against_rest, used_rows, weighted_classes
from mercer.machines._ridge_span import SpanEstimator
from mercer.result import Solution
from mercer.rows import Rows, as_rows
from mercer.solvers import solve_ridge
from mercer.solvers.ridge_loo import LooErrors, LooSolution, solve_ridge_loo
from mercer.solvers.ridge_path import check_lams
from mercer.solvers.ridge_route import RidgeRoute
from mercer.solvers.ridge_run import SpanSolution
from mercer.solvers.row_problem import Encode


class RidgeEstimator(SumOverRows, SpanEstimator):
    """What regression and classification share: the choice of λ, the solve, the sum."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_fit_": SizeOf("rows"),
        "landmark_indices_": Maybe(Either(Integers("points", below="rows"), Integers(0))),
        "X_fit_": FittedRows("points"),
        "dual_coef_": Floats("points", "targets?"),
        "intercept_": Floats("targets?"),
        "lam_": Floats(),
        "lams_": Floats("penalties"),
        "_weight": Maybe(Floats("rows")),
        "_errors": Maybe(Tuple(*[Floats("penalties")] * 3)),
    }

    stores_rows = True
    landmark_indices_: np.ndarray | None
    _errors: LooErrors | None
    _weight: np.ndarray | None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"loo"}), "array-like"],
        "fit_intercept": ["boolean"],
        "landmarks": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "route": [StrOptions({"auto", "exact", "normal", "cg"})],
        "checkpoint": [str, PathLike, None],
        "random_state": ["random_state"],
    }

    _target_checks: ClassVar[dict[str, Any]] = {}

    def _targets(self, y: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return targets (n, t), weights, and whether y has one target without an axis for it."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the machine to rows X and targets y.

        Parameters
        ----------
        X : table, list of objects, Rows or Dask collection
            Rows; those of `mercer.rows.open` are read in blocks, as are Dask collections.
        y : array of shape (n,) or (n, n_targets)
            Numbers; of a classifier labels, shape (n,), or a table of 0 and 1 with a column for
            each of several labels. None: the target that `Rows` have.
        sample_weight : array of shape (n,), default=None
            Weights ≥ 0; a row of weight 0 is no row.
        """
        self._validate_params()
        X = as_rows(X)
        if not isinstance(X, Rows):
            return self._fit_array(X, y, sample_weight)
        rows = self._with_target(X, y)
        weight = self._weights_of_rows(sample_weight, rows.n)
        encode, n_targets, flat = self._targets_of_rows(rows, weight)
        route = self._route_of(*rows.shape, n_targets, in_memory=False)
        if route.name == "exact":
            self._fit_array(*rows.read(), weight)
        else:
            solution, kept, index = self._solve_in_passes(rows, route, weight, (encode, n_targets))
            self.n_fit_, self.landmark_indices_, self._weight = rows.n, index, None
            self._keep(solution, kept, solution.value, flat, route.name)
        self._keep_columns(rows)
        return self

    def route_of(self, rows: Rows) -> RidgeRoute:
        """Return the route that a fit to these rows would take: landmarks, passes, bytes."""
        return self._route_of(*rows.shape, 1, in_memory=False)

    def _fit_array(self, X: Any, y: Any, sample_weight: Any) -> Self:
        sample, y, weight = self._fit_rows(X, y, sample_weight, **self._target_checks)
        Y, weight, flat = self._targets(y, weight)
        rows, used = used_rows(sample, weight)
        fewer = self._learn_kernel(rows, Y[used], weight[used])
        columns = getattr(self, "n_features_in_", 1)
        route = self._route_of(len(used), columns, Y.shape[1], in_memory=True, fewer=fewer)
        self.n_fit_ = len(sample)
        if route.name == "exact":
            self.landmark_indices_, self._weight = None, weight
            solution = self._solve(self._gram(rows), Y[used], weight[used])
            kept, alpha = sample, np.zeros_like(Y)
            alpha[used] = solution.value
        else:
            self.landmark_indices_, kept = self._chosen(sample, used, route.landmarks)
            self._weight = None
            solution = self._solve_rows_in_memory(rows, kept, Y[used], weight[used], route)
            alpha = solution.value
        if fewer:
            solution = of_some_rows(solution)
        self._keep(solution, kept.data, alpha, flat, route.name)
        return self

    def _keep(
        self, solution: Solution, kept: Any, alpha: np.ndarray, flat: bool, route: str
    ) -> None:
        """Store the centres, their coefficients, λ and the proof."""
        self.X_fit_, self.route_ = kept, route
        self.dual_coef_ = alpha[:, 0] if flat else alpha
        self.intercept_ = float(solution.intercept[0]) if flat else solution.intercept
        self._errors = self._cv_error = None
        self.lam_, self.lams_ = self._lams_tried(solution)
        self._accept(solution)

    def _lams_tried(self, solution: Solution) -> tuple[float, np.ndarray]:
        """Return λ and all that were tried; keep their errors."""
        if isinstance(solution, LooSolution):
            self._errors = solution.errors
            return solution.errors.best, solution.errors.lams
        if isinstance(solution, SpanSolution):
            if solution.errors is not None:
                self._cv_error = solution.errors.cv
                return solution.lam, solution.errors.lams
            return solution.lam, np.array([solution.lam])
        return float(self.lam), np.array([float(self.lam)])

    def _learn_kernel(self, rows: Sample, Y: np.ndarray, weight: np.ndarray) -> int:
        """Change the kernel by what the targets say; here it is as it was given.

        Return the number of landmarks that there is time for, 0 if there is for what was asked.
        """
        return 0

    def _gram(self, rows: Sample) -> Gram:
        # of the budget the rest is for its factor, or for eigenvectors and what makes them
        share = 2 if isinstance(self.lam, Real) else 3
        budget = parse_memory(self.memory) // share
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

    @property
    def loo_error_(self) -> np.ndarray:
        """Mean squared leave-one-out error of each λ that was tried."""
        return self._all_errors().loo

    @property
    def gcv_error_(self) -> np.ndarray:
        """Error of each λ by generalised cross-validation."""
        return self._all_errors().gcv

    @property
    def cv_error_(self) -> np.ndarray:
        """Mean squared error over five folds of each λ that was tried, of a fit with landmarks."""
        check_is_fitted(self)
        if self._cv_error is None:
            raise AttributeError("cv_error_ exists after a fit with landmarks and several lam")
        return self._cv_error

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
            raise AttributeError(
                "there is no leave-one-out error with landmarks: give several lam for cv_error_"
            )
        rows, used = used_rows(self.kernel_.sample(self.X_fit_), self._weight)  # type: ignore[arg-type]
        K, weight = self._gram(rows), self._weight[used]  # type: ignore[index]
        alpha = self.dual_coef_.reshape(self.n_fit_, -1)[used]
        Y = K @ alpha + (self.lam_ / weight)[:, None] * alpha + self.intercept_
        offset = self.fit_intercept
        return solve_ridge_loo(K, Y, weight, np.array([self.lam_]), fit_intercept=offset).errors


def as_numbers(y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return targets as a table of numbers, and the weights as they are."""
    return np.asarray(y, dtype=np.float64).reshape(len(y), -1), weight


class OfNumbers(MultiOutputMixin, RegressorMixin, RidgeEstimator):
    """Ridge regression of numbers, one target or several."""

    _target_checks: ClassVar[dict[str, Any]] = {"multi_output": True, "y_numeric": True}

    def _targets(self, y: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        return *as_numbers(y, weight), np.ndim(y) == 1

    def _targets_of_rows(self, rows: Rows, weight: np.ndarray | None) -> tuple[Encode, int, bool]:
        first = np.asarray(rows.blocks()[0].read_target())
        if first.dtype.kind not in "biuf":
            raise ValueError(
                f"the target must hold numbers; got {first.dtype} values such as {first[0]!r}"
            )
        return as_numbers, first[0].size, first.ndim == 1

    def predict(self, X: Any) -> np.ndarray:
        """Return f(x) + b for new rows."""
        return self._values(X)


class OfClasses(MultiOutputMixin, AgainstRest, RidgeEstimator):
    """Ridge regression on targets ±1, each class against the rest, or each label against its lack.

    Where a row may have several labels, ``classes_`` are the numbers of their columns.
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {"multilabel_": Maybe(Instance(bool))}

    _target_checks: ClassVar[dict[str, Any]] = {"multi_output": True}
    class_weight: Any
    multilabel_ = False  # of models that were saved before rows could have several labels

    def _targets(self, y: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        y, self.multilabel_ = labels_of_rows(y)
        if self.multilabel_:
            refuse_class_weight(self.class_weight)
            self.classes_ = np.arange(y.shape[1])
            return np.where(y == 1, 1.0, -1.0), weight, False
        self.classes_, codes, weight = weighted_classes(y, weight, self.class_weight)
        Y = np.column_stack([sign for sign, _ in against_rest(self.classes_, codes)])
        return Y, weight, len(self.classes_) == 2

    def _targets_of_rows(self, rows: Rows, weight: np.ndarray | None) -> tuple[Encode, int, bool]:
        classes, totals = class_totals(rows, weight)
        factors = class_factors(self.class_weight, classes, np.arange(len(classes)), totals)
        self.classes_, self.multilabel_ = classes, False

        def signs(y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            codes = np.searchsorted(classes, y)
            Y = np.column_stack([sign for sign, _ in against_rest(classes, codes)])
            return Y, weight * factors[codes]

        return signs, 1 if len(classes) == 2 else len(classes), len(classes) == 2

    def _labels(self, values: np.ndarray) -> np.ndarray:
        """Return the labels that decision values stand for, or 0 and 1 for each label."""
        return (values > 0.0).astype(np.intp) if self.multilabel_ else super()._labels(values)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
