"""Networks that learn from rows in parts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.neural_network import MLPClassifier as Theirs

import mercer
from mercer import MLPClassifier, MLPRegressor
from tests.compare import is_absent, refuses

X, Y = load_iris(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(X))


def passes(model, rows, count, targets=Y, **given):
    for _ in range(count):
        model.partial_fit(X[rows], targets[rows], **given)
    return model


def test_steps_are_those_of_adam_and_go_on_from_call_to_call():
    plain = {"activation": "tanh", "learning_rate": 0.01, "batch_size": 150}
    model = MLPClassifier(3, standardize=False, lam=0.0, random_state=0, **plain)
    model.partial_fit(X, Y, classes=[0, 1, 2])
    theirs = Theirs(3, activation="tanh", learning_rate_init=0.01, batch_size=150, alpha=0.0)
    theirs.partial_fit(X, Y, classes=[0, 1, 2])
    # the same network goes on with both, without what either remembers of the step before
    theirs.coefs_[:] = [W.copy() for W in model.coefs_]
    theirs.intercepts_[:] = [b.copy() for b in model.intercepts_]
    ours = mercer.MLPClassifier(**model.get_params()).set_params(random_state=0)
    for name in ("coefs_", "intercepts_", "classes_", "n_features_in_"):
        setattr(ours, name, getattr(model, name))
    optimizer = type(theirs._optimizer)
    theirs._optimizer = optimizer(theirs.coefs_ + theirs.intercepts_, 0.01)
    for _ in range(5):
        ours.partial_fit(X, Y)
        theirs.partial_fit(X, Y)
    for W, V in zip(ours.coefs_, theirs.coefs_, strict=True):
        np.testing.assert_allclose(W, V, atol=1e-6)


def test_a_pass_over_the_rows_lowers_their_loss_and_claims_no_minimum():
    model = passes(MLPClassifier(random_state=0, learning_rate=0.01), ORDER, 8, classes=[0, 1, 2])
    assert model.loss_curve_[-1] < 0.5 * model.loss_curve_[0]
    assert model.n_iter_ == 8
    assert model.status_ == "part_learned"
    assert not model.certificate_.ok
    assert "no minimum" in model.certificate_.about


def test_the_proof_compares_the_gradients_of_the_part():
    model = passes(MLPClassifier(4, random_state=0), ORDER, 1, classes=[0, 1, 2])
    before = model.certificate_.gradient_norm
    model.set_params(learning_rate=1e-12).partial_fit(X[ORDER], Y[ORDER])
    assert model.certificate_.gradient_norm_at_start == pytest.approx(before, rel=1e-9)


def test_units_stay_those_of_the_first_part():
    targets = np.random.default_rng(0).normal(size=(len(X), 2))
    model = passes(MLPRegressor(5, random_state=0), ORDER[:50], 1, targets)
    np.testing.assert_allclose(model.units_[0], X[ORDER[:50]].mean(axis=0))
    kept = model.units_.copy(), model.units_out_.copy()
    passes(model, ORDER[50:], 1, targets)
    np.testing.assert_array_equal(model.units_, kept[0])
    np.testing.assert_array_equal(model.units_out_, kept[1])
    assert model.predict(X).shape == (len(X), 2)


def test_a_fit_goes_on_in_parts_and_forgets_them():
    A, b = load_diabetes(return_X_y=True)
    model = MLPRegressor(5, activation="tanh", tol=0.1, random_state=0).fit(A, b)
    before = model.score(A, b)
    assert abs(model.partial_fit(A, b).score(A, b) - before) < 0.02
    assert not hasattr(model.fit(A, b), "momentum_")


def test_a_saved_model_goes_on_alike(tmp_path):
    model = passes(MLPClassifier(5, random_state=0), ORDER, 2, classes=[0, 1, 2])
    mercer.save(model, tmp_path / "net.mercer")
    again = mercer.load(tmp_path / "net.mercer")
    for learner in (model, again):
        passes(learner, ORDER, 1)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_what_cannot_be_learned_in_parts_is_said():
    refuses(lambda: MLPClassifier().partial_fit(X, Y), ValueError, "classes must be passed")
    whole = MLPRegressor(solver="lbfgs")
    is_absent(lambda: whole.partial_fit(X, Y), "a solver other than 'lbfgs'")
    held = MLPRegressor(early_stopping=True)
    is_absent(lambda: held.partial_fit(X, Y), "early_stopping=False")
    model = MLPRegressor(3).partial_fit(X, Y)
    refuses(lambda: model.partial_fit(X, X), ValueError, "as many targets as in the first part, 1")
    model.set_params(hidden=4)
    refuses(lambda: model.partial_fit(X, Y), ValueError, "hidden must stay")
