"""Smooth losses in the span of landmarks, against the same problem in explicit features."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import KernelLogistic, rows
from mercer.kernels import RBF
from mercer.kernels.sample import Sample
from mercer.losses import Huber, Logistic, ScalarRisk, SoftmaxRisk
from mercer.rows import RowsError
from mercer.solvers.span import InMemory, Span
from mercer.solvers.span_newton import solve_span_newton

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
F = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
SIGNS = np.where(F + 0.5 * RNG.normal(size=400) > 0, 1.0, -1.0)
WEIGHT = RNG.uniform(0.5, 2.0, size=400)
NUMBERS = np.arange(0, 400, 10)


def risk_of(kind):
    if kind == "softmax":
        return lambda Y, w: SoftmaxRisk((Y[:, 0] > 0) * 1 + (Y[:, 0] > 1), w, 3)
    loss = Logistic() if kind == "logistic" else Huber(0.5)
    return lambda Y, w: ScalarRisk(loss, Y[:, 0], w)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["logistic", "huber", "softmax"])
def test_the_minimum_is_that_of_explicit_features(kind, fit_intercept):
    targets = (SIGNS if kind == "logistic" else F)[:, None]
    problem, lam, t = InMemory(Sample(X), targets, WEIGHT), 0.05, 3 if kind == "softmax" else 1
    span = Span(RBF(0.3).bind(Sample(X)), Sample(X[NUMBERS]), 10**9)
    found = solve_span_newton(
        span,
        problem,
        risk_of(kind),
        t,
        lam,
        fit_intercept=fit_intercept,
        tol=1e-9,
        anchors=problem.take(NUMBERS),
    )
    Phi, risk = span.features(span.values(Sample(X)).T).T, risk_of(kind)(targets, WEIGHT)

    def objective(z):
        c, b = z[: span.rank * t].reshape(span.rank, t), z[span.rank * t :] * fit_intercept
        G = Phi @ c + b
        U = risk.slopes(G)
        slopes = [(Phi.T @ U + 2 * lam * c).ravel(), U.sum(axis=0) * fit_intercept]
        return risk.value(G) + lam * (c**2).sum(), np.concatenate(slopes)

    start = np.zeros((span.rank + 1) * t)
    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-9}
    truth = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    proof = found.certificate
    assert proof.ok
    assert proof.dual <= truth.fun * (1 + 1e-12)
    assert proof.primal == pytest.approx(truth.fun, rel=1e-8)
    assert proof.restriction == "exact"


def test_all_rows_as_landmarks_are_the_exact_machine():
    y = np.digitize(F, [-0.7, 0.7])
    options = {"lam": 0.1, "tol": 1e-10}
    exact = KernelLogistic(**options).fit(X, y, WEIGHT)
    whole = KernelLogistic(landmarks=np.arange(400), route="cg", **options).fit(X, y, WEIGHT)
    assert (exact.route_, whole.route_) == ("exact", "cg")
    np.testing.assert_allclose(whole.predict_proba(X), exact.predict_proba(X), atol=1e-5)
    assert whole.certificate_.restriction_gap < 1e-8


def test_rows_in_blocks_are_rows_in_memory():
    y = np.where(F > 0, "up", "down")
    options = {"landmarks": 50, "random_state": 0, "class_weight": "balanced"}
    here = KernelLogistic(**options).fit(X, y)
    there = KernelLogistic(**options).fit(rows.open([X[:100], X[100:]], y))
    np.testing.assert_allclose(there.predict_proba(rows.open(X)), here.predict_proba(X), atol=1e-9)


def test_rows_of_weight_zero_are_no_rows():
    y, used = F > 0, np.arange(400) % 3 > 0
    options = {"landmarks": X[:40], "kernel": RBF(0.3), "tol": 1e-10}
    with_zeros = KernelLogistic(**options).fit(X, y, used.astype(float))
    without = KernelLogistic(**options).fit(X[used], y[used])
    np.testing.assert_allclose(with_zeros.dual_coef_, without.dual_coef_, rtol=1e-5, atol=1e-7)


def test_a_fit_goes_on_from_its_checkpoint(tmp_path):
    y, folder = F > 0, str(tmp_path / "passes")
    options = {"landmarks": 50, "random_state": 0, "checkpoint": folder}
    first = KernelLogistic(**options).fit(rows.open(X, y))
    kept = sorted((tmp_path / "passes").glob("*.npz"))
    for path in kept[len(kept) // 2 :]:
        path.unlink()
    again = KernelLogistic(**options).fit(rows.open(X, y))
    assert again.dual_coef_.tobytes() == first.dual_coef_.tobytes()
    with pytest.raises(RowsError, match="its rows differs"):
        KernelLogistic(**options).fit(rows.open(X + 1.0, y))
