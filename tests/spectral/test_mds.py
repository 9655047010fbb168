"""Classical scaling: Euclidean distances come back, others leave negative eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.manifold import ClassicalMDS

from mercer import MDS, Isomap, check_distance, schoenberg
from tests.cases import table
from tests.compare import refuses
from tests.test_schoenberg import STAR, TRANSFORMS, distances

X, NEW = table(25, 4) * np.array([3.0, 2.0, 1.0, 0.5]), table(9, 4, seed=1)
D = distances(X)
NEW_D = np.sqrt(((NEW[:, None] - X) ** 2).sum(axis=2))


def assert_same_up_to_sign(got, wanted, atol):
    signs = np.sign((got * wanted).sum(axis=0))
    np.testing.assert_allclose(got * signs, wanted, atol=atol)


# ---------------------------------------------------------------- distances come back
@pytest.mark.parametrize("shape", [(12, 3), (6, 20), (2, 2), (700, 3)])
@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_euclidean_distances_are_reproduced(shape, metric):
    rows = table(*shape)
    wanted = distances(rows)
    model = MDS(min(shape), metric=metric)
    Z = model.fit_transform(wanted if metric == "precomputed" else rows)
    np.testing.assert_allclose(distances(Z), wanted, atol=1e-10)
    assert model.is_euclidean_
    assert model.stress_ < 1e-10
    np.testing.assert_allclose(model.goodness_of_fit_, 1.0, rtol=1e-10)
    assert "note" not in model.certificate_.parts


@settings(max_examples=30, deadline=None)
@given(rows=arrays(np.float64, (6, 3), elements=st.floats(-100, 100)))
def test_any_points_come_back(rows):
    for metric, given_rows in (("euclidean", rows), ("precomputed", distances(rows))):
        Z = MDS(5, metric=metric).fit_transform(given_rows)
        # classical scaling of D squares it: half of the digits of tiny coordinates go
        atol = 1e-10 if metric == "euclidean" else 1e-6
        np.testing.assert_allclose(distances(Z), distances(rows), atol=atol * 100)


@pytest.mark.parametrize("scale", [1e-150, 1e149])
@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_tiny_and_huge_distances_come_back(scale, metric):
    model = MDS(4, metric=metric).fit(scale * (D if metric == "precomputed" else X))
    np.testing.assert_allclose(distances(model.embedding_ / scale), D, atol=1e-9)
    assert model.certificate_.ok
    assert model.stress_ < 1e-9


# ---------------------------------------------------------------- what it equals
def test_of_a_table_it_is_pca():
    pca = PCA(3).fit(X)
    model = MDS(3).fit(X)
    assert_same_up_to_sign(model.embedding_, pca.transform(X), atol=1e-12)
    assert_same_up_to_sign(model.transform(NEW), pca.transform(NEW), atol=1e-12)
    np.testing.assert_allclose(model.eigenvalues_ / 24, pca.explained_variance_)
    np.testing.assert_allclose(model.goodness_of_fit_, pca.explained_variance_ratio_.sum())


def test_it_equals_scikit_learn_up_to_sign():
    reference = ClassicalMDS(3, metric="precomputed").fit(D)
    model = MDS(3, metric="precomputed").fit(D)
    assert_same_up_to_sign(model.embedding_, reference.embedding_, atol=1e-10)
    np.testing.assert_allclose(model.eigenvalues_, reference.eigenvalues_, rtol=1e-10)


@pytest.mark.parametrize("transform", [None, *TRANSFORMS], ids=repr)
def test_a_table_and_its_distances_give_the_same(transform):
    by_table = MDS(3, transform=transform).fit(X)
    by_distances = MDS(3, metric="precomputed", transform=transform).fit(D)
    np.testing.assert_allclose(by_table.eigenvalues_, by_distances.eigenvalues_, rtol=1e-9)
    assert_same_up_to_sign(by_table.embedding_, by_distances.embedding_, atol=1e-9)
    assert_same_up_to_sign(by_table.transform(NEW), by_distances.transform(NEW_D), atol=1e-9)
    assert by_table.stress_ == pytest.approx(by_distances.stress_, abs=1e-9)
    np.testing.assert_allclose(by_table.goodness_of_fit_, by_distances.goodness_of_fit_)
    assert by_distances.is_euclidean_


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
def test_transformed_distances_are_reproduced(transform):
    Z = MDS(24, transform=transform).fit_transform(X)
    np.testing.assert_allclose(distances(Z) ** 2, transform(D**2), atol=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
@pytest.mark.parametrize("transform", [None, "logarithm", schoenberg.Power(p=0.7)])
def test_training_points_are_new_points_too(metric, transform):
    rows = D if metric == "precomputed" else X
    model = MDS(2, metric=metric, transform=transform)
    np.testing.assert_allclose(model.fit_transform(rows), model.transform(rows), atol=1e-10)


def test_new_points_have_the_right_distances_to_old_ones():
    model = MDS(4, metric="precomputed").fit(D)
    gaps = model.transform(NEW_D)[:, None] - model.embedding_
    np.testing.assert_allclose(np.sqrt((gaps**2).sum(axis=2)), NEW_D, atol=1e-10)


# ---------------------------------------------------------------- other distances
def test_negative_eigenvalues_are_reported():
    model = MDS(3, metric="precomputed").fit(STAR)
    report = check_distance(STAR)
    np.testing.assert_allclose(model.negative_eigenvalues_, report.negative_eigenvalues)
    assert not model.is_euclidean_
    assert model.certificate_.negative_eigenvalues == 1
    assert "not Euclidean" in model.certificate_.note
    values = np.linalg.eigvalsh(-0.5 * (np.eye(4) - 0.25) @ STAR**2 @ (np.eye(4) - 0.25))
    positive = values[values > 1e-9].sum()
    wanted = positive / np.abs(values).sum(), 1.0
    np.testing.assert_allclose(model.goodness_of_fit_, wanted)
    assert model.stress_ > 0.01


def test_stress_is_that_of_the_formula():
    model = MDS(2).fit(X)
    found = distances(model.embedding_)
    wanted = np.sqrt(((D - found) ** 2).sum() / (D**2).sum())
    assert model.stress_ == pytest.approx(wanted, rel=1e-10)


# ---------------------------------------------------------------- degenerate and bad input
@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
@pytest.mark.parametrize("transform", [None, "power"])
def test_equal_points_have_no_coordinates(metric, transform):
    rows = np.zeros((5, 5)) if metric == "precomputed" else np.full((5, 3), 0.1)
    model = MDS(metric=metric, transform=transform)
    assert model.fit_transform(rows).shape == (5, 0)
    assert model.transform(rows).shape == (5, 0)
    assert model.stress_ == 0.0


def test_no_more_coordinates_than_the_rank():
    line = np.arange(6.0)[:, None] * np.array([[1.0, 2.0, 3.0]])
    assert MDS(3).fit_transform(line).shape == (6, 1)
    assert MDS(3, metric="precomputed").fit_transform(distances(line)).shape == (6, 1)


def test_the_parameter_and_the_method_of_one_name_live_together():
    model = clone(MDS(transform=schoenberg.Power(p=0.5))).set_params(transform__p=0.25)
    assert model.get_params()["transform"] == schoenberg.Power(p=0.25)
    assert repr(model) == "MDS(transform=Power(p=0.25))"
    wanted = MDS(transform=schoenberg.Power(p=0.25)).fit(X).transform(NEW)
    np.testing.assert_array_equal(model.fit(X).transform(NEW), wanted)
    columns = model.set_output(transform="pandas").transform(NEW).columns
    assert list(columns) == ["mds0", "mds1"]


def test_what_are_no_distances_is_refused():
    fit = MDS(metric="precomputed").fit
    refuses(lambda: fit(np.zeros((3, 2))), ValueError, "square matrix of distances")
    refuses(lambda: fit([[0.0, -1.0], [-1.0, 0.0]]), ValueError, "≥ 0")
    refuses(lambda: fit([[1.0, 1.0], [1.0, 1.0]]), ValueError, "diagonal")
    refuses(lambda: fit([[0.0, 1.0], [2.0, 0.0]]), ValueError, "symmetric")
    refuses(lambda: fit(D).transform(-NEW_D), ValueError, "≥ 0")
    refuses(lambda: MDS(transform="cube").fit(X), ValueError, "'cube'")
    refuses(lambda: MDS().fit(X[:1]), ValueError, "minimum of 2")
    refuses(lambda: MDS(metric="nearby").fit(X), ValueError, "metric")


@pytest.mark.parametrize("model", [MDS(metric="precomputed"), Isomap(metric="precomputed")])
def test_distances_that_are_not_symmetric_are_named(model):
    X = table(12, 2)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    D[3, 7] += 0.5
    refuses(
        lambda: model.fit(D), ValueError, r"X\[3, 7\] = .* X\[7, 3\] = .*fit to \(X \+ X.T\) / 2"
    )
