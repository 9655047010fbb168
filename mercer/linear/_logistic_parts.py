"""Logistic regression of rows that come in parts."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer._docstrings import described
from mercer._estimator import check_weights
from mercer._labels import codes_among, known_classes, not_balanced, part_factors
from mercer._limits import Limits
from mercer._state import Attribute
from mercer.linear._base import LinearModel
from mercer.linear._logistic import LogisticDesign
from mercer.linear._logistic_l1 import likelihood_risk
from mercer.optimize._in_parts import KEPT_STATE, PARTS, learn_parts

FREE_SHARE = 1e-6  # of λ: the penalty of an intercept, which a part of one class would not bound


def _has_parabola(model: Any) -> bool:
    if model.lam == 0.0 or model.l1_ratio > 0.0:
        raise AttributeError(
            f"partial_fit needs lam > 0 and l1_ratio=0, a smooth penalty; got "
            f"lam={model.lam} and l1_ratio={model.l1_ratio}"
        )
    return not_balanced(model)


class LogisticStart(NamedTuple):
    """The fit before, from which one with warm_start=True goes on."""

    classes: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray

    @classmethod
    def of(cls, model: Any) -> LogisticStart | None:
        """Return the fit before, if there is one and it is wanted."""
        if not (model.warm_start and hasattr(model, "coef_")):
            return None
        return cls(model.classes_, model.coef_, model.intercept_)

    def coordinates(self, design: LogisticDesign, classes: np.ndarray) -> np.ndarray:
        """Return its coordinates among other rows, if their columns and classes are the same."""
        columns = len(design.mean)
        if not np.array_equal(classes, self.classes) or columns != self.coef.shape[1]:
            raise ValueError(
                f"warm_start=True goes on from coefficients of {self.coef.shape[1]} columns and "
                f"the classes {self.classes.tolist()}, but X has {columns} columns and y the "
                f"classes {classes.tolist()}"
            )
        return design.inner(self.coef.T, self.intercept)


class LogisticParts(LinearModel):
    """What logistic regression keeps of rows that it no longer has."""

    fitted_state: ClassVar[dict[str, Attribute]] = KEPT_STATE

    @available_if(_has_parabola)
    @described(PARTS)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Take in more rows: the minimum of their loss and the parabola of all rows before.

        The intercept is penalised by a millionth of λ: a part of one class would not bound it.

        [parts]
        """
        model: Any = self
        self._validate_params()
        X, y = self._fit_table(X, y, reset=not hasattr(self, "coef_"))
        weight = check_weights(sample_weight, X.shape[0])
        self.classes_ = known_classes(self, classes)
        codes = codes_among(y, self.classes_)
        weight = weight * part_factors(model.class_weight, self.classes_)[codes]
        penalty = np.full(X.shape[1] + self.fit_intercept, float(model.lam))
        penalty[X.shape[1] :] *= FREE_SHARE
        limits = Limits.of(model.max_iter, model.time_limit)
        risk = [(likelihood_risk(codes, weight, len(self.classes_)), "likelihood ")]
        (solution,) = learn_parts(self, X, risk, penalty, float(self.fit_intercept), limits)
        self.n_iter_, self.solver_ = solution.stats["steps"], "newton"
        model.separating_direction_ = model.separating_intercept_ = None
        self._forget_errors()
        self._accept(solution)
        return self

    def _forget_errors(self) -> None:
        """There are no standard errors, nor what they could be computed from."""
        self._errors: np.ndarray | None = None
        self.__dict__.pop("_held", None)

    def _settle_errors(self) -> None:
        """Compute the standard errors, if the table is held for them, and let go of it."""
        held = vars(self).get("_held")
        if held is not None:
            self._errors = held.standard_errors()
            self.__dict__.pop("_held", None)

    def __getstate__(self) -> dict[str, Any]:
        """Compute what needs the rows of the fit, which a copy or a file does not get."""
        self._settle_errors()
        return super().__getstate__()
