"""What a model must beat: the baseline and the linear model, from the training rows alone."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from mercer import SVC, KernelRidge, LogisticRegression, Ridge
from mercer.report import baseline, examine, linear_model
from mercer.report._rivals import FEWEST_ROWS, usual_rivals
from mercer.report._rows import as_rows
from mercer.report._subject import ModelAnswers, Subject
from tests.report.subjects import CANCER, DIABETES, IRIS, halves


def test_the_baseline_is_the_most_frequent_class():
    name, rule = baseline(["b", "a", "b"], classes=["a", "b", "c"])
    assert name == "always 'b'"
    assert rule.predict(np.zeros((2, 5))).tolist() == ["b", "b"]
    assert rule.predict_proba([[0.0]])[0] == pytest.approx([1 / 3, 2 / 3, 0.0])


def test_the_baseline_of_numbers_is_the_mean():
    name, rule = baseline([1.0, 2.0, 6.0])
    assert name == "the mean"
    assert rule.predict(["any", "rows"]) == pytest.approx([3.0, 3.0])


@pytest.mark.parametrize(
    ("data", "model", "last"),
    [(CANCER, SVC(), LogisticRegression()), (DIABETES, KernelRidge(), Ridge())],
    ids=["classes", "numbers"],
)
def test_the_linear_model_sees_the_columns_of_the_model_encoded_once(data, model, last):
    (X, y), (Z, z) = halves(data)
    encoded = []
    log = FunctionTransformer(lambda A: encoded.append(len(A)) or np.cbrt(A))
    subject = Subject.of(make_pipeline(log, model).fit(X, y))
    own = ModelAnswers.of(subject, Z, z)
    encoded.clear()
    found, words = usual_rivals(subject, as_rows(Z), own, (as_rows(X), y), 60.0)
    assert [n for n in encoded if n > 20] == [len(X), len(Z)]
    assert words == []
    assert list(found)[1] == "linear model"
    plain = make_pipeline(StandardScaler(), last).fit(np.cbrt(X), y)
    assert np.allclose(found["linear model"].prediction, plain.predict(np.cbrt(Z)))


def test_a_linear_model_that_is_out_of_time_is_no_rival():
    train, test = halves(CANCER)
    subject = Subject.of(SVC().fit(*train))
    own = ModelAnswers.of(subject, *test)
    found, words = usual_rivals(subject, as_rows(test[0]), own, (as_rows(train[0]), train[1]), 1e-9)
    assert list(found) == [f"always {np.bincount(train[1]).argmax()}"]
    assert words == [
        "there was no time to compare with a linear model",
        "there was no time to compare with boosted trees",
    ]


def test_a_linear_model_of_few_rows_is_one_at_its_optimum(monkeypatch):
    (X, y), test = halves(CANCER)
    X, y = (np.repeat(side, 40, axis=0) for side in (X, y))
    subject = Subject.of(SVC().fit(X[::40], y[::40]))
    own = ModelAnswers.of(subject, *test)

    def slow(A, b, *, classes, time_limit):
        return linear_model(A, b, classes=classes, time_limit=0.0 if len(b) > 2000 else None)

    monkeypatch.setattr("mercer.report._rivals.linear_model", slow)
    found, words = usual_rivals(subject, as_rows(test[0]), own, (as_rows(X), y), 2.0)
    assert words[0] == "there was time to fit the linear model to 1,500 training rows only"
    assert np.mean(found["linear model"].prediction == test[1]) > 0.9


def test_of_very_many_training_rows_a_part_is_taken():
    X, y = (np.repeat(side, 10, axis=0) for side in IRIS)
    subject = Subject.of(SVC().fit(*IRIS))
    own = ModelAnswers.of(subject, *IRIS)
    found, words = usual_rivals(
        subject, as_rows(IRIS[0]), own, (as_rows(X), y), 60.0, most_cells=10.0
    )
    assert "linear model" in found
    assert words == [
        f"the models to compare with were fitted to {FEWEST_ROWS:,} of the training rows"
    ]


def test_training_rows_of_one_class_have_no_linear_model():
    X, y = IRIS
    study = examine(SVC().fit(X, y), X, y, train=(X[:40], y[:40]))
    assert list(study.scores[0].rivals) == ["always 0"]
    assert "no other models to compare with: the training rows are of one class" in study.sentences


def test_others_can_use_the_linear_model():
    X, y = DIABETES
    model = linear_model(X, y, classes=False)
    assert np.allclose(
        model.predict(X), make_pipeline(StandardScaler(), Ridge()).fit(X, y).predict(X)
    )


@pytest.mark.parametrize(
    ("seconds", "grown"), [(3.0, [10_000, 20_000]), (7.0, [10_000, 40_000]), (1e9, [40_000])]
)
def test_trees_are_grown_on_as_many_rows_as_there_is_time_for(seconds, grown, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40_000, 10)), rng.normal(size=40_000)
    subject = Subject.of(Ridge().fit(X[:100], y[:100]))
    clock, sizes = [0.0], []

    def slow(A, b, *, classes, random_state):
        sizes.append(len(A))
        clock[0] += len(A) / 10_000
        return Ridge().fit(A, b)

    monkeypatch.setattr("mercer.report._rivals.boosted_trees", slow)
    monkeypatch.setattr("mercer.report._rivals.time.perf_counter", lambda: clock[0])
    own = ModelAnswers.of(subject, X[:50], y[:50])
    found, words = usual_rivals(subject, as_rows(X[:50]), own, (as_rows(X), y), seconds)
    assert "boosted trees" in found
    assert sizes == grown
    short = "there was time to fit the boosted trees to 20,000 training rows only"
    assert words == ([short] if grown[-1] == 20_000 else [])
