"""Kernel logistic regression: scikit-learn's on explicit features, probabilities, proofs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from mercer import KernelLogistic, gram
from mercer.kernels import RBF, FromFeatureMap, Polynomial
from tests.cases import letter_counts, sparse_table, table

X, NEW = table(60, 3), table(9, 3, seed=1)
SCORE = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.3 * table(60, 1, seed=2)[:, 0]
LABELS = {
    "two": np.where(SCORE > 0.2, "yes", "no"),
    "three": np.array(["a", "b", "c"])[np.digitize(SCORE, [-0.5, 0.5])],
    "five": np.digitize(SCORE, [-1.0, -0.3, 0.3, 1.0]),
}
WEIGHT = np.random.default_rng(3).integers(0, 4, 60).astype(float)
every_labels = pytest.mark.parametrize("y", LABELS.values(), ids=LABELS.keys())
offset_or_not = pytest.mark.parametrize("fit_intercept", [True, False], ids=["b", "no b"])


def reference(**options):
    return LogisticRegression(tol=1e-12, max_iter=20_000, solver="newton-cholesky", **options)


@every_labels
@offset_or_not
@pytest.mark.parametrize("lam", [2.0, 0.01])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weights"])
def test_on_the_linear_kernel_it_is_that_of_scikit_learn(y, fit_intercept, lam, weight):
    ours = KernelLogistic("linear", lam=lam, fit_intercept=fit_intercept).fit(X, y, weight)
    theirs = reference(C=1 / (2 * lam), fit_intercept=fit_intercept).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW), atol=1e-6)
    np.testing.assert_allclose(
        ours.predict_log_proba(NEW), theirs.predict_log_proba(NEW), atol=1e-5
    )
    np.testing.assert_array_equal(ours.predict(NEW), theirs.predict(NEW))
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)


def test_on_explicit_features_of_a_polynomial_too():
    rows = X[:, :2]

    def features(x):  # of (x·y + 1)²
        a, b = x[..., 0], x[..., 1]
        columns = [a * a, b * b, 2**0.5 * a * b, 2**0.5 * a, 2**0.5 * b, np.ones_like(a)]
        return np.stack(columns, axis=-1)

    ours = KernelLogistic(Polynomial(degree=2, bias=1.0), lam=0.5).fit(rows, LABELS["three"])
    theirs = reference(C=1.0).fit(features(rows), LABELS["three"])
    wanted = theirs.predict_proba(features(NEW))
    np.testing.assert_allclose(ours.predict_proba(NEW[:, :2]), wanted, atol=1e-6)


def test_balanced_classes_are_those_of_scikit_learn():
    y = np.where(SCORE > 1.0, "rare", "often")
    for class_weight in ("balanced", {"rare": 3.0, "often": 0.5}):
        ours = KernelLogistic("linear", class_weight=class_weight).fit(X, y)
        theirs = reference(C=0.5, class_weight=class_weight).fit(X, y)
        np.testing.assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW), atol=1e-6)


@every_labels
def test_probabilities_are_those_of_the_decision_values(y):
    model = KernelLogistic(lam=0.1).fit(X, y)
    values, P = model.decision_function(NEW), model.predict_proba(NEW)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-14)
    if values.ndim == 1:
        np.testing.assert_allclose(P[:, 1], expit(values), atol=1e-14)
    else:
        wanted = values - logsumexp(values, axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_log_proba(NEW), wanted, atol=1e-12)
        assert abs(model.intercept_.sum()) < 1e-9
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(NEW))


@every_labels
@offset_or_not
def test_the_coefficients_are_the_errors_of_the_probabilities(y, fit_intercept):
    """Where the gradient vanishes, 2λα = w (1[y = c] − p_c); with b the errors add up to 0."""
    model = KernelLogistic(lam=0.1, fit_intercept=fit_intercept).fit(X, y)
    errors = (y[:, None] == model.classes_) - model.predict_proba(X)
    if len(model.classes_) == 2:
        errors = errors[:, 1]
    np.testing.assert_allclose(0.2 * model.dual_coef_, errors, atol=1e-6)
    if fit_intercept:
        np.testing.assert_allclose(errors.sum(axis=0), 0.0, atol=1e-6)


def test_two_classes_as_softmax_have_twice_the_penalty():
    """softmax over (g/2, −g/2) has λ(‖g/2‖² + ‖g/2‖²) = λ‖g‖²/2."""
    third = np.append(LABELS["two"], "never")
    weight = np.append(np.ones(60), 1e-9)
    rows = np.vstack([X, 50.0 + X[:1]])
    soft = KernelLogistic(RBF(gamma=0.3), lam=0.2).fit(rows, third, weight)
    two = KernelLogistic(RBF(gamma=0.3), lam=0.1).fit(X, LABELS["two"])
    values = soft.decision_function(NEW)
    no, yes = (list(soft.classes_).index(label) for label in ("no", "yes"))
    np.testing.assert_allclose(
        values[:, yes] - values[:, no], two.decision_function(NEW), atol=1e-4
    )


@every_labels
def test_weights_are_repetitions(y):
    times = WEIGHT.astype(int)
    weighted = KernelLogistic(RBF(gamma=0.3), lam=0.1).fit(X, y, WEIGHT)
    repeated = KernelLogistic(RBF(gamma=0.3), lam=0.1).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    np.testing.assert_allclose(weighted.predict_proba(NEW), repeated.predict_proba(NEW), atol=1e-7)


def test_classes_far_apart_keep_finite_probabilities():
    rows = np.array([[-1e3], [-999.0], [999.0], [1e3]])
    model = KernelLogistic("linear", lam=1e-6).fit(rows, [0, 0, 1, 1])
    assert model.certificate_.ok
    logarithms = model.predict_log_proba(rows)
    assert np.isfinite(logarithms).all()
    np.testing.assert_array_equal(model.predict(rows), [0, 0, 1, 1])


@every_labels
def test_the_proof(y):
    proof = KernelLogistic(lam=0.1).fit(X, y).certificate_
    assert proof.kind == "relative duality gap"
    assert proof.value <= proof.tolerance == 1e-6
    assert proof.gradient_norm < 1e-6
    assert proof.balance < 1e-9
    assert proof.dual <= proof.primal
    assert "60 points" in proof.about


def test_the_primal_value_is_the_penalised_likelihood():
    y = LABELS["three"]
    model = KernelLogistic(RBF(gamma=0.3), lam=0.1).fit(X, y, WEIGHT)
    used = WEIGHT > 0
    codes = np.searchsorted(model.classes_, y[used])
    likelihood = model.predict_log_proba(X[used])[np.arange(used.sum()), codes]
    K = RBF(gamma=0.3)(X[used])
    norm2 = np.einsum("ic,ij,jc->", model.dual_coef_, K, model.dual_coef_)
    wanted = -WEIGHT[used] @ likelihood + 0.1 * norm2
    np.testing.assert_allclose(model.certificate_.primal, wanted, rtol=1e-10)


# ---------------------------------------------------------------- rows, limits, bad input
def test_sparse_rows_words_and_a_given_matrix():
    rows = sparse_table(60, 6)
    y = LABELS["two"]
    dense = KernelLogistic(lam=0.1).fit(rows.toarray(), y)
    sparse = KernelLogistic(lam=0.1).fit(rows, y)
    np.testing.assert_allclose(
        sparse.predict_proba(rows), dense.predict_proba(rows.toarray()), atol=1e-9
    )
    words = [f"{a}{b}" for a in "abcdef" for b in "uvwxyz"]
    vowels = np.array([word[0] in "ae" for word in words])
    model = KernelLogistic(FromFeatureMap(letter_counts), lam=1e-3).fit(words, vowels)
    np.testing.assert_array_equal(model.predict(words), vowels)
    kernel = RBF(gamma=0.3)
    given = KernelLogistic("precomputed", lam=0.1).fit(kernel(X), y, WEIGHT)
    direct = KernelLogistic(kernel, lam=0.1).fit(X, y, WEIGHT)
    np.testing.assert_allclose(
        given.predict_proba(kernel(NEW, X)), direct.predict_proba(NEW), atol=1e-9
    )


def test_a_small_budget_gives_the_same():
    whole = KernelLogistic(lam=0.1).fit(X, LABELS["three"])
    small = KernelLogistic(lam=0.1, memory=60 * 8 * 24).fit(X, LABELS["three"])
    assert small.certificate_.storage in ("blocked", "cached")
    np.testing.assert_allclose(small.predict_proba(NEW), whole.predict_proba(NEW), atol=1e-6)


def test_limits_are_kept_and_admitted():
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter"):
        model = KernelLogistic(lam=1e-4, max_iter=1).fit(X, LABELS["two"])
    assert model.n_iter_ == 1
    with pytest.warns(ConvergenceWarning, match="stopped at time_limit"):
        model = KernelLogistic(lam=1e-4, time_limit=0.0).fit(X, LABELS["three"])
    assert not model.certificate_.ok
    assert np.isfinite(model.predict_proba(NEW)).all()


def test_repeated_rows_with_different_labels():
    rows = np.vstack([X[:10]] * 3)
    y = np.repeat(["a", "b", "b"], 10)
    model = KernelLogistic(lam=1e-6).fit(rows, y)
    assert model.certificate_.ok
    np.testing.assert_allclose(model.predict_proba(X[:10])[:, 1], 2 / 3, atol=1e-4)


def test_a_kernel_that_is_constant_leaves_the_shares_of_the_classes():
    y = LABELS["five"]
    model = KernelLogistic("linear").fit(np.zeros((60, 2)), y)
    np.testing.assert_allclose(
        model.predict_proba(np.ones((1, 2)))[0], np.bincount(y) / 60, atol=1e-9
    )


@pytest.mark.parametrize("lam", [0.0, -1.0, np.nan, "1"])
def test_a_bad_penalty_is_named(lam):
    with pytest.raises(ValueError, match="'lam' parameter of KernelLogistic"):
        KernelLogistic(lam=lam).fit(X, LABELS["two"])


def test_bad_labels_are_named():
    with pytest.raises(ValueError, match="at least two classes; got 1 class"):
        KernelLogistic().fit(X, np.zeros(60))
    with pytest.raises(ValueError, match="Unknown label type"):
        KernelLogistic().fit(X, SCORE)
    with pytest.raises(ValueError, match="'class_weight' parameter"):
        KernelLogistic(class_weight="heavy").fit(X, LABELS["two"])


@pytest.mark.long
def test_thousands_of_points_are_proved():
    rows = table(3000, 8)
    y = rows[:, 0] + rows[:, 1] * rows[:, 2] > 0
    model = KernelLogistic(lam=0.01).fit(rows, y)
    assert model.certificate_.ok
    K = gram(model.kernel_, rows)
    gradient = K @ (0.02 * model.dual_coef_ - (y - model.predict_proba(rows)[:, 1]))
    assert np.abs(gradient).max() < 1e-2 * np.abs(K @ model.dual_coef_).max()
