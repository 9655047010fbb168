"""The offset of a margin problem, its bounds and its sum: rounding must decide nothing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from mercer import SVC, KernelLogistic, KernelSearchCV, OneClassSVM
from mercer.certify import duality_gap
from mercer.kernels import Polynomial
from mercer.margin import MarginProblem
from tests.cases import two_classes

SIGNS = np.array([1.0, 1.0, -1.0, -1.0, -1.0])
# the classes' bounds have the same sum on paper, and not in float64
BOUNDS = np.array([0.15, 0.15, 0.1, 0.1, 0.1])


def _all_at_bounds(signs, bounds):
    problem = MarginProblem.classify(signs, bounds)
    return problem, np.where(signs > 0, problem.hi, problem.lo)


@pytest.mark.parametrize("k", range(5))
@pytest.mark.parametrize("ulps", [-2, -1, 1, 2])
def test_a_coefficient_within_rounding_of_its_bound_does_not_set_the_offset(k, ulps):
    """All points are at their bounds: b is the middle of what they allow, for every rounding."""
    problem, beta = _all_at_bounds(SIGNS, BOUNDS)
    e = np.array([3.0, 2.0, -1.0, -4.0, -2.0])
    wanted = 0.5 * (2.0 + -1.0)
    assert problem.offset(beta, e)[0] == wanted
    beta[k] += ulps * np.spacing(abs(beta[k]))
    beta = np.clip(beta, problem.lo, problem.hi)
    assert problem.offset(beta, e)[0] == wanted


def test_points_that_are_free_set_the_offset():
    problem, beta = _all_at_bounds(SIGNS, BOUNDS)
    beta[[0, 2]] *= 0.5
    e = np.array([0.25, 2.0, 0.75, -4.0, -2.0])
    assert problem.offset(beta, e)[0] == 0.5


@pytest.mark.parametrize("C", [1e-6, 1e-4, 1e-3])
@pytest.mark.parametrize("order", range(3))
def test_balanced_classes_with_a_small_bound_have_one_offset(C, order):
    """All points are at their bounds; the order of the rows changes the rounding of their sums."""
    X, sign = two_classes(61, seed=order)
    sign = np.where(np.arange(61) % 3 == 0, 1.0, -1.0)
    machine = SVC(C=C, class_weight="balanced")
    offsets = []
    for seed in range(6):
        rows = np.random.default_rng(seed).permutation(61)
        offsets.append(machine.fit(X[rows], sign[rows]).intercept_[0])
    np.testing.assert_allclose(offsets, offsets[0], atol=1e-9)


def test_a_search_scores_machines_as_fits_from_scratch_do():
    X, sign = two_classes(90, seed=1)
    sign = np.where(np.arange(90) % 3 == 0, 1.0, -1.0)
    grid = {"C": [1e-5, 1e-4, 1e-3, 1e-2]}
    search = KernelSearchCV(SVC(class_weight="balanced"), grid, cv=3).fit(X, sign)
    folds = [search.cv_results_[f"split{i}_test_score"] for i in range(3)]
    plain = GridSearchCV(SVC(class_weight="balanced"), grid, cv=3).fit(X, sign)
    for i, scores in enumerate(folds):
        np.testing.assert_array_equal(scores, plain.cv_results_[f"split{i}_test_score"])


# ---------------------------------------------------------------- the sum of the coefficients
def test_a_sum_that_is_off_is_not_proved():
    """With K = 0 every gap is 0: only the sum tells that β = 0 is no solution."""
    zero = np.zeros(4)
    problem = MarginProblem(zero, zero, np.ones(4), 0.0, 2.0)
    assert duality_gap(np.full(4, 0.5), zero, problem, tolerance=1e-3).ok
    assert not duality_gap(zero, zero, problem, tolerance=1e-3).ok


def test_a_small_error_of_the_sum_counts_as_much_as_the_offset_may_move():
    problem = MarginProblem.classify(np.array([1.0, -1.0]), np.ones(2))
    e = np.array([1e6, -1e6])
    proof = duality_gap(np.array([1.0, -1.0 + 1e-6]), e, problem, tolerance=1e-3)
    assert proof.gap >= 1.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(3))
def test_values_that_cancel_leave_novelty_detection_unproved(seed):
    X = 1e8 + np.random.default_rng(seed).normal(size=(24, 3))
    machine = OneClassSVM(Polynomial(degree=2), nu=0.3).fit(X)
    wanted = 0.3 * len(X)
    assert abs(machine.dual_coef_.sum() - wanted) < 1e-6 or not machine.certificate_.ok


# ---------------------------------------------------------------- classes and weights
@pytest.mark.parametrize("machine", [SVC, KernelLogistic])
def test_balanced_classes_do_not_count_rows_of_weight_zero(machine):
    X, sign = two_classes(40, seed=2)
    weight = np.ones(40)
    weight[np.flatnonzero(sign > 0)[:12]] = 0.0
    kernel = "linear"
    with_zeros = machine(kernel, class_weight="balanced").fit(X, sign, weight)
    without = machine(kernel, class_weight="balanced").fit(X[weight > 0], sign[weight > 0])
    np.testing.assert_allclose(
        with_zeros.decision_function(X), without.decision_function(X), atol=1e-4
    )


def test_in_balanced_classes_a_weight_of_two_is_two_rows():
    X, sign = two_classes(30, seed=3)
    weight = np.where(np.arange(30) < 9, 2.0, 1.0)
    rows = np.repeat(np.arange(30), weight.astype(int))
    weighted = SVC("linear", class_weight="balanced", tol=1e-6).fit(X, sign, weight)
    repeated = SVC("linear", class_weight="balanced", tol=1e-6).fit(X[rows], sign[rows])
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-5
    )


# ---------------------------------------------------------------- hard margins
def _apart(offset):
    """Rows whose classes are 1 apart in the first column."""
    X, sign = np.random.default_rng(0).normal(size=(60, 3)), np.repeat([-1.0, 1.0], 30)
    X[:, 0] = sign * (np.abs(X[:, 0]) + 0.5)
    return X + offset, sign


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e3, 1e4, 1e5])
def test_a_margin_that_is_small_beside_the_rows_is_found(offset):
    X, sign = _apart(offset)
    machine = SVC("linear", C=np.inf).fit(X, sign)
    assert machine.certificate_.ok
    assert (sign * machine.decision_function(X) > 0.99).all()
    assert machine.margin_ >= 0.5


@pytest.mark.parametrize("rows", [np.zeros((20, 2)), (np.arange(40) // 4 % 2).reshape(20, 2)])
def test_classes_that_meet_are_refused(rows):
    with pytest.raises(ValueError, match="does not separate"):
        SVC("linear", C=np.inf).fit(rows, np.arange(20) % 2)


# ---------------------------------------------------------------- kernel values that cancel
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(4))
def test_a_proof_knows_what_rounding_makes_of_predictions(seed):
    """k(x, y) = 1e16 + x·y: Kα is lost in rounding, and nothing can be said of the losses."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(24, 3)), np.arange(24) % 2
    X[:, 0] += 1e8
    assert not KernelLogistic("linear", lam=1e-2).fit(X, y).certificate_.ok
