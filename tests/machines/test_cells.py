"""Support vector machines by cells: each cell is an exact machine, gaps add up."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import SVC, KernelSearchCV, load, rows, save
from mercer.kernels import RBF, Linear
from mercer.machines._cells import CellTree


def problem(n=600, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    edges = np.quantile(f, np.arange(1, classes) / classes)
    return X, np.array(["red", "blue", "green", "white"])[np.searchsorted(edges, f)]


def tree_of(model):
    return CellTree(model.cell_directions_, model.cell_thresholds_)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 300), size=st.integers(2, 50), seed=st.integers(0, 9))
def test_cells_are_small_and_every_row_lies_in_one(n, size, seed):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    tree = CellTree.grown(X, size)
    cells = tree.cells_of(X)
    counts = np.bincount(cells, minlength=tree.n_cells)
    assert counts.sum() == n
    assert counts.max() <= size
    assert tree.n_cells < 2 * n / size + 2


@pytest.mark.parametrize("columns", [3, 16, 33])
def test_the_cell_of_a_row_does_not_depend_on_the_rows_beside_it(columns):
    """Medians of odd numbers of rows are the places of rows, which rounding must not move."""
    X = np.random.default_rng(columns).normal(size=(1001, columns))
    tree = CellTree.grown(X, 60)
    alone = [int(tree.cells_of(X[[i]])[0]) for i in range(len(X))]
    assert tree.cells_of(X).tolist() == alone
    assert tree.cells_of(np.asfortranarray(X[::3])).tolist() == alone[::3]


def test_equal_rows_lie_in_one_cell():
    tree = CellTree.grown(np.ones((100, 2)), 10)
    assert len(np.unique(tree.cells_of(np.ones((100, 2))))) == 1


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_each_cell_is_the_exact_machine_of_its_rows(classes):
    X, y = problem(classes=classes)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=len(y))
    model = SVC(RBF(gamma=0.5), C=3.0, route="cells", cell_size=100, tol=1e-6)
    model.fit(X, y, weight)
    cells, new = tree_of(model).cells_of(X), problem(seed=2)[0]
    cells_of_new = tree_of(model).cells_of(new)
    found, gap = model.predict(new), 0.0
    for cell in range(len(model.cell_intercepts_)):
        own, asked = cells == cell, cells_of_new == cell
        assert len(np.unique(y[own])) > 1
        exact = SVC(RBF(gamma=0.5), C=3.0, tol=1e-6).fit(X[own], y[own], weight[own])
        gap += exact.certificate_.gap
        np.testing.assert_array_equal(found[asked], exact.predict(new[asked]))
        values = exact.decision_function(new[asked])
        if classes == 2:
            np.testing.assert_allclose(model.decision_function(new)[asked], values, atol=1e-5)
    assert model.certificate_.gap == pytest.approx(gap, rel=1e-6)
    assert model.certificate_.ok
    assert model.certificate_.cells == 8


def test_the_gap_is_that_of_the_whole_problem():
    X, y = problem(300)
    model = SVC(RBF(gamma=0.5), C=2.0, route="cells", cell_size=80, tol=1e-5).fit(X, y)
    cells = tree_of(model).cells_of(X)
    K = RBF(gamma=0.5)(X) * (cells[:, None] == cells)
    assert np.linalg.eigvalsh(K).min() > -1e-10
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    norm = beta @ K @ beta
    hinge = np.maximum(0.0, 1.0 - sign * model.decision_function(X)).sum()
    assert model.certificate_.primal == pytest.approx(norm / 2 + 2.0 * hinge, rel=1e-6)
    assert model.certificate_.dual == pytest.approx(np.abs(beta).sum() - norm / 2, rel=1e-6)
    assert model.margin_ == pytest.approx(norm**-0.5, rel=1e-6)


def test_a_cell_that_holds_all_is_the_exact_machine():
    X, y = problem(200, classes=3)
    cells = SVC(C=2.0, route="cells", cell_size=200).fit(X, y)
    exact = SVC(C=2.0).fit(X, y)
    np.testing.assert_allclose(cells.decision_function(X), exact.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(cells.support_, exact.support_)
    np.testing.assert_allclose(cells.dual_coef_, exact.dual_coef_)


def test_cells_with_some_of_the_classes_or_one():
    X = np.linspace(-4, 4, 400)[:, None]
    y = np.select([X[:, 0] < -1, X[:, 0] < 2], ["left", "middle"], "right")
    model = SVC(RBF(gamma=2.0), C=10.0, route="cells", cell_size=50).fit(X, y)
    assert model.certificate_.constant_cells >= 4
    assert np.mean(model.predict(X) == y) > 0.99
    two = SVC(RBF(gamma=2.0), C=10.0, route="cells", cell_size=50).fit(X, y == "left")
    assert np.mean(two.predict(X) == (y == "left")) > 0.99


def test_class_weights_and_lam_are_those_of_all_rows():
    X, y = problem()
    n = len(y)
    share = np.mean(y == "red")
    assert 0 < share < 1
    by_lam = SVC(lam=1 / (2 * n * 3.0), route="cells", cell_size=200).fit(X, y)
    by_C = SVC(C=3.0, route="cells", cell_size=200).fit(X, y)
    np.testing.assert_allclose(by_lam.decision_function(X), by_C.decision_function(X), atol=1e-8)
    factors = {"red": 2.0, "blue": 0.5}
    weight = np.array([factors[label] for label in y])
    weighted = SVC(RBF(gamma=0.5), class_weight=factors, route="cells", cell_size=200).fit(X, y)
    same = SVC(RBF(gamma=0.5), route="cells", cell_size=200).fit(X, y, weight)
    np.testing.assert_allclose(weighted.decision_function(X), same.decision_function(X), atol=1e-8)


def test_rows_of_weight_zero_are_no_rows():
    X, y = problem()
    weight = np.ones(len(y))
    weight[::3] = 0.0
    model = SVC(RBF(gamma=0.5), route="cells", cell_size=100)
    found = model.fit(X, y, weight).decision_function(X)
    without = model.fit(X[weight > 0], y[weight > 0]).decision_function(X)
    np.testing.assert_allclose(found, without, atol=1e-9)


def test_it_is_saved_and_fitted_again(tmp_path):
    X, y = problem(classes=3)
    model = SVC(route="cells", cell_size=150).fit(X, y)
    save(model, tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    exact = model.set_params(route="exact").fit(X, y)
    assert exact.cell_thresholds_ is None
    np.testing.assert_array_equal(exact.predict(X), SVC().fit(X, y).predict(X))


def test_rows_in_blocks_are_cut_into_cells():
    X, y = problem()
    table = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    opened = rows.open(table, "y")
    model = SVC(cell_size=200, route="cells").fit(opened)
    assert model.certificate_.cells == 4
    by_array = SVC(cell_size=200, route="cells").fit(X, y)
    np.testing.assert_array_equal(model.predict(opened), by_array.predict(X))
    turned = rows.open(table.select("c", "b", "a"))
    np.testing.assert_array_equal(model.predict(turned), by_array.predict(X))
    few = SVC().fit(rows.open(table[:250], "y"))
    assert few.cell_thresholds_ is None


def test_a_search_fits_what_is_meant():
    X, y = problem(300)
    search = KernelSearchCV(SVC(route="cells", cell_size=60), {"C": [0.1, 10.0]}).fit(X, y)
    assert search.route_ == "ordinary cross-validation: route='cells' is not that of a Gram matrix"
    assert search.best_estimator_.certificate_.cells > 1


def test_what_cells_cannot_do_is_said():
    X, y = problem(300)
    with pytest.raises(ValueError, match="route='cells' needs probability=False"):
        SVC(route="cells", probability=True).fit(X, y)
    with pytest.raises(ValueError, match="route='cells' needs multiclass='ovo'"):
        SVC(route="cells", multiclass="ovr").fit(X, y)
    with pytest.raises(ValueError, match="route='cells' needs a finite C"):
        SVC(route="cells", C=np.inf).fit(X, y)
    with pytest.raises(TypeError, match="route='cells' takes dense tables"):
        SVC(route="cells").fit(sp.csr_array(X), y)
    model = SVC(Linear(), route="cells", cell_size=50).fit(X, y)
    with pytest.raises(AttributeError, match="there is no coef_ for route='cells'"):
        _ = model.coef_
    with pytest.raises(AttributeError, match="there is no gradient for route='cells'"):
        model.gradient(X)
