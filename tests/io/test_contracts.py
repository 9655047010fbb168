"""A loaded model is what a fit leaves: estimators say what that is, and files are held to it."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import SVC, AdaBoost, GaussianBayes, Isomap, KernelRidge, MLPRegressor, PolynomialMap
from mercer._state import (
    Either,
    FittedRows,
    Floats,
    Integers,
    Labels,
    Maybe,
    Pointers,
    StateError,
    check_state,
    undeclared,
)
from mercer.io import ModelFileError
from mercer.io.objects import state_of
from mercer.kernels import RBF, Linear
from mercer.machines import Perceptron
from mercer.spectral._geodesic import FAR, geodesics_from
from mercer.spectral._graph import NeighbourGraph
from tests.fuzz.models import mutated_file, outcome
from tests.io.helpers import forge_nodes, round_trip
from tests.test_estimators import NEW, X, Y, every_estimator, fitted

ROOT = Path(__file__).parents[2]


@cache
def fitted_once(estimator):
    """Return a model that tests share, and leave as it is."""
    return fitted(estimator, X, Y)


# ---------------------------------------------------------------- every estimator
@every_estimator
def test_all_that_a_fit_leaves_is_declared(estimator):
    model = fitted_once(estimator)
    assert set(undeclared(model)) <= {"_held"}  # rows that are never stored
    assert set(state_of(model)) <= {*vars(model), "_errors"}
    check_state(model)


@every_estimator
def test_a_changed_file_is_refused_or_does_no_harm(estimator, tmp_path):
    """The same files as `make fuzz` writes, a few of each estimator."""
    model = fitted_once(estimator)
    ends = [
        outcome(mutated_file(model, np.random.default_rng(seed), tmp_path / "m"), NEW)
        for seed in range(6)
    ]
    assert set(ends) <= {"refused", "damaged", "failed", "answered", "has no answer"}


@every_estimator
def test_a_model_without_its_proof_or_its_columns_is_refused(estimator, tmp_path):
    for name in ("certificate_", "n_features_in_"):
        model = copy.copy(fitted_once(estimator))
        delattr(model, name)
        refused(model, tmp_path, "n_features_in_|certificate_|columns")


@pytest.mark.long
def test_compiled_code_stays_within_its_arrays(tmp_path):
    """Numba looks at bounds here; `make fuzz` does the same for all estimators and many files."""
    names = ["AdaBoost", "GaussianBayes", "Isomap"]
    command = [sys.executable, "-m", "tests.fuzz.fuzz_models", "--count", "100", "--only", *names]
    environment = {**os.environ, "FUZZ_NUMBA_CACHE": str(tmp_path)}
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "models: 100 inputs" in run.stdout


# ---------------------------------------------------------------- what was found
def changed(estimator, **attributes):
    """Return a fitted model with other attributes: a function of the old value, or a value."""
    model = fitted(estimator, X, Y)
    for name, value in attributes.items():
        setattr(model, name, value(getattr(model, name)) if callable(value) else value)
    return model


def refused(model, folder, match):
    path = mercer.save(model, folder / "m")
    with pytest.raises(ModelFileError, match=match):
        mercer.load(path)


def put(value, place=0):
    """Return what sets one entry of an array."""

    def change(array):
        array = array.copy()
        array.flat[place] = value
        return array

    return change


FOUND = {
    "a stump for a class that is not there": (
        AdaBoost(5),
        {"stump_classes_": put(2)},
        r"AdaBoost\.stump_classes_ must be below 2; its largest is 2",
    ),
    "a stump on a column that is not there": (
        AdaBoost(5),
        {"stump_columns_": put(3)},
        r"AdaBoost\.stump_columns_ must be below 3",
    ),
    "a stump before the first class": (
        AdaBoost(5),
        {"stump_classes_": put(-1)},
        r"stump_classes_ must be at least 0",
    ),
    "an edge to a point that is not there": (
        Isomap(6),
        {"graph_indices_": put(40)},
        r"Isomap\.graph_indices_ must be below 40",
    ),
    "edges beyond the last": (
        Isomap(6),
        {"graph_indptr_": put(10**6, -1)},
        r"Isomap\.graph_indices_ must have the shape \(1000000,\)",
    ),
    "pointers that fall": (
        Isomap(6),
        {"graph_indptr_": put(300, 3)},
        r"Isomap\.graph_indptr_ must rise from 0",
    ),
    "an edge of negative length": (
        Isomap(6),
        {"graph_weights_": put(-1.0)},
        r"Isomap\.graph_weights_ must be at least 0",
    ),
    "an edge without a length": (
        Isomap(6),
        {"graph_weights_": put(np.nan)},
        r"Isomap\.graph_weights_ must be finite",
    ),
    "a mean too short": (
        GaussianBayes(order=1),
        {"means_": lambda means: means[:, :1]},
        r"GaussianBayes\.means_ must have the shape \(2, 3\); got \(2, 1\)",
    ),
    "a band without a diagonal": (
        GaussianBayes(order=1),
        {"factors_": lambda factors: factors[..., :0]},
        r"GaussianBayes\.factors_ .*must have a diagonal",
    ),
    "more neighbours in a graph than points": (
        mercer.SpectralEmbedding(n_neighbors=5),
        {"n_neighbors": 41},
        r"SpectralEmbedding\.n_neighbors must be below 41",
    ),
    "a bias too short": (
        MLPRegressor(4, activation="tanh", random_state=0),
        {"intercepts_": lambda biases: [biases[0][:1], biases[1]]},
        r"MLPRegressor\.intercepts_ must have the shape \(4,\); got \(1,\)",
    ),
    "a vote for a support vector that is not there": (
        Perceptron("rbf", voted=True, random_state=0),
        {"vote_order_": put(10**6)},
        r"Perceptron\.vote_order_ must be below",
    ),
    "more neighbours than points": (
        mercer.KNN(),
        {"n_neighbors": 41},
        r"KNN\.n_neighbors must be below 41; its largest is 41",
    ),
    "a parameter of the kernel": (
        SVC(),
        {"kernel_": lambda _: RBF(gamma=-1.0)},
        r"SVC\.kernel_ has a parameter out of its range: .*gamma",
    ),
    "a parameter of the machine": (
        SVC(),
        {"C": -1.0},
        r"SVC has a parameter out of its range|'C'",
    ),
    "monomials that nobody counted": (
        PolynomialMap(),
        {"degree": 30},
        r"PolynomialMap\.n_output_features_ must be 5456; got 10",
    ),
    "labels for numbers": (
        KernelRidge(),
        {"dual_coef_": lambda a: a.astype("U8")},
        r"KernelRidge\.dual_coef_ must be numbers in float64 or float32",
    ),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("estimator", "changes", "match"), FOUND.values(), ids=FOUND.keys())
def test_what_was_found_is_refused(estimator, changes, match, tmp_path):
    refused(changed(estimator, **changes), tmp_path, match)


def test_a_graph_whose_edges_lead_one_way_only_does_no_harm():
    """Vertices that no path leads to have no place in the order of the sweeps."""
    index, distance = np.zeros((1, 1), np.intp), np.zeros((1, 1))
    found = []
    for _ in range(20):  # memory that was never written holds anything
        one_way = NeighbourGraph(np.array([0, 1, 2, 3]), np.array([0, 0, 0]), np.ones(3))
        geodesics_from(one_way, index, distance, lambda rows, paths: found.append(paths[0]))
    assert all(np.array_equal(paths, [0.0, FAR, FAR]) for paths in found)


def test_an_attribute_may_not_hide_a_method(tmp_path):
    for name in ("_new_rows", "fitted_state", "_parameter_constraints", "coef_"):
        nodes = [["object", ["mercer.machines.SVC", name], [{"function": "numpy.abs"}]]]
        with pytest.raises(ModelFileError, match=f"{name!r}, which is a part of its class"):
            mercer.load(forge_nodes(tmp_path / "m", nodes))


def test_an_expression_that_would_take_for_ever_is_refused_in_a_fitted_model(tmp_path):
    kernel = Linear()
    for _ in range(40):
        kernel = kernel + kernel
    refused(changed(KernelRidge(), kernel_=lambda _: kernel), tmp_path, "more than 10000 parts")


def test_a_model_that_is_not_fitted_may_have_any_parameters(tmp_path):
    assert round_trip(SVC(C=-1.0), tmp_path).C == -1.0


# ---------------------------------------------------------------- the words
def test_names_of_lengths_agree_within_a_state():
    lengths = {}
    Floats("rows", "columns").check(np.zeros((4, 2)), lengths)
    assert lengths == {"rows": 4, "columns": 2}
    with pytest.raises(StateError, match=r"must have the shape \(4,\); got \(3,\)"):
        Floats("rows").check(np.zeros(3), lengths)


@pytest.mark.parametrize("coef", [np.zeros(2), np.zeros((3, 2))])
@pytest.mark.parametrize("intercept", [0.5, np.zeros(3), np.zeros(1)])
def test_an_axis_is_missing_everywhere_or_nowhere(coef, intercept):
    lengths = {"columns": 2}
    Floats("targets?", "columns").check(coef, lengths)
    if np.shape(intercept) == coef.shape[:-1]:
        Floats("targets?").check(intercept, lengths)
    else:
        with pytest.raises(StateError, match="must have the shape"):
            Floats("targets?").check(intercept, lengths)


def test_one_of_several_binds_only_its_own_lengths():
    lengths = {"rows": 2}
    Either(Floats("other", "rows", 7), Floats("rows", "width")).check(np.zeros((2, 5)), lengths)
    assert lengths == {"rows": 2, "width": 5}


BAD = {
    "a number for an array": (Floats("n"), 1.0),
    "an array for a number": (Floats(), np.zeros(1)),
    "bytes the other way round": (Floats("n"), np.zeros(1, ">f8")),
    "half precision": (Floats("n"), np.zeros(1, "f2")),
    "a truth for a number": (Integers(), True),
    "text": (Floats(), "1"),
    "a masked array": (Floats("n"), np.ma.zeros(2)),
    "real numbers for integers": (Integers("n"), np.zeros(2)),
    "a limit that is not known": (Integers("n", below="m"), np.zeros(1, int)),
    "pointers too few": (Pointers("n", into="m"), np.zeros(2, int)),
    "a matrix of labels": (Labels("n"), np.array([["a"]])),
    "dates for labels": (Labels("n"), np.zeros(2, "M8[s]")),
    "rows with a gap": (FittedRows("n"), np.full((2, 2), np.nan)),
    "sparse rows with a gap": (FittedRows("n"), sp.csr_array([[np.nan, 0.0]])),
    "columns, not rows": (FittedRows("n"), sp.csc_array([[1.0, 0.0]])),
    "integers for rows": (FittedRows("n"), np.zeros((2, 2), int)),
    "a wrong value": (Maybe(Integers()), 0.5),
}


@pytest.mark.parametrize(("attribute", "value"), BAD.values(), ids=BAD.keys())
def test_what_an_attribute_may_not_be(attribute, value):
    with pytest.raises(StateError):
        attribute.check(value, {"n": 2, "columns": 2} if "few" not in repr(value) else {})


def test_a_copy_of_a_model_keeps_to_the_same_state():
    check_state(copy.deepcopy(fitted(SVC(), X, Y)))
    check_state(copy.deepcopy(fitted(SVC(), sp.csr_array(X), Y)))
