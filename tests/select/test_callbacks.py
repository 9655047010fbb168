"""scikit-learn's callbacks hear of every evaluation of a search."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import SVC, KernelSearchCV
from mercer.kernels import RBF
from tests.cases import two_classes

pytest.importorskip("sklearn.callback")

X, Y = two_classes(60)


class Recorder:
    """Writes down what it hears; asks to stop after so many tasks."""

    def __init__(self, most=10**9):
        self.heard, self.most = [], most

    def setup(self, estimator, context):
        self.heard.append("setup")

    def on_fit_task_begin(self, estimator, context, **data):
        self.heard.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, **data):
        self.heard.append(f"end {context.task_name}")
        return sum(word.startswith("end cand") for word in self.heard) >= self.most

    def teardown(self, estimator, context):
        self.heard.append("teardown")


def searched(recorder, **options):
    search = KernelSearchCV(SVC(RBF(gamma=0.5)), {"C": [1.0, 10.0]}, cv=3, **options)
    return search.set_callbacks(recorder).fit(X, Y)


def test_every_evaluation_is_a_task():
    recorder = Recorder()
    searched(recorder)
    task = ["begin candidate-split-evaluation", "end candidate-split-evaluation"]
    assert recorder.heard == ["setup", "begin fit", *(6 * task), "end fit", "teardown"]


@pytest.mark.filterwarnings("ignore")
def test_a_callback_may_stop_the_search():
    search = searched(Recorder(most=5), refit=False)
    assert search.status_ == "interrupted"
    scores = [search.cv_results_[f"split{i}_test_score"] for i in range(3)]
    assert np.isfinite(scores).sum() == 5


def test_teardown_comes_also_after_an_error():
    recorder = Recorder()
    with pytest.raises(KeyError):
        searched(recorder, scoring=lambda *_: {}["no such score"], error_score="raise")
    assert recorder.heard[-1] == "teardown"
