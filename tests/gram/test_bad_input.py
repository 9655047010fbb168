"""Gram matrices and their centring refuse what makes no sense, and name it."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import center_rows, gram
from tests.cases import table
from tests.compare import refuses

X = table(6, 3)

TABLE = {
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
        "memory is too small .*got 10 B, needed are at least 48 B",
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
    "a triangle of new points": (
        lambda: gram("rbf", X[:2], X, storage="triangle"),
        ValueError,
        "storage='triangle' is for a symmetric matrix.*two samples",
    ),
    "a triangle that does not fit": (
        lambda: gram("rbf", X, storage="triangle", memory=10),
        ValueError,
        "memory is too small for the upper triangle",
    ),
    "one row as a vector": (
        lambda: center_rows(np.ones(6), gram("rbf", X)),
        ValueError,
        r"rows must have shape \(m, 6\).*got \(6,\)",
    ),
}


@pytest.mark.parametrize(("call", "error", "match"), TABLE.values(), ids=TABLE.keys())
def test_bad_input_is_named(call, error, match):
    refuses(call, error, match)
