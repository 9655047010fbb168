"""The other ways to the ridge system: float32 factors, and products alone when memory is short."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn import kernel_ridge

from mercer import KernelRidge, Status, check_solver, gram
from mercer.kernels import RBF, Laplacian, Linear, Precomputed, Sigmoid
from mercer.solvers import solve_ridge
from mercer.solvers.ridge_cg import solve_ridge_cg
from tests.cases import STORAGES, table

N = 200
X, X_NEW = table(N, 3), table(9, 5, seed=1)
Y = np.column_stack([np.sin(X[:, 0]) + 2.0, X[:, 1] ** 2, X[:, 2]])
WEIGHT = np.linspace(0.2, 3.0, N)
KERNELS = [RBF(gamma=0.3), Laplacian(gamma=0.5), Linear()]
offsets = pytest.mark.parametrize("fit_intercept", [True, False])
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def agree(solution, wanted, K):
    assert solution.status is Status.OPTIMAL
    f = [K @ s.value + s.intercept for s in (solution, wanted)]
    np.testing.assert_allclose(f[0], f[1], atol=1e-6)
    np.testing.assert_allclose(solution.intercept, wanted.intercept, atol=1e-6)


# ---------------------------------------------------------------- float32 and refinement
solve_single = partial(solve_ridge, single_from=1)


@kernels
@offsets
@pytest.mark.parametrize("lam", [1e-2, 1.0, 1e4])
def test_a_single_precision_factor_gives_the_same(kernel, fit_intercept, lam):
    K = gram(kernel, X)
    wanted = solve_ridge(K, Y, lam / WEIGHT, fit_intercept=fit_intercept)
    solution = check_solver(solve_single, K, Y, lam / WEIGHT, fit_intercept=fit_intercept)
    agree(solution, wanted, K)


def test_the_single_precision_route_is_taken():
    solution = solve_single(gram(RBF(gamma=0.3), X), Y, 0.1 / WEIGHT)
    assert solution.status is Status.OPTIMAL
    assert solution.stats["factor"] == "float32"


def test_more_than_a_thousand_points_agree_with_scikit_learn():
    rows = table(1100, 5)
    y = np.sin(rows[:, 0])
    model = KernelRidge(RBF(gamma=0.2), lam=0.1, fit_intercept=False).fit(rows, y)
    reference = kernel_ridge.KernelRidge(kernel="rbf", gamma=0.2, alpha=0.1).fit(rows, y)
    np.testing.assert_allclose(model.predict(X_NEW), reference.predict(X_NEW), atol=1e-8)
    np.testing.assert_allclose(model.dual_coef_, reference.dual_coef_, atol=1e-7)


def test_where_single_precision_is_too_coarse_double_takes_over():
    K = gram(RBF(gamma=0.01), X)
    solution = check_solver(solve_single, K, Y, np.full(N, 1e-8))
    assert solution.certificate.ok
    assert solution.certificate.condition_estimate > 1e9


def test_single_precision_of_an_indefinite_kernel():
    solution = solve_single(gram(Sigmoid(scale=2.0, bias=-1.0), X), Y, np.full(N, 0.1))
    assert solution.status is Status.INDEFINITE


def test_single_precision_of_a_precomputed_matrix_in_any_order():
    K = RBF(gamma=0.3)(X)
    wanted = solve_ridge(gram(RBF(gamma=0.3), X), Y, np.ones(N))
    for given in (K, np.asfortranarray(K), np.repeat(K, 2, axis=1)[:, ::2]):
        agree(solve_single(gram(Precomputed(), given), Y, np.ones(N)), wanted, K)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_single_precision_refuses_what_is_not_finite(fit_intercept):
    K = np.eye(N)
    K[3, 5] = K[5, 3] = np.inf
    G = gram(RBF(), X)
    G._K = K
    with pytest.raises(ValueError, match="not finite: the kernel overflows on X"):
        solve_single(G, Y, np.ones(N), fit_intercept=fit_intercept)


@pytest.mark.parametrize("scale", [1e-40, 1e40])
def test_kernels_of_any_size_fit_into_single_precision(scale):
    K = gram(scale * RBF(gamma=0.3), X)
    solution = solve_single(K, Y, np.full(N, scale))
    agree(solution, solve_ridge(gram(RBF(gamma=0.3), X), Y, np.ones(N)), np.zeros((N, N)))


# ---------------------------------------------------------------- products alone
@kernels
@offsets
@pytest.mark.parametrize("lam", [1e-2, 1.0, 1e4])
def test_conjugate_gradients_give_what_cholesky_gives(kernel, fit_intercept, lam):
    K = gram(kernel, X)
    wanted = solve_ridge(K, Y, lam / WEIGHT, fit_intercept=fit_intercept)
    solution = check_solver(solve_ridge_cg, K, Y, lam / WEIGHT, fit_intercept=fit_intercept)
    agree(solution, wanted, K)


@pytest.mark.parametrize("store", STORAGES.values(), ids=STORAGES.keys())
def test_a_small_budget_needs_no_factor(store):
    K = store(RBF(gamma=0.3), X)
    wanted = solve_ridge(K, Y, 1.0 / WEIGHT)
    solution = check_solver(solve_ridge, K, Y, 1.0 / WEIGHT, memory=N * N)
    agree(solution, wanted, K)
    assert solution.stats["products"] > 0
    assert 0 < solution.stats["rank"] < N // 5


def test_a_budget_for_no_row_at_all_still_works():
    K = gram(RBF(gamma=0.3), X)
    solution = solve_ridge_cg(K, Y, 1.0 / WEIGHT, memory=10)
    assert solution.stats["rank"] == 0
    agree(solution, solve_ridge(K, Y, 1.0 / WEIGHT), K)


def test_a_preconditioner_saves_products():
    K = gram(RBF(gamma=0.3), X)
    few, many = (
        solve_ridge_cg(K, Y, np.full(N, 1e-2), memory=m).stats["products"] for m in (10**7, 10)
    )
    assert few < many / 3


def test_targets_share_their_directions():
    K = gram(Laplacian(gamma=0.5), X)
    targets = np.random.default_rng(0).normal(size=(N, 20))
    together = solve_ridge_cg(K, targets, np.full(N, 1e-3), memory=10).stats["products"]
    alone = solve_ridge_cg(K, targets[:, :1], np.full(N, 1e-3), memory=10).stats["products"]
    assert together < alone


def test_targets_that_depend_on_each_other_do_no_harm():
    K = gram(RBF(gamma=0.3), X)
    targets = np.column_stack([Y[:, 0], Y[:, 0], 2.0 * Y[:, 0], np.zeros(N), np.full(N, 5.0)])
    solution = solve_ridge_cg(K, targets, 1.0 / WEIGHT, memory=10**4)
    agree(solution, solve_ridge(K, targets, 1.0 / WEIGHT), K)


@pytest.mark.parametrize("constant", [0.0, 1.0, -1e5])
def test_constant_targets_are_the_intercept(constant):
    solution = solve_ridge_cg(gram(RBF(), X), np.full((N, 1), constant), np.ones(N))
    assert solution.status is Status.OPTIMAL
    np.testing.assert_allclose(solution.intercept, constant, rtol=1e-9)


def test_contradictions_without_a_penalty_are_admitted():
    rows, targets = np.vstack([X[:40]] * 2), np.concatenate([Y[:40], -Y[:40]])
    solution = solve_ridge_cg(gram(RBF(gamma=0.3), rows), targets, np.zeros(80))
    assert np.isfinite(solution.value).all()
    assert solution.status is Status.ILL_CONDITIONED
    assert not solution.certificate.ok


def test_one_point():
    solution = solve_ridge_cg(gram(RBF(), X[:1]), Y[:1], np.ones(1))
    np.testing.assert_allclose(solution.intercept, Y[0])
    alone = solve_ridge_cg(gram(RBF(), X[:1]), Y[:1], np.ones(1), fit_intercept=False)
    np.testing.assert_allclose(alone.value, Y[:1] / 2.0)


class Interrupting:
    """A Gram matrix at whose k-th product Ctrl-C is pressed, once."""

    def __init__(self, K, at):
        self._K, self._left = K, at

    def __getattr__(self, name):
        return getattr(self._K, name)

    def __matmul__(self, V):
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt
        return self._K @ V


@pytest.mark.parametrize("at", [1, 5, 20])
def test_an_interrupted_solve_returns_the_best_so_far(at):
    K = gram(Laplacian(gamma=0.5), X)
    ridge = np.full(N, 1e-6)
    solution = solve_ridge_cg(Interrupting(K, at), Y, ridge, memory=10)
    assert solution.status is Status.INTERRUPTED
    assert not solution.certificate.ok
    # what is returned is what is proved
    left = Y - solution.intercept - K @ solution.value - ridge[:, None] * solution.value
    wanted = np.linalg.norm(left) / np.linalg.norm(Y)
    assert solution.certificate.residual == pytest.approx(wanted, rel=1e-6)
    assert wanted < 1.0


def test_the_estimator_needs_no_matrix():
    small = KernelRidge(RBF(gamma=0.3), lam=0.5, memory="40kB").fit(X, Y, WEIGHT)
    whole = KernelRidge(RBF(gamma=0.3), lam=0.5).fit(X, Y, WEIGHT)
    assert small.certificate_.ok
    assert small.certificate_.storage in ("cached", "blocked")
    np.testing.assert_allclose(small.predict(X[:9]), whole.predict(X[:9]), atol=1e-6)
