"""AdaBoost: the algorithm on paper, the theorem's bound, and the stumps of a slow twin."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning

from mercer import AdaBoost
from mercer.boosting._stumps import SortedColumns, Stump
from tests.cases import table, two_classes
from tests.compare import refuses

REAL = [datasets.load_breast_cancer, datasets.load_wine, datasets.load_iris]


def sample_of(seed, n, d, k):
    """Return rows with many equal values, class numbers that all occur, and weights."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    return rng.integers(0, 5, (n, d)).astype(float), codes, rng.dirichlet(np.ones(n))


def says(stump, X):
    if stump.column < 0:
        return np.full(len(X), stump.left)
    return np.where(X[:, stump.column] <= stump.threshold, stump.left, stump.right)


def smallest_error(X, codes, w, k):
    """Try every column, threshold and pair of classes."""
    cuts = [(j, t) for j in range(X.shape[1]) for t in (-np.inf, *np.unique(X[:, j]))]
    return min(
        w @ (np.where(X[:, j] <= t, a, b) != codes)
        for j, t in cuts
        for a, b in itertools.product(range(k), repeat=2)
    )


def purity(codes, w, k, sides):
    """Return Σ W_c²/W over the two sides."""
    parts = [np.bincount(codes[side], w[side], k) for side in (sides, ~sides)]
    return sum(W @ W / W.sum() for W in parts if W.sum() > 0)


# ---------------------------------------------------------------- stumps
@given(seed=st.integers(0, 10**6), n=st.integers(4, 25), d=st.integers(1, 3))
def test_no_stump_of_two_classes_has_a_smaller_error(seed, n, d):
    X, codes, w = sample_of(seed, n, d, 2)
    stump = SortedColumns(X, codes, 2).best(w)
    assert w @ (says(stump, X) != codes) == pytest.approx(smallest_error(X, codes, w, 2), abs=1e-12)


@given(seed=st.integers(0, 10**6), n=st.integers(6, 25), d=st.integers(1, 3), k=st.integers(3, 5))
def test_no_stump_of_several_classes_has_purer_sides(seed, n, d, k):
    X, codes, w = sample_of(seed, n, d, k)
    stump = SortedColumns(X, codes, k).best(w)
    cuts = [X[:, j] <= t for j in range(d) for t in (-np.inf, *np.unique(X[:, j]))]
    wanted = max(purity(codes, w, k, sides) for sides in cuts)
    got = X[:, stump.column] <= stump.threshold
    assert purity(codes, w, k, got) == pytest.approx(wanted, abs=1e-12)
    # each side votes for its heaviest class
    said = says(stump, X)
    for side in (got, ~got):
        heaviest = np.bincount(codes[side], w[side], k).max(initial=0.0)
        assert w[side] @ (said == codes)[side] == pytest.approx(heaviest)


def test_several_classes_are_voted_on_as_in_scikit_learn():
    """The same stumps and weights, and so the same labels, where no two splits are equally good."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=300), [-0.5, 0.5, 1.2])
    ours, theirs = AdaBoost(30).fit(X, y), AdaBoostClassifier(n_estimators=30).fit(X, y)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    new = rng.normal(size=(200, 4))
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))


@pytest.mark.parametrize("k", [2, 3])
def test_columns_in_threads_give_the_same_stump(k):
    X, codes, w = sample_of(3, 60, 7, k)
    alone = SortedColumns(X, codes, k).best(w)
    assert SortedColumns(X, codes, k, n_workers=3).best(w) == alone


@pytest.mark.parametrize(
    "pair",
    [(0.0, 1.0), (1.0, np.nextafter(1.0, 2.0)), (-1e308, 1e308), (5e-324, 1e-323), (-1.0, -0.0)],
)
def test_a_threshold_separates_what_it_lies_between(pair):
    X = np.array(pair)[:, None]
    stump = SortedColumns(X, np.array([0, 1]), 2).best(np.array([0.5, 0.5]))
    assert pair[0] <= stump.threshold < pair[1]


def test_columns_without_two_values_are_not_split():
    X = np.ones((5, 2))
    stump = SortedColumns(X, np.array([0, 1, 1, 1, 0]), 2).best(np.full(5, 0.2))
    assert stump == Stump(-1, np.inf, 1, 1)


# ---------------------------------------------------------------- the algorithm
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(2, 4),
    rate=st.sampled_from([1.0, 0.5]),
)
def test_errors_and_weights_are_those_of_the_algorithm(seed, k, rate):
    X, codes, w = sample_of(seed, 30, 3, k)
    model = AdaBoost(8, learning_rate=rate).fit(X, codes, sample_weight=w)
    w = w / w.sum()
    rounds = zip(model.stump_columns_, model.stump_thresholds_, model.stump_classes_, strict=True)
    for m, (column, threshold, sides) in enumerate(rounds):
        wrong = says(Stump(column, threshold, *sides), X) != codes
        error = w @ wrong / w.sum()
        alpha = rate * (np.log((1.0 - error) / error) + np.log(k - 1.0))
        assert model.estimator_errors_[m] == pytest.approx(error, abs=1e-12)
        assert model.estimator_weights_[m] == pytest.approx(alpha, abs=1e-9)
        w = w * np.exp(alpha * wrong)


@given(seed=st.integers(0, 10**6), k=st.integers(2, 4), rate=st.sampled_from([1.0, 0.3, 2.0]))
def test_the_training_error_is_within_the_bound(seed, k, rate):
    X, codes, w = sample_of(seed, 40, 3, k)
    model = AdaBoost(25, learning_rate=rate).fit(X, codes, sample_weight=w)
    proof = model.certificate_
    assert proof.training_error == pytest.approx(w @ (model.predict(X) != codes), abs=1e-12)
    assert proof.training_error <= proof.bound
    assert proof.ok


def test_the_bound_of_two_classes_is_the_product_of_the_textbook():
    X, y = two_classes(200)
    model = AdaBoost(30).fit(X, y)
    e = model.estimator_errors_
    assert model.certificate_.bound == pytest.approx(np.prod(2.0 * np.sqrt(e * (1.0 - e))))
    assert model.certificate_.bound < 1.0


def test_the_last_stump_is_worth_a_coin_under_the_new_weights():
    """exp(α) is chosen such that the error of a stump under the next weights is ½."""
    X, y = two_classes(100)
    model = AdaBoost(1).fit(X, y)
    wrong = model.predict(X) != y
    w = np.exp(model.estimator_weights_[0] * wrong)
    assert w @ wrong / w.sum() == pytest.approx(0.5)


# ---------------------------------------------------------------- answers
def test_stages_end_in_the_whole():
    X, y = datasets.load_iris(return_X_y=True)
    model = AdaBoost(12).fit(X, y)
    values, labels = list(model.staged_decision_function(X)), list(model.staged_predict(X))
    assert len(values) == len(labels) == len(model.estimator_weights_)
    np.testing.assert_allclose(values[-1], model.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(labels[-1], model.predict(X))
    chances = list(model.staged_predict_proba(X))
    np.testing.assert_allclose(chances[-1], model.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), chances[-1], atol=1e-12)
    for P, found in zip(chances, labels, strict=True):
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], found)
    scores = list(model.staged_score(X, y))
    assert scores == [float(np.mean(found == y)) for found in labels]
    short = AdaBoost(5).fit(X, y)
    np.testing.assert_array_equal(values[4], short.decision_function(X))


@pytest.mark.parametrize("rounds", [1, 5, 30])
def test_more_rounds_are_those_of_all_at_once(rounds):
    X, y = datasets.load_iris(return_X_y=True)
    model = AdaBoost(rounds, warm_start=True).fit(X, y)
    model.set_params(n_estimators=30).fit(X, y)
    whole = AdaBoost(30).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
    np.testing.assert_array_equal(model.estimator_errors_, whole.estimator_errors_)
    assert model.certificate_.bound == whole.certificate_.bound


def test_rounds_that_do_not_fit_are_told():
    X, y = datasets.load_iris(return_X_y=True)
    model = AdaBoost(5, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="n_estimators must be at least 5"):
        model.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="goes on with 4 columns"):
        model.set_params(n_estimators=9).fit(X[:, :3], y)
    with pytest.raises(ValueError, match="goes on with 4 columns"):
        model.fit(X[y < 2], y[y < 2])
    assert len(model.estimator_weights_) == 5


def test_votes_are_the_decision_and_its_softmax_the_probabilities():
    X, y = two_classes(80)
    model = AdaBoost(9).fit(X, y)
    F = np.zeros(len(X))
    for m, (left, right) in enumerate(2 * model.stump_classes_ - 1):
        on_left = X[:, model.stump_columns_[m]] <= model.stump_thresholds_[m]
        F += model.estimator_weights_[m] * np.where(on_left, left, right)
    np.testing.assert_allclose(model.decision_function(X), F, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1.0 / (1.0 + np.exp(-F)), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.where(F > 0, 1.0, -1.0))


def test_importances_belong_to_the_columns_that_are_used():
    X = table(200, 4)
    model = AdaBoost(20).fit(X, X[:, 2] + 0.5 * X[:, 1] > 0)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_.argmax() == 2
    assert (model.feature_importances_[[0, 3]] < 0.2).all()


@pytest.mark.parametrize("load", REAL, ids=lambda load: load.__name__)
def test_it_is_as_good_as_scikit_learn(load):
    X, y = load(return_X_y=True)
    ours = AdaBoost(50).fit(X[::2], y[::2])
    theirs = AdaBoostClassifier(n_estimators=50).fit(X[::2], y[::2])
    assert ours.score(X[::2], y[::2]) >= theirs.score(X[::2], y[::2]) - 0.01
    assert ours.score(X[1::2], y[1::2]) >= theirs.score(X[1::2], y[1::2]) - 0.03


# ---------------------------------------------------------------- invariance
def test_repeated_rows_are_weights():
    X, codes, _ = sample_of(5, 30, 3, 3)
    times = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = AdaBoost(15).fit(X, codes, sample_weight=times)
    repeated = AdaBoost(15).fit(X.repeat(times, axis=0), codes.repeat(times))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X))


@pytest.mark.parametrize("change", [lambda x: 1e150 * x, lambda x: 1e-150 * x, lambda x: x**3])
def test_stumps_see_only_the_order_of_values(change):
    X, y = two_classes(60)
    one, other = AdaBoost(10).fit(X, y), AdaBoost(10).fit(change(X), y)
    np.testing.assert_allclose(other.decision_function(change(X)), one.decision_function(X))


# ---------------------------------------------------------------- ends
def test_it_stops_at_a_stump_without_error():
    model = AdaBoost(50).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    assert len(model.estimator_weights_) == 1
    assert np.isfinite(model.estimator_weights_).all()
    assert model.certificate_.stopped == "a stump without error"
    assert model.certificate_.training_error == 0.0


def test_columns_that_say_nothing_are_reported():
    with pytest.warns(ConvergenceWarning, match="no stump is better than chance"):
        model = AdaBoost().fit(np.ones((6, 2)), [0, 1] * 3)
    assert model.status_ == "no_better_than_chance"
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 2))), 0.5)
    assert not model.feature_importances_.any()
    assert model.feature_importances_.dtype == np.float64


def test_it_stops_where_the_stumps_are_used_up():
    """Nothing can be split: once the rare class weighs as much as the other, all is chance."""
    X, y = np.ones((10, 1)), np.array([0] + [1] * 9)
    model = AdaBoost(5).fit(X, y)
    assert model.certificate_.stopped == "no stump better than chance"
    assert model.certificate_.ok
    assert model.stump_columns_.tolist() == [-1]
    assert model.predict(X).tolist() == [1] * 10


# ---------------------------------------------------------------- bad input
def test_bad_input_is_named():
    X, y = two_classes(10)
    refuses(lambda: AdaBoost(0).fit(X, y), ValueError, "'n_estimators' parameter of AdaBoost")
    refuses(lambda: AdaBoost(learning_rate=0.0).fit(X, y), ValueError, "'learning_rate'")
    refuses(lambda: AdaBoost().fit(X, np.ones(10)), ValueError, "at least two classes.*1 class")
    refuses(lambda: AdaBoost().fit(X, y, sample_weight=-np.ones(10)), ValueError, "sample_weight")
    refuses(lambda: AdaBoost().fit(X, y, sample_weight=y > 0), ValueError, "two classes in rows of")
    refuses(lambda: AdaBoost().fit(X, X[:, 0]), ValueError, "Unknown label type")
    refuses(lambda: AdaBoost().fit(sp.csr_array(X), y), TypeError, "[Ss]parse")
