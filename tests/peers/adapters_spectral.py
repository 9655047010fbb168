"""Projections and embeddings of this library under the parameters of scikit-learn's."""

from __future__ import annotations

import mercer
from mercer import kernels
from tests.peers.adapters import kernel_of


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


class QuadraticDiscriminantAnalysis(mercer.GaussianBayes):
    order, tied, loss, ddof, reject, reject_label = None, False, None, 0, None, None
    covariance = property(lambda self: self.covariance_estimator)

    @property
    def shrinkage(self):
        given = vars(self)["shrinkage"]
        return self.reg_param or None if given is None else given

    @shrinkage.setter
    def shrinkage(self, given):
        vars(self)["shrinkage"] = given

    def __init__(
        self, *, solver="svd", shrinkage=None, priors=None, reg_param=0.0, store_covariance=False,
        tol=1e-4, covariance_estimator=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})

    covariance_ = property(lambda self: list(self.covariances_))


class CCA(mercer.CCA):
    """Weights of scikit-learn are for columns in units of their deviations."""

    lam = 0.0

    def __init__(self, n_components=2, *, scale=True, max_iter=500, tol=1e-6, copy=True):
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class SparsePCA(mercer.SparsePCA):
    lam, time_limit = property(lambda self: self.alpha), None
    n_components_ = property(lambda self: len(self.components_))

    def __init__(
        self, n_components=None, *, alpha=1, ridge_alpha=0.01, max_iter=1000, tol=1e-8,
        method="lars", n_jobs=None, U_init=None, V_init=None, verbose=False, random_state=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class GaussianRandomProjection(mercer.RandomProjection):
    kind = "gaussian"

    def __init__(
        self, n_components="auto", *, eps=0.1, compute_inverse_components=False, random_state=None
    ):
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class SparseRandomProjection(mercer.RandomProjection):
    kind = "sparse"

    def __init__(
        self, n_components="auto", *, density="auto", eps=0.1, dense_output=False,
        compute_inverse_components=False, random_state=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class _Affine:
    """An affinity by name reads gamma, degree and coef0, as everywhere in scikit-learn."""

    named_parts: dict[str, object] = {}

    @property
    def affinity(self):
        given = vars(self)["affinity"]
        beside = ("precomputed", "nearest_neighbors", "precomputed_nearest_neighbors")
        if given in beside or isinstance(given, kernels.Kernel):
            return given
        degree, coef0 = getattr(self, "degree", 3), getattr(self, "coef0", 1)
        gamma = "auto" if self.gamma is None else self.gamma
        return kernel_of(given, gamma, degree, coef0)

    @affinity.setter
    def affinity(self, given):
        vars(self)["affinity"] = given


class SpectralClustering(_Affine, mercer.SpectralClustering):
    def __init__(
        self, n_clusters=8, *, eigen_solver=None, n_components=None, random_state=None, n_init=10,
        gamma=1.0, affinity="rbf", n_neighbors=10, eigen_tol="auto", assign_labels="kmeans",
        degree=3, coef0=1, kernel_params=None, n_jobs=None, verbose=False,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class SpectralEmbedding(_Affine, mercer.SpectralEmbedding):
    @property
    def n_neighbors(self):
        return vars(self)["n_neighbors"] or 10

    @n_neighbors.setter
    def n_neighbors(self, given):
        vars(self)["n_neighbors"] = given

    def __init__(
        self, n_components=2, *, affinity="nearest_neighbors", gamma=None, random_state=None,
        eigen_solver=None, eigen_tol="auto", n_neighbors=None, n_jobs=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class ClassicalMDS(mercer.MDS):
    def __init__(self, n_components=2, *, metric="euclidean", metric_params=None):
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        vars(self).update(given, transform=None)

    def get_params(self, deep=True):
        return {name: vars(self)[name] for name in self._get_param_names()}


class Nystroem(mercer.Nystrom):
    landmarks, memory, named_parts = "uniform", None, {}

    @property
    def kernel(self):
        given, gamma = vars(self)["kernel"], self.gamma
        if isinstance(given, kernels.Kernel):
            return given
        coef0 = 1 if self.coef0 is None else self.coef0
        return kernel_of(given, "auto" if gamma is None else gamma, self.degree or 3, coef0)

    @kernel.setter
    def kernel(self, given):
        vars(self)["kernel"] = given

    component_indices_ = property(lambda self: self.landmark_indices_)
    components_ = property(lambda self: self.landmarks_)

    def __init__(
        self, kernel="rbf", *, gamma=None, coef0=None, degree=None, kernel_params=None,
        n_components=100, random_state=None, n_jobs=None,
    ):  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


class RBFSampler(mercer.RandomFourier):
    orthogonal, memory, named_parts = True, None, {}
    kernel = property(lambda self: kernels.RBF(self.gamma))

    def __init__(self, *, gamma=1.0, n_components=100, random_state=None):
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})
