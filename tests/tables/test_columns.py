"""Each kind of column against an independent encoder or an identity, and its hard cases."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from mercer import TableEncoder
from tests.compare import assert_close


def fitted(**columns):
    return TableEncoder().fit(pl.DataFrame(columns, strict=False))


def kind(values, name="a"):
    """Return the kind of a column, beside one that keeps the table alive."""
    return fitted(**{name: values, "other": np.arange(len(values)) * 1.0}).columns_[0]["kind"]


def encoded(values, **parameters):
    return TableEncoder(**parameters).fit_transform(pl.DataFrame({"a": values}, strict=False))


# ---------------------------------------------------------------- numbers
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-150, 1e-8, 1.0, 1e150]))
@settings(max_examples=25, deadline=None)
def test_numbers_are_standardised_and_gaps_are_the_median(seed, scale):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 3)) + rng.uniform(-5, 5, 3)
    gaps = rng.uniform(size=X.shape) < [0.0, 0.2, 0.4]
    gaps[0] = [False, True, True]
    X[gaps] = np.nan
    got = TableEncoder().fit_transform(scale * X)
    wanted = StandardScaler().fit(X).transform(np.where(gaps, np.nanmedian(X, axis=0), X))
    assert_close(got[:, [0, 1, 3]], wanted, roundings=1000)
    np.testing.assert_array_equal(got[:, [2, 4]], gaps[:, 1:])


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-150, 1e-3, 1.0, 1e100]))
@settings(max_examples=15, deadline=None)
def test_a_long_tail_is_taken_by_its_logarithm_in_any_unit(seed, scale):
    x = np.exp(2.5 * np.random.default_rng(seed).standard_normal(200))
    x[:20] = 0.0
    encoder = TableEncoder().fit(scale * x[:, None])
    wanted = StandardScaler().fit_transform(np.log1p(x / np.median(x[20:]))[:, None])
    assert_close(encoder.transform(scale * x[:, None]), wanted, roundings=1000)
    assert encoder.describe()[1] == "'x0' has a long tail: its logarithm is standardised"


def test_a_tail_below_zero_that_fit_did_not_see_keeps_the_order():
    x = np.exp(3.0 * np.random.default_rng(0).standard_normal(200))
    new = np.linspace(-100.0, 100.0, 41)[:, None]
    assert np.all(np.diff(TableEncoder().fit(x[:, None]).transform(new)[:, 0]) > 0)


SHORT = {
    "negative": np.r_[-0.1, np.geomspace(1, 1e6, 99)],
    "uniform": np.linspace(0, 1, 100),
    "rare ones": np.r_[np.zeros(95), np.ones(5)],
    "small counts": np.r_[np.zeros(90), np.ones(8), 2.0, 3.0],
}


@pytest.mark.parametrize("x", SHORT.values(), ids=SHORT.keys())
def test_other_numbers_are_only_standardised(x):
    got = TableEncoder().fit_transform(x[:, None])
    assert_close(got, StandardScaler().fit_transform(x[:, None]), roundings=1000)


def test_infinite_values_are_missing_values():
    values = [1.0, np.inf, 3.0, -np.inf, 8.0]
    encoder = fitted(a=values)
    gaps = [np.nan if np.isinf(v) else v for v in values]
    np.testing.assert_array_equal(encoder.transform(pl.DataFrame({"a": values})), encoded(gaps))
    assert encoder.describe()[1:] == [
        "2 missing values in 'a': median 3 and an indicator",
        "2 infinite values in 'a' taken as missing",
    ]


def test_a_gap_that_fit_did_not_see_is_the_median():
    encoder = fitted(a=[1.0, 2.0, 9.0])
    new = encoder.transform(pl.DataFrame({"a": [None, 2.0]}))
    assert new.shape == (2, 1)
    assert new[0] == new[1]


NUMBERS = {
    "integers": [1, 2, 3, 4],
    "texts": ["1", " 2", "3.0", "4e0"],
    "texts with gaps": ["1", "2", "3", "4", "?", "NA", "", None],
    "decimals": [Decimal(1), Decimal(2), Decimal(3), Decimal(4)],
    "durations": [dt.timedelta(seconds=s) for s in (1, 2, 3, 4)],
    "times": [dt.time(0, 0, s) for s in (1, 2, 3, 4)],
}


@pytest.mark.parametrize("values", NUMBERS.values(), ids=NUMBERS.keys())
def test_what_says_numbers_is_numbers(values):
    wanted = encoded([1.0, 2.0, 3.0, 4.0, *[None] * (len(values) - 4)])
    np.testing.assert_array_equal(encoded(values), wanted)


def test_numbers_stay_numbers_where_they_have_few_values():
    assert kind([0, 1, 1, 0, 1]) == "number"


def test_differences_that_are_only_rounding_do_not_count():
    assert kind([0.1 + 0.2, 0.3, 0.3]) == "dropped"
    assert kind([1e16, 1e16 + 2, 1e16 - 2]) == "dropped"
    assert kind([5e-324, 0.0, 5e-324]) == "dropped"
    assert kind([1.0, 1.0 + 1e-12, 1.0]) == "number"


def test_numbers_of_rows_are_left_out():
    order = np.random.default_rng(0).permutation(50)
    assert kind(order, "id") == kind(order, "") == "dropped"
    assert kind(order, "size") == kind(order // 2, "id") == kind(order + 0.5, "id") == "number"


def test_a_few_texts_among_numbers_are_missing_and_counted():
    encoder = fitted(a=[*map(str, range(99)), "oops"], b=np.arange(100.0))
    assert encoder.n_coerced_ == {"a": 1}
    assert "1 value in 'a' could not be read as a number: taken as missing" in encoder.describe()


def test_numbers_that_come_as_texts_later_are_read():
    encoder = fitted(a=[1.0, 2.0, 9.0])
    texts = encoder.transform(pl.DataFrame({"a": ["2", "9"]}))
    np.testing.assert_array_equal(texts, encoder.transform(pl.DataFrame({"a": [2.0, 9.0]})))
    with pytest.warns(UserWarning, match="1 value of column 'a' could not be read as a number and"):
        bad = encoder.transform(pl.DataFrame({"a": ["2", "many"]}))
    assert bad[0] == bad[1]  # 2 is the median
    with pytest.warns(UserWarning, match="2 values of column 'a' .* are taken as missing"):
        encoder.transform(pl.DataFrame({"a": [dt.date(2020, 1, 1), dt.date(2021, 1, 1)]}))


# ---------------------------------------------------------------- categories
@given(st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=8, max_size=40))
@settings(max_examples=40, deadline=None)
def test_levels_are_those_of_one_hot_encoder_over_the_root_of_two(values):
    distinct = sorted({v for v in values if v}) + [None] * (None in values)
    if len(distinct) < 3:
        return
    wanted = OneHotEncoder(categories=[[x or "" for x in distinct]], sparse_output=False)
    texts = np.array([v or "" for v in values])[:, None]
    got = encoded(values)
    np.testing.assert_allclose(got, wanted.fit_transform(texts) / np.sqrt(2.0), rtol=1e-15)


@pytest.mark.parametrize("levels", [["a", "b"], ["a", "b", "c"], ["a", None], [True, False]])
def test_two_different_levels_are_at_distance_one(levels):
    rows = encoded(levels * 4)[: len(levels)]
    np.testing.assert_allclose(pdist(rows), 1.0, rtol=1e-15)


@pytest.mark.parametrize("floor", [1, 3, 6, 0.1])
@pytest.mark.parametrize("most", [2, 4, 30])
def test_rare_levels_are_those_of_one_hot_encoder(floor, most):
    rng = np.random.default_rng(4)
    values = rng.choice(list("abcdefgh"), 60, p=np.array([20, 12, 10, 8, 5, 3, 1, 1]) / 60)
    encoder = TableEncoder(max_categories=most, min_frequency=floor).fit(
        pl.DataFrame({"a": values})
    )
    floor_rows = floor if isinstance(floor, int) else int(np.ceil(floor * 60))
    # there the rare ones count as a category too, and without any nothing is rare
    other = OneHotEncoder(max_categories=most + 1, min_frequency=floor_rows)
    rare = other.fit(values[:, None]).infrequent_categories_[0]
    wanted = set(values) - set([] if rare is None else rare)
    assert set(encoder.columns_[0]["levels"]) == wanted
    assert encoder.columns_[0]["rare"] == len(set(values)) - len(wanted)


def test_a_level_that_fit_did_not_see_is_all_zeros():
    for values in (["a", "b", "c", "a"], ["a", "b", "b", "a"]):
        new = fitted(a=values).transform(pl.DataFrame({"a": ["z", None, "a"]}))
        assert not new[:2].any()
        assert new[2].any()


def test_a_level_that_fit_did_not_see_is_rare_where_some_were():
    encoder = TableEncoder(max_categories=2)
    encoder.fit(pl.DataFrame({"a": [*"aaabbbcd"]}))
    new = encoder.transform(pl.DataFrame({"a": ["z", "c", None]}))
    np.testing.assert_array_equal(new[0], new[1])
    assert not new[2].any()


def test_levels_may_be_called_anything():
    values = ["missing", "other", "rare", None, "(missing)", "missing"]
    assert np.unique(encoded(values), axis=0).shape[0] == 5


def test_blanks_around_a_level_do_not_matter():
    np.testing.assert_array_equal(encoded(["a", " a", "b", "b "]), encoded(["a", "a", "b", "b"]))


@pytest.mark.parametrize(
    "later", [["true", "False"], [1, 0], [1.0, 0.0], ["1", "0"], ["yes", "no"]]
)
def test_truths_may_come_in_other_words_later(later):
    encoder = fitted(a=[True, False, False])
    wanted = encoder.transform(pl.DataFrame({"a": [True, False]}))
    np.testing.assert_array_equal(encoder.transform(pl.DataFrame({"a": later})), wanted)


def test_levels_that_are_numbers_may_come_as_numbers_later():
    frame = pd.DataFrame({"a": pd.Categorical([1, 2, 3, 1])})
    encoder = TableEncoder().fit(frame)
    assert encoder.columns_[0]["kind"] == "category"
    np.testing.assert_array_equal(
        encoder.transform(pd.DataFrame({"a": [1.0, 2.0, 3.0, 1.0]})), encoder.transform(frame)
    )


def test_categoricals_keep_only_the_levels_that_occur():
    frame = pd.DataFrame({"a": pd.Categorical([*"xyzx"], categories=[*"wxyz"])})
    assert TableEncoder().fit(frame).columns_[0]["levels"] == ["x", "y", "z"]
    polars = pl.DataFrame({"a": pl.Series([*"xyzx"], dtype=pl.Enum([*"wzyx"]))})
    assert TableEncoder().fit(polars).columns_[0]["levels"] == ["x", "y", "z"]


# ---------------------------------------------------------------- texts
WORDS = ["red", "green", "blue", "round", "flat", "new", "old", "a", "big"]


def sentences(n=40, seed=0, words=WORDS):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words, rng.integers(4, 12))) for _ in range(n)]


def test_texts_are_weighted_as_by_tfidf_vectorizer():
    texts = sentences()
    encoder = fitted(a=texts)
    assert encoder.columns_[0]["kind"] == "text"
    reference = TfidfVectorizer(sublinear_tf=True).fit(texts)
    assert encoder.columns_[0]["terms"] == reference.get_feature_names_out().tolist()
    new = sentences(9, seed=1)
    wanted = reference.transform(new).toarray()
    np.testing.assert_allclose(encoder.transform(pl.DataFrame({"a": new})), wanted, atol=1e-14)


def test_many_terms_make_a_sparse_matrix_and_the_most_frequent_are_kept():
    words = [f"w{i}" for i in range(3000)]
    texts = [" ".join(words[j] for j in range(0, 3000, i)) for i in range(1, 30)]
    texts += [texts[0] + " last"]
    encoder = fitted(a=texts)
    matrix = encoder.transform(pl.DataFrame({"a": texts}))
    assert encoder.sparse_output_
    assert sp.issparse(matrix)
    assert matrix.shape == (30, 2000)
    frequency = {w: sum(w in text.split() for text in texts) for w in words}
    kept = set(encoder.columns_[0]["terms"])
    left = [w for w in words if w not in kept and frequency[w] < 30]
    assert min(frequency[w] for w in kept) >= max(frequency[w] for w in left)
    assert "w0" not in kept  # it is in every row and tells nothing


def test_missing_and_unknown_texts_are_zero():
    encoder = fitted(a=sentences())
    assert not encoder.transform(pl.DataFrame({"a": [None, "", "unheard of"]})).any()


def test_texts_can_be_chosen_and_left_out():
    X = pl.DataFrame({"a": sentences(), "b": ["x", "y"] * 20})

    def kinds(text):
        return [state["kind"] for state in TableEncoder(text=text).fit(X).columns_]

    assert kinds("drop") == ["dropped", "category"]
    assert kinds(["a"]) == ["text", "category"]
    assert kinds([]) == ["dropped", "category"]  # a different text in every row


def test_labels_of_many_words_are_categories():
    labels = ["some college but no degree", "high school and no more than that"]
    assert kind(labels * 20) == "category"
    assert kind(sentences(20) * 30) == "category"


def test_sentences_that_come_again_are_texts():
    assert kind(sentences(50) * 20) == "text"


# ---------------------------------------------------------------- dates
START = dt.datetime(2019, 3, 4, 6)


def moments(days):
    return [START + dt.timedelta(days=float(d)) for d in days]


def test_dates_are_days_and_points_on_circles():
    days = np.random.default_rng(0).uniform(0, 2000, 50)
    encoder = fitted(a=moments(days))
    assert encoder.columns_[0]["cycles"] == ["year", "week", "day"]
    got = encoder.transform(pl.DataFrame({"a": moments(days)}))
    assert_close(got[:, 0], (days - days.mean()) / days.std(), roundings=1e5)  # of microseconds
    for column in (1, 3, 5):
        np.testing.assert_allclose(np.hypot(*got[:, column : column + 2].T), 0.5, rtol=1e-12)


@pytest.mark.parametrize(("cycle", "length"), [("year", 365.2425), ("week", 7.0), ("day", 1.0)])
def test_a_cycle_comes_round_and_its_opposite_is_at_distance_one(cycle, length):
    encoder = fitted(a=moments(np.linspace(0, 2000, 77)))
    names = encoder.get_feature_names_out().tolist()
    circle = [names.index(f"a ({cycle}, {part})") for part in ("sin", "cos")]
    rows = encoder.transform(pl.DataFrame({"a": moments([0.0, length, 0.5 * length])}))[:, circle]
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-9)
    if cycle != "week":  # whose days are whole: no day is opposite
        np.testing.assert_allclose(np.linalg.norm(rows[0] - rows[2]), 1.0, atol=1e-9)


def test_cycles_are_looked_at_where_the_span_allows():
    dates = [dt.date(2020, 1, 1) + dt.timedelta(days=d) for d in range(0, 40, 3)]
    assert fitted(a=dates).columns_[0]["cycles"] == ["week"]
    assert fitted(a=moments([0.0, 0.1, 0.2, 0.4])).columns_[0]["cycles"] == ["day"]


def test_dates_as_texts_and_with_time_zones_are_dates():
    plain = moments([0.0, 100.0, 900.0, 30.5])
    wanted = encoded(plain)
    np.testing.assert_array_equal(encoded([d.isoformat() for d in plain]), wanted)
    np.testing.assert_array_equal(encoded([str(d).replace("-", "/") for d in plain]), wanted)
    zone = dt.timezone(dt.timedelta(hours=5))
    aware = pd.DataFrame({"a": [d.replace(tzinfo=dt.UTC).astimezone(zone) for d in plain]})
    np.testing.assert_array_equal(TableEncoder().fit_transform(aware), wanted)


def test_a_missing_date_is_the_center_of_its_circles():
    encoder = fitted(a=[*moments([0.0, 400.0, 900.0]), None])
    row = encoder.transform(pl.DataFrame({"a": [None]}, schema={"a": pl.Datetime}))[0]
    assert not row[1:-1].any()
    assert row[-1] == 1.0


# ---------------------------------------------------------------- left out
def test_nested_columns_are_left_out_with_words():
    X = pl.DataFrame({"a": [["u"], ["v", "w"]], "b": [{"x": 1}, {"x": 2}], "c": [1.0, 2.0]})
    encoder = TableEncoder().fit(X)
    assert encoder.describe() == [
        "1 numeric column standardised",
        "columns 'a' and 'b' left out: records, binary values or lists of no numbers",
    ]
    assert TableEncoder().fit(X.to_pandas()).transform(X.to_pandas()).shape == (2, 1)


def test_sentences_read_well_for_one_and_for_many():
    X = pl.DataFrame(
        {
            "id": [f"u{i}" for i in range(40)],
            "age": [37.0, None, *map(float, range(38))],
            "pay": np.arange(40.0) ** 2,
            "job": ["cook", "nurse", "pilot", "smith", None] * 8,
            "home": [*"ab" * 19, "c", "d"],
            "flat": [1] * 40,
        }
    )
    assert TableEncoder(min_frequency=2).fit(X).describe() == [
        "2 numeric columns standardised",
        "2 category columns with 8 levels",
        "1 missing value in 'age': median 19 and an indicator",
        "8 missing values in 'job': a level of their own",
        "'home' has 2 frequent levels and one for the 2 rare ones",
        "column 'id' left out: a different text in every row",
        "column 'flat' left out: the same value in every row (1)",
    ]
