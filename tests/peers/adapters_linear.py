"""Linear models of this library under the parameters of scikit-learn's."""

from __future__ import annotations

import mercer


class Lasso(mercer.Lasso):
    time_limit = None
    lam = property(lambda self: self.alpha)

    def __init__(
        self, alpha=1.0, *, fit_intercept=True, precompute=False, copy_X=True, max_iter=1000,
        tol=1e-4, warm_start=False, positive=False, random_state=None, selection="cyclic",
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class ElasticNet(mercer.ElasticNet):
    time_limit = None
    lam = property(lambda self: self.alpha)

    def __init__(
        self, alpha=1.0, *, l1_ratio=0.5, fit_intercept=True, precompute=False, max_iter=1000,
        copy_X=True, tol=1e-4, warm_start=False, positive=False, random_state=None,
        selection="cyclic",
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class QuantileRegressor(mercer.QuantileRegression):
    q = property(lambda self: self.quantile)

    @property
    def lam(self):
        return self.alpha

    def __init__(
        self, *, quantile=0.5, alpha=1.0, fit_intercept=True, solver="highs", solver_options=None
    ):
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class LinearRegression(mercer.LinearRegression):
    norm = "l2"

    def __init__(self, *, fit_intercept=True, copy_X=True, tol=1e-6, n_jobs=None, positive=False):
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})
