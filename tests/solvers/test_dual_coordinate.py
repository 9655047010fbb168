"""Dual coordinate descent: the optimum of a linear classifier, proved from its coefficients."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.result import Status
from mercer.solvers import Limits, dual_coordinate, solve_dual_coordinate
from tests.cases import two_classes

X, SIGN = two_classes(80, d=3)
C = np.linspace(0.1, 2.0, 80)


def primal(w, b, squared, cost=C):
    slack = np.maximum(0.0, 1.0 - SIGN * (X @ w + b))
    return 0.5 * (w @ w + b * b) + cost @ (slack**2 if squared else slack)


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_no_other_weights_are_better_than_the_gap_allows(squared, tol):
    solution = solve_dual_coordinate(X, SIGN, C, squared=squared, tol=tol)
    proof, w, b = solution.certificate, solution.value, solution.intercept
    assert solution.status is Status.OPTIMAL
    assert proof.primal == pytest.approx(primal(w, b, squared), rel=1e-9)
    assert proof.gap == pytest.approx(proof.primal - proof.dual, abs=1e-12 * proof.primal)
    assert 0 <= proof.relative_gap <= tol
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        step = size * rng.normal(size=4)
        assert primal(w + step[:3], b + step[3], squared) >= proof.dual


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("bias", [0.0, 1.0, 5.0])
def test_sparse_rows_give_what_dense_rows_give(squared, bias):
    options = {"squared": squared, "bias": bias, "tol": 1e-8}
    dense = solve_dual_coordinate(X, SIGN, C, **options)
    sparse = solve_dual_coordinate(sp.csr_array(X), SIGN, C, **options)
    np.testing.assert_allclose(sparse.value, dense.value, atol=1e-6)
    assert sparse.intercept == pytest.approx(dense.intercept, abs=1e-6)
    assert bias != 0 or dense.intercept == 0.0


@pytest.mark.parametrize("squared", [True, False])
def test_a_cost_of_zero_is_no_row(squared):
    cost = np.where(np.arange(80) % 3 == 0, 0.0, C)
    used = cost > 0
    some = solve_dual_coordinate(X, SIGN, cost, squared=squared, tol=1e-8)
    alone = solve_dual_coordinate(X[used], SIGN[used], cost[used], squared=squared, tol=1e-8)
    np.testing.assert_allclose(some.value, alone.value, atol=1e-5)


def test_limits_are_kept():
    stopped = solve_dual_coordinate(X, SIGN, 1e6 * C, squared=False, limits=Limits(max_iter=1))
    assert stopped.status is Status.MAX_ITER
    assert stopped.stats["sweeps"] == 1
    assert not stopped.certificate.ok
    assert np.isfinite(stopped.value).all()


def test_ctrl_c_ends_the_sweeps(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(dual_coordinate, "_sweep", interrupted)
    solution = solve_dual_coordinate(X, SIGN, C, squared=True)
    assert solution.status is Status.INTERRUPTED
    assert not solution.certificate.ok
