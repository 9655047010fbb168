"""A performance profile over real tables: in how many cells who is how much slower than the best.

A cell is a table, a C and a γ (times the "scale" of scikit-learn). Every cell is solved by all, to
the tolerance 1e-3, in one run, in turns; the shortest time counts. Rows are standardised (sparse
and one-hot tables are left as they are), float32, at most ``--rows`` of them for the fit and as
many for the prediction, drawn by ``--seed``. Peers that are not installed are left out; one that
took more than ``--patience`` seconds for a table and γ is spared the larger C, which counts for us
as no figure at all.

    python benchmarks/profile.py svc --data FOLDER --out cells.jsonl [--rows 4000] [--only letter]
    python benchmarks/profile.py svr --data FOLDER --out cells.jsonl
    python benchmarks/profile.py svc-search | ridge-search --data FOLDER --out cells.jsonl
    python benchmarks/profile.py show --out cells.jsonl [--picture profile.svg]
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import sysconfig
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.kernel_ridge import KernelRidge as PeerRidge
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as LibSVC
from sklearn.svm import SVR as LibSVR

import mercer
from mercer.kernels import RBF

warnings.simplefilter("ignore")

CLASSES = [
    *("a9a", "adult", "banknote", "breast_w_original", "covtype_15k", "eeg_eye_state"),
    *("german_numeric", "htru2", "ionosphere", "letter", "mnist", "mushrooms", "phoneme", "pima"),
    *("satimage", "sonar", "spambase", "svmguide1", "usps", "w8a"),
]
NUMBERS = [
    *("abalone", "boston", "california_housing", "concrete", "energy", "kin8nm", "power_plant"),
    *("protein_casp", "wine_red", "wine_white"),
]
CS = [0.1, 1.0, 10.0, 100.0, 1000.0]
FACTORS = [0.1, 1.0, 10.0]
ENOUGH = 0.5  # seconds that a cell's shortest runs are repeated for
MOST_RUNS = 7


class Table(NamedTuple):
    """Rows to learn from and other rows, as the fit gets them."""

    name: str
    X: Any
    y: np.ndarray
    X_new: Any

    @property
    def scale(self) -> float:
        """γ = 1 / (columns × variance), as in scikit-learn."""
        dense = self.X.toarray() if sp.issparse(self.X) else self.X
        return 1.0 / (self.X.shape[1] * float(dense.var()))


# ---------------------------------------------------------------- tables
def load(folder: Path, name: str) -> tuple[Any, np.ndarray]:
    """Return all rows of a table and what is to be learned."""
    if name in ("a9a", "w8a"):
        with gzip.open(folder / f"{name}/{name}.svm.gz") as file:
            X, y = load_svmlight_file(file)
        return X.tocsr(), y
    if name == "adult":
        import polars as pl

        frame = pl.read_csv(folder / "adult/adult_train.csv.gz", null_values=["?", " ?"])
        y = frame[frame.columns[-1]].to_numpy()
        frame = frame.drop(frame.columns[-1])
        words = [c for c in frame.columns if frame[c].dtype == pl.String]
        return frame.to_dummies(words).to_numpy().astype(np.float64), y
    data = np.load(folder / f"{name}/{name}.npz", allow_pickle=False)
    return np.nan_to_num(data["X"].reshape(len(data["X"]), -1).astype(np.float64)), data["y"]


def table(folder: Path, name: str, rows: int, seed: int) -> Table:
    """Return some rows of a table, standardised."""
    X, y = load(folder, name)
    order = np.random.default_rng(seed).permutation(len(y))
    learn, other = order[:rows], order[rows : 2 * rows]
    other = learn if len(other) < len(learn) // 4 else other
    y = (y - y.mean()) / y.std() if name in NUMBERS else np.unique(y, return_inverse=True)[1]
    if not sp.issparse(X):
        X = StandardScaler().fit_transform(X)
    X = X.astype(np.float32)
    return Table(name, X[learn], y[learn], X[other])


# ---------------------------------------------------------------- who is measured
class LibsvmOfficial:
    """LIBSVM's own Python interface."""

    def __init__(self, C: float, gamma: float, regression: bool):
        kind = "-s 3 -p 0.1" if regression else "-s 0"
        self.options = f"{kind} -t 2 -c {C} -g {gamma} -m 200 -q"

    def fit(self, X: Any, y: np.ndarray) -> LibsvmOfficial:
        from libsvm.svmutil import svm_train

        self.model = svm_train(y.astype(np.float64), _as_libsvm(X), self.options)
        return self

    def predict(self, X: Any) -> Any:
        from libsvm.svmutil import svm_predict

        return svm_predict([], _as_libsvm(X), self.model, "-q")[0]


def _as_libsvm(X: Any) -> Any:
    return sp.csr_matrix(X.astype(np.float64)) if sp.issparse(X) else X.astype(np.float64)


def machines(regression: bool) -> dict[str, Callable[[float, float], Any]]:
    """Return what makes each machine for a C and a γ."""
    ours = mercer.SVR if regression else mercer.SVC
    lib = LibSVR if regression else LibSVC
    found: dict[str, Callable[[float, float], Any]] = {
        "mercer": lambda C, gamma: ours(RBF(gamma=gamma), C=C),
        "scikit-learn": lambda C, gamma: lib(C=C, gamma=gamma),
    }
    with contextlib.suppress(ImportError):
        import sklearnex.svm as intel

        fast = intel.SVR if regression else intel.SVC
        found["Intel single"] = lambda C, gamma: fast(C=C, gamma=gamma)
        found["Intel double"] = lambda C, gamma: fast(C=C, gamma=gamma)
    with contextlib.suppress(ImportError):
        import libsvm.svmutil  # noqa: F401

        found["libsvm-official"] = lambda C, gamma: LibsvmOfficial(C, gamma, regression)
    return found


def shortest(runs: dict[str, Callable[[], Any]]) -> dict[str, tuple[float, Any]]:
    """Return the shortest time and the last result of each; they take turns."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    results: dict[str, Any] = {}
    for turn in range(MOST_RUNS):
        for name, run in runs.items():
            if turn and sum(times[name]) > ENOUGH and len(times[name]) >= 2:
                continue
            if turn and times[name][0] > 10 * ENOUGH:
                continue
            start = time.perf_counter()
            results[name] = run()
            times[name].append(time.perf_counter() - start)
    return {name: (min(t), results[name]) for name, t in times.items()}


# ---------------------------------------------------------------- cells
def measure_fits(task: Table, regression: bool, options: Any) -> Iterator[dict[str, Any]]:
    """Yield a cell for every C and γ of a table."""
    makers, scale = machines(regression), task.scale
    X = dict.fromkeys(makers, task.X) | {"Intel double": task.X.astype(np.float64)}
    X_new = dict.fromkeys(makers, task.X_new) | {"Intel double": task.X_new.astype(np.float64)}
    for factor in options.factors:
        spared: set[str] = set()
        for C in options.cs:
            gamma = factor * scale
            fits = {
                name: (lambda make=make, X=X[name]: make(C, gamma).fit(X, task.y))  # noqa: B023
                for name, make in makers.items()
                if name not in spared
            }
            fitted = shortest(fits)
            spared |= {name for name, (t, _) in fitted.items() if t > options.patience}
            spared.discard("mercer")
            uses = {
                name: (lambda model=model, X=X_new[name]: model.predict(X))
                for name, (_, model) in fitted.items()
            }
            used = shortest(uses)
            mine = fitted["mercer"][1]
            yield {
                "table": task.name, "n": task.X.shape[0], "d": task.X.shape[1],
                "classes": 0 if regression else len(np.unique(task.y)), "C": C, "factor": factor,
                "support": len(mine.support_), "gap": float(mine.certificate_.relative_gap),
                "proved": bool(mine.certificate_.ok),
                "fit": {name: t for name, (t, _) in fitted.items()},
                "predict": {name: t for name, (t, _) in used.items()},
                "difference": _difference(mine, fitted.get("scikit-learn"), task, gamma),
            }  # fmt: skip


def _difference(mine: Any, peer: Any, task: Table, gamma: float) -> float | None:
    """Return how much our dual objective is below scikit-learn's, relative; of two classes."""
    if peer is None or len(np.unique(task.y)) != 2:
        return None
    values = []
    for model in (mine, peer[1]):
        rows, beta = model.support_, model.dual_coef_
        beta = np.ravel(beta.toarray() if sp.issparse(beta) else beta)
        X = task.X[rows]
        K = RBF(gamma=gamma)((X.toarray() if sp.issparse(X) else X).astype(np.float64))
        values.append(float(np.abs(beta).sum() - 0.5 * beta @ K @ beta))
    return (values[1] - values[0]) / abs(values[1])


def measure_svc_search(task: Table, options: Any) -> Iterator[dict[str, Any]]:
    """Yield the cell of a grid 6 × 6 with 5 folds."""
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(task.X, task.y))
    Cs, gammas = np.logspace(-1, 3, 6), task.scale * np.logspace(-1.5, 1, 6)
    X = task.X.astype(np.float64)
    runs = {
        "mercer": lambda: mercer.KernelSearchCV(
            mercer.SVC(RBF()), {"C": Cs, "kernel__gamma": gammas}, cv=folds, refit=False
        ).fit(X, task.y),
        "GridSearchCV": lambda: GridSearchCV(
            LibSVC(), {"C": Cs, "gamma": gammas}, cv=folds, n_jobs=2, refit=False
        ).fit(X, task.y),
    }
    with contextlib.suppress(ImportError, KeyError, OSError):
        runs["liquidSVM"] = liquid_search(X, task.y, Cs, gammas)
    yield from _searched(task, runs)


def liquid_search(X: Any, y: Any, Cs: Any, gammas: Any) -> Callable[[], Any]:
    """Return liquidSVM's search; it has no offset and makes folds of its own."""
    sysconfig.get_config_vars()["SO"] = sysconfig.get_config_var("EXT_SUFFIX")
    from liquidSVM import mcSVM

    return lambda: mcSVM(
        X, y.astype(float), do_select=True, folds=5, threads=2,
        gammas=1 / np.sqrt(gammas), c_values=Cs, scale=False,
    )  # fmt: skip


def measure_ridge_search(task: Table, options: Any) -> Iterator[dict[str, Any]]:
    """Yield the cell of 30 λ × 5 γ with 5 folds."""
    folds = list(KFold(5, shuffle=True, random_state=0).split(task.X))
    alphas, gammas = np.logspace(-6, 2, 30), task.scale * np.logspace(-1.5, 0.5, 5)
    X, name = task.X.astype(np.float64), "neg_mean_squared_error"
    runs = {
        "mercer": lambda: mercer.KernelSearchCV(
            mercer.KernelRidge(RBF(), fit_intercept=False),
            {"lam": alphas, "kernel__gamma": gammas}, cv=folds, scoring=name, refit=False,
        ).fit(X, task.y),
        "GridSearchCV": lambda: GridSearchCV(
            PeerRidge(kernel="rbf"), {"alpha": alphas, "gamma": gammas},
            cv=folds, scoring=name, n_jobs=2, refit=False,
        ).fit(X, task.y),
    }  # fmt: skip
    yield from _searched(task, runs)


def _searched(task: Table, runs: dict[str, Callable[[], Any]]) -> Iterator[dict[str, Any]]:
    found = shortest(runs)
    scores = {
        name: float(search.best_score_)
        for name, (_, search) in found.items()
        if hasattr(search, "best_score_")
    }
    times = {name: t for name, (t, _) in found.items()}
    yield {
        "table": task.name, "n": task.X.shape[0], "d": task.X.shape[1],
        "classes": len(np.unique(task.y)), "C": 0, "factor": 0, "fit": times, "best": scores,
    }  # fmt: skip


# ---------------------------------------------------------------- showing
def show(cells: list[dict[str, Any]], picture: Path | None) -> None:
    """Print means and worst cells of the peers' times over ours, and draw the profile."""
    for kind in dict.fromkeys(cell["kind"] for cell in cells):
        for what in ("fit", "predict"):
            some = [c for c in cells if c["kind"] == kind and c.get(what)]
            for large in (True, False):
                chosen = [c for c in some if (c["n"] >= 1000) == large]
                if chosen:
                    size = "n ≥ 1,000" if large else "n < 1,000"
                    print(f"\n{kind} {what}, {size}: {len(chosen)} cells")
                    for peer in dict.fromkeys(name for c in chosen for name in c[what]):
                        if peer != "mercer":
                            _ratios(chosen, what, peer)
    unproved = [_label(c) for c in cells if not c.get("proved", True)]
    worse = [c for c in cells if (c.get("difference") or 0.0) > 1e-3]
    print(f"\nnot proved: {unproved or 'none'}; objective below LIBSVM's by > 1e-3: {len(worse)}")
    if picture:
        draw(cells, picture)


def _ratios(cells: list[dict[str, Any]], what: str, peer: str) -> None:
    ratios = sorted(
        (c[what][peer] / c[what]["mercer"], _label(c)) for c in cells if peer in c[what]
    )
    values = np.array([value for value, _ in ratios])
    worst = "; ".join(f"{value:.2f} {label}" for value, label in ratios[:4])
    mean, below = np.exp(np.log(values).mean()), np.mean(values < 1)
    print(f"  {peer:<16} mean {mean:6.2f}×  below 1: {below:4.0%}   worst: {worst}")


def _label(cell: dict[str, Any]) -> str:
    setting = f" C={cell['C']:g} γ×{cell['factor']:g}" if cell["C"] else ""
    return f"{cell['table']} {cell['n']}×{cell['d']}{setting}"


def draw(cells: list[dict[str, Any]], path: Path) -> None:
    """Draw Dolan and Moré's profile: the share of cells within a factor of the fastest."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    groups = [
        (kind, what)
        for kind in dict.fromkeys(c["kind"] for c in cells)
        for what in ("fit", "predict")
        if any(c["kind"] == kind and c.get(what) for c in cells)
    ]
    figure, axes = plt.subplots(
        1, len(groups), figsize=(3.2 * len(groups), 3.2), squeeze=False, sharey=True
    )
    for axis, (kind, what) in zip(axes[0], groups, strict=True):
        some = [c[what] for c in cells if c["kind"] == kind and c.get(what)]
        factors = np.logspace(0, 2.5, 200)
        for name in dict.fromkeys(name for times in some for name in times):
            behind = np.array([t.get(name, np.inf) / min(t.values()) for t in some])
            share = [(behind <= factor).mean() for factor in factors]
            axis.step(factors, share, label=name, lw=2.2 if name == "mercer" else 1.2)
        axis.set(xscale="log", title=f"{kind} {what}", xlabel="times the fastest", ylim=(0, 1.02))
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("share of cells")
    axes[0, 0].legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    figure.savefig(path)


MEASURES: dict[str, tuple[list[str], Callable[[Table, Any], Iterator[dict[str, Any]]]]] = {
    "svc": (CLASSES, lambda task, options: measure_fits(task, False, options)),
    "svr": (NUMBERS, lambda task, options: measure_fits(task, True, options)),
    "svc-search": (CLASSES, measure_svc_search),
    "ridge-search": (NUMBERS, measure_ridge_search),
}


def warm_up() -> None:
    """Compile, and touch memory, before anything is measured."""
    X = np.random.default_rng(0).standard_normal((3000, 8)).astype(np.float32)
    for rows in (X, X[:200], X.astype(float), sp.csr_array(X[:300])):
        y = np.ravel(rows[:, [0]].toarray() if sp.issparse(rows) else rows[:, 0])
        for labels in (y > 0, np.digitize(y, [-0.5, 0.5])):
            mercer.SVC().fit(rows, labels).predict(rows)
        mercer.SVR().fit(rows, y).predict(rows)


def _numbers(text: str) -> list[float]:
    return [float(value) for value in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("kind", choices=[*MEASURES, "show"])
    parser.add_argument("--data", type=Path, help="folder with the real data")
    parser.add_argument("--out", type=Path, default=Path("cells.jsonl"), help="file of cells")
    parser.add_argument("--rows", type=int, default=4000, help="most rows of a fit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="tables, by commas")
    parser.add_argument("--cs", type=_numbers, default=CS)
    parser.add_argument("--factors", type=_numbers, default=FACTORS)
    parser.add_argument("--patience", type=float, default=10.0, help="seconds for a peer's fit")
    parser.add_argument("--picture", type=Path, help="file for the picture")
    options = parser.parse_args()
    if options.kind == "show":
        lines = options.out.read_text(encoding="utf-8").splitlines()
        return show([json.loads(line) for line in lines], options.picture)
    warm_up()
    names, measure = MEASURES[options.kind]
    only = options.only.split(",") if options.only else names
    for name in only:
        task = table(options.data, name, options.rows, options.seed)
        for cell in measure(task, options):
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"kind": options.kind, **cell}) + "\n")
            mine = cell["fit"]["mercer"]
            ratios = "  ".join(
                f"{n} {t / mine:.2f}" for n, t in cell["fit"].items() if n != "mercer"
            )
            print(f"{_label(cell):<40} {mine:8.4f} s  {ratios}", flush=True)


if __name__ == "__main__":
    main()
