"""Kernel k-means in the span of landmarks, over rows in blocks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from mercer import KernelKMeans, load, rows, save
from mercer.kernels import RBF

RNG = np.random.default_rng(0)
ANGLE = RNG.uniform(0, 2 * np.pi, 600)
RADIUS = np.where(np.arange(600) < 300, 1.0, 4.0) + 0.1 * RNG.normal(size=600)
RINGS = np.column_stack([RADIUS * np.cos(ANGLE), RADIUS * np.sin(ANGLE)])
BLOBS = RNG.normal(size=(600, 3)) + 6 * np.eye(3)[RNG.integers(0, 3, 600)]
SPAN = {"landmarks": 80, "random_state": 0}


def test_all_rows_as_landmarks_are_kernel_k_means():
    options = {"kernel": RBF(0.1), "random_state": 0}
    exact = KernelKMeans(3, **options).fit(BLOBS)
    model = KernelKMeans(3, landmarks=np.arange(600), **options).fit(BLOBS)
    assert adjusted_rand_score(exact.labels_, model.labels_) == 1.0
    assert model.inertia_ == pytest.approx(exact.inertia_, rel=1e-6)
    assert model.certificate_.ok
    assert model.certificate_.restriction == "bound"
    assert model.certificate_.restriction_gap < 1e-6


def test_the_linear_kernel_is_lloyds_method():
    model = KernelKMeans(3, kernel="linear", **SPAN).fit(BLOBS)
    reference = KMeans(3, n_init=10, random_state=0).fit(BLOBS)
    assert adjusted_rand_score(reference.labels_, model.labels_) == 1.0
    assert model.inertia_ == pytest.approx(reference.inertia_, rel=1e-6)


def test_inertia_is_above_that_of_the_means_by_at_most_what_is_said():
    model = KernelKMeans(4, kernel=RBF(0.5), **SPAN).fit(RINGS)
    K = RBF(0.5).block(RINGS, RINGS)
    inertia = 0.0
    for c in range(4):
        own = np.flatnonzero(model.labels_ == c)
        inertia += np.trace(K[np.ix_(own, own)]) - K[np.ix_(own, own)].sum() / len(own)
    above = (model.inertia_ - inertia) / model.inertia_
    assert -1e-9 <= above <= model.certificate_.restriction_gap + 1e-9
    np.testing.assert_array_equal(model.predict(RINGS), model.labels_)


def test_blocks_are_the_rows_in_memory_and_starts_come_from_a_sample(tmp_path):
    model = KernelKMeans(3, kernel=RBF(0.1), checkpoint=str(tmp_path), **SPAN)
    blocks = rows.open([BLOBS[:100], BLOBS[100:101], BLOBS[101:]])
    found = model.fit(blocks).labels_
    np.testing.assert_array_equal(model.set_params(checkpoint=None).fit(BLOBS).labels_, found)
    np.testing.assert_array_equal(model.predict(blocks), found)
    for lost in sorted(tmp_path.glob("*.npz"))[3:]:
        lost.unlink()
    again = model.set_params(checkpoint=str(tmp_path)).fit(blocks)
    np.testing.assert_array_equal(again.labels_, found)


def test_weights_are_copies():
    weight = RNG.integers(0, 3, 600)
    points = {"landmarks": BLOBS[:50], "kernel": RBF(0.1), "random_state": 0}
    weighted = KernelKMeans(3, **points).fit(BLOBS, sample_weight=weight)
    copied = KernelKMeans(3, **points).fit(np.repeat(BLOBS, weight, axis=0))
    assert weighted.inertia_ == pytest.approx(copied.inertia_, rel=1e-8)


def test_rows_whose_matrix_does_not_fit_have_landmarks():
    model = KernelKMeans(3, kernel=RBF(0.1), memory="1MB", random_state=0).fit(rows.open(BLOBS))
    assert model.X_fit_.shape == (200, 3)
    assert model.labels_.shape == (600,)


def test_it_is_saved(tmp_path):
    model = KernelKMeans(3, kernel=RBF(0.1), **SPAN).fit(BLOBS)
    again = load(save(model, tmp_path / "m.mercer"))
    np.testing.assert_array_equal(again.predict(BLOBS), model.labels_)


def test_fewer_clusters_than_asked_for_are_said():
    twice = np.repeat([[0.0], [1.0]], 20, axis=0)
    with pytest.warns(UserWarning, match="clusters"):
        model = KernelKMeans(3, kernel="linear", landmarks=20, random_state=0).fit(twice)
    assert len(np.unique(model.labels_)) == 2
    assert model.inertia_ == pytest.approx(0.0, abs=1e-9)
