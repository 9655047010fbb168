"""Answers do not depend on how many rows are asked for at once, on float32 or on threads.

What they may differ by is rounding: a stated share of the spread of the answers.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor

from mercer import (
    CCA,
    KNN,
    SVC,
    SVR,
    KernelCCA,
    KernelKMeans,
    KernelLogistic,
    KernelPCA,
    KernelRidge,
    OneClassSVM,
)
from mercer.gram.sums import weighted_sums
from mercer.kernels import RBF, Exponential, Laplacian
from mercer.kernels.base import PSD
from mercer.kernels.rounding import sum_error
from mercer.kernels.sample import Sample
from mercer.machines._margin import TOLERANCE
from tests.cases import ESTIMATORS, KERNELS, table

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ANSWERS = ("decision_function", "predict_proba", "score_samples", "transform", "predict")
ROUNDING = 1e-9  # of the spread of answers: what sums in another order may change
MARGIN_MACHINES = [SVC(), SVC(multiclass="ovr"), SVR(), OneClassSVM(), KernelLogistic(lam=0.1)]
every_estimator = pytest.mark.parametrize("model", ESTIMATORS, ids=repr)


def fitted(model, X):
    """Return the model, fitted to what it is for: classes, numbers, another table."""
    classes = (X[:, 0] > np.median(X[:, 0])).astype(int) + (X[:, 1] > np.median(X[:, 1]))
    numbers = (X[:, 0] - X[:, 0].mean()) / X[:, 0].std()
    if isinstance(model, (CCA, KernelCCA)):
        return clone(model).fit(X, X[:, :2] ** 2)
    return clone(model).fit(X, numbers if is_regressor(model) else classes)


def answers(model, X):
    """Return the numbers that a fitted model gives for rows, by the name of the method."""
    skipped = {"predict"} if is_classifier(model) or is_outlier_detector(model) else set()
    return {
        name: np.asarray(getattr(model, name)(X))
        for name in ANSWERS
        if hasattr(model, name) and name not in skipped
    }


def assert_same(one, other, share=ROUNDING):
    for name, values in one.items():
        if values.dtype.kind in "iu":  # numbers of clusters
            np.testing.assert_array_equal(other[name], values, err_msg=name)
            continue
        own = float(np.finfo(other[name].dtype).eps) * float(np.abs(values).max())
        atol = share * float(values.std()) + 4.0 * own
        np.testing.assert_allclose(other[name], values, rtol=0, atol=atol, err_msg=name)


def in_parts(model, X, size):
    parts = [answers(model, X[i : i + size]) for i in range(0, len(X), size)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


# ---------------------------------------------------------------- every estimator
@every_estimator
def test_rows_one_by_one_get_the_answers_of_the_block(model):
    X, rows = table(60, 4, seed=1), table(10, 4, seed=2)
    model = fitted(model, X)
    for some, share in ((rows, ROUNDING), (rows.astype(np.float32), 1e-5)):
        assert_same(in_parts(model, some, 10), in_parts(model, some, 1), share)


@every_estimator
def test_rows_in_float32_get_the_answers_of_the_same_rows_in_float64(model):
    """Rows that both precisions hold exactly, far from 0 compared with their spread."""
    X = 4096.0 + np.round(256.0 * table(60, 4, seed=1)) / 256.0
    model = fitted(model, X)
    assert_same(answers(model, X), answers(model, X.astype(np.float32)), 1e-4)


# ---------------------------------------------------------------- float32 where it is worth it
SHIFTS = {
    "plain": (0.0, 1.0),
    "offset 100": (100.0, 1.0),
    "offset 1e6": (1e6, 1.0),
    "1e-6": (0, 1e-6),
}


def both_ways(model, rows):
    """Return decision values in float64, and as they are where rows are many."""
    exact = in_parts(model, rows, len(rows))
    model._single_from = 0
    many = in_parts(model, rows, len(rows))
    del model._single_from
    return exact, many


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # some kernels overflow far from 0
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_many_rows_get_the_answers_of_few(kernel, shift):
    offset, size = SHIFTS[shift]
    X, rows = (offset + size * table(n, 5, seed=n) for n in (50, 120))
    y = (X[:, 0] > offset).astype(int)
    if not np.isfinite(kernel(X)).all():
        pytest.skip("the kernel overflows on these rows")
    model = SVC(kernel, max_iter=2000).fit(X, y)
    exact, many = both_ways(model, rows)
    spread = float(model.decision_function(model.support_vectors_).std())
    gaps = np.abs(many["decision_function"] - exact["decision_function"])
    assert gaps.max() <= 2.0 * TOLERANCE * spread
    np.testing.assert_array_equal(many["decision_function"] > 0, exact["decision_function"] > 0)


@pytest.mark.parametrize("model", MARGIN_MACHINES, ids=repr)
@pytest.mark.parametrize("kernel", [RBF(), Exponential(), Laplacian()], ids=repr)
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_float32_is_used_and_enough_for_radial_kernels(model, kernel, offset):
    X, rows = (offset + table(n, 5, seed=n) for n in (50, 150))
    model = fitted(clone(model).set_params(kernel=kernel), X)
    exact, many = both_ways(model, rows)
    assert_same(exact, many, TOLERANCE)
    assert any((many[name] != exact[name]).any() for name in exact), "float32 was not used"


def test_sums_of_large_kernel_values_stay_in_float64():
    """Columns around 100: a linear machine's labels of many rows are those of its weights."""
    X, rows = (100.0 + table(n, 10, seed=n) for n in (300, 2000))
    model = SVC("linear", C=0.1).fit(X, (X[:, 0] > 100.0).astype(int))
    model._single_from = 0
    by_weights = rows @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(rows), by_weights, atol=1e-9)


def test_small_targets_of_a_regression_keep_their_digits():
    """The error that float32 may have is a share of the targets' size, not a number."""
    X, rows = (table(n, 3, seed=n) for n in (100, 300))
    model = SVR(C=1e-3, epsilon=1e-8).fit(X, 1e-6 * X[:, 0])
    exact, many = both_ways(model, rows)
    assert_same(exact, many, TOLERANCE)


@pytest.mark.parametrize("offset", [0.0, 30.0])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_float32_sums_are_off_by_no_more_than_a_few_times_the_estimate(kernel, offset):
    X, Y = (Sample(offset + table(n, 6, seed=n)) for n in (200, 300))
    kernel, weights = kernel.bind(Y), table(300, 2)
    estimate = sum_error(kernel, X, Y, weights)
    if kernel.definiteness != PSD or not np.isfinite(estimate):
        assert estimate == np.inf
        return
    double, single = (weighted_sums(kernel, X, Y, weights, t) for t in (np.float64, np.float32))
    assert np.abs(double - single).max() <= 3.0 * estimate


# ---------------------------------------------------------------- threads
@contextmanager
def cores(count):
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(before)[:count]))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinities")
@every_estimator
def test_one_core_and_two_give_the_same(model):
    X = table(60, 5, seed=3)
    found = []
    for count in (1, 2):
        with cores(count):
            found.append(answers(fitted(model, X), X))
    assert_same(found[0], found[1], 1e-7)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinities")
@pytest.mark.parametrize(
    "model", [SVC(), SVR(), KNN(), KernelRidge(), KernelPCA(2), KernelKMeans(3)]
)
def test_one_core_and_two_give_the_same_where_tiles_are_shared(model):
    """1,200 rows: each core computes some of the tiles."""
    X = table(1200, 6, seed=4)
    if "random_state" in model.get_params():
        model = clone(model).set_params(random_state=0)
    found = []
    for count in (1, 2):
        with cores(count):
            found.append(answers(fitted(model, X), X))
    assert_same(found[0], found[1], 1e-6)
