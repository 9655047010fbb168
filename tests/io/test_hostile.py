"""A file may be damaged or hostile: an error of one line, nothing run, nothing huge allocated."""

from __future__ import annotations

import io
import json
import pickle
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mercer
from mercer import SVC, KernelRidge
from mercer.io import ModelFileError
from tests.io.helpers import forge, forge_nodes, manifest_of, members_of, npy
from tests.test_estimators import X, Y, fitted

fuzz = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def refused(path, match="cannot load", **options):
    """Assert that a file is refused in one line."""
    with pytest.raises(ModelFileError, match=match) as caught:
        mercer.load(path, **options)
    assert "\n" not in str(caught.value)


def attempt(path):
    """Return a model and no error, or no model and the text of the one error that is allowed."""
    try:
        return mercer.load(path), ""
    except ModelFileError as error:
        return None, str(error)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "m"
    return mercer.save(fitted(SVC(), X[:12], Y[:12]), path)


# ---------------------------------------------------------------- damage
def check_damaged(path, good):
    """A damaged file is refused, or the damage was in bytes that mean nothing."""
    model, error = attempt(path)
    assert "\n" not in error
    if not error:
        again = mercer.save(model, path.with_name("again"))
        assert again.read_bytes() == good.read_bytes()


@fuzz
@given(st.data())
def test_a_changed_byte_is_noticed_or_harmless(good, tmp_path, data):
    content = bytearray(good.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path / "m"
    path.write_bytes(content)
    check_damaged(path, good)


@fuzz
@given(st.data())
def test_a_lost_or_repeated_stretch_is_noticed(good, tmp_path, data):
    content = good.read_bytes()
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(content))] * 2)))
    stretch = data.draw(st.sampled_from([b"", content[start:end] * 2, bytes(end - start)]))
    path = tmp_path / "m"
    path.write_bytes(content[:start] + stretch + content[end:])
    check_damaged(path, good)


def test_the_bytes_of_the_directory_of_the_zip_are_checked_one_by_one(good, tmp_path):
    content, path = good.read_bytes(), tmp_path / "m"
    start = content.index(b"PK\x01\x02")
    for place in range(start, len(content), 3):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        check_damaged(path, good)


def test_a_file_that_ends_early_is_refused(good, tmp_path):
    content, path = good.read_bytes(), tmp_path / "m"
    for length in [*range(0, len(content), 97), len(content) - 1]:
        path.write_bytes(content[:length])
        refused(path)


def test_an_altered_array_is_noticed_although_the_zip_is_in_order(good, tmp_path):
    members = members_of(good)
    manifest = members.pop("model.json")
    name = next(n for n, content in members.items() if len(content) > 130)
    members[name] = members[name][:-1] + bytes([members[name][-1] ^ 1])
    refused(forge(tmp_path / "m", manifest, members), f"{name} was altered")


# ---------------------------------------------------------------- other files
OTHERS = {
    "empty": (b"", "not a model file"),
    "text": (b"a,b\n1,2\n", "not a model file"),
    "a pickle": (pickle.dumps(KernelRidge()), "looks like a pickle"),
    "an array": (npy(np.zeros(3)), "not a model file"),
    "only a signature": (b"PK\x03\x04", "damaged"),
}


@pytest.mark.parametrize(("content", "match"), OTHERS.values(), ids=OTHERS.keys())
def test_another_kind_of_file_is_refused(content, match, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(content)
    refused(path, match)
    with pytest.raises(ModelFileError, match=match):
        mercer.io.inspect(path)


MANIFESTS = {
    "not JSON": ("{", "damaged"),
    "not a mapping": ("[1]", "not a description"),
    "of another kind": ({"format": 1}, "not a model of mercer"),
    "without a format": ({"kind": "mercer model"}, "does not say in which format"),
    "of a newer format": ({"kind": "mercer model", "format": 2}, "upgrade mercer"),
    "without nodes": ({"kind": "mercer model", "format": 1}, "'nodes' must be a list"),
    "nested deeply": ("[" * 200_000, "damaged"),
    "with a huge number": ('{"format": ' + "9" * 10_000 + "}", "damaged"),
    "not text": (b"\xff\xfe\x00", "damaged"),
}


@pytest.mark.parametrize(("manifest", "match"), MANIFESTS.values(), ids=MANIFESTS.keys())
def test_a_wrong_manifest_is_refused(manifest, match, tmp_path):
    refused(forge(tmp_path / "m", manifest), match)


def test_a_file_or_folder_that_is_not_there_is_said(tmp_path):
    refused(tmp_path / "nothing", "there is no file")
    refused(tmp_path, "cannot read")


# ---------------------------------------------------------------- members of the zip
def test_members_that_no_model_has_are_refused(good, tmp_path):
    manifest = manifest_of(good)
    for name in ("/etc/passwd", "../m.npy", "arrays/../../x.npy", "arrays/evil.pkl", "a.py"):
        members = {**members_of(good), name: b"x"}
        members.pop("model.json")
        refused(forge(tmp_path / "m", manifest, members), "a member that no model has")


def test_a_member_that_occurs_twice_is_refused(good, tmp_path):
    path = tmp_path / "m"
    text = json.dumps(manifest_of(good))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", text)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("model.json", text)
    refused(path, "twice")


def test_arrays_that_the_model_does_not_know_are_refused(good, tmp_path):
    members = members_of(good)
    manifest = members.pop("model.json")
    refused(forge(tmp_path / "m", manifest, {**members, "arrays/999.npy": b""}), "are not the")
    members.popitem()
    refused(forge(tmp_path / "m", manifest, members), "are not the")


def test_a_zip_without_a_model_is_refused(tmp_path):
    path = tmp_path / "m"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("arrays/000.npy", npy(np.zeros(2)))
    refused(path, r"no model\.json")


def peak_of(call):
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_a_bomb_is_refused_before_it_goes_off(tmp_path):
    big = b" " * 2**25
    as_manifest = forge(tmp_path / "a", big, compress=zipfile.ZIP_DEFLATED)
    as_array = forge(tmp_path / "b", "{}", {"arrays/000.npy": big}, zipfile.ZIP_DEFLATED)
    for path in (as_manifest, as_array):
        assert path.stat().st_size < 2**18
        assert peak_of(lambda path=path: refused(path, "compressed in a way")) < 2**21


def test_members_that_lie_upon_each_other_are_refused(good, tmp_path):
    """Many names in the directory for the same bytes: a bomb without compression."""
    path, array = tmp_path / "m", npy(np.zeros(4000))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", "{}")
        archive.writestr("arrays/000.npy", array)
        first = archive.infolist()[-1]
        for i in range(1, 100):
            info = zipfile.ZipInfo(f"arrays/{i:03d}.npy")
            for name in ("header_offset", "file_size", "compress_size", "CRC"):
                setattr(info, name, getattr(first, name))
            archive.filelist.append(info)
    refused(path, "larger than the file")


# ---------------------------------------------------------------- arrays
def lying(shape, content=b"\0" * 8, descr="<f8"):
    """Return an array file whose header says something else than its content."""
    out = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, header)
    return out.getvalue() + content


ARRAYS = {
    "larger than it is": (lying((10**12,)), "claims to be"),
    "smaller than it is": (lying((0,)), "claims to be"),
    "negative": (lying((-1, -1)), "damaged"),
    "objects": (npy(np.array([print], object), allow_pickle=True), "not plain numbers"),
    "objects inside": (lying((1,), descr=[("a", "O")]), "not plain numbers"),
    "a structure": (lying((1,), descr=[("a", "<f8")]), "not plain numbers"),
    "code for a header": (
        b"\x93NUMPY\x01\x00\x32\x00" + b"__import__('os').system('true')".ljust(50),
        "damaged",
    ),
    "a long header": (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + b" " * 100, "damaged"),
    "nothing": (b"", "damaged"),
}
ARRAY_NODE = ["array", [0, [0], True], []]


@pytest.mark.parametrize(("content", "match"), ARRAYS.values(), ids=ARRAYS.keys())
def test_an_array_that_lies_is_refused(content, match, tmp_path):
    path = forge_nodes(tmp_path / "m", [ARRAY_NODE], arrays=[content])
    assert peak_of(lambda: refused(path, match)) < 2**21


# ---------------------------------------------------------------- names
HOSTILE = [
    "os.system",
    "builtins.eval",
    "subprocess.Popen",
    "mercer.cli.main",
    "mercer.io.files.save",
    "mercer.kernels.base.np",
    "mercer.kernels.as_kernel",
    "mercer.gram.DenseGram",
    "mercer.kernels.sample.Sample",
    "mercer.report.study.Study",
    "sklearn.ensemble.RandomForestClassifier",
    "sklearn.pipeline.make_pipeline",
    "sklearn.utils._joblib.Memory",
    "antigravity.Fly",
    "",
    "..",
    "mercer",
    "mercer.",
    "mercer.kernels",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_outside_the_table_is_refused_and_not_imported(name, tmp_path):
    before = set(sys.modules)
    nodes = [["object", [name], []]]
    refused(forge_nodes(tmp_path / "m", nodes), "classes that are not known")
    nodes = [["record", [name], []]]
    refused(forge_nodes(tmp_path / "m", nodes), "classes that are not known")
    refused(forge_nodes(tmp_path / "m", [], {"enum": [name, "x"]}), "not known")
    refused(forge_nodes(tmp_path / "m", [], {"function": name}), "not allowed")
    assert not {module for module in set(sys.modules) - before if module.startswith("anti")}


def test_nothing_is_built_before_all_names_are_known(tmp_path):
    class Spy(KernelRidge):
        built = 0

        def __new__(cls):
            Spy.built += 1
            return super().__new__(cls)

    name = f"{Spy.__module__}.{Spy.__qualname__}"
    nodes = [["object", [name], []], ["object", ["os.system"], []]]
    refused(forge_nodes(tmp_path / "m", nodes), "os.system", trusted=[Spy])
    assert Spy.built == 0
    mercer.load(forge_nodes(tmp_path / "m", nodes[:1]), trusted=[Spy])
    assert Spy.built == 1


SVC_NAME, STEPS = "mercer.machines.SVC", ["list", None, []]
NODES = {
    "a circle": ([["list", None, [{"ref": 0}]]], "not before it"),
    "a later node": ([["list", None, [{"ref": 1}]], STEPS], "not before it"),
    "an earlier node by a negative number": ([STEPS, ["list", None, [{"ref": -1}]]], "not before"),
    "no node": ([5], "not a kind"),
    "no kind": ([[5, None, []]], "no kind"),
    "an unknown kind": ([["eval", "1", []]], "unknown kind"),
    "an unknown tag": ([["list", None, [{"eval": "1"}]]], "unknown tag"),
    "two tags": ([["list", None, [{"int": "0x1", "bytes": ""}]]], "no tag or several"),
    "a list within": ([["list", None, [[1]]]], "a list where a value"),
    "a dunder": ([["object", [SVC_NAME, "__class__"], [1]]], "impossible names"),
    "an attribute twice": ([["object", [SVC_NAME, "C", "C"], [1, 2]]], "impossible names"),
    "no attribute": ([["object", [SVC_NAME, "a b"], [1]]], "impossible names"),
    "too few values": ([["object", [SVC_NAME, "C"], []]], "damaged"),
    "a record too short": (
        [["record", ["mercer.boosting._stumps.Stump"], [1]]],
        "not fit its class",
    ),
    "an enum made anew": ([["object", ["mercer.result.Status"], []]], "damaged"),
    "an enum that is none": ([["list", None, [{"enum": [SVC_NAME, "C"]}]]], "which has none"),
    "a cache of pickles": (
        [["object", ["sklearn.pipeline.Pipeline", "memory"], ["/tmp/x"]]],
        "memory must be None",
    ),
    "a key that is a list": ([STEPS, ["dict", None, [{"ref": 0}, 1]]], "must be numbers, texts"),
    "a key that takes for ever": (
        [
            ["tuple", None, []],
            *(["tuple", None, [{"ref": i}, {"ref": i}]] for i in range(60)),
            ["dict", None, [{"ref": 60}, 1]],
        ],
        "must be numbers, texts",
    ),
    "a set that takes for ever": (
        [
            ["object", ["mercer.kernels.Linear", "bias"], [0.0]],
            *(
                ["object", ["mercer.kernels.Sum", "left", "right"], [{"ref": i}, {"ref": i}]]
                for i in range(60)
            ),
            ["set", None, [{"ref": 60}]],
        ],
        "must be numbers, texts",
    ),
    "a key without a value": ([["dict", None, [1]]], "damaged"),
    "objects of a huge shape": ([["objects", [10**12], [1]]], "with 1 objects"),
    "objects of a negative shape": ([["objects", [-1, -1], [1]]], "with 1 objects"),
    "a number of objects": ([["list", None, [{"numpy": ["O", "00" * 8]}]]], "does not fit"),
    "a number too long": ([["list", None, [{"numpy": ["<f8", "00"]}]]], "does not fit"),
    "a strange type": ([["list", None, [{"dtype": "i4,O"}]]], "unknown type"),
    "an array that is not there": ([["array", [7, [0], True], []]], "refers to array 7 of 0"),
    "a type outside the table": ([["list", None, [{"type": "os._wrap_close"}]]], "damaged"),
    "twisters out of range": (
        [
            ["list", None, [0] * 624],
            ["dict", None, ["key", {"ref": 0}, "pos", 10**6]],
            ["dict", None, ["bit_generator", "MT19937", "state", {"ref": 1}]],
            ["generator", None, [{"ref": 2}]],
        ],
        "impossible state",
    ),
}


@pytest.mark.parametrize(("nodes", "match"), NODES.values(), ids=NODES.keys())
def test_impossible_nodes_are_refused(nodes, match, tmp_path):
    refused(forge_nodes(tmp_path / "m", nodes), match)


@pytest.mark.parametrize("form", ["csr_array", "csc_matrix", "coo_array"])
@pytest.mark.parametrize("index", [-1, 7])
def test_indices_outside_a_sparse_table_are_refused(form, index, tmp_path):
    """Compiled code would read memory that is not the table's."""
    last = np.array([0]) if form.startswith("coo") else np.array([0, 1, 1])
    contents = [npy(np.ones(1)), npy(np.array([index])), npy(last)]
    nodes = [["array", [i, [0], True], []] for i in range(3)]
    nodes.append(["sparse", [form, [2, 2]], [{"ref": i} for i in range(3)]])
    refused(forge_nodes(tmp_path / "m", nodes, arrays=contents))


@pytest.mark.parametrize(
    "pointers", [[0, 1, -(2**31)], [0, -1, 2], [1, 1, 2], [0, 2, 1], [0, 1, 9]]
)
@pytest.mark.parametrize("form", ["csr_array", "csc_array"])
def test_pointers_outside_a_sparse_table_are_refused(form, pointers, tmp_path):
    """SciPy's own check looks no further where the last of them is negative."""
    parts = [np.ones(2), np.array([0, 1], np.int32), np.array(pointers, np.int32)]
    nodes = [["array", [i, [0], True], []] for i in range(3)]
    nodes.append(["sparse", [form, [2, 2]], [{"ref": i} for i in range(3)]])
    path = forge_nodes(tmp_path / "m", nodes, arrays=[npy(part) for part in parts])
    refused(path, "a sparse matrix of the model")


# ---------------------------------------------------------------- a forger who knows the format
junk = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 300),
        st.integers(),
        st.floats(),
        st.text(max_size=4),
        st.sampled_from(["list", "dict", "array", "object", "set", "sparse", "objects", "record"]),
        st.sampled_from([SVC_NAME, "mercer.result.Certificate", "sklearn.pipeline.Pipeline"]),
        st.sampled_from(["ref", "numpy", "enum", "<f8", "MT19937", "function", "dtype", "range"]),
        st.builds(lambda i: {"ref": i}, st.integers(-1, 12)),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=6,
)


def places(value, path=()):
    """Yield the way to every part of a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in items if isinstance(value, (dict, list)) else ():
        yield from places(part, (*path, key)) if isinstance(part, (dict, list)) else [(*path, key)]


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    model = fitted(SVC(), X[:12], Y[:12])
    model.random_ = [np.random.default_rng(0), np.random.RandomState(0)]
    model.extra_ = [{1, 2}, {"a": (1, np.float64(2))}, slice(1, 2), mercer.Status.STALLED]
    model.table_ = [np.ma.MaskedArray([1.0], [True]), np.array(["a", None], object)]
    path = mercer.save(model, tmp_path_factory.mktemp("rich") / "m")
    members = members_of(path)
    manifest = json.loads(members.pop("model.json"))
    return manifest, members, list(places(manifest["nodes"]))


@pytest.mark.filterwarnings("ignore")
@fuzz
@given(st.data())
def test_a_forged_manifest_gives_a_model_or_one_clear_error(rich, tmp_path, data):
    manifest, members, ways = rich
    forged = json.loads(json.dumps(manifest))
    for _ in range(data.draw(st.integers(1, 3))):
        way = data.draw(st.sampled_from(ways[1:]))
        target = forged["nodes"]
        try:
            for key in way[:-1]:
                target = target[key]
            target[way[-1]] = data.draw(junk)
        except (TypeError, KeyError, IndexError):
            continue  # an earlier forgery has taken this place away
    assert "\n" not in attempt(forge(tmp_path / "m", forged, members))[1]
