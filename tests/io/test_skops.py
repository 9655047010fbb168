"""Fitted models are plain values, so that skops, which stores attributes, can store them too."""

from __future__ import annotations

import numpy as np
import pytest

from tests.io.helpers import same
from tests.test_estimators import NEW, X, Y, every_estimator, fitted, outcome

skops = pytest.importorskip("skops.io", reason="skops is in the extra dev")


@every_estimator
def test_skops_stores_a_fitted_model(estimator):
    model = fitted(estimator, X, Y)
    stored = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=stored)
    assert all(name.startswith(("mercer.", "scipy.sparse.")) for name in unknown)
    again = skops.loads(stored, trusted=unknown)
    np.testing.assert_array_equal(outcome(again, NEW), outcome(model, NEW))
    assert again.certificate_ == model.certificate_
    assert same(again.certificate_.to_dict(), model.certificate_.to_dict())
