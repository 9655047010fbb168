"""λ sought near one that is good: the errors are those of the decomposition, whatever λ."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import gram
from mercer.kernels import RBF, Exponential, Linear
from mercer.solvers.ridge_loo import solve_ridge_loo
from tests.cases import table

X = table(90, 4)
Y = np.sin(X[:, :2]) + 0.3 * table(90, 2, seed=7)
WEIGHT = np.random.default_rng(3).uniform(0.5, 2.0, 90)


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.2), Exponential(gamma=0.5)], ids=repr)
@pytest.mark.parametrize("factor", [1.0, 30.0, 1e-3])
def test_errors_and_solution_are_those_of_eigenvectors(kernel, offset, factor):
    K = gram(kernel, X, purpose="direct")
    best = solve_ridge_loo(K, Y, WEIGHT, fit_intercept=offset)
    near = solve_ridge_loo(K, Y, WEIGHT, fit_intercept=offset, near=factor * best.errors.best)
    assert len(near.errors.lams) < 15
    same = solve_ridge_loo(K, Y, WEIGHT, near.errors.lams, fit_intercept=offset)
    for one, other in zip(near.errors, same.errors, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    np.testing.assert_allclose(near.value, same.value, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(near.left_out, same.left_out, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(near.intercept, same.intercept, atol=1e-10)
    assert near.certificate.ok
    # the best λ lies inside of those that were tried, and no worse than the grid's but for its step
    assert near.errors.lams[0] < near.errors.best < near.errors.lams[-1]
    assert near.errors.loo.min() <= 1.02 * best.errors.loo.min()


def test_without_a_factor_all_are_tried():
    K = gram(Linear(), X, purpose="direct")
    given = {"fit_intercept": False}
    whole = solve_ridge_loo(K, Y, WEIGHT, **given)
    for near in (1e-300, 1e300):  # beyond what rounding lets one see
        found = solve_ridge_loo(K, Y, WEIGHT, **given, near=near)
        np.testing.assert_array_equal(found.errors.lams, whole.errors.lams)
