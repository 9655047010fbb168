"""Neighbours, boosting and independent components under the parameters of scikit-learn's."""

from __future__ import annotations

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
