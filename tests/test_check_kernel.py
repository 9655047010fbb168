"""`check_kernel` finds what is no kernel, and gives the points or the vector that prove it."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import check_kernel
from mercer.kernels import RBF, FromFunction, Linear, Polynomial, Precomputed, Sigmoid
from tests.cases import KERNELS, OBJECT_KERNELS, WORDS, cosine, shared_letters, table

X = table(30, 3)


def norms_minus_one(x, y):
    """000 Example 6.2, first function: ‖x‖‖y‖ − 1."""
    return np.linalg.norm(x) * np.linalg.norm(y) - 1.0


def skewed_exponential(x, y):
    """000 Example 6.2, second function: exp(−‖x − y‖ − ‖y‖)."""
    return np.exp(-np.linalg.norm(x - y) - np.linalg.norm(y))


def bent(x, y):
    """Symmetric with a positive diagonal, but |k(x, y)| can exceed k(x, x)."""
    return 1.0 + abs(x[0] - y[0])


# ---------------------------------------------------------------- the counter-examples
def test_the_first_counter_example_fails_at_the_origin():
    report = check_kernel(norms_minus_one, [[0.0, 0.0]])
    assert not report.ok
    assert report.symmetric
    assert not report.psd
    assert report.min_eigenvalue == -1.0
    assert report.reason == "not a kernel: k(x0, x0) = -1 < 0"


def test_the_second_counter_example_is_not_symmetric():
    report = check_kernel(skewed_exponential, np.array([[0.0], [1.0]]))
    assert not report.ok
    assert not report.symmetric
    assert set(report.pair) == {0, 1}
    assert report.reason.startswith("not symmetric")


def test_the_sigmoid_is_no_kernel():
    report = check_kernel(Sigmoid(), X)
    assert not report.ok
    assert report.symmetric
    assert not report.psd
    assert "vᵀKv" in report.reason


def test_a_function_that_is_not_symmetric_is_caught():
    report = check_kernel(lambda x, y: float(x[0] + 2.0 * y[0]), X)
    assert not report.ok
    assert not report.symmetric
    i, j = report.pair
    assert X[i, 0] + 2 * X[j, 0] != X[j, 0] + 2 * X[i, 0]


def test_a_function_that_breaks_cauchy_schwarz_is_caught():
    report = check_kernel(bent, X)
    assert not report.ok
    assert not report.cauchy_schwarz
    i, j = report.pair
    assert bent(X[i], X[j]) ** 2 > bent(X[i], X[i]) * bent(X[j], X[j])


def test_a_kernel_minus_a_constant_is_caught():
    assert not check_kernel(RBF(gamma=1.0) - 0.9, X).ok
    assert not check_kernel(-1.0 * Linear(), X).ok
    assert not check_kernel(Polynomial(degree=2, bias=-3.0), X).ok


FALSE_KERNELS = {
    "norms minus one": norms_minus_one,
    "sigmoid": Sigmoid(),
    "sigmoid with a negative bias": Sigmoid(scale=2.0, bias=-1.0),
    "bent": bent,
    "negative": -1.0 * RBF(gamma=1.0),
    "difference": RBF(gamma=0.1) - RBF(gamma=1.0),
}


@pytest.mark.parametrize("kernel", FALSE_KERNELS.values(), ids=FALSE_KERNELS.keys())
def test_the_witness_proves_it(kernel):
    points = np.vstack([np.zeros((1, 3)), X])
    report = check_kernel(kernel, points)
    v = report.witness
    function = kernel if callable(kernel) and not hasattr(kernel, "bind") else None
    K = (FromFunction(function) if function else kernel)(points[report.points])
    assert v @ K @ v < 0
    assert v @ K @ v / (v @ v) == pytest.approx(report.min_eigenvalue, rel=1e-8)


# ---------------------------------------------------------------- the others
PSD = {
    name: kernel
    for name, kernel in {**KERNELS, **OBJECT_KERNELS}.items()
    if kernel.definiteness == "psd"
}


@pytest.mark.parametrize("kernel", PSD.values(), ids=PSD.keys())
def test_kernels_of_the_library_pass(kernel):
    report = check_kernel(kernel, WORDS if repr(kernel) in OBJECT_KERNELS else X)
    assert report.ok
    assert report.witness is None
    assert report.pair is None
    assert report.reason == "no objection on these points"


@pytest.mark.parametrize("name", ["linear", "rbf", "laplacian"])
def test_names_and_functions_are_understood(name):
    assert check_kernel(name, X)
    assert check_kernel(cosine, X)
    assert check_kernel(shared_letters, WORDS)


@pytest.mark.parametrize("unit", [1e-100, 1e-6, 1e6, 1e100])
def test_the_verdict_does_not_depend_on_the_unit(unit):
    assert check_kernel(unit * Linear(), X).ok
    assert not check_kernel(-unit * Linear(), X).ok


def test_single_precision_rows_are_checked_in_double():
    assert check_kernel(RBF(gamma=1e-4), X.astype(np.float32)).ok


def test_a_matrix_can_be_checked():
    assert check_kernel(Precomputed(), X @ X.T).ok
    assert not check_kernel("precomputed", table(5, 5)).symmetric


def test_of_many_points_some_are_looked_at():
    report = check_kernel(RBF(), table(300, 2), max_points=50)
    assert len(report.points) == len(set(report.points.tolist())) == 50
    again = check_kernel(RBF(), table(300, 2), max_points=50)
    np.testing.assert_array_equal(report.points, again.points)


def test_the_pair_is_numbered_by_the_rows_of_x():
    rows = table(300, 1)
    report = check_kernel(lambda x, y: float(x[0] + 2.0 * y[0]), rows, max_points=20)
    assert set(report.pair) <= set(report.points.tolist())


def test_a_function_without_a_value_is_refused():
    with pytest.raises(ValueError, match="function must return one finite number"):
        check_kernel(lambda x, y: np.nan, X)


# ---------------------------------------------------------------- the report
def test_the_report_prints_as_a_table():
    text = str(check_kernel(Sigmoid(), X))
    assert text.splitlines()[0] == "check_kernel: Sigmoid()"
    for line in ("points", "symmetric", "positive semidefinite", "smallest eigenvalue", "verdict"):
        assert line in text
    assert "NO" in text
    assert repr(check_kernel(Sigmoid(), X)) == text


def test_the_report_shows_itself_in_a_notebook():
    page = check_kernel(Sigmoid(), X)._repr_html_()
    assert "<table>" in page
    assert "positive semidefinite" in page


def test_the_report_is_true_or_false():
    assert check_kernel(RBF(), X)
    assert not check_kernel(Sigmoid(), X)
