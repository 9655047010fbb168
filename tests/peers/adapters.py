"""Estimators of this library under the parameters of scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np

import mercer
from mercer.kernels import (
    RBF,
    Cosine,
    FromFunction,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)


class _KernelByName:
    """Reads kernel, gamma, degree and coef0 as scikit-learn has them."""

    kernel: Any
    gamma: Any = "scale"
    degree: Any = 3
    coef0: Any = 0.0
    named_parts: dict[str, Any] = {}

    def _given_kernel(self) -> Any:
        return kernel_of(self.kernel, self._gamma_of, self.degree, self.coef0)

    @property
    def _gamma_of(self) -> Any:
        return self.gamma


def kernel_of(kernel: Any, gamma: Any, degree: Any, coef0: Any) -> Any:
    """Return a kernel from a name of scikit-learn and its parameters; γ may be a rule."""
    made = {
        "linear": lambda: Linear(),
        "rbf": lambda: RBF(gamma),
        "laplacian": lambda: Laplacian(gamma),
        "poly": lambda: _Scaled(Polynomial, gamma, degree=degree, bias=coef0),
        "polynomial": lambda: _Scaled(Polynomial, gamma, degree=degree, bias=coef0),
        "sigmoid": lambda: _Scaled(Sigmoid, gamma, bias=coef0),
        "precomputed": Precomputed,
        "cosine": Cosine,
    }
    if callable(kernel):
        return FromFunction(kernel)
    return made[kernel]()


def _Scaled(kind: Any, gamma: Any, **others: Any) -> Any:  # noqa: N802
    """Return a kernel whose factor is a number, or is taken from the rows when it is bound."""
    if not isinstance(gamma, str):
        return kind(scale=float(gamma), **others)

    class Ruled(kind):
        def bind(self, X: Any, *args: Any, **kwargs: Any) -> Any:
            found = RBF(gamma).bind(X).gamma
            return kind(scale=found, **others).bind(X, *args, **kwargs)

    return Ruled(scale=1.0, **others)


class SVC(_KernelByName, mercer.SVC):
    lam, multiclass, time_limit, memory = None, "ovo", None, None

    def __init__(
        self, *, C=1.0, kernel="rbf", degree=3, gamma="scale", coef0=0.0, shrinking=True,
        probability=False, tol=1e-3, cache_size=200, class_weight=None, verbose=False, max_iter=-1,
        decision_function_shape="ovr", break_ties=False, random_state=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class NuSVC(_KernelByName, mercer.NuSVC):
    multiclass, time_limit, memory = "ovo", None, None

    def __init__(
        self, *, nu=0.5, kernel="rbf", degree=3, gamma="scale", coef0=0.0, shrinking=True,
        probability=False, tol=1e-3, cache_size=200, class_weight=None, verbose=False, max_iter=-1,
        decision_function_shape="ovr", break_ties=False, random_state=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class SVR(_KernelByName, mercer.SVR):
    time_limit, memory = None, None

    def __init__(
        self, *, kernel="rbf", degree=3, gamma="scale", coef0=0.0, tol=1e-3, C=1.0, epsilon=0.1,
        shrinking=True, cache_size=200, verbose=False, max_iter=-1,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class NuSVR(_KernelByName, mercer.NuSVR):
    time_limit, memory = None, None

    def __init__(
        self, *, nu=0.5, C=1.0, kernel="rbf", degree=3, gamma="scale", coef0=0.0, shrinking=True,
        tol=1e-3, cache_size=200, verbose=False, max_iter=-1,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class OneClassSVM(_KernelByName, mercer.OneClassSVM):
    time_limit, memory = None, None

    def __init__(
        self, *, kernel="rbf", degree=3, gamma="scale", coef0=0.0, tol=1e-3, nu=0.5,
        shrinking=True, cache_size=200, verbose=False, max_iter=-1,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class KernelRidge(_KernelByName, mercer.KernelRidge):
    fit_intercept, landmarks, random_state, memory, time_limit = False, None, None, None, None
    lam = property(lambda self: self.alpha)

    def __init__(
        self, alpha=1, *, kernel="linear", gamma=None, degree=3, coef0=1, kernel_params=None
    ):
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})

    @property
    def _gamma_of(self) -> Any:
        return "auto" if self.gamma is None else self.gamma


class KernelPCA(_KernelByName, mercer.KernelPCA):
    preimage, memory, landmarks, checkpoint = "auto", None, None, None
    tol = property(lambda self: 1e-6)
    random_state = property(lambda self: 0)

    def __init__(
        self, n_components=None, *, kernel="linear", gamma=None, degree=3, coef0=1,
        kernel_params=None, alpha=1.0, fit_inverse_transform=False, eigen_solver="auto", tol=0,
        max_iter=None, iterated_power="auto", remove_zero_eig=False, random_state=None, copy_X=True,
        n_jobs=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})

    X_transformed_fit_ = property(lambda self: self.eigenvectors_ * self.eigenvalues_**0.5)

    @property
    def _gamma_of(self) -> Any:
        return "auto" if self.gamma is None else self.gamma


class GaussianNB(mercer.GaussianBayes):
    order, tied, loss, shrinkage, ddof, reject, reject_label = 0, False, None, 0.0, 0, None, None
    covariance = None

    def __init__(self, *, priors=None, var_smoothing=1e-9):
        self.priors = priors
        self.var_smoothing = var_smoothing

    theta_ = property(lambda self: self.means_)
    class_prior_ = property(lambda self: self.priors_)
    class_count_ = property(lambda self: self.counts_)
    var_ = property(lambda self: np.array([np.diagonal(S) for S in self.covariances_]))


class GridSearchCV(mercer.KernelSearchCV):
    memory, time_limit, strategy, random_state, progress = None, None, "exact", 0, False

    def __init__(
        self, estimator, param_grid, *, scoring=None, n_jobs=None, refit=True, cv=None, verbose=0,
        pre_dispatch="2*n_jobs", error_score=np.nan, return_train_score=False,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})
