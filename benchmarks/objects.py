"""Claim: kernels on series, strings, texts and mixed tables are fast, and good enough to be used.

Speed is measured against tslearn (global alignment), dtaidistance (time warping, in C), gower and
scikit-learn's n-grams, on equal values. Accuracy is that of an ``SVC`` whose parameters are chosen
by cross-validation on training rows alone, beside figures of the literature or scikit-learn's own
pipelines on the same split. Real data are read from a folder; without it these rows are left out.

    pip install -r benchmarks/requirements-objects.txt
    python benchmarks/objects.py --data FOLDER [--only series]
"""

from __future__ import annotations

import argparse
import gzip
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, LeaveOneOut, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC as PeerLinear

from mercer import SVC, KernelSearchCV, dtw_distance, tune
from mercer.kernels import (
    Categorical,
    Exponential,
    GlobalAlignment,
    Gower,
    Substring,
    WeightedDegree,
    Words,
)

LINES: dict[str, Callable[[Path | None], None]] = {}
ONE_NEIGHBOR = {  # with a window learned by cross-validation, and ROCKET: published accuracies
    "ArrowHead": (80.0, 81.4),
    "Coffee": (100.0, 100.0),
    "ECG200": (88.0, 90.6),
    "GunPoint": (91.3, 100.0),
    "ItalyPowerDemand": (95.5, 97.0),
    "BasicMotions": (97.5, 100.0),
}


def line(name: str) -> Callable[[Any], Any]:
    """Add a line to the table, under a name."""

    def add(run: Any) -> Any:
        LINES[name] = run
        return run

    return add


def optional(name: str) -> Any:
    """Return a module, or None if it is not installed."""
    try:
        return __import__(name, fromlist=["_"])
    except ImportError:
        print(f"  ({name} is not installed)")
        return None


def timed(run: Callable[[], Any], enough: float = 5.0) -> tuple[float, Any]:
    """Return the shortest time of up to three runs, fewer if they take long, and the result."""
    times: list[float] = []
    while len(times) < 3 and sum(times) < enough:
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
    return min(times), result


def compare(label: str, ours: Callable[[], Any], peer: Callable[[], Any], name: str) -> None:
    """Print both times, their ratio and the largest difference."""
    (mine, a), (theirs, b) = timed(ours), timed(peer)
    print(
        f"{label}: {theirs / mine:.1f}× {name} ({mine:.3f} s, {theirs:.3f} s), largest difference "
        f"{np.abs(np.asarray(a) - np.asarray(b)).max():.1e}",
        flush=True,
    )


# ---------------------------------------------------------------- speed
def walks(n: int = 500, length: int = 250) -> np.ndarray:
    """Return random walks, each with mean 0 and deviation 1."""
    rows = np.cumsum(np.random.default_rng(0).normal(size=(n, length)), axis=1)
    return (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)


@line("alignment")
def alignment(_: Path | None) -> None:
    """All alignments of 500 series of length 250."""
    peer = optional("tslearn.metrics")
    if peer is None:
        return
    X, sigma = walks(), 4.0
    kernel = GlobalAlignment(gamma=0.5 / sigma**2).normalized()
    kernel(X[:20])
    peer.cdist_gak(X[:20], sigma=sigma)
    compare(
        "GlobalAlignment, 500 × 250",
        lambda: kernel(X),
        lambda: peer.cdist_gak(X, sigma=sigma, n_jobs=2),
        "tslearn",
    )


@line("warping")
def warping(_: Path | None) -> None:
    """The best alignment of 500 series of length 250."""
    peer = optional("dtaidistance.dtw")
    if peer is None:
        return
    X = walks()
    dtw_distance(X[:20])
    for band in (25, None):
        window = None if band is None else band + 1
        compare(
            f"DTW, 500 × 250, band {band}",
            lambda band=band: dtw_distance(X, band=band),
            lambda window=window: peer.distance_matrix_fast(X, window=window, parallel=True),
            "dtaidistance",
        )


@line("substring_speed")
def substring_speed(data: Path | None) -> None:
    """All substrings of up to six letters of 2,000 texts; predictions from many support vectors."""
    if data is None:
        return
    texts, _ = r8(data, "train")
    texts = texts[:2000]

    def ngrams() -> Any:
        counts = CountVectorizer(analyzer="char", ngram_range=(1, 6), lowercase=False)
        rows = counts.fit_transform(texts).astype(np.float64)
        return (rows @ rows.T).toarray()

    kernel = Substring(weights=6)
    kernel(texts[:50])
    compare("Substring, 2,000 texts", lambda: kernel(texts), ngrams, "CountVectorizer")
    prediction(data)


def prediction(data: Path) -> None:
    """Print the time of predictions from 500 and from 5,000 support vectors."""
    texts, _ = r8(data, "train")
    new = r8(data, "test")[0][:500]
    for n in (500, 5000):
        # C so small that every text of the smaller class is a support vector
        model = SVC(Substring(weights=6).normalized(), C=1e-3)
        model.fit(texts[:n], np.arange(n) % 2)
        model.decision_function(new[:5])
        start = time.perf_counter()
        model.decision_function(new)
        seconds = time.perf_counter() - start
        print(f"Substring, 500 predictions, {len(model.support_)} support vectors: {seconds:.3f} s")


@line("gower")
def gower_speed(data: Path | None) -> None:
    """Gower's similarity of 5,000 rows of numbers and categories."""
    peer = optional("gower")
    if peer is None or data is None:
        return
    X = adult(data, "train").drop(columns="target").iloc[:5000].fillna("missing")
    plain = X.astype({name: object for name in X if X[name].dtype.kind not in "iuf"})
    Gower()(X[:50])
    compare(
        "Gower, 5,000 rows",
        lambda: 1.0 - Gower()(X),
        lambda: peer.gower_matrix(plain),
        "gower",
    )
    kernel = Gower().bind(X)
    far = X.iloc[:100].assign(**{c: X[c][:100] * 9 for c in X.select_dtypes("number").columns})
    together, alone = (kernel(rows, X)[:100] for rows in (pd.concat([X[:100], far]), X[:100]))
    print(f"  other test rows change a row's values by {np.abs(together - alone).max():.1e}")


# ---------------------------------------------------------------- real data
def r8(data: Path, part: str) -> tuple[list[str], np.ndarray]:
    """Return news stories and their topics."""
    return labelled(data / f"reuters_r8/r8_{part}.tsv.gz")


def labelled(path: Path) -> tuple[list[str], np.ndarray]:
    """Return the texts of a table with the columns label and text, and the labels."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        rows = [row.split("\t") for row in file.read().rstrip("\n").split("\n")[1:]]
    return [text for _, text in rows], np.array([label for label, _ in rows])


def series(data: Path, name: str) -> list[np.ndarray]:
    """Return training series and classes, test series and classes; steps first, channels last."""
    parts = np.load(data / f"{name}/{name}.npz", allow_pickle=False)
    turn = lambda X: X.transpose(0, 2, 1) if X.ndim == 3 else X  # noqa: E731
    X, X_new = (turn(parts[key].astype(np.float64)) for key in ("X", "X_test"))
    return [X, parts["y"], X_new, parts["y_test"]]


def adult(data: Path, part: str) -> pd.DataFrame:
    """Return people, with the column "target": whether they earn more than 50,000."""
    frame = pd.read_csv(data / f"adult/adult_{part}.csv.gz", na_values=["?", " ?"])
    income = frame.pop(frame.columns[-1]).str.strip().str.rstrip(".")
    return frame.assign(target=income == ">50K")


def percent(right: Any) -> str:
    return f"{100 * np.mean(right):.2f} %"


# ---------------------------------------------------------------- accuracy
@line("series")
def series_accuracy(data: Path | None) -> None:
    """``tune(SVC(GlobalAlignment()), X, y)`` on official splits, folds shuffled in three ways."""
    if data is None:
        return
    means = []
    for name, (neighbor, rocket) in ONE_NEIGHBOR.items():
        X, y, X_new, y_new = series(data, name)
        found = [
            100 * tune(SVC(GlobalAlignment()), X, y, random_state=seed).score(X_new, y_new)
            for seed in range(3)
        ]
        means.append((np.mean(found), neighbor, rocket))
        print(
            f"{name}: {np.round(found, 1)}, mean {np.mean(found):.1f} %; 1-NN DTW {neighbor}, "
            f"ROCKET {rocket}",
            flush=True,
        )
    ours, neighbor, rocket = np.mean(means, axis=0)
    print(f"mean of all: {ours:.2f} %; 1-NN DTW {neighbor:.2f}, ROCKET {rocket:.2f}")


@line("reuters")
def reuters(data: Path | None) -> None:
    """News stories by their words, official split."""
    if data is None:
        return
    (texts, y), (new, y_new) = r8(data, "train"), r8(data, "test")
    search = tune(SVC(Words().normalized()), texts, y, cv=3, random_state=0)
    print(f"reuters_r8: {percent(search.predict(new) == y_new)} with {search.best_params_}")
    peer = GridSearchCV(
        make_pipeline(TfidfVectorizer(sublinear_tf=True), PeerLinear()),
        {"linearsvc__C": [0.1, 1.0, 10.0], "tfidfvectorizer__ngram_range": [(1, 1), (1, 2)]},
        cv=3,
    ).fit(texts, y)
    print(f"  tf-idf and a linear machine: {percent(peer.predict(new) == y_new)}", flush=True)


def best_ngrams(texts: Any, y: Any, new: Any) -> dict[str, np.ndarray]:
    """Return the predictions of scikit-learn's n-grams of letters, each tuned on training rows."""
    found = {}
    for analyzer in ("char", "char_wb"):
        steps = make_pipeline(TfidfVectorizer(analyzer=analyzer, lowercase=False), PeerLinear())
        lengths = [(1, 3), (1, 4), (1, 5)]
        grid = {"tfidfvectorizer__ngram_range": lengths, "linearsvc__C": [0.1, 1.0, 10.0]}
        found[analyzer] = GridSearchCV(steps, grid, cv=3).fit(texts, y).predict(new)
    return found


def against_ngrams(label: str, right: Any, peers: dict[str, np.ndarray], truth: Any) -> None:
    """Print our share of right answers and that of each peer."""
    theirs = ", ".join(f"{name} {percent(said == truth)}" for name, said in peers.items())
    print(f"{label}: {percent(right)}; n-grams: {theirs}", flush=True)


@line("names")
def names(data: Path | None) -> None:
    """The languages of surnames: 4,000 to learn from, all others held out."""
    if data is None:
        return
    texts, y = labelled(data / "names_nationality/names_nationality.tsv.gz")
    split = train_test_split(texts, y, train_size=4000, stratify=y, random_state=0)
    learn, new, y, y_new = split
    ends = lambda rows: [f"^{name}$" for name in rows]  # noqa: E731
    grid = {"kernel__kernel__weights": [0.6, 0.8], "C": [1.0, 3.0]}
    search = KernelSearchCV(SVC(Substring().normalized()), grid, cv=3).fit(ends(learn), y)
    right = search.predict(ends(new)) == y_new
    against_ngrams("names_nationality", right, best_ngrams(learn, y, new), y_new)


@line("promoters")
def promoters(data: Path | None) -> None:
    """Promoters of genes: every one of 106 is held out once, parameters chosen on the others."""
    if data is None:
        return
    texts, y = labelled(data / "promoters_ecoli/promoters_ecoli.tsv.gz")
    said: dict[str, list[Any]] = {}
    for learn, (new,) in LeaveOneOut().split(texts):
        rows, held_out = [texts[i] for i in learn], [texts[new]]
        search = tune(SVC(WeightedDegree().normalized()), rows, y[learn], random_state=0)
        answers = {"mercer": search.predict(held_out), **best_ngrams(rows, y[learn], held_out)}
        for name, answer in answers.items():
            said.setdefault(name, []).append(answer[0])
    ours = np.array(said.pop("mercer")) == y
    against_ngrams("promoters", ours, {k: np.array(v) for k, v in said.items()}, y)


@line("splice")
def splice(data: Path | None) -> None:
    """Places where DNA is spliced: 1,500 to learn from, all others held out."""
    if data is None:
        return
    texts, y = labelled(data / "splice_dna/splice_dna.tsv.gz")
    split = train_test_split(texts, y, train_size=1500, stratify=y, random_state=0)
    learn, new, y, y_new = split
    search = tune(SVC(WeightedDegree().normalized()), learn, y, random_state=0)
    against_ngrams("splice", search.predict(new) == y_new, best_ngrams(learn, y, new), y_new)


@line("adult")
def mixed(data: Path | None) -> None:
    """People as a table of numbers and categories: 8,000 to learn from, official test rows."""
    if data is None:
        return
    learn, test = adult(data, "train").sample(8000, random_state=0), adult(data, "test")
    y, y_new = learn.pop("target").to_numpy(), test.pop("target").to_numpy()
    numbers = list(learn.select_dtypes("number"))
    words = [name for name in learn if name not in numbers]
    near = sum((Exponential().on(name) for name in numbers[1:]), Exponential().on(numbers[0]))
    both = Categorical().on(words) + (1.0 / len(numbers)) * near
    kernels = [(c * both).exp().normalized() for c in (0.25, 0.5, 1.0)]
    grid = {"kernel": kernels, "C": [1.0, 3.0, 10.0]}
    search = KernelSearchCV(SVC(), grid, cv=3, scoring="roc_auc").fit(learn, y)
    encode = make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), words)
    )
    widths = {"svc__kernel__gamma": [0.003, 0.01, 0.03, 0.1], "svc__C": [0.3, 1.0, 3.0, 10.0]}
    # the same machine as a peer: only what it sees differs
    peer = KernelSearchCV(make_pipeline(encode, SVC()), widths, cv=3, scoring="roc_auc")
    for name, model in (("mixed kernel", search), ("one-hot and RBF", peer.fit(learn, y))):
        values = model.decision_function(test)
        auc = roc_auc_score(y_new, values)
        print(f"adult, {name}: {percent((values > 0) == y_new)}, AUC {auc:.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="the folder of real data")
    parser.add_argument("--only", default="", help="part of a line's name, such as series")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, run in LINES.items():
        if given.only in name:
            run(given.data)


if __name__ == "__main__":
    main()
