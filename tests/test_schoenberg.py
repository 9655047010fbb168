"""Schoenberg transforms keep squared distances Euclidean; `check_distance` tells which are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad
from scipy.special import gamma
from sklearn.base import clone

from mercer import check_distance, check_kernel, schoenberg
from tests.cases import table
from tests.compare import refuses

TRANSFORMS = [
    schoenberg.Identity(),
    schoenberg.Exponential(),
    schoenberg.Exponential(a=0.2),
    schoenberg.Logarithm(),
    schoenberg.Logarithm(a=3.0),
    schoenberg.Rational(),
    schoenberg.Rational(a=0.5),
    schoenberg.Power(),
    schoenberg.Power(p=0.9),
    schoenberg.Power(p=1.0),
]
every_transform = pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)


def distances(X):
    return np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))


def centered(C):
    H = np.eye(len(C)) - 1.0 / len(C)
    return -0.5 * H @ C @ H


# ---------------------------------------------------------------- transforms
@every_transform
@settings(max_examples=20, deadline=None)
@given(X=arrays(np.float64, (7, 3), elements=st.floats(-5, 5)))
def test_squared_distances_stay_conditionally_negative_definite(transform, X):
    C = transform(distances(X) ** 2)
    values = np.linalg.eigvalsh(centered(C))
    assert values[0] >= -1e-12 * max(1.0, values[-1])


@every_transform
def test_a_transform_is_zero_at_zero_rises_and_is_concave(transform):
    d = np.linspace(0, 10, 101)
    values = transform(d)
    assert values[0] == 0
    assert (np.diff(values) > 0).all()
    assert (np.diff(values, 2) <= 1e-12).all()


MEASURES = {
    "logarithm": (schoenberg.Logarithm(a=2.0), lambda t: np.exp(-2.0 * t)),
    "rational": (schoenberg.Rational(a=2.0), lambda t: t * np.exp(-2.0 * t)),
    "power": (schoenberg.Power(p=0.4), lambda t: 0.4 / gamma(0.6) * t**-0.4),
}


@pytest.mark.parametrize(("transform", "density"), MEASURES.values(), ids=MEASURES.keys())
@pytest.mark.parametrize("d", [0.3, 1.0, 4.0])
def test_a_transform_is_the_integral_over_its_measure(transform, density, d):
    def integrand(t):
        return -np.expm1(-t * d) / t * density(t)

    near, far = quad(integrand, 0, 1)[0], quad(integrand, 1, np.inf, limit=500)[0]
    np.testing.assert_allclose(transform([d]), near + far, rtol=1e-6)


def test_a_point_mass_is_a_measure_too():
    d = np.array([0.0, 0.5, 2.0])
    np.testing.assert_allclose(schoenberg.Exponential(a=3.0)(d), (1 - np.exp(-3.0 * d)) / 3.0)


def test_small_distances_lose_no_digits():
    d = np.array([1e-20, 1e-12])
    for transform in (schoenberg.Exponential(), schoenberg.Logarithm(), schoenberg.Rational()):
        np.testing.assert_allclose(transform(d), d, rtol=1e-11)


def test_a_transform_does_not_touch_its_argument():
    d = np.array([1.0, 2.0])
    schoenberg.Rational()(d)
    assert d.tolist() == [1.0, 2.0]


@every_transform
def test_transforms_are_values(transform):
    again = clone(transform)
    assert again == transform
    assert eval(repr(again), vars(schoenberg)) == transform


def test_transforms_have_names():
    for name, kind in schoenberg.NAMES.items():
        assert schoenberg.as_transform(name) == kind()
    assert schoenberg.as_transform(None) == schoenberg.Identity()


def test_what_is_no_transform_is_refused():
    refuses(lambda: schoenberg.as_transform("cube"), ValueError, "'cube'")
    refuses(lambda: schoenberg.as_transform(schoenberg.Power), ValueError, "brackets")
    refuses(lambda: schoenberg.as_transform(schoenberg.Power(p=1.5)), ValueError, "'p' parameter")
    refuses(lambda: schoenberg.Logarithm(a=0.0)([1.0]), ValueError, "'a' parameter")
    refuses(lambda: schoenberg.Power()([-1.0]), ValueError, "≥ 0")
    refuses(lambda: schoenberg.Power()([np.nan]), ValueError, "finite")


# ---------------------------------------------------------------- the embedding theorem
@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0])
def test_gaussian_of_euclidean_distances_is_a_kernel(lam):
    K = schoenberg.gaussian(distances(table(12, 3)), lam)
    assert check_kernel("precomputed", K).ok


def test_gaussian_of_other_distances_is_none_for_small_lam():
    assert not check_kernel("precomputed", schoenberg.gaussian(STAR, 0.05)).psd


def test_gaussian_refuses_what_is_no_distance():
    refuses(lambda: schoenberg.gaussian([[-1.0]]), ValueError, "≥ 0")
    refuses(lambda: schoenberg.gaussian([[1.0]], 0.0), ValueError, "lam must be a number > 0")


# ---------------------------------------------------------------- check_distance
STAR = np.array([[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]], dtype=float)
"""Steps from a centre to three ends: a metric that no points of a Euclidean space have."""


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("shape", [(1, 2), (2, 1), (9, 3), (4, 12)])
def test_euclidean_distances_pass(shape, scale):
    D = distances(table(*shape))
    report = check_distance(D * scale)
    assert report.ok
    assert report.metric
    assert report.witness is None
    assert len(report.negative_eigenvalues) == 0


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_a_metric_that_is_not_euclidean_has_a_witness(scale):
    report = check_distance(STAR * scale)
    assert report.metric
    assert not report.euclidean
    assert not report
    v = report.witness
    assert abs(v.sum()) < 1e-14
    assert v @ STAR**2 @ v > 0.1
    wanted = np.linalg.eigvalsh(centered(STAR**2))
    np.testing.assert_allclose(
        report.negative_eigenvalues / scale**2, wanted[wanted < -1e-9], rtol=1e-9
    )
    assert "not a Euclidean" in str(report)


def test_a_transform_repairs_a_metric():
    C = schoenberg.Power(p=0.5)(STAR**2)
    assert check_distance(np.sqrt(C)).ok


def broken(place, value):
    D = distances(table(5, 2))
    D[place] = value
    return D


FAULTS = {
    "symmetric": (broken((0, 1), 9.0), (0, 1)),
    "zero_diagonal": (broken((2, 2), 0.5), (2,)),
    "non_negative": (-distances(table(5, 2)), None),
    "triangle": (np.array([[0.0, 5.0, 1.0], [5.0, 0.0, 1.0], [1.0, 1.0, 0.0]]), (0, 2, 1)),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_named_with_the_points_that_show_it(name):
    D, culprits = FAULTS[name]
    report = check_distance(D)
    assert not getattr(report, name)
    assert not report.ok
    assert not report.metric
    if culprits is not None:
        assert report.culprits == culprits
        assert all(f"{i}" in report.reason for i in culprits)


@settings(max_examples=30, deadline=None)
@given(D=arrays(np.float64, (5, 5), elements=st.floats(0, 4)))
def test_the_triangle_inequality_is_that_of_three_loops(D):
    D = D + D.T
    np.fill_diagonal(D, 0.0)
    worst = max(D[x, z] - D[x, y] - D[y, z] for x in range(5) for y in range(5) for z in range(5))
    assert check_distance(D).triangle == (worst <= 1e-8 * D.max())


def test_of_many_points_some_are_looked_at():
    D = distances(table(60, 2))
    report = check_distance(D, max_points=20)
    assert report.ok
    assert len(report.points) == 20


def test_what_is_no_square_matrix_is_refused():
    refuses(lambda: check_distance(np.zeros((2, 3))), ValueError, "square matrix of distances")
    refuses(lambda: check_distance([[np.nan]]), ValueError, "NaN")
    refuses(lambda: check_distance([[0.0]], tol=-1), ValueError, "tol must be ≥ 0")
