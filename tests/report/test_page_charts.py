"""Charts: coordinates are the values, marks are round, and nothing breaks on odd numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer._words import NBSP, number, percent
from mercer.assess import evaluate
from mercer.plot.ranking_records import RocCurves
from mercer.report.charts.frame import Frame, bars, line, path, thinned
from mercer.report.charts.intervals import axis_around, strip
from mercer.report.charts.scale import Bands, LinearScale, Log, extent, nice, parameter_scale
from mercer.report.sections import classification, regression, tuning
from mercer.report.sections.groups import MOST_GROUPS, STEPS, by_error, by_label
from mercer.report.sections.scores import comparison, verdict
from mercer.report.sections.texts import OPEN_SENTENCES, what_was_done
from mercer.report.study import Estimate, Score, Surface
from mercer.report.wording import aligned, distinct
from tests.report import samples

numbers = st.floats(-1e200, 1e200, allow_subnormal=False)


# ---------------------------------------------------------------- scales
@given(numbers, numbers)
def test_marks_are_few_round_and_inside(a, b):
    low, high = extent([a, b])
    marks = nice(low, high)
    assert 2 <= len(marks) <= 12
    room = 1e-6 * (high - low)
    assert low - room <= marks.min() and marks.max() <= high + room  # noqa: PT018
    steps = np.diff(marks)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-3)
    lead = float(f"{np.median(steps):.3e}".split("e")[0])
    assert min(abs(lead - r) for r in (1.0, 2.0, 2.5, 5.0, 10.0)) < 0.01


@given(st.lists(numbers, min_size=1, max_size=6))
def test_a_linear_scale_keeps_order_and_holds_all(values):
    place = LinearScale.over(values).place(values)
    assert (place >= -1e-9).all()
    assert (place <= 1 + 1e-9).all()
    assert (np.diff(place[np.argsort(values, kind="stable")]) >= -1e-9).all()


@given(st.lists(st.floats(1e-12, 1e12), min_size=2, max_size=6))
def test_a_logarithmic_scale_has_even_ratios(values):
    scale = Log.over(values)
    low, middle, high = scale.place([1e-3, 1.0, 1e3])
    assert high - middle == pytest.approx(middle - low, rel=1e-6)
    assert len(scale.ticks()) >= 2
    assert all(-1e-9 <= place <= 1 + 1e-9 for place, _ in scale.ticks())


@given(st.lists(numbers, min_size=1, max_size=8, unique=True))
def test_different_marks_have_different_texts(values):
    marks = nice(*extent(values))
    assert len(set(distinct(marks))) == len(marks)


@given(st.floats(-1e300, 1e300))
def test_a_number_is_read_back_to_its_digits(value):
    text = number(value, 4).replace(",", "").replace("−", "-")
    digits = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    text = re.sub(r"^(-?)10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$", r"\g<1>1×10\2", text)
    mantissa, _, power = text.partition("×10")
    assert float(f"{mantissa}e{power.translate(digits) or 0}") == pytest.approx(value, rel=6e-4)


def test_aligned_numbers_have_the_same_decimals():
    texts = aligned([0.9, 0.8712, -0.5, np.nan])
    assert len({len(t.partition(".")[2]) for t in texts[:3]}) == 1
    assert texts[3] == "undefined"
    assert aligned([1e-9, 2e-9]) == ["10⁻⁹", "2×10⁻⁹"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((0.01, 1.0, 100.0), Log),
        ((1, 2, 3), LinearScale),
        ((0.0, 1.0, 100.0), LinearScale),
        (("rbf", "linear"), Bands),
        ((True, False), Bands),
        ((None, 1.0), Bands),
        ((7,), LinearScale),
    ],
)
def test_the_scale_of_a_parameter_follows_its_values(values, kind):
    assert isinstance(parameter_scale(values), kind)


# ---------------------------------------------------------------- coordinates
FRAME = Frame(LinearScale(0.0, 1.0), LinearScale(0.0, 1.0))


def test_a_line_goes_through_its_values():
    x, y = np.array([0.0, 0.25, 1.0]), np.array([1.0, 0.5, 0.0])
    d = re.search(r' d="([^"]*)"', line(FRAME, x, y, "model"))[1]
    drawn = np.array(re.findall(r"[\d.]+", d), dtype=float).reshape(-1, 2)
    width, height = FRAME.inner
    np.testing.assert_allclose((drawn[:, 0] - FRAME.left) / width, x, atol=1e-3)
    np.testing.assert_allclose(1 - (drawn[:, 1] - FRAME.top) / height, y, atol=1e-3)


def test_a_line_has_a_gap_where_a_number_is_missing():
    assert path([0, 1, 2, 3], [0, np.nan, 2, 3]) == "M0 0M2 2L3 3"


def test_bars_are_as_high_as_their_counts():
    frame = Frame(LinearScale(0.0, 3.0), LinearScale(0.0, 10.0))
    found = re.findall(r' height="([\d.]+)"', bars(frame, [0, 1, 2, 3], [0, 5, 10], "m", ["a"] * 3))
    np.testing.assert_allclose(
        np.array(found, dtype=float) / frame.inner[1], [0, 0.5, 1], atol=1e-3
    )


@given(st.integers(1, 500), st.integers(2, 60))
def test_thinned_keeps_the_ends(n, most):
    kept = thinned(n, most)
    assert len(kept) == min(n, most)
    assert kept[0] == 0
    assert kept[-1] == n - 1


def test_a_thinned_curve_has_the_area_of_the_whole():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=4000)
    found = evaluate(y, y, y + rng.normal(size=4000), n_bootstrap=0)
    x, height = classification.thin(found.roc, 400)
    assert len(x) <= 402
    assert np.trapezoid(height, x) == pytest.approx(found.auc, abs=2e-3)


def test_the_mean_of_equal_curves_is_the_curve():
    found, _, _ = samples.judged(["a", "b", "c"], 200)
    equal = RocCurves(list("abc"), [found.roc[0]] * 3, np.ones(3))
    grid = classification.GRID
    np.testing.assert_allclose(equal.mean(grid), found.roc[0].height(grid))


def test_an_undefined_curve_is_left_out():
    scores = np.eye(3)[[0, 1, 0, 1]] * 0.8 + 0.1 * np.ones(3) * [2, 0, 0]
    found = evaluate([0, 1, 0, 1], [0, 1, 0, 1], scores, labels=[0, 1, 2], n_bootstrap=0)
    assert np.isnan(found.auc_by_class[2])
    text = classification.roc(found)
    assert text.count("<option") == 2
    assert "nan" not in text


def test_wilson_intervals_hold_the_share_and_stay_inside():
    share, n = np.array([0.0, 0.3, 1.0]), np.array([1.0, 20.0, 400.0])
    low, high = classification._wilson(share, n)
    assert (low >= -1e-12).all()
    assert (high <= 1 + 1e-12).all()
    assert ((low <= share + 1e-12) & (share <= high + 1e-12)).all()
    # the ends are where the score test is just on the edge: (p − s)² = z² p (1 − p) / n
    np.testing.assert_allclose((low - share) ** 2, 1.96**2 * low * (1 - low) / n, atol=1e-12)
    np.testing.assert_allclose((high - share) ** 2, 1.96**2 * high * (1 - high) / n, atol=1e-12)


def test_the_bins_of_the_residuals_hold_all_of_them():
    rng = np.random.default_rng(0)
    for residual in (
        rng.normal(size=50),
        np.zeros(3),
        np.array([1e9, 1e9 + 1]),
        1e150 * np.ones(2),
    ):
        heights, _ = np.histogram(residual, regression._edges(residual))
        assert heights.sum() == len(residual)


def test_the_running_mean_of_a_constant_is_the_constant():
    x, y = regression.running_mean(np.arange(100.0), np.full(100, 3.0))
    assert (y == 3.0).all()
    assert (np.diff(x) > 0).all()


# ---------------------------------------------------------------- surfaces
def test_heat_colours_rise_with_the_score():
    scores = np.linspace(0, 1, 50).reshape(5, 10)
    colour, _, high = tuning.steps(scores)
    assert (np.diff(colour.ravel()) >= 0).all()
    assert colour.min() == 0
    assert colour.max() == tuning.STEPS - 1
    assert high == 1.0


def surface(values, scores, chosen):
    names = tuple("ab")[: len(values)]
    return Surface("accuracy", names, values, np.asarray(scores, float), chosen, "words")


SURFACES = {
    "one value": surface(((1.0,),), [0.5], (0,)),
    "one category": surface((("rbf", "linear"),), [0.5, 0.6], (1,)),
    "equal scores": surface(((1.0, 2.0), (1.0, 2.0)), np.full((2, 2), 0.5), (0, 0)),
    "scattered": samples.surface((30, 30), 0.03),
    "all missing but one": surface(((1.0, 2.0), ("x", "y")), [[np.nan, 0.5], [np.nan] * 2], (0, 1)),
    "three parameters": Surface(
        "accuracy", ("a", "b", "c"), ((1, 2),) * 3, np.arange(8.0).reshape(2, 2, 2), (1, 1, 1), "w"
    ),
}


@pytest.mark.parametrize("key", SURFACES)
def test_a_surface_of_any_shape_is_drawn(key):
    text = tuning.tuning(SURFACES[key])
    assert "nan" not in text
    tried = int(np.isfinite(SURFACES[key].scores).sum())
    assert text.count("<tr>") == 1 + min(tried, tuning.LISTED)
    assert text.count('class="ring"') == (0 if key == "three parameters" else 1)


def test_untried_cells_stay_empty():
    found = samples.surface((5, 4), 0.8)
    text = tuning.tuning(found)
    assert len(re.findall(r'<rect [^>]*class="s\d"', text)) == np.isfinite(found.scores).sum()


def test_cells_are_placed_by_their_parameters():
    found = surface(((1.0, 2.0), (1.0, 2.0, 3.0)), np.arange(6.0).reshape(2, 3), (1, 2))
    boxes = re.findall(
        r'<rect x="([\d.]+)" y="([\d.]+)"[^>]*data-tip="([^"]*)"', tuning.tuning(found)
    )
    places = {tip: (float(x), float(y)) for x, y, tip in boxes}
    best, left, below = (
        next(p for tip, p in places.items() if f"a = {a}" in tip and f"b = {b}" in tip)
        for a, b in ((2, 3), (1, 3), (2, 2))
    )
    assert left[0] < best[0]
    assert left[1] == best[1]
    assert below[1] > best[1]
    assert below[0] == best[0]


# ---------------------------------------------------------------- groups of the map
def test_numbers_as_classes_are_in_order():
    assert by_label(np.array([10, 9, 2])).names == ("2", "9", "10")


def test_many_classes_become_a_few_and_the_rest():
    label = np.repeat(np.arange(30), np.arange(1, 31))
    groups = by_label(label)
    assert len(groups.names) == MOST_GROUPS
    assert groups.sizes.sum() == len(label)
    assert groups.names[-1] == "11 other classes"
    assert set(groups.names[:-1]) == {str(k) for k in range(11, 30)}


def test_quantities_and_residuals_are_steps():
    values = np.linspace(-3, 3, 301)
    for groups in (by_label(values), by_error(values)):
        assert (np.diff(groups.member) >= 0).all()
        assert set(groups.member) == set(range(STEPS))
    assert by_error(values).member[150] == STEPS // 2  # 0 has the colour of the middle


def test_no_label_and_no_error_are_no_groups():
    assert by_label(np.zeros(0)) is None
    assert by_error(np.zeros(0)) is None
    assert by_error(np.full(3, np.nan)) is None


# ---------------------------------------------------------------- what is claimed of scores
def scored(model, rival, higher=True):
    rivals, unit = {"linear model": Estimate(*rival)}, "share" if higher else ""
    return Score("accuracy", "share", Estimate(*model), rivals, higher, unit)


def test_an_order_is_claimed_only_where_intervals_are_apart():
    assert comparison(scored((0.9, 0.88, 0.92), (0.8, 0.78, 0.82))) == (
        "better than the linear model by 10.0 points"
    )
    assert comparison(scored((0.7, 0.68, 0.72), (0.8, 0.78, 0.82))).startswith("worse than")
    assert comparison(scored((0.9, 0.84, 0.92), (0.83, 0.8, 0.86))) == (
        "not distinguishable from the linear model"
    )
    assert comparison(scored((2.0, 1.9, 2.1), (3.0, 2.9, 3.1), False)) == (
        "better than the linear model by 1"
    )
    assert comparison(Score("a", "m", Estimate(1, 1, 1), {})) == ""


def test_the_strongest_rival_is_named():
    weak, strong = Estimate(0.2, 0.1, 0.3), Estimate(0.8, 0.79, 0.81)
    rivals = {"always 'no'": weak, "undefined": Estimate(np.nan, np.nan, np.nan), "forest": strong}
    told = comparison(Score("accuracy", "share", Estimate(0.9, 0.89, 0.91), rivals, unit="share"))
    assert told == "better than forest by 10.0 points"


def test_who_is_as_good_as_the_strongest_may_be_no_better_than_a_rule():
    near, rule = Estimate(0.53, 0.4, 0.65), Estimate(0.52, 0.52, 0.52)
    rivals = {"always 'q'": rule, "linear model": near}
    useless = Score("accuracy", "share", Estimate(0.5, 0.4, 0.6), rivals, unit="share")
    told = "not distinguishable from the linear model"
    assert comparison(useless) == f"{told}, and no better than always 'q'"
    useful = replace(useless, leads={"always 'q'": Estimate(0.05, 0.01, 0.09)})
    assert comparison(useful) == told
    alone = replace(useless, rivals={"always 'q'": rule})
    assert comparison(alone) == "not distinguishable from always 'q'"


def test_the_verdict_says_value_rows_and_interval():
    told = verdict(samples.binary())
    assert told.startswith(
        "Accuracy 92.5\u00a0% on 600 rows (95\u00a0% interval 90.5\u00a0% to 94.3"
    )
    assert "): better than the linear model by 6.4 points, but not by every score: " in told
    assert told.endswith("by F1 worse than the linear model by 4.0 points.")


def test_a_rival_far_away_stands_at_the_edge_as_an_arrow():
    model, near, far = (
        Estimate(0.9, 0.89, 0.91),
        Estimate(0.88, 0.87, 0.89),
        Estimate(0.1, 0.1, 0.1),
    )
    axis = axis_around(model, [near, far])
    assert axis.low < near.low
    assert axis.low > far.high
    assert "◂" in strip(axis, far, "rival")
    assert "◂" not in strip(axis, near, "rival")
    assert "circle" in strip(axis, near, "rival")
    alone = axis_around(model, [far])
    assert alone.low < far.value  # with nobody nearer the axis reaches it


def test_the_lead_on_the_same_rows_decides_where_it_is_known():
    """Intervals that overlap say little: the rows that are hard are hard for both."""
    close = scored((0.9, 0.84, 0.92), (0.87, 0.84, 0.9))
    sure = replace(close, leads={"linear model": Estimate(0.03, 0.01, 0.05)})
    assert comparison(sure) == "better than the linear model by 3.0 points"
    unsure = replace(close, leads={"linear model": Estimate(0.03, -0.01, 0.05)})
    assert comparison(unsure).startswith("not distinguishable")


def test_no_order_is_claimed_of_figures_that_read_the_same():
    close = scored((0.90001, 0.84, 0.92), (0.9, 0.84, 0.92))
    sure = replace(close, leads={"linear model": Estimate(1e-5, 1e-6, 2e-5)})
    assert comparison(sure) == "not distinguishable from the linear model"


def test_scores_at_one_point_have_an_axis_to_the_next():
    perfect = Estimate(1.0, 1.0, 1.0)
    axis = axis_around(perfect, [perfect, Estimate(0.5, 0.5, 0.5)])
    assert axis.low < 0.5
    assert axis.high < 1.1


@given(share=st.floats(0.0, 1.0), digits=st.integers(0, 2))
def test_only_all_and_nothing_are_written_as_such(share, digits):
    told = percent(share, digits).replace(NBSP, " ")
    assert (told == "100 %") == (share == 1.0)
    assert (told == "0 %") == (share == 0.0)
    number = float(told.strip("<>% "))
    assert abs(number - 100 * share) <= 10.0**-digits * 1.0001


def test_shares_at_one_point_have_an_axis_of_shares():
    nothing = Estimate(0.0, 0.0, 0.0)
    axis = axis_around(nothing, [nothing, nothing], share=True)
    assert -0.2 < axis.low <= 0.0
    assert 1.0 <= axis.high < 1.2


def test_few_sentences_are_shown_and_the_others_folded():
    told = [f"sentence {i}" for i in range(9)]
    text = what_was_done({"The columns": told, "The test": told[:4]}, {})
    shown, folded = text.split("<summary>6 more</summary>")
    assert shown.count("<li>") == OPEN_SENTENCES
    assert folded.count("<li>") == 6 + 4  # a fold for a single sentence would save nothing
    assert what_was_done({}, {}) is None


def test_shares_are_rounded_in_sentences_as_in_tables():
    shares = [right / 80.0 for right in range(1, 80)]
    told = [percent(share).strip(f"{NBSP}%") for share in shares]
    assert told == [f"{100 * float(f'{share:.3f}'):.1f}" for share in shares]
