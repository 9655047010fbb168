"""Claim: beside two processes at full load, nothing takes more than 3 times its quiet time.

Every call is timed alone and then beside ``--others`` processes that do nothing but compute;
scikit-learn's calls stand beside ours. The shortest of three counts. With k cores and as many
others a call of one thread has its core for half of the time, so that 2 is what is due.

    python benchmarks/busy.py [--others 2] [--only ridge]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.decomposition
import sklearn.kernel_ridge
import sklearn.linear_model
import sklearn.svm
from sklearn.datasets import make_classification, make_friedman1
from sklearn.model_selection import GridSearchCV

import mercer

warnings.simplefilter("ignore")

BURN = "x = 1.0\nwhile True: x = x * 1.0000001"
RUNS = 3


def calls() -> dict[str, Callable[[], Any]]:
    """Return what is measured: a result to compare, or nothing."""
    X, t = make_friedman1(1000, 10, noise=1.0, random_state=0)
    Z, y = make_classification(3000, 20, n_informative=10, n_classes=3, random_state=0)
    wide, many = X[:, :5], (Z[:, :10], y)
    grid = {"alpha": np.logspace(-4, 1, 10), "gamma": [0.01, 0.03, 0.1, 0.3, 1.0]}
    table, svc, knn = _written(X, t), mercer.SVC(C=10.0).fit(*many), mercer.KNN().fit(Z, y)
    return {
        "SVC fit": lambda: mercer.SVC(C=10.0).fit(*many).intercept_,
        "SVC predict": lambda: svc.predict(many[0]),
        "SVR fit": lambda: mercer.SVR(C=10.0).fit(X, t).intercept_,
        "KernelRidge fit": lambda: mercer.KernelRidge("rbf", lam=1e-3).fit(Z, y).intercept_,
        "KernelRidge leave-one-out": lambda: mercer.KernelRidge("rbf", lam="loo").fit(X, t).lam_,
        "tune ridge": lambda: mercer.tune(mercer.KernelRidge(), X, t).best_score_,
        "tune ridge, 5 columns": lambda: mercer.tune(mercer.KernelRidge(), wide, t).best_score_,
        "tune SVC": lambda: mercer.tune(mercer.SVC(), Z[:1000], y[:1000]).best_score_,
        "MetricRidge fit": lambda: mercer.MetricRidge(random_state=0).fit(X, t).lam_,
        "KernelLogistic fit": lambda: mercer.KernelLogistic(lam=1e-2).fit(X, t > 14).intercept_,
        "KernelPCA fit": lambda: mercer.KernelPCA(5).fit(Z).eigenvalues_,
        "LogisticRegression fit": lambda: mercer.LogisticRegression().fit(Z, y).coef_,
        "Lasso fit": lambda: mercer.Lasso(lam=0.1).fit(X, t).coef_,
        "PCA fit": lambda: mercer.PCA(5).fit(Z).components_,
        "GMM fit": lambda: mercer.GMM(3, random_state=0).fit(Z).means_,
        "LDA fit": lambda: mercer.LDA().fit(Z, y).coef_,
        "KNN predict": lambda: knn.predict(Z),
        "Isomap fit": lambda: mercer.Isomap(2).fit(X).embedding_,
        "mercer fit": lambda: _command(table),
        "scikit-learn SVC fit": lambda: sklearn.svm.SVC(C=10.0).fit(*many).intercept_,
        "scikit-learn KernelRidge grid": lambda: (
            GridSearchCV(sklearn.kernel_ridge.KernelRidge(kernel="rbf"), grid, n_jobs=2)
            .fit(X, t)
            .best_score_
        ),
        "scikit-learn KernelPCA fit": lambda: (
            sklearn.decomposition.KernelPCA(5, kernel="rbf").fit(Z).eigenvalues_
        ),
        "scikit-learn LogisticRegression fit": lambda: (
            sklearn.linear_model.LogisticRegression().fit(Z, y).coef_
        ),
    }


def _written(X: np.ndarray, t: np.ndarray) -> Path:
    path = Path(tempfile.mkdtemp()) / "table.csv"
    names = [*(f"x{j}" for j in range(X.shape[1])), "target"]
    rows = np.column_stack([X, t])
    np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="", fmt="%.6g")
    return path


def _command(table: Path) -> str:
    command = [sys.executable, "-m", "mercer", "fit", str(table), "--target", "target"]
    options = ["--json", "--no-report", "--no-save"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=table.parent)
    if done.returncode:
        raise RuntimeError(done.stderr)
    answer = json.loads(done.stdout)
    return str([answer.get(name) for name in ("model", "params", "score")])


@contextmanager
def load(count: int) -> Iterator[None]:
    """Keep so many processes computing."""
    others = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(count)]
    time.sleep(0.5)
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def shortest(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the shortest time and the result."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
        if sum(times) > 60:
            break
    return min(times), result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--others", type=int, default=2, help="processes beside the calls")
    parser.add_argument("--only", default="", help="part of a call's name")
    options = parser.parse_args()
    print(f"{'':<36} {'quiet':>9} {'busy':>9} {'ratio':>6}")
    for name, call in calls().items():
        if options.only not in name:
            continue
        call()  # compile
        quiet, before = shortest(call)
        with load(options.others):
            busy, after = shortest(call)
        same = np.array_equal(np.asarray(before), np.asarray(after))
        note = "" if same else "  another result"
        print(f"{name:<36} {quiet:8.3f}s {busy:8.3f}s {busy / quiet:6.1f}{note}", flush=True)


if __name__ == "__main__":
    main()
