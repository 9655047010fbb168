"""Claims: projections faster than their peers on the same data, with a proof.

One run, best of several repetitions, same data and the same number of components; a peer with
several solvers is measured with each. A row is a function with the mark ``@row`` that returns a
`Row`: what ours does, what each peer does, and a check that compares the results.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from _rows import Row, arguments, proof, row, run
from sklearn import cross_decomposition, decomposition, manifold
from sklearn.datasets import make_classification, make_swiss_roll
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from mercer import CCA, ICA, LDA, PCA, Isomap, KernelPCA, SpectralEmbedding
from mercer.kernels import RBF

warnings.simplefilter("ignore")


# ---------------------------------------------------------------- principal components
def _pca_row(label: str, X: Any, k: int | None, solvers: list[str]) -> Row:
    def peer(solver: str) -> Callable[[], Any]:
        return lambda: decomposition.PCA(k, svd_solver=solver, random_state=0).fit(X)

    def check(ours: Any, theirs: Any) -> str:
        return f"variances {_variance_gap(ours, theirs):+.1e}, as a sum"

    n, d = X.shape
    what = "all components" if k is None else f"{k} components"
    peers = {f"scikit-learn {solver}": peer(solver) for solver in solvers}
    return Row(f"PCA {label} {n:,} × {d:,}, {what}", lambda: PCA(k).fit(X), peers, check)


def _variance_gap(ours: Any, theirs: Any) -> float:
    """Return how much more variance theirs has, relative: below 0 it has missed some."""
    k = len(ours.explained_variance_)
    return float(theirs.explained_variance_[:k].sum() / ours.explained_variance_.sum() - 1)


def _rows_of(n: int, d: int) -> np.ndarray:
    """Return rows whose standard deviations fall as 1/(1 + j/10), in turned coordinates."""
    rng = np.random.default_rng(0)
    spread = 1.0 / (1.0 + np.arange(d) / 10)
    X = rng.standard_normal((n, d)) * spread
    mirror = rng.standard_normal(d)
    mirror /= np.linalg.norm(mirror)
    return X - 2.0 * np.outer(X @ mirror, mirror) + 1.0


EXACT, ITERATED = ["full", "covariance_eigh"], ["arpack", "randomized"]


@row
def tall_all() -> Row:
    return _pca_row("tall", _rows_of(100_000, 100), None, EXACT)


@row
def tall_few() -> Row:
    return _pca_row("tall", _rows_of(100_000, 100), 10, EXACT + ITERATED)


@row
def wide_all() -> Row:
    return _pca_row("wide", _rows_of(300, 20_000), None, ["full"])


@row
def wide_few() -> Row:
    return _pca_row("wide", _rows_of(300, 20_000), 10, ["full", *ITERATED])


@row
def square_few() -> Row:
    return _pca_row("square", _rows_of(3_000, 3_000), 10, ["covariance_eigh", *ITERATED])


@row
def square_noise() -> Row:
    X = np.random.default_rng(0).standard_normal((3_000, 3_000))
    return _pca_row("square, pure noise", X, 10, ["covariance_eigh", *ITERATED])


@row
def sparse_few() -> Row:
    X = sp.random(20_000, 5_000, 0.01, format="csr", random_state=0)
    return _pca_row("sparse, 1 % filled,", X, 20, ["arpack"])


# ---------------------------------------------------------------- kernel principal components
def _labelled(n: int, d: int, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        n, d, n_informative=d // 2, n_redundant=d // 5, n_classes=classes, random_state=0
    )


@row
def kernel_pca() -> Row:
    X, _ = _labelled(8_000, 30)
    gamma = 1.0 / (30 * X.var())

    def peer(solver: str) -> Callable[[], Any]:
        model = decomposition.KernelPCA(
            10, kernel="rbf", gamma=gamma, eigen_solver=solver, random_state=0
        )
        return lambda: model.fit(X)

    def check(ours: Any, theirs: Any) -> str:
        gap = np.abs(theirs.eigenvalues_ / ours.eigenvalues_ - 1).max()
        return f"eigenvalues differ by {gap:.1e}"

    peers = {f"scikit-learn {solver}": peer(solver) for solver in ITERATED}
    ours = KernelPCA(10, kernel=RBF(gamma=gamma))
    return Row("KernelPCA 8,000 × 30, 10 components", lambda: ours.fit(X), peers, check)


# ---------------------------------------------------------------- labels, two tables, sources
def _same_labels(X: Any) -> Callable[[Any, Any], str]:
    return lambda ours, theirs: f"{np.mean(ours.predict(X) == theirs.predict(X)):.2%} equal labels"


def _lda_row(n: int, d: int) -> Row:
    X, y = _labelled(n, d, 10)

    def peer(solver: str) -> Callable[[], Any]:
        return lambda: LinearDiscriminantAnalysis(solver=solver).fit(X, y)

    peers = {f"scikit-learn {solver}": peer(solver) for solver in ("svd", "lsqr")}
    return Row(f"LDA {n:,} × {d:,}", lambda: LDA().fit(X, y), peers, _same_labels(X))


@row
def lda_tall() -> Row:
    return _lda_row(20_000, 50)


@row
def lda_wide() -> Row:
    return _lda_row(500, 2_000)


@row
def cca() -> Row:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 30))
    Y = X[:, :5] @ rng.standard_normal((5, 20)) + rng.standard_normal((20_000, 20))

    def correlations(model: Any) -> np.ndarray:
        U, V = model.transform(X, Y)
        return np.array([np.corrcoef(u, v)[0, 1] for u, v in zip(U.T, V.T, strict=True)])

    def check(ours: Any, theirs: Any) -> str:
        return (
            f"correlations differ by {np.abs(correlations(ours) - correlations(theirs)).max():.1e}"
        )

    peers = {"scikit-learn": lambda: cross_decomposition.CCA(2).fit(X, Y)}
    return Row("CCA 20,000 × (30, 20), 2 pairs", lambda: CCA(2).fit(X, Y), peers, check)


def _ica_row(contrast: str, fun: str) -> Row:
    rng = np.random.default_rng(0)
    S = np.column_stack([rng.laplace(size=(8_000, 15)), rng.uniform(-1, 1, (8_000, 15))])
    A = rng.standard_normal((30, 30))
    X = S @ A.T

    def peer(whiten: str) -> Callable[[], Any]:
        model = decomposition.FastICA(
            fun=fun, whiten="unit-variance", whiten_solver=whiten, tol=1e-4, random_state=0
        )
        return lambda: model.fit(X)

    def check(ours: Any, theirs: Any) -> str:
        mine, yours = (_amari(model.components_ @ A) for model in (ours, theirs))
        return f"Amari index {mine:.4f} and {yours:.4f}"

    peers = {f"scikit-learn {whiten}": peer(whiten) for whiten in ("svd", "eigh")}
    ours = ICA(contrast=contrast, tol=1e-4, random_state=0)
    return Row(f"ICA 8,000 × 30, {contrast}", lambda: ours.fit(X), peers, check)


def _amari(P: np.ndarray) -> float:
    """Return how far a matrix is from a scaled permutation: 0 is one, 1 is none at all."""
    P, k = np.abs(P), len(P)
    rows = (P.sum(axis=1) / P.max(axis=1) - 1).sum()
    columns = (P.sum(axis=0) / P.max(axis=0) - 1).sum()
    return float((rows + columns) / (2 * k * (k - 1)))


@row
def ica_logcosh() -> Row:
    return _ica_row("logcosh", "logcosh")


@row
def ica_exp() -> Row:
    return _ica_row("exp", "exp")


@row
def ica_kurtosis() -> Row:
    return _ica_row("kurtosis", "cube")


# ---------------------------------------------------------------- manifolds
def _same_embedding(ours: Any, theirs: Any) -> str:
    Z, W = ours.embedding_, theirs.embedding_
    sizes = np.linalg.norm(Z, axis=0) * np.linalg.norm(W, axis=0)
    return f"cosine of the columns {np.abs(np.einsum('ij,ij->j', Z, W) / sizes).min():.6f}"


@row
def isomap() -> Row:
    X, _ = make_swiss_roll(5_000, random_state=0)
    peers = {"scikit-learn": lambda: manifold.Isomap(n_neighbors=8).fit(X)}
    return Row("Isomap 5,000, swiss roll", lambda: Isomap(8).fit(X), peers, _same_embedding)


def _spectral_row(label: str, X: np.ndarray) -> Row:
    def peer(solver: str) -> Callable[[], Any]:
        model = manifold.SpectralEmbedding(
            affinity="nearest_neighbors", n_neighbors=10, eigen_solver=solver, random_state=0
        )
        return lambda: model.fit(X)

    peers = {f"scikit-learn {solver}": peer(solver) for solver in ("arpack", "lobpcg")}
    ours = SpectralEmbedding(n_neighbors=10)
    return Row(f"SpectralEmbedding 5,000, {label}", lambda: ours.fit(X), peers, _same_embedding)


@row
def spectral_embedding_roll() -> Row:
    return _spectral_row("swiss roll", make_swiss_roll(5_000, random_state=0)[0])


@row
def spectral_embedding_cloud() -> Row:
    X = np.random.default_rng(0).standard_normal((5_000, 10))
    return _spectral_row("ten normal columns", X)


def large_kernel_pca(n: int) -> None:
    """Fit in a process of its own and print its time and the most memory it has held."""
    X, _ = _labelled(n, 30)
    start = time.perf_counter()
    model = KernelPCA(10, kernel=RBF(gamma=1.0 / (30 * X.var()))).fit(X)
    seconds = time.perf_counter() - start
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    matrix = n * n * 8 / 2**30
    print(f"KernelPCA {n:,} × 30, 10 components: {seconds:.1f} s, {proof(model)}")
    print(
        f"  the process held {most:.2f} GiB at most; the matrix alone would take {matrix:.1f} GiB"
    )
    print(flush=True)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--large", type=int, help="kernel PCA of so many points, and its memory")
    options = parser.parse_args()
    PCA().fit(np.random.default_rng(0).standard_normal((300, 8)))  # imports
    if options.large:
        large_kernel_pca(options.large)
    else:
        run(options.only)
