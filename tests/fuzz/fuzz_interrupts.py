"""Ctrl-C at random moments of every long-running call, each call in a process of its own.

``python -m tests.fuzz.fuzz_interrupts --count 200`` interrupts 200 times and prints what came of
it. After every interrupt: a KeyboardInterrupt or the best so far, no proof that is false, the
threads of BLAS as before, no lease of working memory left, and the next call is right.
"""

from __future__ import annotations

import argparse
import gc
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mercer as m
from mercer import _scratch, _threads

PATIENCE = 60.0  # seconds in which an interrupted call must end


def _data(n: int = 700, d: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, f + 0.3 * rng.normal(size=n), np.digitize(f, [-0.7, 0.0, 0.7])


X, Y, CLASSES = _data()


def _saved(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mercer"
        m.save(model, path)
        return m.load(path)


def _report(model: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model.report(Path(folder) / "report.html", X[500:], CLASSES[500:], time_limit=2)


CALLS: dict[str, Callable[[], Any]] = {
    "SVC": lambda: m.SVC(C=10.0).fit(X, CLASSES),
    "SVC, probability": lambda: m.SVC(probability=True).fit(X, CLASSES > 1),
    "SVC, rows on demand": lambda: m.SVC(memory="400kB", time_limit=2).fit(X[:250], CLASSES[:250]),
    "SVR": lambda: m.SVR(C=10.0).fit(X, Y),
    "OneClassSVM": lambda: m.OneClassSVM().fit(X),
    # within its usual tolerance labels near the border depend on the order of the rows
    "LinearSVC": lambda: m.LinearSVC(C=100.0, tol=1e-5, random_state=0).fit(X, CLASSES),
    "KernelRidge": lambda: m.KernelRidge(lam="loo").fit(X, Y),
    "KernelRidge, products": lambda: m.KernelRidge(memory="1MB").fit(X, Y),
    "KernelLogistic": lambda: m.KernelLogistic().fit(X, CLASSES),
    "KernelMachine": lambda: m.KernelMachine("huber").fit(X, Y),
    "Perceptron": lambda: m.Perceptron("rbf").fit(X, CLASSES > 1),
    "Lasso": lambda: m.Lasso(1e-4).fit(X, Y),
    "LogisticRegression": lambda: m.LogisticRegression().fit(X, CLASSES),
    "GMM": lambda: m.GMM(5, n_init=5, random_state=0).fit(X),
    "MLPClassifier": lambda: m.MLPClassifier(random_state=0).fit(X, CLASSES),
    "Autoencoder": lambda: m.Autoencoder(random_state=0).fit(X),
    "SparsePCA": lambda: m.SparsePCA(2).fit(X),
    "RobustPCA": lambda: m.RobustPCA().fit(X),
    "ICA": lambda: m.ICA(random_state=0).fit(X),
    "AdaBoost": lambda: m.AdaBoost(100).fit(X, CLASSES > 1),
    "Isomap": lambda: m.Isomap(8).fit(X),
    "KernelPCA": lambda: m.KernelPCA().fit(X),
    "KernelSearchCV": lambda: m.KernelSearchCV(
        m.SVC(), {"C": [0.1, 1.0, 10.0], "kernel__gamma": [0.05, 0.5]}, cv=3, n_jobs=2
    ).fit(X, CLASSES),
    "tune": lambda: m.tune("ridge", X[:300], Y[:300], cv=3, progress=False),
    "cross_validate": lambda: m.cross_validate(m.SVC(), X, CLASSES, cv=3),
    "save": lambda: [_saved(MODEL) for _ in range(20)],
    "report": lambda: _report(MODEL),
}
MODEL: Any = None


# ---------------------------------------------------------------- one process
class Findings(list):  # type: ignore[type-arg]
    """What is wrong."""

    def expect(self, holds: bool, words: str) -> None:
        """Note what does not hold."""
        if not holds:
            self.append(words)


def interrupted(call: Callable[[], Any], after: float) -> tuple[str, Any]:
    """Return how a call ends that gets a Ctrl-C after so many seconds, and its result."""
    timer = signal.setitimer
    try:
        timer(signal.ITIMER_REAL, max(after, 1e-5))
        result = call()
        timer(signal.ITIMER_REAL, 0.0)
    except KeyboardInterrupt:
        return "KeyboardInterrupt", None
    return "answer", result


def _press(*_: Any) -> None:
    signal.default_int_handler(signal.SIGINT, None)


def _honest(result: Any, wanted: Any) -> bool:
    """Whether what is called proved is what an undisturbed call gives."""
    proof = getattr(result, "certificate_", None)
    if proof is None or not proof.ok or not hasattr(result, "predict"):
        return True
    if isinstance(result, m.GMM):  # its proof is of one of many optima, the best of fewer starts
        return True
    disagree = np.mean(np.asarray(result.predict(X)) != np.asarray(wanted.predict(X)))
    if np.asarray(result.predict(X)).dtype.kind == "f":
        scale = np.abs(wanted.predict(X)).max()
        return bool(np.abs(result.predict(X) - wanted.predict(X)).max() <= 0.02 * scale)
    return bool(disagree <= 0.01)


def _sound(before: list[int], threads: int, found: Findings, when: str) -> None:
    now = [library.count_threads() for library in _threads._libraries()]
    found.expect(now == before, f"{when}: BLAS has {now} threads, it had {before}")
    found.expect(threading.active_count() <= threads, f"{when}: threads are left behind")


def _leases() -> int:
    """Return how many arrays of working memory somebody refers to."""
    gc.collect()
    _scratch.settle()
    return len(_scratch._leased)


def check(name: str, count: int, seed: int) -> Counter[str]:
    """Interrupt a call so many times; raise if anything is wrong."""
    global MODEL
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _press)
    MODEL = m.SVC(probability=True).fit(X[:500], CLASSES[:500])
    call = CALLS[name]
    call()
    leases = _leases()
    begin = time.perf_counter()
    wanted = call()
    length = time.perf_counter() - begin
    before = [library.count_threads() for library in _threads._libraries()]
    threads, rng = threading.active_count() + 4, random.Random(seed)
    ends: Counter[str] = Counter()
    found = Findings()
    for number in range(count):
        after = rng.uniform(0.0, 1.1 * length)
        begin = time.perf_counter()
        end, result = interrupted(call, after)
        ends[end] += 1
        when = f"{name}, interrupt {number} after {after:.4f} s of {length:.4f}"
        found.expect(time.perf_counter() - begin < PATIENCE + after, f"{when}: it went on")
        found.expect(_honest(result, wanted), f"{when}: a proof is false")
        result = None
        gc.collect()
        _sound(before, threads, found, when)
    result, wanted = None, None
    found.expect(_honest(call(), call()), f"{name}: the next call is wrong")
    found.expect(_leases() <= leases, f"{name}: working memory is not given back")
    if found:
        raise SystemExit("\n".join(found))
    return ends


# ---------------------------------------------------------------- all of them
def _run(command: list[str], limit: float) -> tuple[bool, str]:
    """Return whether a check went well, and what it said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return False, f"no end after {limit:.0f} s"
    return done.returncode == 0, done.stdout.strip() or done.stderr.strip()


def main() -> None:
    """Interrupt every call, or check one in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="interrupts in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="calls whose name holds this text")
    parser.add_argument("--check", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.check:
        print(dict(check(options.check, options.count, options.seed)))
        return
    names = [name for name in CALLS if options.only in name]
    each, wrong = -(-options.count // len(names)), 0
    for name in names:
        command = [sys.executable, "-m", __spec__.name, "--check", name, "--count", str(each)]
        command += ["--seed", str(options.seed)]
        good, said = _run(command, 120.0 + 20.0 * each)
        wrong += not good
        print(f"{name}: {said}", flush=True)
    print(f"{each * len(names)} interrupts of {len(names)} calls, {wrong} calls with findings")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
