"""Claims: ``mercer fit`` is faster than the script one would write, and no worse.

Both start from the same CSV file in a process of their own and end with the score on the same
held-out rows: read, encode, choose C and gamma by cross-validation, fit, evaluate. The script is
what a user of scikit-learn writes: a ColumnTransformer, GridSearchCV over SVC on both cores, refit.
Adult and covertype are read from the folder ``--data``; without it generated rows stand in.

    python benchmarks/application.py [--data FOLDER] [--rows 12000] [--only adult] [--grid 3]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.datasets import make_classification

SCRIPT = """
import json, sys
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

learn, test = pd.read_csv(sys.argv[1]), pd.read_csv(sys.argv[2])
target, steps = sys.argv[3], int(sys.argv[4])
columns = make_column_transformer(
    (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
     make_column_selector(dtype_include="number")),
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    sparse_threshold=0,
)
model = make_pipeline(columns, SVC())
grid = {"svc__C": np.logspace(-1, 2, steps), "svc__gamma": np.logspace(-3, 0, steps)}
search = GridSearchCV(model, grid, cv=5, n_jobs=-1).fit(learn.drop(columns=target), learn[target])
score = search.score(test.drop(columns=target), test[target])
print(json.dumps({"accuracy": score, "best": search.best_params_}))
"""


def adult(folder: Path | None) -> tuple[pl.DataFrame, str]:
    if folder is None:
        return generated(8, 3), "target"
    frame = pl.read_csv(folder / "adult/adult_train.csv.gz", null_values=["?", " ?"])
    return frame, frame.columns[-1]


def covertype(folder: Path | None) -> tuple[pl.DataFrame, str]:
    if folder is None:
        return generated(54, 7), "target"
    data = np.load(folder / "covtype_15k/covtype_15k.npz", allow_pickle=False)
    names = [f"x{i}" for i in range(data["X"].shape[1])]
    frame = pl.DataFrame(data["X"], schema=names).with_columns(target=pl.Series(data["y"]))
    return frame, "target"


def generated(columns: int, classes: int) -> pl.DataFrame:
    X, y = make_classification(
        15_000, columns, n_informative=7, n_classes=classes, flip_y=0.1, random_state=0
    )
    return pl.DataFrame(X).with_columns(target=pl.Series(y))


def timed(command: list[str]) -> tuple[float, dict[str, Any]]:
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - start, json.loads(done.stdout)


def compare(name: str, frame: pl.DataFrame, target: str, rows: int, grid: int) -> None:
    frame = frame.sample(fraction=1.0, shuffle=True, seed=0)
    cut = min(rows, len(frame) * 4 // 5)  # all others are held out: a score of few rows is noise
    with tempfile.TemporaryDirectory() as folder:
        learn, test = f"{folder}/learn.csv", f"{folder}/test.csv"
        frame[:cut].write_csv(learn)
        frame[cut:].write_csv(test)
        ours = [sys.executable, "-m", "mercer", "fit", learn, "--target", target, "--test", test]
        ours += ["--json", "--save", f"{folder}/m.mercer", "--report", f"{folder}/r.html"]
        mine, result = timed(ours)
        size = Path(f"{folder}/r.html").stat().st_size / 1e6
        peer, theirs = timed([sys.executable, "-c", SCRIPT, learn, test, target, str(grid)])
    accuracy = result["scores"]["model"]["accuracy"]["value"]
    print(f"{name}, {cut:,} rows to learn from: {peer / mine:.1f}×")
    print(f"  mercer fit    {mine:8.1f} s  accuracy {accuracy:.4f}  report {size:.2f} MB")
    print(f"  the script    {peer:8.1f} s  accuracy {theirs['accuracy']:.4f}  {theirs['best']}")
    print(f"  spent on {result['seconds']}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rows", type=int, default=12_000, help="to learn from")
    parser.add_argument("--grid", type=int, default=4, help="values of C and of gamma")
    parser.add_argument("--only", choices=("adult", "covertype"))
    given = parser.parse_args()
    for name, read in {"adult": adult, "covertype": covertype}.items():
        if given.only in (None, name):
            compare(name, *read(given.data), given.rows, given.grid)


if __name__ == "__main__":
    main()
