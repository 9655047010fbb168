"""Linear models of this library under the parameters of scikit-learn's."""

from __future__ import annotations

import numpy as np

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


class Ridge(mercer.Ridge):
    """Several α are those of the targets."""

    lam = property(lambda self: self.alpha)
    per_target = property(lambda self: np.ndim(self.alpha) > 0)
    solver_ = property(lambda self: self.solver)

    def __init__(
        self, alpha=1.0, *, fit_intercept=True, copy_X=True, max_iter=None, tol=1e-4, solver="auto",
        positive=False, random_state=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class RidgeClassifier(mercer.KernelRidgeClassifier):
    kernel, landmarks, route, memory, checkpoint = "linear", None, "auto", None, None
    lam = property(lambda self: self.alpha)

    def __init__(
        self, alpha=1.0, *, fit_intercept=True, copy_X=True, max_iter=None, tol=1e-4,
        class_weight=None, solver="auto", positive=False, random_state=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class LogisticRegression(mercer.LogisticRegression):
    """The solver is chosen here, and stops at a proof where scikit-learn's stop at a slope."""

    time_limit = None
    solver = property(lambda self: "auto")

    @property
    def lam(self):
        return 0.0 if self.penalty is None or np.isinf(self.C) else 1.0 / self.C

    @property
    def l1_ratio(self):
        return {"l1": 1.0, "l2": 0.0}.get(self.penalty, vars(self)["l1_ratio"])

    @l1_ratio.setter
    def l1_ratio(self, given):
        vars(self)["l1_ratio"] = given

    def __init__(
        self, penalty="deprecated", *, C=1.0, l1_ratio=0.0, dual=False, tol=1e-4,
        fit_intercept=True, intercept_scaling=1, class_weight=None, random_state=None,
        solver="lbfgs", max_iter=100, verbose=0, warm_start=False, n_jobs=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class LinearSVC(mercer.LinearSVC):
    time_limit = None

    def __init__(
        self, penalty="l2", loss="squared_hinge", *, dual="auto", tol=1e-4, C=1.0,
        multi_class="ovr", fit_intercept=True, intercept_scaling=1, class_weight=None, verbose=0,
        random_state=None, max_iter=1000,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class Perceptron(mercer.Perceptron):
    kernel, averaged, voted, memory, time_limit = "linear", False, False, None, None
    _parameter_constraints: dict[str, list[object]] = {}  # tol is of another end here

    def __init__(
        self, *, penalty=None, alpha=1e-4, l1_ratio=0.15, fit_intercept=True, max_iter=1000,
        tol=1e-3, shuffle=True, verbose=0, eta0=1.0, n_jobs=None, random_state=0,
        early_stopping=False, validation_fraction=0.1, n_iter_no_change=5, class_weight=None,
        warm_start=False,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})
