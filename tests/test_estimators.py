"""Every estimator keeps scikit-learn's contract and the library's own."""

from __future__ import annotations

import inspect
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Certificate, MetricRidge, MetricRidgeClassifier, Status
from mercer._estimator import KernelEstimator
from mercer.kernels import RBF, FromFunction, Kernel, Laplacian, Linear, Precomputed
from mercer.rows import open as open_rows
from mercer.rows.answers import ANSWERING
from tests.cases import ESTIMATORS, WORDS, shared_letters, sparse_table, table

KERNEL_ESTIMATORS = [e for e in ESTIMATORS if isinstance(e, KernelEstimator)]
LEARNED = (MetricRidge, MetricRidgeClassifier)  # kernels of a distance alone
ANY_KERNEL = [e for e in KERNEL_ESTIMATORS if not isinstance(e, LEARNED)]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
every_fourth_estimator = pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(estimator, marks=() if place % 4 == 1 else pytest.mark.long)
        for place, estimator in enumerate(ESTIMATORS)
    ],
    ids=repr,
)
"""All of them in a whole run: of what takes long."""

every_sparse_estimator = pytest.mark.parametrize(
    "estimator", [e for e in ESTIMATORS if get_tags(e).input_tags.sparse], ids=repr
)
every_kernel_estimator = pytest.mark.parametrize("estimator", ANY_KERNEL, ids=repr)

X, NEW = table(40, 3), table(7, 3, seed=1)
Y = X[:, 0] + np.sin(X[:, 1])


def targets(estimator, y):
    """Return targets that fit the estimator: classifiers get two classes."""
    return np.where(y > np.median(y), "high", "low") if is_classifier(estimator) else y


def fitted(estimator, rows, y):
    return clone(estimator).fit(rows, targets(estimator, y))


def accuracy(estimator):
    """Return how equal two ways to the same answer are: iterative machines have a tolerance."""
    return 10.0 * getattr(estimator, "tol", 1e-9)


def outcome(estimator, rows):
    """Return what a fitted estimator says of rows, in numbers."""
    for answer in ("decision_function", "predict_proba", "predict", "transform"):
        if hasattr(estimator, answer):
            values = getattr(estimator, answer)(rows)
            return values.toarray() if sp.issparse(values) else values
    if hasattr(estimator, "kneighbors"):
        return estimator.kneighbors(rows, return_distance=False)
    raise AssertionError(f"{estimator!r} has no answer")


def with_kernel(estimator, kernel):
    return clone(estimator).set_params(kernel=kernel)


def not_expected(estimator):
    """Return the checks that cannot hold, with the reason."""
    why = "rows that teach the metric are drawn: a weight of two is not the draw of two rows"
    return {"check_sample_weight_equivalence_on_dense_data": why} if is_drawn(estimator) else {}


def is_drawn(estimator):
    return isinstance(estimator, LEARNED)


# one of its tables has equal rows of all classes, between which there is no margin
@pytest.mark.filterwarnings("ignore:NuSVC. the classes overlap")
@parametrize_with_checks(KERNEL_ESTIMATORS, expected_failed_checks=not_expected)
def test_scikit_learn_has_no_objection(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([e for e in ESTIMATORS if not isinstance(e, KernelEstimator)])
def test_scikit_learn_has_no_objection_to_machines_without_kernels(estimator, check):
    """Some of its checks set a small max_iter, and the warning that follows is right."""
    check(estimator)


# ---------------------------------------------------------------- the contract of this library
@every_estimator
def test_construction_only_stores(estimator):
    stored = vars(type(estimator)(**estimator.get_params(deep=False)))
    assert set(stored) == set(inspect.signature(type(estimator)).parameters)


@every_estimator
def test_a_fit_leaves_the_parameters_alone(estimator):
    model = clone(estimator)
    before = repr(model.get_params())
    model.fit(X, targets(model, Y))
    assert repr(model.get_params()) == before


@every_estimator
def test_a_fit_ends_with_a_proof(estimator):
    model = fitted(estimator, X, Y)
    assert isinstance(model.certificate_, Certificate)
    assert model.certificate_.ok
    assert model.status_ == Status.OPTIMAL.name.lower()


@every_kernel_estimator
def test_the_proof_names_the_storage_of_the_gram_matrix(estimator):
    assert fitted(estimator, X, Y).certificate_.storage in ("dense", "cached", "blocked")


@every_kernel_estimator
def test_a_fit_binds_the_kernel(estimator):
    model = fitted(estimator, X, Y)
    assert isinstance(model.kernel_, Kernel)
    assert model.kernel_.bind(NEW) == model.kernel_


@every_estimator
def test_two_fits_give_the_same_numbers(estimator):
    first, second = (fitted(estimator, X, Y) for _ in range(2))
    np.testing.assert_array_equal(outcome(first, NEW), outcome(second, NEW))


@every_estimator
def test_fitting_again_forgets_the_first_fit(estimator):
    once = fitted(estimator, X, Y)
    twice = fitted(estimator, NEW, Y[:7]).fit(X, targets(estimator, Y))
    np.testing.assert_array_equal(outcome(once, NEW), outcome(twice, NEW))


@every_estimator
def test_a_fitted_estimator_can_be_stored(estimator):
    model = fitted(estimator, X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(outcome(again, NEW), outcome(model, NEW))
    assert again.certificate_ == model.certificate_


# ---------------------------------------------------------------- rows of many kinds
@every_sparse_estimator
def test_sparse_rows_give_what_dense_rows_give(estimator):
    rows = sparse_table(40, 6)
    dense = fitted(estimator, rows.toarray(), Y)
    sparse = fitted(estimator, rows, Y)
    wanted = outcome(dense, rows[:9].toarray())
    np.testing.assert_allclose(outcome(sparse, rows[:9]), wanted, atol=accuracy(estimator))
    np.testing.assert_allclose(
        outcome(sparse, sp.csc_array(rows[:9])), wanted, atol=accuracy(estimator)
    )
    np.testing.assert_allclose(
        outcome(sparse, rows[:9].toarray()), wanted, atol=accuracy(estimator)
    )


@every_estimator
def test_single_precision_rows_give_single_precision_answers(estimator):
    double = fitted(estimator, X, Y)
    single = fitted(estimator, X.astype(np.float32), Y.astype(np.float32))
    # float32 rows differ from float64 rows by 6e-8, and the answers by a small multiple of it
    np.testing.assert_allclose(
        outcome(single, NEW.astype(np.float32)),
        outcome(double, NEW),
        atol=2e-5 + accuracy(estimator),
    )


@every_estimator
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames_are_understood(estimator, frame):
    columns = ["a", "b", "c"]
    rows, new = (frame(dict(zip(columns, part.T, strict=True))) for part in (X, NEW))
    model = fitted(estimator, rows, Y)
    assert list(model.feature_names_in_) == columns
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(outcome(model, new), outcome(fitted(estimator, X, Y), NEW))


@every_estimator
def test_columns_in_another_order_are_noticed(estimator):
    rows = pd.DataFrame(X, columns=["a", "b", "c"])
    model = fitted(estimator, rows, Y)
    with pytest.raises(ValueError, match="feature names should match"):
        outcome(model, rows[["b", "a", "c"]])


@every_kernel_estimator
def test_words_are_rows_too(estimator):
    words = [*WORDS, "support", "vector", "machine"]
    kernel = FromFunction(shared_letters, definiteness="psd")
    model = fitted(with_kernel(estimator, kernel), words, np.arange(10.0))
    assert len(outcome(model, ["new", "words"])) == 2
    assert np.isfinite(outcome(model, ["new", "words"])).all()


# ---------------------------------------------------------------- kernels
@every_kernel_estimator
@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Linear(1.0), 0.5 * Laplacian() + Linear()])
def test_a_precomputed_matrix_gives_the_same(estimator, kernel):
    bound = kernel.bind(X)
    direct = fitted(with_kernel(estimator, bound), X, Y)
    given = fitted(with_kernel(estimator, "precomputed"), bound(X), Y)
    np.testing.assert_allclose(
        outcome(given, bound(NEW, X)), outcome(direct, NEW), atol=accuracy(estimator)
    )


def gaussian(x, y):
    return float(np.exp(-0.3 * ((x - y) @ (x - y))))


@every_kernel_estimator
def test_a_function_gives_the_same_as_the_kernel(estimator):
    direct = fitted(with_kernel(estimator, RBF(gamma=0.3)), X, Y)
    function = fitted(with_kernel(estimator, gaussian), X, Y)
    np.testing.assert_allclose(
        outcome(function, NEW), outcome(direct, NEW), atol=accuracy(estimator)
    )


@pytest.mark.parametrize("estimator", [e for e in ANY_KERNEL if hasattr(e, "score")], ids=repr)
def test_folds_cut_rows_and_columns_of_a_precomputed_matrix(estimator):
    y, K = targets(estimator, Y), RBF(gamma=0.3)(X)
    direct = cross_val_score(with_kernel(estimator, RBF(gamma=0.3)), X, y)
    for kernel in ("precomputed", Precomputed()):
        given = cross_val_score(with_kernel(estimator, kernel), K, y)
        np.testing.assert_allclose(given, direct, atol=accuracy(estimator))


@every_kernel_estimator
def test_parameters_of_the_kernel_are_parameters_of_the_estimator(estimator):
    model = with_kernel(estimator, RBF(gamma=1.0) + Linear())
    model.set_params(kernel__left__gamma=0.2)
    wanted = with_kernel(estimator, RBF(gamma=0.2) + Linear())
    np.testing.assert_array_equal(
        outcome(fitted(model, X, Y), NEW), outcome(fitted(wanted, X, Y), NEW)
    )


@every_estimator
def test_a_pipeline_is_the_same_by_hand(estimator):
    scaler = StandardScaler().fit(X)
    by_hand = fitted(estimator, scaler.transform(X), Y)
    pipeline = make_pipeline(StandardScaler(), clone(estimator)).fit(X, targets(estimator, Y))
    wanted = outcome(by_hand, scaler.transform(NEW))
    model, rows = pipeline, NEW
    if not (hasattr(estimator, "predict") or hasattr(estimator, "transform")):
        model, rows = pipeline[-1], pipeline[:-1].transform(NEW)  # pipelines hand on no search
    np.testing.assert_allclose(outcome(model, rows), wanted, atol=1e-10)


# ---------------------------------------------------------------- rows in blocks, memory
@every_estimator
def test_answers_for_rows_in_blocks_are_those_for_the_array(estimator):
    model, rows = fitted(estimator, X, Y), open_rows(NEW)
    for answer in (name for name in ANSWERING if hasattr(model, name)):
        wanted = getattr(model, answer)(NEW)
        given = getattr(model, answer)(rows)
        if wanted.dtype.kind in "fc":
            np.testing.assert_allclose(given, wanted, rtol=1e-12, atol=1e-12, err_msg=answer)
        else:
            np.testing.assert_array_equal(given, wanted, err_msg=answer)


@every_fourth_estimator
def test_answers_for_many_rows_never_allocate_the_whole_matrix(estimator):
    rows, new = table(600, 3), table(40_000, 3, seed=1)
    model = clone(estimator)
    if "n_components" in model.get_params():
        model.set_params(n_components=2)
    model.fit(rows, targets(model, rows[:, 0]))
    tracemalloc.start()
    outcome(model, new)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 600 * 40_000 * 8 / 5
