"""Tables of joint probabilities: parts, independence, and the decisions of least loss."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from mercer.bayes import JointTable
from tests.compare import refuses

# rows are y, columns are x
TABLE = [
    [1 / 8, 1 / 16, 1 / 32, 1 / 32],
    [1 / 16, 1 / 8, 1 / 32, 1 / 32],
    [1 / 16, 1 / 16, 1 / 16, 1 / 16],
    [1 / 4, 0, 0, 0],
]
EXAMPLE = JointTable(TABLE, ["y", "x"], outcomes={"y": ["y1", "y2", "y3", "y4"]})


def random_table(shape, seed):
    return JointTable.from_counts(np.random.default_rng(seed).random(shape) ** 2)


# ---------------------------------------------------------------- parts
def test_the_textbook_example():
    assert EXAMPLE.marginal("y").table.tolist() == [1 / 4] * 4
    assert EXAMPLE.marginal("x").table.tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 8]
    assert EXAMPLE.conditional({"y": "y2"}).table.tolist() == [1 / 4, 1 / 2, 1 / 8, 1 / 8]
    assert not EXAMPLE.independent("x", "y")


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=4), st.integers(0, 100))
def test_marginal_times_conditional_is_the_joint(shape, seed):
    joint = random_table(shape, seed)
    first = joint.marginal("x0")
    for i in range(shape[0]):
        rest = joint.conditional({"x0": i})
        np.testing.assert_allclose(first.table[i] * rest.table, joint.table[i])


def test_marginals_come_in_the_order_that_is_asked_for():
    joint = random_table((2, 3, 4), 0)
    part = joint.marginal(["x2", "x0"])
    wanted = [[sum(joint.table[i, :, k]) for i in range(2)] for k in range(4)]
    np.testing.assert_allclose(part.table, wanted)
    assert part.names == ["x2", "x0"]


def test_the_order_of_conditions_does_not_matter():
    joint = random_table((2, 3, 4), 1)
    both = joint.conditional({"x2": 3, "x0": 1})
    one_by_one = joint.conditional({"x0": 1}).conditional({"x2": 3})
    np.testing.assert_allclose(both.table, one_by_one.table)


# ---------------------------------------------------------------- independence
def test_a_product_is_independent_and_has_no_information():
    a, b, c = (np.random.default_rng(i).dirichlet(np.ones(3)) for i in range(3))
    joint = JointTable(np.einsum("i,j,k->ijk", a, b, c), ["a", "b", "c"])
    for pair in (("a", "b"), ("a", ["b", "c"]), (["a", "c"], "b")):
        assert joint.independent(*pair)
        assert joint.mutual_information(*pair) == pytest.approx(0.0, abs=1e-12)


def test_pairwise_independence_is_not_independence():
    """Two fair bits and their exclusive or."""
    table = np.zeros((2, 2, 2))
    for a, b in product(range(2), repeat=2):
        table[a, b, a ^ b] = 0.25
    joint = JointTable(table, ["a", "b", "c"])
    assert joint.independent("a", "b")
    assert joint.independent("a", "c")
    assert joint.independent("b", "c")
    assert not joint.independent(["a", "b"], "c")
    assert joint.mutual_information(["a", "b"], "c") == pytest.approx(np.log(2))


def test_independence_given_a_third():
    """Two noisy copies of a bit depend on each other, but not if the bit is known."""
    copy = np.array([[0.9, 0.1], [0.2, 0.8]])
    joint = JointTable(np.einsum("c,ca,cb->cab", [0.5, 0.5], copy, copy), ["c", "a", "b"])
    assert not joint.independent("a", "b")
    assert all(joint.conditional({"c": c}).independent("a", "b") for c in range(2))


# ---------------------------------------------------------------- decisions
def squared(y, f):
    return (y - f) ** 2


def absolute(y, f):
    return abs(y - f)


VALUES = [-2.0, 0.5, 1.0, 7.0]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 500))
def test_the_conditional_mean_has_the_least_squared_loss(seed):
    joint = random_table((3, 4), seed)
    joint = JointTable(joint.table, ["x", "y"], outcomes={"y": VALUES})
    for x in range(3):
        part = joint.conditional({"x": x})
        best = minimize_scalar(lambda f, part=part: part.risk("y", f, squared), tol=1e-12)
        # a parabola is flat at its minimum: half of the digits
        assert part.mean("y") == pytest.approx(best.x, abs=1e-6)
        assert part.risk("y", part.mean("y"), squared) <= best.fun + 1e-12


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 500))
def test_the_conditional_median_has_the_least_absolute_loss(seed):
    joint = random_table((3, 4), seed)
    joint = JointTable(joint.table, ["x", "y"], outcomes={"y": VALUES})
    for x in range(3):
        part = joint.conditional({"x": x})
        risk = part.risk("y", part.median("y"), absolute)
        # the risk is piecewise linear with corners at the outcomes
        assert risk <= min(part.risk("y", f, absolute) for f in VALUES) + 1e-12


def test_the_median_of_outcomes_out_of_order():
    joint = JointTable([0.2, 0.5, 0.3], ["y"], outcomes={"y": [3.0, 1.0, 2.0]})
    assert joint.median("y") == 1.0
    assert joint.mean("y") == pytest.approx(1.7)


# ---------------------------------------------------------------- bad input
BAD = {
    "sum": (lambda: JointTable([0.5, 0.6]), "sum 1; .* sum 1.1"),
    "negative": (lambda: JointTable([1.5, -0.5]), "minimum is -0.5"),
    "nan": (lambda: JointTable([np.nan, 1.0]), "probabilities ≥ 0"),
    "text": (lambda: JointTable(["a"]), "table must be an array"),
    "names": (lambda: JointTable([1.0], ["a", "b"]), "names must be 1 different names"),
    "names twice": (lambda: JointTable(np.eye(2) / 2, ["a", "a"]), "2 different names"),
    "unknown": (lambda: EXAMPLE.marginal("z"), r"among \['y', 'x'\], each once; got \['z'\]"),
    "outcome": (lambda: EXAMPLE.conditional({"y": "y5"}), "y has the outcomes .*got 'y5'"),
    "impossible": (lambda: EXAMPLE.conditional({"x": 1, "y": "y4"}), "leave at least one"),
    "probability 0": (
        lambda: JointTable([[1.0, 0.0]], ["a", "b"]).conditional({"b": 1}),
        "given has probability 0",
    ),
    "outcomes": (
        lambda: JointTable([1.0], ["a"], outcomes={"a": [1, 2]}),
        "a needs 1 different outcomes",
    ),
    "outcomes of another": (
        lambda: JointTable([1.0], ["a"], outcomes={"b": [1]}),
        r"outcomes must be of \['a'\]",
    ),
    "counts": (lambda: JointTable.from_counts([0, 0]), "counts must be"),
}


@pytest.mark.parametrize(("call", "match"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named(call, match):
    refuses(call, ValueError, match)


def test_the_mean_of_words_is_refused():
    refuses(lambda: EXAMPLE.mean("y"), TypeError, "outcomes of y must be numbers")


def test_an_axis_stands_for_its_name():
    table = JointTable(np.array([[0.1, 0.2, 0.3], [0.2, 0.1, 0.1]]), ["a", "b"])
    np.testing.assert_array_equal(table.marginal(1).table, table.marginal("b").table)
    np.testing.assert_array_equal(
        table.conditional({-1: 2}).table, table.conditional({"b": 2}).table
    )
    with pytest.raises(ValueError, match=r"names must be among \['a', 'b'\], each once; got \[5\]"):
        table.marginal(5)
