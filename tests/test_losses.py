"""Losses: formulas, conjugates, what a loss of one's own gets for free, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize_scalar
from sklearn.base import clone

from mercer import as_loss, check_loss
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Quantile,
    ScalarRisk,
    SoftmaxRisk,
    Squared,
    SquaredHinge,
)
from mercer.losses.base import conjugate_by_bisection

LOSSES = [
    Squared(),
    Huber(),
    Huber(delta=0.2),
    Absolute(),
    EpsilonInsensitive(),
    EpsilonInsensitive(epsilon=0.0),
    Quantile(),
    Quantile(q=0.9),
    Logistic(),
    Hinge(),
    SquaredHinge(),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
numbers = st.floats(-20.0, 20.0)


class LogCosh(Loss):
    """A loss of one's own, with as little as a loss may have."""

    def value(self, y, f):
        return np.logaddexp(f - y, y - f) - np.log(2.0)

    def derivative(self, y, f):
        return np.tanh(f - y)


class BareLogistic(Loss):
    kind = "classify"

    def value(self, y, f):
        return np.logaddexp(0.0, -y * f)

    def derivative(self, y, f):
        return -y / (1.0 + np.exp(y * f))


def targets_of(loss, rng, n):
    return rng.choice([-1.0, 1.0], n) if loss.kind == "classify" else rng.normal(size=n)


# ---------------------------------------------------------------- the formulas
@every_loss
def test_the_check_has_no_objection(loss):
    report = check_loss(loss)
    assert report.ok, str(report)
    assert report.witness is None


@every_loss
def test_the_conjugate_is_the_supremum(loss):
    """Against the supremum on a fine grid, for slopes inside the domain."""
    rng = np.random.default_rng(0)
    y = targets_of(loss, rng, 8)
    low, high = (np.clip(bound, -3.0, 3.0) for bound in loss.domain(y))
    v = low + (high - low) * rng.uniform(0.05, 0.95, 8)
    grid = np.linspace(-40.0, 40.0, 800_001)
    by_grid = [
        (vi * grid - loss.value(np.full_like(grid, yi), grid)).max()
        for yi, vi in zip(y, v, strict=True)
    ]
    np.testing.assert_allclose(loss.conjugate(y, v), by_grid, atol=1e-4)


@every_loss
def test_bisection_finds_the_same_conjugate(loss):
    rng = np.random.default_rng(1)
    y = targets_of(loss, rng, 40)
    v = loss.derivative(y, 3.0 * rng.normal(size=40))
    np.testing.assert_allclose(conjugate_by_bisection(loss, y, v), loss.conjugate(y, v), atol=1e-12)


@every_loss
def test_the_conjugate_is_infinite_outside_its_domain(loss):
    y = np.array([1.0, -1.0])
    low, high = loss.domain(y)
    for bound, step in ((low, -0.5), (high, 0.5)):
        beyond = np.where(np.isfinite(bound), bound + step, 0.0)
        outside = np.isfinite(bound)
        for conjugate in (loss.conjugate(y, beyond), conjugate_by_bisection(loss, y, beyond)):
            assert np.isinf(conjugate[outside]).all()
            assert np.isfinite(conjugate[~outside]).all()


@every_loss
@given(y=numbers, f=numbers, g=numbers)
def test_fenchel_and_young(loss, y, f, g):
    y, f, g = (np.array([x]) for x in (y, f, g))
    if loss.kind == "classify":
        y = np.where(y > 0, 1.0, -1.0)
    for at in (f, g):
        v = loss.derivative(y, at)
        gap = loss.value(y, f) + loss.conjugate(y, v) - v * f
        assert gap >= -1e-9
        if at is f:
            assert gap <= 1e-9


@every_loss
def test_a_tube_is_the_loss(loss):
    rng = np.random.default_rng(2)
    y, f = targets_of(loss, rng, 50), 3.0 * rng.normal(size=50)
    tube = loss.tube(y)
    assert (tube is None) == loss.smooth
    if tube is not None:
        r = tube.z - f
        above, below = np.maximum(r - tube.eps, 0.0), np.maximum(-r - tube.eps, 0.0)
        np.testing.assert_allclose(tube.hi * above - tube.lo * below, loss.value(y, f), atol=1e-12)


def test_relations_between_losses():
    rng = np.random.default_rng(3)
    y, f = rng.normal(size=(2, 30))
    np.testing.assert_allclose(Huber(delta=1e6).value(y, f), Squared().value(y, f))
    np.testing.assert_allclose(2.0 * Quantile(0.5).value(y, f), Absolute().value(y, f))
    np.testing.assert_allclose(EpsilonInsensitive(0.0).value(y, f), Absolute().value(y, f))
    sign = np.sign(y)
    np.testing.assert_allclose(SquaredHinge().value(sign, f), Hinge().value(sign, f) ** 2)


def test_logistic_loss_of_huge_margins_neither_overflows_nor_vanishes():
    y, f = np.array([1.0, 1.0]), np.array([-1e4, 1e4])
    np.testing.assert_array_equal(Logistic().value(y, f), [1e4, 0.0])
    np.testing.assert_array_equal(Logistic().derivative(y, f), [-1.0, 0.0])


# ---------------------------------------------------------------- one's own
def test_a_loss_of_ones_own_gets_curvature_and_conjugate():
    loss, y, f = LogCosh(), np.zeros(5), np.linspace(-2.0, 2.0, 5)
    np.testing.assert_allclose(loss.curvature(y, f), 1.0 / np.cosh(f) ** 2, atol=1e-8)
    v = np.linspace(-0.9, 0.9, 5)
    wanted = 0.5 * ((1 + v) * np.log1p(v) + (1 - v) * np.log1p(-v))  # minus an entropy
    np.testing.assert_allclose(loss.conjugate(y, v), wanted, atol=1e-12)
    assert check_loss(loss).ok
    assert check_loss(BareLogistic()).ok


def test_what_a_loss_lacks_is_named():
    class OnlyValue(Loss):
        def value(self, y, f):
            return (y - f) ** 2

    with pytest.raises(NotImplementedError, match=r"OnlyValue.*derivative\(y, f\)"):
        check_loss(OnlyValue())


def broken(**methods):
    return type("Broken", (Squared,), methods)()


WRONG = {
    "convex": broken(
        value=lambda self, y, f: np.sqrt(np.abs(y - f)),
        derivative=lambda self, y, f: np.sign(f - y) / (2 * np.sqrt(np.abs(y - f))),
    ),
    "derivative": broken(derivative=lambda self, y, f: f - y),
    "smooth as it says": broken(
        value=lambda self, y, f: np.abs(y - f), derivative=lambda self, y, f: np.sign(f - y)
    ),
    "curvature": broken(curvature=lambda self, y, f: np.ones_like(f)),
    "conjugate": broken(conjugate=lambda self, y, v: v * y + v**2),
}


@pytest.mark.parametrize("test", WRONG)
def test_the_check_finds_what_is_wrong(test):
    report = check_loss(WRONG[test])
    assert not report
    assert not report.tests[test]
    assert f"y = {report.witness['y']:.4g}" in report.reason
    assert "NO" in str(report)
    assert "Broken" in report._repr_html_()


def test_a_loss_that_is_not_a_number_is_not_passed():
    assert not check_loss(broken(value=lambda self, y, f: np.full_like(f, np.nan)))


# ---------------------------------------------------------------- names and parameters
def test_losses_by_name():
    assert as_loss("hinge") == Hinge()
    assert as_loss("Squared_Hinge") == SquaredHinge()
    loss = Huber(delta=0.3)
    assert as_loss(loss) is loss
    assert clone(loss) == loss != Huber()
    assert hash(clone(loss)) == hash(loss)


def test_what_is_no_loss_is_refused():
    with pytest.raises(ValueError, match=r"loss must be one of .*hinge.*; got 'hing'"):
        as_loss("hing")
    with pytest.raises(TypeError, match=r"write Hinge\(\), with brackets"):
        as_loss(Hinge)
    with pytest.raises(TypeError, match="loss must be a Loss or a name such as 'hinge'; got int"):
        as_loss(3)


@pytest.mark.parametrize(
    ("loss", "name"), [(Huber(0.0), "delta"), (Quantile(1.0), "q"), (EpsilonInsensitive(-1), "eps")]
)
def test_parameters_are_checked(loss, name):
    with pytest.raises(ValueError, match=f"'{name}.*' parameter of {type(loss).__name__}"):
        check_loss(loss)


def test_a_kind_that_is_none_is_refused():
    with pytest.raises(ValueError, match="'classify' or 'regress'; Broken has 'rank'"):
        check_loss(broken(kind="rank"))


# ---------------------------------------------------------------- sums over a sample
def softmax_risk(rng, n=12, k=3):
    codes = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    return SoftmaxRisk(codes, rng.uniform(0.5, 2.0, n), k)


def risks():
    rng = np.random.default_rng(4)
    made = [
        ScalarRisk(loss, targets_of(loss, rng, 12), rng.uniform(0.5, 2.0, 12)) for loss in LOSSES
    ]
    return [*made, softmax_risk(rng)]


every_risk = pytest.mark.parametrize("risk", risks(), ids=[*map(repr, LOSSES), "softmax"])


@every_risk
def test_slopes_are_the_gradient(risk):
    G = np.random.default_rng(5).normal(size=(12, risk.n_outputs))
    error = check_grad(
        lambda g: risk.value(g.reshape(G.shape)),
        lambda g: risk.slopes(g.reshape(G.shape)).ravel(),
        G.ravel(),
    )
    assert error < 1e-5


@every_risk
def test_curvature_is_the_derivative_of_the_slopes(risk):
    rng = np.random.default_rng(6)
    G, V = rng.normal(size=(2, 12, risk.n_outputs))
    curve, h = risk.curvature(G), 1e-6
    change = (risk.slopes(G + h * V) - risk.slopes(G - h * V)) / (2 * h)
    np.testing.assert_allclose(curve.apply(V), change, atol=1e-6)
    np.testing.assert_allclose(curve.root(curve.root_transposed(V)), curve.apply(V), atol=1e-12)


def test_entries_of_the_softmax_curvature():
    rng = np.random.default_rng(7)
    curve = softmax_risk(rng).curvature(rng.normal(size=(12, 3)))
    weight = rng.uniform(0.5, 2.0, (12, 3))
    E = np.eye(3)
    for c in range(3):
        for d in range(3):
            V = np.tile(E[d], (12, 1))
            np.testing.assert_allclose(curve.entry(c, d), curve.apply(V)[:, c], atol=1e-14)
            weighted = curve.root(weight * curve.root_transposed(V))
            np.testing.assert_allclose(curve.entry(c, d, weight), weighted[:, c], atol=1e-14)
        own = curve.root_transposed(curve.root(np.tile(E[c], (12, 1))))
        np.testing.assert_allclose(curve.gauge()[:, c], own[:, c], atol=1e-14)


@every_risk
def test_the_best_offset_is_the_least_value(risk):
    F = np.random.default_rng(8).normal(size=(12, risk.n_outputs))
    b = risk.offset(F, np.zeros(risk.n_outputs))
    for step in 1e-3 * np.eye(risk.n_outputs):
        assert risk.value(F + b) <= min(risk.value(F + b + step), risk.value(F + b - step)) + 1e-12


@every_risk
def test_young_terms_are_not_negative_and_vanish_at_the_slopes(risk):
    rng = np.random.default_rng(9)
    G, other = rng.normal(size=(2, 12, risk.n_outputs))
    own, U = (risk.dual_point(risk.slopes(at), False) for at in (G, other))
    np.testing.assert_allclose(risk.young(G, own), 0.0, atol=1e-12)
    young = risk.young(G, U)
    assert (young >= 0).all()
    np.testing.assert_allclose(  # Σ {w [ℓ(g) + ℓ*(u/w)] − ug} is linear in g but for the value
        young.sum() - risk.value(G) + (U * G).sum(),
        risk.young(other, U).sum() - risk.value(other) + (U * other).sum(),
        atol=1e-10,
    )


@every_risk
@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
def test_a_dual_point_lies_in_the_domain_and_is_balanced(risk, size):
    U = size * np.random.default_rng(10).normal(size=(12, risk.n_outputs))
    G = np.zeros_like(U)
    for balanced in (True, False):
        point = risk.dual_point(U, balanced)
        assert np.isfinite(risk.young(G, point)).all()
    np.testing.assert_allclose(risk.dual_point(U, True).sum(axis=0), 0.0, atol=1e-10 * size)


def test_an_offset_without_a_least_value_is_refused():
    risk = ScalarRisk(Logistic(), np.ones(3), np.ones(3))  # one class: b grows for ever
    exponential = ScalarRisk(
        broken(derivative=lambda self, y, f: -np.ones_like(f)), np.ones(3), np.ones(3)
    )
    with pytest.raises(ValueError, match="no least value on these targets"):
        exponential.offset(np.zeros((3, 1)), np.zeros(1))
    assert (
        risk.slopes(np.array([[1e3]] * 3) + risk.offset(np.zeros((3, 1)), np.zeros(1))).sum() == 0
    )


def test_the_supremum_of_a_bare_loss_agrees_with_scipy():
    y, v = np.array([0.7]), np.array([0.4])
    best = minimize_scalar(lambda f: float((LogCosh().value(y, f) - v * f)[0]), tol=1e-14)
    np.testing.assert_allclose(LogCosh().conjugate(y, v), -best.fun, atol=1e-12)
