"""Arrays and frames of Dask as rows: partitions of any size, known or not, and empty ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from mercer import (  # noqa: E402
    SVC,
    SVR,
    KernelLogistic,
    KernelPCA,
    KernelRidge,
    KernelRidgeClassifier,
    rows,
    tune,
)
from mercer.rows import RowsError, collections  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1]
OPTIONS = {"landmarks": 30, "random_state": 0, "lam": 0.1}


def frame():
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": Y, "high": Y > 0})


@pytest.mark.parametrize("chunks", [(300, 3), (70, 3), (50, 2), ((0, 100, 0, 200), 3)])
def test_an_array_in_chunks(chunks):
    some = rows.open(da.from_array(X, chunks=chunks), Y)
    assert some.shape == (300, 3)
    np.testing.assert_array_equal(np.vstack([b.read().X for b in some.blocks(33)]), X)
    np.testing.assert_array_equal(some.take([250, 3]), X[[250, 3]])


def test_sizes_that_are_not_known_are_computed():
    whole = da.from_array(X, chunks=(60, 3))
    some = rows.open(whole[whole[:, 0] > 0])
    np.testing.assert_array_equal(some.read().X, X[X[:, 0] > 0])


def test_single_precision_stays():
    assert rows.open(da.from_array(X.astype(np.float32), chunks=(60, 3))).dtype == np.float32


def test_few_partitions_are_in_memory():
    some = rows.open(da.from_array(X, chunks=(10, 3)))
    [block.read() for block in some.blocks()]
    computed = some._parts[0]._computed
    assert len(computed._kept) <= collections.PARTITIONS_KEPT


def test_machines_take_arrays_directly():
    lazy = da.from_array(X, chunks=(64, 3))
    found = KernelRidge(**OPTIONS).fit(lazy, da.from_array(Y, chunks=64)).predict(lazy)
    np.testing.assert_allclose(found, KernelRidge(**OPTIONS).fit(X, Y).predict(X), rtol=1e-7)


def test_a_frame_with_its_target():
    dd = pytest.importorskip("dask.dataframe")
    lazy = dd.from_pandas(frame(), npartitions=4)
    opened = rows.open(lazy[lazy.a > -1], "high", columns=["a", "b", "c"])
    kept = frame()[frame().a > -1]
    assert opened.n == len(kept)
    model = KernelRidgeClassifier(**OPTIONS).fit(opened)
    by_array = KernelRidgeClassifier(**OPTIONS).fit(
        kept[["a", "b", "c"]].to_numpy(), kept["high"].to_numpy()
    )
    np.testing.assert_array_equal(
        model.predict(opened), by_array.predict(kept[["a", "b", "c"]].to_numpy())
    )


def test_what_is_wrong_is_said():
    bad = X.copy()
    bad[150, 1] = np.nan
    some = rows.open(da.from_array(bad, chunks=(100, 3)))
    with pytest.raises(RowsError, match="partition 1: column 1 of row 50 is missing"):
        some.read()
    with pytest.raises(RowsError, match="rows must be a table"):
        rows.open(da.from_array(Y, chunks=50))


def test_answers_are_lazy_and_keep_chunks():
    lazy = da.from_array(X, chunks=((0, 64, 236), 3))
    model = KernelRidge(**OPTIONS).fit(X, Y)
    said = model.predict(lazy)
    assert isinstance(said, da.Array)
    assert said.chunks == ((0, 64, 236),)
    np.testing.assert_allclose(said.compute(), model.predict(X), rtol=1e-12)
    by_class = KernelLogistic(landmarks=30, random_state=0).fit(X, np.digitize(Y, [-1.0, 1.0]))
    shares = by_class.predict_proba(lazy)
    assert shares.chunks == ((0, 64, 236), (3,))
    np.testing.assert_allclose(shares.compute(), by_class.predict_proba(X), rtol=1e-12)
    scores = KernelPCA(2, landmarks=30).fit(lazy).transform(lazy)
    assert isinstance(scores, da.Array)


def test_answers_of_a_frame_have_its_index():
    dd = pytest.importorskip("dask.dataframe")
    table = frame()[["a", "b", "c"]].set_axis(range(1000, 1300))
    model = SVC().fit(table, np.where(Y > 0, "high", "low"))
    said = model.predict(dd.from_pandas(table, npartitions=3)).compute()
    np.testing.assert_array_equal(said.index, table.index)
    np.testing.assert_array_equal(said.to_numpy(dtype=str), model.predict(table))


@pytest.mark.parametrize(
    "machine",
    [
        SVC(),
        SVC(landmarks=40, random_state=0),
        KernelLogistic(),
        KernelLogistic(landmarks=40, random_state=0),
        KernelRidgeClassifier(),
    ],
    ids=repr,
)
def test_classifiers_take_arrays_directly(machine):
    lazy, classes = da.from_array(X, chunks=(64, 3)), Y > 0
    found = machine.fit(lazy, classes).predict(X)
    np.testing.assert_array_equal(found, machine.fit(X, classes).predict(X))


def test_a_search_and_a_regression_take_arrays_directly():
    lazy = da.from_array(X, chunks=(64, 3))
    np.testing.assert_array_equal(SVR().fit(lazy, Y).predict(X), SVR().fit(X, Y).predict(X))
    search = tune(KernelRidge(), lazy, Y, cv=3)
    assert search.best_params_ == tune(KernelRidge(), X, Y, cv=3).best_params_


@pytest.mark.long
def test_partitions_are_computed_by_a_cluster_and_survive_a_worker():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as home,
        distributed.Client(home) as client,
    ):
        lazy = da.from_array(X, chunks=(30, 3)).map_blocks(lambda block: block + 0.0)
        opened = rows.open(lazy, Y)
        worker = next(iter(client.scheduler_info()["workers"]))
        blocks = opened.blocks()
        before = [block.read().X for block in blocks[:5]]
        client.run(lambda: __import__("os")._exit(1), workers=[worker], on_error="ignore")
        after = [block.read().X for block in blocks[5:]]
    np.testing.assert_array_equal(np.vstack(before + after), X)
