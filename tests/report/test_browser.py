"""The page in a real browser: what a person can see, press and hear of it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.report import samples

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
PROGRAM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")

SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TABS = ["performance", "data", "data-map", "tuning", "columns", "cases", "proof"]
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        program = playwright.chromium.launch(executable_path=PROGRAM, args=SWITCHES)
        yield program
        program.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def context(browser):
    """Return a window for settings; windows are kept, since opening one takes a while."""
    windows = {}

    def made(**settings):
        key = repr(sorted(settings.items()))
        if key not in windows:
            windows[key] = browser.new_context(**settings)
        return windows[key]

    yield made
    for window in windows.values():
        window.close()


@pytest.fixture
def show(context, folder):
    """Open the page of a study; nothing may be said in the console, nothing fetched."""
    pages, complaints = [], []

    def opened(name="binary", width=1440, fragment="", **settings):
        file = folder / f"{name}.html"
        if not file.exists():
            file.write_text(samples.page_of(name), encoding="utf-8")
        page = context(viewport={"width": width, "height": 900}, **settings).new_page()
        pages.append(page)
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url))
        page.goto(file.as_uri() + fragment)
        complaints.remove(file.as_uri())
        return page

    yield opened
    for page in pages:
        page.close()
    assert complaints == []


def visible_panels(page) -> list[str]:
    return [p.get_attribute("id") for p in page.locator(".panel").all() if p.is_visible()]


# ---------------------------------------------------------------- it shows
LARGE = ("digits", "thirty")  # of many classes, which take a browser longest
studies = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long) if name in LARGE else name
        for name in samples.STUDIES
    ],
)


@studies
def test_every_page_opens_without_a_complaint(show, name):
    page = show(name)
    assert page.locator("h1").is_visible()
    assert page.locator("[role=tab]").count() >= 3


WIDE = """(width) => [...document.querySelectorAll('[role=tab]')].flatMap((tab) => {
  tab.click();
  const over = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const boxes = [...document.querySelectorAll('.card, nav, .heading, .done')].map((card) =>
    [card.textContent.slice(0, 30), card.getBoundingClientRect()]);
  const outside = boxes.filter(([, box]) => box.left < 0 || box.right > width);
  return [...(over > 0 ? [`${tab.textContent} runs over by ${over}`] : []), ...outside];
})"""


@studies
def test_nothing_runs_over_the_side(show, name):
    page = show(name)
    for width in (390, 768, 1024, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(WIDE, width) == []


def test_what_runs_over_the_side_would_be_found(show):
    page = show()
    page.add_style_tag(content="h1 { width: 2000px }")
    assert page.evaluate(WIDE, 1440)


@pytest.mark.parametrize("name", ["binary", "three", "six"])
def test_a_matrix_of_few_classes_fits_its_card(show, name):
    page = show(name)
    for width in (390, 1024, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        box = page.locator("#confusion .scroller")
        assert box.evaluate("(box) => box.scrollWidth - box.clientWidth") <= 0


def test_the_scores_come_before_what_was_done(show):
    for width, opened in ((1440, True), (390, False)):
        page = show(width=width)
        scores, done = page.locator(".scores").bounding_box(), page.locator(".done").bounding_box()
        assert scores["y"] + scores["height"] <= done["y"]
        assert page.locator(".done > div").is_visible() == opened
    page.locator(".done > summary").click()
    assert page.locator(".done > div").is_visible()


def test_folded_sentences_can_be_read(show):
    page = show()
    last = page.get_by_text("8 missing values in 'plan'")
    assert not last.is_visible()
    page.locator(".done summary", has_text="more").click()
    assert last.is_visible()


def test_wide_screens_are_used(show):
    page = show(width=1440)
    boxes = [card.bounding_box() for card in page.locator("#performance .card").all()]
    assert len({round(b["x"]) for b in boxes}) >= 3
    assert max(b["x"] + b["width"] for b in boxes) > 1300


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name", ["binary", *(pytest.param(n, marks=pytest.mark.long) for n in ("digits", "regression"))]
)
def test_text_has_contrast(show, name, scheme):
    found = show(name, color_scheme=scheme).evaluate(CONTRAST, 4.5)
    assert all(tab["checked"] > 30 for tab in found)
    assert [tab["low"] for tab in found if tab["low"]] == []


def test_the_sample_has_every_colour_of_a_map():
    assert set(re.findall(r'class="mid t(\d)"', samples.page_of("binary"))) == set("012345678")


def test_low_contrast_would_be_found(show):
    page = show()
    page.add_style_tag(content="h1 { color: #ccc }")
    assert all(len(tab["low"]) == 1 for tab in page.evaluate(CONTRAST, 4.5))


COLOURS = "() => document.querySelectorAll('.legend label > span:first-of-type').forEach("
COLOURS += "(span, i) => { span.style.color = `var(--c${i})` })"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_class_colours_stand_out_from_the_card(show, scheme):
    page = show("digits", color_scheme=scheme)
    page.evaluate(COLOURS)
    assert [tab["low"] for tab in page.evaluate(CONTRAST, 3.0) if tab["low"]] == []


@pytest.mark.parametrize("width", [390, 768, 1440])
def test_bars_to_both_sides_begin_at_one_line(show, width):
    page = show("binary", width, "#columns")
    places = page.locator("#columns .strip.bar .zero").evaluate_all(
        "all => all.map(line => Math.round(line.getBoundingClientRect().left))"
    )
    assert len(places) == len(samples.COLUMNS)
    assert page.locator("#columns .strip.bar.negative").count() == 1
    assert len(set(places)) == 1


# ---------------------------------------------------------------- tabs
def test_tabs_follow_the_pattern_of_the_standard(show):
    page = show()
    tabs = page.locator("[role=tablist] > [role=tab]")
    assert tabs.count() == len(TABS)
    for tab in tabs.all():
        panel = page.locator(f"#{tab.get_attribute('aria-controls')}")
        assert panel.get_attribute("role") == "tabpanel"
        assert panel.get_attribute("aria-labelledby") == tab.get_attribute("id")
    assert [t.get_attribute("tabindex") for t in tabs.all()] == ["0"] + ["-1"] * (len(TABS) - 1)


def test_a_click_opens_a_tab_and_the_way_back_is_kept(show):
    page = show()
    assert visible_panels(page) == ["performance"]
    page.click("#tab-tuning")
    assert visible_panels(page) == ["tuning"]
    assert page.url.endswith("#tuning")
    page.go_back()
    assert visible_panels(page) == ["performance"]


def test_keys_move_between_tabs(show):
    page = show()
    page.focus("#tab-performance")
    steps = {"ArrowRight": "data", "End": "proof", "Home": "performance", "ArrowLeft": "proof"}
    for key, expected in steps.items():
        page.keyboard.press(key)
        assert visible_panels(page) == [expected]
        assert page.evaluate("document.activeElement.id") == f"tab-{expected}"
    assert page.locator("#tab-proof").get_attribute("aria-selected") == "true"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


@pytest.mark.parametrize(
    ("fragment", "panel"),
    [("#cases", "cases"), ("#learning", "performance"), ("#nowhere", "performance")],
)
def test_a_hash_opens_its_tab(show, fragment, panel):
    page = show(fragment=fragment)
    assert visible_panels(page) == [panel]


# ---------------------------------------------------------------- hover
def test_a_chart_says_its_values_at_the_pointer(show):
    page = show()
    page.hover("#confusion td.wrong >> nth=0")
    counts = samples.binary().evaluation.confusion
    assert page.locator("#tip").is_visible()
    assert "no taken for yes" in page.inner_text("#tip")
    assert f"{counts[0, 1]:.0f} rows" in page.inner_text("#tip")
    page.mouse.move(2, 2)
    assert page.locator("#tip").is_hidden()


def place_of(page, index: int) -> tuple[float, float]:
    """Return where on the screen a point of the map is."""
    box = page.locator(".cloud path").nth(index).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def lonely_point(page) -> int:
    """Return a point without near neighbours."""
    d = page.locator(".cloud path").evaluate_all("all => all.map(p => p.getAttribute('d'))")
    points = np.array([re.findall(r"[\d.]+", text)[:2] for text in d], dtype=float)
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(gaps, np.inf)
    return int(gaps.min(axis=1).argmax())


def row_of(page, index: int) -> dict[str, str]:
    told = json.loads(page.locator("#map-rows").text_content())
    return dict(zip(told["names"], told["rows"][index], strict=True))


def test_a_point_shows_its_row(show):
    page = show(fragment="#data-map")
    index = lonely_point(page)
    page.locator(".plane").scroll_into_view_if_needed()
    page.mouse.move(*place_of(page, index))
    told = page.inner_text("#tip")
    assert all(value in told for value in row_of(page, index).values())
    assert page.locator(".here").get_attribute("d") == page.locator(".cloud path").nth(
        index
    ).get_attribute("d")
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


def test_a_tap_shows_a_row(show):
    page = show(width=390, fragment="#data-map", has_touch=True, is_mobile=True)
    index = lonely_point(page)
    page.locator(".plane").scroll_into_view_if_needed()
    page.touchscreen.tap(*place_of(page, index))
    assert f"{row_of(page, index)['row']}" in page.inner_text("#tip")
    box = page.locator("#tip").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


def test_keys_walk_over_the_map(show):
    page = show(fragment="#data-map")
    page.focus(".legend li:last-child input")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "plane"
    seen = {page.inner_text("#tip")}
    x = [float(page.locator(".here").get_attribute("d")[1:].split()[0])]
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
        seen.add(page.inner_text("#tip"))
        x.append(float(page.locator(".here").get_attribute("d")[1:].split()[0]))
    assert len(seen) == 5
    assert x == sorted(x, reverse=True)
    assert page.locator("#said[role=status]").text_content() == page.inner_text("#tip")


# ---------------------------------------------------------------- the map
def shown(page) -> int:
    """Return how many points are drawn."""
    return len([c for c in colours(page) if c != "hidden"])


def test_the_legend_hides_a_class(show):
    page = show("digits", fragment="#data-map")
    page.uncheck(".legend input[data-group='3']")
    assert shown(page) == (samples.digits().cloud.label != 3).sum()
    page.check(".legend input[data-group='3']")
    assert shown(page) == 1000


def colours(page) -> list[str]:
    """Return the colour of each point."""
    script = "(all) => all.map((p) => getComputedStyle(p))"
    script += ".map((s) => s.display == 'none' ? 'hidden' : s.stroke)"
    return page.locator(".cloud path").evaluate_all(script)


def test_the_switch_changes_the_colours(show):
    page = show(fragment="#data-map")
    by_label = colours(page)
    assert len(set(by_label)) == 2
    page.click("text=Colour by error")
    by_error = colours(page)
    wrong = int(samples.binary().cloud.error.sum())
    assert sorted(by_error.count(c) for c in set(by_error)) == sorted([wrong, 600 - wrong])
    assert page.locator(".by-error").is_visible()
    assert page.locator(".by-label").is_hidden()


def test_residuals_have_a_scale_of_colours(show):
    page = show("regression", fragment="#data-map")
    assert len(set(colours(page))) == 9
    page.click("text=Colour by error")
    assert len(set(colours(page))) == 9


# ---------------------------------------------------------------- other controls
def test_counts_become_shares(show):
    page = show("digits")
    cell = page.locator("#confusion td.right >> nth=0")
    assert "%" not in cell.inner_text()
    page.click("text=Row shares")
    assert "%" in cell.inner_text()


def test_a_curve_can_be_picked(show):
    page = show("digits")
    page.select_option("#roc-pick", "4")
    assert page.locator("#roc .pick.line").count() == 1
    assert "k4" in page.locator("#roc .pick.line").get_attribute("class")


def test_the_command_can_be_copied(show):
    page = show(fragment="#proof", permissions=["clipboard-read", "clipboard-write"])
    page.click("text=Copy")
    page.wait_for_selector("text=Copied")
    assert page.evaluate("navigator.clipboard.readText()") == samples.COMMAND


def test_the_button_turns_the_light_off_and_on(show):
    page = show(color_scheme="light")
    face = "getComputedStyle(document.querySelector('.card')).backgroundColor"
    light = page.evaluate(face)
    page.click("#theme")
    dark = page.evaluate(face)
    assert dark != light
    page.click("#theme")
    assert page.evaluate(face) == light
    assert page.evaluate("localStorage.length + document.cookie.length") == 0


def test_dark_is_taken_from_the_system(show):
    page = show(color_scheme="dark")
    assert page.inner_text("#theme") == "Light"
    ink = page.evaluate("getComputedStyle(document.querySelector('h1')).color")
    assert min(map(int, re.findall(r"\d+", ink)[:3])) > 200


# ---------------------------------------------------------------- without a script, on paper
def test_without_a_script_everything_is_there(show):
    page = show(java_script_enabled=False)
    assert visible_panels(page) == TABS
    assert page.locator("#roc-pick, [data-copy], #theme, .hint").count() > 0
    assert not any(p.is_visible() for p in page.locator("#theme, [data-copy], .hint").all())
    page.click("text=Colour by error")  # the style sheet does that alone
    assert page.locator(".by-error").is_visible()


def test_on_paper_all_sections_are_printed_in_light(show):
    page = show(color_scheme="dark", fragment="#cases")
    page.emulate_media(media="print", color_scheme="dark")
    assert visible_panels(page) == TABS
    assert page.locator("nav").is_hidden()
    assert page.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor") == (
        "rgb(255, 255, 255)"
    )
    assert page.pdf().startswith(b"%PDF")


def test_no_heading_stands_alone_at_the_end_of_a_page(show):
    page = show()
    page.emulate_media(media="print")
    kept = "all => all.map(one => getComputedStyle(one).breakAfter)"
    assert set(page.locator(".panel h2, .panel h3, figcaption").evaluate_all(kept)) == {"avoid"}


@pytest.mark.parametrize(
    "name", [*(pytest.param(n, marks=pytest.mark.long) for n in LARGE), "hostile"]
)
def test_nothing_is_wider_than_the_paper(show, name):
    page = show(name, 794)  # A4 at 96 dots an inch
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 794


# ---------------------------------------------------------------- what a screen reader gets
def test_pictures_have_names_and_summaries(show):
    page = show()
    for drawing in page.locator("svg[role=img]").all():
        for attribute in ("aria-labelledby", "aria-describedby"):
            assert page.locator(f"#{drawing.get_attribute(attribute)}").text_content().strip()


def test_headings_do_not_skip_a_level(show):
    page = show()
    levels = page.locator("h1, h2, h3").evaluate_all("all => all.map(h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert max(np.diff(levels)) <= 1
