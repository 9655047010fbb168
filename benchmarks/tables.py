"""Claim: on tables of numbers and words, ``mercer fit`` is as good as boosted trees, or better.

Each table is split the same way for all: training rows (4,000 at most) and held-out rows (4,000 at
most). ``mercer fit`` runs as a command on a CSV file, with a limit of 60 s. LightGBM has four
settings, each with early stopping on a fifth of the training rows, of which the best is taken;
HistGradientBoosting has its defaults. The score is R² or accuracy on the held-out rows.

    python benchmarks/tables.py --data FOLDER [--seeds 0,1,2] [--only adult] [--seconds 60]
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.stats import rankdata
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

NUMBERS = [
    *("abalone", "boston", "california_housing", "concrete", "energy", "kin8nm", "power_plant"),
    *("protein_casp", "wine_red", "wine_white"),
]
CLASSES = [
    *("banknote", "breast_w_original", "covtype_15k", "eeg_eye_state", "german_numeric", "htru2"),
    *("ionosphere", "letter", "mushrooms", "phoneme", "pima", "satimage", "sonar", "spambase"),
    "svmguide1",
]
MIXED = ["adult", "german_raw", "diamonds"]
SETTINGS = [
    {"num_leaves": leaves, "learning_rate": rate} for leaves in (15, 63) for rate in (0.03, 0.1)
]


class Problem(NamedTuple):
    """A table with the column to predict, in one split."""

    learn: pl.DataFrame
    test: pl.DataFrame
    classes: bool

    def parts(self) -> tuple[Any, np.ndarray, Any, np.ndarray]:
        """Return rows and targets to learn from and held out, as pandas has them."""
        sides = []
        for frame in (self.learn, self.test):
            sides += [frame.drop("target").to_pandas(), frame["target"].to_numpy()]
        return tuple(sides)  # type: ignore[return-value]


def load(folder: Path, name: str) -> tuple[pl.DataFrame, bool]:
    """Return a table with the column "target", and whether that is a class."""
    if name == "adult":
        frame = pl.read_csv(folder / "adult/adult_train.csv.gz", null_values=["?", " ?"])
        return frame.rename({frame.columns[-1]: "target"}), True
    if name == "german_raw":
        with gzip.open(folder / "german_raw/german.csv.gz") as file:
            frame = pl.read_csv(file.read(), has_header=False)
        frame = frame.rename({frame.columns[-1]: "target"})
        return frame.with_columns(pl.col("target").replace_strict({1: "good", 2: "bad"})), True
    if name == "diamonds":
        frame = pl.read_csv(folder / "diamonds/diamonds.csv.gz")
        frame = frame.drop([c for c in ("", "rownames") if c in frame.columns])
        return frame.rename({"price": "target"}), False
    data = np.load(folder / f"{name}/{name}.npz", allow_pickle=False)
    X = data["X"].astype(np.float64)
    y = data["classes"][data["y"]] if "classes" in data else data["y"]
    frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])}).fill_nan(None)
    is_class = name in CLASSES
    y = np.array([f"c{v}" for v in y]) if is_class else y.astype(np.float64)
    return frame.with_columns(target=pl.Series(y)), is_class


def split(frame: pl.DataFrame, classes: bool, rows: int, seed: int) -> Problem:
    """Return training rows and held-out rows, drawn by a seed."""
    n = len(frame)
    take = min(rows, int(0.75 * n))
    strata = frame["target"].to_numpy() if classes else None
    learn, rest = train_test_split(
        np.arange(n), train_size=take, stratify=strata, random_state=seed
    )
    return Problem(frame[np.sort(learn)], frame[np.sort(rest[:4000])], classes)


# ---------------------------------------------------------------- the rivals
def mercer_fit(problem: Problem, seconds: int = 60) -> float:
    """Return the score of the command, from files to files."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        problem.learn.write_csv(here / "learn.csv")
        problem.test.write_csv(here / "test.csv")
        command = [
            *(sys.executable, "-m", "mercer", "fit", "learn.csv", "--test", "test.csv"),
            *("--task", "classify" if problem.classes else "regress"),
            *("--target", "target", "--time-limit", f"{seconds}s", "--json"),
            *(("--metric", "accuracy") if problem.classes else ()),
        ]
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr[-500:])
        said = json.loads(done.stdout)
    mercer_fit.said = f"{said.get('model')}"  # type: ignore[attr-defined]
    return float(said["scores"]["model"]["accuracy" if problem.classes else "R²"]["value"])


def _encoded(make: Any) -> Any:
    words = make_column_selector(dtype_exclude="number")
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_pipeline(make_column_transformer((codes, words), remainder="passthrough"), make)


def trees(problem: Problem) -> float:
    """Return the score of HistGradientBoosting as it comes."""
    X, y, X_new, y_new = problem.parts()
    kind = HistGradientBoostingClassifier if problem.classes else HistGradientBoostingRegressor
    return float(_encoded(kind(random_state=0)).fit(X, y).score(X_new, y_new))


def lightgbm(problem: Problem) -> float:
    """Return the score of the best of four settings, each stopped early."""
    import lightgbm as lgb

    X, y, X_new, y_new = problem.parts()
    encode = _encoded("passthrough")[:-1]
    X, X_new = encode.fit_transform(X), encode.transform(X_new)
    strata = y if problem.classes else None
    A, V, a, v = train_test_split(X, y, test_size=0.2, stratify=strata, random_state=0)
    kind = lgb.LGBMClassifier if problem.classes else lgb.LGBMRegressor
    best: tuple[float, Any] = (-np.inf, None)
    for setting in SETTINGS:
        model = kind(n_estimators=2000, verbose=-1, random_state=0, **setting)
        model.fit(A, a, eval_set=[(V, v)], callbacks=[lgb.early_stopping(50, verbose=False)])
        found = float(model.score(V, v))
        if found > best[0]:
            best = found, model
    return float(best[1].score(X_new, y_new))


RIVALS: dict[str, Any] = {
    "mercer fit": mercer_fit,
    "LightGBM": lightgbm,
    "HistGradientBoosting": trees,
}


def main() -> None:
    """Print a line for each table, then ranks and the tables that are lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", default="0,1,2", help="of the splits, by commas")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=60, help="for mercer fit")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else [*NUMBERS, *CLASSES, *MIXED]
    warnings.filterwarnings("ignore")
    table = {}
    for name in names:
        frame, classes = load(options.data, name)
        scores, seconds = [], []
        for seed in options.seeds.split(","):
            problem = split(frame, classes, options.rows, int(seed))
            line = []
            for name_of, rival in RIVALS.items():
                start = time.perf_counter()
                given = (options.seconds,) if name_of == "mercer fit" else ()
                line.append(rival(problem, *given))
                seconds.append(time.perf_counter() - start)
            scores.append(line)
        mean = np.mean(scores, axis=0)
        took = np.mean(np.reshape(seconds, (-1, len(RIVALS))), axis=0)
        table[name] = mean, 0.015 if classes else 0.02
        print(
            f"{name:20} {len(problem.learn):5} × {frame.width - 1:3}  "
            + "  ".join(f"{s:.4f}" for s in mean)
            + "   "
            + "  ".join(f"{s:5.1f} s" for s in took)
            + f"   {mercer_fit.said}",  # type: ignore[attr-defined]
            flush=True,
        )
    ranks = np.mean([rankdata(-mean) for mean, _ in table.values()], axis=0)
    print("mean rank: " + ", ".join(f"{n} {r:.2f}" for n, r in zip(RIVALS, ranks, strict=True)))
    lost = [name for name, (mean, margin) in table.items() if mean[0] < mean[1:].max() - margin]
    print("worse than the best of the others by more than the margin:", ", ".join(lost) or "none")


if __name__ == "__main__":
    main()
