"""Support vector machines in the span of landmarks: their minimum is that of explicit features."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.svm import SVC as ReferenceSVC
from sklearn.svm import SVR as ReferenceSVR

from mercer import SVC, SVR, KernelSearchCV, OneClassSVM, load, rows, save
from mercer.io import write_libsvm
from mercer.kernels import RBF
from mercer.machines._margin_span import choose_margin_route
from mercer.margin import MarginProblem
from mercer.rows import RowsError
from mercer.solvers.span_margin import balanced

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=400)
SIDE = np.where(Y > 0, "over", "below")
THREE = np.digitize(Y, [-0.5, 0.5])
SPAN = {"landmarks": 40, "random_state": 0}


def features(model, some=X):
    """Return explicit features whose inner products are the kernel in the span."""
    Z, kernel = model.support_vectors_, model.kernel_
    values, vectors = np.linalg.eigh(kernel.block(Z, Z))
    return kernel.block(some, Z) @ (vectors / np.sqrt(values))


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_a_classifier_has_the_minimum_of_explicit_features(C):
    model = SVC(C=C, tol=1e-5, **SPAN).fit(X, SIDE)
    reference = ReferenceSVC(kernel="linear", C=C, tol=1e-8).fit(features(model), SIDE)
    assert model.certificate_.ok
    assert model.route_ == model.certificate_.route == "landmarks"
    f = reference.decision_function(features(model))
    sign = np.where(SIDE == "over", 1, -1)
    primal = 0.5 * (reference.coef_**2).sum() + C * np.maximum(0, 1 - sign * f).sum()
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-4)
    np.testing.assert_allclose(model.decision_function(X), f, atol=0.02 * np.abs(f).max())


def test_regression_has_the_minimum_of_explicit_features():
    model = SVR(C=2.0, epsilon=0.2, tol=1e-5, **SPAN).fit(X, Y)
    F = features(model)
    reference = ReferenceSVR(kernel="linear", C=2.0, epsilon=0.2, tol=1e-8).fit(F, Y)
    f = reference.predict(F)
    primal = 0.5 * (reference.coef_**2).sum() + 2.0 * np.maximum(0, np.abs(Y - f) - 0.2).sum()
    assert model.certificate_.ok
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-4)
    np.testing.assert_allclose(model.predict(X), f, atol=0.01 * np.abs(f).max())


@pytest.mark.parametrize("nu", [0.05, 0.5, 1.0])
def test_one_class_has_the_minimum_of_the_span(nu):
    kernel = RBF(0.3)
    model = OneClassSVM(kernel, nu=nu, tol=1e-5, **SPAN).fit(X)
    exact = OneClassSVM("linear", nu=nu, tol=1e-8).fit(features(model))
    assert model.certificate_.ok
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-4)
    outside = np.mean(model.predict(X) < 0)
    assert outside <= nu + 0.02


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_several_classes_are_the_problems_of_two(multiclass):
    model = SVC(multiclass=multiclass, tol=1e-4, **SPAN).fit(X, THREE)
    assert model.certificate_.ok
    values = model.decision_function(X) if multiclass == "ovr" else model._raw_decision(X)
    points = {"landmarks": model.support_vectors_, "kernel": model.kernel_, "tol": 1e-4}
    for number, (plus, minus) in enumerate(model._problems()):
        own = np.isin(THREE, (plus, minus)) if minus >= 0 else np.ones(len(X), bool)
        alone = SVC(**points).fit(X[own], np.where(THREE[own] == plus, 1, 0))
        found = alone.decision_function(X)
        np.testing.assert_allclose(values[:, number], found, atol=0.03 * np.abs(found).max())


def test_all_rows_as_landmarks_are_the_exact_machine():
    index = np.arange(len(X))
    for machine, y in ((SVC, SIDE), (SVR, Y)):
        exact = machine(tol=1e-5).fit(X, y)
        model = machine(tol=1e-5, landmarks=index).fit(X, y)
        assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-4)
        assert model.certificate_.restriction == "exact"
        assert model.certificate_.restriction_gap < 1e-6


def test_the_cost_of_landmarks_is_at_most_what_is_said():
    exact, model = SVC(tol=1e-5).fit(X, SIDE), SVC(tol=1e-5, **SPAN).fit(X, SIDE)
    proof = model.certificate_
    above = (proof.primal - exact.certificate_.primal) / proof.primal
    assert 0 < above <= proof.restriction_gap + proof.value + 1e-5


def test_rows_in_blocks_and_features_in_a_file_are_the_same_machine():
    given = {"tol": 1e-6, **SPAN}
    for machine, y in ((SVC(**given), THREE), (SVR(**given), Y)):
        whole = machine.fit(X, y)
        before, found = _values(whole), []
        found.append(_values(machine.fit(rows.open(X, y))))
        found.append(_values(machine.set_params(memory="100KB").fit(rows.open(X, y))))
        np.testing.assert_array_equal(found[0], before)
        np.testing.assert_allclose(found[1], before, atol=0.01 * np.abs(before).max())


def _values(model):
    return model._raw_decision(X) if isinstance(model, SVC) else model.predict(X)


def test_weights_are_copies_and_zero_is_none():
    weight = RNG.integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), weight)
    given = {"landmarks": X[:40], "kernel": RBF(0.3), "tol": 1e-6}
    for machine, y in ((SVC(**given), SIDE), (SVR(**given), Y)):
        weighted = machine.fit(X, y, sample_weight=weight).certificate_.primal
        assert machine.fit(X[copies], y[copies]).certificate_.primal == pytest.approx(
            weighted, rel=1e-4
        )


def test_class_weights_and_lam():
    given = {"landmarks": X[:40], "kernel": RBF(0.3), "tol": 1e-6}
    by_factor = SVC(class_weight={"over": 3.0}, **given).fit(X, SIDE)
    by_row = SVC(**given).fit(X, SIDE, sample_weight=np.where(SIDE == "over", 3.0, 1.0))
    assert by_factor.certificate_.primal == pytest.approx(by_row.certificate_.primal, rel=1e-5)
    by_lam = SVC(lam=1 / (2 * len(X) * 2.0), **given).fit(X, SIDE)
    by_C = SVC(C=2.0, **given).fit(X, SIDE)
    assert by_lam.certificate_.primal == pytest.approx(by_C.certificate_.primal, rel=1e-5)


def test_a_fit_goes_on_from_its_checkpoint(tmp_path):
    source = rows.open(X, SIDE)
    model = SVC(C=10.0, checkpoint=str(tmp_path), **SPAN)
    begun = model.fit(source).dual_coef_
    kept = sorted(tmp_path.glob("*.npz"))
    for lost in kept[2:]:
        lost.unlink()
    np.testing.assert_array_equal(model.fit(source).dual_coef_, begun)
    with pytest.raises(RowsError, match="its parameters differs"):
        SVC(C=11.0, checkpoint=str(tmp_path), **SPAN).fit(source)


@pytest.mark.parametrize("model", [SVC(**SPAN), SVR(**SPAN), OneClassSVM(**SPAN)])
def test_it_is_saved_and_fitted_again(model, tmp_path):
    target = {SVC: THREE, SVR: Y}.get(type(model))
    before = model.fit(X, target).predict(X)
    save(model, tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(again.predict(X), before)
    assert again.route_ == "landmarks"
    model.set_params(landmarks=None).fit(X, target)
    assert model.route_ == "exact"
    np.testing.assert_array_equal(model.predict(X), type(model)().fit(X, target).predict(X))


def test_two_classes_are_written_for_libsvm_and_more_are_not(tmp_path):
    from mercer.io import read_libsvm

    model = SVC(**SPAN).fit(X, (Y > 0).astype(int))
    read = read_libsvm(write_libsvm(model, tmp_path / "m"), 3)
    np.testing.assert_allclose(read.decision_function(X), model.decision_function(X), rtol=1e-6)
    with pytest.raises(ValueError, match="support vectors of its own"):
        write_libsvm(SVC(**SPAN).fit(X, THREE), tmp_path / "m")


def test_a_search_fits_what_is_meant():
    search = KernelSearchCV(SVC(**SPAN), {"C": [0.1, 10.0]}).fit(X, SIDE)
    assert search.route_ == "ordinary cross-validation: landmarks stand for the rows"
    assert search.best_estimator_.route_ == "landmarks"


def test_what_landmarks_cannot_do_is_said():
    with pytest.raises(ValueError, match="route='landmarks' needs probability=False"):
        SVC(probability=True, **SPAN).fit(X, SIDE)
    with pytest.raises(ValueError, match="needs a finite C"):
        SVC(C=np.inf, **SPAN).fit(X, SIDE)
    with pytest.raises(ValueError, match="needs a finite C"):
        SVR(C=np.inf, **SPAN).fit(X, Y)
    with pytest.raises(ValueError, match="route='exact' uses no landmarks"):
        SVC(route="exact", **SPAN).fit(X, SIDE)
    with pytest.raises(TypeError, match="landmarks need a kernel on rows of numbers"):
        SVC("precomputed", **SPAN).fit(X @ X.T, SIDE)


def test_it_ends_in_time_with_an_honest_proof():
    with pytest.warns(UserWarning, match="max_iter"):
        model = SVC(C=1e4, max_iter=1, **SPAN).fit(X, SIDE)
    assert not model.certificate_.ok
    assert model.certificate_.primal > model.certificate_.dual


def test_the_ladder_of_routes():
    some = rows.open(X, SIDE)
    choose = choose_margin_route
    assert choose("auto", None, X, 1) == "exact"
    assert choose("auto", 5, X, 1) == "landmarks"
    assert choose("auto", None, some, 10**9) == "exact"
    assert choose("auto", None, X, 10**9, has_cells=True, exact_rows=300) == "exact"
    assert choose("exact", None, some, 10**9, has_cells=True, exact_rows=300) == "exact"
    assert choose("auto", None, some, 10**9, exact_rows=300) == "landmarks"
    assert choose("auto", None, some, 10**9, has_cells=True, exact_rows=300) == "cells"
    assert choose("auto", None, some, 100, has_cells=True) == "landmarks"
    assert choose("cells", None, X, 1, has_cells=True) == "cells"


def test_rows_that_do_not_fit_have_landmarks():
    many = rows.open(np.tile(X, (2, 1)), np.tile(Y, 2))
    model = SVR(memory="8KB", random_state=0).fit(many)
    assert model.route_ == "landmarks"
    assert len(model.support_) == 200


def test_sums_are_balanced_within_the_bounds():
    problem = MarginProblem.classify(np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4))
    for beta in ([0.5, 1.0, -0.2, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]):
        found = balanced(problem, np.array(beta))
        assert abs(found.sum()) < 1e-12
        assert (found >= problem.lo).all()
        assert (found <= problem.hi).all()


FULL = """
import resource, sys
import numpy as np
from mercer import SVC, rows
X = np.random.default_rng(0).normal(size=(3000, 3))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    SVC(landmarks=100, memory="1MB").fit(rows.open(X, X[:, 0] > 0))
except rows.RowsError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files of Unix")
def test_features_that_the_disk_has_no_room_for():
    given = [sys.executable, "-c", FULL]
    said = subprocess.run(given, capture_output=True, text=True, check=True).stdout
    assert "features of 1.2 MB cannot be written to" in said
    assert "TMPDIR" in said
