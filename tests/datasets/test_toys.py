"""Made-up data: the geometry is what the formulas say."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn import datasets as sklearn_datasets

import mercer.datasets
from mercer import ICA, SVC, Isomap, KernelPCA
from mercer.datasets import (
    make_arc,
    make_banana,
    make_circles,
    make_clusters,
    make_cocktail_party,
    make_moons,
    make_swiss_roll,
    make_xor,
)
from mercer.kernels import RBF, Polynomial
from tests.compare import refuses

TOYS = [
    make_xor,
    make_circles,
    make_moons,
    make_swiss_roll,
    make_arc,
    make_clusters,
    make_banana,
    make_cocktail_party,
]
every_toy = pytest.mark.parametrize("make", TOYS, ids=lambda make: make.__name__)


@every_toy
@pytest.mark.parametrize("n", [2, 7, 60])
def test_there_are_as_many_points_as_asked_for(make, n):
    X, y = make(n, random_state=0)
    assert len(X) == len(y) == n
    assert np.isfinite(X).all()


@every_toy
def test_the_seed_decides_and_a_generator_will_do(make):
    first, again = make(50, noise=0.1, random_state=3), make(50, noise=0.1, random_state=3)
    other = make(50, noise=0.1, random_state=4)
    drawn = [make(50, noise=0.1, random_state=np.random.default_rng(5)) for _ in range(2)]
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(drawn[0][0], drawn[1][0])
    assert not np.array_equal(first[0], other[0])


@every_toy
def test_all_options_are_named(make):
    kinds = [p.kind for p in list(inspect.signature(make).parameters.values())[1:]]
    assert set(kinds) == {inspect.Parameter.KEYWORD_ONLY}


@every_toy
@pytest.mark.parametrize("n", [0, -3, 2.5, "many", True])
def test_a_size_that_is_none_is_refused(make, n):
    refuses(lambda: make(n), ValueError, "n_samples must be a whole number of at least")


@every_toy
@pytest.mark.parametrize("noise", [-0.1, np.nan, np.inf, "loud"])
def test_a_noise_that_is_none_is_refused(make, noise):
    refuses(lambda: make(10, noise=noise), ValueError, "noise must be a standard deviation")


@pytest.mark.parametrize("make", [make_xor, make_circles, make_moons, make_banana])
def test_two_classes_are_balanced(make):
    _, y = make(100, random_state=0)
    assert np.bincount(y).tolist() == [50, 50]


def test_three_clusters_are_balanced_and_in_order():
    X, y = make_clusters(90, noise=0.0)
    assert np.bincount(y).tolist() == [30, 30, 30]
    assert (np.diff(y) >= 0).all()
    assert len(np.unique(X, axis=0)) == 3


# ---------------------------------------------------------------- shapes
def test_no_line_separates_xor_and_a_quadratic_does():
    X, y = make_xor(200, noise=0.2, random_state=0)
    # an affine function that is right on all four corners would need c + a·0 of both signs
    assert SVC("linear", C=1e3).fit(X, y).score(X, y) < 0.8
    assert SVC(Polynomial(degree=2, bias=1.0), C=1e3).fit(X, y).score(X, y) == 1.0
    np.testing.assert_array_equal(y, X[:, 0] * X[:, 1] < 0)


def test_the_corners_of_xor_are_all_there():
    X, _ = make_xor(8, noise=0.0, random_state=1)
    corners, counts = np.unique(X, axis=0, return_counts=True)
    np.testing.assert_array_equal(np.abs(corners), 1.0)
    assert counts.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("factor", [0.0, 0.35, 0.9])
def test_circles_have_their_radii(factor):
    X, y = make_circles(80, factor=factor, noise=0.0, random_state=0)
    np.testing.assert_allclose(np.hypot(*X.T), np.where(y == 0, 1.0, factor), atol=1e-12)


@pytest.mark.parametrize("factor", [-0.1, 1.0, np.nan, True])
def test_an_inner_ring_lies_inside(factor):
    refuses(lambda: make_circles(factor=factor), ValueError, "factor must be a number from 0")


def test_circles_moons_and_the_roll_are_scikit_learns():
    for ours, theirs in [
        (make_circles(40, factor=0.5, noise=0.0), sklearn_datasets.make_circles(40, factor=0.5)),
        (make_moons(40, noise=0.0), sklearn_datasets.make_moons(40)),
    ]:
        rows = [np.column_stack(pair).round(9) for pair in (ours, theirs)]
        np.testing.assert_allclose(*[r[np.lexsort(r.T)] for r in rows], atol=1e-8)


def test_the_roll_is_a_spiral_of_given_angle_that_isomap_unrolls():
    X, t = make_swiss_roll(800, random_state=0)
    np.testing.assert_allclose(X[:, 0], t * np.cos(t), atol=1e-12)
    np.testing.assert_allclose(X[:, 2], t * np.sin(t), atol=1e-12)
    length = 0.5 * (t * np.sqrt(1 + t**2) + np.arcsinh(t))  # of the spiral r = t
    score = Isomap(7, n_components=2).fit_transform(X)[:, 0]
    assert abs(np.corrcoef(score, length)[0, 1]) > 0.99


def test_kernel_pca_runs_along_the_arc():
    X, t = make_arc(noise=0.0, random_state=0)
    assert (np.diff(t) >= 0).all()
    np.testing.assert_allclose(np.arctan2(X[:, 1], X[:, 0]), t, atol=1e-12)
    steps = np.diff(KernelPCA(n_components=1, kernel=RBF(gamma=0.3)).fit_transform(X)[:, 0])
    assert (steps > 0).all() or (steps < 0).all()


def test_bananas_are_arcs_of_radius_five():
    X, y = make_banana(300, noise=0.0, random_state=0)
    np.testing.assert_allclose(np.hypot(*(X + 3.75 * y[:, None]).T), 5.0, atol=1e-12)
    bent = SVC(RBF(gamma=0.1), C=10.0).fit(X, y).score(X, y)
    assert bent == 1.0 > SVC("linear").fit(X, y).score(X, y)


# ---------------------------------------------------------------- the party
@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_party_is_mixed_from_standard_sounds(k):
    X, S, A = make_cocktail_party(4000, n_sources=k, random_state=0, return_mixing=True)
    np.testing.assert_allclose(X, S @ A.T, atol=1e-12)
    np.testing.assert_allclose(S.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(S.std(axis=0), 1.0, atol=1e-12)
    assert (A.argmax(axis=1) == np.arange(k)).all()
    assert np.linalg.cond(A) < 20


@pytest.mark.parametrize("seed", range(3))
def test_independent_components_are_the_sounds(seed):
    X, S = make_cocktail_party(random_state=seed)
    found = ICA(3, random_state=0).fit_transform(X)
    match = np.abs(np.corrcoef(found.T, S.T)[:3, 3:])
    rows, columns = linear_sum_assignment(-match)
    assert match[rows, columns].min() > 0.97
    assert np.abs(np.corrcoef(X.T, S.T)[:3, 3:]).max() < 0.97, "nothing to separate"


@pytest.mark.parametrize("k", [1, 5, 2.0])
def test_a_party_of_two_to_four(k):
    refuses(lambda: make_cocktail_party(100, n_sources=k), ValueError, "n_sources must be")


def test_names_are_listed_and_explained():
    for name in mercer.datasets.__all__:
        thing = getattr(mercer.datasets, name)
        assert name == "FORMATS" or inspect.getdoc(thing).splitlines()[0].endswith(".")
