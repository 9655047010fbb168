"""Files: where they are written, how, what they say of themselves."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from typing import NamedTuple

import numpy as np
import pytest

import mercer
from mercer import SVC, AdaBoost, KernelRidge
from mercer.boosting._stumps import Stump
from mercer.io import ModelFileError
from mercer.io.allowed import FUNCTIONS, MERCER, SCIKIT_LEARN
from mercer.io.archive import MOST_DEFLATED
from mercer.io.objects import (
    _classes_of,
    class_name,
    function_name,
    known_class,
    known_function,
)
from mercer.kernels import RBF
from tests.io.helpers import forge, manifest_of, members_of, round_trip
from tests.test_estimators import NEW, X, Y, fitted


@pytest.fixture
def model():
    return fitted(KernelRidge(RBF(gamma=0.5) + 1.0, lam=0.25), X, Y)


# ---------------------------------------------------------------- writing
def test_a_path_may_be_text(model, tmp_path):
    path = mercer.save(model, str(tmp_path / "m"))
    np.testing.assert_array_equal(mercer.load(str(path)).predict(NEW), model.predict(NEW))


def test_a_file_takes_the_place_of_the_old_one(model, tmp_path):
    path = mercer.save(SVC(), tmp_path / "m")
    mercer.save(model, path)
    assert isinstance(mercer.load(path), KernelRidge)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("disk full"), MemoryError])
def test_an_interrupted_save_leaves_the_old_file(error, model, tmp_path, monkeypatch):
    path = mercer.save(SVC(C=7.0), tmp_path / "m")
    before = path.read_bytes()

    def broken(file, array):
        file.write(b"half")
        raise error

    monkeypatch.setattr("mercer.io.archive.write_array", broken)
    with pytest.raises((ModelFileError, KeyboardInterrupt, MemoryError)):
        mercer.save(model, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_said(model, tmp_path):
    with pytest.raises(ModelFileError, match=r"there is no folder .*none; create it first"):
        mercer.save(model, tmp_path / "none" / "m")
    with pytest.raises(ModelFileError, match="it is a folder"):
        mercer.save(model, tmp_path)


def test_equal_models_give_equal_files(model, tmp_path):
    model.names_ = {"b", "a", "c"}
    first, second = (mercer.save(model, tmp_path / name).read_bytes() for name in "ab")
    assert first == second
    third = mercer.save(mercer.load(tmp_path / "a"), tmp_path / "c").read_bytes()
    assert third == first


def test_the_file_is_a_plain_zip_that_others_can_read(model, tmp_path):
    path = mercer.save(model, tmp_path / "m")
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        stored = {i.filename: i.compress_type for i in archive.infolist()}
    assert stored.pop("model.json") == zipfile.ZIP_DEFLATED
    assert set(stored.values()) == {zipfile.ZIP_STORED}
    with np.load(path, allow_pickle=False) as arrays:  # NumPy's own archives are made the same way
        found = [arrays[name.removesuffix(".npy")] for name in stored]
    assert any(np.array_equal(array, model.X_fit_) for array in found)


def test_a_long_manifest_is_stored_and_read(tmp_path):
    words = [f"{i:016384d}" for i in range(MOST_DEFLATED // 16384)]
    path = mercer.save(words, tmp_path / "m")
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("model.json").compress_type == zipfile.ZIP_STORED
    assert mercer.load(path) == words


def test_no_pickle_takes_part(model, tmp_path, monkeypatch):
    def refuse(*args, **options):
        raise AssertionError("a pickle")

    for name in ("load", "loads", "dump", "dumps", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    again = round_trip(model, tmp_path)
    monkeypatch.undo()  # Numba keeps its compiled functions as pickles
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))


# ---------------------------------------------------------------- looking
def test_a_file_says_what_it_holds(model, tmp_path):
    about = {"target": "price", "score": np.float64(0.5), "rows": np.arange(2), "missing": None}
    facts = mercer.io.inspect(mercer.save(model, tmp_path / "m", about=about))
    assert facts["about"] == {"target": "price", "score": 0.5, "rows": [0, 1], "missing": None}
    assert facts["model"] == "KernelRidge"
    assert facts["parameters"]["lam"] == 0.25
    assert facts["parameters"]["kernel"] == repr(model.kernel)
    assert facts["mercer"] == mercer.__version__
    assert facts["format"] == 1
    assert "mercer.kernels.Sum" in facts["classes"]
    assert json.loads(json.dumps(facts)) == facts


def test_looking_reads_no_array_and_needs_no_class(model, tmp_path):
    path = mercer.save(model, tmp_path / "m")
    content = path.read_bytes()
    start = content.index(b"NUMPY") + 200
    path.write_bytes(content[:start] + b"damage" + content[start + 6 :])
    assert mercer.io.inspect(path)["model"] == "KernelRidge"
    with pytest.raises(ModelFileError):
        mercer.load(path)


@pytest.mark.parametrize("about", [{"a": object()}, {"a": {1, 2}}, {("a", 1): 2}, {"a": print}])
def test_what_json_cannot_hold_is_not_about_a_model(about, model, tmp_path):
    with pytest.raises(ModelFileError, match="about must be a dict that JSON can hold"):
        mercer.save(model, tmp_path / "m", about=about)


def test_scores_that_are_no_numbers_may_be_told(model, tmp_path):
    path = mercer.save(model, tmp_path / "m", about={"auc": float("nan")})
    assert np.isnan(mercer.io.inspect(path)["about"]["auc"])


def test_a_value_that_is_no_estimator_has_no_parameters(tmp_path):
    assert mercer.io.inspect(mercer.save([1.0], tmp_path / "m"))["parameters"] == {}


# ---------------------------------------------------------------- the table of names
CLASSES = [(package, name) for package, names in SCIKIT_LEARN.items() for name in names]


@pytest.mark.parametrize(("package", "name"), CLASSES, ids=".".join)
def test_a_class_of_the_table_is_found_by_the_name_it_is_saved_under(package, name):
    cls = known_class(f"{package}.{name}")
    assert isinstance(cls, type)
    assert class_name(cls) == f"{package}.{name}"


@pytest.mark.parametrize("package", FUNCTIONS)
def test_a_function_of_the_table_is_found_by_its_name(package):
    found = {name: known_function(f"{package}.{name}") for name in FUNCTIONS[package]}
    assert all(callable(function) for function in found.values())
    for function in found.values():  # np.abs is np.absolute: another name for the same
        assert known_function(function_name(function)) is function


def test_a_public_class_is_saved_under_its_public_name(tmp_path):
    """A class may move from one file of its folder to another without breaking old models."""
    assert class_name(SVC) == "mercer.machines.SVC"
    assert known_class("mercer.machines.SVC") is SVC
    path = mercer.save(fitted(SVC(), X, Y), tmp_path / "m")
    assert manifest_of(path)["classes"] == [
        "mercer.kernels.RBF",
        "mercer.machines.SVC",
        "mercer.result.Certificate",
    ]


EVERY_CLASS = [
    cls for part in MERCER for classes in _classes_of(f"mercer.{part}").values() for cls in classes
]


@pytest.mark.parametrize("cls", EVERY_CLASS, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_a_class_of_the_library_is_found_by_the_name_it_is_saved_under(cls):
    assert known_class(class_name(cls)) is cls


def test_a_class_is_found_wherever_in_its_folder_it_stands():
    """Also one that is not public, and one that an older file saw in another place."""
    assert class_name(Stump) == "mercer.boosting.Stump"
    for place in ("mercer.boosting", "mercer.boosting._stumps", "mercer.boosting.of_old"):
        assert known_class(f"{place}.Stump") is Stump
    assert known_class("mercer.machines.Stump") is None


def test_namesakes_of_a_folder_are_told_apart_by_their_files(monkeypatch):
    one, two = (type("Pair", (NamedTuple("Pair", [("a", int)]),), {}) for _ in range(2))
    one.__module__, two.__module__ = "mercer.maps.one", "mercer.maps.two"
    monkeypatch.setitem(_classes_of("mercer.maps"), "Pair", [one, two])
    assert [class_name(cls) for cls in (one, two)] == [
        "mercer.maps.one.Pair",
        "mercer.maps.two.Pair",
    ]
    assert known_class("mercer.maps.two.Pair") is two
    assert known_class("mercer.maps.Pair") is None


def test_a_subclass_in_disguise_does_not_take_the_name(tmp_path):
    disguised = type("SVC", (SVC,), {"__module__": "mercer.machines"})
    with pytest.raises(ModelFileError, match="cannot be saved"):
        round_trip(disguised(), tmp_path)


def test_a_pipe_is_not_replaced_by_a_model(model, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="device or a pipe"):
        mercer.save(model, tmp_path / "pipe")
    assert not (tmp_path / "pipe").is_file()


@pytest.mark.parametrize(
    ("model", "later"),
    [(AdaBoost(5), "warm_start"), (SVC(C=2.0), "break_ties"), (SVC(), "time_limit")],
)
def test_parameters_that_came_later_have_their_defaults(model, later, tmp_path):
    """A file of an older version does not hold them."""
    model = fitted(model, X, Y)
    path = mercer.save(model, tmp_path / "model.mercer")
    manifest, members = manifest_of(path), members_of(path)
    members.pop("model.json")
    _, names, values = manifest["nodes"][manifest["root"]["ref"]]
    place = names.index(later)
    names.pop(place)
    values.pop(place - 1)  # the first name is that of the class
    old = mercer.load(forge(tmp_path / "old.mercer", manifest, members))
    assert old.get_params() == model.get_params()
    assert repr(old) == repr(model)
    np.testing.assert_array_equal(old.predict(NEW), model.predict(NEW))
