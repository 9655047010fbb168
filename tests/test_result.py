"""A status is advice, a certificate is a proof that prints, a solution holds both."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from mercer import Certificate, Solution, Status

PROOF = Certificate(
    "relative residual",
    np.float32(0.25),
    0.5,
    "a test",
    {
        "condition_estimate": np.float64(12.0),
        "values": np.array([1.0, 2.0]),
        "count": np.int64(3),
        "storage": "dense",
        "kkt": {"feasible": np.float64(0.0), "slack": 1e-9},
    },
)


# ---------------------------------------------------------------- status
def test_only_what_was_asked_for_is_ok():
    fine = [Status.OPTIMAL, Status.EARLY_STOPPED, Status.PART_LEARNED]
    assert [status for status in Status if status.ok] == fine


@pytest.mark.parametrize("status", Status)
def test_a_status_is_advice_in_one_sentence(status):
    assert status.advice == status.value
    assert len(status.advice.split()) >= 4
    assert not status.advice.endswith(".")


def test_every_failure_has_its_own_advice():
    assert len({status.advice for status in Status}) == len(Status)


# ---------------------------------------------------------------- certificate
def test_a_certificate_is_ok_up_to_its_tolerance():
    assert PROOF.ok
    assert Certificate("x", 0.5, 0.5).ok
    assert not Certificate("x", np.nextafter(0.5, 1.0), 0.5).ok


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_a_number_proves_nothing(value):
    assert not Certificate("x", value, 1.0).ok
    assert not Certificate("x", value, np.nan).ok


@pytest.mark.parametrize(
    "parts",
    [
        {"gap": np.nan},
        {"kkt": {"pair": 0.0, "sum": np.float64(np.nan)}},
        {"problems": [{"value": 0.0}, {"value": np.nan}]},
        {"steps": np.array([0.0, np.nan])},
        {"pair": (0.0, float("nan"))},
    ],
    ids=repr,
)
def test_a_part_that_was_not_solved_leaves_the_whole_unproved(parts):
    """However the value came about, by max() for example, which passes over NaN."""
    proof = Certificate("x", 0.0, 1.0, parts=parts)
    assert np.isnan(proof.value)
    assert not proof.ok
    assert not pickle.loads(pickle.dumps(proof)).ok
    assert not replace(PROOF, parts=parts).ok


def test_infinity_is_no_tolerance():
    assert not Certificate("x", 0.0, np.inf).ok
    assert not Certificate("x", np.inf, np.inf).ok


def test_parts_may_be_infinite():
    """A bound that says nothing is no failure."""
    assert Certificate("x", 0.0, 1.0, parts={"bound": np.inf, "note": "none", "seed": None}).ok


def test_the_parts_are_attributes():
    assert PROOF.condition_estimate == 12.0
    assert PROOF.storage == "dense"
    assert PROOF.kkt["slack"] == 1e-9


def test_a_missing_part_says_which_there_are():
    with pytest.raises(AttributeError, match=r"no part 'gap'.*'condition_estimate'.*'storage'"):
        _ = PROOF.gap
    assert not hasattr(PROOF, "gap")


def test_a_certificate_holds_plain_values():
    assert json.loads(json.dumps(PROOF.to_dict())) == PROOF.to_dict()
    assert PROOF.to_dict()["parts"]["values"] == [1.0, 2.0]
    assert type(PROOF.value) is type(PROOF.condition_estimate) is float
    assert type(PROOF.count) is int
    assert type(PROOF.ok) is bool


@pytest.mark.parametrize("name", ["value", "tolerance", "kind", "novelty"])
def test_a_certificate_cannot_be_changed(name):
    with pytest.raises(FrozenInstanceError):
        setattr(PROOF, name, 1.0)


def test_the_parts_cannot_be_changed():
    with pytest.raises(TypeError):
        PROOF.parts["storage"] = "none"


def test_the_caller_keeps_no_handle_on_the_parts():
    parts = {"residual": 1.0}
    proof = Certificate("x", 0.0, 1.0, parts=parts)
    parts["residual"] = 2.0
    assert proof.residual == 1.0


@pytest.mark.parametrize(
    "again", [lambda c: pickle.loads(pickle.dumps(c)), copy.copy, copy.deepcopy]
)
def test_a_certificate_can_be_stored(again):
    assert again(PROOF) == PROOF
    assert again(PROOF).to_dict() == PROOF.to_dict()
    assert again(PROOF).kkt == {"feasible": 0.0, "slack": 1e-9}


def test_a_certificate_prints_as_a_table():
    lines = str(PROOF).splitlines()
    assert lines[0] == "certificate: a test"
    table = dict(line.strip().split("  ", 1) for line in lines[1:])
    table = {name: value.strip() for name, value in table.items()}
    assert table["relative residual"] == "0.25 ≤ 0.5"
    assert table["proved"] == "yes"
    assert table["condition estimate"] == "12"
    assert table["kkt: slack"] == "1e-09"


def test_a_failed_proof_says_so():
    assert "NO" in str(Certificate("x", 2.0, 1.0))
    assert "NO" in str(Certificate("x", np.nan, 1.0))


def test_a_certificate_shows_itself_in_a_notebook():
    page = Certificate("a < b", 0.0, 1.0, "<script>", {"x": "<b>"})._repr_html_()
    assert "<table>" in page
    assert "a &lt; b" in page
    assert "<script>" not in page
    assert "<b>" not in page.split("</caption>")[1]


# ---------------------------------------------------------------- solution
def test_a_solution_cannot_be_changed():
    solution = Solution(np.ones(2), Status.OPTIMAL, PROOF)
    assert solution.intercept == 0.0
    assert solution.stats == {}
    assert solution.state is None
    with pytest.raises(FrozenInstanceError):
        solution.value = np.zeros(2)


def test_further_parts_leave_the_claim_as_it_is():
    proof = Certificate("gap", 1e-9, 1e-6, "a claim", {"gap": 1e-9})
    more = proof.with_parts(landmarks=3, gap=2e-9)
    assert (more.kind, more.value, more.tolerance, more.about) == ("gap", 1e-9, 1e-6, "a claim")
    assert dict(more.parts) == {"gap": 2e-9, "landmarks": 3}
    assert dict(proof.parts) == {"gap": 1e-9}
    assert more.ok
    assert not proof.with_parts(of_one=float("nan")).ok
