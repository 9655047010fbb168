"""scikit-learn's callbacks hear of every evaluation of a search."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

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

    def on_fit_task_begin(self, estimator, context):
        self.heard.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.heard.append(f"end {context.task_name}")
        return sum(word.startswith("end cand") for word in self.heard) >= self.most

    def teardown(self, estimator, context):
        self.heard.append("teardown")


def searched(recorder, **options):
    search = KernelSearchCV(SVC(RBF(gamma=0.5)), {"C": [1.0, 10.0]}, cv=3, **options)
    return search.set_callbacks(recorder).fit(X, Y)


def task(name, *inner):
    return [f"begin {name}", *inner, f"end {name}"]


EVALUATIONS = 6 * task("candidate-split-evaluation")


def test_every_evaluation_is_a_task_and_so_is_the_last_fit():
    recorder = Recorder()
    searched(recorder)
    search, refit = task("search", *EVALUATIONS), task("refit-with-best-params")
    assert recorder.heard == ["setup", *task("fit", *search, *refit), "teardown"]


def test_without_a_last_fit_it_is_no_task():
    recorder = Recorder()
    searched(recorder, refit=False)
    assert recorder.heard == ["setup", *task("fit", *task("search", *EVALUATIONS)), "teardown"]


def test_a_search_calls_the_tasks_of_scikit_learn():
    """Once each, in the same order, with the same promise of how many there will be."""

    class Tree(Recorder):
        def on_fit_task_begin(self, estimator, context):
            super().on_fit_task_begin(estimator, context)
            self.heard.append(f"of {context.max_subtasks}")

    ours, theirs = Tree(), Tree()
    searched(ours)
    reference = GridSearchCV(SVC(RBF(gamma=0.5)), {"C": [1.0, 10.0]}, cv=3)
    reference.set_callbacks(theirs).fit(X, Y)
    assert ours.heard == theirs.heard


def test_ordinary_fits_are_told_once_each():
    recorder = Recorder()
    search = searched(recorder, memory="20kB")
    assert "ordinary" in search.route_
    assert recorder.heard.count("end candidate-split-evaluation") == 6
    assert recorder.heard[-2:] == ["end fit", "teardown"]


@pytest.mark.parametrize("strategy", ["halving", "staged"])
def test_rounds_are_one_search(strategy):
    recorder = Recorder()
    searched(recorder, strategy=strategy)
    assert recorder.heard.count("begin search") == recorder.heard.count("end search") == 1
    assert recorder.heard.count("end refit-with-best-params") == 1


def test_weights_are_told_as_metadata():
    seen = []

    class Listener(Recorder):
        def on_fit_task_begin(self, estimator, context, *, X, y, metadata):
            seen.append((context.task_name, metadata))

    search = KernelSearchCV(SVC(), {"C": [1.0]}, cv=3).set_callbacks(Listener())
    search.fit(X, Y, sample_weight=np.full(len(Y), 2.0))
    assert seen[0][0] == "fit"
    np.testing.assert_array_equal(seen[0][1]["sample_weight"], 2.0)


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
