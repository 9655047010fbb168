"""Support vector classification: LIBSVM's optimum, the hand examples, and every kind of input."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets, svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import StandardScaler

from mercer import SVC, NuSVC
from mercer.kernels import RBF, FromFunction, Laplacian, Linear, Polynomial
from mercer.solvers import solve_margin
from tests.cases import shared_letters, table, two_classes

X, SIGN = two_classes(60)
NEW = table(20, 2, seed=5)


def scaled(name):
    rows, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return StandardScaler().fit_transform(rows), y


def pair(name, i, j):
    rows, y = scaled(name)
    used = (y == i) | (y == j)
    return rows[used], y[used]


REAL = {
    **{f"iris {i}{j}": pair("iris", i, j) for i, j in ((0, 1), (0, 2), (1, 2))},
    **{f"wine {i}{j}": pair("wine", i, j) for i, j in ((0, 1), (0, 2), (1, 2))},
    **{f"digits {i}{j}": pair("digits", i, j) for i, j in ((3, 8), (4, 9), (1, 7))},
    "breast cancer": scaled("breast_cancer"),
    "random": two_classes(200, d=5, seed=1),
}
THREE = scaled("wine")


def dual_of(model, rows, y, kernel):
    """Return Σα − ½βᵀKβ from the attributes that scikit-learn and this library share."""
    beta, S = model.dual_coef_[0], rows[model.support_]
    return np.abs(beta).sum() - 0.5 * beta @ kernel(S) @ beta


# ---------------------------------------------------------------- LIBSVM
@pytest.mark.parametrize(("rows", "y"), REAL.values(), ids=REAL.keys())
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_the_optimum_is_that_of_libsvm(rows, y, C):
    kernel = RBF(gamma=1.0 / rows.shape[1])
    model = SVC(kernel, C=C, tol=1e-6).fit(rows, y)
    reference = svm.SVC(C=C, gamma=kernel.gamma, tol=1e-6).fit(rows, y)
    assert dual_of(model, rows, y, kernel) == pytest.approx(
        dual_of(reference, rows, y, kernel), rel=1e-6
    )
    values = reference.decision_function(rows)
    np.testing.assert_allclose(model.decision_function(rows), values, atol=1e-3)


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_votes_are_those_of_libsvm(shape):
    rows, y = THREE
    options = {"C": 0.1, "tol": 1e-6, "decision_function_shape": shape}
    model = SVC(RBF(gamma=0.1), **options).fit(rows, y)
    reference = svm.SVC(gamma=0.1, **options).fit(rows, y)
    np.testing.assert_array_equal(model.predict(rows), reference.predict(rows))
    np.testing.assert_allclose(
        model.decision_function(rows), reference.decision_function(rows), atol=1e-3
    )
    np.testing.assert_array_equal(model.n_support_, reference.n_support_)
    np.testing.assert_array_equal(model.support_, reference.support_)
    np.testing.assert_allclose(model.dual_coef_, reference.dual_coef_, atol=1e-4)


def test_one_against_the_rest_is_one_machine_a_class():
    rows, y = THREE
    model = SVC(RBF(gamma=0.1), multiclass="ovr", tol=1e-8).fit(rows, y)
    alone = [
        SVC(RBF(gamma=0.1), tol=1e-8).fit(rows, y == c).decision_function(rows) for c in range(3)
    ]
    np.testing.assert_allclose(model.decision_function(rows), np.transpose(alone), atol=1e-6)
    np.testing.assert_array_equal(model.predict(rows), np.argmax(alone, axis=0))


# ---------------------------------------------------------------- the proof
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_the_proof_follows_from_the_public_attributes(tol):
    model = SVC(RBF(gamma=0.5), C=3.0, tol=tol).fit(X, SIGN)
    proof, beta = model.certificate_, model.dual_coef_[0]
    norm2 = beta @ RBF(gamma=0.5)(X[model.support_]) @ beta
    slack = np.maximum(
        0, 1 - SIGN * (RBF(gamma=0.5)(X, X[model.support_]) @ beta + model.intercept_)
    )
    assert proof.primal == pytest.approx(0.5 * norm2 + 3.0 * slack.sum(), rel=1e-9)
    assert proof.dual == pytest.approx(np.abs(beta).sum() - 0.5 * norm2, rel=1e-9)
    assert proof.relative_gap <= tol
    assert proof.kkt["pair"] <= tol
    assert model.margin_ == pytest.approx(norm2**-0.5)


def test_several_classes_have_a_proof_each():
    proof = SVC().fit(*THREE).certificate_
    assert len(proof.problems) == 3
    assert proof.relative_gap == max(p["relative_gap"] for p in proof.problems)
    assert proof.primal == pytest.approx(sum(p["primal"] for p in proof.problems))
    assert all(p["kkt"]["pair"] <= 1e-3 for p in proof.problems)


# ---------------------------------------------------------------- examples by hand
def test_the_hard_margin_is_half_the_distance_of_the_classes():
    model = SVC("linear", C=np.inf).fit(
        [[0.0, 0.0], [-1.0, 3.0], [3.0, 4.0], [5.0, 9.0]], [0, 0, 1, 1]
    )
    near = np.array([0.0, 0.0]), np.array([-1.0, 3.0]), np.array([3.0, 4.0])
    along = near[1] - near[0]
    t = np.clip((near[2] - near[0]) @ along / (along @ along), 0, 1)
    assert model.margin_ == pytest.approx(0.5 * np.linalg.norm(near[2] - near[0] - t * along))
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(model.coef_))


def test_a_polynomial_of_degree_two_solves_xor():
    rows, y = [[1, 1], [-1, -1], [1, -1], [-1, 1]], [1, 1, -1, -1]
    model = SVC(Polynomial(degree=2), C=np.inf).fit(rows, y)
    np.testing.assert_allclose(model.decision_function(rows), y, atol=1e-6)
    assert model.margin_ == pytest.approx(2**0.5)  # f(x) = x₁x₂ = ⟨w, φ(x)⟩ with w = 1/√2


def test_classes_that_overlap_have_no_hard_margin():
    with pytest.raises(ValueError, match=r"C=inf asks for a hard margin.*choose a finite C"):
        SVC("linear", C=np.inf).fit(X, SIGN)


def test_slack_tells_where_a_point_is():
    model = SVC("linear", C=np.inf).fit([[-1.0], [1.0]], [-1, 1])
    slack = model.slack([[2.0], [1.0], [0.5], [-0.5]], [1, 1, 1, 1])
    np.testing.assert_allclose(slack, [0.0, 0.0, 0.5, 1.5], atol=1e-6)


@pytest.mark.parametrize("lam", [1e-3, 0.05])
def test_both_forms_are_one_machine(lam):
    by_lam = SVC(RBF(gamma=0.5), lam=lam, tol=1e-8).fit(X, SIGN)
    by_C = SVC(RBF(gamma=0.5), C=1 / (2 * 60 * lam), tol=1e-8).fit(X, SIGN)
    np.testing.assert_allclose(
        by_lam.decision_function(NEW), by_C.decision_function(NEW), atol=1e-7
    )


# ---------------------------------------------------------------- invariances
@given(st.integers(6, 30), st.integers(0, 2**16), st.floats(0.1, 10.0))
def test_the_machine_does_not_see_order_repetition_or_units(n, seed, C):
    rows, sign = two_classes(n, seed=seed)
    order = np.random.default_rng(seed).permutation(n)
    kernel = RBF(gamma=0.5)
    model = SVC(kernel, C=C, tol=1e-8).fit(rows, sign)
    others = [
        SVC(kernel, C=C, tol=1e-8).fit(rows[order], sign[order]).certificate_,
        SVC(RBF(gamma=0.125), C=C, tol=1e-8).fit(2 * rows, sign).certificate_,
    ]
    for proof in others:
        assert proof.dual == pytest.approx(model.certificate_.dual, rel=1e-6)
    twice = SVC(kernel, C=C, tol=1e-8).fit(np.vstack([rows, rows]), np.tile(sign, 2))
    weighted = SVC(kernel, C=C, tol=1e-8).fit(rows, sign, np.full(n, 2.0))
    assert twice.certificate_.dual == pytest.approx(weighted.certificate_.dual, rel=1e-6)


def test_a_path_is_the_separate_machines():
    Cs = [0.1, 1.0, 30.0]
    for C, model in zip(Cs, SVC(RBF(gamma=0.5), tol=1e-8).path(X, SIGN, Cs), strict=True):
        alone = SVC(RBF(gamma=0.5), C=C, tol=1e-8).fit(X, SIGN)
        assert model.C == C
        assert model.certificate_.ok
        np.testing.assert_allclose(
            model.decision_function(NEW), alone.decision_function(NEW), atol=1e-6
        )


# ---------------------------------------------------------------- kernels and rows
def test_prediction_touches_support_vectors_only():
    calls = []

    def counted(x, y):
        calls.append(1)
        return float(np.exp(-0.5 * (x - y) @ (x - y)))

    model = SVC(FromFunction(counted)).fit(X, SIGN)
    calls.clear()
    model.predict(NEW)
    assert len(calls) == len(NEW) * len(model.support_) < len(NEW) * len(X)


def test_a_grid_over_the_kernel_is_a_grid_over_matrices():
    search = GridSearchCV(SVC(RBF(gamma=1.0)), {"kernel__gamma": [0.01, 0.5]}, cv=3).fit(X, SIGN)
    for gamma, score in zip([0.01, 0.5], search.cv_results_["mean_test_score"], strict=True):
        given = cross_val_score(SVC("precomputed"), RBF(gamma=gamma)(X), SIGN, cv=3)
        assert score == pytest.approx(given.mean())


@pytest.mark.parametrize("kernel", [RBF(0.3) + Linear(), RBF(0.3) * Laplacian(0.2)], ids=repr)
def test_sums_and_products_equal_their_matrix(kernel):
    direct = SVC(kernel, tol=1e-8).fit(X, SIGN)
    given = svm.SVC(kernel="precomputed", tol=1e-8).fit(kernel(X), SIGN)
    np.testing.assert_allclose(
        direct.decision_function(NEW), given.decision_function(kernel(NEW, X)), atol=1e-4
    )


def test_words_and_labels_that_are_words():
    words, y = ["aaa", "aab", "abb", "xyz", "xyy", "yzz"], ["early"] * 3 + ["late"] * 3
    model = SVC(FromFunction(shared_letters, definiteness="psd")).fit(words, y)
    assert model.predict(["ba", "zx"]).tolist() == ["early", "late"]


@pytest.mark.parametrize("noise", [0.02, 0.3, 3.0])
@pytest.mark.parametrize("C", [1.0, 300.0])
def test_a_large_problem_has_the_optimum_of_libsvm_whatever_share_of_its_rows_it_needs(noise, C):
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(2300, 3))
    y = rows[:, 0] ** 2 + rows[:, 1] + noise * rng.normal(size=len(rows)) > 0.5
    kernel = RBF(gamma=2.0)
    model = SVC(kernel, C=C, tol=1e-5).fit(rows, y)
    peer = svm.SVC(gamma=2.0, C=C, tol=1e-5).fit(rows, y)
    assert model.certificate_.ok
    np.testing.assert_allclose(
        dual_of(model, rows, y, kernel), dual_of(peer, rows, y, kernel), rtol=1e-6
    )


# ---------------------------------------------------------------- ends
def test_stopping_early_is_said_and_keeps_the_best():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SVC(C=100.0, tol=1e-8, max_iter=5).fit(X, SIGN)
    assert model.status_ == "max_iter"
    assert not model.certificate_.ok


@pytest.mark.parametrize(
    ("model", "loop"),
    [
        (SVC(), "mercer.solvers._many_loops.solve_each"),
        (SVC(max_iter=10**6), "mercer.solvers.dense.take_turns"),
    ],
)
def test_ctrl_c_inside_the_loop_is_said(monkeypatch, model, loop):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        assert model.fit(X, SIGN).status_ == "interrupted"
    assert not model.certificate_.ok


def test_ctrl_c_in_the_fits_for_probabilities_is_said(monkeypatch):
    """The machine itself is there and proved, but whoever asked for the end is told of it."""
    whole = SVC(probability=True).fit(X, SIGN)

    def interrupted(*given, limits, **named):
        limits.interrupt()
        return solve_margin(*given, limits=limits, **named)

    monkeypatch.setattr("mercer.machines._classifier.solve_margin", interrupted)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C ended the held-out fits"):
        model = SVC(probability=True).fit(X, SIGN)
    assert model.status_ == "interrupted"
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_in_a_process_ends_the_fit():
    code = """
        import signal
        import numpy as np
        from mercer import SVC
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(2000, 4)) * [1e3, 1, 1e-2, 10], rng.integers(0, 2, 2000)
        SVC("linear").fit(X / X.std(axis=0), X[:, 1] > 0)  # what has to be compiled is
        print("go", flush=True)
        model = SVC("linear", C=1e6, tol=1e-9).fit(X, y)
        print(model.status_, model.certificate_.ok, model.predict(X).size, flush=True)
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().strip() == "go"
        time.sleep(2.0)
        process.send_signal(signal.SIGINT)
        try:
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert out.split() == ["interrupted", "False", "2000"]


def test_what_is_not_known_of_a_kernel_is_said():
    model = SVC(FromFunction(lambda a, b: float(a @ b))).fit(X[:40], SIGN[:40])
    assert "nothing is known" in model.certificate_.convexity
    assert "convexity" not in SVC("rbf").fit(X[:40], SIGN[:40]).certificate_.parts


# ---------------------------------------------------------------- what is not proved
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(4))
def test_one_pair_of_classes_with_an_indefinite_matrix_leaves_the_whole_unproved(seed):
    K = RBF(gamma=0.5)(table(36, 2, seed))
    K[:12, 12:24] += 5.0  # more than the norms allow: the pair of the first two
    K[12:24, :12] += 5.0
    y = np.repeat([0, 1, 2], 12)
    model = SVC("precomputed", C=10.0).fit(K, y)
    norms = [problem["squared_norm"] for problem in model.certificate_.problems]
    assert (min(norms) < -1e-6) == (model.status_ == "indefinite")
    assert model.certificate_.ok == (min(norms) > 0)


@pytest.mark.parametrize("seed", [4, 46, 83, 106, 113])
def test_a_norm_below_zero_by_rounding_is_not_indefinite(seed):
    rng = np.random.default_rng(seed)
    rows, y = rng.integers(0, 2, (20, 1)).astype(float), rng.integers(0, 2, 20)
    model = SVC("rbf", C=10.0).fit(rows, y)  # both classes have the same mean in feature space
    assert model.certificate_.ok


def test_a_pair_that_was_never_solved_leaves_the_whole_unproved(monkeypatch):
    def then_ctrl_c(*args, limits, **options):
        solution = solve_margin(*args, limits=limits, **options)
        limits.interrupt()
        return solution

    monkeypatch.setattr("mercer.machines._classifier.solve_margin", then_ctrl_c)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = SVC(max_iter=10**6).fit(table(60, 2), np.arange(60) % 3)
    first, *others = (problem["value"] for problem in model.certificate_.problems)
    assert first <= model.tol
    assert min(others) > model.tol  # the gap of β = 0, for which nothing had to be solved
    assert not model.certificate_.ok


# ---------------------------------------------------------------- equally many votes
@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_ties_are_broken_by_the_values_of_classes(machine):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 2)) + np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])[y]
    new = rng.uniform(-1.0, 1.0, size=(40_000, 2))  # between the three, where each wins once
    settings = {"nu": 0.71} if machine is NuSVC else {}
    model = machine("linear", probability=True, break_ties=True, tol=1e-7, **settings).fit(X, y)
    largest = model.decision_function(new).argmax(axis=1)
    np.testing.assert_array_equal(model.predict(new), largest)
    np.testing.assert_array_equal(model.predict_proba(new).argmax(axis=1), largest)
    by_votes = model.set_params(break_ties=False).predict(new)
    assert (by_votes != largest).any()
    reference = {SVC: svm.SVC, NuSVC: svm.NuSVC}[machine](
        kernel="linear", break_ties=True, tol=1e-6, **settings
    ).fit(X, y)
    assert np.mean(reference.predict(new) == largest) > 0.999


def test_ties_of_pairs_have_no_values():
    X, y = table(30, 2), np.arange(30) % 3
    model = SVC(break_ties=True, decision_function_shape="ovo").fit(X, y)
    with pytest.raises(ValueError, match="break_ties must be False"):
        model.predict(X)


@pytest.mark.parametrize("given", [{"landmarks": 10}, {"route": "cells"}, {"route": "landmarks"}])
def test_a_path_of_machines_that_are_not_exact_is_refused(given):
    with pytest.raises(ValueError, match=r"a path is one of exact machines.*landmarks.*route"):
        SVC(**given).path(X, SIGN, [0.1, 1.0])
