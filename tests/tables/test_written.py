"""Numbers and dates as people write them: read as what they are, in fit and after it."""

from __future__ import annotations

import datetime as dt
import warnings

import numpy as np
import pytest

pl = pytest.importorskip("polars")

from mercer import TableEncoder, load, save  # noqa: E402
from mercer.tables.moments import DAY_FIRST, MONTH_FIRST, order, parse_date  # noqa: E402
from mercer.tables.numerals import BY_VALUE, COMMA, POINT, notation, parse_number  # noqa: E402

VALUES = np.array([-1234567.5, -1200.0, -0.25, 0.0, 0.5, 7.0, 12.75, 999.5, 1234.5, 98765.25])


def swapped(text: str) -> str:
    return text.translate(str.maketrans(",.", ".,"))


STYLES = {
    "plain": lambda x: f"{x:.2f}",
    "thousands": lambda x: f"{x:,.2f}",
    "comma": lambda x: f"{x:.2f}".replace(".", ","),
    "German": lambda x: swapped(f"{x:,.2f}"),
    "French": lambda x: swapped(f"{x:,.2f}").replace(".", "\u202f"),
    "blanks": lambda x: swapped(f"{x:,.2f}").replace(".", " "),
    "Swiss": lambda x: f"{x:,.2f}".replace(",", "'"),
    "euro": lambda x: swapped(f"{x:,.2f}") + " €",
    "dollar": lambda x: f"${x:,.2f}".replace("$-", "-$"),
    "pound": lambda x: f"£{x:,.2f}",
    "franc": lambda x: f"CHF {x:,.2f}".replace(",", "’"),
    "per cent": lambda x: f"{x:.2f} %",
    "accountant": lambda x: f"({-x:,.2f})" if x < 0 else f"{x:,.2f}",
    "minus sign": lambda x: f"{x:.2f}".replace("-", "−"),
    "exponent": lambda x: f"{x:.8e}".replace(".", ","),
}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_a_column_of_any_style_is_its_numbers(style):
    texts = [style(x) for x in VALUES]
    how = notation(texts)
    assert not how.is_unsure
    np.testing.assert_allclose([parse_number(t, how.decimal) for t in texts], VALUES, rtol=1e-7)


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_the_encoder_reads_new_rows_as_it_read_the_old_ones(style, tmp_path):
    numbers = TableEncoder().fit(pl.DataFrame({"x": VALUES}))
    written = TableEncoder().fit(pl.DataFrame({"x": [style(x) for x in VALUES]}))
    save(written, tmp_path / "e.mercer")
    new = np.array([1234.0, 1.5, -7.0])  # the first one alone could be 1.234
    table = pl.DataFrame({"x": [style(x) for x in new]})
    for encoder in (written, load(tmp_path / "e.mercer")):
        np.testing.assert_allclose(
            encoder.transform(table), numbers.transform(pl.DataFrame({"x": new})), rtol=1e-6
        )
        one_by_one = np.vstack([encoder.transform(table[i : i + 1]) for i in range(3)])
        np.testing.assert_array_equal(one_by_one, encoder.transform(table))


@pytest.mark.parametrize(
    ("text", "by_value", "by_point", "by_comma"),
    [
        ("1,234", np.nan, 1234.0, 1.234),
        ("1.234", 1.234, 1.234, 1234.0),
        ("0,123", 0.123, 0.123, 0.123),
        ("1,5", 1.5, 1.5, 1.5),
        ("1.234.567", 1234567.0, 1234567.0, 1234567.0),
        ("1,23,456", 123456.0, 123456.0, 123456.0),
        ("<0.1", 0.1, 0.1, 0.1),
        ("≥ 1.000,5", 1000.5, 1000.5, 1000.5),
        *((no, np.nan, np.nan, np.nan) for no in ("12 34", "1,2,3", "(5", "5-10", "3+", "k.A.")),
        *(
            (no, np.nan, np.nan, np.nan)
            for no in ("31.12.2024", "1:30", "%", "€", "", "seven", ",")
        ),
    ],
)
def test_one_text(text, by_value, by_point, by_comma):
    got = [parse_number(text, decimal) for decimal in (BY_VALUE, POINT, COMMA)]
    np.testing.assert_array_equal(got, [by_value, by_point, by_comma])


def test_what_is_unsure_is_said():
    thousands = TableEncoder().fit(pl.DataFrame({"x": ["1,234", "5,678", "9,100"]}))
    assert thousands.columns_[0]["median"] == 5678.0
    assert "three digits at the end are taken as thousands" in " ".join(thousands.describe())
    prices = TableEncoder().fit(pl.DataFrame({"x": ["1.234 €", "5.678 €", "9.100 €"]}))
    assert prices.columns_[0]["median"] == 5678.0
    assert "thousands" in " ".join(prices.describe())


def test_one_value_that_tells_decides_for_the_column():
    assert notation(["1,234"] * 5000 + ["0,5"]).decimal == COMMA
    assert notation(["1,234"] * 5000 + ["0.5"]).decimal == POINT


def test_bounds_and_words_for_missing_are_said():
    x = ["<0.1", "0.3", "0.5", "k.A.", "unknown", "0.7", "k.A."]
    encoder = TableEncoder().fit(pl.DataFrame({"x": x}))
    assert encoder.describe()[1:] == [
        "1 value in 'x' ('<0.1') taken as the bound",
        "3 values in 'x' (such as 'k.A.') taken as missing",
        "3 missing values in 'x': median 0.4 and an indicator",
    ]
    assert encoder.n_coerced_ == {}


def test_classes_that_are_bounds_stay_classes():
    encoder = TableEncoder().fit(pl.DataFrame({"x": ["<50", ">=50"] * 4}))
    assert encoder.columns_[0]["kind"] == "category"


def test_a_comma_where_fit_saw_numbers_is_read_if_it_can_only_be_a_decimal():
    encoder = TableEncoder().fit(pl.DataFrame({"x": [0.5, 1.5, 4.0]}))
    wanted = encoder.transform(pl.DataFrame({"x": [0.5, 2.25]}))
    np.testing.assert_array_equal(encoder.transform(pl.DataFrame({"x": ["0,5", "2,25"]})), wanted)
    with pytest.warns(UserWarning, match="1 value of column 'x' could not be read"):
        encoder.transform(pl.DataFrame({"x": ["0,5", "1,234"]}))


# ---------------------------------------------------------------- dates
DAYS = [dt.datetime(1999, 12, 31), dt.datetime(2024, 1, 2, 13, 5), dt.datetime(2024, 2, 29)]
WRITTEN = {
    "ISO": "%Y-%m-%dT%H:%M",
    "German": "%d.%m.%Y %H:%M",
    "British": "%d/%m/%Y %H:%M",
    "American": "%m/%d/%Y %I:%M %p",
    "short": "%d.%m.%y %H:%M",
    "named": "%d %b %Y %H:%M",
    "American named": "%B %d, %Y %H:%M",
    "dashes": "%d-%b-%Y %H:%M:%S",
    "slashed ISO": "%Y/%m/%d %H:%M",
}


@pytest.mark.parametrize("form", WRITTEN.values(), ids=WRITTEN)
def test_a_column_of_dates_of_any_form(form):
    wanted = TableEncoder().fit(pl.DataFrame({"d": DAYS}))
    texts = pl.DataFrame({"d": [day.strftime(form) for day in DAYS]})
    encoder = TableEncoder().fit(texts)
    np.testing.assert_allclose(
        encoder.transform(texts), wanted.transform(pl.DataFrame({"d": DAYS})), atol=1e-12
    )
    assert np.isfinite(encoder.transform(texts[1:2])).all()


def test_the_day_or_the_month_first():
    assert order(["1/2/2024"] * 5000 + ["31/1/2024"]) == (DAY_FIRST, False)
    assert order(["1/2/2024"] * 5000 + ["1/31/2024"]) == (MONTH_FIRST, False)
    assert order(["1/2/2024"]) == (DAY_FIRST, True)
    assert order(["1.2.2024"]) == (DAY_FIRST, False)
    encoder = TableEncoder().fit(pl.DataFrame({"d": ["1/2/2024", "3/4/2024", "5/6/2024"]}))
    assert "'d' has dates such as '1/2/2024': the day is taken to stand first" in encoder.describe()


def test_dates_that_are_none():
    for text in (
        "31.02.2024",
        "99/99/2024",
        "2024-13-01",
        "5 Apples 2024",
        "12:30",
        "",
        "2024-1-1x",
    ):
        assert np.isnan(parse_date(text, DAY_FIRST))
    assert np.isnan(parse_date("31/01/2024", MONTH_FIRST))


# ---------------------------------------------------------------- kinds
def test_a_column_can_be_given_a_kind():
    table = pl.DataFrame(
        {
            "zip": [1010, 1020, 1010, 8010],
            "day": [20240131, 20240229, 20231224, 20240101],
            "size": ["1", "2", "huge", "4"],
            "code": ["a", "b", "a", "b"],
            "word": ["red", "blue", "red", "green"],
        }
    )
    given = {"zip": "category", "day": "date", "size": "number", "code": "ignore", "word": "text"}
    encoder = TableEncoder(kinds=given).fit(table)
    kinds = {state["name"]: state["kind"] for state in encoder.columns_}
    assert kinds == given | {"code": "dropped"}
    assert "column 'code' left out: as asked" in encoder.describe()
    assert encoder.n_coerced_ == {"size": 1}
    dates = table.with_columns(pl.col("day").cast(pl.String).str.to_date("%Y%m%d"))
    wanted = TableEncoder().fit(dates.select("day")).transform(dates)
    got = TableEncoder(kinds={"day": "date"}).fit(table.select("day")).transform(table)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"zap": "number"}, "kinds names the column 'zap'; did you mean 'zip'?"),
        ({"zip": "numbr"}, r"kinds\['zip'\] must be 'number', 'category', .*; got 'numbr'"),
        (["zip"], "kinds must map names of columns to kinds"),
    ],
)
def test_kinds_that_are_wrong(kinds, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder(kinds=kinds).fit(pl.DataFrame({"zip": [1, 2, 3]}))


def test_a_model_of_an_earlier_version_still_works():
    encoder = TableEncoder().fit(pl.DataFrame({"x": [1.0, 2.0, 4.0], "d": DAYS}))
    table = pl.DataFrame({"x": [3.0], "d": DAYS[:1]})
    wanted = encoder.transform(table)
    for state in encoder.columns_:
        for key in ("decimal", "first", "said"):
            state.pop(key, None)
    del encoder.__dict__["kinds"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(encoder.transform(table), wanted)
    assert encoder.get_params()["kinds"] is None
    assert encoder.describe()
