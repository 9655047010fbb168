"""Texts, strings and series that are kept for kernels, and series as numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")

from mercer import SVC, TableEncoder, load, save  # noqa: E402
from mercer.kernels import RBF, GlobalAlignment, Words  # noqa: E402
from mercer.tables import ColumnsEncoder, object_kinds  # noqa: E402


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    letters = np.array(list("acgt"))
    return pl.DataFrame(
        {
            "id": [f"row-{i}" for i in range(n)],
            "uuid": [f"{int.from_bytes(rng.bytes(16)):032x}" for _ in range(n)],
            "remark": [f"number {i} is a word of {rng.choice(['joy', 'woe'])}" for i in range(n)],
            "dna": ["".join(rng.choice(letters, 12)) for _ in range(n)],
            "curve": [rng.normal(size=rng.integers(3, 7)).tolist() for _ in range(n)],
            "job": rng.choice(["cook", "smith"], n).tolist(),
            "age": rng.normal(size=n).tolist(),
        }
    )


def test_each_kind_is_seen_and_names_of_rows_are_none():
    X = table()
    wanted = {"remark": "text", "dna": "string", "curve": "series"}
    assert object_kinds(X) == wanted
    assert object_kinds(X.to_pandas()) == wanted
    assert object_kinds(X, {"dna": "category", "id": "string"}) == {
        "id": "string",
        "remark": "text",
        "curve": "series",
    }


def test_series_mean_the_same_as_lists_as_json_and_as_arrays():
    X = table()
    as_text = X.with_columns(curve=pl.Series([json.dumps(c) for c in X["curve"].to_list()]))
    arrays = X.to_pandas().assign(curve=[np.array(c) for c in X["curve"].to_list()])
    for other in (as_text, X.to_pandas(), arrays):
        np.testing.assert_array_equal(
            TableEncoder().fit_transform(X.select("curve")),
            TableEncoder().fit_transform(other[["curve"]]),
        )
        ours, theirs = (ColumnsEncoder().fit_transform(one).column("curve") for one in (X, other))
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_series_of_one_length_are_their_steps_in_units_of_the_column():
    rows = np.random.default_rng(0).normal(3.0, 2.0, (9, 4))
    Z = TableEncoder().fit_transform(pd.DataFrame({"x": list(rows)}))
    np.testing.assert_allclose(Z, (rows - rows.mean()) / rows.std())


def test_channels_stand_one_after_the_other():
    rows = np.random.default_rng(0).normal(size=(6, 3, 2))
    frame = pl.DataFrame({"x": rows.tolist()})
    encoder = TableEncoder(scale=False).fit(frame)
    np.testing.assert_array_equal(encoder.transform(frame), np.hstack([rows[..., 0], rows[..., 1]]))
    names = ["x[0, 0]", "x[1, 0]", "x[2, 0]", "x[0, 1]", "x[1, 1]", "x[2, 1]"]
    assert encoder.get_feature_names_out().tolist() == names


def test_gaps_lie_on_straight_lines_and_missing_series_are_the_mean():
    frame = pl.DataFrame({"x": [[0.0, None, 4.0], [2.0, 2.0, 2.0], None]})
    encoder = TableEncoder(scale=False).fit(frame)
    wanted = [[0.0, 2.0, 4.0], [2.0, 2.0, 2.0], [1.0, 2.0, 3.0]]
    np.testing.assert_allclose(encoder.transform(frame), wanted)
    cells = ColumnsEncoder().fit_transform(frame).column("x")
    np.testing.assert_allclose(np.array([*cells])[:, :, 0], wanted)
    assert encoder.describe() == [
        "1 column of series of 3 steps",
        "1 missing series in 'x': the mean of all",
        "1 series of 'x' has gaps: filled along straight lines",
    ]


def test_other_lengths_are_read_at_as_many_places():
    frame = pl.DataFrame({"x": [[0.0, 1.0, 2.0], [0.0, 2.0], [4.0, 5.0, 6.0]]})
    Z = TableEncoder(scale=False).fit_transform(frame)
    np.testing.assert_allclose(Z, [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0], [4.0, 5.0, 6.0]])


def test_what_is_no_series_is_said():
    frame = pl.DataFrame({"x": ["a", "b", "c"], "y": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="column 'x' holds no series"):
        TableEncoder(kinds={"x": "series"}).fit(frame)
    with pytest.raises(ValueError, match="objects: X has no column 'z'"):
        ColumnsEncoder({"z": "text"}).fit(frame)
    with pytest.raises(ValueError, match=r"objects\['x'\] must be 'text', 'string' or 'series'"):
        ColumnsEncoder({"x": "word"}).fit(frame)
    with pytest.raises(TypeError, match="whose columns have names; got ndarray"):
        ColumnsEncoder().fit(np.zeros((3, 2)))
    fitted = ColumnsEncoder({"x": "text"}).fit(frame)
    with pytest.raises(ValueError, match="lacks the column 'x'"):
        fitted.transform(frame.select("y"))


def test_a_machine_on_prepared_columns_survives_its_file(tmp_path):
    X = table()
    y = np.array(["joy" in text for text in X["remark"]])
    encoder = ColumnsEncoder().fit(X)
    kernel = RBF().on(encoder.numbers_) + Words().normalized().on("remark")
    kernel += GlobalAlignment().normalized().on("curve")
    model = SVC(kernel, C=10.0).fit(encoder.transform(X), y)
    save(model, tmp_path / "m.mercer")
    save(encoder, tmp_path / "e.mercer")
    turned = X.select(reversed(X.columns))
    Z = load(tmp_path / "e.mercer").transform(turned)
    wanted = model.decision_function(encoder.transform(X))
    np.testing.assert_array_equal(load(tmp_path / "m.mercer").decision_function(Z), wanted)
    assert model.score(encoder.transform(X), y) == 1.0


def test_without_encoding_other_columns_are_passed_on():
    X = table(8)
    Z = ColumnsEncoder({"curve": "series"}, encode=False).fit_transform(X)
    assert set(Z.names) == set(X.columns)
    assert Z.column("job").tolist() == X["job"].to_list()
    assert Z.column("age").tolist() == X["age"].to_list()
