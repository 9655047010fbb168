"""Closure: what is done to kernels is done to their values, and definiteness is derived."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from mercer import KernelRidge, check_kernel
from mercer.kernels import (
    RBF,
    Constant,
    Cosine,
    Exp,
    Exponential,
    FromFeatureMap,
    FromFunction,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
    PowerSeries,
    Precomputed,
    RankOne,
    Sigmoid,
)
from tests import naive
from tests.cases import KERNELS, SAMPLES, first_plus_one, squares_and_product, table
from tests.compare import assert_close
from tests.strategies import any_expressions, psd_expressions, tables

X = SAMPLES["float64"]
A, B = RBF(gamma=0.3), Polynomial(degree=2)


# ---------------------------------------------------------------- values
OPERATIONS = {
    "k + k": (A + B, A(X) + B(X)),
    "k + c": (A + 2.0, A(X) + 2.0),
    "c + k": (2 + A, A(X) + 2.0),
    "k - k": (A - B, A(X) - B(X)),
    "k - c": (A - 2.0, A(X) - 2.0),
    "c - k": (2.0 - A, 2.0 - A(X)),
    "-k": (-A, -A(X)),
    "k * k": (A * B, A(X) * B(X)),
    "k * c": (A * 3.0, 3.0 * A(X)),
    "c * k": (np.float64(3.0) * A, 3.0 * A(X)),
    "k ** 0": (B**0, np.ones((len(X), len(X)))),
    "k ** 1": (B**1, B(X)),
    "k ** 7": (B**7, B(X) ** 7),
    "exp": (A.exp(), np.exp(A(X))),
    "normalized": (B.normalized(), B(X) / np.sqrt(np.outer(B.diagonal(X), B.diagonal(X)))),
    "series": (PowerSeries(A, [1.0, 2.0, 3.0]), 1.0 + 2.0 * A(X) + 3.0 * A(X) ** 2),
    "series of one": (PowerSeries(A, [4.0]), np.full((len(X), len(X)), 4.0)),
}


@pytest.mark.parametrize(("kernel", "wanted"), OPERATIONS.values(), ids=OPERATIONS.keys())
def test_operation_on_kernels_is_the_operation_on_values(kernel, wanted):
    assert_close(kernel(X), wanted)
    assert_close(kernel.diagonal(X), np.diagonal(wanted))


@given(psd_expressions, tables())
def test_any_sum_of_products_is_its_formula(kernel, rows):
    # nothing cancels on the diagonal of a psd expression: its largest entry bounds every part
    scale = float(naive.diagonal(kernel, rows).max())
    assert_close(kernel(rows), naive.matrix(kernel, rows), roundings=1000, scale=scale)


@given(any_expressions, tables())
def test_any_expression_is_symmetric(kernel, rows):
    K = np.empty((len(rows), len(rows)))
    kernel.bind(rows).block(rows, rows.copy(), out=K)
    # the same products in another order: two roundings of what is added up
    np.testing.assert_allclose(K, K.T, rtol=1e-10, atol=1e-10 * np.abs(K).max())


# ---------------------------------------------------------------- definiteness
PSD, INDEFINITE, UNKNOWN = "psd", "indefinite", "unknown"
BAD = Sigmoid()
SOME = FromFunction(min)

DEFINITENESS = [
    (Linear(), PSD),
    (Linear(bias=1.0), PSD),
    (Linear(bias=-1.0), INDEFINITE),
    (Polynomial(), PSD),
    (Polynomial(bias=0.0), PSD),
    (Polynomial(bias=-1.0), INDEFINITE),
    (Polynomial(degree=0, bias=-1.0), PSD),
    (RBF(), PSD),
    (Exponential(), PSD),
    (Laplacian(), PSD),
    (Sigmoid(), INDEFINITE),
    (Constant(2.0), PSD),
    (Constant(0.0), PSD),
    (Constant(-2.0), INDEFINITE),
    (FromFunction(min), UNKNOWN),
    (FromFunction(min, definiteness="psd"), PSD),
    (FromFunction(min, definiteness="indefinite"), INDEFINITE),
    (FromFeatureMap(squares_and_product), PSD),
    (RankOne(first_plus_one), PSD),
    (Precomputed(), UNKNOWN),
    # sums
    (A + B, PSD),
    (A + 1.0, PSD),
    (A - 1.0, UNKNOWN),
    (A - B, UNKNOWN),
    (A + BAD, UNKNOWN),
    (BAD + BAD, UNKNOWN),
    (A + SOME, UNKNOWN),
    # products
    (A * B, PSD),
    (2.0 * A, PSD),
    (0.0 * BAD, PSD),
    (-1.0 * A, INDEFINITE),
    (2.0 * BAD, INDEFINITE),
    (-1.0 * BAD, UNKNOWN),
    (A * BAD, UNKNOWN),
    (2.0 * SOME, UNKNOWN),
    # functions of one kernel
    (A**3, PSD),
    (BAD**1, INDEFINITE),
    (BAD**0, PSD),
    (BAD**2, UNKNOWN),
    (A.exp(), PSD),
    (BAD.exp(), UNKNOWN),
    (A.normalized(), PSD),
    (BAD.normalized(), INDEFINITE),
    (PowerSeries(A, [0.0, 1.0]), PSD),
    (PowerSeries(A, [1.0, -1.0]), UNKNOWN),
    (PowerSeries(BAD, [1.0, 1.0]), UNKNOWN),
]


@pytest.mark.parametrize(("kernel", "definiteness"), DEFINITENESS)
def test_definiteness_is_derived_by_the_algebra(kernel, definiteness):
    assert kernel.definiteness == definiteness


def smallest_eigenvalue(K):
    """Return the smallest eigenvalue, in units of what rounding can do to it: n ε ‖K‖."""
    values = np.linalg.eigvalsh((K + K.T) / 2)
    return values[0] / (len(K) * np.finfo(K.dtype).eps * max(np.abs(values).max(), 1e-300))


CLAIMED = {name: k for name, k in KERNELS.items() if k.definiteness == PSD}


@pytest.mark.parametrize("kernel", CLAIMED.values(), ids=CLAIMED.keys())
@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES.keys())
def test_kernels_that_claim_to_be_psd_are(kernel, rows):
    assert smallest_eigenvalue(kernel(rows)) > -100


@pytest.mark.parametrize("kernel", CLAIMED.values(), ids=CLAIMED.keys())
def test_check_kernel_has_no_objection_to_psd_kernels(kernel):
    report = check_kernel(kernel, table(30, 3))
    assert report.ok, str(report)


@given(psd_expressions, tables(max_rows=8))
def test_any_expression_that_claims_to_be_psd_is(kernel, rows):
    assert kernel.definiteness == PSD
    assert smallest_eigenvalue(kernel(rows)) > -1000


@given(any_expressions, tables())
def test_derived_definiteness_is_never_wrong_about_psd(kernel, rows):
    if kernel.definiteness == PSD:
        assert smallest_eigenvalue(kernel(rows)) > -1000


@pytest.mark.parametrize(
    "kernel",
    [k for k, definiteness in DEFINITENESS if definiteness == INDEFINITE and k.domain == "vectors"],
    ids=repr,
)
def test_kernels_that_claim_to_be_indefinite_have_a_counter_example(kernel):
    # with the origin among the points: k(0, 0) = c < 0, or a zero row with a non-zero column
    points = np.vstack([np.zeros((1, 2)), 2.0 * table(30, 2)])
    if isinstance(kernel, Normalized):
        points = points[1:]
    assert smallest_eigenvalue(kernel(points)) < -1000


# ---------------------------------------------------------------- identities of the lecture notes
def test_squared_inner_product_is_the_inner_product_of_explicit_maps():
    rows = table(12, 2)
    explicit = FromFeatureMap(squares_and_product)
    assert_close(Polynomial(degree=2, bias=0.0)(rows), explicit(rows))


def test_polynomial_with_bias_has_an_explicit_map_too():
    def phi(x):
        a, b = x
        r = 2**0.5
        return [1.0, r * a, r * b, a * a, b * b, r * a * b]

    rows = table(12, 2)
    assert_close(Polynomial(degree=2, bias=1.0)(rows), FromFeatureMap(phi)(rows))


XOR = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
XOR_LABELS = np.array([-1.0, 1.0, 1.0, -1.0])


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_degree_two_with_bias_solves_xor(fit_intercept):
    machine = KernelRidge(Polynomial(degree=2), lam=1e-3, fit_intercept=fit_intercept)
    np.testing.assert_array_equal(np.sign(machine.fit(XOR, XOR_LABELS).predict(XOR)), XOR_LABELS)


def test_no_linear_machine_solves_xor():
    predictions = KernelRidge("linear", lam=1e-3).fit(XOR, XOR_LABELS).predict(XOR)
    np.testing.assert_allclose(predictions, 0.0, atol=1e-12)  # XOR is uncorrelated with x₁ and x₂


@pytest.mark.parametrize("gamma", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES.keys())
def test_normalised_exponential_of_inner_products_is_the_rbf(gamma, rows):
    # exp(2γ x·y) / √(exp(2γ‖x‖²) exp(2γ‖y‖²)) = exp(−γ‖x − y‖²)
    normalised = (2 * gamma * Linear()).exp().normalized()
    scale = max(1.0, gamma * float(Linear().diagonal(rows).max()))  # the exponents that are added
    assert_close(normalised(rows), RBF(gamma=gamma)(rows), scale=scale)


def test_normalised_exponential_does_not_overflow():
    rows = 100.0 * table(6, 3)  # exp(2γ‖x‖²) ~ exp(10⁴) has no floating-point value
    normalised = (2.0 * Linear()).exp().normalized()
    np.testing.assert_allclose(normalised(rows), RBF(gamma=1.0)(rows), atol=1e-10)
    np.testing.assert_array_equal(normalised.diagonal(rows), np.ones(6))


def test_normalised_exponential_does_not_vanish():
    rows = 100.0 * table(6, 3)  # exp(−‖x‖²) underflows to 0, exp(−x·y + ½‖x‖² + ½‖y‖²) does not
    normalised = (-1.0 * Linear()).exp().normalized()
    np.testing.assert_allclose(normalised(rows[:1]), 1.0, atol=1e-10)  # ε times an exponent of 10⁴
    np.testing.assert_array_equal(normalised.diagonal(rows), np.ones(6))


def test_normalisation_of_a_zero_vector_is_zero():
    rows = np.array([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_array_equal(Linear().normalized()(rows), [[0.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(Linear().normalized().diagonal(rows), [0.0, 1.0])


@pytest.mark.parametrize("size", [1e-310, 1e-170, 1e-162, 1e-100, 1e100, 1e149])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_normalised_rows_of_any_size_keep_their_angles(size, convert):
    """Squares of 1e-162 vanish; beside rows of size one nobody would see it."""
    rows = table(6, 3)
    wanted = Linear().normalized()(rows)
    rows[2:4] *= size
    for kernel in (Linear().normalized(), Cosine(), Linear().on([0, 1, 2]).normalized()):
        np.testing.assert_allclose(kernel(convert(rows)), wanted, atol=1e-11)
        np.testing.assert_array_equal(kernel.diagonal(convert(rows)), np.ones(6))


@pytest.mark.parametrize(
    "kernel", [Linear() + Linear(), Polynomial(bias=0.0), Linear() ** 2, Linear() * A], ids=repr
)
@pytest.mark.parametrize("size", [1e-170, 1e-148])
def test_lengths_that_vanish_are_refused_not_taken_for_zero(kernel, size):
    rows = table(6, 3)
    rows[4] *= size
    for call in (kernel.normalized(), kernel.normalized().diagonal):
        with pytest.raises(ValueError, match=r"k\(x, x\) of row 4 .* rescale X"):
            call(rows)


@pytest.mark.parametrize("call", [lambda k: k(X), lambda k: k.diagonal(X)], ids=["K", "diagonal"])
def test_negative_lengths_cannot_be_normalised(call):
    with pytest.raises(ValueError, match=r"k\(x, x\) < 0 cannot be normalised"):
        call(Linear(bias=-100.0).normalized())


def test_exponential_is_the_limit_of_its_power_series():
    factorials = [1.0, 1.0, 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040, 1 / 40320]
    error = np.abs(PowerSeries(A, factorials)(X) - Exp(A)(X)).max()
    assert error < 1 / 362880 * 1.2  # the first term left out is 1/9!, the rest less than a tenth


def test_rank_one_kernel_has_a_matrix_of_rank_one():
    K = RankOne(first_plus_one)(table(10, 2))
    assert np.linalg.matrix_rank(K) == 1
    assert_close(K, np.outer(table(10, 2)[:, 0] + 1, table(10, 2)[:, 0] + 1))


def test_power_of_a_kernel_is_a_polynomial_kernel():
    assert_close((0.5 * Linear() + 1.0)(X) ** 3, Polynomial(degree=3, scale=0.5, bias=1.0)(X))
    assert_close(((0.5 * Linear() + 1.0) ** 3)(X), Polynomial(degree=3, scale=0.5, bias=1.0)(X))


def test_product_of_rbfs_adds_their_gammas():
    assert_close((RBF(gamma=0.2) * RBF(gamma=0.5))(X), RBF(gamma=0.7)(X))
