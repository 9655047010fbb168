"""The public checkers are tests themselves: each must fail on what is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mercer import Certificate, Solution, Status, check_gram, check_solver, gram
from mercer.gram import DenseGram
from mercer.kernels import RBF
from mercer.solvers import leading_eigenpairs, solve_ridge
from tests.cases import table

X = table(8, 2)
K = RBF(gamma=0.5)(X)


# ---------------------------------------------------------------- check_gram
def dense():
    return gram(RBF(gamma=0.5), X, storage="dense")


def test_a_right_storage_passes():
    check_gram(dense(), K)


@pytest.mark.parametrize(
    "wrong", [K + 1e-3, K.T * 1.01, K[:7], K[:, :7]], ids=["shifted", "scaled", "short", "narrow"]
)
def test_another_matrix_is_noticed(wrong):
    with pytest.raises(AssertionError):
        check_gram(dense(), wrong)


def test_one_wrong_value_is_noticed():
    wrong = K.copy()
    wrong[2, 5] += 1e-3
    with pytest.raises(AssertionError):
        check_gram(dense(), wrong)


BROKEN = {
    "_matmat": lambda self, V: 2.0 * (K @ V),
    "_rmatmat": lambda self, V: 2.0 * (K.T @ V),
    "rows": lambda self, index: K[np.asarray(index) - 1],
    "toarray": lambda self, memory=None: K + np.eye(8),
    "diagonal": lambda self: np.zeros(8),
    "restrict": lambda self, rows, columns=None: dense(),
    "centered": lambda self, weights=None, reference=None: self,
    "nbytes": property(lambda self: 1.5),
    "exact": property(lambda self: "yes"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_operation_is_noticed(name):
    wrong = type("Wrong", (DenseGram,), {name: BROKEN[name]})
    G = dense()
    with pytest.raises(AssertionError):
        check_gram(wrong(G.toarray(), G._source), K)


# ---------------------------------------------------------------- check_solver
PROOF = Certificate("test", 0.0, 1.0)
GOOD = Solution(np.ones(3), Status.OPTIMAL, PROOF)


def test_an_honest_solver_passes_and_its_solution_is_returned():
    assert check_solver(lambda y: GOOD, np.ones(3)) is GOOD


def test_the_solvers_of_the_library_pass():
    G = dense()
    check_solver(solve_ridge, G, X[:, :1], np.ones(8))
    check_solver(leading_eigenpairs, G.centered(), 3)


def test_a_bare_array_is_no_solution():
    with pytest.raises(AssertionError, match="returns a Solution, not ndarray"):
        check_solver(lambda: np.ones(3))


def test_a_text_is_no_status():
    with pytest.raises(AssertionError, match="status must be a Status"):
        check_solver(lambda: replace(GOOD, status="optimal"))


def test_a_number_is_no_certificate():
    with pytest.raises(AssertionError, match="certificate must be a Certificate"):
        check_solver(lambda: replace(GOOD, certificate=0.0))


def test_optimal_without_a_proof_is_a_lie():
    with pytest.raises(AssertionError, match="OPTIMAL without a proof"):
        check_solver(lambda: replace(GOOD, certificate=Certificate("test", 2.0, 1.0)))


def test_a_failure_may_lack_a_proof():
    failed = Solution(np.ones(3), Status.MAX_ITER, Certificate("test", 2.0, 1.0))
    assert check_solver(lambda: failed) is failed


def test_another_answer_the_second_time_is_noticed():
    answers = iter([GOOD, replace(GOOD, value=np.zeros(3))])
    with pytest.raises(AssertionError, match="not the same answer twice"):
        check_solver(lambda: next(answers))


def test_a_changed_argument_is_noticed():
    def careless(y):
        y[0] = 5.0
        return GOOD

    with pytest.raises(AssertionError, match="an argument was changed"):
        check_solver(careless, np.ones(3))
