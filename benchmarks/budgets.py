"""Budgets: what fits take beyond ``memory=`` and ``time_limit=``, each in a process of its own.

The claim: the peak of a fit is at most 1.2 × the budget above what the process had before, and a
fit ends at most 2 s + 10 % after its time limit. Run it on a machine that has nothing else to do.
On a busy one ``--processor-clock`` keeps to one core and counts the processor's seconds, those of
the limits too. The last fit of a search is not under its limit, and is taken off.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MEMORY, SECONDS = "50MB", 3.0
BUDGET = 50_000_000
LAST = [0.0]
"""Seconds of the last fit of a search, which its limit does not count."""


def rows(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, noisy numbers and noisy classes of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, f + 0.5 * rng.normal(size=n), (f + rng.normal(size=n) > 0).astype(int)


def memory_cases() -> dict[str, tuple[Callable[[Any], Any], int, str]]:
    """Return every estimator that has ``memory=``: how it is made, how many rows, which target."""
    import mercer as m

    return {
        "SVC": (lambda b: m.SVC(memory=b), 12_000, "class"),
        "SVC, C=100": (lambda b: m.SVC(C=100.0, memory=b, time_limit=20), 8_000, "class"),
        "SVC, 2,500 rows": (lambda b: m.SVC(memory=b), 2_500, "class"),
        "SVR": (lambda b: m.SVR(memory=b, time_limit=20), 8_000, "number"),
        "OneClassSVM": (lambda b: m.OneClassSVM(memory=b, time_limit=20), 12_000, "none"),
        "KernelRidge": (lambda b: m.KernelRidge(memory=b), 8_000, "number"),
        "KernelRidge, landmarks": (
            lambda b: m.KernelRidge(landmarks=500, memory=b),
            30_000,
            "number",
        ),
        "KernelRidgeClassifier": (lambda b: m.KernelRidgeClassifier(memory=b), 8_000, "class"),
        "KernelLogistic": (lambda b: m.KernelLogistic(memory=b, time_limit=20), 8_000, "class"),
        "KernelMachine": (
            lambda b: m.KernelMachine("huber", memory=b, time_limit=20),
            8_000,
            "number",
        ),
        "KNN": (lambda b: m.KNN(memory=b), 20_000, "class"),
        "KNNRegressor": (lambda b: m.KNNRegressor(memory=b), 20_000, "number"),
        "Perceptron": (lambda b: m.Perceptron("rbf", memory=b, max_iter=20), 8_000, "class"),
        "Nystrom": (lambda b: m.Nystrom(n_components=300, memory=b), 20_000, "none"),
        "KernelPCAMap": (lambda b: m.KernelPCAMap(memory=b), 1_500, "none"),
        "EmpiricalMap": (lambda b: m.EmpiricalMap(memory=b), 1_500, "none"),
        "KernelPCA": (lambda b: m.KernelPCA(memory=b), 1_500, "none"),
        "KernelPCA, 5 components": (lambda b: m.KernelPCA(5, memory=b), 8_000, "none"),
        "KernelFDA": (lambda b: m.KernelFDA(memory=b), 1_500, "class"),
        "KernelCCA": (lambda b: m.KernelCCA(memory=b), 1_000, "number"),
        "KernelCCA, two tables": (lambda b: m.KernelCCA(memory=b), 1_000, "table"),
        "KernelKMeans": (lambda b: m.KernelKMeans(5, memory=b, random_state=0), 8_000, "none"),
        "MetricRidge": (lambda b: m.MetricRidge(memory=b, time_limit=20), 3_000, "number"),
        "RandomFourier": (lambda b: m.RandomFourier(300, memory=b), 20_000, "none"),
        "PolynomialMap": (lambda b: m.PolynomialMap(memory=b), 20_000, "none"),
        "KernelSearchCV(SVC)": (
            lambda b: m.KernelSearchCV(m.SVC(), {"C": [1.0, 10.0]}, cv=3, memory=b),
            4_000,
            "class",
        ),
        "tune(KernelRidge)": (lambda b: _Tune("ridge", memory=b, time_limit=20), 4_000, "number"),
    }


def time_cases() -> dict[str, tuple[Callable[[Any], Any], int, str]]:
    """Return every estimator that has ``time_limit=``, with data that take much longer."""
    import mercer as m

    return {
        "SVC": (
            lambda s: m.SVC(C=1e4, time_limit=s),
            40_000,
            "class",
        ),
        "SVC, 20 classes": (lambda s: m.SVC(C=1e3, time_limit=s), 20_000, "classes"),
        "SVC, probability": (
            lambda s: m.SVC(C=1e3, probability=True, time_limit=s),
            20_000,
            "class",
        ),
        "SVR": (lambda s: m.SVR(C=1e3, time_limit=s), 40_000, "number"),
        "OneClassSVM": (lambda s: m.OneClassSVM(nu=0.5, time_limit=s), 60_000, "none"),
        "LinearSVC": (lambda s: m.LinearSVC(C=1e4, time_limit=s), 300_000, "class"),
        "KernelLogistic": (lambda s: m.KernelLogistic(lam=1e-4, time_limit=s), 20_000, "class"),
        "KernelMachine": (
            lambda s: m.KernelMachine("huber", lam=1e-4, time_limit=s),
            20_000,
            "number",
        ),
        "KernelMachine, hinge": (
            lambda s: m.KernelMachine("hinge", lam=1e-4, time_limit=s),
            20_000,
            "class",
        ),
        "KernelMachine, squared": (
            lambda s: m.KernelMachine("squared", lam=1e-4, time_limit=s),
            20_000,
            "number",
        ),
        "NuSVC": (lambda s: m.NuSVC(nu=0.6, time_limit=s), 20_000, "class"),
        "NuSVR": (lambda s: m.NuSVR(C=100.0, time_limit=s), 20_000, "number"),
        "LaplacianSVC": (lambda s: m.LaplacianSVC(C=100.0, time_limit=s), 6_000, "few"),
        "LaplacianRidge": (lambda s: m.LaplacianRidge(time_limit=s), 20_000, "number"),
        "GraphSpreading": (lambda s: m.GraphSpreading(time_limit=s), 60_000, "few"),
        "ElasticNet": (lambda s: m.ElasticNet(1e-6, time_limit=s), 40_000, "wide"),
        "Perceptron": (lambda s: m.Perceptron("rbf", time_limit=s), 20_000, "class"),
        "MetricRidge": (lambda s: m.MetricRidge(time_limit=s), 20_000, "number"),
        "MetricRidgeClassifier": (
            lambda s: m.MetricRidgeClassifier(time_limit=s),
            20_000,
            "class",
        ),
        "Lasso": (lambda s: m.Lasso(1e-6, time_limit=s), 40_000, "wide"),
        "LogisticRegression": (
            lambda s: m.LogisticRegression(lam=1e-6, time_limit=s),
            200_000,
            "class",
        ),
        "GMM": (lambda s: m.GMM(20, n_init=20, time_limit=s), 100_000, "none"),
        "MLPClassifier": (lambda s: m.MLPClassifier(time_limit=s), 200_000, "class"),
        "MLPRegressor": (lambda s: m.MLPRegressor(time_limit=s), 200_000, "number"),
        "Autoencoder": (lambda s: m.Autoencoder(time_limit=s), 100_000, "none"),
        "SparsePCA": (lambda s: m.SparsePCA(3, time_limit=s), 5_000, "wide"),
        "RobustPCA": (lambda s: m.RobustPCA(time_limit=s), 5_000, "wide"),
        "KernelSearchCV(SVC)": (
            lambda s: m.KernelSearchCV(m.SVC(), {"C": np.logspace(-2, 4, 7)}, time_limit=s),
            10_000,
            "class",
        ),
        "KernelSearchCV(KernelRidge)": (
            lambda s: m.KernelSearchCV(
                m.KernelRidge(), {"lam": np.logspace(-4, 2, 7)}, time_limit=s
            ),
            10_000,
            "number",
        ),
        "tune(SVC)": (lambda s: _Tune("svc", time_limit=s), 10_000, "class"),
        "tune(KernelRidge)": (lambda s: _Tune("ridge", time_limit=s), 10_000, "number"),
        "tune(KernelLogistic)": (
            lambda s: _Tune(m.KernelLogistic(), time_limit=s),
            10_000,
            "class",
        ),
    }


class _Tune:
    """``tune`` as if it were an estimator."""

    def __init__(self, estimator: Any, **options: Any):
        self.estimator, self.options = estimator, options

    def fit(self, X: Any, y: Any) -> Any:
        """Search."""
        from mercer import tune

        return tune(self.estimator, X, y, progress=False, **self.options)


def data(n: int, target: str) -> tuple[Any, ...]:
    """Return what ``fit`` takes."""
    X, y, c = rows(n, 400 if target == "wide" else 8)
    many = np.random.default_rng(1).integers(0, 20, n)
    few = np.where(np.arange(n) < n // 10, c, -1)  # most labels are unknown
    targets = {"number": y, "wide": y, "class": c, "classes": many, "few": few}
    targets["table"] = X + X[:, ::-1] ** 2
    return (X,) if target == "none" else (X, targets[target])


# ---------------------------------------------------------------- one measurement
def _resident(field: str) -> int:
    text = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if field in line)


def measure_memory(name: str) -> dict[str, Any]:
    """Return the peak of a fit (and of a prediction, if there is one) above what was there."""
    make, n, target = memory_cases()[name]
    given = data(n, target)
    _fit(make(MEMORY), data(400, target))
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    begin = time.perf_counter()
    note = _fit(make(MEMORY), given)
    return {
        "peak": _resident("VmHWM") - before,
        "seconds": time.perf_counter() - begin,
        "rows": n,
        "note": note,
    }


def measure_time(name: str) -> dict[str, Any]:
    """Return how long a fit with a time limit takes."""
    make, n, target = time_cases()[name]
    given = data(n, target)
    _fit(make(60.0), data(400, target))
    begin = time.monotonic()
    note = _fit(make(SECONDS), given)
    return {"seconds": time.monotonic() - begin - LAST[0], "rows": n, "note": note}


def keep_to_one_core() -> None:
    """Count the processor's seconds from now on: other programs do not change them."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    time.monotonic = time.time = time.process_time


def _fit(model: Any, given: tuple[Any, ...]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fitted = model.fit(*given)
            if hasattr(fitted, "predict"):
                fitted.predict(given[0][:2000])
        except (ValueError, MemoryError, TimeoutError) as error:
            return f"{type(error).__name__}: {str(error)[:60]}"
    LAST[0] = getattr(fitted, "refit_time_", 0.0)
    proof = getattr(getattr(fitted, "best_estimator_", fitted), "certificate_", None)
    return "" if proof is None else "proved" if proof.ok else "not proved"


# ---------------------------------------------------------------- the tables
MEASURES = {"memory": (measure_memory, memory_cases), "time": (measure_time, time_cases)}


def _line(name: str, got: dict[str, Any]) -> str:
    if "peak" in got:
        share = got["peak"] / BUDGET
        peak = f"{got['peak'] / 1e6:.0f} MB"
        return f"| {name} | {got['rows']:,} | {peak} | {share:.2f} | {got['note']} |"
    late = f"{got['seconds'] - SECONDS:+.1f} s"
    return f"| {name} | {got['rows']:,} | {got['seconds']:.1f} s | {late} | {got['note']} |"


def main() -> None:
    """Print both tables, or one of them, or make one measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(MEASURES))
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--processor-clock", action="store_true", help="for a busy machine")
    parser.add_argument("--measure", nargs=2, metavar=("KIND", "CASE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.processor_clock:
        keep_to_one_core()
    if options.measure:
        kind, name = options.measure
        print(json.dumps(MEASURES[kind][0](name)))
        return
    for kind in options.kinds:
        limit = MEMORY if kind == "memory" else f"{SECONDS:g} s"
        print(f"\n| {kind}: {limit} | rows | took | over | |\n|---|---|---|---|---|")
        for name in MEASURES[kind][1]():
            if options.only in name:
                flags = ["--processor-clock"] * options.processor_clock
                # a second thread of BLAS would wait for the first on the one core, and count
                alone = {"OPENBLAS_NUM_THREADS": "1"} if flags else {}
                command = [sys.executable, __file__, *flags, "--measure", kind, name]
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=1200, env=os.environ | alone
                )
                if done.returncode:
                    print(f"| {name} | failed: {done.stderr.strip().splitlines()[-1]} |")
                else:
                    print(_line(name, json.loads(done.stdout)), flush=True)


if __name__ == "__main__":
    main()
