"""Studies that several tests look at are made once, and only those that are looked at."""

from __future__ import annotations

import pytest

from mercer.report.study import Study
from tests.report.subjects import MODELS, study_of


class Studies(dict[str, Study]):
    """The studies of models by name, each made when it is asked for."""

    def __missing__(self, name: str) -> Study:
        self[name] = study_of(*MODELS[name])
        return self[name]


@pytest.fixture(scope="session")
def studies() -> Studies:
    return Studies()
