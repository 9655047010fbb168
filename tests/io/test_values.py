"""Values of every kind come back with their types, their bits and what they share."""

from __future__ import annotations

import io
from collections import OrderedDict
from types import MappingProxyType

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.utils import Bunch

import mercer
from mercer.boosting._stumps import Stump
from mercer.io.archive import read_array, write_array
from mercer.io.tree import Writer, class_names, look_up, read_nodes
from mercer.kernels import RBF, Linear
from tests.io.helpers import round_trip, same

NAN, INF = float("nan"), float("inf")

VALUES = {
    "none": None,
    "numbers": [True, 0, -3, 2**80, -(7**5000), 1.5, -0.0, NAN, INF, -INF, 1e-320, 3 - 2j],
    "text": ["", "γ λ ∑", 'a "quoted" \\ \n\x00 text', "lone \ud800 surrogate", "𝔨"],
    "bytes": b"\x00\xff bytes",
    "tuples": ((), (1,), (1, (2.0, ["x"]))),
    "keys of all kinds": {1: "a", "1": "b", (1, 2): "c", None: "d", 2.5: "e", True + 1: "f"},
    "numpy keys": {np.int64(3): np.float32(0.1)},
    "sets": [{1, 2}, frozenset({"a", "b"}), set()],
    "ordered": OrderedDict([("b", 1), ("a", 2)]),
    "bunch": Bunch(data=[1], names=("x",)),
    "proxy": MappingProxyType({"gap": 1e-9, "kkt": {"box": 0.0}}),
    "slices": [slice(None), slice(1, None, -2), slice("a", "b")],
    "range": range(3, 30, 4),
    "a record": Stump(*range(len(Stump._fields))),
    "types": [float, int, str, object, np.float64, np.int32, np.bool_, np.str_],
    "dtypes": [np.dtype("<f4"), np.dtype(">i8"), np.dtype("O"), np.dtype("U7"), np.dtype("M8[ns]")],
    "functions": [np.log1p, np.mean],
    "an array of objects": np.array([["a", None], [1.5, (1, 2)]], dtype=object),
    "an array of lists": np.array([[1], [1, 2], None], dtype=object)[:2],
    "no objects": np.empty((0, 3), dtype=object),
    "masked": np.ma.MaskedArray([1.0, 2.0], mask=[True, False]),
    "masked objects": np.ma.MaskedArray(np.array(["a", 1], object), mask=False, fill_value="?"),
}

SCALARS = [
    np.float64(0.1),
    np.float32(NAN),
    np.float16(2.0),
    np.longdouble("1.1"),
    np.int8(-3),
    np.uint64(2**63),
    np.bool_(True),
    np.complex64(1 + 2j),
    np.str_("text"),
    np.str_(""),
    np.bytes_(b"bytes\0"),
    np.datetime64("2024-02-29T12:00"),
    np.datetime64("NaT"),
    np.timedelta64(3, "D"),
]

DTYPES = "f8 f4 f2 >f8 i8 i2 u1 ? c16 U5 U0 S3 M8[ns] m8[s] g".split()  # noqa: SIM905


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_a_value_comes_back(value, tmp_path):
    assert same(round_trip(value, tmp_path), value)


@pytest.mark.parametrize("scalar", SCALARS, ids=repr)
def test_a_scalar_keeps_its_type(scalar, tmp_path):
    again = round_trip([scalar], tmp_path)[0]
    assert type(again) is type(scalar)
    assert again.dtype == scalar.dtype
    assert again.tobytes() == scalar.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 0, 2), (2, 3, 4)], ids=str)
def test_an_array_keeps_type_and_shape(dtype, shape, tmp_path):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype("i8").astype(dtype)
    assert same(round_trip(array, tmp_path), array)


LAYOUTS = {
    "C": np.arange(24.0).reshape(2, 3, 4),
    "Fortran": np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
    "axes in another order": np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0),
    "inner Fortran": np.arange(24.0).reshape(2, 3, 4).transpose(0, 2, 1),
}


@pytest.mark.parametrize("array", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_the_order_in_memory_is_kept(array, tmp_path):
    again = round_trip(array, tmp_path)
    assert again.strides == array.strides
    np.testing.assert_array_equal(again, array)


def test_a_view_with_gaps_becomes_an_array_without(tmp_path):
    array = np.arange(24.0).reshape(4, 6)[::2, ::-3]
    assert same(round_trip(array, tmp_path), array)
    spread = np.broadcast_to(np.arange(3.0), (4, 3))
    np.testing.assert_array_equal(round_trip(spread, tmp_path), spread)


def test_an_array_that_must_not_change_stays_so(tmp_path):
    array = np.arange(3.0)
    array.flags.writeable = False
    assert [a.flags.writeable for a in round_trip([array, np.zeros(2)], tmp_path)] == [False, True]


def test_what_is_shared_is_stored_once_and_stays_shared(tmp_path):
    array, inner = np.arange(1000.0), {"a": [1]}
    path = mercer.save([array, {"again": array, "view": array[:]}, inner, inner], tmp_path / "m")
    assert path.stat().st_size < 2 * array.nbytes
    first, second, left, right = mercer.load(path)
    assert first is second["again"]
    assert first is second["view"]
    assert left is right


def test_equal_things_that_are_not_shared_stay_apart(tmp_path):
    left, right = round_trip([[1.0], [1.0]], tmp_path)
    assert left is not right


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("shape", [(4, 5), (0, 3), (3, 0)], ids=str)
def test_a_sparse_table_comes_back(form, kind, shape, tmp_path):
    table = sp.random(*shape, density=0.4, random_state=0, dtype=np.float32)
    table = getattr(sp, f"{form}_{kind}")(table)
    again = round_trip(table, tmp_path)
    assert same(again, table)
    assert again.format == form


GENERATORS = ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"]


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.Generator])
def test_random_numbers_go_on_where_they_stood(kind, name, tmp_path):
    random = kind(getattr(np.random, name)(5))
    random.standard_normal(3), random.random(dtype=np.float32) if kind is np.random.Generator else 0
    again = round_trip(random, tmp_path)
    np.testing.assert_array_equal(again.standard_normal(9), random.standard_normal(9))
    assert again.bytes(5) == random.bytes(5)


# ---------------------------------------------------------------- anything nested in anything
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.binary(max_size=8),
    st.floats(width=32).map(np.float32),
    arrays(np.float64, array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)),
)
keys = st.one_of(st.integers(), st.text(max_size=5), st.tuples(st.integers(), st.text(max_size=3)))


def _nested(inner):
    return st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
    )


@settings(max_examples=60, deadline=None)
@given(st.recursive(plain, _nested, max_leaves=12))
def test_nests_of_values_come_back(value):
    written = Writer(value)
    names = class_names(written.nodes, written.root)
    again = read_nodes(written.nodes, written.root, written.arrays, look_up(names, ()))
    assert same(again, value)


@settings(max_examples=40, deadline=None)
@given(
    arrays(st.sampled_from(["f8", "i4", "U3", "?"]), array_shapes(min_dims=0, min_side=0)),
    st.booleans(),
)
def test_arrays_go_through_a_stream(array, fortran):
    array = np.asfortranarray(array) if fortran else array
    out = io.BytesIO()
    digest = write_array(out, array)
    assert same_as_numpy(out, array)
    out.seek(0)
    assert same(read_array(out, len(out.getvalue()), digest, "a"), array)


def same_as_numpy(out, array):
    out.seek(0)
    return same(np.load(out, allow_pickle=False), array)


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize("value", [{((1,),): 2}, {RBF(): 1}, {Linear(), 1}])
def test_keys_that_are_not_plain_are_refused(value, tmp_path):
    with pytest.raises(mercer.io.ModelFileError, match="keys of dicts and members of sets"):
        mercer.save(value, tmp_path / "m")


class Unknown:
    pass


REFUSED = {
    "an object": Unknown(),
    "a function": lambda x: x,
    "a class": Unknown,
    "a structured array": np.zeros(2, dtype=[("a", "f8")]),
    "a module": np,
    "a generator": (i for i in range(3)),
    "a file": io.BytesIO(),
    "a matrix": np.ones((1, 1)).view(np.matrix),
    "an array of objects": np.array([Unknown()], dtype=object),
    "a method": [].append,
    "dangerous": eval,
}


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_saved_is_refused_by_its_place(value, tmp_path):
    with pytest.raises(mercer.io.ModelFileError, match=r"^dict\['here'\](\[0\])? cannot be saved"):
        mercer.save({"here": value}, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
