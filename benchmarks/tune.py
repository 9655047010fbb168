"""Claims: a tuned kernel machine at the price of a few fits.

One run, same folds and same grid for all. Covertype is read from the folder ``--data`` (file
``covtype_15k/covtype_15k.npz``); without it generated rows of the same shape stand in. liquidSVM is
measured if it is installed; it has no offset and takes the best of its own folds, so that only its
time is compared.
"""

from __future__ import annotations

import argparse
import sysconfig
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_classification, make_regression
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge as PeerRidge
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as LibSVC

from mercer import SVC, KernelLogistic, KernelRidge, KernelSearchCV
from mercer.kernels import RBF

warnings.simplefilter("ignore")


class Task(NamedTuple):
    name: str
    X: np.ndarray
    y: np.ndarray
    Cs: np.ndarray
    gammas: np.ndarray


def timed(run: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    """Return the shortest time and the last result."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
    return min(times), result


def svm_tasks(folder: Path | None) -> Iterator[Task]:
    if folder:
        data = np.load(folder / "covtype_15k/covtype_15k.npz", allow_pickle=False)
        X, y = data["X"][:976].astype(float), data["y"][:976] == 1
    else:
        X, y = make_classification(976, 54, n_informative=10, flip_y=0.1, random_state=0)
    gammas = np.logspace(-4, 0.5, 10)
    yield Task("covertype", StandardScaler().fit_transform(X), y, np.logspace(-1, 4, 10), gammas)
    for n, d in ((3000, 30), (5000, 50)):
        X, y = make_classification(
            n, d, n_informative=d // 2, flip_y=0.05, class_sep=1.0, random_state=0
        )
        X = StandardScaler().fit_transform(X)
        yield Task("generated", X, y, np.logspace(-1, 3, 10), np.logspace(-3, 1, 10) * 2 / d)


def measure_svm(task: Task, peers: bool) -> None:
    n, d = task.X.shape
    folds = list(StratifiedKFold(5).split(task.X, task.y))
    print(f"SVC, {task.name} {n} × {d}, {len(task.Cs)} C × {len(task.gammas)} γ × 5 folds")
    grid = {"C": task.Cs, "kernel__gamma": task.gammas}
    mine, search = timed(
        lambda: KernelSearchCV(SVC(RBF()), grid, cv=folds, refit=False).fit(task.X, task.y), 3
    )
    print(f"  {'KernelSearchCV':<22} {mine:8.2f} s   best {search.best_score_:.4f}", flush=True)
    liquid = liquid_search(task)
    if liquid:
        seconds, _ = timed(liquid)
        print(f"  {'liquidSVM':<22} {seconds:8.2f} s ({seconds / mine:5.1f}×)", flush=True)
    if peers:
        grid = {"C": task.Cs, "gamma": task.gammas}
        seconds, theirs = timed(
            lambda: GridSearchCV(LibSVC(), grid, cv=folds, refit=False, n_jobs=2).fit(
                task.X, task.y
            )
        )
        print(
            f"  {'GridSearchCV, n_jobs=2':<22} {seconds:8.2f} s ({seconds / mine:5.1f}×)  "
            f"best {theirs.best_score_:.4f}, {_difference(search, theirs)}",
            flush=True,
        )


def _difference(mine: Any, theirs: Any) -> str:
    ours = {
        (p["C"], p["kernel__gamma"]): score
        for p, score in zip(
            mine.cv_results_["params"], mine.cv_results_["mean_test_score"], strict=True
        )
    }
    gaps = [
        abs(ours[p["C"], p["gamma"]] - score)
        for p, score in zip(
            theirs.cv_results_["params"], theirs.cv_results_["mean_test_score"], strict=True
        )
    ]
    return f"scores differ by at most {max(gaps):.4f}, {np.mean(gaps):.1e} on average"


def liquid_search(task: Task) -> Callable[[], Any] | None:
    """Return a run of liquidSVM on the same grid and number of folds, if it is installed."""
    values = sysconfig.get_config_vars()
    values.setdefault("SO", values.get("EXT_SUFFIX"))  # it asks for the old name
    try:
        import liquidSVM
    except Exception:  # not installed, or not built for this Python
        return None
    labels = np.where(task.y, 1.0, -1.0)
    return lambda: liquidSVM.mcSVM(
        np.ascontiguousarray(task.X), labels, folds=5, threads=2, display=0,
        gammas=(1 / np.sqrt(task.gammas)).tolist(), c_values=task.Cs.tolist(),
    )  # fmt: skip


def measure_ridge(peers: bool) -> None:
    X, y = make_regression(3000, 30, n_informative=15, noise=10.0, random_state=0)
    X, y = StandardScaler().fit_transform(X), (y - y.mean()) / y.std()
    lams, gammas = np.logspace(-6, 3, 30), np.logspace(-2.5, -0.5, 5)
    folds = list(KFold(5).split(X))
    print("kernel ridge, 3000 × 30, 30 λ × 5 γ × 5 folds")
    grid = {"lam": lams, "kernel__gamma": gammas}
    model = KernelRidge(RBF(), fit_intercept=False)
    mine, search = timed(lambda: KernelSearchCV(model, grid, cv=folds, refit=False).fit(X, y), 2)
    print(f"  {'KernelSearchCV':<22} {mine:8.2f} s   best {search.best_score_:.6f}", flush=True)
    if peers:
        grid = {"alpha": lams, "gamma": gammas}
        seconds, theirs = timed(
            lambda: GridSearchCV(PeerRidge(kernel="rbf"), grid, cv=folds, refit=False).fit(X, y)
        )
        gap = np.abs(_table(search, "lam") - _table(theirs, "alpha")).max()
        print(
            f"  {'GridSearchCV':<22} {seconds:8.2f} s ({seconds / mine:5.1f}×)  "
            f"best {theirs.best_score_:.6f}, scores differ by at most {gap:.1e}",
            flush=True,
        )
    X, y = make_regression(8000, 30, n_informative=15, noise=10.0, random_state=0)
    X, y = StandardScaler().fit_transform(X), (y - y.mean()) / y.std()
    mine, _ = timed(
        lambda: KernelRidge(RBF(gamma=1 / 30), lam=0.1, fit_intercept=False).fit(X, y), 3
    )
    theirs, _ = timed(lambda: PeerRidge(kernel="rbf", gamma=1 / 30, alpha=0.1).fit(X, y), 2)
    print(f"kernel ridge, one fit, 8000 × 30\n  {'KernelRidge':<22} {mine:8.2f} s")
    print(f"  {'scikit-learn':<22} {theirs:8.2f} s ({theirs / mine:5.1f}×)", flush=True)


def _table(search: Any, name: str) -> np.ndarray:
    """Return the scores as an array, rows by the parameter and columns by γ."""
    params = search.cv_results_["params"]
    keys = [(p[name], p.get("gamma", p.get("kernel__gamma"))) for p in params]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return search.cv_results_["mean_test_score"][order]


def measure_logistic() -> None:
    X, y = make_classification(10_000, 30, n_informative=15, flip_y=0.05, random_state=0)
    X = StandardScaler().fit_transform(X)
    X, X_new, y, y_new = X[:5000], X[5000:], y[:5000], y[5000:]
    gamma, lam = 1 / 30, 0.5
    mine, model = timed(lambda: KernelLogistic(RBF(gamma=gamma), lam=lam).fit(X, y), 2)
    right = model.score(X_new, y_new)
    print(f"kernel logistic, 5000 × 30\n  {'KernelLogistic':<22} {mine:8.2f} s   {right:.4f}")
    for rank in (100, 300, 1000, 3000):
        peer = make_pipeline(
            Nystroem(gamma=gamma, n_components=rank, random_state=0),
            LogisticRegression(C=1 / (2 * lam), max_iter=2000),
        )
        seconds, peer = timed(lambda peer=peer: peer.fit(X, y))
        print(
            f"  {f'Nyström {rank} + linear':<22} {seconds:8.2f} s ({seconds / mine:5.1f}×)  "
            f"{peer.score(X_new, y_new):.4f}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the real data")
    parser.add_argument("--only", default="", help="svm, ridge or logistic")
    parser.add_argument("--quick", action="store_true", help="leave out GridSearchCV")
    options = parser.parse_args()
    warm = np.random.default_rng(0).standard_normal((600, 3))
    for n in (100, 600):  # compile
        KernelSearchCV(SVC(RBF()), {"C": [1.0, 100.0]}, cv=3).fit(warm[:n], warm[:n, 0] > 0)
    KernelSearchCV(KernelRidge(RBF()), {"lam": [1.0, 0.1]}, cv=3).fit(warm, warm[:, 0])
    KernelLogistic(RBF()).fit(warm, warm[:, 0] > 0)
    if options.only in ("", "svm"):
        for task in svm_tasks(options.data):
            measure_svm(task, not options.quick)
    if options.only in ("", "ridge"):
        measure_ridge(not options.quick)
    if options.only in ("", "logistic"):
        measure_logistic()
