"""What enters an estimator: a copy of its own where rows are stored, and nothing but numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_regressor

import mercer
from mercer import CCA, KNN, PCA, SVC, SVR, KernelCCA, KernelPCA, KernelRidge, Ridge
from mercer.kernels import FromFunction
from tests.cases import ESTIMATORS, WORDS, shared_letters, table
from tests.compare import refuses

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
every_estimator = pytest.mark.parametrize("model", ESTIMATORS, ids=repr)


# ---------------------------------------------------------------- arrays of their own
def inner_arrays(value, seen):
    """Yield every array that can be reached from a fitted model."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield value
    elif sp.issparse(value):
        yield from (value.data, value.indices, value.indptr)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from inner_arrays(part, seen)
    elif isinstance(value, dict):
        yield from inner_arrays(list(value.values()), seen)
    elif type(value).__module__.startswith("mercer"):
        yield from inner_arrays(list(vars(value).values()), seen)


def targets_of(model, X):
    if isinstance(model, (CCA, KernelCCA)):
        return X[:, :2] ** 2
    return X[:, 0] - X[:, 1] if is_regressor(model) else (X[:, 0] > X[:, 1]).astype(float)


@every_estimator
@pytest.mark.parametrize("kind", ["float64", "float32", "frame", "sparse"])
def test_a_fitted_model_shares_no_memory_with_what_it_was_fitted_to(model, kind):
    X = np.abs(table(40, 5)) + 0.1
    y, weight = targets_of(model, X), np.linspace(1.0, 2.0, 40)
    values = np.asarray(X, dtype=np.float32 if kind == "float32" else np.float64)
    given = {"frame": pd.DataFrame, "sparse": sp.csr_array}.get(kind, lambda rows: rows)(values)
    model = clone(model)
    if kind == "sparse" and not model.__sklearn_tags__().input_tags.sparse:
        pytest.skip("no sparse rows")
    try:
        model.fit(given, y, sample_weight=weight)
    except TypeError:  # no weights
        model.fit(given, y)
    mine = [given.data if kind == "sparse" else np.asarray(given), y, weight]
    for array in inner_arrays(list(vars(model).values()), set()):
        assert not any(np.may_share_memory(array, one) for one in mine)


@pytest.mark.parametrize("model", [KernelRidge("precomputed"), KernelPCA(2, kernel="precomputed")])
def test_a_precomputed_matrix_may_be_written_over(model):
    X = table(30, 3)
    K = X @ X.T
    model.fit(K, X[:, 0])
    answer = getattr(model, "transform", getattr(model, "predict", None))
    before = answer(X @ X.T)
    K[...] = 0.0
    np.testing.assert_array_equal(answer(X @ X.T), before)


def test_a_list_of_objects_may_be_changed():
    words = list(WORDS)
    model = KernelRidge(FromFunction(shared_letters)).fit(words, np.arange(len(words)))
    before = model.predict(WORDS)
    words[:] = ["z"] * len(words)
    np.testing.assert_array_equal(model.predict(WORDS), before)


def test_there_is_one_border():
    """Who calls scikit-learn's check itself goes past the copy and the refusals."""
    package = Path(mercer.__file__).parent
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "validate_data" in path.read_text()
    }
    assert users == {"_estimator.py"}


# ---------------------------------------------------------------- nothing but numbers
X, Y = table(30, 3), (table(30, 3)[:, 0] > 0).astype(int)
DAYS = np.arange(90).reshape(30, 3).astype("datetime64[D]")
NO_NUMBERS = {
    "numeric text": (np.full((30, 3), "1.5"), TypeError, "X must be a table of numbers.*got text"),
    "numeric text in a list": ([["1"] * 3] * 30, TypeError, "got text"),
    "numeric text in objects": (np.full((30, 3), "1", dtype=object), TypeError, "got text"),
    "numeric text in a frame": (pd.DataFrame({"a": ["1"] * 30}), TypeError, "got text"),
    "bytes": (np.full((30, 3), b"1"), TypeError, "got text"),
    "dates": (DAYS, TypeError, r"got datetime64\[D\].*days since"),
    "dates in a frame": (pd.DataFrame(DAYS), TypeError, "got datetime64.*days since"),
    "times": (DAYS - DAYS[0, 0], TypeError, r"got timedelta64\[D\]"),
    "masked": (np.ma.masked_array(X, mask=X > 1), ValueError, r"X has \d+ masked values: fill"),
    "lazy": (pl.LazyFrame(X), TypeError, r"X is a LazyFrame.*X\.collect\(\)"),
}


@every_estimator
@pytest.mark.parametrize("bad", NO_NUMBERS)
def test_what_only_looks_like_numbers_is_refused(model, bad):
    given, error, match = NO_NUMBERS[bad]
    y = X[:, :2] if isinstance(model, (CCA, KernelCCA)) else Y
    refuses(lambda: clone(model).fit(given, y), error, match)


@pytest.mark.parametrize("model", [SVC(), KNN(), Ridge(), PCA(2)], ids=repr)
@pytest.mark.parametrize("bad", NO_NUMBERS)
def test_and_in_new_rows(model, bad):
    given, error, match = NO_NUMBERS[bad]
    model = clone(model).fit(X, Y)
    answer = getattr(model, "transform", getattr(model, "predict", None))
    refuses(lambda: answer(given), error, match)


@pytest.mark.parametrize("model", [m for m in ESTIMATORS if is_regressor(m)], ids=repr)
def test_targets_of_a_regression_are_numbers(model):
    if isinstance(model, (CCA, KernelCCA)):
        return
    fit = lambda y: lambda: clone(model).fit(X, y)  # noqa: E731
    refuses(fit(np.full(30, "1.5")), TypeError, "y must be .*got text")
    refuses(fit(DAYS[:, 0]), TypeError, "y must be .*got datetime64")
    refuses(fit(np.ma.masked_array(X[:, 0], mask=Y)), ValueError, "y has .* masked values")


def test_masked_labels_and_weights_of_text_are_refused():
    refuses(lambda: SVC().fit(X, np.ma.masked_array(Y, mask=Y)), ValueError, "y has .* masked")
    weight = np.full(30, "1")
    refuses(lambda: SVR().fit(X, Y, sample_weight=weight), TypeError, "sample_weight.*got text")


def test_a_mask_that_hides_nothing_is_no_matter():
    plain, masked = (SVR().fit(rows, Y).predict(X) for rows in (X, np.ma.masked_array(X)))
    np.testing.assert_array_equal(masked, plain)
