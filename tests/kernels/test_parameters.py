"""A kernel is its parameters: cloned, pickled, printed, compared, changed, bound to data."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from sklearn.base import clone

from mercer import kernels as mk
from mercer.kernels import RBF, Constant, Exponential, Laplacian, Linear, Polynomial, PowerSeries
from tests import cases
from tests.cases import KERNELS, OBJECT_KERNELS, sparse_table, table
from tests.strategies import any_expressions

ALL_KERNELS = {**KERNELS, **OBJECT_KERNELS}
every_kernel = pytest.mark.parametrize("kernel", ALL_KERNELS.values(), ids=ALL_KERNELS.keys())


def read_back(text):
    """Evaluate the repr of a kernel, with the names that a user would have imported."""
    return eval(text, {**vars(mk), **vars(cases)})


@every_kernel
def test_clone_is_equal_and_another_object(kernel):
    copy = clone(kernel)
    assert copy == kernel
    assert copy is not kernel
    assert hash(copy) == hash(kernel)


@every_kernel
def test_pickle_gives_the_same_kernel(kernel):
    assert pickle.loads(pickle.dumps(kernel)) == kernel


@every_kernel
def test_repr_can_be_evaluated(kernel):
    assert read_back(repr(kernel)) == kernel


@every_kernel
def test_parameters_build_the_same_kernel(kernel):
    assert type(kernel)(**kernel.get_params(deep=False)) == kernel


@every_kernel
def test_set_params_with_its_own_parameters_changes_nothing(kernel):
    copy = clone(kernel)
    assert copy.set_params(**kernel.get_params(deep=True)) == kernel


@pytest.mark.parametrize("a", ALL_KERNELS.values(), ids=ALL_KERNELS.keys())
def test_kernels_are_equal_only_to_themselves(a):
    assert [name for name, b in ALL_KERNELS.items() if a == b] == [repr(a)]


@given(any_expressions)
def test_any_expression_survives_repr_pickle_and_clone(kernel):
    assert read_back(repr(kernel)) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert clone(kernel) == kernel
    assert hash(clone(kernel)) == hash(kernel)


def test_nested_parameters_have_paths():
    kernel = 0.5 * RBF(gamma=0.1) + Polynomial(degree=2) * Linear()
    params = kernel.get_params()
    assert params["left__left__value"] == 0.5
    assert params["left__right__gamma"] == 0.1
    assert params["right__left__degree"] == 2
    assert params["right__right"] == Linear()


def test_nested_parameters_can_be_set():
    kernel = 0.5 * RBF(gamma=0.1) + Polynomial(degree=2) * Linear()
    kernel.set_params(left__right__gamma=2.0, right__left__degree=4)
    assert kernel == 0.5 * RBF(gamma=2.0) + Polynomial(degree=4) * Linear()


def test_a_whole_part_can_be_set():
    kernel = (RBF(gamma=0.1) + Linear()).set_params(left=Laplacian(gamma=1.0))
    assert kernel == Laplacian(gamma=1.0) + Linear()


def test_values_follow_the_parameters():
    X = table(5, 2)
    kernel = RBF(gamma=0.1) + Linear()
    kernel(X)
    kernel.set_params(left__gamma=3.0)
    np.testing.assert_array_equal(kernel(X), (RBF(gamma=3.0) + Linear())(X))


def test_unknown_parameter_names_what_there_is():
    with pytest.raises(ValueError, match=r"has no parameter 'sigma'; it has .*'gamma'"):
        RBF().set_params(sigma=1.0)


def test_kernel_is_no_other_type():
    assert RBF() != "rbf"
    assert RBF() != Exponential()
    assert PowerSeries(RBF(), [1.0, 2.0]) != PowerSeries(RBF(), [1.0, 3.0])
    assert PowerSeries(RBF(), np.array([1.0, 2.0])) == PowerSeries(RBF(), np.array([1.0, 2.0]))


def test_kernels_are_keys_of_sets_and_dictionaries():
    assert len({RBF(gamma=1.0), RBF(gamma=1.0), RBF(gamma=2.0), 2.0 * RBF(gamma=1.0)}) == 3


def test_repr_shows_what_differs_from_the_defaults():
    assert repr(RBF()) == "RBF()"
    assert repr(RBF(gamma=np.float64(0.5))) == "RBF(gamma=0.5)"
    assert repr(0.5 * RBF(gamma=0.1) + Polynomial(degree=2) * Linear()) == (
        "0.5 * RBF(gamma=0.1) + Polynomial(degree=2) * Linear()"
    )


@pytest.mark.parametrize(
    "kernel",
    [
        RBF() + (Linear() + Polynomial()),
        RBF() * (Linear() * Polynomial()),
        (RBF() + Linear()) * Polynomial(),
        (RBF() * Linear()) ** 2,
        (RBF() ** 2) ** 3,
        -(RBF() ** 2),
        (-RBF()) ** 2,
        RBF() - (Linear() - 1.0),
        Constant(1.0) + Constant(2.0),
        Constant(1.0) * Constant(2.0) + RBF(),
        (RBF() + 1.0).normalized() ** 2,
        ((RBF() + 1.0) ** 2).normalized(),
        Constant(2.0) ** 2 * RBF(),
    ],
    ids=repr,
)
def test_brackets_of_the_repr_keep_the_tree(kernel):
    assert read_back(repr(kernel)) == kernel


# ---------------------------------------------------------------- bind
RADIAL = {
    "RBF": (RBF, lambda d, variance: 1.0 / (d * variance)),
    "Exponential": (Exponential, lambda d, variance: 1.0 / np.sqrt(d * variance)),
    "Laplacian": (Laplacian, lambda d, variance: 1.0 / (d * np.sqrt(variance))),
}


@pytest.mark.parametrize(("radial", "formula"), RADIAL.values(), ids=RADIAL.keys())
@pytest.mark.parametrize("X", [table(20, 3), 1e6 + table(20, 3), sparse_table(20, 6)])
def test_gamma_scale_is_its_formula(radial, formula, X):
    entries = X.toarray() if hasattr(X, "toarray") else X
    wanted = formula(X.shape[1], entries.var())
    assert radial().bind(X).gamma == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("radial", [RBF, Exponential, Laplacian])
def test_gamma_auto_is_one_over_the_number_of_columns(radial):
    assert radial(gamma="auto").bind(table(6, 4)).gamma == 0.25


@pytest.mark.parametrize("radial", [RBF, Exponential, Laplacian])
def test_gamma_scale_of_constant_data_is_one(radial):
    assert radial().bind(np.full((4, 2), 0.3)).gamma == 1.0


def test_gamma_scale_counts_rows_by_their_weight():
    X, weights = table(5, 2), np.array([0, 1, 2, 3, 1])
    repeated = np.repeat(X, weights, axis=0)
    assert RBF().bind(X, weights).gamma == pytest.approx(RBF().bind(repeated).gamma, rel=1e-12)


def test_bind_reaches_every_part_and_leaves_the_kernel_alone():
    X = table(10, 3)
    kernel = 2.0 * RBF() + Laplacian(gamma="auto") * Linear()
    bound = kernel.bind(X)
    assert bound.left.right.gamma == RBF().bind(X).gamma
    assert bound.right.left.gamma == pytest.approx(1 / 3)
    assert kernel == 2.0 * RBF() + Laplacian(gamma="auto") * Linear()


@every_kernel
def test_bound_kernel_is_bound_once_and_for_all(kernel):
    words = repr(kernel) in OBJECT_KERNELS
    X, other = (cases.WORDS, ["other"]) if words else (table(8, 3), 5 + 3 * table(6, 3))
    bound = kernel.bind(X)
    assert bound.bind(other) == bound


def test_new_points_do_not_decide_gamma():
    X, new = table(10, 3), 100.0 * table(4, 3, seed=1)
    np.testing.assert_array_equal(RBF()(new, X), RBF().bind(X)(new, X))


def test_sigma_is_one_over_root_two_gamma():
    sigma = 0.7
    d = np.array([[1.3]])
    wanted = np.exp(-(1.3**2) / (2 * sigma**2))
    assert RBF.from_sigma(sigma)(d, np.zeros((1, 1)))[0, 0] == pytest.approx(wanted, rel=1e-14)
