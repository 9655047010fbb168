"""Ridge machines on rows in blocks: the same answers as from memory, after a kill too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from mercer import KernelRidge, KernelRidgeClassifier, MetricRidge, load, rows, save
from mercer._in_span import InSpan
from mercer.kernels import RBF, Precomputed, Spectrum
from mercer.rows import RowsError
from mercer.rows.checkpoint import Passes
from mercer.solvers.span import Span

N = 700


def problem(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 2] + 5.0


@pytest.fixture
def folder(tmp_path):
    X, y = problem()
    labels = np.where(y > 5.5, "high", np.where(y > 4.5, "middle", "low"))
    table = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "label": labels, "c": X[:, 2]})
    home = tmp_path / "parts"
    home.mkdir()
    for i, part in enumerate((slice(0, 100), slice(100, 101), slice(101, N))):
        table[part].write_parquet(home / f"{i}.parquet")
    return home


class SmallBlocks(InSpan):
    """Reads few rows at once, as a fit of many rows does."""

    def _span_of(self, points):
        return Span(self.kernel_, points, 10**9, block_values=40 * 50, block_work=1.0)


class RidgeInSmallBlocks(SmallBlocks, KernelRidge):
    pass


class ClassifierInSmallBlocks(SmallBlocks, KernelRidgeClassifier):
    pass


OPTIONS = {"kernel": "rbf", "landmarks": 40, "random_state": 0}


@pytest.mark.parametrize("options", [{"lam": 0.1}, {"lam": [0.1, 10.0]}, {"route": "cg"}])
def test_a_folder_of_files_is_fitted_as_its_rows_in_memory(options, folder):
    X, y = problem()
    opened = rows.open(folder, "y", columns=["a", "b", "c"])
    from_files = RidgeInSmallBlocks(**OPTIONS, **options).fit(opened)
    from_memory = KernelRidge(**OPTIONS, **options).fit(X, y)
    np.testing.assert_array_equal(from_files.landmark_indices_, from_memory.landmark_indices_)
    np.testing.assert_allclose(from_files.predict(opened), from_memory.predict(X), rtol=1e-5)
    np.testing.assert_allclose(from_files.predict(rows.open(X)), from_memory.predict(X), rtol=1e-5)
    assert from_files.certificate_.ok
    assert from_files.n_features_in_ == 3
    assert from_files.feature_names_in_.tolist() == ["a", "b", "c"]
    assert from_files.kernel_.gamma == pytest.approx(from_memory.kernel_.gamma)


def test_classes_with_weights(folder):
    X, y = problem()
    labels = np.where(y > 5.5, "high", np.where(y > 4.5, "middle", "low"))
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=N)
    opened = rows.open(folder, "label", columns=["a", "b", "c"])
    model = ClassifierInSmallBlocks(**OPTIONS, lam=0.1, class_weight="balanced")
    from_files = model.fit(opened, sample_weight=weight)
    found = from_files.decision_function(opened)
    assert from_files.classes_.tolist() == ["high", "low", "middle"]
    labels_found = from_files.predict(opened)
    from_memory = model.fit(X, labels, weight)
    np.testing.assert_allclose(found, from_memory.decision_function(X), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(labels_found, from_memory.predict(X))


def test_two_classes_are_one_target():
    X, y = problem()
    opened = rows.open(X, (y > 5).astype(int))
    model = ClassifierInSmallBlocks(**OPTIONS, lam=0.1).fit(opened)
    assert model.decision_function(opened).shape == (N,)
    assert model.classes_.dtype.kind == "i"


def test_few_rows_are_fitted_exactly(folder):
    X, y = problem()
    opened = rows.open(folder, "y", columns=["a", "b", "c"])
    model = KernelRidge(lam=0.1).fit(opened)
    assert model.route_ == "exact"
    np.testing.assert_allclose(model.predict(opened), KernelRidge(lam=0.1).fit(X, y).predict(X))
    forced = KernelRidge(lam=0.1, memory="1MB").fit(opened)  # less than 700² numbers
    assert forced.route_ in ("normal", "cg")


def test_sparse_rows_and_targets_passed_apart():
    _, y = problem()
    some = sp.random(N, 30, 0.2, random_state=0, format="csr") + sp.csr_array((N, 30))
    Y = np.column_stack([y, -y])
    model = RidgeInSmallBlocks(**OPTIONS, lam=0.1)
    in_blocks = model.fit(rows.open(some), Y).predict(some)
    np.testing.assert_allclose(in_blocks, model.fit(some, Y).predict(some), rtol=1e-7)


def test_predictions_need_the_columns_in_any_order_and_others_do_not_matter(folder, tmp_path):
    X, _ = problem()
    model = KernelRidge(**OPTIONS).fit(rows.open(folder, "y", columns=["a", "b", "c"]))
    other = pl.DataFrame({"id": np.arange(N), "c": X[:, 2], "b": X[:, 1], "a": X[:, 0]})
    other.write_csv(tmp_path / "new.csv")
    found = model.predict(rows.open(tmp_path / "new.csv"))
    np.testing.assert_allclose(found, model.predict(rows.open(X)), rtol=1e-9)
    with pytest.raises(RowsError, match="has no column 'b'"):
        model.predict(rows.open(other.drop("b")))
    with pytest.raises(ValueError, match="X has 2 columns, but KernelRidge was fitted with 3"):
        model.predict(rows.open(X[:, :2]))


def test_a_model_of_rows_is_saved(folder, tmp_path):
    opened = rows.open(folder, "y", columns=["a", "b", "c"])
    model = KernelRidge(**OPTIONS, lam=[0.1, 1.0]).fit(opened)
    save(model, tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(again.predict(opened), model.predict(opened))
    np.testing.assert_array_equal(again.cv_error_, model.cv_error_)


def test_what_is_wrong_is_said(folder):
    X, y = problem()
    with pytest.raises(ValueError, match="KernelRidge requires y to be passed: these rows have no"):
        KernelRidge().fit(rows.open(X))
    with pytest.raises(ValueError, match="the target must hold numbers; got <U"):
        KernelRidge(landmarks=9).fit(rows.open(folder, "label", columns=["a"]))
    with pytest.raises(TypeError, match="rows in blocks need a kernel on rows of numbers"):
        KernelRidge(Spectrum(3), landmarks=9).fit(rows.open(X, y))
    with pytest.raises(TypeError, match="rows in blocks need a kernel on rows of numbers"):
        KernelRidge(Precomputed(), landmarks=9).fit(rows.open(X, y))
    with pytest.raises(TypeError, match="MetricRidge learns its metric from rows in memory"):
        MetricRidge().fit(rows.open(X, y))
    with pytest.raises(ValueError, match="at least two classes; got 1 class"):
        KernelRidgeClassifier(landmarks=9).fit(rows.open(X, np.ones(N, int)))


def test_rows_that_change_in_the_middle_of_a_fit_end_it(folder):
    opened = rows.open(folder, "y", columns=["a", "b", "c"])
    model = KernelRidge(**OPTIONS)
    pl.read_parquet(folder / "2.parquet")[:-1].write_parquet(folder / "2.parquet")
    with pytest.raises(RowsError, match=r"2\.parquet' has changed between two passes"):
        model.fit(opened)
    assert not hasattr(model, "kernel_")


def test_the_route_is_said_before_the_work_and_passes_after_it(folder, caplog):
    with caplog.at_level("INFO", logger="mercer"):
        KernelRidge(**OPTIONS).fit(rows.open(folder, "y", columns=["a", "b", "c"]))
    said = [record.getMessage() for record in caplog.records]
    assert said[0].startswith(
        "KernelRidge: 700 rows by normal equations over 40 landmarks, about 2"
    )
    assert said[1].startswith("about ")
    assert said[-1].startswith("pass ")


def test_a_long_pass_says_how_far_it_is(caplog):
    with caplog.at_level("INFO", logger="mercer"):
        found = Passes(silent=-1.0).run(lambda block, state: (block,), [1.0, 2.0, 3.0, 4.0], None)
    assert found == (10.0,)
    said = [record.getMessage() for record in caplog.records]
    assert said[0].startswith("pass 1: 25 %, about")
    assert len(said) == 5


# ---------------------------------------------------------------- checkpoints
@pytest.mark.parametrize("route", ["normal", "cg"])
def test_a_fit_goes_on_from_its_last_pass(route, folder, tmp_path):
    opened = rows.open(folder, "y", columns=["a", "b", "c"])
    given = {**OPTIONS, "random_state": None, "lam": [0.1, 1.0], "route": route}
    home = tmp_path / "kept"
    whole = RidgeInSmallBlocks(**given, checkpoint=home).fit(opened)
    files = sorted(home.glob("*.npz"))
    assert len(files) > 2
    for last in (files[-1], files[2]):  # as if the process had ended there
        for path in [p for p in sorted(home.glob("*.npz")) if p >= last]:
            path.unlink()
        again = RidgeInSmallBlocks(**given, checkpoint=home).fit(opened)
        np.testing.assert_array_equal(again.dual_coef_, whole.dual_coef_)
        np.testing.assert_array_equal(again.landmark_indices_, whole.landmark_indices_)
        assert again.certificate_ == whole.certificate_


def test_a_checkpoint_of_another_fit_is_refused(folder, tmp_path):
    opened = rows.open(folder, "y", columns=["a", "b", "c"])
    home = tmp_path / "kept"
    KernelRidge(**OPTIONS, checkpoint=str(home)).fit(opened)
    others = {
        "parameters": KernelRidge(**OPTIONS | {"landmarks": 41}, checkpoint=str(home)),
        "kernel": KernelRidge(**OPTIONS | {"kernel": RBF(gamma=3.0)}, checkpoint=str(home)),
    }
    for what, other in others.items():
        with pytest.raises(RowsError, match=f"is of another fit: its {what} differs"):
            other.fit(opened)
    with pytest.raises(RowsError, match="is of another fit: its weights differs"):
        KernelRidge(**OPTIONS, checkpoint=str(home)).fit(opened, sample_weight=np.ones(N))
    fewer = rows.open(folder, "y", columns=["a", "b"])
    with pytest.raises(RowsError, match="is of another fit: its rows differs"):
        KernelRidge(**OPTIONS, checkpoint=str(home)).fit(fewer)
    about = home / "fit.json"
    about.write_text(about.read_text().replace('"version": "', '"version": "0.'))
    with pytest.raises(RowsError, match="its version differs"):
        KernelRidge(**OPTIONS, checkpoint=str(home)).fit(opened)


def test_a_damaged_checkpoint_is_named(folder, tmp_path):
    opened = rows.open(folder, "y", columns=["a", "b", "c"])
    KernelRidge(**OPTIONS, checkpoint=str(tmp_path / "kept")).fit(opened)
    (tmp_path / "kept" / "0001.npz").write_bytes(b"PK no")
    with pytest.raises(RowsError, match=r"0001\.npz' is damaged"):
        KernelRidge(**OPTIONS, checkpoint=str(tmp_path / "kept")).fit(opened)


FIT = textwrap.dedent("""
    import sys, time
    import numpy as np
    from mercer import KernelRidge, rows
    from mercer.rows import checkpoint

    last, keep = int(sys.argv[4]), checkpoint.Checkpoint.keep

    def kept(self, number, result):
        keep(self, number, result)
        if number == last:
            print("kept", flush=True)
            time.sleep(60)

    checkpoint.Checkpoint.keep = kept
    opened = rows.open(sys.argv[1], "y", columns=["a", "b", "c"])
    model = KernelRidge(
        "rbf", lam=0.1, landmarks=40, route="cg", random_state=0, checkpoint=sys.argv[2]
    )
    np.save(sys.argv[3], model.fit(opened).dual_coef_)
""")


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="kills as Unix does")
def test_a_killed_process_goes_on_and_reaches_the_same_result(folder, tmp_path):
    home, found = tmp_path / "kept", tmp_path / "coef.npy"
    command = [sys.executable, "-c", FIT, str(folder), str(home), str(found)]
    process = subprocess.Popen([*command, "3"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "kept\n"  # the draw and three passes
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert not found.exists()
    before = {path: path.stat().st_mtime_ns for path in home.glob("*.npz")}
    assert len(before) == 4
    subprocess.run([*command, "-1"], check=True, capture_output=True)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(list(home.glob("*.npz"))) > 4
    opened = rows.open(folder, "y", columns=["a", "b", "c"])
    model = KernelRidge("rbf", lam=0.1, landmarks=40, route="cg", random_state=0).fit(opened)
    np.testing.assert_array_equal(np.load(found), model.dual_coef_)
