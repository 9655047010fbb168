"""Logistic regression of rows that come in parts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer._docstrings import described
from mercer._estimator import check_weights
from mercer._labels import codes_among, known_classes, not_balanced, part_factors
from mercer._limits import Limits
from mercer._state import Attribute
from mercer.linear._base import LinearModel
from mercer.linear._logistic_l1 import likelihood_risk
from mercer.optimize._in_parts import KEPT, PARTS, learn_parts

FREE_SHARE = 1e-6  # of λ: the penalty of an intercept, which a part of one class would not bound


def _has_parabola(model: Any) -> bool:
    if model.lam == 0.0 or model.l1_ratio > 0.0:
        raise AttributeError(
            f"partial_fit needs lam > 0 and l1_ratio=0, a smooth penalty; got "
            f"lam={model.lam} and l1_ratio={model.l1_ratio}"
        )
    return not_balanced(model)


class LogisticParts(LinearModel):
    """What logistic regression keeps of rows that it no longer has."""

    fitted_state: ClassVar[dict[str, Attribute]] = KEPT

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
        model.separating_direction_ = model.separating_intercept_ = model._errors = None
        self._accept(solution)
        return self
