"""Rows of any size: landmarks against scikit-learn, growth with the rows, cells against a sample.

    python benchmarks/scale.py [--rows 200000]

Each line is measured in a process of its own: seconds, CPU seconds, and the peak memory above that
of the rows.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

LANDMARKS, COLUMNS = 1000, 28


def regression(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows like those of HIGGS, generated, and numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, COLUMNS)).astype(np.float32)
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(size=n)


def classes(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of six columns and two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)).astype(np.float32)
    f = np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) + 0.7 * X[:, 2] * X[:, 3]
    return X, (f + 0.2 * rng.normal(size=n) > 0).astype(int)


def ours(n: int) -> dict[str, Any]:
    """20 λ × 5 folds chosen, fitted and proved."""
    from mercer import KernelRidge, rows
    from mercer.kernels import RBF

    X, y = regression(n)
    lams = np.geomspace(1e-2, 1e4, 20)
    model = KernelRidge(RBF(1 / COLUMNS), lam=lams, landmarks=LANDMARKS, random_state=0)
    return measured(lambda: model.fit(rows.open(X, y)).certificate_.ok)


def theirs(n: int) -> dict[str, Any]:
    """One λ, without folds, by scikit-learn."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    X, y = regression(n)
    features = Nystroem(gamma=1 / COLUMNS, n_components=LANDMARKS, random_state=0)
    model = make_pipeline(features, Ridge(alpha=1.0))
    return measured(lambda: bool(model.fit(X, y)))


def parquet(n: int) -> dict[str, Any]:
    """One λ from Parquet files, four of them."""
    import polars as pl

    from mercer import KernelRidge, rows
    from mercer.kernels import RBF

    with tempfile.TemporaryDirectory() as folder:
        for i in range(4):
            X, y = regression(n // 4, i)
            columns = {f"x{j}": X[:, j] for j in range(COLUMNS)}
            pl.DataFrame(columns | {"y": y}).write_parquet(Path(folder) / f"{i}.parquet")
        model = KernelRidge(RBF(1 / COLUMNS), landmarks=500, random_state=0)
        return measured(lambda: model.fit(rows.open(folder, "y")).certificate_.ok)


def cells(n: int) -> dict[str, Any]:
    """`SVC` by cells on all rows."""
    return _svc(n, route="cells")


def sample(n: int) -> dict[str, Any]:
    """`SVC` on a twentieth of the rows, all at once."""
    return _svc(n // 20, route="exact")


def _svc(n: int, route: str) -> dict[str, Any]:
    from mercer import SVC
    from mercer.kernels import RBF

    (X, y), (new, truth) = classes(n), classes(50_000, 1)
    model = SVC(RBF(0.5), route=route)
    found = measured(lambda: model.fit(X, y).certificate_.ok)
    return found | {"accuracy": float(np.mean(model.predict(new) == truth))}


def measured(work: Callable[[], bool]) -> dict[str, Any]:
    """Return what a piece of work takes."""
    before = _peak()
    wall, cpu = time.perf_counter(), time.process_time()
    ok = work()
    spent = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return spent | {"above_rows_GB": _peak() - before, "ok": ok}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


WORK = {f.__name__: f for f in (ours, theirs, parquet, cells, sample)}


def alone(name: str, n: int) -> dict[str, Any]:
    """Return what a piece of work takes in a process of its own."""
    said = subprocess.run(
        [sys.executable, __file__, "--only", name, "--rows", str(n)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(said.stdout)


def main() -> None:
    """Run all, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--only", choices=WORK)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(WORK[options.only](options.rows)))
        return
    n = options.rows
    lines = [(name, n) for name in WORK] + [("parquet", 2 * n)]
    for name, rows in lines:
        found = {
            k: round(v, 3) if isinstance(v, float) else v for k, v in alone(name, rows).items()
        }
        print(f"{name:8} {rows:>10,} rows  {found}", flush=True)


if __name__ == "__main__":
    main()
