"""Rows of every kind: frames, arrays, sparse matrices, words, kernel values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from mercer import (
    SVC,
)
from mercer.kernels import FromFeatureMap, FromFunction
from mercer.report.examine import examine
from mercer.tables import TableEncoder
from tests.cases import WORDS, letter_counts, shared_letters
from tests.report.subjects import (
    IRIS,
    halves,
    is_plain,
    study_of,
)


# ---------------------------------------------------------------- kinds of rows
def people(n: int = 160) -> tuple[pd.DataFrame, np.ndarray]:
    """A table of mixed columns; the class depends on age and city."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n).round(1),
            "city": rng.choice(["Ulm", "Bonn", "Kiel"], n),
            "noise": rng.normal(size=n),
            "<b>": rng.choice(["x", "y"], n),
        }
    )
    sure = frame["age"].to_numpy() / 12 + 2.0 * (frame["city"] == "Bonn").to_numpy()
    return frame, np.where(sure > np.median(sure), "yes", "no")


def mixed(model: Any) -> Any:
    names = ["city", "<b>"]
    return make_pipeline(
        make_column_transformer(
            (StandardScaler(), ["age", "noise"]),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), names),
        ),
        model,
    )


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize(
    "model", [mixed(SVC()), make_pipeline(TableEncoder(), SVC())], ids=["columns", "TableEncoder"]
)
def test_frames_of_mixed_columns(library, model):
    frame, y = people()
    frame = library(frame.to_dict(orient="list"))
    study = study_of(model, (frame, y))
    assert [i.column for i in study.importances][:2] in (["age", "city"], ["city", "age"])
    assert {"age", "city", "noise", "<b>"} <= set(study.cloud.rows[0])
    assert study.cases[0].cases[0].values["city"] in ("Ulm", "Bonn", "Kiel")
    assert study.curve is not None
    assert "linear model" in study.scores[0].rivals
    assert is_plain(study)


def test_frames_and_arrays_give_the_same_study():
    X, y = IRIS
    names = [f"x{j}" for j in range(4)]
    studies = [
        study_of(SVC(), (rows, y), random_state=3)
        for rows in (X, pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names))
    ]
    drops = [{i.column: i.drop for i in study.importances} for study in studies]
    assert drops[0] == drops[1] == drops[2]
    assert studies[0].scores == studies[1].scores == studies[2].scores


def test_sparse_rows_give_the_same_columns_as_dense_ones():
    X, y = IRIS
    X = np.where(X < 1.6, 0.0, X)
    dense, sparse = (study_of(SVC(), (rows, y)) for rows in (X, sp.csr_array(X)))
    for a, b in zip(dense.importances, sparse.importances, strict=True):
        assert (a.column, a.drop.value) == (b.column, pytest.approx(b.drop.value, abs=1e-12))
    assert np.allclose(np.abs(dense.cloud.points), np.abs(sparse.cloud.points), atol=1e-8)


def test_the_index_of_a_pandas_frame_names_the_rows():
    X, y = IRIS
    frame = pd.DataFrame(X, index=1000 + np.arange(150))
    study = study_of(SVC(), (frame, y))
    rows = {case.row for table in study.cases for case in table.cases}
    assert rows <= set(range(1000, 1150))


@pytest.mark.parametrize(
    "kernel",
    [FromFeatureMap(letter_counts).normalized(), FromFunction(shared_letters, definiteness="psd")],
    ids=repr,
)
def test_lists_of_words_with_a_kernel_on_objects(kernel):
    words = [first + second for first in WORDS for second in WORDS]
    y = np.array(["long" if len(word) > 11 else "short" for word in words])
    study = study_of(SVC(kernel), (words, y))
    assert study.left_out["columns"] == "the rows are objects: they have no columns"
    assert study.cloud.rows[3]["object"] in words
    assert study.cases[-1].heading == "support vectors"
    assert study.cases[-1].cases[0].values["object"] in words
    assert any("no other models to compare with" in sentence for sentence in study.sentences)


def test_texts_that_a_pipeline_turns_into_numbers():
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(["red", "green", "blue", "grey"], 5)) for _ in range(90)]
    y = np.array([text.count("red") > 1 for text in texts])
    study = study_of(make_pipeline(TfidfVectorizer(), SVC("linear", C=10.0)), (texts, y))
    assert study.cases[0].cases[0].values["object"] in texts
    assert study.cloud is not None
    assert "linear model" in study.scores[0].rivals


def test_precomputed_kernels_have_neither_columns_nor_map():
    (X, y), (Z, z) = halves(IRIS)
    model = SVC("precomputed").fit(X @ X.T, y)
    study = examine(model, Z @ X.T, z, train=(X @ X.T, y))
    assert {"map", "columns", "learning curve"} <= set(study.left_out)
    assert study.scores[0].model.value == pytest.approx(model.score(Z @ X.T, z))


def test_rows_without_a_target_are_left_out():
    X, y = IRIS
    labels = np.array([None, *np.array(["a", "b", "c"])[y][1:]], dtype=object)
    study = examine(SVC().fit(X[1:], labels[1:].astype(str)), X, labels)
    assert study.evaluation.n_rows == 149
    assert "1 rows without a target were left out" in study.sentences
    assert study.cloud.rows[0]["row"] == "1"


def test_rows_are_called_as_the_caller_calls_them():
    train, (X, y) = halves(IRIS)
    numbers = 1000 + np.arange(len(y))
    study = examine(SVC().fit(*train), X, y, row_numbers=numbers)
    plain = examine(SVC().fit(*train), X, y)
    for one, other in zip(study.cases[:3], plain.cases[:3], strict=True):
        assert [case.row for case in one.cases] == [1000 + case.row for case in other.cases]
    assert study.cloud.rows[0]["row"] == "1000"


@pytest.mark.parametrize("numbers", [np.arange(3), np.linspace(0, 1, 75), "abc"])
def test_numbers_that_fit_no_rows_are_refused(numbers):
    train, test = halves(IRIS)
    with pytest.raises(ValueError, match="row_numbers must be a whole number for each of the 75"):
        examine(SVC().fit(*train), *test, row_numbers=numbers)
