"""Which columns matter: planted ones are found, useless ones are not, and the figures are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.inspection import permutation_importance
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelRidge, Ridge
from mercer._limits import Limits
from mercer.report import _importance
from mercer.report._importance import Judge, importances
from mercer.report._rows import as_rows
from mercer.report._subject import ModelAnswers, Subject
from mercer.report.examine import examine

PLANTED = (2, 5)


def planted(n: int, *, classes: bool, seed: int = 0, d: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of d columns of which two decide the target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = X[:, PLANTED[0]] ** 2 + 2.0 * X[:, PLANTED[1]] + 0.1 * rng.normal(size=n)
    return X, (np.where(signal > 1.0, "up", "down") if classes else signal)


@pytest.mark.parametrize("model", [SVC(C=10.0), KernelRidge(lam=0.1)], ids=["classes", "numbers"])
def test_planted_columns_are_found_and_useless_ones_are_not(model):
    X, y = planted(800, classes=isinstance(model, SVC))
    study = examine(model.fit(X[:400], y[:400]), X[400:], y[400:], time_limit=60)
    found = {i.column: i.drop for i in study.importances}
    first = [i.column for i in study.importances[:2]]
    assert sorted(first) == [f"x{j}" for j in PLANTED]
    useless = [drop for column, drop in found.items() if column not in first]
    assert min(found[column].low for column in first) > max(drop.high for drop in useless)
    assert sum(drop.value for drop in useless) < 0.1 * sum(found[column].value for column in first)


def test_a_column_that_the_model_does_not_use_has_an_interval_around_zero():
    X, y = planted(300, classes=False)
    model = Ridge().fit(X[:150], y[:150])
    model.coef_[0] = 0.0
    model.coef_[1] *= 1e-3
    found = {i.column: i.drop for i in examine(model, X[150:], y[150:]).importances}
    rounding = pytest.approx(0.0, abs=1e-14)
    assert (found["x0"].low, found["x0"].value, found["x0"].high) == (rounding,) * 3
    assert found["x1"].low <= 0.0 <= found["x1"].high


def test_the_drops_are_those_of_scikit_learn_up_to_the_shuffles():
    X, y = planted(600, classes=True)
    model = SVC(C=10.0).fit(X[:300], y[:300])
    study = examine(model, X[300:], y[300:], time_limit=60)
    theirs = permutation_importance(
        model, X[300:], y[300:], scoring="balanced_accuracy", n_repeats=20, random_state=0
    )
    for i in study.importances:
        j = int(i.column[1:])
        deviation = theirs.importances_std[j] * (1 / 5 + 1 / 20) ** 0.5
        assert abs(i.drop.value - theirs.importances_mean[j]) <= 4 * deviation + 1e-12


# ---------------------------------------------------------------- against slow twins
@pytest.mark.parametrize("classes", [True, False], ids=["classes", "numbers"])
def test_drops_are_mean_differences_of_scores(classes):
    """Shuffles one by one, scored by scikit-learn, agree with the batches."""
    X, y = planted(120, classes=classes, d=6)
    y = y if classes else 7.0 + 3.0 * y
    model = (SVC() if classes else KernelRidge()).fit(X, y)
    subject, rows = Subject.of(model), as_rows(X)
    judge = Judge(ModelAnswers.of(subject, X, y))
    columns, rng = np.arange(6), np.random.default_rng(3)
    losses = _importance._losses(subject, rows, judge, [columns[:4], columns[4:]], rng, Limits())
    drops = [drop.value for drop in judge.drops(np.array(losses).T)]

    score, rng = (balanced_accuracy_score if classes else r2_score), np.random.default_rng(3)
    orders = [rng.permutation(120) for _ in range(_importance.REPEATS)]
    for j in columns:
        copies = [X.copy() for _ in orders]
        for copy, order in zip(copies, orders, strict=True):
            copy[:, j] = X[order, j]
        slow = score(y, model.predict(X)) - np.mean([score(y, model.predict(c)) for c in copies])
        assert drops[j] == pytest.approx(slow, abs=1e-10)


FORMS: dict[str, Any] = {
    "array": lambda X: X,
    "CSR array": sp.csr_array,
    "CSR matrix": sp.csr_matrix,
    "pandas": pd.DataFrame,
    "polars": lambda X: pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])]),
}


def dense(data: Any) -> np.ndarray:
    return data.toarray() if sp.issparse(data) else np.asarray(data)


@pytest.mark.parametrize("form", FORMS)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 6), d=st.integers(1, 4), k=st.integers(1, 5))
def test_shuffled_copies_change_one_column_each(form, seed, n, d, k):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.4, 0.0, rng.integers(-9, 9, (n, d)))
    rows = as_rows(FORMS[form](X))
    shuffles = [(int(rng.integers(d)), rng.permutation(n)) for _ in range(k)]
    copies = rows.shuffled(shuffles)
    assert type(copies) is type(rows.data)
    for i, (column, order) in enumerate(shuffles):
        expected = X.copy()
        expected[:, column] = X[order, column]
        assert np.array_equal(dense(copies)[i * n : (i + 1) * n], expected)
    assert np.array_equal(dense(rows.data), X)


@pytest.mark.parametrize("form", FORMS)
def test_spreads_are_variances(form):
    X = np.where(np.random.default_rng(0).random((30, 4)) < 0.5, 0.0, 3.0)
    X[:, 3] = 2.0
    assert as_rows(FORMS[form](X)).spreads() == pytest.approx(X.var(axis=0))


def test_the_spread_of_a_text_is_that_of_its_indicators():
    frame = pd.DataFrame({"a": ["x", "y", "y", None], "b": ["same"] * 4})
    indicators = pd.get_dummies(frame["a"], dummy_na=True).to_numpy(float)
    assert as_rows(frame).spreads() == pytest.approx([indicators.var(axis=0).sum(), 0.0])


# ---------------------------------------------------------------- many columns, little time
def wide(d: int) -> tuple[Any, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, d)) * np.linspace(1.0, 2.0, d)
    y = X[:, -1] + X[:, -2]
    return make_pipeline(StandardScaler(), Ridge()).fit(X, y), X, y


def test_of_many_columns_those_of_the_largest_variance_are_shuffled():
    model, X, y = wide(100)
    X[:, 50] = 0.0
    study = examine(model, X, y, time_limit=60)
    spread = X.var(axis=0)
    expected = {f"x{j}" for j in np.argsort(-spread)[: _importance.MOST_COLUMNS]}
    assert {i.column for i in study.importances} == expected
    assert "1 constant columns are left out" in study.importance_words
    assert "of 99 columns the 60 of the largest variance" in study.importance_words


def test_out_of_time_the_columns_so_far_are_kept():
    model, X, y = wide(10)
    subject, rows = Subject.of(model), as_rows(X)
    answers = ModelAnswers.of(subject, X, y)
    found, words = importances(subject, rows, answers, 0.0, batch_rows=1)
    assert len(found) == 1
    assert "time was up after 1 of 10 columns" in words
    assert f"{_importance.LEAST_ROWS} rows" in words


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_targets_of_any_size(size):
    X, y = planted(200, classes=False)
    plain, scaled = (
        examine(Ridge().fit(X, unit * y), X, unit * y).importances for unit in (1.0, size)
    )
    for a, b in zip(plain, scaled, strict=True):
        assert a.column == b.column
        assert b.drop.value == pytest.approx(a.drop.value, rel=1e-6, abs=1e-12)
