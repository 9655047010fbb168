"""Which of two models is taken."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("polars")
pytest.importorskip("typer")

from mercer.assess.metrics import METRICS
from mercer.cli.attempts import AttemptSearch, Planner
from mercer.cli.goal import Goal
from mercer.cli.learn import Learner
from mercer.cli.recipes import EFFORTS
from mercer.kernels import RBF
from mercer.machines import KernelRidge
from mercer.select import KernelSearchCV, Staged


@pytest.mark.parametrize(
    ("task", "linear", "taken"),
    [
        ("classify", 0.8535, "svm"),  # half of a standard error on 2,000 rows is 0.4 points
        ("classify", 0.870, "logistic"),
        ("classify", 0.800, "svm"),
        ("regress", 0.851, "logistic"),
    ],
)
def test_another_model_must_be_better_by_more_than_chance(task, linear, taken):
    learner = object.__new__(Learner)
    learner.problem = type("Rows", (), {"task": task, "__len__": lambda self: 5000})()
    learner.goal = Goal(METRICS[{"classify": "accuracy", "regress": "r2"}[task]], task)
    scored = {"svm": 0.850, "logistic": linear}
    searches = [SimpleNamespace(name=n, score=s, scores={5000: s}) for n, s in scored.items()]
    assert learner._best(searches).name == taken


def test_a_search_that_ran_out_of_time_is_compared_on_the_rows_that_it_has_seen():
    learner = object.__new__(Learner)
    learner.problem = type("Rows", (), {"task": "regress", "__len__": lambda self: 5000})()
    learner.goal = Goal(METRICS["r2"], "regress")
    whole = SimpleNamespace(name="ridge", score=0.8, scores={1500: 0.7, 3000: 0.77, 5000: 0.8})
    cut = SimpleNamespace(name="metric", score=0.75, scores={1500: 0.75})
    assert learner._best([whole, cut]).name == "metric"
    alone = SimpleNamespace(name="metric", score=0.75, scores={500: 0.75})  # no round in common
    assert learner._best([whole, alone]).name == "ridge"


def test_the_score_of_a_round_is_that_of_its_best_candidate_and_in_the_last_of_the_chosen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=300)
    search = KernelSearchCV(
        KernelRidge(RBF(gamma=1.0)),
        {"lam": [1e-3, 1.0, 100.0]},
        strategy=Staged(first_rows=100, more_rows=(200, 300)),
        refit=False,
    ).fit(X, y)
    found = AttemptSearch("ridge", None, search, None).scores
    results = search.cv_results_
    first = results["mean_test_score"][np.array(results["n_resources"]) == 100]
    assert sorted(found) == [100, 200, 300]
    assert found[100] == first.max()
    assert found[300] == search.best_score_


@pytest.mark.parametrize(
    ("kernel", "effort", "open_kernel", "Z", "tried"),
    [
        (RBF(), "standard", True, np.zeros((2, 2)), ["svm", "metric", "logistic"]),
        (RBF(), "quick", True, np.zeros((2, 2)), ["svm", "logistic"]),
        (RBF(), "standard", False, np.zeros((2, 2)), ["svm", "logistic"]),  # who gives one wants it
        (RBF(), "standard", True, sp.csr_array((2, 2)), ["svm", "logistic"]),  # no dense columns
        (RBF().on("age"), "standard", False, np.zeros((2, 2)), ["svm"]),  # it alone reads columns
    ],
)
def test_which_models_are_tried(kernel, effort, open_kernel, Z, tried):
    problem = SimpleNamespace(task="classify")
    planner = Planner(problem, kernel, EFFORTS[effort], open_kernel, seed=0)
    assert planner.names("auto", Z) == tried
    assert planner.names("metric", Z) == ["metric"]
