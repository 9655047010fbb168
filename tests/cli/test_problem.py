"""Which task a target means, and which targets are none."""

from __future__ import annotations

import numpy as np
import pytest

pl = pytest.importorskip("polars")

from mercer.cli.errors import CommandError  # noqa: E402
from mercer.cli.problem import as_problem, learnable, split  # noqa: E402
from mercer.datasets import Data  # noqa: E402


def data(y) -> Data:
    X = pl.DataFrame({"x": np.arange(len(y), dtype=float)})
    return Data(X, np.asarray(y), "t", ("x",), "csv", "t.csv")


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"] * 10, "classify"),
        ([True, False] * 10, "classify"),
        ([0, 1, 2] * 20, "classify"),
        ([0.0, 1.0] * 20, "classify"),
        (np.arange(60), "regress"),
        (np.linspace(0, 1, 60), "regress"),
        ([1, 2, 3, 4], "regress"),
    ],
)
def test_the_task_is_found_in_the_values(y, task):
    assert as_problem(data(y)).task == task


def test_a_given_task_wins():
    assert as_problem(data([0, 1, 2] * 20), "regress").task == "regress"
    assert as_problem(data([0.5, 1.5] * 20), "classify").task == "classify"


@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        ([None] * 5, "auto", "all 5 values of the target 't' are missing"),
        (["a"] * 5, "auto", "one value only"),
        ([3.5] * 5, "auto", "one value only"),
        ([f"n{i}" for i in range(500)] * 2, "auto", "500 different values in 1,000 rows"),
        (["a", "b", "c", "d"], "auto", "4 different values in 4 rows"),
        (["a", "b"] * 5, "regress", "has the value 'a'"),
        (["a", "b"], "auto", "2 rows with a target are too few"),
        (["a", "a", "a", "b", "b"], "auto", "5 rows with a target are too few"),
    ],
)
def test_a_target_that_cannot_be_learned_is_refused(y, task, message):
    with pytest.raises(CommandError, match=message):
        learnable(as_problem(data(np.array(y, dtype=object)), task))


def test_rows_without_a_target_are_left_out_and_it_is_said():
    y = np.array(["a", None, "b", "a", "b", None], dtype=object)
    problem = as_problem(data(y))
    assert problem.X["x"].to_list() == [0.0, 2.0, 3.0, 4.0]
    assert problem.y.tolist() == ["a", "b", "a", "b"]
    assert problem.notes == ("2 rows without a value of 't' left out",)


def test_a_class_with_one_row_is_left_out_and_it_is_said():
    problem = learnable(as_problem(data(["a", "a", "a", "b", "b", "b", "c"])))
    assert set(problem.y) == {"a", "b"}
    assert "1 class with a single row left out: c" in problem.notes


def test_every_class_is_in_both_parts_and_no_row_twice():
    y = ["a"] * 90 + ["b"] * 6 + ["c"] * 4
    problem = as_problem(data(y))
    learn, test = map(problem.take, split(problem, 0.2, seed=0))
    assert set(learn.y) == set(test.y) == {"a", "b", "c"}
    together = sorted(learn.X["x"].to_list() + test.X["x"].to_list())
    assert together == list(map(float, range(100)))
    assert len(test) == 20
    again = problem.take(split(problem, 0.2, seed=0)[1])
    assert again.X["x"].to_list() == test.X["x"].to_list()


def test_rows_to_be_judged_may_be_of_one_class_or_of_a_rare_one():
    assert as_problem(data(["a"])).y.tolist() == ["a"]
    assert as_problem(data(["a", "a", "b", "b", "b", "c"])).y.tolist() == list("aabbbc")


def test_too_few_rows_to_split():
    with pytest.raises(CommandError, match="too few"):
        split(as_problem(data([0.5, 1.5]), "regress"), 0.5, seed=0)


# ---------------------------------------------------------------- targets that are written
def texts(*y) -> Data:
    return data(np.array(y, dtype=object))


PRICES = [f"{i}.234,50 €" for i in range(1, 31)]


def test_a_target_in_euros_is_a_quantity():
    problem = as_problem(texts(*PRICES, "k.A.", None))
    assert problem.task == "regress"
    np.testing.assert_array_equal(problem.y, [1000.0 * i + 234.5 for i in range(1, 31)])
    assert problem.notes == (
        "'t' is written like '10.234,50 €': read as 10,234.5",
        "1 value in 't' ('k.A.') taken as missing",
        "2 rows without a value of 't' left out",
    )
    assert problem.written == {"target_text": ["t"], "target_decimal": ","}


def test_other_targets_are_read_as_the_first_ones():
    assert as_problem(texts("1.234", "2.500"), "regress", ",").y.tolist() == [1234.0, 2500.0]
    assert as_problem(texts("1.234", "2.500"), "regress", ".").y.tolist() == [1.234, 2.5]


@pytest.mark.parametrize("words", [["5 %", "10 %"], ["<50", ">=50"], ["1,5", "2,5", "x"]])
def test_written_numbers_that_are_classes(words):
    problem = as_problem(texts(*words * 20))
    assert problem.task == "classify"
    assert set(problem.y) == set(words)
    assert problem.decimal is None


def test_numbers_and_classes_on_demand():
    assert as_problem(texts(*["5 %", "10 %"] * 20), "regress").y.tolist() == [5.0, 10.0] * 20
    assert set(as_problem(texts(*PRICES), "classify").y) == set(PRICES)
    with pytest.raises(CommandError, match="has the value 'dear'"):
        as_problem(texts(*PRICES, "dear"), "regress")
