"""A small byte budget makes a fit slower, never endless."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import SVC, SVR

rng = np.random.default_rng(0)
X, labels, numbers = rng.normal(size=(250, 5)), rng.integers(0, 4, 250), rng.normal(size=250)


@pytest.mark.parametrize("memory", ["1MB", "600kB", "400kB", "200kB", "50kB"])
@pytest.mark.parametrize(("model", "y"), [(SVC(C=100.0), labels), (SVR(C=100.0), numbers)])
def test_points_that_do_not_fit_take_turns(model, y, memory):
    """The worst pair is always among those that are optimised, so that every round gains."""
    small = model.set_params(memory=memory, time_limit=60.0).fit(X, y)
    assert small.certificate_.ok
