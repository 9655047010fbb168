"""Kernel PCA in the span of landmarks: its eigenvalues bracket those over all functions."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import KernelPCA, rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)) * [2.0, 1.0, 0.3] + 0.5


@pytest.mark.parametrize("m", [20, 80])
def test_eigenvalues_are_bracketed(m):
    exact = KernelPCA(5).fit(X).eigenvalues_
    model = KernelPCA(5, landmarks=m).fit(X)
    missed = model.certificate_.eigenvalues_at_most_above
    assert model.certificate_.ok
    assert (model.eigenvalues_ <= exact * (1 + 1e-9)).all()
    assert (exact <= (model.eigenvalues_ + missed) * (1 + 1e-9)).all()


def test_all_rows_as_landmarks_are_the_exact_components():
    exact = KernelPCA(4).fit(X)
    model = KernelPCA(4, landmarks=np.arange(300)).fit(rows.open([X[:100], X[100:]]))
    new = RNG.normal(size=(20, 3))
    signs = np.sign((exact.transform(new) * model.transform(new)).sum(axis=0))
    np.testing.assert_allclose(model.transform(new) * signs, exact.transform(new), atol=1e-7)
    error = exact.reconstruction_error(new)
    np.testing.assert_allclose(model.reconstruction_error(new), error, atol=1e-7)
    ratio = exact.explained_variance_ratio_
    np.testing.assert_allclose(model.explained_variance_ratio_, ratio, rtol=1e-8)


def test_scores_are_uncorrelated_with_the_variances_that_are_said():
    model = KernelPCA(3, landmarks=40)
    scores = model.fit_transform(X)
    expected = np.diag(model.explained_variance_)
    np.testing.assert_allclose(scores.T @ scores / len(X), expected, atol=1e-10)
    np.testing.assert_allclose(scores.mean(axis=0), 0.0, atol=1e-10)


def test_rows_that_do_not_fit_get_landmarks():
    model = KernelPCA(2, memory="600kB").fit(rows.open(X))
    assert len(model.X_fit_) < 300
    with pytest.raises(AttributeError, match="fit without landmarks"):
        model.inverse_transform(np.zeros((1, 2)))
