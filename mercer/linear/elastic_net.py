"""The elastic net: the lasso with a share of ridge, for one λ or for many."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from mercer._docstrings import described
from mercer._sklearn import Interval
from mercer.linear._lasso_path import LassoPath, path_of
from mercer.linear.lasso import SHARED, Lasso


@described(SHARED)
class ElasticNet(Lasso):
    """The elastic net: min of (1/2n) Σᵢ (yᵢ − w·xᵢ − b)² + λρ‖w‖₁ + ½λ(1 − ρ)‖w‖² over w and b.

    Between the lasso (ρ = 1) and ridge regression (ρ = 0, whose `Ridge` takes nλ and is faster). Of
    columns that go together the lasso takes one; here they share a coefficient. The solver is that
    of `Lasso`, on X with √(nλ(1 − ρ)) times the unit matrix below it. λ and ρ are scikit-learn's
    alpha and l1_ratio.

    Parameters
    ----------
    [lam]
    l1_ratio : float, default=0.5
        ρ, 0 ≤ ρ ≤ 1: the share of ‖w‖₁ in the penalty.
    [fit]

    Attributes
    ----------
    [fitted]
    certificate_ : Certificate
        Primal, dual, duality gap, and by how much the worst column violates its condition.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ElasticNet
    >>> x = np.random.default_rng(0).normal(size=(50, 1))
    >>> X = np.hstack([x, x])
    >>> model = ElasticNet(lam=0.1).fit(X, 2 * x[:, 0])
    >>> bool(np.isclose(*model.coef_)), model.certificate_.ok
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Lasso._parameter_constraints,
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        lam: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        positive: bool = False,
        tol: float = 1e-6,
        warm_start: bool = False,
        max_iter: int = 100_000,
        time_limit: float | None = None,
    ):
        super().__init__(
            lam,
            fit_intercept=fit_intercept,
            positive=positive,
            tol=tol,
            warm_start=warm_start,
            max_iter=max_iter,
            time_limit=time_limit,
        )
        self.l1_ratio = l1_ratio


@described(SHARED)
def elastic_net_path(
    X: Any,
    y: Any,
    l1_ratio: float = 0.5,
    lams: Any = None,
    n_lams: int = 100,
    eps: float = 1e-3,
    *,
    fit_intercept: bool = False,
    positive: bool = False,
    tol: float = 1e-4,
    time_limit: float | None = None,
) -> LassoPath:
    """Solve the elastic net for many λ, each from the solution before.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows.
    y : array of shape (n,)
        Targets.
    l1_ratio : float, default=0.5
        ρ, 0 ≤ ρ ≤ 1: the share of ‖w‖₁ in the penalty λ (ρ‖w‖₁ + ½(1 − ρ)‖w‖²).
    lams, n_lams, eps, fit_intercept, positive, tol, time_limit
        As in `lasso_path`; with ρ = 0 the λ must be given.

    Returns
    -------
    [path]

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import elastic_net_path
    >>> X = np.random.default_rng(0).normal(size=(50, 8))
    >>> path = elastic_net_path(X, X[:, 2] - 2 * X[:, 5], l1_ratio=0.9, n_lams=5)
    >>> path.coefs.shape, all(proof.ok for proof in path.certificates)
    ((8, 5), True)
    """
    return path_of(
        "elastic_net_path",
        X,
        y,
        lams,
        n_lams=n_lams,
        eps=eps,
        fit_intercept=fit_intercept,
        tol=tol,
        time_limit=time_limit,
        l1_ratio=l1_ratio,
        positive=positive,
    )
