"""Data that comes along: one manner for all."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas
import polars
import pytest
from sklearn import datasets as sklearn_datasets

import mercer.datasets
from mercer.datasets import (
    Data,
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_file,
    load_iris,
    load_penguins,
    load_wine,
)

NUMERIC = [load_iris, load_wine, load_breast_cancer, load_digits, load_diabetes]
ALL = [*NUMERIC, load_penguins]
every_set = pytest.mark.parametrize("load", ALL, ids=lambda load: load.__name__)


@every_set
def test_all_give_data_that_fits_together(load):
    data = load()
    assert isinstance(data, Data)
    assert data.X.shape == (len(data.y), len(data.feature_names))
    assert len(set(data.feature_names)) == len(data.feature_names)
    assert data.target not in data.feature_names
    assert (
        repr(data) == f"Data({len(data.y)} rows, {data.X.shape[1]} columns, target {data.target!r})"
    )


@every_set
def test_rows_and_targets_alone(load):
    X, y = load(return_X_y=True)
    np.testing.assert_array_equal(y, load().y)
    assert X.shape == load().X.shape


@every_set
def test_frames_are_of_polars_and_hold_the_array(load):
    frame, array = load(as_frame=True), load(as_frame=False)
    assert isinstance(frame.X, polars.DataFrame)
    assert frame.X.columns == frame.feature_names
    assert isinstance(array.X, np.ndarray)
    assert frame.X.rows() == [tuple(row) for row in array.X.tolist()]


@pytest.mark.parametrize("load", NUMERIC, ids=lambda load: load.__name__)
def test_numbers_are_scikit_learns(load):
    theirs = getattr(sklearn_datasets, load.__name__)()
    np.testing.assert_array_equal(load().X, theirs.data)
    classes, codes = np.unique(load().y, return_inverse=True)
    if load is not load_diabetes:
        assert len(classes) == len(theirs.target_names)
        assert np.bincount(codes).tolist() == [
            Counter(theirs.target.tolist())[list(map(str, theirs.target_names)).index(str(c))]
            for c in classes
        ]


def test_a_change_to_the_rows_does_not_stay():
    load_penguins().X.drop_in_place("island")
    load_iris().X[:] = 0.0
    assert "island" in load_penguins().X.columns
    assert load_iris().X.all()


# ---------------------------------------------------------------- penguins
def test_penguins_are_what_the_file_says():
    """Read by pandas, an independent reader."""
    data = load_penguins()
    theirs = pandas.read_csv(data.path)
    np.testing.assert_array_equal(data.y, theirs.pop("species").to_numpy())
    for name in data.feature_names:
        assert data.X[name].null_count() == theirs[name].isna().sum()
        known = theirs[name].dropna()
        assert (
            data.X[name].drop_nulls().to_list()
            == known.astype(data.X[name].to_numpy().dtype).tolist()
        )


def test_penguins_are_the_same_as_from_the_file():
    from_file = load_file(load_penguins().path, target="species")
    assert from_file.X.equals(load_penguins().X)
    np.testing.assert_array_equal(from_file.y, load_penguins().y)


def _without(monkeypatch, *hidden):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        mercer.datasets.shipped, "find_spec", lambda name: None if name in hidden else find(name)
    )


def test_penguins_come_with_pandas_where_polars_is_not(monkeypatch):
    expected = load_penguins().X["body_mass_g"].null_count()
    _without(monkeypatch, "polars")
    X = load_penguins().X
    assert isinstance(X, pandas.DataFrame)
    assert X["body_mass_g"].isna().sum() == expected


def test_without_a_frame_library_the_error_says_what_to_install(monkeypatch):
    _without(monkeypatch, "polars", "pandas")
    with pytest.raises(ImportError, match=r"pip install 'mercer\[app\]'"):
        load_penguins()
    assert load_penguins(as_frame=False).X.shape == (344, 7)


def test_files_need_polars_and_say_so(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "polars", None)
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ImportError, match=r"pip install 'mercer\[app\]'"):
        load_file(path)


def test_the_source_and_licence_stand_beside_the_data():
    text = (Path(mercer.datasets.__file__).parent / "data" / "README.md").read_text()
    assert "CC0" in text
    assert "penguins.csv" in text
