"""Norms are what their axioms say; their duals, balls and steepest directions belong together."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from mercer.norms import (
    L0,
    L1,
    L2,
    Linf,
    Lp,
    Mahalanobis,
    Norm,
    Quadratic,
    as_norm,
    counterexample,
    inner,
)
from tests.compare import assert_close, refuses

RNG = np.random.default_rng(0)
ROOT = RNG.standard_normal((3, 3))
P = ROOT @ ROOT.T + 0.1 * np.eye(3)
NORMS = {
    "L1": L1,
    "L1.5": Lp(1.5),
    "L2": L2,
    "L3": Lp(3),
    "Linf": Linf,
    "quadratic": Quadratic(P),
    "mahalanobis": Mahalanobis(P),
}
every_norm = pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS.keys())
vectors = arrays(np.float64, 3, elements=st.floats(-10, 10, allow_subnormal=False))


# ---------------------------------------------------------------- lengths
@pytest.mark.parametrize("p", [1, 1.5, 2, 3, np.inf])
def test_powers_agree_with_numpy(p):
    X = RNG.standard_normal((20, 5))
    assert_close(Lp(p).value(X), [np.linalg.norm(x, ord=p) for x in X])


def test_a_vector_gives_a_number_and_a_table_one_for_each_row():
    assert isinstance(L2.value([3.0, 4.0]), float)
    assert L2([[3.0, 4.0], [0.0, 1.0]]).tolist() == [5.0, 1.0]


@pytest.mark.parametrize("norm", [L1, Lp(1.5), L2, Lp(7), Linf], ids=repr)
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_lengths_neither_overflow_nor_vanish(norm, scale):
    x = np.array([3.0, -4.0, 0.5])
    assert norm.value(scale * x) == pytest.approx(scale * norm.value(x), rel=1e-13)


def test_the_count_of_entries():
    assert L0.value([[0.0, 2.0, -1e-300], [0.0, 0.0, 0.0]]).tolist() == [2.0, 0.0]


def test_a_quadratic_norm_is_its_formula():
    X = RNG.standard_normal((9, 3))
    assert_close(Quadratic(P).value(X), [np.sqrt(x @ P @ x) for x in X])


def test_mahalanobis_is_euclidean_after_whitening():
    X, Y = RNG.standard_normal((7, 3)), RNG.standard_normal((5, 3))
    norm = Mahalanobis(P)
    reference = cdist(X, Y, "mahalanobis", VI=np.linalg.inv(P))
    np.testing.assert_allclose(norm.distances(X, Y), reference, rtol=1e-10)
    np.testing.assert_allclose(
        norm.distances(X, Y), cdist(norm.whiten(X), norm.whiten(Y)), rtol=1e-12
    )
    sample = RNG.multivariate_normal(np.zeros(3), P, 500)
    white = Mahalanobis(np.cov(sample.T)).whiten(sample)
    np.testing.assert_allclose(np.cov(white.T), np.eye(3), atol=1e-12)


@every_norm
def test_distances_are_lengths_of_differences(norm):
    X, Y = RNG.standard_normal((4, 3)), RNG.standard_normal((6, 3))
    expected = [[norm.value(x - y) for y in Y] for x in X]
    assert_close(norm.distances(X, Y), expected)


# ---------------------------------------------------------------- axioms
@every_norm
@given(x=vectors, y=vectors, a=st.floats(-5, 5))
def test_the_axioms_hold(norm, x, y, a):
    slack = 1e-9 * (1e-200 + norm.value(x) + norm.value(y))
    assert norm.is_norm
    assert norm.value(x) >= 0.0
    assert (norm.value(x) == 0.0) == (not x.any())
    assert norm.value(x + y) <= norm.value(x) + norm.value(y) + slack
    assert abs(norm.value(a * x) - abs(a) * norm.value(x)) <= abs(a) * slack + 1e-300


@every_norm
def test_no_counterexample_against_a_norm(norm):
    assert counterexample(norm, 3) is None


@pytest.mark.parametrize("p", [0.1, 0.5, 0.99])
def test_below_one_the_triangle_inequality_fails(p):
    found = counterexample(Lp(p), 3)
    assert not Lp(p).is_norm
    assert found.axiom == "‖x + y‖ ≤ ‖x‖ + ‖y‖"
    assert Lp(p).value(found.x + found.y) == found.left > found.right
    assert found.right == Lp(p).value(found.x) + Lp(p).value(found.y)


def test_the_count_is_no_norm_because_scaling_does_not_change_it():
    found = counterexample(L0)
    assert not L0.is_norm
    assert found.axiom == "‖ax‖ = |a|‖x‖"
    assert found.left != found.right


@pytest.mark.parametrize(
    ("function", "axiom"),
    [
        (lambda x: np.abs(x).max() + 1.0, "‖0‖ = 0"),
        (lambda x: abs(x[0]), "0 < ‖x‖"),
        (lambda x: x @ x, "‖ax‖ = |a|‖x‖"),
    ],
    ids=["shifted", "blind", "squared"],
)
def test_functions_that_are_no_norms(function, axiom):
    assert counterexample(function, 2).axiom.startswith(axiom)


# ---------------------------------------------------------------- duality and descent
@every_norm
@given(x=vectors, g=vectors)
def test_the_dual_norm_bounds_inner_products(norm, x, g):
    product = norm.value(x) * norm.dual().value(g)
    assert abs(x @ g) <= product * (1 + 1e-9) + 1e-200


@every_norm
def test_the_steepest_direction_attains_the_dual_norm(norm):
    for g in RNG.standard_normal((5, 3)):
        u, d = norm.steepest(g, normalized=True), norm.steepest(g)
        size = norm.dual().value(g)
        assert norm.value(u) == pytest.approx(1.0, rel=1e-12)
        assert g @ u == pytest.approx(-size, rel=1e-12)
        np.testing.assert_allclose(d, size * u, rtol=1e-12)
    assert not norm.steepest(np.zeros(3)).any()


@every_norm
def test_no_direction_of_length_one_is_steeper(norm):
    g = np.array([1.0, -2.0, 0.5])
    rays = RNG.standard_normal((2000, 3))
    rays /= norm.value(rays)[:, None]
    assert (rays @ g).min() >= g @ norm.steepest(g, normalized=True) - 1e-12


@every_norm
def test_the_dual_of_the_dual_is_the_norm(norm):
    X = RNG.standard_normal((6, 3))
    np.testing.assert_allclose(norm.dual().dual().value(X), norm.value(X), rtol=1e-12)


def test_known_steepest_directions():
    g = np.array([1.0, -3.0, 2.0])
    assert L2.steepest(g).tolist() == pytest.approx([-1.0, 3.0, -2.0])
    assert L1.steepest(g).tolist() == [0.0, 3.0, 0.0]
    assert Linf.steepest(g).tolist() == [-6.0, 6.0, -6.0]
    np.testing.assert_allclose(P @ Quadratic(P).steepest(g), -g, rtol=1e-9)


def test_steepest_directions_survive_any_scale():
    for scale in (1e-150, 1e150):
        direction = Lp(1.1).steepest(scale * np.array([1.0, 0.5]), normalized=True)
        np.testing.assert_allclose(direction, Lp(1.1).steepest([1.0, 0.5], normalized=True))


# ---------------------------------------------------------------- balls
@pytest.mark.parametrize(
    "norm", [Lp(0.5), L1, L2, Lp(4), Linf, Quadratic([[2.0, 1.0], [1.0, 3.0]])], ids=str
)
def test_the_boundary_of_the_ball_has_length_one(norm):
    points = norm.ball(80)
    assert points.shape == (81, 2)
    np.testing.assert_allclose(norm.value(points), 1.0, rtol=1e-12)
    assert np.array_equal(points[0], points[-1])


def test_corners_are_on_the_boundary():
    for norm, corner in ((L1, [0.0, 1.0]), (Linf, [1.0, 1.0]), (Lp(0.5), [0.0, 1.0])):
        assert np.abs(norm.ball() - corner).max(axis=1).min() < 1e-12


# ---------------------------------------------------------------- values
@every_norm
def test_norms_are_values(norm):
    twin = pickle.loads(pickle.dumps(norm))
    assert twin == norm == copy.deepcopy(norm)
    assert hash(twin) == hash(norm)
    assert norm != Lp(17.0)
    with pytest.raises(AttributeError):
        norm.p = 3.0


def test_a_matrix_inside_a_norm_cannot_be_changed():
    given_matrix = np.eye(2)
    norm = Quadratic(given_matrix)
    given_matrix[0, 0] = 100.0
    assert norm.value([1.0, 0.0]) == 1.0
    refuses(lambda: norm.P.__setitem__((0, 0), 5.0), ValueError, "read-only")


def test_names_and_powers_make_norms():
    assert [as_norm(n) for n in ("l0", "L1", "l2", "linf", 3)] == [L0, L1, L2, Linf, Lp(3)]
    assert as_norm(NORMS["quadratic"]) is NORMS["quadratic"]


def test_the_inner_product_of_matrices_is_a_trace():
    A, B = RNG.standard_normal((2, 4, 3))
    assert inner(A, B) == pytest.approx(np.trace(A.T @ B), rel=1e-12)
    assert inner(A, A) == pytest.approx(np.linalg.norm(A) ** 2, rel=1e-12)


def test_a_norm_of_ones_own_needs_its_length_only():
    class Sum(Norm):
        def value(self, x):
            return L1.value(x) + Linf.value(x)

    assert counterexample(Sum(), 3) is None
    assert Sum().distances([[0.0, 0.0]], [[1.0, 2.0]]).tolist() == [[5.0]]
    np.testing.assert_allclose(Sum().value(Sum().ball(16)), 1.0)


def test_the_ball_of_an_independent_minimiser_agrees():
    # min gᵀu over uᵀPu ≤ 1 by SciPy's SLSQP
    g = np.array([1.0, -2.0, 0.5])
    bound = {"type": "ineq", "fun": lambda u: 1.0 - u @ P @ u}
    found = minimize(lambda u: g @ u, np.zeros(3), constraints=[bound], method="SLSQP", tol=1e-12)
    np.testing.assert_allclose(found.x, Quadratic(P).steepest(g, normalized=True), atol=1e-5)


# ---------------------------------------------------------------- bad input
BAD = {
    "negative power": (lambda: Lp(-1), "p must be"),
    "power of text": (lambda: Lp("two"), "p must be"),
    "power NaN": (lambda: Lp(np.nan), "p must be"),
    "name": (lambda: as_norm("l7"), "norm must be"),
    "dual of none": (lambda: Lp(0.5).dual(), "not a norm"),
    "steepest of none": (lambda: L0.steepest([1.0]), "not a norm"),
    "ball of the count": (lambda: L0.ball(), "the axes"),
    "ball in space": (lambda: Quadratic(P).ball(), "3 axes"),
    "ball of two points": (lambda: L1.ball(2), "at least 3"),
    "not square": (lambda: Quadratic([[1.0, 2.0]]), "square"),
    "not symmetric": (lambda: Quadratic([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
    "indefinite": (lambda: Quadratic([[1.0, 2.0], [2.0, 1.0]]), "least eigenvalue is -1"),
    "singular": (lambda: Mahalanobis([[1.0, 1.0], [1.0, 1.0]]), "positive definite"),
    "not finite": (lambda: L1.value([np.inf, 1.0]), "finite"),
    "wrong length": (lambda: Quadratic(P).value([1.0, 2.0]), "3 entries"),
    "a table of gradients": (lambda: L1.steepest(np.ones((2, 2))), "one vector"),
    "shapes": (lambda: inner([1.0], [1.0, 2.0]), "same shape"),
}


@pytest.mark.parametrize(("call", "match"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named(call, match):
    refuses(call, ValueError, match)
