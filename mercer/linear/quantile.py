"""Linear quantile regression."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from mercer._sklearn import Interval
from mercer._state import Attribute, Integers
from mercer.linear._base import DenseDesign, LinearRegressor
from mercer.linear._quantiles import solve_quantile, solve_sparse_quantile
from mercer.linear._sparse import DENSE_ENTRIES, SparseDesign, is_large
from mercer.result import Solution


class QuantileRegression(RegressorMixin, LinearRegressor):
    """Quantile regression: min over w and b of (1/n) Σᵢ max(qrᵢ, (q − 1)rᵢ) + λ‖w‖₁.

    Of the errors r = y − w·x − b those above 0 cost q, those below 1 − q. So a share q of the
    targets lies below the function: q = ½ is the median, q = 0.9 is exceeded by one in ten. A
    linear program, solved to rounding by an interior point method; one with a sparse X of more than
    2·10⁷ entries by HiGHS. q and λ are scikit-learn's quantile and alpha; with weights the mean is
    the weighted one.

    Parameters
    ----------
    q : float, default=0.5
        The quantile, 0 < q < 1.
    lam : float, default=0.0
        λ ≥ 0, the weight of ‖w‖₁, which makes many coefficients exactly 0.
    fit_intercept : bool, default=True
        Whether to fit the offset b, which is not penalised.

    Attributes
    ----------
    coef_ : array of shape (d,)
        w; that of least norm where λ = 0 and the columns do not determine it.
    intercept_ : float
        b.
    n_iter_ : int
        Steps.
    certificate_ : Certificate
        Primal, dual and duality gap, and whether the multipliers balance.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import QuantileRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 1))
    >>> y = X[:, 0] + rng.exponential(size=200)
    >>> model = QuantileRegression(q=0.9).fit(X, y)
    >>> float(np.mean(y < model.predict(X)).round(2)), model.certificate_.ok
    (0.9, True)
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_iter_": Integers(),
    }

    accepts_sparse = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "q": [Interval(Real, 0, 1, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
    }

    def __init__(self, q: float = 0.5, *, lam: float = 0.0, fit_intercept: bool = True):
        self.q = q
        self.lam = lam
        self.fit_intercept = fit_intercept

    def _fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, dense: float = DENSE_ENTRIES
    ) -> Solution:
        X, y, weight = self._checked(X, y, sample_weight)
        design: DenseDesign | SparseDesign
        if is_large(X, dense):
            design = SparseDesign.of(X, y, weight, self.fit_intercept, scaled=True)
            solution = solve_sparse_quantile(design, *self._penalty(design))
        else:
            design = DenseDesign.of(X, y, weight, self.fit_intercept)
            solution = solve_quantile(design, *self._penalty(design))
        self._keep(design, solution.value[:, None], np.array([solution.intercept]))
        self.n_iter_ = solution.stats["steps"]
        return solution

    def _penalty(self, design: DenseDesign | SparseDesign) -> tuple[float, float, bool]:
        """Return q, the λ of the sum of the errors in the unit of the columns, and the offset."""
        lam = len(design.Y) * float(self.lam) / design.unit
        return float(self.q), lam, self.fit_intercept
