"""The forecast of a search."""

from __future__ import annotations

import pytest

from mercer._limits import Limits
from mercer.select.progress import Progress


@pytest.mark.parametrize(("limit", "told"), [(None, "33 min left"), (30.0, "30 s left")])
def test_the_forecast_keeps_to_the_limit(limit, told):
    progress = Progress(total=100, n_folds=5, shown=False, limits=Limits.of(time_limit=limit))
    progress.update(0, {"test_scores": 0.5})
    assert progress._text(20.0) == told  # 99 more at 20 s each, were there no limit
