"""Classifiers and regressors: stationary points, honest ends, and the accuracy of peers."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier as PeerClassifier
from sklearn.neural_network import MLPRegressor as PeerRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import MLPClassifier, MLPRegressor
from mercer.nets import _base, training
from tests.cases import sparse_table, table, two_classes
from tests.compare import refuses

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@quiet  # thirty epochs are too few for some of its checks
@parametrize_with_checks(
    [MLPClassifier(20, early_stopping=True, learning_rate=0.05, max_epochs=30, random_state=0)]
)
def test_scikit_learn_has_no_objection_to_early_stopping(estimator, check):
    if "sample_weight_equivalence" not in str(check):  # other rows are held out, not other weights
        check(estimator)


def rings(n, seed=0):
    """Return two rings, one in the other: no line separates them."""
    X, y = datasets.make_circles(n, factor=0.4, noise=0.08, random_state=seed)
    return X, np.where(y == 1, "inner", "outer")


# ---------------------------------------------------------------- what is minimised
def test_without_hidden_layers_it_is_logistic_regression():
    X, y = datasets.load_iris(return_X_y=True)
    model = MLPClassifier((), lam=0.01, standardize=False, tol=1e-7, max_epochs=2000).fit(X, y)
    # there: Σ loss + ½ ‖w‖² / C, here: mean loss + ½ λ ‖w‖²
    peer = LogisticRegression(C=1.0 / (0.01 * len(X)), tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-4)


def test_without_hidden_layers_it_is_ridge_regression():
    X = table(50, 4)
    Y = X @ table(4, 2, seed=1) + 0.1 * table(50, 2, seed=2) + 3.0
    model = MLPRegressor((), lam=0.1, standardize=False, tol=1e-8, max_epochs=500).fit(X, Y)
    peer = Ridge(alpha=0.1 * len(X)).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=1e-6)


def test_the_kept_layers_are_the_network():
    X, y = rings(100)
    model = MLPClassifier((7, 5), activation="tanh", random_state=0).fit(X, y)
    H = np.tanh(X @ model.coefs_[0] + model.intercepts_[0])
    H = np.tanh(H @ model.coefs_[1] + model.intercepts_[1])
    G = H @ model.coefs_[2] + model.intercepts_[2]
    np.testing.assert_allclose(model.decision_function(X), G[:, 1] - G[:, 0], atol=1e-12)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P, np.exp(G) / np.exp(G).sum(axis=1, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(P), atol=1e-12)


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
def test_the_loss_falls_and_the_rings_are_told_apart(activation, solver):
    X, y = rings(400)
    rate = 0.03 if solver == "adam" else 0.3
    model = MLPClassifier(
        20, activation=activation, solver=solver, learning_rate=rate, max_epochs=1000,
        batch_size=50, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert model.certificate_.ok
    assert model.loss_curve_[-1] < 0.5 * model.loss_curve_[0]
    assert model.score(*rings(400, seed=1)) > 0.97


def test_several_targets_of_very_different_size():
    X = table(200, 3)
    Y = np.column_stack([np.sin(X[:, 0]), 1e6 * X[:, 1] * X[:, 2] + 1e7])
    model = MLPRegressor(30, activation="tanh", max_epochs=2000, random_state=0).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert (np.var(model.predict(X) - Y, axis=0) < 0.02 * np.var(Y, axis=0)).all()


@quiet  # both stop at the most epochs
@pytest.mark.parametrize("load", [datasets.load_breast_cancer, datasets.load_wine])
def test_it_is_as_accurate_as_scikit_learn(load):
    X, y = load(return_X_y=True)
    peer = make_pipeline(StandardScaler(), PeerClassifier(max_iter=1000, random_state=0))
    peer_score = peer.fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    score = MLPClassifier(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    assert score >= peer_score - 0.03


@quiet  # both stop at the most epochs
def test_more_parameters_than_rows_do_not_learn_the_noise():
    X, y = datasets.load_diabetes(return_X_y=True)
    mean, unit = y.mean(), y.std()
    peer = make_pipeline(StandardScaler(), PeerRegressor(random_state=0))
    peer_score = peer.fit(X[::2], (y[::2] - mean) / unit).score(X[1::2], (y[1::2] - mean) / unit)
    assert MLPRegressor(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > (
        peer_score - 0.05
    )


def test_the_solver_is_chosen_by_rows_and_parameters():
    """L-BFGS for few rows, no hidden layer, or fewer parameters than rows; else batches."""
    X, y = two_classes(300)
    cases = [(300, 20, "lbfgs"), (300, 100, "adam"), (300, (), "lbfgs"), (80, 100, "lbfgs")]
    for n, hidden, wanted in cases:
        model = MLPClassifier(hidden, lam=0.1, learning_rate=0.1, random_state=0)
        assert model.fit(X[:n], y[:n]).certificate_.solver == wanted


# ---------------------------------------------------------------- certificates and ends
def test_the_proof_is_the_gradient_at_the_kept_parameters():
    """Move the last bias: the objective changes by the gradient, which is that of the proof."""
    X, y = two_classes(60)
    model = MLPClassifier((), lam=0.1, standardize=False, random_state=0).fit(X, y)
    P = model.predict_proba(X)
    residual = P - np.column_stack([y < 0, y > 0])
    dW, db = X.T @ residual / 60 + 0.1 * model.coefs_[0], residual.mean(axis=0)
    size = np.sqrt((dW**2).sum() + (db**2).sum())
    assert model.certificate_.gradient_norm == pytest.approx(size, rel=1e-6, abs=1e-12)
    assert model.certificate_.value <= model.certificate_.tolerance
    assert "no global guarantee" in model.certificate_.about


def test_an_early_stop_keeps_the_best_weights_and_does_not_warn():
    X, y = two_classes(600, overlap=2.0)
    model = MLPClassifier(
        50, early_stopping=True, learning_rate=0.03, validation=0.25, random_state=0
    ).fit(X, y)
    assert model.status_ == "early_stopped"
    assert len(model.validation_curve_) == model.n_iter_ == len(model.loss_curve_)
    assert model.validation_curve_.argmin() == model.n_iter_ - 1 - model.patience - 1
    assert not model.certificate_.ok  # honest: the gradient is not small


def test_held_out_rows_have_their_share_of_each_class():
    model = MLPClassifier(early_stopping=True, validation=0.2)
    targets = np.repeat([0, 1, 2], [50, 100, 10])
    sample = _base.TrainingRows(table(160, 2), targets, np.ones(160), _base.Units.none(2))
    kept, held = model._split(sample, np.random.RandomState(0))
    np.testing.assert_array_equal(np.bincount(held.targets), [10, 20, 2])
    np.testing.assert_array_equal(np.bincount(kept.targets), [40, 80, 8])


def test_too_few_epochs_are_reported():
    X, y = rings(60)
    with pytest.warns(ConvergenceWarning, match="max_epochs"):
        model = MLPClassifier(max_epochs=2, random_state=0).fit(X, y)
    assert model.status_ == "max_epochs"
    assert model.n_iter_ == 2


@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
def test_a_time_limit_is_kept(solver):
    X, y = rings(2000)
    start = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = MLPClassifier(
            300, solver=solver, time_limit=0.1, max_epochs=10**6, tol=1e-12, random_state=0
        ).fit(X, y)
    assert time.monotonic() - start < 10.0
    assert np.isfinite(model.decision_function(X)).all()


def test_ctrl_c_keeps_what_has_been_reached(monkeypatch):
    epoch, calls = training._Descent._epoch, []

    def interrupted(self):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return epoch(self)

    monkeypatch.setattr(training._Descent, "_epoch", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = MLPClassifier(solver="adam", random_state=0).fit(*rings(300))
    assert model.n_iter_ == 3


def test_steps_that_are_too_long_are_reported_and_taken_back():
    X = rings(500)[0]
    with pytest.warns(ConvergenceWarning, match="grew beyond all numbers"):
        model = MLPRegressor(
            solver="sgd", learning_rate=1e4, standardize=False, random_state=0
        ).fit(X, 1e3 * X[:, 0])
    assert model.status_ == "diverged"
    assert np.isfinite(model.predict(X)).all()
    assert model.certificate_.value <= 1.0  # not worse than the start


def test_batches_that_gain_nothing_more_are_finished_on_all_rows():
    X, y = two_classes(1500, overlap=2.0)
    model = MLPClassifier(
        5, activation="tanh", lam=0.01, solver="adam", learning_rate=0.05, tol=1e-5, random_state=0
    ).fit(X, y)
    assert model.certificate_.ok


# ---------------------------------------------------------------- weights, order, precision
def test_rows_of_weight_zero_do_not_exist_and_integers_repeat():
    X, y = rings(60)
    times = np.random.default_rng(0).integers(0, 4, 60)
    model = MLPClassifier(10, activation="tanh", random_state=0, max_epochs=500)
    weighted = model.fit(X, y, sample_weight=times).predict_proba(X)
    repeated = model.fit(X.repeat(times, axis=0), y.repeat(times)).predict_proba(X)
    np.testing.assert_array_equal(weighted, repeated)


@pytest.mark.parametrize("machine", [MLPClassifier, MLPRegressor])
def test_weights_move_the_fit_of_large_samples(machine):
    """Contradicting targets on the same rows: the answer is their weighted mean."""
    X = np.repeat(table(700, 2), 2, axis=0)
    y, w = np.tile([0, 1], 700), np.tile([1.0, 3.0], 700)
    model = machine((), solver="adam", learning_rate=0.03, batch_size=100, tol=1e-4, random_state=0)
    model.fit(X, y, sample_weight=w)
    got = model.predict_proba(X)[:, 1] if machine is MLPClassifier else model.predict(X)
    np.testing.assert_allclose(got, 0.75, atol=0.01)


@quiet
def test_large_sparse_samples_are_trained_as_dense_ones():
    X = sparse_table(training.SMALL_SAMPLE + 100, 8)
    y = np.asarray(X.sum(axis=1)) > 0
    model = MLPClassifier(6, activation="tanh", solver="lbfgs", lam=0.01, tol=1e-6, random_state=0)
    wanted = model.fit(X.toarray(), y).predict_proba(X.toarray())
    np.testing.assert_allclose(model.fit(X, y).predict_proba(X), wanted, atol=1e-4)
    batches = MLPClassifier(6, solver="adam", max_epochs=3, random_state=0)
    wanted = batches.fit(X.toarray(), y).predict_proba(X.toarray())
    np.testing.assert_allclose(batches.fit(X, y).predict_proba(sp.csc_array(X)), wanted, atol=1e-3)


def test_probabilities_have_the_precision_of_the_rows_and_targets_do_not():
    X, y = rings(60)
    single = X.astype(np.float32)
    regressor = MLPRegressor(5, activation="tanh", random_state=0).fit(single, single[:, 0])
    assert regressor.predict(single).dtype == np.float64
    model = MLPClassifier(5, activation="tanh", random_state=0, max_epochs=1000).fit(single, y)
    assert model.predict_proba(single).dtype == np.float32


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e150])
def test_the_unit_of_the_data_does_not_matter(scale):
    X, y = rings(80)
    model = MLPClassifier(10, activation="tanh", random_state=0, max_epochs=500)
    wanted = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(model.fit(scale * X, y).predict(scale * X), wanted)


# ---------------------------------------------------------------- degenerate data, bad input
def test_constant_targets_are_predicted():
    X = table(20, 3)
    for value in (0.0, 5.0, -1e-30, 1e30):
        got = MLPRegressor(5, random_state=0).fit(X, np.full(20, value)).predict(X)
        np.testing.assert_allclose(got, value, rtol=1e-6, atol=1e-6 * (value == 0.0))


def test_constant_columns_tell_the_shares_of_the_classes():
    model = MLPClassifier(5, random_state=0).fit(np.ones((8, 2)), [0, 0, 0, 0, 0, 0, 1, 1])
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 2))), [[0.75, 0.25]], atol=1e-2)


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_a_column_whose_unit_has_no_inverse_counts_as_constant(solver):
    """1/1e-310 is no number."""
    X, y = two_classes(40)
    model = MLPClassifier(5, activation="tanh", solver=solver, lam=0.1, learning_rate=0.1)
    model.set_params(random_state=0, max_epochs=1000)
    P = model.fit(1e-310 * X, y).predict_proba(1e-310 * X)
    np.testing.assert_allclose(P, 0.5, atol=1e-2)
    both = np.column_stack([1e-310 * X[:, 0], X[:, 1]])
    assert np.isfinite(model.fit(both, y).decision_function(both)).all()


def test_one_row_or_two():
    one = MLPRegressor(3, random_state=0).fit([[1.0, 2.0]], [4.0])
    np.testing.assert_allclose(one.predict([[1.0, 2.0]]), 4.0, rtol=1e-6)
    model = MLPClassifier(3, activation="tanh", random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    assert model.predict([[0.0], [1.0]]).tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"hidden": (3, 0)}, "hidden must be a positive integer or a sequence.*got"),
        ({"hidden": 2.5}, "hidden must be a positive integer"),
        ({"activation": "step"}, "'activation' parameter of MLPClassifier"),
        ({"lam": -1.0}, "'lam' parameter"),
        ({"solver": "newton"}, "'solver' parameter"),
        ({"momentum": 1.0}, "'momentum' parameter"),
        ({"validation": 1.0}, "'validation' parameter"),
        ({"solver": "lbfgs", "early_stopping": True}, "early_stopping=True needs epochs"),
        ({"early_stopping": True, "validation": 0.001}, "leaves none on one side"),
    ],
)
def test_bad_parameters_are_named(params, match):
    refuses(lambda: MLPClassifier(**params).fit(*rings(20)), ValueError, match)


def test_one_class_is_refused():
    X = table(6, 2)
    refuses(lambda: MLPClassifier().fit(X, np.ones(6)), ValueError, "two classes.*1 class")
    weight = [1, 1, 1, 0, 0, 0]
    refuses(
        lambda: MLPClassifier().fit(X, [0, 0, 0, 1, 1, 1], sample_weight=weight),
        ValueError,
        "two classes in rows of positive weight",
    )


@pytest.mark.parametrize("standardize", [True, False])
def test_a_warm_start_goes_on_from_the_network_before(standardize):
    X, y = rings(100)
    options = {"activation": "tanh", "lam": 1e-3, "standardize": standardize, "random_state": 0}
    cold = MLPClassifier(6, **options).fit(X, y)
    warm = MLPClassifier(6, warm_start=True, **options).fit(X, y)
    np.testing.assert_array_equal(warm.coefs_[0], cold.coefs_[0])  # there was no fit before
    warm.fit(X, y)
    assert warm.certificate_.ok
    assert warm.n_iter_ < cold.n_iter_
    scale = "gradient_norm_at_start"  # of random weights: the proof has the same unit
    assert warm.certificate_.parts[scale] == cold.certificate_.parts[scale]
    refuses(lambda: warm.set_params(hidden=7).fit(X, y), ValueError, "warm_start=True goes on from")


@quiet
def test_a_warm_start_of_one_epoch_each_falls():
    X = table(80, 3)
    y = np.sin(X[:, 0])
    options = {"solver": "adam", "max_epochs": 1, "warm_start": True, "random_state": 0}
    model = MLPRegressor(8, learning_rate=0.01, **options)
    values = [model.fit(X, y).certificate_.parts["objective"] for _ in range(20)]
    assert values[-1] < 0.8 * values[0]
