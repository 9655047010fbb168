"""The estimators under audit: those of the suite, and variants whose proofs are other ones."""

from __future__ import annotations

from mercer import (
    LLE,
    SVC,
    SVR,
    KernelLogistic,
    KernelMachine,
    KernelPCA,
    KernelRidge,
    KernelRidgeClassifier,
    LaplacianRidge,
    LaplacianRidgeClassifier,
    LaplacianSVC,
    LinearSVC,
    LogisticRegression,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from mercer.kernels import RBF, Exponential, Laplacian, Linear, Polynomial
from tests.cases import ESTIMATORS

VARIANTS = [
    SVC("linear"),
    SVC("linear", C=1e3),
    SVC(C=1e4, tol=1e-5),
    SVC("linear", C=float("inf")),
    SVC(RBF(gamma=5.0), C=float("inf")),
    SVC(Polynomial(degree=3), multiclass="ovr"),
    SVC(class_weight="balanced", lam=0.1),
    SVC(Laplacian(), C=1e-3, class_weight="balanced"),
    SVC(Linear().normalized(), C=100.0),
    SVC(Polynomial(degree=2, bias=0.0).normalized()),
    SVR("linear", C=10.0),
    SVR(Exponential(), C=1e3, epsilon=0.0),
    OneClassSVM("linear", nu=0.1),
    NuSVC("linear", nu=0.2, tol=1e-5),
    NuSVC(Laplacian(), nu=0.1),
    NuSVR("linear", nu=0.7, C=100.0),
    NuSVR(Exponential(), nu=1.0),
    OneClassSVM(Polynomial(degree=2), nu=0.3),
    LinearSVC(C=100.0, class_weight="balanced", random_state=0),
    LinearSVC(fit_intercept=False, random_state=0),
    KernelRidge(lam=1e-8),
    KernelRidge("linear", lam=1e-3),
    KernelRidge(Polynomial(degree=3), lam=1e-2),
    KernelRidge(Linear().normalized(), lam=0.1),
    KernelRidgeClassifier("linear", class_weight="balanced"),
    KernelLogistic("linear", lam=1e-2),
    KernelLogistic(lam=1e-4, class_weight="balanced", fit_intercept=False),
    KernelMachine("hinge", kernel="linear", lam=1e-2),
    KernelMachine("absolute", lam=1e-2),
    KernelMachine("huber", kernel="linear", lam=1e-3),
    # of three classes the last has no labels
    LaplacianSVC(C=10.0, lam_graph=10.0, unlabelled=2),
    LaplacianSVC(n_neighbors=3, power=2, fit_intercept=True, unlabelled=2),
    LaplacianRidge("linear", lam=1e-2, lam_graph=1.0, normalized=False, n_neighbors=4),
    LaplacianRidgeClassifier(lam_graph=10.0, class_weight="balanced", unlabelled=2),
    LogisticRegression(lam=3.0, l1_ratio=0.9, fit_intercept=False),
    LLE(method="ltsa"),
    LLE(method="hessian", n_neighbors=8),
    KernelPCA(kernel="linear"),
    KernelPCA(3, kernel=Polynomial(degree=2)),
]

AUDITED = [*ESTIMATORS, *VARIANTS]
