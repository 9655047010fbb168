"""Machines of a few labels: closed forms, limits, invariances, and agreement with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

from mercer import (
    SVC,
    GraphSpreading,
    KernelMachine,
    KernelRidge,
    KernelRidgeClassifier,
    LaplacianRidge,
    LaplacianRidgeClassifier,
    LaplacianSVC,
)
from mercer._limits import Limits
from mercer.kernels import RBF, Laplacian, Linear, Spectrum
from mercer.kernels.sample import Sample
from mercer.solvers.graphs import GraphPenalty, NearLists, laplacian
from mercer.solvers.laplacian import Manifold

KERNEL = RBF(gamma=0.7)


def moons(n=80, labels=6, seed=0):
    """Rows, all labels, and labels of which most are −1; both classes have some."""
    X, y = make_moons(n, noise=0.1, random_state=seed)
    rng = np.random.default_rng(seed)
    kept = np.concatenate([rng.choice(np.flatnonzero(y == c), labels // 2, False) for c in (0, 1)])
    few = np.full(n, -1)
    few[kept] = y[kept]
    return X, y, few


def dense_laplacian(X, k=10, normalized=True, power=1):
    """Return the matrix Lᵖ by loops: neighbours by sorting, units, weights, degrees."""
    n = len(X)
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    nearest = np.argsort(D, axis=1, kind="stable")[:, : min(k, n - 1)]
    listed = np.zeros((n, n), bool)
    np.put_along_axis(listed, nearest, True, axis=1)
    part = np.arange(n)
    for _ in range(n):  # the least number among those that are near on both sides
        part = np.array([min(part[i], *part[listed[i] & listed[:, i]], n) for i in range(n)])
    inside = [D[i, j] for i in range(n) for j in nearest[i] if part[i] == part[j]]
    of = [part[i] for i in range(n) for j in nearest[i] if part[i] == part[j]]
    unit = [
        np.median(np.array(inside)[np.equal(of, part[i])] if part[i] in of else D[i, nearest[i]])
        for i in range(n)
    ]
    W = np.zeros((n, n))
    for i in range(n):
        for j in nearest[i]:
            W[i, j] = W[j, i] = np.exp(-2.0 * D[i, j] / min(unit[i], unit[j]))
    d = W.sum(axis=1)
    L = np.eye(n) - W / np.sqrt(np.outer(d, d)) if normalized else np.diag(d) - W
    return np.linalg.matrix_power(L, power)


# ---------------------------------------------------------------- closed forms
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("power", [1, 2])
def test_the_laplacian_is_the_dense_one(normalized, power):
    X, _, _ = moons(40)
    W, _ = NearLists.exact(KERNEL, Sample(X), 10).by_angle(np.ones(40)).weights()
    N = GraphPenalty(laplacian(W, normalized), 2.0, power)
    wanted = 2.0 * dense_laplacian(X, 10, normalized, power)
    np.testing.assert_allclose(N @ np.eye(40), wanted, atol=1e-9)


def test_the_deformed_kernel_is_the_closed_form():
    """K̃ = K(I + λLK)⁻¹, symmetric, and the limit of f for unit forces."""
    X, _, _ = moons(60)
    N = GraphPenalty(sp.csr_array(dense_laplacian(X)), 5.0)
    manifold = Manifold(KERNEL, Sample(X), N)
    points = np.arange(0, 60, 7)
    K = KERNEL(X)
    wanted = K @ np.linalg.inv(np.eye(60) + 5.0 * dense_laplacian(X) @ K)
    found = manifold.deformed(points, goal=1e-12, limits=Limits())
    np.testing.assert_allclose(found, wanted[np.ix_(points, points)], atol=1e-9)


def test_conjugate_gradients_solve_where_the_preconditioner_is_coarse():
    X, _, _ = moons(120)
    L = dense_laplacian(X)
    manifold = Manifold(KERNEL, Sample(X), GraphPenalty(sp.csr_array(L), 30.0), most_rows=5)
    forces = np.random.default_rng(0).normal(size=(120, 3))
    alpha, _ = manifold.settle(forces, goal=1e-12, limits=Limits())
    wanted = np.linalg.solve(np.eye(120) + 30.0 * L @ KERNEL(X), forces)
    assert manifold.system.products > 5
    np.testing.assert_allclose(alpha, wanted, atol=1e-8)


@pytest.mark.parametrize("goal", [1e-4, 1e-10])
def test_steps_in_float32_reach_the_same_residual(goal):
    """What is left is that of the equation in float64, however the steps were taken."""
    X, _, _ = moons(120)
    N = GraphPenalty(sp.csr_array(dense_laplacian(X)), 100.0, 2)
    manifold = Manifold(KERNEL, Sample(X), N, most_rows=5, single_from=0)
    K, M = KERNEL(X), 100.0 * np.linalg.matrix_power(dense_laplacian(X), 2)
    right = K[:, :4]
    g, rest = manifold.system.solve(right, goal=goal)
    np.testing.assert_allclose(rest, right - g - K @ (M @ g), atol=1e-9)
    exact = np.linalg.solve(np.eye(120) + K @ M, right)
    error, size = (np.sqrt(np.einsum("ij,ij->j", V, M @ V)) for V in (g - exact, exact))
    assert (error <= 100 * goal * size).all()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_is_the_dense_linear_system(fit_intercept):
    X, _, _ = moons(50)
    y = np.where(np.arange(50) < 15, np.sin(3 * X[:, 0]) + 2.0, np.nan)
    model = LaplacianRidge(
        KERNEL, lam=0.1, lam_graph=0.5, power=2, fit_intercept=fit_intercept
    ).fit(X, y)
    K, L, w = KERNEL(X), dense_laplacian(X, power=2), (np.arange(50) < 15) * 1.0
    A = np.zeros((51, 51))
    A[:50, :50] = 0.1 * np.eye(50) + 0.5 * L @ K + w[:, None] * K
    A[:50, 50], A[50, :50], A[50, 50] = w, w @ K, w.sum()
    right = np.append(w * np.nan_to_num(y), np.nansum(y))
    if not fit_intercept:
        A[50], A[:, 50], A[50, 50], right[50] = 0.0, 0.0, 1.0, 0.0
    solved = np.linalg.solve(A, right)
    np.testing.assert_allclose(model.predict(X), K @ solved[:50] + solved[50], atol=1e-7)
    assert model.certificate_.ok


def test_svc_beats_every_other_function_on_the_whole_objective():
    """Its objective is its certificate's, and no step from its coefficients is lower."""
    X, _, few = moons(40)
    model = LaplacianSVC(KERNEL, C=2.0, lam_graph=3.0, tol=1e-8).fit(X, few)
    K, L, known = KERNEL(X), dense_laplacian(X), few >= 0
    sign = np.where(few == 1, 1.0, -1.0)

    def objective(a):
        f = K @ a
        hinge = np.maximum(0.0, 1.0 - sign * f)[known].sum()
        return 0.5 * a @ f + 1.5 * f @ L @ f + 2.0 * hinge

    alpha = np.zeros(40)
    alpha[model.support_] = model.dual_coef_[0]
    least = objective(alpha)
    assert least == pytest.approx(model.certificate_.primal, rel=1e-9)
    rng = np.random.default_rng(0)
    steps = [alpha + 10.0 ** rng.uniform(-4, 0) * rng.normal(size=40) for _ in range(200)]
    assert min(map(objective, steps)) >= least * (1 - 1e-7)


# ---------------------------------------------------------------- without the graph
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_without_the_graph_svc_is_svc(multiclass):
    X, y, _ = moons(90)
    y = y + (X[:, 0] > 1)
    few = np.where(np.arange(90) < 40, y, -1)
    options = {"C": 3.0, "tol": 1e-8, "multiclass": multiclass, "class_weight": "balanced"}
    model = LaplacianSVC(KERNEL, lam_graph=0.0, fit_intercept=True, **options).fit(X, few)
    rival = SVC(KERNEL, **options).fit(X[:40], y[:40])
    np.testing.assert_allclose(model.decision_function(X), rival.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(np.sort(model.support_), np.sort(rival.support_))


def test_without_graph_and_offset_svc_is_the_machine_of_hinge_loss():
    X, y, few = moons(60, labels=20)
    known = few >= 0
    model = LaplacianSVC(KERNEL, C=2.0, lam_graph=0.0, tol=1e-9).fit(X, few)
    rival = KernelMachine("hinge", KERNEL, lam=1 / 4.0, fit_intercept=False, tol=1e-9)
    rival.fit(X[known], y[known])
    np.testing.assert_allclose(model.decision_function(X), rival.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_the_graph_ridge_is_ridge(fit_intercept):
    X, y, few = moons(60, labels=20)
    known, options = few >= 0, {"lam": 0.1, "fit_intercept": fit_intercept}
    model = LaplacianRidgeClassifier(KERNEL, lam_graph=0.0, **options).fit(X, few)
    rival = KernelRidgeClassifier(KERNEL, **options).fit(X[known], y[known])
    np.testing.assert_allclose(model.decision_function(X), rival.decision_function(X), atol=1e-8)
    numbers = LaplacianRidge(KERNEL, lam_graph=0.0, **options)
    numbers.fit(X, np.where(known, X[:, 0], np.nan))
    rival = KernelRidge(KERNEL, **options).fit(X[known], X[known, 0])
    np.testing.assert_allclose(numbers.predict(X), rival.predict(X), atol=1e-8)


# ---------------------------------------------------------------- what must not matter
MACHINES = [
    LaplacianSVC(KERNEL, C=10.0, lam_graph=5.0, tol=1e-8),
    LaplacianRidgeClassifier(KERNEL, lam_graph=0.5),
]


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_the_order_of_rows_does_not_matter(machine):
    X, _, few = moons(70)
    order = np.random.default_rng(1).permutation(70)
    a, b = clone(machine).fit(X, few), clone(machine).fit(X[order], few[order])
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-6)


FAR = {
    "as dense": lambda X: X + 1e3,
    "denser": lambda X: 0.1 * X + 1e3,
    "sparser": lambda X: 5.0 * X + 1e3,
    "fewer than neighbours": lambda X: X[:3] + 1e3,
    "one": lambda X: X[:1] + 1e3,
    "one by one": lambda X: 1e3 * np.arange(1, 21)[:, None] + X[:20],
}


@pytest.mark.parametrize("far", FAR.values(), ids=FAR)
@pytest.mark.parametrize("kernel", [KERNEL, RBF(gamma=30.0), Laplacian(gamma=3.0)], ids=repr)
@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_unlabelled_rows_far_from_all_others_change_nothing_near_them(machine, kernel, far):
    X, _, few = moons(70)
    more = far(X)
    machine = clone(machine).set_params(kernel=kernel)
    a = clone(machine).fit(X, few)
    b = clone(machine).fit(np.vstack([X, more]), np.append(few, np.full(len(more), -1)))
    assert abs(a.graph_ - b.graph_[:70, :70]).max() == 0.0
    assert b.graph_[:70, 70:].nnz == 0
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-6)
    assert np.abs(b.decision_function(more)).max() < 1e-6


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    k=st.integers(1, 20),
    gamma=st.floats(0.3, 30.0),
    spread=st.floats(0.0, 3.0),
    crowds=st.lists(st.integers(1, 15), min_size=1, max_size=4),
    normalized=st.booleans(),
)
def test_whatever_is_far_changes_nothing_near(seed, k, gamma, spread, crowds, normalized):
    """Crowds of any size and density, each so far from all else that every kernel value is 0."""
    X, _, few = moons(30, seed=seed)
    rng = np.random.default_rng(seed)
    more = [1e3 * (c + 1) + spread * rng.normal(size=(m, 2)) for c, m in enumerate(crowds)]
    X, few = np.vstack([X, *more]), np.append(few, np.full(sum(crowds), -1))
    machine = LaplacianRidgeClassifier(
        RBF(gamma=gamma), lam_graph=0.1, n_neighbors=k, normalized=normalized
    )
    alone, all_rows = clone(machine).fit(X[:30], few[:30]), clone(machine).fit(X, few)
    assert abs(alone.graph_ - all_rows.graph_[:30, :30]).max() == 0.0
    values = alone.decision_function(X)
    np.testing.assert_allclose(values, all_rows.decision_function(X), atol=1e-9)
    assert np.abs(values[:30]).max() > 1e-3


@pytest.mark.parametrize("clamp", [False, True])
@pytest.mark.parametrize("far", FAR.values(), ids=FAR)
def test_far_rows_change_nothing_that_spreads(far, clamp):
    X, _, few = moons(70)
    more = far(X)
    a = GraphSpreading(clamp=clamp).fit(X, few)
    b = clone(a).fit(np.vstack([X, more]), np.append(few, np.full(len(more), -1)))
    near = b.label_distributions_[:70]
    np.testing.assert_allclose(a.label_distributions_, near, atol=1e-6)
    np.testing.assert_allclose(a.predict_proba(X + 0.01), b.predict_proba(X + 0.01), atol=1e-6)


def test_enough_landmarks_are_all_rows():
    X, _, few = moons(70)
    whole = LaplacianSVC(KERNEL, lam_graph=5.0, tol=1e-8).fit(X, few)
    most = clone(whole).set_params(landmarks=69, random_state=0).fit(X, few)
    assert most.certificate_.ok
    assert most.certificate_.trace_error < 1e-6
    np.testing.assert_allclose(whole.decision_function(X), most.decision_function(X), atol=1e-4)


def test_a_graph_of_your_own_is_used():
    """Two chains that cross: only the graph knows which row belongs to which."""
    t = np.linspace(-1, 1, 41)
    X = np.concatenate([np.c_[t, t], np.c_[t, -t]])
    chain = sp.diags_array([np.ones(40), np.ones(40)], offsets=[-1, 1], shape=(41, 41))
    y = np.full(82, -1)
    y[[0, 81]] = 0, 1
    spread = GraphSpreading(graph=sp.block_diag([chain, chain]), alpha=0.99).fit(X, y)
    np.testing.assert_array_equal(spread.transduction_, np.repeat([0, 1], 41))


# ---------------------------------------------------------------- what it is for
@pytest.mark.parametrize("n", [200, 600])
def test_two_moons_with_one_label_a_class(n):
    """About √n neighbours a row; ten draws of rows say the mean, 98 %, to a percent or so."""
    right, machine = [], LaplacianSVC(RBF(gamma=5.0), C=1e4, lam_graph=1e4)
    for seed in range(20, 30):
        X, y, few = moons(n, labels=2, seed=seed)
        model = clone(machine).set_params(n_neighbors=round(n**0.5)).fit(X, few)
        assert model.certificate_.ok
        right.append((model.predict(X) == y).mean())
    assert np.mean(right) >= 0.97


def test_any_kernel_has_its_graph():
    words = ["abab", "abba", "baba", "aabb", "bbaa", "cdcd", "cddc", "dcdc", "ccdd", "ddcc"]
    y = np.array(["x", None, None, None, None, "y", None, None, None, None], dtype=object)
    model = LaplacianSVC(Spectrum(2).normalized(), n_neighbors=3, lam_graph=5.0).fit(words, y)
    assert model.predict(words).tolist() == ["x"] * 5 + ["y"] * 5


def test_probabilities_agree_with_predictions():
    X, _, few = moons(120, labels=60)
    model = LaplacianSVC(KERNEL, C=10.0, probability=True).fit(X, few)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))


def test_a_path_of_bounds_is_the_fits_one_by_one():
    X, _, few = moons(60)
    model = LaplacianSVC(KERNEL, lam_graph=2.0, tol=1e-8)
    for C, machine in zip([0.1, 10.0], model.path(X, few, [0.1, 10.0]), strict=True):
        alone = clone(model).set_params(C=C).fit(X, few)
        np.testing.assert_allclose(
            machine.decision_function(X), alone.decision_function(X), atol=1e-6
        )


# ---------------------------------------------------------------- spreading
@pytest.mark.parametrize("alpha", [0.2, 0.9])
def test_spreading_is_that_of_scikit_learn_on_the_same_graph(alpha):
    X, _, few = moons(60)
    W = NearLists.exact(Linear(), Sample(X), 7).weights()[0].toarray()
    rival = LabelSpreading(kernel=lambda A, B: W, alpha=alpha, tol=1e-12, max_iter=10_000)
    rival.fit(X, few)
    model = GraphSpreading(graph=W, alpha=alpha, tol=1e-12).fit(X, few)
    np.testing.assert_allclose(model.label_distributions_, rival.label_distributions_, atol=1e-8)


def test_propagation_is_that_of_scikit_learn_on_the_same_graph():
    X, _, few = moons(60)
    W = NearLists.exact(Linear(), Sample(X), 7).weights()[0].toarray()
    rival = LabelPropagation(kernel=lambda A, B: W.copy(), tol=1e-12, max_iter=50_000).fit(X, few)
    model = GraphSpreading(graph=W, clamp=True, tol=1e-12).fit(X, few)
    np.testing.assert_allclose(model.label_distributions_, rival.label_distributions_, atol=1e-6)
    known = few >= 0
    np.testing.assert_array_equal(model.transduction_[known], few[known])


def test_rows_that_no_label_reaches_have_the_shares_of_the_labels():
    X, _, few = moons(40)
    far = np.vstack([X, X[:20] + 1e3])
    y = np.concatenate([few, np.full(20, -1)])
    model = GraphSpreading(5, clamp=True).fit(far, y)
    assert model.certificate_.unreached == 20
    np.testing.assert_allclose(model.label_distributions_[40:], 0.5)


# ---------------------------------------------------------------- bad input
EVERY = [LaplacianSVC(), LaplacianRidgeClassifier(), GraphSpreading(3)]


@pytest.mark.parametrize("machine", EVERY, ids=repr)
def test_what_marks_rows_without_a_label(machine):
    X, y, few = moons(40)
    texts = np.where(few < 0, None, np.where(few == 1, "b", "a"))
    floats = np.where(few < 0, np.nan, few)
    wanted = clone(machine).fit(X, few).predict(X)
    for labels in (texts, texts.tolist(), floats):
        model = clone(machine).fit(X, labels)
        np.testing.assert_array_equal(model.predict(X) == model.classes_[1], wanted == 1)
    with pytest.raises(ValueError, match="no labels"):
        clone(machine).fit(X, np.full(40, -1))
    with pytest.raises(ValueError, match="two classes among the labelled rows"):
        clone(machine).fit(X, np.where(few == 1, 1, -1))
    both = clone(machine).set_params(unlabelled=None).fit(X, 2 * y - 1)
    assert both.classes_.tolist() == [-1, 1]


@pytest.mark.parametrize("machine", EVERY, ids=repr)
@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (sp.eye_array(5), "each of the 40 rows"),
        (sp.csr_array(np.triu(np.ones((40, 40)))), "symmetric"),
        (-np.ones((40, 40)), "weights ≥ 0"),
        (np.full((40, 40), np.nan), "finite"),
    ],
)
def test_graphs_that_are_none(machine, graph, message):
    X, _, few = moons(40)
    with pytest.raises(ValueError, match=message):
        clone(machine).set_params(graph=graph).fit(X, few)


def test_targets_that_are_half_missing_are_refused():
    X, _, _ = moons(40)
    Y = np.column_stack([X, X])
    Y[3, 0] = np.nan
    with pytest.raises(ValueError, match="row 3"):
        LaplacianRidge().fit(X, Y)
    with pytest.raises(ValueError, match="no targets"):
        LaplacianRidge().fit(X, np.full(40, np.nan))


@pytest.mark.parametrize("machine", [LaplacianSVC(), LaplacianRidgeClassifier()], ids=repr)
def test_out_of_time_it_says_so(machine):
    X, _, few = moons(200)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = clone(machine).set_params(time_limit=0.0).fit(X, few)
    assert not model.certificate_.ok
    assert model.status_ == "time_limit"


def test_ctrl_c_keeps_the_best_so_far(monkeypatch):
    X, _, few = moons(200)
    looks, stopped = iter(range(10**6)), Limits.stopped

    def interrupting(self, steps=0):
        if next(looks) == 2:
            raise KeyboardInterrupt
        return stopped(self, steps)

    monkeypatch.setattr(Limits, "stopped", interrupting)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = LaplacianSVC(KERNEL, lam_graph=10.0).fit(X, few)
    assert not model.certificate_.ok
    assert np.isfinite(model.decision_function(X)).all()


def test_a_solve_whose_gap_goes_to_and_fro_below_rounding_ends():
    """A wide Gaussian along a graph, six labels and a large C: rounding is all that is left."""
    X, labels = make_moons(200, noise=0.1, random_state=0)
    rng = np.random.default_rng(0)
    rows = [rng.permutation(np.flatnonzero(labels == c))[:3] for c in (0, 1)]
    rows = np.sort(np.concatenate(rows))
    wide = LaplacianSVC(RBF(gamma=0.01))
    [K] = wide.deformations(X, rows, [0.01], Limits())
    machine = LaplacianSVC("precomputed", C=1000.0, lam_graph=0.0, time_limit=20.0)
    machine.fit(K, labels[rows])
    assert machine.certificate_.ok
    assert machine.n_iter_.max() < 2000
