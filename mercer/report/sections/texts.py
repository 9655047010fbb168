"""Sections without a picture: what was done, rows worth a look, what is proved and where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mercer._words import capital, count, sentence, short
from mercer.checks import Finding, open_leaks
from mercer.report.html import Markup, card, join, stack, table, tag, unbroken
from mercer.report.study import Case, CaseTable, Proof

OPEN_SENTENCES = 3  # of a part of what was done; the others are folded away
MOST_COLUMNS = 12  # of the values of a row
OWN_CELLS = ("truth", "prediction", "confidence", "reasons")
ROOMY_COLUMNS = 3  # so many columns have room for long texts


# ---------------------------------------------------------------- what must be known first
def alert(findings: Sequence[Finding]) -> Markup | None:
    """Return the findings that change what a score means, as the first thing on the page."""
    told = [finding for finding in findings if finding.severity != "note"]
    if not told:
        return None
    leaks = "leak" if open_leaks(told) else "warning"
    shown = tag("ul", [tag("li", _found(finding)) for finding in told])
    return tag("div", shown, class_=f"alert {leaks}", role="note", aria_label="Before you read on")


def _found(finding: Finding) -> Markup:
    after = finding.mended or finding.advice
    said = unbroken(f" {sentence(finding.sentence)} {sentence(after)}")
    return join(tag("b", sentence(f"{_weight(finding)}: {finding.kind}")), said)


def _weight(finding: Finding) -> str:
    """Return how much a finding weighs: a leak that was mended is none any more."""
    return "mended" if finding.mended else finding.severity


# ---------------------------------------------------------------- what was done
def what_was_done(words: Mapping[str, Sequence[str]], left_out: Mapping[str, str]) -> Markup | None:
    """Return sentences under each heading, with what was left out and why."""
    parts = [_part(heading, list(map(sentence, told))) for heading, told in words.items()]
    reasons = [join(tag("b", f"{name}: "), sentence(reason)) for name, reason in left_out.items()]
    parts += [_part("What is not here", reasons)] if reasons else []
    if not parts:
        return None
    heading = tag("summary", tag("h2", "What was done"))
    return tag("details", heading, tag("div", parts), class_="done", open=True)


def _part(heading: str, told: Sequence[str]) -> Markup:
    # a fold that hides a single sentence takes as much room as the sentence
    n = OPEN_SENTENCES if len(told) > OPEN_SENTENCES + 1 else len(told)
    more = tag("details", tag("summary", count(len(told) - n, "more", "more")), _list(told[n:]))
    title = tag("h3", heading) if heading else None
    return tag("div", title, _list(told[:n]), more if n < len(told) else None)


def _list(told: Sequence[str]) -> Markup:
    shown = [one if isinstance(one, Markup) else unbroken(one) for one in told]
    return tag("ul", [tag("li", one) for one in shown])


# ---------------------------------------------------------------- rows worth a look
def case_tables(tables: Sequence[CaseTable]) -> Markup | None:
    """Return one card a table."""
    filled = [one for one in tables if one.cases]
    return stack(*map(_cases, filled)) if filled else None


def _cases(one: CaseTable) -> Markup:
    names = list(dict.fromkeys(name for case in one.cases for name in case.values))
    shown = names[:MOST_COLUMNS]
    cut = f" The first {MOST_COLUMNS} of {len(names)} columns are shown."
    own = [name for name in OWN_CELLS if any(getattr(case, name) for case in one.cases)]
    named = {"confidence": one.measure, "reasons": "moved by"}
    head = ["row", *(named.get(name, name) for name in own)]
    # a text that stands alone may take several lines
    kind, length = ("value", 40) if len(shown) > ROOMY_COLUMNS else ("value text", 200)
    return card(
        capital(one.heading),
        tag("p", sentence(one.words) + (cut if len(names) > len(shown) else "")),
        table(
            [*head, *map(short, shown)],
            [_case(case, own, shown, length) for case in one.cases],
            one.heading,
            "cases",
            [*own, *[kind] * len(shown)],
        ),
    )


def _case(case: Case, own: Sequence[str], shown: Sequence[str], length: int) -> list[str]:
    told = {
        "truth": short(case.truth),
        "prediction": join(_mark(case), short(case.prediction)),
        "confidence": case.confidence,
        "reasons": join([tag("span", f"{short(name)} {part}") for name, part in case.reasons]),
    }
    values = (short(case.values.get(name, ""), length) for name in shown)
    return [f"{case.row:,}", *(told[name] for name in own), *values]


def _mark(case: Case) -> Markup | None:
    if case.right is None:
        return None
    sign, word = ("✓", "right") if case.right else ("✗", "wrong")
    hidden = tag("span", f"{word}: ", class_="hidden")
    return join(tag("span", sign, class_=f"mark {word}", aria_hidden="true"), hidden)


# ---------------------------------------------------------------- proof
def proof_panel(
    proof: Proof | None,
    environment: Mapping[str, str],
    command: str,
    repeat: Mapping[str, str] | None = None,
) -> Markup:
    """Return the sentence, all figures, the environment, the command and what it needs."""
    rows = proof.rows if proof else ()
    return tag(
        "div",
        _claim(proof) if proof else None,
        _pairs("Figures of the proof", rows, "Figures of the proof"),
        _pairs("Where it was computed", environment.items(), "Environment"),
        _command(command, repeat or {}) if command else None,
        class_="grid pairs-of-two",
    )


def _claim(proof: Proof) -> Markup:
    """Return what the optimiser has reached, apart from how good the predictions are."""
    state, word = ("ok", PROVED) if proof.ok else ("open", NOT_PROVED)
    return tag(
        "article",
        tag("h3", word),
        tag("p", _plain(proof.sentence), class_="sentence"),
        tag("p", ABOUT_PROOF),
        class_=f"card wide claim {state}",
    )


PROVED, NOT_PROVED = "What the optimiser has proved", "What the optimiser has not proved"
ABOUT_PROOF = (
    "This is about the equations that were solved in training. How good the predictions are is "
    "what the scores say."
)


def _plain(claim: str) -> str:
    """Return the sentence without the words that the heading has said already."""
    return sentence(claim.removeprefix("not proved: "))


def _pairs(heading: str, rows: Iterable[tuple[str, str]], caption: str) -> Markup | None:
    found = list(rows)
    return card(heading, table((), found, caption, "pairs")) if found else None


def _command(command: str, repeat: Mapping[str, str]) -> Markup:
    return tag(
        "article",
        tag(
            "div",
            tag("h3", "Repeat it"),
            tag("button", "Copy", type="button", class_="needs-script", data_copy="command"),
            class_="row",
        ),
        tag("pre", tag("code", command, id="command"), tabindex=0, aria_label="Command"),
        table((), list(repeat.items()), "What the same result needs", "pairs") if repeat else None,
        class_="card wide",
    )
