"""Studies that several tests look at are made once."""

from __future__ import annotations

import pytest

from mercer.report.study import Study
from tests.report.subjects import MODELS, study_of


@pytest.fixture(scope="session")
def studies() -> dict[str, Study]:
    return {name: study_of(*MODELS[name]) for name in MODELS}
