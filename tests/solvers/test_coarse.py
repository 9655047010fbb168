"""Starts of large margin problems from small ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer._limits import Limits
from mercer.gram import gram
from mercer.kernels import RBF
from mercer.margin import MarginProblem
from mercer.solvers import solve_margin
from mercer.solvers.coarse import at_bounds, coarse_start
from mercer.solvers.margin import Sizes
from mercer.solvers.smo import SmoState
from tests.cases import two_classes


def noisy(n):
    """Rows of two classes that a function tells apart hardly better than chance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 3.0 * rng.normal(size=n) > 0, 1.0, -1.0)


@given(st.integers(2, 40), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3]))
def test_coefficients_at_bounds_have_the_sum_and_suit_one_offset(n, seed, eps):
    rng = np.random.default_rng(seed)
    hi, lo = rng.uniform(0, 2, n), -rng.uniform(0, 2, n)
    problem = MarginProblem(rng.normal(size=n), lo, hi, eps)
    residual = rng.normal(size=n)
    beta = at_bounds(problem, residual)
    assert beta.sum() == pytest.approx(0.0, abs=1e-12)
    assert (beta >= lo).all()
    assert (beta <= hi).all()
    inside = (beta > lo) & (beta < hi) & (beta != 0)
    assert inside.sum() <= 1
    # some offset separates those at the upper bound, at 0 and at the lower bound
    at_hi, at_lo, at_0 = beta == hi, beta == lo, beta == 0
    highest = min(
        (residual - eps)[at_hi].min(initial=np.inf), (residual + eps)[at_0].min(initial=np.inf)
    )
    lowest = max(
        (residual + eps)[at_lo].max(initial=-np.inf), (residual - eps)[at_0].max(initial=-np.inf)
    )
    assert lowest <= highest + 1e-12


def test_the_start_is_feasible_and_saves_steps():
    X, sign = noisy(6000)
    K = gram(RBF(gamma=0.5), X, storage="blocked", dtype=np.float32)
    problem = MarginProblem.classify(sign, np.ones(6000))
    start = coarse_start(K, np.arange(6000), problem, Limits())
    assert abs(start.beta.sum()) < 1e-9
    assert (start.beta >= problem.lo).all()
    assert (start.beta <= problem.hi).all()
    np.testing.assert_allclose(start.e, sign - K.in_double() @ start.beta, atol=1e-2)
    nothing = SmoState(np.zeros(6000), sign)
    steps = [
        solve_margin(K, np.arange(6000), problem, start=s, sizes=Sizes(dense=False)).stats["steps"]
        for s in (start, nothing)
    ]
    assert steps[0] < steps[1]


def test_classes_that_are_apart_get_no_start():
    X, sign = two_classes(4000, overlap=0.0)
    problem = MarginProblem.classify(sign, np.full(4000, 10.0))
    K = gram(RBF(gamma=0.5), X, storage="blocked", dtype=np.float32)
    assert coarse_start(K, np.arange(4000), problem, Limits()) is None


def test_a_solve_from_a_start_has_the_same_optimum():
    X, sign = noisy(4400)
    problem, K = (
        MarginProblem.classify(sign, np.ones(4400)),
        gram(RBF(gamma=0.5), X, storage="blocked", dtype=np.float32),
    )
    index = np.arange(4400)
    large = solve_margin(K, index, problem, sizes=Sizes(dense=False))
    small = solve_margin(K, index, problem, sizes=Sizes(dense=True))
    assert large.certificate.ok
    assert large.certificate.dual == pytest.approx(small.certificate.dual, rel=1e-3)
