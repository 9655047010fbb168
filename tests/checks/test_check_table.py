"""Every check on a table where it must speak, and on one where it must not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

pl = pytest.importorskip("polars")

import mercer  # noqa: E402
from mercer.checks import Finding, open_leaks  # noqa: E402
from mercer.checks.near import share_with_near_copies  # noqa: E402
from mercer.datasets import load_penguins  # noqa: E402
from tests.checks.tables import amounts, patients, plain, walk  # noqa: E402


def found(X, y, kind: str, **named) -> list[Finding]:
    return [f for f in mercer.check_table(X, y, **named) if f.kind == kind]


def only(X, y, kind: str, **named) -> Finding:
    findings = found(X, y, kind, **named)
    assert len(findings) == 1, findings
    return findings[0]


# ---------------------------------------------------------------- nothing is odd
@pytest.mark.parametrize("table", [plain(), amounts(), plain(60), amounts(60)])
def test_an_ordinary_table_is_passed_in_silence(table):
    assert mercer.check_table(*table) == []


def test_columns_without_a_value_are_passed_without_a_warning():
    """Of NumPy, say, about the mean of nothing: warnings are errors here."""
    X, y = plain()
    for empty in (pl.lit(None, pl.String), pl.lit(None, pl.Float64), pl.lit(None, pl.Date)):
        kinds = [f.kind for f in mercer.check_table(X.with_columns(empty=empty), y)]
        assert kinds == ["constant"]


def test_shipped_data_have_no_leak():
    from sklearn import datasets

    birds = load_penguins()
    others = (datasets.load_iris, datasets.load_wine, datasets.load_breast_cancer)
    for X, y in [(birds.X, birds.y), *(load(return_X_y=True) for load in others)]:
        assert [f for f in mercer.check_table(X, y) if f.severity != "note"] == []


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(30, 120), st.integers(2, 5))
def test_noise_is_no_leak(seed, n, k):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 4)), rng.integers(k, size=n)
    assert open_leaks(mercer.check_table(X, y)) == []


# ---------------------------------------------------------------- nearly repeated rows
@pytest.mark.parametrize(("n", "d", "times"), [(60, 3, 10), (200, 5, 2), (150, 20, 3)])
def test_rows_with_a_little_noise_are_a_leak(n, d, times):
    rng = np.random.default_rng(n)
    X = np.tile(rng.normal(size=(n, d)), (times, 1))
    X += 1e-3 * rng.normal(size=X.shape)
    y = np.tile(rng.integers(2, size=n), times)
    finding = only(X, y, "near copies")
    assert finding.severity == "leak"
    assert f"in all {d} columns" in finding.sentence
    with_ids = pl.DataFrame(X).with_columns(id=np.random.default_rng(1).permutation(len(X)))
    assert only(with_ids, y, "near copies").sentence == finding.sentence


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["normal", "skewed", "walk", "lumps", "rounded", "half repeated"])
def test_ordinary_rows_are_no_near_copies(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 4))
    X = {
        "normal": X,
        "skewed": np.exp(3.0 * X),
        "walk": np.cumsum(X, axis=0),
        "lumps": X + 50.0 * rng.integers(3, size=(300, 1)),
        "rounded": X.round(1),
        "half repeated": np.where(np.arange(4) < 2, np.tile(X[:100], (3, 1)), X),
    }[kind]
    assert found(X, rng.integers(2, size=300), "near copies") == []


def test_rows_that_are_mostly_equal_have_a_distance():
    """Squares that cancel may leave less than 0 of it, whose root is no number."""
    for seed in range(40):  # which rows do so is the processor's
        Z = np.tile(np.random.default_rng(seed).normal(size=5), (200, 1))
        assert share_with_near_copies(Z, seed) == 0.0


# ---------------------------------------------------------------- repeated rows
def test_copies_of_rows_are_a_leak_with_figures():
    X, y = plain(80)
    finding = only(pl.concat([X] * 10), np.tile(y, 10), "repeated rows")
    assert finding.severity == "leak"
    assert "100 % of the 800 rows".replace(" ", "\u00a0", 1) in finding.sentence


def test_a_few_copies_are_not_worth_a_word():
    X, y = plain(200)
    assert found(pl.concat([X, X[:4]]), np.append(y, y[:4]), "repeated rows") == []


def test_a_number_of_the_row_does_not_hide_copies():
    X, y = plain(80)
    tall = pl.concat([X] * 3).with_row_index("id")
    assert only(tall, np.tile(y, 3), "repeated rows").severity == "leak"


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(2, 4), st.integers(200, 1000))
def test_rows_of_few_discrete_columns_are_equal_by_chance(seed, d, levels, n):
    rng = np.random.default_rng(seed)
    X = rng.integers(levels, size=(n, d)).astype(float)
    X = X[:, np.ptp(X, axis=0) > 0]
    assert found(X, rng.integers(2, size=n), "repeated rows") == []


def test_correlated_levels_are_equal_by_chance_too():
    rng = np.random.default_rng(0)
    hidden = rng.integers(3, size=500)
    X = np.column_stack([(hidden + rng.integers(2, size=500)) % 3 for _ in range(6)])
    one_hot = np.hstack([np.equal(X, level) for level in range(3)]).astype(float)
    for table in (X, one_hot, sp.csr_array(one_hot)):
        assert found(table, rng.integers(2, size=500), "repeated rows") == []


def test_copies_of_sparse_rows():
    X = sp.random_array((100, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
    y = np.arange(100) % 2
    assert found(X, y, "repeated rows") == []
    assert only(sp.vstack([X, X]), np.tile(y, 2), "repeated rows").severity == "leak"


def test_copies_of_letters():
    words = np.random.default_rng(0).choice(["kernel", "loss", "gram", "row", "dual"], (60, 9))
    letters = pl.DataFrame({"letter": [" ".join(line) for line in words]})
    y = np.arange(60) % 2
    assert found(letters, y, "repeated rows") == []
    assert only(pl.concat([letters] * 2), np.tile(y, 2), "repeated rows").severity == "leak"


# ---------------------------------------------------------------- gives the target away
def test_a_column_that_knows_the_class():
    X, y = plain()
    for told in (y.astype(float), -3.0 * y + 0.01 * X["x"], np.where(y, "ja", "nein")):
        finding = only(X.with_columns(later=told), y, "gives the target away")
        assert finding.severity == "leak"
        assert finding.columns == ("later",)
        assert "--ignore 'later'" in finding.advice


def test_a_column_that_is_missing_for_one_class():
    X, y = plain()
    died = pl.Series([None if c else 1.5 + i for i, c in enumerate(y)])
    assert only(X.with_columns(died=died), y, "gives the target away").columns == ("died",)


def test_a_good_column_is_no_giveaway():
    X, y = plain()
    noisy = np.where(np.arange(300) % 20 == 0, 1 - y, y)
    assert found(X.with_columns(good=noisy), y, "gives the target away") == []


def test_the_class_of_a_rare_kind():
    rng = np.random.default_rng(0)
    y = (np.arange(3000) % 100 == 0).astype(int)
    X = pl.DataFrame({"x": rng.normal(size=3000), "sum": rng.normal(size=3000) + 20 * y})
    assert only(X, y, "gives the target away").columns == ("sum",)


@pytest.mark.parametrize("told", [lambda y: 1.8 * y + 32, np.exp, lambda y: (y - 1) ** 3])
def test_a_column_that_knows_the_number(told):
    X, y = amounts()
    assert only(X.with_columns(other=told(y)), y, "gives the target away").columns == ("other",)


def test_a_column_of_which_the_number_is_a_curve():
    angle = np.random.default_rng(0).uniform(0, 6, 2000)
    X = pl.DataFrame({"angle": angle, "noise": np.random.default_rng(1).normal(size=2000)})
    assert only(X, np.sin(angle), "gives the target away").columns == ("angle",)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [20, 60])
def test_copies_of_rows_are_no_column_that_knows_the_target(n, seed):
    """A value that is there twice tells its target: of the same row."""
    rng = np.random.default_rng(seed)
    X = pl.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.normal(size=n)})
    X = X.with_columns(word=pl.Series([f"w{i % 30}" for i in rng.permutation(n)]))
    for y in (rng.normal(size=n), rng.integers(2, size=n)):
        assert found(pl.concat([X] * 10), np.tile(y, 10), "gives the target away") == []
        assert len(found(pl.concat([X] * 10), np.tile(y, 10), "repeated rows")) == 1
    known = X.with_columns(later=pl.Series(y * 2.5))
    given_away = found(pl.concat([known] * 10), np.tile(y, 10), "gives the target away")
    assert [f.columns for f in given_away] == ([("later",)] if n >= 30 else [])


def test_a_table_of_one_column_is_about_that_column():
    x = np.linspace(0, 6, 200)[:, None]
    assert mercer.check_table(x[np.random.default_rng(0).permutation(200)], x[:, 0] > 3) == []


# ---------------------------------------------------------------- order
def test_a_row_number_is_left_out_and_said():
    X, y = plain()
    finding = only(X.with_columns(customer_id=7 * np.arange(300) % 311), y, "row number")
    assert (finding.severity, finding.columns) == ("note", ("customer_id",))
    assert finding.mended


def test_a_count_of_rows_under_another_name():
    X, y = plain()
    numbered = X.with_columns(n=np.arange(1, 301))
    assert only(numbered, y, "row number").severity == "warning"
    order = np.argsort(y, kind="stable")
    finding = only(X[order].with_columns(n=np.arange(1, 301)), y[order], "row number")
    assert finding.severity == "leak"
    assert "sorted by 'target'" in finding.sentence


def test_time_order():
    X, y = walk()
    finding = only(X, y, "time order", target="price")
    assert finding.columns == ("date",)
    assert "--time 'date'" in finding.advice
    shuffled = np.random.default_rng(1).permutation(y)
    assert found(X, shuffled, "time order") == []


def test_time_order_of_classes():
    X, y = walk()
    assert only(X, np.where(y > np.median(y), "up", "down"), "time order").columns == ("date",)


def test_a_recording_without_a_column_of_time():
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(size=(600, 3)), axis=0)
    y = (np.sin(np.arange(600) / 12) > 0).astype(int)
    assert only(X, y, "time order").severity == "note"
    order = rng.permutation(600)
    assert found(X[order], y[order], "time order") == []


def test_groups():
    X, y = patients()
    finding = only(X, y, "group")
    assert finding.columns == ("patient",)
    assert "60 values with about 5 rows each" in finding.sentence
    assert "--group 'patient'" in finding.advice


def test_groups_under_any_name():
    X, y = patients()
    more = X.with_columns(eyes=pl.col("height") * 2 + 1).rename({"patient": "code"})
    assert only(more, y, "group").columns == ("code",)


def test_levels_that_are_no_groups():
    X, y = plain(600)
    shop = np.random.default_rng(0).integers(40, size=600)
    assert found(X.with_columns(patient=shop, kind=pl.Series(shop).cast(str)), y, "group") == []


# ---------------------------------------------------------------- values
@pytest.mark.parametrize("sign", [-999.0, 9999.0, -99.0, -1.0])
def test_signs_for_missing_values(sign):
    X, y = plain()
    weight = X["weight"].to_numpy() + 40
    weight[::9] = sign
    finding = only(X.with_columns(weight=weight), y, "sentinel")
    assert finding.columns == ("weight",)
    assert "34 times" in finding.sentence


@pytest.mark.parametrize("values", [[-1.0, 1.0], [-1.0, 0.0, 1.0], [0.0, 9.0], [99.0, 98.0, 97.5]])
def test_numbers_that_are_no_signs(values):
    X, y = plain()
    assert found(X.with_columns(v=np.resize(values, 300)), y, "sentinel") == []


def test_constant_and_duplicate_columns():
    X, y = plain()
    odd = X.with_columns(same=pl.lit(3), again=pl.col("x"), town=pl.col("city") + "!")
    assert only(odd, y, "constant").columns == ("same",)
    assert only(odd, y, "duplicate column").columns == ("again", "town")


# ---------------------------------------------------------------- the call
def test_large_tables_are_sampled_and_it_is_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25_000, 2))
    finding = only(X, X[:, 0] + rng.normal(size=25_000), "sample")
    assert "20,000 of 25,000 rows" in finding.sentence
    wide = rng.normal(size=(50, 400))
    assert "300 of 400 columns" in only(wide, rng.normal(size=50), "sample").sentence


def test_the_worst_comes_first_and_the_same_table_gives_the_same_findings():
    X, y = plain()
    odd = X.with_columns(same=pl.lit(1), later=y, n=np.arange(300))
    findings = mercer.check_table(odd, y)
    assert [f.severity for f in findings] == ["leak", "warning", "note"]
    assert findings == mercer.check_table(odd, y)


def test_frames_of_pandas_say_the_same():
    pytest.importorskip("pandas")
    X, y = patients()
    assert mercer.check_table(X.to_pandas(), y) == mercer.check_table(X, y)


@pytest.mark.parametrize(
    ("named", "y", "message"),
    [({"task": "sort"}, [0, 1], "task must be"), ({}, [0, 1, 1], "one target for each row")],
)
def test_wrong_calls(named, y, message):
    with pytest.raises(ValueError, match=message):
        mercer.check_table(np.eye(2), y, **named)
