"""The training rows in pictures, partial dependence and reasons: figures that can be counted."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.inspection import partial_dependence
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelRidge, Ridge, TableEncoder
from mercer._limits import Limits
from mercer.datasets import load_penguins
from mercer.report._budget import LeftOutError
from mercer.report._cases import case_tables
from mercer.report._data import BINS, data_of
from mercer.report._dependence import dependences
from mercer.report._reasons import Reasons
from mercer.report._rows import as_rows
from mercer.report._subject import ModelAnswers, Subject
from mercer.report.examine import examine
from mercer.report.study import Estimate, Importance
from tests.report.subjects import DIABETES, IRIS

pl = pytest.importorskip("polars")
UNLIMITED = Limits.of()


def importance_of(*columns: str) -> list[Importance]:
    return [Importance(column, Estimate(1.0, 0.5, 1.5)) for column in columns]


def examined(model, X, y):
    subject = Subject.of(model.fit(X, y))
    rows = as_rows(X)
    return subject, rows, ModelAnswers.of(subject, rows.data, np.asarray(y))


# ---------------------------------------------------------------- the training rows
@pytest.fixture(scope="module")
def birds():
    data = load_penguins()
    model = make_pipeline(TableEncoder(), SVC())
    subject, rows, answers = examined(model, data.X, data.y)
    return data, subject, rows, answers


def test_every_row_is_counted_once(birds):
    data, subject, rows, answers = birds
    picture = data_of(subject, (rows, answers.y), [], 0)
    assert [column.name for column in picture.columns] == data.X.columns
    for column in picture.columns:
        assert column.missing == data.X[column.name].null_count()
        assert column.counts.sum() + column.missing == len(data.X)
        assert len(column.labels) == len(column.counts) == len(column.target)


def test_levels_are_counted_and_classes_shared_out(birds):
    data, subject, rows, answers = birds
    picture = data_of(subject, (rows, answers.y), importance_of("island"), 0)
    island = picture.columns[0]
    assert island.name == "island"  # the most important column is the first
    assert picture.classes == ("Adelie", "Chinstrap", "Gentoo")
    for label, count, shares in zip(island.labels, island.counts, island.target, strict=True):
        here = np.asarray(data.y)[(data.X["island"] == label).to_numpy()]
        assert count == len(here)
        assert shares == pytest.approx([(here == c).mean() for c in picture.classes])


def test_bins_hold_the_mean_of_the_target():
    X, y = DIABETES
    subject, rows, _ = examined(Ridge(), X, y)
    picture = data_of(subject, (rows, y), [], 0)
    for j, column in enumerate(picture.columns):
        known = column.counts > 0
        assert len(column.counts) <= BINS
        assert np.average(column.target[known, 0], weights=column.counts[known]) == pytest.approx(
            y.mean()
        )
        assert column.name == f"x{j}"
    matrix = picture.correlations.matrix
    np.testing.assert_allclose(matrix, np.corrcoef(X.T), atol=1e-12)


def test_correlations_are_of_rows_that_have_both():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    X[::7, 0] = np.nan
    y = rng.normal(size=50)
    subject, rows, _ = examined(make_pipeline(TableEncoder(), Ridge()), X, y)
    found = data_of(subject, (rows, y), [], 0).correlations
    both = ~np.isnan(X[:, 0])
    place = [found.names.index(name) for name in ("x0", "x2")]
    wanted = np.corrcoef(X[both, 0], X[both, 2])[0, 1]
    assert found.matrix[place[0], place[1]] == pytest.approx(wanted, abs=1e-9)


def test_large_tables_are_sampled_with_the_seed():
    X, y = IRIS
    subject, rows, _ = examined(SVC(), X, y)
    first, again, other = (
        data_of(subject, (rows, y), [], seed, most_rows=60) for seed in (0, 0, 1)
    )
    assert "60 of the rows, drawn at random" in first.words
    counts = [[c.counts.tolist() for c in picture.columns] for picture in (first, again, other)]
    assert counts[0] == counts[1] != counts[2]


def test_columns_of_every_kind_are_told_in_words():
    n = 40
    frame = pl.DataFrame(
        {
            "when": pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 2, 9), eager=True),
            "flag": [i % 2 == 0 for i in range(n)],
            "same": [7.0] * n,
            "none": pl.Series([None] * n, dtype=pl.Float64),
            "far": [np.inf if i == 3 else 1e12 * i for i in range(n)],
            "words": [f"text {i}" for i in range(n)],
        }
    )
    y = np.arange(n, dtype=float)
    model = make_pipeline(TableEncoder(), Ridge())
    with np.errstate(all="raise", under="ignore"):
        study = examine(model.fit(frame, y), frame, y, train=(frame, y), time_limit=60)
    told = {column.name: column.words for column in study.data.columns}
    assert told["when"] == "date; 2020-01-01 to 2020-02-09, median 2020-01-20; none missing"
    assert told["flag"] == "yes or no; none missing"
    assert told["same"] == "number; always 7; none missing"
    assert told["none"] == "number; no value; 40 missing values (100\xa0%)"
    assert told["far"].endswith("1 missing value (2.5\xa0%)")
    assert told["words"] == "text; 40 different ones; none missing"


@pytest.mark.parametrize("train", [None, "sparse"])
def test_what_cannot_be_looked_at_says_why(train):
    X, y = IRIS
    subject = examined(SVC(), X, y)[0]
    given = None if train is None else (as_rows(sp.csr_array(X)), y)
    with pytest.raises(LeftOutError, match="no training rows" if train is None else "sparse"):
        data_of(subject, given, [], 0)


# ---------------------------------------------------------------- partial dependence
def test_dependence_is_that_of_scikit_learn():
    X, y = DIABETES
    subject, rows, answers = examined(KernelRidge(lam=0.1), X[:150], y[:150])
    (found,), words = dependences(subject, rows, answers, importance_of("x2"), UNLIMITED)
    wanted = partial_dependence(
        subject.model, X[:150], [2], custom_values={2: np.array(found.values)}, method="brute"
    )
    np.testing.assert_allclose(found.mean[:, 0], wanted["average"][0], rtol=1e-10)
    assert "150 rows" in words
    assert np.all(found.low <= found.high)


def test_dependence_on_levels_and_classes(birds):
    data, subject, rows, answers = birds
    (found,), _ = dependences(subject, rows, answers, importance_of("island"), UNLIMITED)
    assert set(found.values) == set(data.X["island"])
    assert found.names == ("Adelie", "Chinstrap", "Gentoo")
    assert found.mean.shape == (3, 3)


def test_a_column_that_says_nothing_moves_nothing():
    X, y = DIABETES
    model = make_pipeline(StandardScaler(), Ridge()).fit(X[:, :3], y)
    model[-1].coef_ = model[-1].coef_ * np.array([1.0, 0.0, 1.0])
    subject, rows = Subject.of(model), as_rows(X[:, :3])
    answers = ModelAnswers.of(subject, rows.data, y)
    found, _ = dependences(subject, rows, answers, importance_of("x0", "x1"), UNLIMITED)
    assert found[1].reach == pytest.approx(0.0, abs=1e-9)
    assert found[0].reach > 1.0


# ---------------------------------------------------------------- reasons
def test_the_parts_sum_to_the_prediction_less_that_of_the_others():
    X, y = DIABETES
    subject, rows, answers = examined(KernelRidge(lam=0.1), X, y)
    for columns in (("x0", "x2"), tuple(f"x{j}" for j in range(10))):
        reasons = Reasons.of(subject, rows, answers, importance_of(*columns), UNLIMITED)
        _, others = reasons._orders()
        wanted = answers.prediction[7] - answers.prediction[others].mean()
        assert len(reasons.parts(7)) == len(reasons.names)
        assert reasons.parts(7).sum() == pytest.approx(wanted)


def test_the_parts_in_a_linear_model_are_its_terms():
    X, y = DIABETES
    subject, rows, answers = examined(Ridge(), X[:, :4], y)
    reasons = Reasons.of(subject, rows, answers, importance_of("x0", "x1", "x2", "x3"), UNLIMITED)
    _, others = reasons._orders()
    wanted = subject.model.coef_ * (X[3, :4] - X[others, :4].mean(axis=0))
    np.testing.assert_allclose(reasons.parts(3), wanted, rtol=1e-8)


def exact_shapley(value, m):
    """The mean over all orders, by the sum over subsets."""
    found = np.zeros(m)
    for k in range(m):
        rest = [j for j in range(m) if j != k]
        for size in range(m):
            weight = factorial(size) * factorial(m - size - 1) / factorial(m)
            for chosen in combinations(rest, size):
                found[k] += weight * (value({*chosen, k}) - value(set(chosen)))
    return found


def test_many_orders_come_near_to_the_exact_values():
    X, y = IRIS
    subject, rows, answers = examined(SVC(probability=True), X, y)
    given = (subject, rows, answers, tuple(range(4)), UNLIMITED, 400)
    reasons, i = Reasons(*given), 120
    own = np.flatnonzero(subject.classes == answers.prediction[i])[0]
    _, others = reasons._orders()

    def value(chosen):
        mixed = X[others].copy()
        mixed[:, list(chosen)] = X[i, list(chosen)]
        return subject.model.predict_proba(mixed)[:, own].mean()

    np.testing.assert_allclose(reasons.parts(i), exact_shapley(value, 4), atol=0.06)


def test_reasons_that_time_did_not_allow_are_said(monkeypatch):
    X, y = IRIS
    subject = Subject.of(SVC(probability=True).fit(X[::2], y[::2]))
    rows = as_rows(X[1::2])
    answers = ModelAnswers.of(subject, rows.data, y[1::2])
    importances = [Importance(name, Estimate(1.0, 0.5, 1.5)) for name in rows.names]
    reasons = Reasons.of(subject, rows, answers, importances, Limits.of())
    asked = iter([False] * 3)
    monkeypatch.setattr(Limits, "stopped", lambda self: next(asked, True))
    tables = case_tables(answers, rows, [0], reasons)
    table = next(table for table in tables if table.heading == "least certain")
    explained = [bool(case.reasons) for case in table.cases]
    assert len(explained) == 10
    assert explained == sorted(explained, reverse=True)
    assert f"time was up after {sum(explained)} of 10 rows" in table.words


def test_mistakes_have_reasons_and_typical_rows_have_none():
    X, y = IRIS
    model = SVC(probability=True).fit(X[::2], y[::2])
    study = examine(model, X[1::2], y[1::2], train=(X[::2], y[::2]), time_limit=60)
    for table in study.cases:
        told = [case.reasons for case in table.cases]
        if table.heading in ("most certain and wrong", "least certain"):
            assert all(told)
            assert "Shapley values" in table.words
        else:
            assert not any(told)
    assert [one.column for one in study.dependences] == [i.column for i in study.importances]
