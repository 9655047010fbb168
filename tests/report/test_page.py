"""The page as text: whole, escaped, and with references that lead somewhere."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.assess import evaluate
from mercer.report.html import POLICY, UNPRINTABLE, VOID, Markup, Section, data, page, tag
from mercer.report.render import embedding_page, render
from mercer.report.study import Cloud, Estimate, Score
from tests.report import samples

every_page = pytest.mark.parametrize("name", samples.STUDIES)
REFERENCES = ("aria-labelledby", "aria-describedby", "aria-controls", "for")


class Reader(HTMLParser):
    """Reads a page, and remembers what does not fit."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if len(dict(attrs)) != len(attrs):
            self.wrong.append(f"{tag} has an attribute twice")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")

    def handle_data(self, data):
        self.texts.append(data)

    def values(self, attribute: str) -> list[str]:
        return [a[attribute] or "" for _, a in self.elements if attribute in a]

    def count(self, name: str) -> int:
        return sum(found == name for found, _ in self.elements)


# ---------------------------------------------------------------- the whole page
@every_page
def test_tags_are_balanced(name):
    assert Reader(samples.page_of(name)).wrong == []


def test_a_page_that_is_not_balanced_is_found():
    assert Reader("<p><b>x</p>").wrong
    assert Reader("<p>").wrong == ["p"]


@every_page
def test_ids_are_unique_and_references_lead_to_them(name):
    reader = Reader(samples.page_of(name))
    ids = reader.values("id")
    assert len(ids) == len(set(ids))
    named = [key for attribute in REFERENCES for v in reader.values(attribute) for key in v.split()]
    links = [v[1:] for v in reader.values("href") if v.startswith("#")]
    assert {*named, *links} <= set(ids)
    assert named


@every_page
def test_nothing_is_fetched(name):
    reader = Reader(samples.page_of(name))
    addresses = [*reader.values("src"), *reader.values("href"), *reader.values("action")]
    assert all(a.startswith(("#", "data:")) for a in addresses)
    assert POLICY in reader.values("content")
    assert not re.search(r"url\(|@import|https?://", samples.page_of(name))


@every_page
def test_a_page_is_small(name):
    assert len(samples.page_of(name).encode()) < 1_000_000


@every_page
def test_every_drawing_has_a_name_and_a_summary_or_is_hidden(name):
    drawings = [a for element, a in Reader(samples.page_of(name)).elements if element == "svg"]
    assert all(
        a.get("aria-hidden") == "true" or {"aria-labelledby", "aria-describedby"} <= a.keys()
        for a in drawings
    )


def test_there_are_two_scripts_and_harm_is_text():
    reader = Reader(samples.page_of("hostile"))
    assert reader.count("script") == 2  # the data of the map, and the one of the page
    assert reader.count("style") == reader.count("title") == 1
    assert not {"onmouseover", "onload"} & {key for _, a in reader.elements for key in a}
    assert any("<script>alert('x')</script>" in text for text in reader.texts)
    assert not UNPRINTABLE.search(samples.page_of("hostile"))


def test_the_same_study_is_the_same_page():
    assert render(samples.binary()) == samples.page_of("binary")


# ---------------------------------------------------------------- escaping
@given(st.text())
def test_text_is_read_as_it_was_written(text):
    reader = Reader(tag("p", text, title=text))
    expected = UNPRINTABLE.sub("\ufffd", text)
    assert "".join(reader.texts).replace("\r", "") == expected.replace("\r", "")
    assert reader.values("title") == [expected]
    assert reader.count("p") == len(reader.elements) == 1


@given(st.recursive(st.text(), lambda inner: st.dictionaries(st.text(), inner, max_size=3)))
def test_data_is_read_as_it_was_written(value):
    block = data("key", value)
    assert block.count("<") == 2
    assert json.loads(re.fullmatch(r"<script [^>]*>(.*)</script>", block, re.DOTALL)[1]) == value


def test_attributes():
    assert tag("input", checked=True, disabled=False, value=None, class_="a") == (
        '<input checked class="a">'
    )
    assert tag("p", Markup("<b>x</b>"), ["<", None]) == "<p><b>x</b>&lt;</p>"


# ---------------------------------------------------------------- what is shown, and where
def tabs(name: str) -> list[str]:
    return re.findall(r'id="tab-([a-z-]+)"', samples.page_of(name))


def test_tabs_are_the_parts_that_there_are():
    everything = ["performance", "data", "data-map", "tuning", "columns", "cases", "proof"]
    assert tabs("binary") == everything
    assert tabs("bare") == ["performance", "tuning", "proof"]  # tuning says why it is empty


def test_what_is_left_out_is_said():
    text = " ".join(Reader(samples.page_of("bare")).texts)
    assert "Left out: tuning.  No search." in text
    assert "What is not here AUC:  No scores." in text


def test_the_confusion_matrix_is_in_the_page():
    study = samples.digits()
    table = re.search(r'<table class="confusion.*?</table>', render(study), re.DOTALL)[0]
    counts = re.findall(r'class="count">([\d,.]+)<', table)
    matrix = np.array([float(c.replace(",", "")) for c in counts]).reshape(10, 10)
    np.testing.assert_array_equal(matrix, study.evaluation.confusion)


def test_every_point_of_the_map_has_its_row():
    study = samples.digits()
    text = render(study)
    told = json.loads(re.search(r'id="map-rows">(.*?)</script>', text)[1])
    drawn = re.search(r'<g class="cloud".*?</g>', text, re.DOTALL)[0].count("<path")
    assert drawn == len(told["rows"]) == len(told["titles"]) == 1000
    place = told["names"].index("row")
    order = [int(row[place]) for row in told["rows"]]
    assert sorted(order) == list(range(1000))
    wrong = study.cloud.error[order]
    assert (np.diff(wrong.astype(int)) >= 0).all()  # wrong ones are drawn last
    assert [str(v) for v in study.cloud.label[order]] == told["titles"]


def test_large_clouds_are_thinned_and_say_so():
    rng = np.random.default_rng(0)
    label = rng.integers(3, size=5000)
    large = samples.cloud(label, label == 0, ["a"])
    text = embedding_page("map", large, None, ["words"])
    assert text.count("h0") < 2100
    assert "2,000 of 5,000 rows are drawn" in text
    assert len(text.encode()) < 1_000_000


# ---------------------------------------------------------------- the page of an embedding
def test_an_embedding_needs_no_label_and_no_error():
    nothing = np.zeros(0)
    cloud = Cloud("PCA", np.random.default_rng(0).normal(size=(30, 2)), nothing, nothing, [])
    text = embedding_page("An <embedding>", cloud, samples.PROOF, ["PCA of 30 rows"], [0.6, 0.15])
    reader = Reader(text)
    assert reader.wrong == []
    assert len(reader.values("id")) == len(set(reader.values("id")))
    assert "radio" not in reader.values("type")
    assert "The first two hold 75.0\u00a0% of the variance." in text
    assert "An &lt;embedding&gt;" in text


def test_an_embedding_by_label_has_a_legend():
    label = np.repeat(["a", "b"], 10)
    text = embedding_page("e", samples.cloud(label, np.zeros(0), ["x"]), None, [])
    assert text.count('type="checkbox"') == 2
    assert 'value="error"' not in re.sub(r"<(style|script).*?</\1>", "", text, flags=re.DOTALL)


def test_a_page_of_one_section_has_no_tabs():
    assert "<nav" not in page("t", [Section("a", "A", tag("p", "x"))])


# ---------------------------------------------------------------- degenerate studies
def one_point(value: float) -> Cloud:
    points = np.full((1, 2), value)
    return Cloud("one", points, np.array(["a"]), np.array([False]), [{"row": "0"}])


@pytest.mark.parametrize("value", [0.0, 1e-150, 1e150, -5.0])
def test_one_point_is_a_map(value):
    text = embedding_page("one", one_point(value), None, [])
    assert Reader(text).wrong == []
    assert "nan" not in re.search(r'<g class="cloud".*?</g>', text, re.DOTALL)[0]


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_regression_on_any_scale(scale):
    rng = np.random.default_rng(0)
    y = rng.normal(size=30)
    found = evaluate(scale * y, scale * (y + 0.1 * rng.normal(size=30)), n_bootstrap=2)
    score = Score("RMSE", "m", Estimate(found.rmse, found.rmse / 2, found.rmse * 2), {}, False)
    text = render(replace(samples.regression(50), evaluation=found, scores=[score]))
    assert Reader(text).wrong == []
    shapes = re.findall(r'\b(?:d|x|y|x1|cx|width|height)="([^"]*)"', text)
    assert not any("nan" in shape or "inf" in shape for shape in shapes)
