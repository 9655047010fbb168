"""The page of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from mercer._words import percent, sentence
from mercer.report.charts.frame import Frame, dots, drawing, figure, line
from mercer.report.charts.scale import Bands, Linear
from mercer.report.html import Markup, join, tag
from mercer.report.page import Section, page
from mercer.report.sections.case_tables import case_tables
from mercer.report.sections.columns import columns
from mercer.report.sections.data_map import data_map
from mercer.report.sections.done import what_was_done
from mercer.report.sections.performance import performance
from mercer.report.sections.proof import badge, proof_panel
from mercer.report.sections.scores import cards, verdict
from mercer.report.sections.tuning import tuning
from mercer.report.study import Cloud, Proof, Study

TABS = {
    "performance": ("Performance", ("evaluation", "performance", "curve", "learning curve")),
    "map": ("Data map", ("cloud", "data map", "map")),
    "tuning": ("Tuning", ("surface", "tuning", "search")),
    "columns": ("Columns", ("importances", "importance", "columns")),
    "cases": ("Cases", ("cases",)),
}
"""Tabs by their hash: the title, and the names under which a study says why it is left out."""


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
        "performance": performance(study),
        "map": data_map(study.cloud),
        "tuning": tuning(study.surface),
        "columns": columns(study.importances, study.importance_words),
        "cases": case_tables(study.cases),
    }
    sections = [s for key, body in bodies.items() if (s := _section(key, body, study.left_out))]
    sections.append(_proof_section(study.proof, study.environment, study.command))
    return page(
        study.title,
        sections,
        subtitle=verdict(study),
        date=_date(study.environment),
        eyebrow="mercer report",
        badge=badge(study.proof),
        lead=join(
            cards(study.scores) if study.scores else None,
            what_was_done(study.words, _elsewhere(study.left_out)),
        ),
    )


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
    environment = environment or {}
    bodies = {"map": data_map(cloud), "components": _scree(scree)}
    titles = {"map": "Data map", "components": "Components"}
    sections = [Section(k, titles[k], _wrapped(k, body)) for k, body in bodies.items() if body]
    sections.append(_proof_section(proof, environment, command))
    return page(
        title,
        sections,
        subtitle=sentence(words[0]) if words else "",
        date=_date(environment),
        eyebrow="mercer embedding",
        badge=badge(proof) if proof else None,
        lead=what_was_done({"": words[1:]} if words[1:] else {}, {}),
    )


# ---------------------------------------------------------------- sections
def _section(key: str, body: Markup | None, left_out: Mapping[str, str]) -> Section | None:
    title, names = TABS[key]
    reasons = [_missing(name, left_out[name]) for name in left_out if name.lower() in names]
    if body is None and not reasons:
        return None
    return Section(_hash(key), title, join(body, *reasons))


def _wrapped(key: str, body: Markup) -> Markup:
    return body if key == "map" else tag("div", body, class_="grid")


def _hash(key: str) -> str:
    """Return the hash of a tab; the map itself has the id "map"."""
    return "data-map" if key == "map" else key


def _proof_section(proof: Proof | None, environment: Mapping[str, str], command: str) -> Section:
    return Section("proof", "Proof & repeat", proof_panel(proof, environment, command))


def _missing(name: str, reason: str) -> Markup:
    return tag("p", tag("b", f"Left out: {name}. "), sentence(reason), class_="note")


def _elsewhere(left_out: Mapping[str, str]) -> dict[str, str]:
    """Return what was left out and belongs to no tab."""
    known = {name for _, names in TABS.values() for name in names}
    return {name: reason for name, reason in left_out.items() if name.lower() not in known}


def _date(environment: Mapping[str, str]) -> str:
    """Return when the study was made: what it says itself, else today."""
    known = [environment[k] for k in ("date", "made", "time") if k in environment]
    return known[0] if known else date.today().isoformat()


# ---------------------------------------------------------------- components
def _scree(values: Any) -> Markup | None:
    if values is None or not len(values):
        return None
    shares = np.asarray(values, dtype=float)
    places = np.arange(len(shares))
    frame = Frame(Bands(tuple(map(str, places + 1))), Linear.over(shares, [0.0]), height=300.0)
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
