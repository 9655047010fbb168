"""Leading eigenpairs of Gram matrices by LAPACK and by products."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Status, check_solver, gram
from mercer.kernels import RBF, Constant, Linear, Precomputed, Sigmoid
from mercer.solvers import eigen, leading_eigenpairs, smallest_eigenpairs, symmetric_eigenpairs
from tests.cases import STORAGES, table

X = table(30, 3)
K = RBF(gamma=0.5)(X)
VALUES = np.linalg.eigvalsh(K)[::-1]


either_route = pytest.mark.parametrize("by_products", [False, True], ids=["LAPACK", "products"])


@either_route
@pytest.mark.parametrize("store", STORAGES.values(), ids=STORAGES.keys())
def test_every_storage_gives_the_eigenpairs_by_either_route(store, by_products):
    G = store(RBF(gamma=0.5), X)
    solution = check_solver(leading_eigenpairs, G, 3, by_products=by_products)
    assert solution.status is Status.OPTIMAL
    np.testing.assert_allclose(solution.eigenvalues, VALUES[:3], rtol=1e-12)
    V = solution.value
    np.testing.assert_allclose(K @ V, V * solution.eigenvalues, atol=1e-12)
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)


def test_all_positive_ones_are_found():
    solution = leading_eigenpairs(gram(RBF(gamma=0.5), X), None)
    np.testing.assert_allclose(solution.eigenvalues, VALUES, atol=1e-12)
    assert solution.certificate.discarded == pytest.approx(0.0, abs=1e-12)


def test_no_more_than_the_rank_are_kept():
    solution = leading_eigenpairs(gram(Linear(), X), 10)
    assert solution.value.shape == (30, 3)


def test_negative_eigenvalues_are_left_out():
    sigmoid = Sigmoid(scale=2.0, bias=-1.0)
    solution = leading_eigenpairs(gram(sigmoid, X), None)
    wanted = np.linalg.eigvalsh(sigmoid(X))[::-1]
    np.testing.assert_allclose(solution.eigenvalues, wanted[wanted > 1e-10], rtol=1e-9)


def test_signs_are_the_same_by_either_route():
    G = gram(RBF(gamma=0.5), X)
    by_lapack = leading_eigenpairs(G, 3, by_products=False).value
    by_products = leading_eigenpairs(G, 3, by_products=True).value
    np.testing.assert_allclose(by_products, by_lapack, atol=1e-10)
    largest = by_lapack[np.abs(by_lapack).argmax(axis=0), np.arange(3)]
    assert (largest > 0).all()


@either_route
@pytest.mark.parametrize("kernel", [Constant(0.0), Constant(0.1), Linear()], ids=repr)
def test_a_centred_matrix_that_is_zero_has_no_components(kernel, by_products):
    # all rows equal: what is left after centring is rounding, and must not be called a component
    rows = np.full((30, 2), 0.1)
    G = gram(kernel, rows).centered()
    solution = check_solver(leading_eigenpairs, G, 2, by_products=by_products)
    assert solution.value.shape == (30, 0)
    assert solution.status is Status.OPTIMAL


def test_rounding_of_a_large_offset_is_no_component():
    # K has entries of 1e12, so that centring leaves errors of about 1e-4 in every entry
    G = gram(Linear(), 1e6 + X).centered()
    solution = leading_eigenpairs(G, None)
    assert solution.value.shape == (30, 3)


@either_route
def test_equal_eigenvalues_are_no_problem(by_products):
    solution = leading_eigenpairs(gram(Precomputed(), np.eye(30)), 3, by_products=by_products)
    np.testing.assert_allclose(solution.eigenvalues, 1.0)
    assert solution.status is Status.OPTIMAL


def test_a_matrix_that_is_not_symmetric_is_never_called_solved():
    solution = leading_eigenpairs(gram(Precomputed(), table(6, 6)), None)
    assert solution.status is Status.INACCURATE


@pytest.mark.long
def test_arpack_on_a_large_blocked_matrix_equals_lapack():
    rows = table(1500, 3)
    blocked = leading_eigenpairs(gram(RBF(gamma=0.1), rows, storage="blocked").centered(), 5)
    C = gram(RBF(gamma=0.1), rows).centered().toarray()
    wanted = np.linalg.eigvalsh(C)[::-1][:5]
    assert blocked.status is Status.OPTIMAL
    np.testing.assert_allclose(blocked.eigenvalues, wanted, rtol=1e-10)


# ---------------------------------------------------------------- some of all eigenpairs
@pytest.mark.parametrize("n", [3, 22, 23, 24, 40])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_clusters_that_lapack_gives_up_on_are_found(n, k):
    """All affinities between equal points: of 23, LAPACK's way for some eigenpairs returns none."""
    A = (np.ones((n, n)) - np.eye(n)) / (n - 1)
    solution = symmetric_eigenpairs(A, k)
    assert solution.certificate.ok
    wanted = [1.0] + [-1.0 / (n - 1)] * (k - 1)
    np.testing.assert_allclose(solution.eigenvalues, wanted, atol=1e-12)
    solution = smallest_eigenpairs(np.eye(n) - A, k)
    assert solution.certificate.ok
    np.testing.assert_allclose(solution.eigenvalues, 1.0 - np.array(wanted), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_any_part_is_found_by_the_other_way(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(12, 12))
    A, real = A + A.T, eigen.eigh

    def gives_up(A, subset_by_index=None, **options):
        if subset_by_index is None:
            return real(A, **options)
        real(A, subset_by_index=subset_by_index, **options)  # writes over A all the same
        return np.empty(0), np.empty((len(A), 0))

    monkeypatch.setattr(eigen, "eigh", gives_up)
    values, V = eigen.by_lapack(A.copy(), 4)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[:7:-1], atol=1e-12)
    np.testing.assert_allclose(A @ V, V * values, atol=1e-12)
