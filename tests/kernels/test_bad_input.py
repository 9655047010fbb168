"""Kernels refuse what makes no sense, and name it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import KernelPCA, KernelRidge, as_kernel, gram
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
from tests.cases import table
from tests.compare import refuses

X = table(6, 3)
Y = X[:, 0]
NAN = X.copy()
NAN[2, 1] = np.nan

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
    "values whose squares vanish": (
        lambda: RBF()(X * 1e-200),
        ValueError,
        "X has no value beyond 1e-140.*rescale",
    ),
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
    "None for a kernel": (
        lambda: KernelPCA(kernel=None).fit(X),
        TypeError,
        "kernel must be .*NoneType",
    ),
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
