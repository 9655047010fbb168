"""Neighbours, boosting and independent components under the parameters of scikit-learn's."""

from __future__ import annotations

import numpy as np

import mercer


class _Neighbours:
    """`metric` and `p` are one parameter here; how the search is done is not a choice."""

    memory, kernel = None, None
    named_parts: dict[str, object] = {}

    @property
    def metric(self):
        given = vars(self)["metric"]
        return float(self.p) if given == "minkowski" else given

    @metric.setter
    def metric(self, given):
        vars(self)["metric"] = given


class KNeighborsClassifier(_Neighbours, mercer.KNN):
    def __init__(
        self, n_neighbors=5, *, weights="uniform", algorithm="auto", leaf_size=30, p=2,
        metric="minkowski", metric_params=None, n_jobs=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class KNeighborsRegressor(_Neighbours, mercer.KNNRegressor):
    def __init__(
        self, n_neighbors=5, *, weights="uniform", algorithm="auto", leaf_size=30, p=2,
        metric="minkowski", metric_params=None, n_jobs=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class NearestNeighbors(_Neighbours, mercer.NearestNeighbors):
    def __init__(
        self, *, n_neighbors=5, radius=1.0, algorithm="auto", leaf_size=30, metric="minkowski",
        p=2, metric_params=None, n_jobs=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class AdaBoostClassifier(mercer.AdaBoost):
    warm_start = False

    def __init__(self, estimator=None, *, n_estimators=50, learning_rate=1.0, random_state=None):
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class FastICA(mercer.ICA):
    n_init = 1
    contrast = property(lambda self: self.fun)

    whiten = property(lambda self: bool(vars(self)["whiten"]))

    @property
    def algorithm(self):
        return {"parallel": "symmetric"}.get(vars(self)["algorithm"], vars(self)["algorithm"])

    def __init__(
        self, n_components=None, *, algorithm="parallel", whiten="unit-variance", fun="logcosh",
        fun_args=None, max_iter=200, tol=1e-4, w_init=None, whiten_solver="svd", random_state=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class GaussianMixture(mercer.GMM):
    criterion, time_limit = "bic", None
    covariance = property(lambda self: {"diag": "diagonal"}.get(*[self.covariance_type] * 2))
    reg = property(lambda self: self.reg_covar)
    start = property(lambda self: self.means_init)
    converged_ = property(lambda self: self.certificate_.ok)

    def __init__(
        self, n_components=1, *, covariance_type="full", tol=1e-3, reg_covar=1e-6, max_iter=100,
        n_init=1, init_params="kmeans", weights_init=None, means_init=None, precisions_init=None,
        random_state=None, warm_start=False, verbose=0, verbose_interval=10,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class _Network:
    """α is divided by the rows there, and multiplies a mean here; columns are left as they are."""

    standardize, time_limit = False, None
    hidden = property(lambda self: self.hidden_layer_sizes)
    max_epochs = property(lambda self: self.max_iter)
    patience = property(lambda self: self.n_iter_no_change)
    validation = property(lambda self: self.validation_fraction)
    n_layers_ = property(lambda self: len(self.coefs_) + 1)
    n_outputs_ = property(lambda self: len(self.intercepts_[-1]))
    loss_ = property(lambda self: self.loss_curve_[-1])
    lam = property(lambda self: self.alpha / self._rows)

    @property
    def activation(self):
        given = vars(self)["activation"]
        return {"logistic": "sigmoid", "identity": "linear"}.get(given, given)

    @activation.setter
    def activation(self, given):
        vars(self)["activation"] = given

    @property
    def batch_size(self):
        given = vars(self)["batch_size"]
        return 200 if given == "auto" else given

    @batch_size.setter
    def batch_size(self, given):
        vars(self)["batch_size"] = given

    @property
    def learning_rate(self):
        return self.learning_rate_init

    @learning_rate.setter
    def learning_rate(self, given):
        vars(self)["learning_rate"] = given

    def fit(self, X, y, sample_weight=None):
        vars(self)["_rows"] = np.shape(X)[0]
        return super().fit(X, y, sample_weight)

    def _partial_fit(self, X, y, *args, **kwargs):
        vars(self).setdefault("_rows", np.shape(X)[0])
        return super().partial_fit(X, y, *args, **kwargs)

    partial_fit = property(lambda self: super().partial_fit and self._partial_fit)


class MLPClassifier(_Network, mercer.MLPClassifier):
    def __init__(
        self, hidden_layer_sizes=(100,), activation="relu", *, solver="adam", alpha=1e-4,
        batch_size="auto", learning_rate="constant", learning_rate_init=1e-3, power_t=0.5,
        max_iter=200, shuffle=True, random_state=None, tol=1e-4, verbose=False, warm_start=False,
        momentum=0.9, nesterovs_momentum=True, early_stopping=False, validation_fraction=0.1,
        beta_1=0.9, beta_2=0.999, epsilon=1e-8, n_iter_no_change=10, max_fun=15000,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class MLPRegressor(_Network, mercer.MLPRegressor):
    def __init__(
        self, loss="squared_error", hidden_layer_sizes=(100,), activation="relu", *, solver="adam",
        alpha=1e-4, batch_size="auto", learning_rate="constant", learning_rate_init=1e-3,
        power_t=0.5, max_iter=200, shuffle=True, random_state=None, tol=1e-4, verbose=False,
        warm_start=False, momentum=0.9, nesterovs_momentum=True, early_stopping=False,
        validation_fraction=0.1, beta_1=0.9, beta_2=0.999, epsilon=1e-8, n_iter_no_change=10,
        max_fun=15000,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class LabelSpreading(mercer.GraphSpreading):
    """The kernel there is a graph here, and α counts neighbours in both."""

    neighbors, clamp, unlabelled, time_limit, memory = "auto", False, -1, None, None
    graph = property(lambda self: None)

    def __init__(
        self, kernel="rbf", *, gamma=20, n_neighbors=7, alpha=0.2, max_iter=30, tol=1e-3,
        n_jobs=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})
