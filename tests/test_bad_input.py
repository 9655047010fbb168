"""Bad input: an error that names the argument, says what was got and what would be accepted.

Never a crash, never a silent wrong answer.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from mercer import (
    PCA,
    SVC,
    KernelPCA,
    KernelRidge,
    Lasso,
    MetricRidge,
    Ridge,
    check_kernel,
    feature_distance,
    gram,
    mean_distance,
    rkhs_inner,
    rkhs_norm,
)
from mercer.kernels import (
    RBF,
    FromFunction,
    Laplacian,
    Linear,
)
from tests.cases import sparse_table, table
from tests.compare import refuses

X = table(6, 3)
Y = X[:, 0]
NAN, INF = X.copy(), X.copy()
NAN[2, 1], INF[0, 0] = np.nan, np.inf
SPARSE_NAN = sparse_table(6, 3)
SPARSE_NAN.data[0] = np.nan


# ---------------------------------------------------------------- rows
BAD_ROWS = {
    "NaN": (NAN, ValueError, "X .*contains NaN"),
    "infinity": (INF, ValueError, "X .*contains infinity"),
    "NaN in CSR": (SPARSE_NAN, ValueError, "X .*contains NaN"),
    "1-D": (X[0], ValueError, "X must be a .*table.*got 1D array"),
    "3-D": (X[None], ValueError, "X must be a .*table.*dim 3"),
    "a number": (3.0, ValueError, "X must be a .*table.*got scalar"),
    "None": (None, ValueError, "X must be a .*table"),
    "no rows": (X[:0], ValueError, r"X must be a .*table.*0 sample\(s\)"),
    "no columns": (X[:, :0], ValueError, r"X must be a .*table.*0 feature\(s\)"),
    "an empty list": ([], ValueError, "X must be a .*table"),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, "X must be a .*table.*inhomogeneous"),
    "complex": (X + 1j, ValueError, "X must be a .*table.*Complex data not supported"),
    "text": ("kernel", TypeError, "X must be a table of numbers.*got text.*FromFunction"),
    "a list of words": (["a", "b"], TypeError, "X must be a table of numbers.*got text"),
    "rows of words": ([["a", "b"]], TypeError, "X must be a table of numbers.*got text"),
    "an array of words": (np.array([["a"]]), TypeError, "X must be a table.*got text"),
    "bytes": (np.array([[b"a"]]), TypeError, "X must be a table of numbers.*got text"),
    "objects with a word": (
        np.array([[1.0, "a"]], dtype=object),
        TypeError,
        "X must be a table of numbers.*got text",
    ),
    "a pandas frame with words": (
        pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
        TypeError,
        "X must be a table of numbers.*got text",
    ),
    "a polars frame with words": (
        pl.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
        TypeError,
        "X must be a table of numbers.*got text",
    ),
    "a dictionary": ({"a": 1.0}, TypeError, "X must be a .*table"),
    "values whose squares overflow": (1e200 * X, ValueError, r"X has values beyond 1e150.*rescale"),
}

ROW_CALLS = {
    "k(X)": lambda bad: RBF()(bad),
    "k.diagonal": lambda bad: Linear().diagonal(bad),
    "k.bind": lambda bad: Laplacian().bind(bad),
    "an expression": lambda bad: (RBF() + FromFunction(min))(bad),
    "gram": lambda bad: gram("rbf", bad),
    "check_kernel": lambda bad: check_kernel("rbf", bad),
    "feature_distance": lambda bad: feature_distance("rbf", bad),
    "rkhs_norm": lambda bad: rkhs_norm("rbf", bad, [1.0]),
}


@pytest.mark.parametrize(("bad", "error", "match"), BAD_ROWS.values(), ids=BAD_ROWS.keys())
@pytest.mark.parametrize("call", ROW_CALLS.values(), ids=ROW_CALLS.keys())
def test_bad_rows_are_named(call, bad, error, match):
    refuses(lambda: call(bad), error, match)


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_columns_are_named_too(name):
    bad, error, match = BAD_ROWS[name]
    if bad is None:
        return  # Y=None means Y = X
    refuses(lambda: RBF()(X, bad), error, match.replace("X ", "Y ", 1))


TEXT = {name: bad for name, (bad, error, _) in BAD_ROWS.items() if error is TypeError}


@pytest.mark.parametrize("bad", TEXT.values(), ids=TEXT.keys())
@pytest.mark.parametrize("model", [KernelRidge(), KernelPCA()], ids=repr)
def test_estimators_refuse_text(model, bad):
    n = len(bad) if not isinstance(bad, str) else 1
    match = "X must be a table|argument must be"
    refuses(lambda: model.fit(bad, np.arange(float(n))), TypeError, match)


@pytest.mark.parametrize("name", ["NaN", "infinity", "1-D", "3-D", "no rows", "complex"])
@pytest.mark.parametrize("model", [KernelRidge(), KernelPCA()], ids=repr)
def test_estimators_refuse_bad_rows_in_fit_and_after(model, name):
    bad = BAD_ROWS[name][0]
    refuses(lambda: model.fit(bad, Y[: len(bad)]), ValueError, "X|array|Complex")
    fitted = model.fit(X, Y)
    answer = fitted.predict if hasattr(fitted, "predict") else fitted.transform
    refuses(lambda: answer(bad), ValueError, "X|array|Complex")


DIFFERENT_COLUMNS = {
    "k(X, Y)": lambda: RBF()(X, X[:, :2]),
    "k(X, Y) of CSR": lambda: RBF()(sp.csr_array(X), sp.csr_array(X[:, :2])),
    "an expression": lambda: (RBF() + Linear() * 2.0)(X, X[:, :2]),
    "gram": lambda: gram("linear", X, X[:, :2]),
    "feature_distance": lambda: feature_distance("rbf", X, X[:, :2]),
    "mean_distance": lambda: mean_distance("rbf", X, X[:, :2]),
    "rkhs_inner": lambda: rkhs_inner("rbf", X, Y, X[:, :2], Y),
}


@pytest.mark.parametrize("call", DIFFERENT_COLUMNS.values(), ids=DIFFERENT_COLUMNS.keys())
def test_different_numbers_of_columns(call):
    refuses(call, ValueError, "X and Y must have the same number of columns; got 3 and 2")


@pytest.mark.parametrize("model", [KernelRidge(), KernelPCA()], ids=repr)
def test_estimators_notice_a_missing_column(model):
    fitted = model.fit(X, Y)
    answer = fitted.predict if hasattr(fitted, "predict") else fitted.transform
    refuses(lambda: answer(X[:, :2]), ValueError, "X has 2 features, but .* is expecting 3")


# ---------------------------------------------------------------- other arguments
TABLE = {
    # feature space
    "too few coefficients": (
        lambda: rkhs_norm("rbf", X, [1.0, 2.0]),
        ValueError,
        "a must be 6 finite numbers",
    ),
    "coefficients that are words": (
        lambda: rkhs_norm("rbf", X, ["a"] * 6),
        (TypeError, ValueError),
        "a must be 6 finite numbers",
    ),
    "coefficients of the other function": (
        lambda: rkhs_inner("rbf", X, Y, X, [np.inf] * 6),
        ValueError,
        "b must be 6 finite numbers",
    ),
    "a mean with wrong weights": (
        lambda: mean_distance("rbf", X, weights=np.ones(6)),
        ValueError,
        "weights must sum to 1; they sum to 6",
    ),
    # checks
    "no points to check": (
        lambda: check_kernel("rbf", X, max_points=0),
        ValueError,
        "max_points must be .*got 0",
    ),
    "a negative tolerance": (
        lambda: check_kernel("rbf", X, tol=-1.0),
        ValueError,
        "tol must be ≥ 0; got .*-1.0",
    ),
    # estimators
    "negative lam": (lambda: KernelRidge(lam=-1.0).fit(X, Y), ValueError, "'lam'.*Got -1.0"),
    "lam as text": (lambda: KernelRidge(lam="cv").fit(X, Y), ValueError, "'lam'.*Got 'cv'"),
    "an intercept of two": (
        lambda: KernelRidge(fit_intercept=2).fit(X, Y),
        ValueError,
        "'fit_intercept'.*Got 2",
    ),
    "no components": (
        lambda: KernelPCA(n_components=0).fit(X),
        ValueError,
        "'n_components'.*Got 0",
    ),
    "half a component": (
        lambda: KernelPCA(n_components=0.5).fit(X),
        ValueError,
        "'n_components'.*Got 0.5",
    ),
    "memory of an estimator": (
        lambda: KernelRidge(memory="lots").fit(X, Y),
        ValueError,
        "memory must be .*got 'lots'",
    ),
    "gamma of an estimator": (
        lambda: KernelRidge(RBF(gamma=-1.0)).fit(X, Y),
        ValueError,
        "'gamma'.*Got -1.0",
    ),
    "targets of another length": (
        lambda: KernelRidge().fit(X, Y[:4]),
        ValueError,
        r"inconsistent numbers of samples: \[6, 4\]",
    ),
    "targets of another length for words": (
        lambda: KernelRidge(min).fit(["a", "b"], Y),
        ValueError,
        r"inconsistent numbers of samples: \[2, 6\]",
    ),
    "targets with NaN": (lambda: KernelRidge().fit(X, NAN[:, 1]), ValueError, "y contains NaN"),
    "targets with NaN for words": (
        lambda: KernelRidge(lambda a, b: 1.0).fit(["a", "b"], [1.0, np.nan]),
        ValueError,
        "y contains NaN",
    ),
    "negative weights": (
        lambda: KernelRidge().fit(X, Y, -np.ones(6)),
        ValueError,
        "sample_weight must be ≥ 0",
    ),
    "weights that are all zero": (
        lambda: KernelRidge().fit(X, Y, np.zeros(6)),
        ValueError,
        "(sample_weight|Sample weights) must",
    ),
    "too few sample weights": (
        lambda: KernelRidge().fit(X, Y, np.ones(4)),
        ValueError,
        "sample_weight",
    ),
    "a precomputed rectangle": (
        lambda: KernelPCA(kernel="precomputed").fit(X),
        ValueError,
        "square|precomputed",
    ),
}


@pytest.mark.parametrize(("call", "error", "match"), TABLE.values(), ids=TABLE.keys())
def test_bad_input_is_named(call, error, match):
    refuses(call, error, match)


# ---------------------------------------------------------------- True is no number
@pytest.mark.parametrize("value", [True, False, np.True_])
@pytest.mark.parametrize(
    ("model", "name"),
    [
        (SVC(), "C"),
        (Ridge(), "lam"),
        (KernelRidge(), "lam"),
        (MetricRidge(), "lam"),
        (PCA(), "n_components"),
        (Lasso(), "tol"),
        (SVC(), "time_limit"),
    ],
    ids=repr,
)
def test_true_and_false_are_no_numbers(model, name, value):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match=name):
        clone(model).set_params(**{name: value}).fit(X, np.arange(20) % 2)


@pytest.mark.parametrize("model", [Ridge(), KernelRidge(), MetricRidge()], ids=repr)
def test_a_list_of_numbers_holds_no_true(model):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match=r"lam must be a list of finite numbers.*True"):
        clone(model).set_params(lam=[True, 2.0]).fit(X, X[:, 0])
