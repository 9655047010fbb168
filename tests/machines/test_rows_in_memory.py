"""Machines that learn from all rows at once take rows in blocks, too: these are read."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from mercer import KNN, SVR, KernelLogistic, KernelMachine, KernelPCA, Nystrom, OneClassSVM, rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
NUMBER = np.sin(2 * X[:, 0]) + X[:, 1]
TABLE = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "number": NUMBER, "class": NUMBER > 0})

WITH_TARGETS = {
    "SVR": (SVR(), "number"),
    "KernelLogistic": (KernelLogistic(), "class"),
    "KernelMachine": (KernelMachine("huber"), "number"),
}


@pytest.mark.parametrize(("model", "target"), WITH_TARGETS.values(), ids=WITH_TARGETS)
def test_rows_and_their_target_are_read(model, target):
    opened = rows.open(TABLE, target, columns=["a", "b"])
    found = model.fit(opened).predict(opened)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(found, model.fit(X, TABLE[target].to_numpy()).predict(X))


def test_targets_may_be_passed_apart():
    model = KNN()
    found = model.fit(rows.open(X), NUMBER > 0).predict(rows.open(X))
    np.testing.assert_array_equal(found, model.fit(X, NUMBER > 0).predict(X))


@pytest.mark.parametrize("model", [KernelPCA(2), Nystrom(10, random_state=0)])
def test_transformers_need_no_target(model):
    found = model.fit(rows.open(X)).transform(rows.open(X))
    np.testing.assert_allclose(found, model.fit(X).transform(X), atol=1e-10)


def test_one_class():
    model = OneClassSVM()
    found = model.fit(rows.open(X)).decision_function(rows.open(X))
    np.testing.assert_array_equal(found, model.fit(X).decision_function(X))


def test_a_missing_target_is_said():
    with pytest.raises(ValueError, match="requires y to be passed"):
        SVR().fit(rows.open(X))
