"""The formats of other programs: svmlight, ARFF, archives of arrays."""

from __future__ import annotations

import datetime
import gzip

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.io import arff as scipy_arff
from sklearn.datasets import dump_svmlight_file

from mercer.datasets import DataError, load_file, read_batches
from tests.compare import refuses


# ---------------------------------------------------------------- svmlight
@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("name", ["a.svm", "a.svm.gz", "a.txt"])
def test_svmlight_is_what_scikit_learn_writes(tmp_path, name, zero_based):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(23, 5)).round(3) * (rng.random((23, 5)) < 0.5)
    X[0, [0, 4]] = 1.0  # the first and the last column occur
    y = rng.choice([-1.0, 1.0], 23)
    path = tmp_path / name
    with (gzip.open if name.endswith("gz") else open)(path, "wb") as stream:
        dump_svmlight_file(X, y, stream, zero_based=zero_based)
    data = load_file(path)
    assert sp.issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), X)
    np.testing.assert_array_equal(data.y, y)
    assert data.y.dtype == np.int64
    parts = list(read_batches(path, rows=10))
    assert [part.shape for part in parts] == [(10, 5), (10, 5), (3, 5)]
    np.testing.assert_array_equal(sp.vstack(parts).toarray(), X)


def test_svmlight_has_its_own_target(put):
    path = put("1.5 1:2\n2 2:1\n", "a.svm")
    assert load_file(path, target="label").y.tolist() == [1.5, 2.0]
    refuses(lambda: load_file(path, target="x1"), DataError, "under the name 'label'")


def test_svmlight_batches_have_the_columns_that_are_known(put):
    path = put("1 1:2 3:5\n2 2:1\n", "a.svm")
    for names in (["x1", "x2"], ["x1", "x2", "x3", "x4"]):
        (part,) = read_batches(path, schema=dict.fromkeys(names, pl.Float64))
        wanted = np.array([[2, 0, 5, 0], [0, 1, 0, 0]])[:, : len(names)]
        np.testing.assert_array_equal(part.toarray(), wanted)


# ---------------------------------------------------------------- ARFF
ARFF = """% a comment
@relation 'some words'
@attribute 'the age' real
@ATTRIBUTE n integer
@attribute class {yes, 'no way', "it's"}
@DATA
1.5, 3, 'no way'
?,4,yes
% another
2,?,"it's"
"""


def test_arff_with_quotes_and_missing_values(put):
    data = load_file(put(ARFF, "a.arff"), target="class")
    assert data.X.rows() == [(1.5, 3), (None, 4), (2.0, None)]
    assert data.feature_names == ["the age", "n"]
    assert data.y.tolist() == ["no way", "yes", "it's"]
    assert pl.concat(read_batches(data.path, rows=2)).height == 3


def test_arff_agrees_with_scipy(put):
    text = "@relation r\n@attribute a numeric\n@attribute b {u,v}\n@data\n1,u\n-2.5e3,v\n?,u\n"
    path = put(text, "a.arff")
    table, _ = scipy_arff.loadarff(path)
    X = load_file(path).X
    np.testing.assert_array_equal(X["a"].to_numpy(), table["a"])
    assert X["b"].to_list() == [value.decode() for value in table["b"]]


def test_arff_strings_dates_and_sparse_rows(put):
    text = (
        "@relation r\n@attribute s string\n@attribute d date 'yyyy-MM-dd'\n@attribute x real\n"
        "@attribute c {u, v}\n@data\n"
    )
    dense = load_file(put(text + "'a, \\'b\\'',2024-01-31,1,u\n?,?,2,v\n", "a.arff")).X
    assert dense.rows() == [("a, 'b'", datetime.date(2024, 1, 31), 1, "u"), (None, None, 2, "v")]
    sparse = load_file(put(text + "{2 5, 3 v}\n{}\n{0 'w x'}\n", "b.arff")).X
    assert sparse.drop("d").rows() == [(None, 5, "v"), (None, 0, "u"), ("w x", 0, "u")]


WRONG_ARFF = {
    "1,2\n": "line 4 has 2 values for 1 attributes",
    "foo\n": "'foo' in column 'a' is not a number",
    "{3 1}\n": "the last one is 0",
    "": "attributes and no rows",
}


@pytest.mark.parametrize(("rows", "message"), WRONG_ARFF.items())
def test_what_is_wrong_with_arff_rows(put, rows, message):
    path = put("@relation r\n@attribute a real\n@data\n" + rows, "a.arff")
    refuses(lambda: load_file(path), DataError, message)


def test_arff_attributes_that_are_not_read(put):
    path = put("@relation r\n@attribute a relational\n@data\n1\n", "a.arff")
    refuses(lambda: load_file(path), DataError, "'a' in line 2 is of type 'relational'")


# ---------------------------------------------------------------- npz
def test_archives_of_arrays(tmp_path):
    path = tmp_path / "a.npz"
    X = np.arange(12.0).reshape(4, 3)
    np.savez(path, X=X, y=np.array([0, 1, 1, 0]), classes=np.array(["no", "yes"]))
    data = load_file(path)
    np.testing.assert_array_equal(data.X.to_numpy(), X)
    assert data.y.tolist() == ["no", "yes", "yes", "no"]
    assert (data.target, data.feature_names) == ("y", ["x1", "x2", "x3"])
    assert [part.shape for part in read_batches(path, rows=3)] == [(3, 4), (1, 4)]


def test_archives_without_a_target_of_pictures_and_with_names(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.zeros((5, 2, 2), np.float16), feature_names=list("abcd"))
    data = load_file(path)
    assert data.y is None
    assert data.X.columns == list("abcd")
    assert load_file(path, target="a").feature_names == list("bcd")


WRONG_ARRAYS = {
    "has no array X": {"rows": np.zeros(3)},
    "not a plain .npz": {"X": np.array([{}, 1], dtype=object)},
    r"y in .* has shape \(2,\)": {"X": np.zeros((3, 1)), "y": np.zeros(2)},
    "codes of 2 classes run from 0 to 1": {
        "X": np.zeros((3, 1)), "y": np.array([0, 1, 2]), "classes": np.array(["a", "b"]),
    },
    "1 feature_names for 2 columns": {"X": np.zeros((3, 2)), "feature_names": np.array(["a"])},
    r"X in .* has shape \(0, 2\)": {"X": np.zeros((0, 2))},
}  # fmt: skip


@pytest.mark.parametrize(("message", "arrays"), WRONG_ARRAYS.items())
def test_archives_that_do_not_fit(tmp_path, message, arrays):
    path = tmp_path / "a.npz"
    np.savez(path, **arrays)
    refuses(lambda: load_file(path), DataError, message)
