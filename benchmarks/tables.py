"""Claim: on tables of numbers and words, ``mercer fit`` is as good as boosted trees, or better.

Each table is split the same way for all: training rows (4,000 at most) and held-out rows (4,000 at
most). ``mercer fit`` runs as a command on a CSV file, with a limit of 60 s. LightGBM has four
settings, each with early stopping on a fifth of the training rows, of which the best is taken;
HistGradientBoosting has its defaults; xRFM has its defaults, standardised columns and a fifth of
the training rows to choose its round by. The score is R² or accuracy on the held-out rows.

    python benchmarks/tables.py --data FOLDER [--seeds 0,1,2] [--only adult] [--seconds 60]

Every run is a line of ``benchmarks/results/tables.jsonl``. A run that is there is not repeated,
unless the time limit had cut it, so that a benchmark that was stopped goes on where it was;
``--summary`` only prints what is there. Seconds are those of the processor, all threads together.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

RESULTS = Path(__file__).parent / "results" / "tables.jsonl"
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
MARGIN = {True: 0.015, False: 0.02}  # of accuracy and of R²: beyond, a table is lost


class Problem(NamedTuple):
    """A table with the column to predict, in one split."""

    learn: pl.DataFrame
    test: pl.DataFrame
    classes: bool

    def sides(self) -> tuple[pl.DataFrame, np.ndarray, pl.DataFrame, np.ndarray]:
        """Return rows and targets to learn from, and the same held out."""
        y, y_new = (side["target"].to_numpy() for side in (self.learn, self.test))
        return self.learn.drop("target"), y, self.test.drop("target"), y_new

    def score(self, y: np.ndarray, predicted: np.ndarray) -> float:
        """Return accuracy or R²."""
        return float((accuracy_score if self.classes else r2_score)(y, predicted))


class Answer(NamedTuple):
    """What a method reached, what it says of it, and whether a time limit cut it."""

    score: float
    said: str = ""
    cut: bool = False


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
def mercer_fit(problem: Problem, seconds: int) -> Answer:
    """Return the score of the command, from files to files."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        problem.learn.write_csv(here / "learn.csv")
        problem.test.write_csv(here / "test.csv")
        command = [
            *(sys.executable, "-m", "mercer", "fit", "learn.csv", "--test", "test.csv"),
            *("--task", "classify" if problem.classes else "regress"),
            *("--target", "target", "--time-limit", f"{seconds}s", "--json", "--no-report"),
            *(("--metric", "accuracy") if problem.classes else ()),
        ]
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    told = json.loads(done.stdout)
    score = told["scores"]["model"]["accuracy" if problem.classes else "R²"]["value"]
    return Answer(float(score), f"{told['model']}", bool(told["cut_by_time_limit"]))


def _encoded(
    learn: pl.DataFrame, test: pl.DataFrame, numbers: Any, words: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return both sides as matrices: columns of numbers and of words, each by its encoder."""
    of_words = [c for c, kind in learn.schema.items() if kind == pl.String]
    found = []
    for encoder, names in (
        (numbers, [c for c in learn.columns if c not in of_words]),
        (words, of_words),
    ):
        if names:
            encoder.fit(learn.select(names).to_numpy())
            found.append([encoder.transform(s.select(names).to_numpy()) for s in (learn, test)])
    left, right = (np.hstack([side[k] for side in found]) for k in (0, 1))
    return left.astype(np.float64), right.astype(np.float64)


def _for_trees(learn: pl.DataFrame, test: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return _encoded(learn, test, make_pipeline("passthrough"), codes)


def trees(problem: Problem, seconds: int) -> Answer:
    """Return the score of HistGradientBoosting as it comes."""
    learn, y, test, y_new = problem.sides()
    X, X_new = _for_trees(learn, test)
    kind = HistGradientBoostingClassifier if problem.classes else HistGradientBoostingRegressor
    return Answer(problem.score(y_new, kind(random_state=0).fit(X, y).predict(X_new)))


def lightgbm(problem: Problem, seconds: int) -> Answer:
    """Return the score of the best of four settings, each stopped early."""
    import lightgbm as lgb

    learn, y, test, y_new = problem.sides()
    X, X_new = _for_trees(learn, test)
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
    return Answer(problem.score(y_new, best[1].predict(X_new)))


def xrfm(problem: Problem, seconds: int) -> Answer:
    """Return the score of xRFM's defaults, which choose the round on a fifth of the rows."""
    from xrfm import xRFM

    learn, y, test, y_new = problem.sides()
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    X, X_new = (side.astype(np.float32) for side in _encoded(learn, test, numbers, words))
    labels, codes = np.unique(y, return_inverse=True)
    centre, unit = (0.0, 1.0) if problem.classes else (y.mean(), y.std())
    targets = codes if problem.classes else ((y - centre) / unit).astype(np.float32)[:, None]
    strata = y if problem.classes else None
    A, V, a, v = train_test_split(X, targets, test_size=0.2, stratify=strata, random_state=0)
    chosen_by = "accuracy" if problem.classes else "mse"
    model = xRFM(device="cpu", tuning_metric=chosen_by, random_state=0, verbose=False)
    model.fit(A, a, V, v)
    found = np.asarray(model.predict(X_new)).ravel()
    predicted = labels[found.astype(int)] if problem.classes else found * unit + centre
    return Answer(problem.score(y_new, predicted))


Method = Callable[[Problem, int], Answer]
OURS = "mercer fit"
RIVALS: dict[str, Method] = {
    OURS: mercer_fit,
    "LightGBM": lightgbm,
    "HistGradientBoosting": trees,
    "xRFM": xrfm,
}


# ---------------------------------------------------------------- runs and their results
def processor_seconds() -> float:
    """Return the seconds that this process and those that it has started took of the processor."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def run(table: str, seed: int, method: str, problem: Problem, seconds: int) -> dict[str, Any]:
    """Return the record of one run."""
    start, cpu = time.perf_counter(), processor_seconds()
    answer = RIVALS[method](problem, seconds)
    return {
        **{"table": table, "split": seed, "method": method, "classes": problem.classes},
        **{"rows": len(problem.learn), "columns": problem.learn.width - 1},
        **{**answer._asdict(), "limit": seconds if method == OURS else None},
        "processor": round(processor_seconds() - cpu, 2),
        "seconds": round(time.perf_counter() - start, 2),
    }


def known() -> dict[tuple[str, int, str], dict[str, Any]]:
    """Return the records by table, split and method; the last one of each counts."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return {(r["table"], r["split"], r["method"]): r for r in map(json.loads, lines)}


def to_run(options: argparse.Namespace) -> Iterator[tuple[str, int, str]]:
    """Yield what is asked for and not known yet; all tables of a split before the next split."""
    done = known()
    for seed in (int(text) for text in options.seeds.split(",")):
        for table in options.only.split(",") if options.only else [*NUMBERS, *CLASSES, *MIXED]:
            for method in options.methods.split(","):
                record = done.get((table, seed, method))
                if record is None or record["cut"]:
                    yield table, seed, method


# ---------------------------------------------------------------- what they say together
Row = tuple[dict[str, Any], ...]


def compared(methods: list[str]) -> dict[tuple[str, int], Row]:
    """Return the uncut records of the tables and splits that all of the methods have."""
    done = {key: record for key, record in known().items() if not record["cut"]}
    pairs = Counter((table, seed) for table, seed, method in done if method in methods)
    return {
        (table, seed): tuple(done[table, seed, method] for method in methods)
        for (table, seed), count in sorted(pairs.items())
        if count == len(methods)
    }


def mean_ranks(rows: list[Row]) -> np.ndarray:
    """Return the mean rank of each method; equal scores share theirs."""
    return np.mean([rankdata([-round(r["score"], 12) for r in row]) for row in rows], axis=0)


def behind(row: Row) -> float:
    """Return by how much the first method is behind the best of the others."""
    return max(r["score"] for r in row[1:]) - row[0]["score"]


def print_summary(methods: list[str]) -> None:
    """Print each table with its mean over the splits, ranks, losses and times."""
    rows = compared(methods)
    print(f"{'table':20} {'rows':>5} × {'d':>3}  splits  " + "  ".join(methods))
    for table in dict.fromkeys(table for table, _ in rows):
        own = [row for (name, _), row in rows.items() if name == table]
        means = (f"{np.mean([r['score'] for r in of]):.4f}" for of in zip(*own, strict=True))
        taken = ", ".join(dict.fromkeys(row[0]["said"] for row in own))
        first = own[0][0]
        print(
            f"{table:20} {first['rows']:5} × {first['columns']:3}  {len(own):6}  "
            + "  ".join(means)
            + f"   {taken}"
        )
    if not rows:
        return
    for seed in sorted({seed for _, seed in rows}):
        own = [row for (_, number), row in rows.items() if number == seed]
        print(f"split {seed}, {len(own)} tables: mean rank {told(methods, mean_ranks(own))}")
    print(f"all {len(rows)} runs: mean rank {told(methods, mean_ranks([*rows.values()]))}")
    spent = [np.mean([r["processor"] for r in of]) for of in zip(*rows.values(), strict=True)]
    print(f"processor seconds in the mean: {told(methods, np.array(spent))}")
    lost = [
        f"{table} (split {seed}): {behind(row):.3f}"
        for (table, seed), row in rows.items()
        if behind(row) > MARGIN[row[0]["classes"]]
    ]
    print("worse than the best of the others by more than the margin:", "; ".join(lost) or "none")


def told(methods: list[str], values: np.ndarray) -> str:
    """Return methods with their values."""
    return ", ".join(f"{name} {value:.2f}" for name, value in zip(methods, values, strict=True))


def main() -> None:
    """Run what is not known yet, then print what is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", default="0,1,2", help="of the splits, by commas")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--only", default="", help="tables, by commas")
    parser.add_argument("--methods", default=",".join([*RIVALS][:3]), help="by commas")
    parser.add_argument("--seconds", type=int, default=60, help="the limit of mercer fit")
    parser.add_argument("--summary", action="store_true", help="run nothing")
    options = parser.parse_args()
    if not options.summary:
        if options.data is None:
            parser.error("--data is needed, the folder of the tables")
        warnings.filterwarnings("ignore")
        RESULTS.parent.mkdir(exist_ok=True)
        for table, seed, method in list(to_run(options)):
            problem = split(*load(options.data, table), options.rows, seed)
            record = run(table, seed, method, problem, options.seconds)
            with RESULTS.open("a") as file:
                print(json.dumps(record, ensure_ascii=False), file=file)
            print(json.dumps(record, ensure_ascii=False), flush=True)
    print_summary(options.methods.split(","))


if __name__ == "__main__":
    main()
