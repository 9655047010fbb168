"""Neighbours, stumps, class means, clusters and feature maps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.audit.claim import SLACK, Case, Claim, audits, rounding
from tests.audit.exact import (
    exact,
    kernel_diagonal,
    kernel_matrix,
    largest,
    squared_distances,
)


def feature_distances(kernel: Any, X: Any) -> np.ndarray:
    """Return ‖φ(x) − φ(y)‖² of all pairs; for falling functions of a distance that distance."""
    if type(kernel).__name__ in ("Linear", "RBF", "Exponential"):
        return squared_distances(X, X)
    own = kernel_diagonal(kernel, X)
    return own[:, None] + own[None, :] - 2 * kernel_matrix(kernel, X, X)


@audits("KNN", "KNNRegressor")
def audit_neighbors(case: Case) -> Iterator[Claim]:
    """A prediction for a training row is that of its k nearest, where no tie leaves a choice."""
    model, y = case.model, np.asarray(case.y)
    D, k = feature_distances(model.kernel_, case.X), model.n_neighbors
    found = model.predict(case.X)
    for i, row in enumerate(D):
        order = np.argsort(row, kind="stable")
        if k < len(row) and row[order[k]] <= row[order[k - 1]] * (1 + 1e-9):
            continue
        near = y[order[:k]]
        if hasattr(model, "classes_"):
            counts = np.array([(near == c).sum() for c in model.classes_])
            clear = (counts == counts.max()).sum() == 1
            wrong = clear and found[i] != model.classes_[counts.argmax()]
            yield Claim(f"label of row {i}", float(wrong), 0.0)
        else:
            allowed = rounding(np.abs(exact(near)).mean())
            yield Claim(f"mean of row {i}", abs(found[i] - exact(near).mean()), allowed)


@audits("NearestNeighbors")
def audit_distances(case: Case) -> Iterator[Claim]:
    """The distances of a row's nearest are the smallest of all its distances."""
    model = case.model
    D = np.sqrt(np.sort(squared_distances(case.X, case.X), axis=1))
    k = min(model.n_neighbors, len(D))
    found, _ = model.kneighbors(case.X, k)
    allowed = 1e-9 * D[:, :k] + rounding(largest(case.X))
    off = np.abs(exact(found) - D[:, :k]) - allowed
    yield Claim("distance of a neighbour", off.max(), 0.0)


@audits("AdaBoost")
def audit_boosting(case: Case) -> Iterator[Claim]:
    """The weighted share of wrong training labels is within the bound of the theorem."""
    model, X = case.model, np.asarray(case.X)
    votes = np.zeros((len(X), len(model.classes_)), dtype=np.longdouble)
    stumps = zip(model.stump_columns_, model.stump_thresholds_, model.stump_classes_, strict=True)
    for (column, threshold, sides), alpha in zip(stumps, model.estimator_weights_, strict=True):
        side = (X[:, max(column, 0)] > threshold).astype(int)
        votes[np.arange(len(X)), np.asarray(sides)[side]] += exact(alpha)
    best = votes.max(axis=1)
    own = votes[np.arange(len(X)), np.searchsorted(model.classes_, np.asarray(case.y))]
    wrong = own < best * (1 - 1e-12)  # equal votes are a choice
    share = exact(case.weight) / exact(case.weight).sum()
    yield Claim("training error", share @ wrong, SLACK * case.tolerance + 1e-12)


@audits("GaussianBayes")
def audit_gaussians(case: Case) -> Iterator[Claim]:
    """The means of the classes are those of the rows, in the unit of the columns."""
    model, y, weight = case.model, np.asarray(case.y), exact(case.weight)
    X = exact(case.X)
    for c, label in enumerate(model.classes_):
        rows, w = X[y == label], weight[y == label]
        mean = (w @ rows) / w.sum()
        far = np.abs(exact(model.means_[c]) - mean)
        size = SLACK * case.tolerance * exact(model.scale_) + rounding(np.abs(mean))
        yield Claim(f"mean of {label}", (far / np.maximum(size, 1e-4000)).max(), 1.0)


@audits("KernelKMeans")
def audit_clusters(case: Case) -> Iterator[Claim]:
    """No point is nearer to another centre, by more than a billionth of all distances."""
    model, weight = case.model, exact(case.weight)
    K, own = kernel_matrix(model.kernel_, case.X, case.X), kernel_diagonal(model.kernel_, case.X)
    columns = []
    for c in np.unique(model.labels_[case.weight > 0]):
        a = np.where(model.labels_ == c, weight, 0)
        a = a / a.sum()
        columns.append(own - 2 * (K @ a) + a @ K @ a)
    D, names = np.column_stack(columns), np.unique(model.labels_[case.weight > 0])
    now = D[np.arange(len(D)), np.searchsorted(names, model.labels_)]
    mean = weight / weight.sum()
    spread = (own - 2 * (K @ mean) + mean @ K @ mean).max()
    gain = (now - D.min(axis=1))[case.weight > 0].max()
    yield Claim("a nearer centre", gain, 1e-6 * spread + np.finfo(np.float64).tiny)


# ---------------------------------------------------------------- maps
def _products(features: Any) -> np.ndarray:
    F = exact(features)
    return F @ F.T


@audits("RandomProjection")
def audit_projection(case: Case) -> Iterator[Claim]:
    """Squared distances of all pairs are kept up to what was promised."""
    X = exact(case.X)
    Z = X @ exact(case.model.components_).T
    before, after = squared_distances(X, X), squared_distances(Z, Z)
    apart = before > 0
    worst = np.abs(after[apart] / before[apart] - 1).max(initial=0.0)
    # differences of features that are far off have lost digits
    blur = rounding(largest(X)) / np.sqrt(before[apart].min(initial=np.inf))
    if case.model.certificate_.parts["pairs"] == len(X) * (len(X) - 1) // 2:
        yield Claim("distortion", worst, SLACK * case.tolerance + 16 * blur)


@audits("RandomFourier")
def audit_fourier(case: Case) -> Iterator[Claim]:
    K = kernel_matrix(case.model.kernel_, case.X, case.X)
    error = largest(_products(case.model.transform(case.X)) - K)
    yield Claim("kernel error", error, SLACK * case.tolerance + 1e-6)


@audits("EmpiricalMap")
def audit_empirical(case: Case) -> Iterator[Claim]:
    model = case.model
    K = kernel_matrix(model.kernel_, case.X, exact(case.X)[model.point_indices_])
    digits = 1e-6 if np.asarray(case.X).dtype == np.float32 else 1e-8
    yield Claim("values", largest(exact(model.transform(case.X)) - K), digits * largest(K))


@audits("Nystrom")
def audit_landmarks(case: Case) -> Iterator[Claim]:
    model, R = case.model, exact(case.model.factor_)
    K = kernel_matrix(model.kernel_, model.landmarks_, model.landmarks_)
    allowed = SLACK * case.tolerance * largest(K) + rounding(largest(K))
    yield Claim("landmark residual", largest(R.T @ R - K), allowed)


@audits("PolynomialMap")
def audit_monomials(case: Case) -> Iterator[Claim]:
    model, X = case.model, exact(case.X)
    K = (exact(model.scale) * (X @ X.T) + exact(model.bias)) ** int(model.degree)
    single = np.asarray(case.X).dtype == np.float32
    F = _products(model.transform(np.asarray(case.X, dtype=np.float64)))
    allowed = (1e-5 if single else SLACK * case.tolerance) * largest(K) + rounding(largest(K))
    yield Claim("Gram error", largest(F - K), allowed)
