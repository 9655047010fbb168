"""The forecast of a search."""

from __future__ import annotations

import pytest
from sklearn.linear_model import LinearRegression

from mercer import SVC, KernelSearchCV
from mercer._limits import Limits
from mercer.select.progress import Progress
from tests.cases import two_classes

TEST_TRAIN = ("test", "train")


@pytest.mark.parametrize(("limit", "told"), [(None, "33 min left"), (30.0, "30 s left")])
def test_the_forecast_keeps_to_the_limit(limit, told):
    progress = Progress(total=100, n_folds=5, shown=False, limits=Limits.of(time_limit=limit))
    progress.update(0, {"test_scores": 0.5})
    assert progress._text(20.0) == told  # 99 more at 20 s each, were there no limit


@pytest.mark.parametrize("memory", [None, "50kB"], ids=["shared", "ordinary"])
def test_evaluations_are_told_whatever_the_route(memory, capsys):
    X, y = two_classes(150, 3)
    grid = {"C": [0.5, 2.0], "kernel__gamma": [0.25]}
    settings = {"cv": 3, "memory": memory, "return_train_score": True}
    search = KernelSearchCV(SVC("rbf"), grid, verbose=3, **settings).fit(X, y)
    lines = capsys.readouterr().out.splitlines()[1:]
    results = search.cv_results_
    for number, C in enumerate(grid["C"]):
        for fold in range(3):
            test, train = (results[f"split{fold}_{side}_score"][number] for side in TEST_TRAIN)
            start = f"[CV {fold + 1}/3] END C={C}, kernel__gamma=0.25;"
            told = f"{start}, score=(train={train:.3f}, test={test:.3f}) total time="
            assert sum(line.startswith(told) for line in lines) == 1
    assert len(lines) == 6


def test_less_is_told_for_less(capsys):
    X, y = two_classes(60)
    for verbose, told in [(0, 0), (1, 1), (2, 4)]:
        KernelSearchCV(SVC(), {}, cv=3, verbose=verbose).fit(X, y)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == told
        assert "score" not in "".join(lines)


def test_an_estimator_of_others_is_never_told_nothing():
    class Strict(LinearRegression):
        def set_params(self, **params):
            assert params
            return super().set_params(**params)

    X, y = two_classes(60)
    KernelSearchCV(Strict(), {"fit_intercept": [True, False]}, cv=3).fit(X, y)
    KernelSearchCV(Strict(), {}, cv=3).fit(X, y)
