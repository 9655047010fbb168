"""Bad input: an error that names the argument, says what was got and what would be accepted.

Never a crash, never a silent wrong answer.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer import (
    KernelPCA,
    KernelRidge,
    as_kernel,
    center_rows,
    check_kernel,
    feature_distance,
    gram,
    mean_distance,
    rkhs_inner,
    rkhs_norm,
)
from mercer.kernels import (
    RBF,
    Constant,
    Exp,
    FromFeatureMap,
    FromFunction,
    Laplacian,
    Linear,
    Polynomial,
    PowerSeries,
    Precomputed,
    RankOne,
    Sum,
    VectorKernel,
)
from tests.cases import sparse_table, table

X = table(6, 3)
Y = X[:, 0]
NAN, INF = X.copy(), X.copy()
NAN[2, 1], INF[0, 0] = np.nan, np.inf
SPARSE_NAN = sparse_table(6, 3)
SPARSE_NAN.data[0] = np.nan


def refuses(call, error, match):
    """Assert that a call raises this error with a message that matches."""
    with pytest.raises(error, match=match):
        call()


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


# ---------------------------------------------------------------- everything else
TABLE = {
    # parameters of kernels
    "negative gamma": (lambda: RBF(gamma=-1.0)(X), ValueError, "'gamma'.* RBF .*Got -1.0"),
    "gamma of zero": (lambda: Laplacian(gamma=0.0)(X), ValueError, "'gamma'.*Got 0.0"),
    "gamma NaN": (lambda: RBF(gamma=np.nan)(X), ValueError, "'gamma'.*Got nan"),
    "gamma infinite": (lambda: RBF(gamma=np.inf)(X), ValueError, "'gamma'.*Got inf"),
    "gamma as text": (lambda: RBF(gamma="wide")(X), ValueError, "'gamma'.*'scale'.*Got 'wide'"),
    "gamma as a list": (lambda: RBF(gamma=[1.0])(X), ValueError, r"'gamma'.*Got \[1.0\]"),
    "gamma in an expression": (
        lambda: (0.5 * RBF(gamma=-1.0) + Linear())(X),
        ValueError,
        "'gamma'.*Got -1.0",
    ),
    "negative gamma in the diagonal": (
        lambda: RBF(gamma=-1.0).diagonal(X),
        ValueError,
        "'gamma'.*Got -1.0",
    ),
    "degree 1.5": (lambda: Polynomial(degree=1.5)(X), ValueError, "'degree'.*int.*Got 1.5"),
    "negative degree": (lambda: Polynomial(degree=-1)(X), ValueError, "'degree'.*Got -1"),
    "scale of zero": (lambda: Polynomial(scale=0.0)(X), ValueError, "'scale'.*Got 0.0"),
    "bias NaN": (lambda: Linear(bias=np.nan)(X), ValueError, "'bias'.*Got nan"),
    "sigma of zero": (lambda: RBF.from_sigma(0.0), ValueError, "sigma must be .*> 0.*got 0.0"),
    "sigma negative": (lambda: RBF.from_sigma(-1), ValueError, "sigma must be .*> 0.*got -1"),
    "sigma NaN": (lambda: RBF.from_sigma(np.nan), ValueError, "sigma must be .*got nan"),
    "sigma as text": (lambda: RBF.from_sigma("a"), ValueError, "sigma must be .*got 'a'"),
    "sigma too small": (lambda: RBF.from_sigma(1e-200), ValueError, "sigma must be .*got 1e-200"),
    "sigma too large": (lambda: RBF.from_sigma(1e200), ValueError, r"sigma must be .*got 1e\+200"),
    "exponent 1.5": (lambda: RBF() ** 1.5, ValueError, "exponent .*integer ≥ 0; got 1.5"),
    "negative exponent": (lambda: RBF() ** -1, ValueError, "exponent .*integer ≥ 0; got -1"),
    "constant NaN": (lambda: Constant(np.nan)(X), ValueError, "'value'.*Got nan"),
    "no coefficients": (lambda: PowerSeries(RBF(), [])(X), ValueError, r"coefs must be .*got \[\]"),
    "coefficients as text": (
        lambda: PowerSeries(RBF(), [1.0, "a"])(X),
        (TypeError, ValueError),
        r"coefs must be .*got \[1.0, 'a'\]",
    ),
    "coefficient NaN": (lambda: PowerSeries(RBF(), [np.nan])(X), ValueError, "coefs must be"),
    "coefficients as a number": (lambda: PowerSeries(RBF(), 1.0)(X), ValueError, "'coefs'.*Got 1"),
    "a name inside an expression": (
        lambda: Sum("rbf", RBF())(X),
        ValueError,
        "'left'.*Kernel.*Got 'rbf'",
    ),
    "a name inside exp": (lambda: Exp("rbf")(X), ValueError, "'kernel'.*Got 'rbf'"),
    "an unknown statistic": (
        lambda: type("Mine", (VectorKernel,), {"statistic": "angle"}),
        TypeError,
        "Mine.statistic must be one of .*'l1'",
    ),
    # operators
    "a kernel plus text": (lambda: RBF() + "rbf", TypeError, "'RBF' and 'str'"),
    "a kernel times an array": (lambda: RBF() * np.ones(3), TypeError, "RBF' does not support"),
    "an array times a kernel": (lambda: np.ones(3) * RBF(), TypeError, "ndarray.*RBF"),
    "a complex number times a kernel": (lambda: 1j * RBF(), TypeError, "'complex' and 'RBF'"),
    # which kernel
    "an unknown name": (
        lambda: as_kernel("rbff"),
        ValueError,
        "kernel must be .*'rbf'.*got 'rbff'",
    ),
    "an unknown name in gram": (
        lambda: gram("cosin", X),
        ValueError,
        "kernel must be .*got 'cosin'",
    ),
    "a class": (lambda: as_kernel(RBF), TypeError, r"write RBF\(\), with brackets"),
    "a class in an estimator": (lambda: KernelRidge(RBF).fit(X, Y), TypeError, r"write RBF\(\)"),
    "a number for a kernel": (lambda: as_kernel(3), TypeError, "kernel must be .*got int"),
    "None for a kernel": (lambda: KernelPCA(None).fit(X), TypeError, "kernel must be .*NoneType"),
    # functions, feature maps, matrices
    "no function": (lambda: FromFunction(3)(X), ValueError, "'function'.*callable.*Got 3"),
    "an unknown definiteness": (
        lambda: FromFunction(min, definiteness="maybe")(X),
        ValueError,
        "'definiteness'.*Got 'maybe'",
    ),
    "a function of words to NaN": (
        lambda: FromFunction(lambda a, b: np.nan)(["a"]),
        ValueError,
        "function must return one finite number.*nan.*'a' and 'a'",
    ),
    "a function to a vector": (
        lambda: FromFunction(lambda a, b: a + b)(X),
        ValueError,
        "function must return one finite number",
    ),
    "a function to a complex number": (
        lambda: FromFunction(lambda a, b: 1j)(X),
        ValueError,
        "function must return one finite number",
    ),
    "a function to None": (
        lambda: FromFunction(lambda a, b: None)(X),
        ValueError,
        "function must return one finite number",
    ),
    "one word for a sample": (
        lambda: FromFunction(min)("word"),
        TypeError,
        "X must be a list or an array of objects; got str",
    ),
    "a number for a sample": (
        lambda: FromFunction(min)(5),
        TypeError,
        "X must be a list or an array of objects; got int",
    ),
    "no objects": (lambda: FromFunction(min)([]), ValueError, "X must hold at least one object"),
    "no objects in Y": (
        lambda: FromFunction(min)(["a"], []),
        ValueError,
        "Y must hold at least one object",
    ),
    "no feature map": (lambda: FromFeatureMap(3)(X), TypeError, "phi must be a function.*got 3"),
    "features of different lengths": (
        lambda: FromFeatureMap(lambda word: [1.0] * len(word))(["a", "bb"]),
        ValueError,
        "phi must .*same number of features",
    ),
    "features that are NaN": (
        lambda: FromFeatureMap(lambda x: np.nan)(X),
        ValueError,
        r"phi\(X\) .*contains NaN",
    ),
    "features that are words": (
        lambda: FromFeatureMap(lambda x: "a")(X),
        (TypeError, ValueError),
        "phi",
    ),
    "rank one of a vector": (
        lambda: RankOne(lambda x: [1.0, 2.0])(X),
        ValueError,
        "f must return one number; got 2",
    ),
    "a matrix that is not square": (
        lambda: Precomputed()(X),
        ValueError,
        "precomputed training matrix must be square; got 6 × 3",
    ),
    "new rows of another matrix": (
        lambda: Precomputed()(np.ones((2, 3)), np.eye(4)),
        ValueError,
        "must have 4 columns, one for each training point; got 3",
    ),
    "a sparse matrix": (
        lambda: Precomputed()(sp.csr_array(np.eye(4))),
        TypeError,
        "precomputed matrix must be dense",
    ),
    "a matrix with NaN": (lambda: gram("precomputed", NAN), ValueError, "X .*contains NaN"),
    # where values go
    "out of another shape": (
        lambda: RBF().block(X, out=np.empty((5, 5))),
        ValueError,
        r"out must have shape \(6, 6\); got \(5, 5\)",
    ),
    "out of integers": (
        lambda: RBF().block(X, out=np.empty((6, 6), int)),
        TypeError,
        "out must be an array of float32 or float64; got a int64 array",
    ),
    "out in half precision": (
        lambda: RBF().block(X, out=np.empty((6, 6), np.float16)),
        TypeError,
        "out must be an array of float32 or float64; got a float16 array",
    ),
    "out as a list": (
        lambda: RBF().block(X, out=[]),
        TypeError,
        "out must be an array.*got a list",
    ),
    # gram
    "an unknown storage": (
        lambda: gram("rbf", X, storage="disk"),
        ValueError,
        "storage must be one of .*'blocked'.*got 'disk'",
    ),
    "half precision": (
        lambda: gram("rbf", X, dtype="float16"),
        ValueError,
        "dtype must be float32, float64 or None; got 'float16'",
    ),
    "integers": (lambda: gram("rbf", X, dtype=int), ValueError, "dtype must be .*got .*int"),
    "no precision at all": (
        lambda: gram("rbf", X, dtype="exact"),
        ValueError,
        "dtype must be float32, float64 or None; got 'exact'",
    ),
    "too little memory": (
        lambda: gram("rbf", X, memory=10),
        ValueError,
        "memory is too small .*got 10 B, needed are at least 288 B",
    ),
    "too little memory for a row": (
        lambda: gram("rbf", X, storage="cached", memory=10),
        ValueError,
        "memory is too small .*one row.*48 B",
    ),
    "memory as a word": (lambda: gram("rbf", X, memory="lots"), ValueError, "memory .*got 'lots'"),
    "a row beyond the last": (
        lambda: gram("rbf", X).rows([6]),
        ValueError,
        r"index must lie in \[0, 6\); got 6",
    ),
    "a row before the first": (lambda: gram("rbf", X).rows(-7), ValueError, "index must lie in"),
    "half a row": (lambda: gram("rbf", X).rows([0.5]), TypeError, "index must be integers"),
    "a short mask": (
        lambda: gram("rbf", X).rows([True, False]),
        ValueError,
        r"index is a mask of shape \(2,\); it must be \(6,\)",
    ),
    "a restriction to rows beyond": (
        lambda: gram("rbf", X).restrict([0, 99]),
        ValueError,
        r"rows must lie in \[0, 6\); got 0 … 99",
    ),
    "a restriction to columns beyond": (
        lambda: gram("rbf", X).restrict([0], [99]),
        ValueError,
        "columns must lie in",
    ),
    "a restriction by words": (
        lambda: gram("rbf", X).restrict(["a"]),
        TypeError,
        "rows must be integers",
    ),
    "a restriction of a restriction beyond": (
        lambda: gram("rbf", X).restrict([5, 4]).restrict([2]),
        ValueError,
        r"rows must lie in \[0, 2\)",
    ),
    "a vector of another length": (
        lambda: gram("rbf", X) @ np.ones(5),
        ValueError,
        "dimension mismatch",
    ),
    # centring
    "weights that sum to 2": (
        lambda: gram("rbf", X).centered(np.full(6, 1 / 3)),
        ValueError,
        "weights must sum to 1; they sum to 2",
    ),
    "too few weights": (
        lambda: gram("rbf", X).centered([0.5, 0.5]),
        ValueError,
        r"weights must be 6 finite numbers.*\(2,\)",
    ),
    "weights with NaN": (
        lambda: gram("rbf", X).centered([np.nan] * 6),
        ValueError,
        "weights must be 6 finite numbers",
    ),
    "weights as words": (
        lambda: gram("rbf", X).centered(["a"] * 6),
        (TypeError, ValueError),
        "weights must be 6 finite numbers",
    ),
    "complex weights": (
        lambda: gram("rbf", X).centered(np.full(6, 1j)),
        (TypeError, ValueError),
        "weights must be 6 finite numbers",
    ),
    "new points without their training points": (
        lambda: gram("rbf", X[:2], X).centered(),
        ValueError,
        "needs reference=, the training Gram matrix",
    ),
    "another reference": (
        lambda: gram("rbf", X[:2], X).centered(reference=gram("rbf", X[:4])),
        ValueError,
        "reference has 4 points, this has 6 columns",
    ),
    "a reference of new points": (
        lambda: gram("rbf", X[:2], X).centered(reference=gram("rbf", X[:3], X)),
        ValueError,
        r"reference must be a training Gram matrix \(square\); got \(3, 6\)",
    ),
    "an array for a reference": (
        lambda: center_rows(np.ones((2, 6)), np.eye(6)),
        TypeError,
        "reference must be a Gram; got ndarray",
    ),
    "rows of another length": (
        lambda: center_rows(np.ones((2, 5)), gram("rbf", X)),
        ValueError,
        r"rows must have shape \(m, 6\).*got \(2, 5\)",
    ),
    "one row as a vector": (
        lambda: center_rows(np.ones(6), gram("rbf", X)),
        ValueError,
        r"rows must have shape \(m, 6\).*got \(6,\)",
    ),
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
    "lam as text": (lambda: KernelRidge(lam="loo").fit(X, Y), ValueError, "'lam'.*Got 'loo'"),
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
        lambda: KernelPCA("precomputed").fit(X),
        ValueError,
        "square|precomputed",
    ),
}


@pytest.mark.parametrize(("call", "error", "match"), TABLE.values(), ids=TABLE.keys())
def test_bad_input_is_named(call, error, match):
    refuses(call, error, match)


def test_a_kernel_is_checked_when_it_is_used_and_not_when_it_is_made():
    kernel = RBF(gamma=-1.0)  # scikit-learn's rule: __init__ only stores
    assert kernel.gamma == -1.0
    assert kernel.set_params(gamma=1.0)(X).shape == (6, 6)


def test_what_is_not_a_float_but_a_number_is_accepted():
    for kind in (int, bool, np.int8, np.uint16, np.float16, np.longdouble):
        rows = np.abs(np.round(2 * X)).astype(kind)
        assert RBF()(rows).dtype == np.float64
    assert RBF()(X.tolist()).shape == (6, 6)
    assert RBF(gamma=np.float32(0.5))(X).shape == (6, 6)
    assert Polynomial(degree=np.int64(2))(X).shape == (6, 6)
