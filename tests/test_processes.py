"""Work that is sent to other processes and threads, as joblib, Dask and Ray do."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from functools import partial

import numpy as np
import pytest
from joblib import Parallel, delayed

import mercer
import mercer.kernels
from tests.cases import two_classes

try:
    import cloudpickle
except ImportError:  # before version 1.6 joblib brought its own
    from joblib.externals import cloudpickle

X, Y = two_classes(120, 3)


def _values(C, X=X, y=Y):
    """Return decision values of a fit; a function that mentions the package by its name."""
    return mercer.SVC(mercer.kernels.RBF(gamma=0.3), C=C).fit(X, y).decision_function(X)


def by_value(function):
    """Return a function as it comes out of a notebook: sent with its code and what it mentions."""
    return type(function)(function.__code__, {"mercer": mercer}, None, function.__defaults__)


@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_the_package_is_sent_by_its_name(dumps):
    assert pickle.loads(dumps(mercer)) is mercer
    assert len(dumps(mercer)) < 100


def test_the_package_is_not_copied():
    assert copy.deepcopy(mercer) is mercer


def test_a_function_that_mentions_the_package_arrives():
    function = pickle.loads(cloudpickle.dumps(by_value(_values)))
    np.testing.assert_array_equal(function(1.0), _values(1.0))


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_gets_the_same_answers(backend):
    function, Cs = by_value(_values), [0.1, 1.0, 10.0, 100.0]
    answers = Parallel(n_jobs=2, backend=backend)(delayed(function)(C) for C in Cs)
    for C, answer in zip(Cs, answers, strict=True):
        np.testing.assert_allclose(answer, _values(C), atol=1e-12)


@pytest.mark.long
def test_a_spawned_process_gets_the_same_answers():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        answer = pool.apply_async(partial(_values, 1.0)).get(timeout=120)
    np.testing.assert_allclose(answer, _values(1.0), atol=1e-12)
