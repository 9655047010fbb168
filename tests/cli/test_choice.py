"""Which of two models is taken."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("polars")
pytest.importorskip("typer")

from mercer.assess.metrics import METRICS
from mercer.cli.attempts import Planner
from mercer.cli.goal import Goal
from mercer.cli.learn import Learner
from mercer.cli.recipes import EFFORTS
from mercer.kernels import RBF


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
    assert (
        learner._best([SimpleNamespace(name=n, score=s) for n, s in scored.items()]).name == taken
    )


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
