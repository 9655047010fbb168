"""Projections and embeddings: eigenvalue equations, orthogonality and whiteness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from tests.audit.claim import SLACK, Case, Claim, audits, rounding
from tests.audit.exact import exact, kernel_matrix, largest, norm, squared_distances

LEAST = exact(np.finfo(np.float64).tiny)  # an eigenvalue below this has lost its digits


def eigen_claims(
    A: Any, values: Any, vectors: Any, case: Case, scale: Any = None
) -> Iterator[Claim]:
    """A v = λ v and vᵀv' = δ, relative to the largest eigenvalue."""
    values, V = exact(values), exact(vectors)
    size = largest(values) if scale is None else exact(scale)
    allowed = SLACK * case.tolerance * size + rounding(size) + LEAST
    for k, v in enumerate(V.T):
        yield Claim(f"eigenpair {k}", norm(A @ v - values[k] * v), allowed)
    skew = largest(V.T @ V - np.eye(V.shape[1]))
    yield Claim("orthogonality", skew, SLACK * case.tolerance + rounding(1.0))


def centered_rows(X: Any) -> np.ndarray:
    """Return the rows about their mean."""
    X = exact(X)
    return X - X.mean(axis=0)


def centered_matrix(K: np.ndarray) -> np.ndarray:
    """Return HKH."""
    rows = K - K.mean(axis=0)
    return rows - rows.mean(axis=1, keepdims=True)


@audits("PCA")
def audit_components(case: Case) -> Iterator[Claim]:
    A, model = centered_rows(case.X), case.model
    C = A.T @ A / max(len(A) - 1, 1)
    yield from eigen_claims(C, model.explained_variance_, exact(model.components_).T, case)
    astray = np.abs(exact(model.mean_) - exact(case.X).mean(axis=0))
    yield Claim("mean", (astray - rounding(np.abs(exact(case.X)).max(axis=0))).max(), 0.0)


@audits("KernelPCA")
def audit_kernel_components(case: Case) -> Iterator[Claim]:
    K = centered_matrix(kernel_matrix(case.model.kernel_, case.X, case.X))
    yield from eigen_claims(K, case.model.eigenvalues_, case.model.eigenvectors_, case)


@audits("KernelPCAMap")
def audit_kernel_map(case: Case) -> Iterator[Claim]:
    K = kernel_matrix(case.model.kernel_, case.X, case.X)
    yield from eigen_claims(K, case.model.eigenvalues_, case.model.eigenvectors_, case)


# ---------------------------------------------------------------- coordinates from distances
def _coordinate_claims(halves: np.ndarray, case: Case) -> Iterator[Claim]:
    """B z = λ z for the coordinates z = √λ v, with B = −½HD²H."""
    B, Z = centered_matrix(halves), exact(case.model.embedding_)
    values = exact(case.model.eigenvalues_)
    if not len(values) or values.max() <= LEAST:
        return
    for k, z in enumerate(Z.T):
        allowed = SLACK * case.tolerance * values.max() + rounding(values.max())
        allowed = allowed * np.sqrt(values.max())
        yield Claim(f"coordinate {k}", norm(B @ z - values[k] * z), allowed)


@audits("MDS")
def audit_scaling(case: Case) -> Iterator[Claim]:
    D2 = squared_distances(case.X, case.X)
    if type(case.model.transform_).__name__ == "Logarithm":
        D2 = np.log1p(D2 / exact(case.model.transform_.a))
    yield from _coordinate_claims(-0.5 * D2, case)


@audits("Isomap")
def audit_geodesics(case: Case) -> Iterator[Claim]:
    """Edges have the lengths of the rows' distances; coordinates are those of shortest paths."""
    model, n = case.model, len(case.X)
    parts = (model.graph_weights_, model.graph_indices_, model.graph_indptr_)
    graph = csr_array(parts, shape=(n, n))
    lengths = _lengths(exact(case.X), model.metric)
    rows = np.repeat(np.arange(n), np.diff(model.graph_indptr_))
    wanted = lengths[rows, model.graph_indices_]
    error = np.abs(exact(model.graph_weights_) - wanted) - 1e-9 * wanted
    yield Claim("length of an edge", error.max(initial=0.0), rounding(largest(wanted)))
    if model.n_graph_components_ == 1:
        D = exact(shortest_path(graph, directed=False))
        yield from _coordinate_claims(-0.5 * D**2, case)


def _lengths(X: np.ndarray, metric: str) -> np.ndarray:
    """Return the distances of rows in a norm."""
    if metric not in ("l1", "linf"):
        return np.sqrt(squared_distances(X, X))
    gaps = np.abs(X[:, None] - X)
    return gaps.sum(axis=2) if metric == "l1" else gaps.max(axis=2)


@audits("LLE")
def audit_mixtures(case: Case) -> Iterator[Claim]:
    """(I − W)ᵀ(I − W) z = λ z; where the neighbours are not told apart there are many such W."""
    model, X = case.model, exact(case.X)
    D = squared_distances(X, X)
    np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")
    near = np.take_along_axis(D, order[:, : model.n_neighbors + 1], axis=1)
    if len(near.T) > model.n_neighbors and (np.diff(near)[:, -1] <= rounding(near[:, -1])).any():
        return
    index = order[:, : model.n_neighbors]
    values, Z = model.eigenvalues_, model.embedding_
    if model.method == "standard":
        M = np.eye(len(X), dtype=np.longdouble)
        for i, near in enumerate(index):
            M[i, near] -= _mixture(X[near] - X[i], exact(model.reg))
        matrices = [M.T @ M]
    else:
        matrices = list(VARIANTS[model.method](X, index, Z.shape[1]))
    found = [list(eigen_claims(M, values, Z, case, np.abs(M).sum(axis=0).max())) for M in matrices]
    yield from min(found, key=lambda claims: sum(not claim.holds for claim in claims), default=[])


CLOSE = 1e-4  # singular values, relative to the largest: axes between these are not told apart


def _in_units(rows: np.ndarray) -> np.ndarray:
    """Return differences of rows in units of the largest, in float64."""
    return (rows / max(largest(rows), LEAST)).astype(np.float64)


def _axes(rows: np.ndarray, m: int) -> np.ndarray | None:
    """Return the m left singular vectors of the largest values; None where others come close."""
    U, sizes, _ = np.linalg.svd(_in_units(rows))
    sizes = np.append(sizes, np.zeros(len(rows) + 1))
    return U[:, :m] if sizes[m - 1] - sizes[m] > CLOSE * sizes[0] else None


def _summed(index: np.ndarray, costs: list[np.ndarray]) -> np.ndarray:
    M = np.zeros((len(index), len(index)), np.longdouble)
    for near, cost in zip(index, costs, strict=True):
        M[np.ix_(near, near)] += cost
    return M


def _tangents(X: np.ndarray, index: np.ndarray, m: int) -> Iterator[np.ndarray]:
    """Yield the matrix of ltsa: what constants and tangent coordinates leave."""
    frames = [_axes(X[near] - X[near].mean(axis=0), m) for near in index]
    if not any(U is None for U in frames):
        k = index.shape[1]
        yield _summed(index, [np.eye(k) - np.full((k, k), 1 / k) - U @ U.T for U in frames])


def _bends(X: np.ndarray, index: np.ndarray, m: int) -> Iterator[np.ndarray]:
    """Yield the matrix of Hessian LLE: the part of parabolas that no plane explains."""
    costs = []
    for near in index:
        U = _axes(X[near] - X[near].mean(axis=0), m)
        if U is None:
            return
        plane = np.column_stack([np.ones(len(near)), U])
        bent = np.column_stack([U[:, i] * U[:, j] for i in range(m) for j in range(i, m)])
        rest = bent - plane @ np.linalg.lstsq(plane, bent, rcond=None)[0]
        Q, sizes, _ = np.linalg.svd(rest, full_matrices=False)
        if sizes[-1] <= CLOSE * sizes[0]:
            return
        costs.append(Q @ Q.T)
    yield _summed(index, costs)


def _several_mixtures(X: np.ndarray, index: np.ndarray, m: int) -> Iterator[np.ndarray]:
    """Yield the matrices of modified LLE (Zhang and Wang), with a share at the median in or out.

    With P the projection on the s axes of the gaps of a point that matter least, p = P1,
    α = ‖p‖/√s and its weights w, the weights W of the point have W1 = p/α + (1 − α)sw and
    WWᵀ = P + (1 − α)(pwᵀ + wpᵀ)/α + (1 − α)²s wwᵀ.
    """
    gaps = [_in_units(X[near] - X[i]) for i, near in enumerate(index)]
    sizes = np.array([np.linalg.svd(gap, compute_uv=False) for gap in gaps]) ** 2
    leading = np.cumsum(sizes, axis=1)
    shares = (leading[:, -1:] - leading[:, :-1]) / leading[:, :-1]
    typical = np.median((leading[:, -1] - leading[:, m - 1]) / leading[:, m - 1])
    for limit in (typical * (1 - 1e-9), typical * (1 + 1e-9)):
        counts = (shares < limit).sum(axis=1) + index.shape[1] - sizes.shape[1]
        costs = [_cost(gap, int(s)) for gap, s in zip(gaps, counts, strict=True)]
        if not any(cost is None for cost in costs):
            yield _summed(np.column_stack([np.arange(len(X)), index]), costs)


def _cost(gaps: np.ndarray, s: int) -> np.ndarray | None:
    k = len(gaps)
    if s == 0:
        return np.zeros((k + 1, k + 1))
    U = _axes(gaps, k - s) if s < k else np.zeros((k, 0))
    if U is None:
        return None
    P = np.eye(k) - U @ U.T
    p, w = P.sum(axis=0), _mixture(exact(gaps), exact(1e-3))
    alpha = norm(p) / np.sqrt(exact(s))
    if alpha < CLOSE:
        return None
    W1, both = p / alpha + (1 - alpha) * s * w, np.outer(p, w)
    WW = P + (1 - alpha) * (both + both.T) / alpha + (1 - alpha) ** 2 * s * np.outer(w, w)
    return np.block([[exact([[s]]), -W1[None]], [-W1[:, None], WW]])


VARIANTS = {"ltsa": _tangents, "hessian": _bends, "modified": _several_mixtures}


def _mixture(gaps: np.ndarray, reg: Any) -> np.ndarray:
    """Return w with Σw = 1 that minimise ‖Σ w gap‖² + R‖w‖², R = reg Σ‖gap‖², by elimination."""
    G = gaps @ gaps.T
    size = np.trace(G)
    A = G / (reg * size) if size > 0 else np.zeros_like(G)
    A, w = A + np.eye(len(A)), np.ones(len(A), np.longdouble)
    for i in range(len(A)):  # positive definite: no pivots
        w[i + 1 :] -= A[i + 1 :, i] / A[i, i] * w[i]
        A[i + 1 :] -= np.outer(A[i + 1 :, i] / A[i, i], A[i])
    for i in reversed(range(len(A))):
        w[i] = (w[i] - A[i, i + 1 :] @ w[i + 1 :]) / A[i, i]
    return w / w.sum()


# ---------------------------------------------------------------- whiteness
def _whiteness(Z: np.ndarray, tolerance: float) -> Iterator[Claim]:
    """Signals are uncorrelated and of variance one, divided by n or n − 1."""
    Z = Z - Z.mean(axis=0)
    S = Z.T @ Z
    eye = np.eye(len(S))
    skew = min(largest(S / max(len(Z) - 1, 1) - eye), largest(S / len(Z) - eye))
    yield Claim("whiteness", skew, SLACK * tolerance + rounding(1.0))


def _projected(case: Case) -> np.ndarray:
    return (exact(case.X) - exact(case.model.mean_)) @ exact(case.model.components_).T


# the derivative g of the contrast G, and its own
CONTRASTS = {
    "logcosh": (np.tanh, lambda y: 1 - np.tanh(y) ** 2),
    "exp": (lambda y: y * np.exp(-(y**2) / 2), lambda y: (1 - y**2) * np.exp(-(y**2) / 2)),
    "kurtosis": (lambda y: y**3, lambda y: 3 * y**2),
}
UNDECIDED = 1e-9  # a difference of moments whose sign rounding may decide


@audits("ICA")
def audit_sources(case: Case) -> Iterator[Claim]:
    """The sources are white, and turning any two of them does not change Σ ±E G(yᵢ).

    The slope by the angle is sᵢ E g(yᵢ) yⱼ − sⱼ E g(yⱼ) yᵢ with the signs s of E g(y) y − E g'(y);
    where the sources are found one after the other, the first of two was turned alone.
    """
    model, Y = case.model, _projected(case)
    yield from _whiteness(Y, case.tolerance)
    g, bend = CONTRASTS[model.contrast]
    M = g(Y).T @ Y / len(Y)
    away = np.diagonal(M) - bend(Y).mean(axis=0)
    slopes = np.where(away < 0, -1, 1)[:, None] * M
    slopes = np.triu(slopes, 1) if model.algorithm == "deflation" else slopes - slopes.T
    sure = np.abs(away) > UNDECIDED
    size = largest(exact(case.X)) * norm(model.components_)
    allowed = SLACK * case.tolerance + rounding(1.0 + size)
    yield Claim("a slope", largest(slopes[np.ix_(sure, sure)]), allowed)


@audits("Whitening")
def audit_whitening(case: Case) -> Iterator[Claim]:
    model = case.model
    if not model.shrinkage and model.method != "zca":
        yield from _whiteness(_projected(case), case.tolerance)
    back = exact(model.components_) @ exact(model.mixing_).T
    target = back @ back if model.method == "zca" else np.eye(len(back))
    yield Claim("way back", largest(back - target), SLACK * case.tolerance + rounding(1.0))


# ---------------------------------------------------------------- pencils
@audits("LDA")
def audit_discriminants(case: Case) -> Iterator[Claim]:
    """S_b w = λ S_w w; an error of ε where S_w is white is at most ε √S_w,jj in column j."""
    model, y, X = case.model, np.asarray(case.y), exact(case.X)
    if model.shrinkage is not None or model.certificate_.parts["outside_range"] > 1e-12:
        return  # the claim is about the range of S_w alone
    means = np.array([X[y == c].mean(axis=0) for c in model.classes_])
    codes = np.searchsorted(model.classes_, y)
    rest = X - means[codes]
    Sw = rest.T @ rest / len(X)
    middle = exact(model.priors_) @ means
    spread = means - middle
    Sb = spread.T @ (exact(model.priors_)[:, None] * spread)
    W, values = exact(model.components_), exact(model.eigenvalues_)
    sizes = np.sqrt(np.diagonal(Sw))
    for k, w in enumerate(W):
        off = np.abs(Sb @ w - values[k] * (Sw @ w))
        allowed = sizes * largest(values) * SLACK * case.tolerance
        # the means are kept in float64
        blur = rounding(np.abs(means).max(axis=0))
        allowed = allowed + np.abs(spread).max(axis=0) * (blur @ np.abs(w))
        allowed = allowed + blur * (np.abs(spread).max(axis=0) @ np.abs(w))
        allowed = allowed + rounding(np.abs(Sb) @ np.abs(w) + np.abs(Sw) @ np.abs(w) * values[k])
        yield Claim(f"direction {k}", (off - allowed).max(), 0.0)


@audits("KernelFDA")
def audit_kernel_discriminants(case: Case) -> Iterator[Claim]:
    """The two sides of the equation differ by Σ rᵢφ(xᵢ), whose length is √(rᵀKr / ρ) at most."""
    model, y, n = case.model, np.asarray(case.y), len(case.y)
    K = centered_matrix(kernel_matrix(model.kernel_, case.X, case.X))
    A, rho = exact(model.dual_coef_), exact(model.certificate_.parts["ridge"])
    Z, values = K @ A, exact(model.eigenvalues_)
    means = np.array([Z[y == c].mean(axis=0) for c in model.classes_])
    own = means[np.searchsorted(model.classes_, y)]
    r = own / n - ((Z - own) / n + rho * A) * values
    for k in range(len(values)):
        length = np.sqrt(max(r[:, k] @ K @ r[:, k], 0.0) / rho)
        yield Claim(f"function {k}", length, 4 * case.tolerance * largest(values))


@audits("CCA")
def audit_correlations(case: Case) -> Iterator[Claim]:
    """cov(x, b·y) = ρ cov(x, a·x) for every column of either side, in its own unit."""
    model, sides = case.model, []
    for rows, weights in ((case.X, model.x_weights_), (case.y, model.y_weights_)):
        A = centered_rows(np.asarray(rows).reshape(len(case.X), -1))
        sides.append((A, A @ exact(weights)))
    for (A, own), (_, other) in (sides, sides[::-1]):
        size = np.sqrt((A**2).sum(axis=0))
        for k, rho in enumerate(exact(model.correlations_)):
            off = np.abs(A.T @ (other[:, k] - rho * own[:, k]))
            allowed = 4 * case.tolerance * size * norm(own[:, k]) + rounding(size * norm(own[:, k]))
            yield Claim(f"pair {k}", (off - allowed).max(), 0.0)


@audits("KernelCCA")
def audit_kernel_correlations(case: Case) -> Iterator[Claim]:
    yield Claim("a correlation above 1", largest(case.model.correlations_), 1 + 1e-8)


# ---------------------------------------------------------------- splits
@audits("RobustPCA")
def audit_split(case: Case) -> Iterator[Claim]:
    """L + S = X, and the objective that the proof names is that of L and X − L."""
    model = case.model
    A = exact(case.X) - (exact(model.mean_) if model.mean_ is not None else 0)
    left = norm(A - exact(model.low_rank_) - exact(model.sparse_))
    allowed = SLACK * 2 * case.tolerance * norm(A) + rounding(norm(exact(case.X)))
    yield Claim("what is left", left, allowed)


@audits("SparsePCA")
def audit_sparse_components(case: Case) -> Iterator[Claim]:
    """Another round over U and V gives the same V; its shrunk entries are those of XᵀU."""
    model, A = case.model, centered_rows(case.X)
    V, unit = exact(model.loadings_).T, largest(A)
    V = V[:, np.abs(V).max(axis=0) > 0]
    if not V.shape[1]:
        return
    left, _, right = np.linalg.svd(
        ((A @ V) / norm(V) / unit).astype(np.float64), full_matrices=False
    )
    B = A.T @ exact(left @ right)
    new = np.sign(B) * np.maximum(np.abs(B) - exact(model.lam), 0)
    allowed = SLACK * 2 * case.tolerance * norm(V) + rounding(1e3 * norm(V))
    yield Claim("another round", norm(new - V), allowed)
