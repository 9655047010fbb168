"""Claims: to have `SVC` costs at most 1.3 × as much as in scikit-learn; compiling is paid once.

`import mercer` itself loads nothing; what counts is the first name that is asked for.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

FIRST_CALL = """
import time
import numpy as np
from mercer.kernels import RBF
X = np.random.default_rng(0).standard_normal((600, 20))
start = time.perf_counter(); RBF()(X); first = time.perf_counter() - start
start = time.perf_counter(); RBF()(X); print(first, time.perf_counter() - start)
"""


def run(code: str, cache: str | None = None) -> tuple[float, str]:
    """Run Python code in a new process; return its seconds and what it printed."""
    env = dict(os.environ, **({"NUMBA_CACHE_DIR": cache} if cache else {}))
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=env
    )
    return time.perf_counter() - start, done.stdout


def extra_time(code: str, repeats: int = 7) -> float:
    bare = min(run("pass")[0] for _ in range(repeats))
    return min(run(code)[0] for _ in range(repeats)) - bare


if __name__ == "__main__":
    run("from mercer import SVC; from sklearn.svm import SVC")  # byte-compile
    package = extra_time("import mercer")
    theirs, ours = (extra_time(f"from {m} import SVC") for m in ("sklearn.svm", "mercer"))
    print(f"import mercer {package:.2f} s")
    print(f"SVC from sklearn.svm {theirs:.2f} s, from mercer {ours:.2f} s: {ours / theirs:.2f}×")
    with tempfile.TemporaryDirectory() as cache:
        for which in ("first", "second"):
            first, again = map(float, run(FIRST_CALL, cache)[1].split())
            print(f"{which} process: first call {first * 1e3:.0f} ms, next {again * 1e3:.1f} ms")
