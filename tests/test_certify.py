"""A certificate is recomputed from the answer: a wrong answer has a large value."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import gram
from mercer.certify import eigen_residual, relative_residual
from mercer.kernels import RBF, Linear
from tests.cases import STORAGES, table

X = table(12, 3)
K = RBF(gamma=0.5)(X)
Y = np.column_stack([X[:, 0], np.sin(X[:, 1])])
RIDGE = np.linspace(0.5, 1.5, 12)


def exact_ridge():
    """Solve the bordered system [[K + Λ, 1], [1ᵀ, 0]] with LAPACK's general solver."""
    n = len(K)
    A = np.block([[K + np.diag(RIDGE), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(A, np.vstack([Y, np.zeros((1, 2))]))
    return solution[:n], solution[n]


def prove_ridge(alpha, b, **options):
    return relative_residual(gram(RBF(gamma=0.5), X), alpha, b, Y, RIDGE, condition=1.0, **options)


# ---------------------------------------------------------------- linear systems
def test_the_exact_solution_is_proved():
    proof = prove_ridge(*exact_ridge())
    assert proof.ok
    assert proof.value < 1e-13


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1.0])
def test_a_perturbed_solution_is_not_proved(size):
    alpha, b = exact_ridge()
    noise = size * table(12, 2, seed=3)
    proof = prove_ridge(alpha + noise, b)
    assert not proof.ok
    # ‖(K + Λ) δ‖ ≥ λ_min ‖δ‖ with λ_min ≥ 0.5
    assert proof.value >= 0.5 * np.linalg.norm(noise) / np.linalg.norm(Y) * 0.99


def test_a_wrong_intercept_is_not_proved():
    alpha, b = exact_ridge()
    assert not prove_ridge(alpha, b + 1e-4).ok


def test_coefficients_that_do_not_sum_to_zero_are_not_proved():
    # any b and α = (K + Λ)⁻¹(Y − b) solve the first rows; only Σα = 0 makes b optimal
    b = exact_ridge()[1] + 0.1
    alpha = np.linalg.solve(K + np.diag(RIDGE), Y - b)
    proof = prove_ridge(alpha, b)
    assert proof.residual < 1e-12
    assert proof.balance > 1e-3
    assert not proof.ok
    assert prove_ridge(alpha, b, fit_intercept=False).ok


def test_nan_is_not_proved():
    alpha, b = exact_ridge()
    assert not prove_ridge(alpha * np.nan, b).ok
    assert not prove_ridge(alpha, b * np.nan).ok


def test_the_tolerance_decides():
    alpha, b = exact_ridge()
    noisy = alpha + 1e-6 * table(12, 2, seed=3)
    assert not prove_ridge(noisy, b).ok
    assert prove_ridge(noisy, b, tolerance=1e-4).ok


@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
def test_the_proof_does_not_depend_on_the_unit_of_the_targets(unit):
    alpha, b = exact_ridge()
    G = gram(RBF(gamma=0.5), X)
    proof = relative_residual(G, unit * alpha, unit * b, unit * Y, RIDGE, condition=1.0)
    assert proof.value < 1e-12


def test_targets_that_are_zero_are_solved_by_zero():
    G = gram(RBF(gamma=0.5), X)
    zero = np.zeros((12, 1))
    assert relative_residual(G, zero, np.zeros(1), zero, RIDGE, condition=1.0).ok
    assert not relative_residual(G, zero + 1e-9, np.zeros(1), zero, RIDGE, condition=1.0).ok


# ---------------------------------------------------------------- eigenpairs
def exact_pairs(k):
    values, vectors = np.linalg.eigh(K)
    return values[::-1][:k], vectors[:, ::-1][:, :k]


@pytest.mark.parametrize("store", STORAGES.values(), ids=STORAGES.keys())
def test_exact_eigenpairs_are_proved_on_every_storage(store):
    values, vectors = exact_pairs(4)
    proof = eigen_residual(store(RBF(gamma=0.5), X), values, vectors)
    assert proof.ok
    assert proof.value < 1e-13
    assert proof.trace == pytest.approx(np.trace(K))
    assert proof.discarded == pytest.approx(1.0 - values.sum() / np.trace(K))


def test_a_perturbed_eigenvalue_is_not_proved():
    values, vectors = exact_pairs(4)
    G = gram(RBF(gamma=0.5), X)
    assert not eigen_residual(G, values * (1 + 1e-6), vectors).ok


def test_a_perturbed_eigenvector_is_not_proved():
    values, vectors = exact_pairs(4)
    G = gram(RBF(gamma=0.5), X)
    assert not eigen_residual(G, values, vectors + 1e-6 * table(12, 4)).ok


def test_a_pair_listed_twice_is_not_proved():
    # every residual is zero, but the vectors are not orthogonal
    values, vectors = exact_pairs(1)
    proof = eigen_residual(
        gram(RBF(gamma=0.5), X), np.repeat(values, 2), np.repeat(vectors, 2, axis=1)
    )
    assert proof.residual < 1e-13
    assert proof.orthogonality_error == pytest.approx(1.0)
    assert not proof.ok


def test_eigenvectors_must_have_length_one():
    values, vectors = exact_pairs(2)
    assert not eigen_residual(gram(RBF(gamma=0.5), X), values, 2.0 * vectors).ok


def test_no_eigenpairs_are_no_claim():
    proof = eigen_residual(gram(Linear(), np.zeros((3, 1))), np.empty(0), np.empty((3, 0)))
    assert proof.ok
    assert proof.discarded == 0.0
