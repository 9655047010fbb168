"""What certificates prove, in sentences: every kind has one, and none promises too much."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as SklearnLogistic

from mercer import (
    KNN,
    SVC,
    AdaBoost,
    Certificate,
    GaussianBayes,
    KernelRidge,
    Lasso,
    LinearRegression,
    LogisticRegression,
    MLPClassifier,
    Nystrom,
    PenaltyRegression,
    Perceptron,
    RandomFourier,
    Ridge,
)
from mercer.kernels import Sigmoid
from mercer.report.proofs import SENTENCES, explain, sentence_of
from mercer.result import Status
from tests.test_architecture import MERCER

X, Y = load_iris(return_X_y=True)


def kinds_of_the_library() -> set[str]:
    """Return the first argument of every Certificate(…) in the source that is a text."""
    calls = (
        node
        for module in MERCER.files
        for node in ast.walk(MERCER.source(module))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Certificate"
    )
    firsts = (call.args[0] for call in calls if call.args)
    return {first.value for first in firsts if isinstance(first, ast.Constant)}


def test_every_kind_of_certificate_has_a_sentence():
    kinds = kinds_of_the_library()
    assert len(kinds) > 20
    assert kinds - set(SENTENCES) == set()


@pytest.mark.parametrize("kind", SENTENCES)
def test_sentences_are_short_and_free_of_placeholders(kind):
    sentence = sentence_of(Certificate(kind, 1e-4, 1e-3))
    assert 20 < len(sentence) < 250
    assert not re.search(r"[{}]|None|nan", sentence)


@given(gap=st.floats(1e-12, 10.0))
def test_a_gap_is_never_rounded_down(gap):
    sentence = sentence_of(Certificate("relative duality gap", gap, 100.0))
    told = float(re.search(r"within ([0-9.]+) %", sentence)[1]) / 100
    assert gap <= told * (1 + 1e-9)
    assert told <= max(1.1 * gap, 1.01e-9)


PROVED = {
    "SVC": (SVC(), Y, "of the best possible value of the training objective"),
    "KernelRidge": (KernelRidge(), Y, "exact solution"),
    "LogisticRegression": (LogisticRegression(), Y, "the optimum: the gradient"),
    "Lasso": (Lasso(0.1), Y, "the optimum is known to within"),
    "LinearRegression": (LinearRegression(), Y, "least squares"),
    "AdaBoost": (AdaBoost(5), Y, "the theorem promised at most"),
    "Perceptron": (Perceptron(), Y > 0, "the theorem allows at most"),
    "KNN": (KNN(), Y, "nearest"),
    "GaussianBayes": (GaussianBayes(), Y, "maximum of the likelihood"),
    "a network": (
        MLPClassifier(8, activation="tanh", lam=0.1, random_state=0),
        *(Y, "no global guarantee"),
    ),
    "a penalty that is not convex": (
        PenaltyRegression("large_error", random_state=0),
        *(Y, "no global guarantee"),
    ),
}


@pytest.mark.parametrize("name", PROVED)
def test_what_is_proved(name):
    model, y, words = PROVED[name]
    proof = explain(model.fit(X, y))
    assert proof.ok
    assert words in proof.sentence
    assert ("proved", "yes") in proof.rows


def test_an_indefinite_kernel_proves_no_optimum():
    with pytest.warns(ConvergenceWarning, match="not convex"):
        model = SVC(Sigmoid(scale=1.0, bias=-1.0)).fit(X[:100], Y[:100])
    proof = explain(model)
    assert not proof.ok
    assert "only a stationary point is known" in proof.sentence
    assert Status.INDEFINITE.advice in proof.sentence


def test_a_fit_that_was_stopped_gives_its_advice():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVC(C=1e4, max_iter=1).fit(X, Y)
    proof = explain(model)
    assert not proof.ok
    assert proof.sentence.startswith("not proved")
    assert Status.MAX_ITER.advice in proof.sentence
    assert ("proved", "NO") in proof.rows


def test_a_model_without_a_certificate_says_so():
    proof = explain(SklearnLogistic(max_iter=1000).fit(X, Y))
    assert not proof.ok
    assert "LogisticRegression does not check its own fit" in proof.sentence


def test_the_steps_before_are_in_the_table():
    landmarks = Nystrom(20, random_state=0).fit(X)
    proof = explain(Ridge().fit(landmarks.transform(X), Y), [landmarks])
    assert any(name.startswith("Nystrom: landmark residual") for name, _ in proof.rows)


def test_a_kind_that_nobody_knows_still_says_its_figures():
    sentence = sentence_of(Certificate("something new", 0.25, 0.5, "of 3 rows"))
    assert sentence == "something new 0.25, within the tolerance 0.5 (of 3 rows)"


def test_a_proof_on_landmarks_says_that_the_kernel_is_approximated():
    some, all_of_them = (Nystrom(m, random_state=0).fit(X) for m in (20, len(X)))
    told = explain(Ridge().fit(some.transform(X), Y), [some]).sentence
    assert "20 landmarks approximate" in told
    missing = float(re.search(r"miss ([0-9.]+) % of its trace", told)[1]) / 100
    K, R = some.kernel_(X), some.transform(X)
    assert missing == pytest.approx(1 - np.sum(R**2) / np.trace(K), rel=0.1)
    exact = explain(Ridge().fit(all_of_them.transform(X), Y), [all_of_them]).sentence
    assert "approximate" not in exact


def test_a_proof_on_random_features_says_how_far_they_are_off():
    features = RandomFourier(50, random_state=0).fit(X)
    told = explain(Ridge().fit(features.transform(X), Y), [features]).sentence
    assert "random features approximate" in told


def test_of_several_problems_the_largest_gap_is_told():
    certificate = SVC().fit(X, Y).certificate_
    gaps = [0.001, 0.04, 0.02]
    problems = [
        {**part, "relative_gap": gap}
        for part, gap in zip(certificate.parts["problems"], gaps, strict=True)
    ]
    parts = {**certificate.parts, "problems": problems}
    told = sentence_of(Certificate(certificate.kind, 0.04, 0.1, "", parts))
    assert "within 4 % of" in told


def test_a_fit_that_was_stopped_says_how_good_it_is():
    """The distance of primal and dual value bounds the loss, however early one stops."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model, best = (SVC(C=1.0, max_iter=m).fit(X, Y > 1) for m in (5, 100_000))
    told = explain(model).sentence
    bound = float(re.search(r"within ([0-9.]+) % of its best", told)[1]) / 100
    primal, optimum = (m.certificate_.parts["primal"] for m in (model, best))
    assert 0 <= primal - optimum <= bound * max(primal, optimum) * (1 + 1e-9)


def test_figures_that_were_not_computed_are_not_told_as_numbers():
    model = SVC().fit(*load_iris(return_X_y=True))
    unknown = Certificate("relative gap, pair violation", np.nan, 1e-3)
    model.certificate_, model.status_ = unknown, "interrupted"
    proof = explain(model)
    assert not proof.ok
    assert "were not computed" in proof.sentence
    assert "nan" not in proof.sentence


@pytest.mark.parametrize(
    ("n", "kind", "words"),
    [
        (300, "exact", "by at most"),
        (3_000, "bound", "by at most"),
        (300, "estimate", "(estimated, not proved)"),
    ],
)
def test_what_landmarks_cost_is_said_apart_from_the_proof(n, kind, words):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    model = KernelRidge(landmarks=20, random_state=0).fit(X, np.sin(X[:, 0]))
    if kind == "estimate":  # what a fit of very many rows says
        parts = {**model.certificate_.parts, "restriction": kind, "restriction_high": 0.1}
        model.certificate_ = replace(model.certificate_, parts=parts)
    assert model.certificate_.restriction == kind
    proof = explain(model)
    assert proof.ok
    assert "this is among functions of 20 landmarks: others could lower" in proof.sentence
    assert words in proof.sentence
