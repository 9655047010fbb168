"""Proof: what is known of the optimum, where it was computed, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mercer._words import sentence
from mercer.report.html import Markup, tag
from mercer.report.page import card, table
from mercer.report.study import Proof


def proof_panel(proof: Proof | None, environment: Mapping[str, str], command: str) -> Markup:
    """Return the sentence, all figures, the environment and the command."""
    return tag(
        "div",
        _sentence(proof) if proof else None,
        card("Figures of the proof", _pairs(proof.rows, "Figures of the proof"))
        if proof and proof.rows
        else None,
        card("Where it was computed", _pairs(environment.items(), "Environment"))
        if environment
        else None,
        _command(command) if command else None,
        class_="grid pairs-of-two",
    )


def badge(proof: Proof) -> Markup:
    """Return the proof in a line, for the head of the page."""
    word = "Proved" if proof.ok else "Not proved"
    return tag(
        "p",
        tag("a", tag("b", _sign(proof), f" {word}"), href="#proof"),
        tag("span", _plain(proof.sentence)),
        class_=f"badge {'ok' if proof.ok else 'open'}",
    )


def _plain(claim: str) -> str:
    """Return the sentence without the words that the badge has said already."""
    return sentence(claim.removeprefix("not proved: "))


def _sentence(proof: Proof) -> Markup:
    state, word = ("ok", "Proved") if proof.ok else ("open", "Not proved")
    return tag(
        "article",
        tag("span", _sign(proof), class_="seal", aria_hidden="true"),
        tag("div", tag("h3", word), tag("p", _plain(proof.sentence), class_="sentence")),
        class_=f"card wide claim {state}",
    )


def _sign(proof: Proof) -> str:
    return "✓" if proof.ok else "!"


def _pairs(rows: Iterable[tuple[str, str]], caption: str) -> Markup:
    return table((), list(rows), caption, "pairs")


def _command(command: str) -> Markup:
    return tag(
        "article",
        tag(
            "div",
            tag("h3", "Repeat it"),
            tag("button", "Copy", type="button", class_="needs-script", data_copy="command"),
            class_="row",
        ),
        tag("pre", tag("code", command, id="command"), tabindex=0, aria_label="Command"),
        class_="card wide",
    )
