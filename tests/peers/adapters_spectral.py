"""Projections and embeddings of this library under the parameters of scikit-learn's."""

from __future__ import annotations

import mercer


class PCA(mercer.PCA):
    route, tolerance = "auto", 1e-8
    random_state = property(lambda self: 0)

    def __init__(
        self, n_components=None, *, copy=True, whiten=False, svd_solver="auto", tol=0.0,
        iterated_power="auto", n_oversamples=10, power_iteration_normalizer="auto",
        random_state=None,
    ):  # fmt: skip
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        given.pop("random_state")
        vars(self).update(given)


class Isomap(mercer.Isomap):
    """`metric` and `p` are a norm here, and n_neighbors is not looked at beside a radius."""

    @property
    def metric(self):
        given = vars(self)["metric"]
        named = {"manhattan": "l1", "cityblock": "l1", "chebyshev": "linf"}
        if given == "minkowski":
            return "euclidean" if self.p == 2 else float(self.p)
        return named.get(given, given)

    @property
    def n_neighbors(self):
        given = vars(self)["n_neighbors"]
        return 5 if given is None and self.radius is not None else given

    def __init__(
        self, *, n_neighbors=5, radius=None, n_components=2, eigen_solver="auto", tol=0,
        max_iter=None, path_method="auto", neighbors_algorithm="auto", n_jobs=None,
        metric="minkowski", p=2, metric_params=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class LocallyLinearEmbedding(mercer.LLE):
    def __init__(
        self, *, n_neighbors=5, n_components=2, reg=1e-3, eigen_solver="auto", tol=1e-6,
        max_iter=100, method="standard", hessian_tol=1e-4, modified_tol=1e-12,
        neighbors_algorithm="auto", random_state=None, n_jobs=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class LinearDiscriminantAnalysis(mercer.LDA):
    """With the solvers "lsqr" and "eigen" covariances are those of the classes, by their priors."""

    covariance = property(lambda self: self.covariance_estimator)

    @property
    def shrinkage(self):
        given = vars(self)["shrinkage"]
        pooled = self.solver == "svd" or self.covariance_estimator is not None
        return given if pooled or given is not None else 0.0

    def __init__(
        self, solver="svd", shrinkage=None, priors=None, n_components=None,
        store_covariance=False, tol=1e-4, covariance_estimator=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})
