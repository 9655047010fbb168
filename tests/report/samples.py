"""Studies to draw: small and large, with all parts and with none, with names that mean harm."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from mercer.assess import evaluate
from mercer.plot.records import PartialDependence
from mercer.report._data import data_of
from mercer.report._rows import TableRows
from mercer.report.render import render
from mercer.report.study import (
    Case,
    CaseTable,
    Cloud,
    Curve,
    DataPicture,
    Estimate,
    Importance,
    Proof,
    Score,
    Study,
    Surface,
)

HARM = "<script>alert('x')</script>\"&\u202e\x00"
LONG = "a_very_long_column_name_that_somebody_exported_from_a_data_warehouse_" * 3
ENVIRONMENT = {
    "mercer": "0.1.0",
    "Python": "3.11.9",
    "NumPy": "2.4.0",
    "processor": "a processor with a rather long name, 2 of 2 cores",
    "date": "2026-03-14 15:09 UTC",
    "computed in": "1.2 s",
}
PROOF = Proof(
    "the optimum is known to within 0.003 % of the best possible value of the training objective",
    True,
    [
        ("estimator", "SVC"),
        ("duality gap", "3.1e-05 ≤ 0.001"),
        ("primal", "118.2"),
        ("dual", "118.1"),
    ],
)
FAILED = Proof(
    "not proved: duality gap 0.2, and 0.001 was allowed; stopped at max_iter: raise max_iter",
    False,
    [("estimator", "SVC"), ("duality gap", "0.2 ≤ 0.001"), ("proved", "NO")],
)
COMMAND = (
    "model = SVC(kernel=RBF(gamma=0.05), C=10.0)\n"
    "model.fit(X_train, y_train)\n"
    "write_report(model, 'report.html', X, y, train=(X_train, y_train))"
)


# ---------------------------------------------------------------- parts
def probabilities(rng: Any, truth: np.ndarray, classes: int, sharpness: float) -> np.ndarray:
    """Return probabilities that favour the truth."""
    scores = rng.normal(size=(len(truth), classes)) + sharpness * np.eye(classes)[truth]
    power = np.exp(scores - scores.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


def judged(labels: Any, n: int = 400, sharpness: float = 3.0, seed: int = 0) -> tuple[Any, ...]:
    """Return an evaluation, the truth and the prediction."""
    rng, labels = np.random.default_rng(seed), np.asarray(labels)
    truth = rng.integers(len(labels), size=n)
    p = probabilities(rng, truth, len(labels), sharpness)
    prediction = p.argmax(axis=1)
    found = evaluate(labels[truth], labels[prediction], p, labels=labels, n_bootstrap=50)
    return found, labels[truth], labels[prediction]


def score(name: str, meaning: str, value: float, rivals: dict[str, float], **more: Any) -> Score:
    """Return a score with intervals of ±0.02."""
    wide = {rival: Estimate(v, v - 0.02, v + 0.02) for rival, v in rivals.items()}
    unit = "share" if name in ("accuracy", "UAR", "F1") else ""
    own = Estimate(value, value - 0.02, value + 0.018)
    return Score(name, meaning, own, wide, unit=unit, **more)


def surface(shape: tuple[int, ...] = (8, 7), share: float = 1.0, seed: int = 0) -> Surface:
    """Return scores over C and gamma (or C alone), of which a share was tried."""
    rng = np.random.default_rng(seed)
    C, gamma = np.logspace(-2, 4, shape[0]), np.logspace(-4, 1, shape[-1])
    peak = np.exp(-((np.log10(C)[:, None] - 1.5) ** 2) / 6 - ((np.log10(gamma) + 1.5) ** 2) / 3)
    scores = 0.55 + 0.4 * peak + 0.004 * rng.normal(size=peak.shape)
    scores = scores if len(shape) == 2 else scores.max(axis=1)
    scores[rng.random(scores.shape) > share] = np.nan
    chosen = np.unravel_index(np.nanargmax(scores), scores.shape)
    values = (tuple(C.tolist()), tuple(gamma.tolist()))[: len(shape)]
    names = ("C", "kernel__gamma")[: len(shape)]
    return Surface(
        "accuracy",
        names,
        values,
        scores,
        tuple(map(int, chosen)),
        "56 candidates on 5 folds in 2.1 s",
    )


def curve() -> Curve:
    """Return a learning curve."""
    sizes = np.array([40, 80, 160, 320, 640, 1200])
    train, test = 1 - 0.02 * np.log10(sizes) / 3, 0.96 - 0.9 / np.sqrt(sizes)
    return Curve("accuracy", sizes, train, np.full(6, 0.004), test, 0.1 / np.sqrt(sizes))


def cloud(label: np.ndarray, error: np.ndarray, columns: Any, seed: int = 0) -> Cloud:
    """Return points around a place for each label, with a text for each column."""
    rng, n = np.random.default_rng(seed), len(label)
    names, codes = np.unique(label, return_inverse=True)
    angle = 2 * np.pi * codes / max(len(names), 1)
    points = np.c_[np.cos(angle), np.sin(angle)] + 0.28 * rng.normal(size=(n, 2))
    values = rng.normal(size=(n, len(columns)))
    rows = [
        {
            **{c: f"{v:.3g}" for c, v in zip(columns, row, strict=True)},
            "row": str(i),
            "predicted": "?",
        }
        for i, row in enumerate(values)
    ]
    words = "kernel PCA with the model's kernel, RBF(gamma=0.05)"
    return Cloud(words, points, label, error, rows, ("component 1 (31%)", "component 2 (12%)"))


def cases(columns: Any, truth: Any, prediction: Any) -> list[CaseTable]:
    """Return two tables of rows."""
    made = [
        Case(
            17 * i,
            str(t),
            str(p),
            f"{50 + 3 * i} %",
            bool(t == p),
            {c: f"{i}.{j}" for j, c in enumerate(columns)},
            [(columns[0], "+0.12"), (columns[1], "−0.4")],
        )
        for i, (t, p) in enumerate(zip(truth[:8], prediction[:8], strict=True))
    ]
    return [
        CaseTable("least certain", "rows that lie nearest to the border of the classes", made),
        CaseTable("surest and wrong", "what to look at first: labels may be wrong", made[:3]),
    ]


def importances(columns: Any) -> list[Importance]:
    """Return one importance a column, the last one below 0."""
    drops = np.linspace(0.18, -0.01, len(columns))
    return [
        Importance(c, Estimate(d, d - 0.015, d + 0.02)) for c, d in zip(columns, drops, strict=True)
    ]


def table_of(columns: Any, y: np.ndarray, classes: bool, seed: int = 0) -> DataPicture:
    """Return a picture of training rows: numbers, and texts in every third column."""
    rng, n = np.random.default_rng(seed), len(y)
    words = np.array([HARM, LONG, "north", "south", "west"])
    cells = [
        rng.choice(words, n) if j % 3 == 2 else rng.normal(size=n) * 10.0**j
        for j in range(len(columns))
    ]
    cells[0][rng.random(n) < 0.1] = np.nan
    table = np.empty((n, len(columns)), dtype=object)
    for j, cell in enumerate(cells):
        table[:, j] = cell
    task = SimpleNamespace(task="classify" if classes else "regress", pairwise=False)
    return data_of(task, (TableRows(table, columns, np.arange(n)), y), [], seed)


def dependences(columns: Any, names: Any, seed: int = 0) -> list[PartialDependence]:
    """Return the dependence on numbers, and on the levels of the second column."""
    rng = np.random.default_rng(seed)
    return [
        PartialDependence.of(
            column,
            [HARM, LONG, "c"] if j == 1 else np.linspace(-1, 40, 9).tolist(),
            names,
            rng.random((3 if j == 1 else 9, 50, len(names))),
        )
        for j, column in enumerate(columns[:4])
    ]


# ---------------------------------------------------------------- studies
COLUMNS = (
    "age",
    "income",
    "visits last year",
    "region",
    "plan",
    "tenure",
    "balance",
    "late payments",
)


def binary() -> Study:
    """Return a study of two classes with every part."""
    found, truth, prediction = judged(["no", "yes"], 600)
    rivals = {"linear model": 0.861, "always 'no'": 0.52}
    return Study(
        title="Which customers will leave?",
        task="classify",
        words={
            "The model": [
                "1,600 rows and 9 columns were read from churn.csv; the target is 'left'",
                "a support vector machine with a Gaussian kernel was tuned on 1,000 rows",
            ],
            "The columns": [
                "5 numeric columns standardised",
                "2 category columns with 7 levels",
                "column 'id' left out: a different text in every row",
                "12 missing values in 'age': median 37 and an indicator",
                "3 missing values in 'income': median 28,000 and an indicator",
                "8 missing values in 'plan': a level of their own",
            ],
            "The test": ["it was judged by 600 rows"],
        },
        scores=[
            score("accuracy", "share of the rows predicted rightly", 0.925, rivals),
            score("UAR", "mean recall of the classes: each class counts the same", 0.918, rivals),
            score(
                "AUC",
                "how often a row of a class is ranked above a row of another",
                0.968,
                {"linear model": 0.955, "always 'no'": 0.5},
            ),
            score(
                "F1", "harmonic mean of precision and recall of 'yes'", 0.91, {"linear model": 0.95}
            ),
        ],
        evaluation=found,
        proof=PROOF,
        environment=ENVIRONMENT,
        command=COMMAND,
        surface=surface(),
        curve=curve(),
        cloud=cloud(truth, truth != prediction, COLUMNS),
        cases=cases(COLUMNS, truth, prediction),
        importances=importances(COLUMNS),
        importance_words="what accuracy loses when a column is shuffled, 10 times",
        data=table_of(COLUMNS, truth, True),
        dependences=dependences(COLUMNS, ["yes"]),
        dependence_words="the mean probability of 200 rows",
    )


def digits(n: int = 1000, classes: int = 10) -> Study:
    """Return a study of many classes."""
    labels = np.arange(classes)
    found, truth, prediction = judged(labels, n, sharpness=4.5)
    columns = [f"pixel {i}" for i in range(64)]
    return replace(
        binary(),
        title=f"SVC classifies {n:,} rows",
        scores=[
            score(
                "accuracy",
                "share of the rows predicted rightly",
                0.93,
                {"linear model": 0.92, "always 3": 0.1},
            ),
            score(
                "AUC",
                "how often a row of a class is ranked above a row of another",
                0.99,
                {"linear model": 0.985},
            ),
        ],
        evaluation=found,
        surface=surface((40, 40), 0.025),
        data=table_of(columns, truth, True),
        dependences=dependences(columns, ["1", "2", "3"]),
        cloud=cloud(truth, truth != prediction, columns[:12]),
        cases=cases(columns, truth, prediction),
        importances=importances(columns),
    )


def regression(n: int = 500) -> Study:
    """Return a study of numbers."""
    rng = np.random.default_rng(1)
    truth = rng.gamma(3.0, 60.0, size=n)
    prediction = truth + rng.normal(size=n) * (10 + 0.1 * truth) + 8 * np.sin(truth / 40)
    found = evaluate(truth, prediction, n_bootstrap=50)
    rmse = Score(
        "RMSE",
        "root of the mean squared error, in the unit of the target",
        Estimate(29.4, 27.1, 31.9),
        {
            "linear model": Estimate(38.2, 35.5, 41.0),
            "always the mean": Estimate(104.0, 97.0, 112.0),
        },
        False,
    )
    return replace(
        binary(),
        title="House prices by the garden gate",
        task="regress",
        scores=[
            score(
                "R²",
                "share of the variance of the target that is explained",
                0.92,
                {"linear model": 0.87, "always the mean": -0.01},
            ),
            rmse,
        ],
        evaluation=found,
        proof=FAILED,
        surface=surface((12,)),
        data=table_of(COLUMNS, truth, False),
        dependences=dependences(COLUMNS, ["prediction"]),
        cloud=cloud(truth, truth - prediction, COLUMNS),
        cases=[],
        importances=importances(COLUMNS[:3]),
        left_out={"cases": "the rows are too many"},
    )


def bare() -> Study:
    """Return a study with nothing that can be left out."""
    found, _, _ = judged(["no", "yes"], 40)
    return Study(
        "Bare",
        "classify",
        {},
        [],
        found,
        FAILED,
        {},
        left_out={"tuning": "no search", "AUC": "no scores"},
    )


def hostile() -> Study:
    """Return a study whose every text means harm."""
    labels = [HARM, LONG, "", " ", "</title>", 'quote" onmouseover="alert(1)']
    found, truth, prediction = judged(labels, 120)
    columns = [HARM, LONG, "</script><b>", "--><!--", "tab\there"]
    full = binary()
    return replace(
        full,
        title=f"{HARM} {LONG}",
        words={HARM: [HARM, LONG] * 4, LONG: [LONG]},
        scores=[score(HARM, LONG, 0.7, {HARM: 0.6, LONG: float("nan")})],
        evaluation=found,
        proof=Proof(HARM + LONG, True, [(HARM, LONG), (LONG, HARM)]),
        environment={HARM: LONG, "date": HARM},
        command=f"mercer fit '{HARM}' {LONG}",
        surface=Surface(
            HARM,
            (LONG, HARM),
            ((HARM, "b"), (LONG, "<i>", "c")),
            np.array([[0.1, np.nan, 0.3], [0.2, 0.5, np.nan]]),
            (1, 1),
            HARM,
        ),
        cloud=cloud(truth, truth != prediction, columns),
        cases=cases(columns, truth, prediction),
        importances=importances(columns),
        importance_words=HARM,
        data=table_of(columns, truth, True),
        dependences=dependences(columns, [HARM, LONG]),
        dependence_words=HARM,
        left_out={HARM: LONG, "learning curve": HARM},
    )


def few(classes: int) -> Study:
    """Return a study of a few classes with names of usual length."""
    labels = [f"species {'abcdefgh'[i]}" for i in range(classes)]
    found, truth, prediction = judged(labels, 4000)
    return replace(
        binary(), evaluation=found, cloud=cloud(truth[:99], truth[:99] != prediction[:99], COLUMNS)
    )


STUDIES = {
    "binary": binary,
    "digits": digits,
    "thirty": lambda: digits(2000, 30),
    "regression": regression,
    "bare": bare,
    "hostile": hostile,
}


MATRICES = {"three": lambda: few(3), "six": lambda: few(6)}
"""Studies of which only the matrix of confusions is of interest."""


@cache
def page_of(name: str) -> str:
    """Return the page of a study, drawn once."""
    return render((STUDIES | MATRICES)[name]())
