"""The page of a study, and that of an embedding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from mercer._words import count, number, percent, sentence
from mercer.checks import open_leaks
from mercer.report.charts.frame import Frame, band, dots, drawing, figure, legend, line
from mercer.report.charts.scale import Bands, LinearScale, Log
from mercer.report.html import Markup, Section, join, page, tag
from mercer.report.sections import classification, regression
from mercer.report.sections.data import data_tab
from mercer.report.sections.data_map import data_map
from mercer.report.sections.dependence import dependence
from mercer.report.sections.objects import object_cards
from mercer.report.sections.scores import cards, columns, verdict
from mercer.report.sections.texts import alert, case_tables, proof_panel, what_was_done
from mercer.report.sections.tuning import tuning
from mercer.report.study import Cloud, Curve, Proof, Study

TABS = {
    "performance": ("Performance", "learning curve"),
    "data": ("Data", "data"),
    "data-map": ("Data map", "map"),  # the map itself has the id "map"
    "tuning": ("Tuning", "tuning"),
    "columns": ("Columns", "columns"),
    "cases": ("Cases", "cases"),
}
"""Tabs by their hash: the title, and the name under which a study says why it is left out."""

SEEN = {"second": "on rows it learned from", "model": "on rows it did not see"}
"""The lines of the learning curve by the class of the style sheet."""


def render(study: Study) -> str:
    """Return the page of a study: one file that needs no network.

    Parameters
    ----------
    study : Study
        What is shown; parts that are None are left out, or replaced by the reason.

    Returns
    -------
    str
        A whole HTML page.

    See Also
    --------
    mercer.report.write_report : Examine a model and write its page.
    """
    bodies = {
        "performance": _performance(study),
        "data": data_tab(study.data, object_cards(study.objects)),
        "data-map": data_map(study.cloud),
        "tuning": tuning(study.surface),
        "columns": _columns(study),
        "cases": case_tables(study.cases),
    }
    sections = [s for key, body in bodies.items() if (s := _section(key, body, study.left_out))]
    sections.append(_proof_section(study.proof, study.environment, study.command, study.repeat))
    return page(
        study.title,
        sections,
        subtitle=verdict(study),
        date=_date(study.environment),
        eyebrow="mercer report",
        alert=alert(study.findings),
        lead=join(
            cards(study.scores, praise=not open_leaks(study.findings)) if study.scores else None,
            what_was_done(_with_checks(study), _elsewhere(study.left_out)),
        ),
    )


def _with_checks(study: Study) -> dict[str, Sequence[str]]:
    """Return what was done, and what the checks noted without alarm."""
    notes = [
        f"{f.sentence}; {f.mended or f.advice}" for f in study.findings if f.severity == "note"
    ]
    return {**study.words, "The checks": notes} if notes else dict(study.words)


def embedding_page(
    title: str,
    cloud: Cloud,
    proof: Proof | None,
    words: Sequence[str],
    scree: Any = None,
    environment: Mapping[str, str] | None = None,
    command: str = "",
) -> str:
    """Return the page of an embedding: the map, how much each component holds, the proof.

    Parameters
    ----------
    title : str
        The heading.
    cloud : Cloud
        The points; an empty ``label`` or ``error`` means that there is none.
    proof : Proof or None
        What is known of the fit.
    words : sequence of str
        What was done, one sentence each.
    scree : array of shape (k,) or None, default=None
        The share of the variance that each component holds.
    environment : mapping, default=None
        Versions and the machine.
    command : str, default=""
        How to repeat it.

    Returns
    -------
    str
        A whole HTML page.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.report import Cloud, embedding_page
    >>> label = np.array(["a", "b"])
    >>> cloud = Cloud("two rows", np.eye(2), label, np.zeros(0), [{"row": "0"}, {"row": "1"}])
    >>> embedding_page("Two rows", cloud, None, ["PCA of two rows"]).count("<section")
    2
    """
    environment, components = environment or {}, _scree(scree)
    sections = [s for s in [_section("data-map", data_map(cloud), {})] if s]
    if components:
        sections.append(Section("components", "Components", tag("div", components, class_="grid")))
    sections.append(_proof_section(proof, environment, command))
    return page(
        title,
        sections,
        subtitle=sentence(words[0]) if words else "",
        date=_date(environment),
        eyebrow="mercer embedding",
        lead=what_was_done({"": words[1:]} if words[1:] else {}, {}),
    )


# ---------------------------------------------------------------- sections
def _section(key: str, body: Markup | None, left_out: Mapping[str, str]) -> Section | None:
    title, name = TABS[key]
    if name in left_out:
        why = tag("b", f"Left out: {name}. "), sentence(left_out[name])
        body = join(body, tag("p", *why, class_="note"))
    return Section(key, title, body) if body else None


def _proof_section(
    proof: Proof | None,
    environment: Mapping[str, str],
    command: str,
    repeat: Mapping[str, str] | None = None,
) -> Section:
    return Section("proof", "Proof & repeat", proof_panel(proof, environment, command, repeat))


def _elsewhere(left_out: Mapping[str, str]) -> dict[str, str]:
    """Return what was left out and belongs to no tab."""
    known = [name for _, name in TABS.values()]
    return {name: reason for name, reason in left_out.items() if name not in known}


def _date(environment: Mapping[str, str]) -> str:
    """Return when the study was made: what it says itself, else today."""
    return environment.get("date") or date.today().isoformat()


def _performance(study: Study) -> Markup | None:
    """Return the cards of the evaluation and the learning curve."""
    more = _learning(study.curve) if study.curve is not None else None
    cells = _panels(study, more) if study.evaluation is not None else [more]
    return tag("div", cells, class_="flow") if any(cells) else None


def _columns(study: Study) -> Markup | None:
    """Return which columns matter, and how predictions go with them."""
    parts = (
        columns(study.importances, study.importance_words),
        dependence(study.dependences, study.dependence_words),
    )
    return join(*parts) if any(parts) else None


def _panels(study: Study, learning: Markup | None) -> list[Markup]:
    if study.task == "classify":
        return classification.panels(study.evaluation, learning, study.thresholds)
    return regression.panels(study.evaluation, learning)


# ---------------------------------------------------------------- lines
def _learning(curve: Curve) -> Markup:
    """Return scores on seen and unseen rows for growing training sets."""
    sizes, lines = np.asarray(curve.sizes, dtype=float), _lines(curve)
    ends = [mean + sign * spread for mean, spread in lines.values() for sign in (-1, 1)]
    wide = len(sizes) > 1 and sizes.max() > 20 * sizes.min()
    x = Log.over(sizes) if wide else LinearScale.over(sizes)
    frame = Frame(x, LinearScale.over(*ends), height=300.0)
    inside = drawing(
        "learning",
        (frame.width, frame.height),
        _summary(curve),
        frame.axes("rows to learn from", curve.scoring),
        [_curve(frame, sizes, *pair, kind) for kind, pair in lines.items()],
    )
    words = "While the line of unseen rows still rises at the right, more rows are likely to help."
    words = f"{words} {sentence(curve.words)}" if curve.words else words
    marks = legend(list(SEEN.items()))
    return figure("learning", "Learning curve", words, inside, marks, class_="beside")


def _lines(curve: Curve) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return means and spreads by the class of the style sheet."""
    pairs = [(curve.train, curve.train_spread), (curve.test, curve.test_spread)]
    found = [(np.asarray(mean, float), np.asarray(spread, float)) for mean, spread in pairs]
    return dict(zip(SEEN, found, strict=True))


def _curve(frame: Frame, sizes: Any, mean: Any, spread: Any, kind: str) -> Markup:
    tips = [
        f"{number(v, 3)} ± {number(s, 2)}\n{SEEN[kind]}, from {count(n, 'row')}"
        for n, v, s in zip(sizes, mean, spread, strict=True)
    ]
    area = band(frame, sizes, mean - spread, mean + spread, kind)
    return tag(
        "g", area, line(frame, sizes, mean, kind), dots(frame, sizes, mean, f"{kind} large", tips)
    )


def _summary(curve: Curve) -> str:
    first, last = float(curve.test[0]), float(curve.test[-1])
    return (
        f"{curve.scoring} on unseen rows goes from {number(first, 3)} with "
        f"{count(curve.sizes[0], 'row')} to {number(last, 3)} with {count(curve.sizes[-1], 'row')}."
    )


def _scree(values: Any) -> Markup | None:
    if values is None or not len(values):
        return None
    shares = np.asarray(values, dtype=float)
    places = np.arange(len(shares))
    frame = Frame(Bands(tuple(map(str, places + 1))), LinearScale.over(shares, [0.0]), height=300.0)
    tips = [f"component {i + 1}\n{percent(shares[i])} of the variance" for i in places]
    inside = drawing(
        "scree",
        (frame.width, frame.height),
        "; ".join(tip.replace("\n", ": ") for tip in tips[:10]) + ".",
        frame.axes("component", "share of the variance"),
        line(frame, places, shares, "model"),
        dots(frame, places, shares, "model large", tips),
    )
    first = "The first two hold" if len(shares) > 1 else "It holds"
    words = f"{first} {percent(shares[:2].sum())} of the variance."
    return figure("scree", "What each component holds", words, inside, class_="beside")
