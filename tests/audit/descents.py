"""What ends at a stationary point: dependent sources, networks, mixtures, divided graphs.

None of these proofs speaks of a global optimum; that the point is stationary can be computed from
the fitted attributes and the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from tests.audit.claim import SLACK, Case, Claim, audits, rounding
from tests.audit.exact import exact, kernel_matrix, largest, norm, squared_distances

ROUNDED = 1e-9  # what float64 leaves of a derivative by an angle, by the auditor's own formulas


# ---------------------------------------------------------------- KernelICA
@audits("KernelICA")
def audit_kernel_sources(case: Case) -> Iterator[Claim]:
    """The sources are white, and no turn of two of them changes their dependence.

    J = ½ Σ log det(I + Kᵢ/nλ) − ½ log det(I + ΣKᵢ/nλ), with centred kernel matrices of the sources.
    """
    model = case.model
    Y = (exact(case.X) - exact(model.mean_)) @ exact(model.components_).T
    n, k = Y.shape
    white = (Y.T @ Y) / n - np.eye(k)
    yield Claim("correlation of the sources", largest(white), SLACK * case.tolerance + 1e-6)
    Y = Y.astype(np.float64)
    J, slopes = _dependence(Y, model.gamma, model.lam)
    yield Claim("contrast", abs(J - model.contrast_), 1e-6 * max(1.0, abs(J)))
    for i, j in combinations(range(k), 2):
        turn = slopes[i] @ Y[:, j] - slopes[j] @ Y[:, i]
        yield Claim(f"turn of {i} and {j}", abs(turn), SLACK * case.tolerance + ROUNDED)


def _dependence(Y: np.ndarray, gamma: float, lam: float) -> tuple[float, np.ndarray]:
    """Return J and its derivatives by the values of the sources, shape (k, n)."""
    n = len(Y)
    H = np.eye(n) - 1.0 / n
    gaps = Y.T[:, :, None] - Y.T[:, None, :]  # (k, n, n)
    raw = np.exp(-gamma * gaps**2)
    A = H @ raw @ H / (n * lam)
    joint = np.eye(n) + A.sum(axis=0)
    alone = np.eye(n) + A
    J = 0.5 * (np.linalg.slogdet(alone)[1].sum() - np.linalg.slogdet(joint)[1])
    M = H @ (np.linalg.inv(alone) - np.linalg.inv(joint)) @ H / (2 * n * lam)  # ∂J/∂raw
    return float(J), 2.0 * (M * raw * (-2.0 * gamma * gaps)).sum(axis=2)


# ---------------------------------------------------------------- networks
SIGMA = {
    "linear": (lambda h: h, lambda h, s: np.ones_like(h)),
    "tanh": (np.tanh, lambda h, s: 1 - s**2),
    "sigmoid": (lambda h: 1 / (1 + np.exp(-h)), lambda h, s: s * (1 - s)),
    "relu": (lambda h: np.maximum(h, 0), lambda h, s: (h > 0) * np.ones_like(h)),
}


@audits("MLPClassifier", "MLPRegressor", "Autoencoder")
def audit_network(case: Case) -> Iterator[Claim]:
    """The gradient by all weights and biases is what the proof says, and small beside the first.

    The weights are those of columns with mean 0 and deviation 1, which the rows tell.
    """
    model, parts = case.model, case.model.certificate_.parts
    for layer in (*model.coefs_, *model.intercepts_):
        yield Claim("a weight that is no number", float(not np.isfinite(layer).all()), 0.0)
    if not hasattr(model, "classes_") and np.ptp(case.y) == 0:
        return  # a constant target has no unit that the rows tell
    size = _gradient(case)
    told, start = parts["gradient_norm"], parts["gradient_norm_at_start"]
    # the first biases hold the means of the columns, in float64
    blur = rounding(1 + _offset(case)) * start
    yield Claim("gradient", size, SLACK * case.tolerance * start + blur)
    yield Claim("gradient that is told", abs(size - told), 1e-3 * told + blur)


def _offset(case: Case) -> Any:
    mean, unit = _units(case.X, exact(case.weight), common=False)
    return largest(mean / unit)


def _units(table: Any, weight: np.ndarray, common: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return means and deviations of columns, or one deviation for all; of constant ones 1."""
    Z = exact(table)
    share = weight / weight.sum()
    mean = share @ Z
    square = share @ (Z - mean) ** 2
    level = np.abs(mean)
    if common:
        square, level = square.mean() * np.ones_like(square), level.max()
    flat = np.sqrt(square) <= 8 * np.finfo(np.float64).eps * level
    return mean, np.where(flat | (square <= np.longdouble(1e-300) ** 2), 1, np.sqrt(square))


def _gradient(case: Case) -> Any:
    model, weight = case.model, exact(case.weight)
    kept = case.weight > 0
    rows, weight = exact(case.X)[kept], weight[kept]
    is_coder, is_class = type(model).__name__ == "Autoencoder", hasattr(model, "classes_")
    mean, unit = _units(rows, weight, common=is_coder)
    Ws, bs = [exact(W) for W in model.coefs_], [exact(b) for b in model.intercepts_]
    bs[0], Ws[0] = bs[0] + mean @ Ws[0], Ws[0] * unit[:, None]
    if is_class:
        T = np.searchsorted(model.classes_, np.asarray(case.y)[kept])
    else:
        target = rows if is_coder else exact(case.y)[kept].reshape(len(rows), -1)
        out_mean, out_unit = (mean, unit) if is_coder else _units(target, weight, common=False)
        Ws[-1], bs[-1] = Ws[-1] / out_unit, (bs[-1] - out_mean) / out_unit
        T = (target - out_mean) / out_unit
    return _norm_of_slopes(model, (rows - mean) / unit, T, weight / weight.sum(), Ws, bs)


def _activations(model: Any, layers: int) -> list[str]:
    """Return σ of each layer: none of the last; of a code between layers none either."""
    names = [model.activation] * (layers - 1) + ["linear"]
    if type(model).__name__ == "Autoencoder" and layers > 2:
        names[layers // 2 - 1] = "linear"
    return names


def _norm_of_slopes(
    model: Any, H: np.ndarray, T: np.ndarray, share: np.ndarray, Ws: list, bs: list
) -> Any:
    names, seen, slopes = _activations(model, len(Ws)), [H], []
    for W, b, name in zip(Ws, bs, names, strict=True):
        before = H @ W + b
        H = SIGMA[name][0](before)
        slopes.append(SIGMA[name][1](before, H))
        seen.append(H)
    back = share[:, None] * _loss_slopes(H, T)
    total = np.longdouble(0)
    for i in reversed(range(len(Ws))):
        back = back * slopes[i]
        by_weight = seen[i].T @ back + exact(model.lam) * Ws[i]
        total += (by_weight**2).sum() + (back.sum(axis=0) ** 2).sum()
        back = back @ Ws[i].T
    return np.sqrt(total)


def _loss_slopes(F: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Return the derivative of the loss by the outputs: squared error, or −log of a probability."""
    if T.dtype.kind not in "iu":
        return F - T
    if F.shape[1] == 1:
        return 1 / (1 + np.exp(-F)) - T[:, None]
    P = np.exp(F - F.max(axis=1, keepdims=True))
    P = P / P.sum(axis=1, keepdims=True)
    P[np.arange(len(P)), T] -= 1
    return P


# ---------------------------------------------------------------- mixtures
@audits("GMM")
def audit_mixture(case: Case) -> Iterator[Claim]:
    """A step of EM, by the auditor's own formulas, adds at most what the proof says."""
    model, steps = case.model, exact(case.model.certificate_.parts["steps"])
    falls = np.maximum(steps[:-1] - steps[1:], 0.0)
    yield Claim("fall of the likelihood", largest(falls), 1e-7 * max(1.0, largest(steps)))
    yield Claim("weights", abs(exact(model.weights_).sum() - 1), 1e-10)
    kept = case.weight > 0
    scale, share = exact(model.scale_), (case.weight / case.weight.sum())[kept]
    if not (scale > 1e-290).all():  # means in such units have lost their digits
        return
    Z = ((exact(case.X)[kept] - exact(model.center_)) / scale).astype(np.float64)
    means = ((exact(model.means_) - exact(model.center_)) / scale).astype(np.float64)
    covariances = _in_units(model)
    now, belongs = _likelihood(Z, share, model.weights_, means, covariances)
    after, _ = _likelihood(Z, share, *_maximised(model, Z, share, belongs))
    gain = after - now
    # variances of 1e-6 magnify the rounding of the means a million times
    yield Claim("gain of a step", abs(gain), SLACK * case.tolerance + 1e-6 * max(1.0, abs(now)))


def _in_units(model: Any) -> np.ndarray:
    """Return the covariances in units of the columns, a matrix for each component."""
    R, (k, d) = model.factors_, model.means_.shape
    if R.ndim == 2:
        R = R[:, :, None] * np.eye(d)
    return np.broadcast_to(R @ R.transpose(0, 2, 1), (k, d, d))


def _likelihood(
    Z: np.ndarray, share: np.ndarray, weights: np.ndarray, means: np.ndarray, S: np.ndarray
) -> tuple[float, np.ndarray]:
    logs = np.empty((len(Z), len(weights)))
    for c, (w, m, cov) in enumerate(zip(weights, means, S, strict=True)):
        gap = Z - m
        far = (gap * np.linalg.solve(cov, gap.T).T).sum(axis=1)
        log_det = np.linalg.slogdet(2 * np.pi * cov)[1]
        logs[:, c] = (np.log(w) if w > 0 else -np.inf) - 0.5 * (log_det + far)
    top = logs.max(axis=1, keepdims=True)
    row = top[:, 0] + np.log(np.exp(logs - top).sum(axis=1))
    return float(share @ row), np.exp(logs - row[:, None])


def _maximised(
    model: Any, Z: np.ndarray, share: np.ndarray, belongs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return shares, means and covariances of rows that belong so; no variance below the floor."""
    mass = share[:, None] * belongs
    weights = mass.sum(axis=0)
    used = np.maximum(weights, 1e-300)
    means = (mass.T @ Z) / used[:, None]
    S = np.array([(mass[:, c] * (Z - means[c]).T) @ (Z - means[c]) for c in range(len(weights))])
    S = S / used[:, None, None]
    d = Z.shape[1]
    if model.covariance == "tied":
        S = np.broadcast_to(np.tensordot(weights, S, 1), S.shape)
    if model.covariance == "diagonal":
        S = S * np.eye(d)
    if model.covariance == "spherical":
        S = np.trace(S, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
    values, V = np.linalg.eigh(S)
    floored = np.maximum(values, model.reg)
    return weights, means, (V * floored[:, None, :]) @ V.transpose(0, 2, 1)


# ---------------------------------------------------------------- graphs
@audits("SpectralEmbedding", "SpectralClustering")
def audit_graph_functions(case: Case) -> Iterator[Claim]:
    """Σⱼ W_ij f_j = (1 − μ) d_i f_i for every function f; every centre is the nearest."""
    model = case.model
    values, F = exact(model.eigenvalues_), exact(model.embedding_)
    yield Claim("a value that is no number", float(not np.isfinite(values).all()), 0.0)
    if type(model).__name__ == "SpectralClustering":
        yield from _division(F, model)
    W = _affinities(case)
    if W is None:
        return
    degrees = W.sum(axis=1)
    degrees = np.where(degrees > 0, degrees, 1)
    if type(model).__name__ == "SpectralClustering" or (degrees > 1e-280).all():
        for k, f in enumerate(F.T):
            off = (W @ f - (1 - values[k]) * degrees * f) / np.sqrt(degrees)
            alone = W.sum(axis=1) == 0  # a point without affinities is a part of its own
            size = norm(np.sqrt(degrees) * f)
            allowed = (2 * SLACK * case.tolerance + 1e-12) * size
            yield Claim(f"function {k}", norm(off[~alone]), allowed)


def _affinities(case: Case) -> np.ndarray | None:
    """Return W of a kernel, or ½ for each of a point's neighbours; None if ties leave a choice."""
    model = case.model
    if getattr(model, "kernel_", None) is not None:
        W = kernel_matrix(model.kernel_, case.X, case.X)
        np.fill_diagonal(W, 0)
        return W
    D = squared_distances(case.X, case.X)
    np.fill_diagonal(D, np.inf)
    k = min(model.n_neighbors, len(D)) - 1
    order = np.sort(D, axis=1)
    blur = rounding(largest(case.X)) * np.sqrt(order[:, k - 1])
    if k < len(D) - 1 and (order[:, k] <= order[:, k - 1] * (1 + 1e-9) + blur).any():
        return None
    near = order[:, [k - 1]] >= D
    return 0.5 * (exact(near) + exact(near.T))


def _division(F: np.ndarray, model: Any) -> Iterator[Claim]:
    """No point is nearer to another centre, and centres are the means of their points."""
    C = exact(model.cluster_centers_)
    D = ((F[:, None] - C) ** 2).sum(axis=2)
    spread = ((F - F.mean(axis=0)) ** 2).sum(axis=1).max()
    own = D[np.arange(len(F)), model.labels_]
    yield Claim("a nearer centre", (own - D.min(axis=1)).max(), 1e-6 * spread + 1e-300)
    yield Claim("what is left", abs(own.sum() - exact(model.inertia_)), 1e-6 * len(F) * spread)
    for c in np.unique(model.labels_):
        off = F[model.labels_ == c].mean(axis=0) - C[c]
        yield Claim(f"centre {c}", (off**2).sum(), 1e-8 * spread + 1e-300)
