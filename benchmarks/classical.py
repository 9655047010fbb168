"""Claims: the classical family is not slower than scikit-learn, boosting and mixtures much faster.

One run, best of several repetitions in turns, same data, same settings, a proof with each of ours.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _rows import Row, arguments, row, run
from sklearn import ensemble, linear_model, mixture, neighbors, neural_network
from sklearn.datasets import load_digits, make_classification, make_regression

from mercer import (
    GMM,
    KNN,
    AdaBoost,
    LinearRegression,
    LogisticRegression,
    MLPClassifier,
    lasso_path,
)

warnings.simplefilter("ignore")
N, D = 8_000, 30


def _labelled(n: int = N, d: int = D) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(n, d, n_informative=d // 2, flip_y=0.1, random_state=0)


def _scores(X: np.ndarray, y: np.ndarray) -> Callable[[Any, Any], str]:
    def check(ours: Any, theirs: Any) -> str:
        return f"training score {ours.score(X, y):.4f} and {theirs.score(X, y):.4f}"

    return check


@row
def adaboost() -> Row:
    X, y = _labelled()
    peers = {"scikit-learn": lambda: ensemble.AdaBoostClassifier(n_estimators=200).fit(X, y)}
    ours = AdaBoost(200)
    return Row("AdaBoost 200 stumps, 8,000 × 30", lambda: ours.fit(X, y), peers, _scores(X, y))


def _gmm_row(spread: float) -> Row:
    rng = np.random.default_rng(0)
    centres = spread * rng.standard_normal((8, D))
    X = centres[rng.integers(8, size=N)] + rng.standard_normal((N, D))
    start = X[rng.choice(N, 8, replace=False)]
    settings = {"tol": 1e-12, "max_iter": 20}
    peer = mixture.GaussianMixture(8, means_init=start, init_params="random_from_data", **settings)
    labels = np.argmin(((X[:, None] - start) ** 2).sum(axis=2), axis=1)
    responsibilities = np.eye(8)[labels]
    weights = responsibilities.mean(axis=0)
    means = responsibilities.T @ X / responsibilities.sum(axis=0)[:, None]
    precisions = np.array([np.linalg.inv(np.cov(X[labels == j].T, ddof=0)) for j in range(8)])
    peer.set_params(weights_init=weights, means_init=means, precisions_init=precisions)
    ours = GMM(8, start=labels, **settings)

    def check(ours: Any, theirs: Any) -> str:
        return f"mean log-likelihood {ours.score(X):.8f} and {theirs.score(X):.8f}"

    label = f"GMM k = 8, 8,000 × 30, 20 steps, centres {spread:g} apart"
    return Row(label, lambda: ours.fit(X), {"scikit-learn": lambda: peer.fit(X)}, check)


@row
def gmm_overlapping() -> Row:
    return _gmm_row(1.0)


@row
def gmm_separated() -> Row:
    return _gmm_row(3.0)


class _Path:
    """What a path function returns, with a proof where there is one."""

    def __init__(self, lams: np.ndarray, coefs: np.ndarray, certificate: Any = None):
        self.lams, self.coefs, self.certificate_ = lams, coefs, certificate


def _lasso_row(n: int, d: int) -> Row:
    X, y = make_regression(n, d, n_informative=20, noise=10.0, random_state=0)
    X, y = X - X.mean(axis=0), y - y.mean()
    lams = np.abs(X.T @ y).max() / n * np.geomspace(1.0, 1e-3, 100)

    def objective(coefs: np.ndarray) -> np.ndarray:
        rest = y[:, None] - X @ coefs
        return (rest**2).sum(axis=0) / (2 * n) + lams * np.abs(coefs).sum(axis=0)

    def ours() -> Any:
        path = lasso_path(X, y, lams, fit_intercept=False)
        worst = max(path.certificates, key=lambda proof: proof.value)
        return _Path(path.lams, path.coefs, worst)

    def theirs() -> Any:
        found, coefs, _ = linear_model.lasso_path(X, y, alphas=lams)
        return _Path(found, coefs)

    def check(mine: Any, peer: Any) -> str:
        gap = objective(peer.coefs) / objective(mine.coefs) - 1
        return f"objective relative to ours {gap.min():+.1e} to {gap.max():+.1e}"

    return Row(f"lasso path, 100 λ, {n:,} × {d:,}", ours, {"scikit-learn": theirs}, check)


@row
def lasso_wide() -> Row:
    return _lasso_row(1_000, 5_000)


@row
def lasso_tall() -> Row:
    return _lasso_row(10_000, 100)


def _logistic_row(label: str, X: np.ndarray, y: np.ndarray) -> Row:
    def peer(solver: str) -> Callable[[], Any]:
        return lambda: linear_model.LogisticRegression(solver=solver, max_iter=1000).fit(X, y)

    solvers = ["lbfgs", "newton-cholesky"]
    peers = {f"scikit-learn {solver}": peer(solver) for solver in solvers}
    ours = LogisticRegression()
    return Row(f"logistic regression, {label}", lambda: ours.fit(X, y), peers, _scores(X, y))


@row
def logistic_binary() -> Row:
    return _logistic_row("8,000 × 30", *_labelled())


@row
def logistic_digits() -> Row:
    X, y = load_digits(return_X_y=True)
    return _logistic_row("digits", X / 16.0, y)


@row
def logistic_narrow() -> Row:
    X, y = make_classification(19_020, 10, n_informative=6, flip_y=0.05, random_state=0)
    return _logistic_row("19,020 × 10", X, y)


@row
def logistic_ten_classes() -> Row:
    X, y = make_classification(
        20_000, 16, n_informative=9, n_classes=10, n_clusters_per_class=1, random_state=0
    )
    return _logistic_row("20,000 × 16, 10 classes", X, y)


@row
def mlp() -> Row:
    X, y = _labelled()
    peer = neural_network.MLPClassifier((100,), max_iter=20, random_state=0, n_iter_no_change=100)
    ours = MLPClassifier((100,), max_epochs=20, random_state=0)
    peers = {"scikit-learn": lambda: peer.fit(X, y)}
    return Row("MLP (100,), 20 epochs, 8,000 × 30", lambda: ours.fit(X, y), peers, _scores(X, y))


def _knn_row(d: int, m: int) -> Row:
    X, y = _labelled(N + m, max(d, 4))
    X, y, new = X[:N, :d], y[:N], X[N:, :d]

    def peer(algorithm: str) -> Callable[[], Any]:
        def answer() -> Any:
            model = neighbors.KNeighborsClassifier(5, algorithm=algorithm).fit(X, y)
            model.labels = model.predict(new)
            return model

        return answer

    def ours() -> Any:
        model = KNN(5).fit(X, y)
        model.labels = model.predict(new)
        return model

    def check(mine: Any, theirs: Any) -> str:
        return f"{np.mean(mine.labels == theirs.labels):.2%} equal labels"

    peers = {f"scikit-learn {algorithm}": peer(algorithm) for algorithm in ("brute", "kd_tree")}
    return Row(f"kNN 8,000 × {d}, {m:,} new rows", ours, peers, check)


@row
def knn_many_columns() -> Row:
    return _knn_row(30, 8_000)


@row
def knn_few_columns() -> Row:
    return _knn_row(3, 8_000)


@row
def l1_regression() -> Row:
    X, y = make_regression(5_000, 20, noise=10.0, random_state=0)
    peer = linear_model.QuantileRegressor(quantile=0.5, alpha=0.0, solver="highs")
    ours = LinearRegression(norm="l1")

    def check(mine: Any, theirs: Any) -> str:
        sums = [float(np.abs(y - model.predict(X)).sum()) for model in (mine, theirs)]
        return f"sum of residuals {sums[0]:.8g} and {sums[1]:.8g}"

    peers = {"scikit-learn": lambda: peer.fit(X, y)}
    return Row("L1 regression, 5,000 × 20", lambda: ours.fit(X, y), peers, check)


if __name__ == "__main__":
    run(arguments(__doc__).parse_args().only)
