"""Mixtures of rows and weights of any size: what is far away, narrow, or weighs next to nothing."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import GMM
from mercer.bayes import Gaussian
from tests.bayes.test_mixture import X, every_kind, fitted
from tests.cases import table


@every_kind
def test_rows_beyond_all_squares_have_no_density(kind):
    model = fitted(kind)
    far = np.array([[1e200, 0.0], [0.0, 0.0]])
    with np.errstate(over="ignore"):
        values = model.score_samples(far)
    assert values[0] == -np.inf
    assert np.isfinite(values[1])


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_narrow_diagonal_components_are_not_rounded_away(offset):
    """Squares of differences, not differences of squares: the peer loses all digits here."""
    rows = offset + np.array([[-1.0], [1.0]]) + 0.01 * table(60, 1).reshape(30, 2, 1)
    model = GMM(2, covariance="diagonal", random_state=0).fit(rows.reshape(-1, 1))
    part = Gaussian(model.means_[0], np.diag(model.covariances_[0]))
    near = rows.reshape(-1, 1)[model.predict(rows.reshape(-1, 1)) == 0]
    wanted = part.log_density(near) + np.log(model.weights_[0])
    np.testing.assert_allclose(model.score_samples(near), wanted, rtol=1e-6, atol=1e-5)


@every_kind
@pytest.mark.parametrize("unit", [1e-300, 1e-20, 1e300])
def test_weights_of_any_size_are_shares(kind, unit):
    weight = 1.0 + np.arange(len(X)) % 3
    one, other = (
        GMM(2, covariance=kind, random_state=0).fit(X, sample_weight=u * weight)
        for u in (1.0, unit)
    )
    np.testing.assert_allclose(other.means_, one.means_, rtol=1e-9)
    np.testing.assert_allclose(other.covariances_, one.covariances_, rtol=1e-9)
    assert other.status_ == one.status_


def test_the_criterion_counts_rows_by_their_weights():
    """As often as each row is there: then BIC pays log of the sum for a parameter."""
    times = 1 + np.arange(len(X)) % 3
    model = GMM([1, 2], random_state=0, tol=1e-9, max_iter=1000).fit(X, sample_weight=times)
    rows = X.repeat(times, axis=0)
    costs = model.certificate_.bic
    assert costs["2"] == pytest.approx(model.bic(rows), rel=1e-9)
