"""The parts of the engine: kernels on row numbers, stand-ins, quick scores, routes of one's own."""

from __future__ import annotations

import time
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.datasets import make_moons
from sklearn.metrics import accuracy_score, get_scorer, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from mercer import KNN, SVC, SVR, KernelPCA, KernelRidge, Perceptron
from mercer.kernels import RBF, Laplacian, Linear
from mercer.select import KernelSearchCV, paths
from mercer.select.progress import in_threads, in_turns
from mercer.select.routes import SCRATCH, FoldAnswers, Outcome, TabulatedKernel, unfitted
from mercer.select.scoring import StandIn, quick_score, sees_only_answers
from tests.cases import ESTIMATORS, table
from tests.select.test_search import CLASSES, NUMBERS, X, assert_same, both

TRAIN, TEST = np.arange(0, 60, 2), np.arange(1, 60, 2)


# ---------------------------------------------------------------- kernels on row numbers
@pytest.mark.parametrize("kernel", [RBF(0.5), Linear(), 0.5 * Laplacian(0.1) + Linear()], ids=repr)
@pytest.mark.parametrize(
    ("estimator", "answer", "y"),
    [
        (SVC(), "decision_function", CLASSES),
        (SVR(), "predict", NUMBERS),
        (KernelRidge(lam=0.1), "predict", NUMBERS),
        (KernelPCA(n_components=3), "transform", NUMBERS),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_fit_to_row_numbers_is_the_fit_to_the_rows(kernel, estimator, answer, y):
    table_ = kernel(X)
    numbered, direct = (clone(estimator) for _ in range(2))
    numbered.kernel, direct.kernel = TabulatedKernel(table_, kernel), kernel
    mine = getattr(numbered.fit(TRAIN, y[TRAIN]), answer)(TEST)
    wanted = getattr(direct.fit(X[TRAIN], y[TRAIN]), answer)(X[TEST])
    np.testing.assert_allclose(mine, wanted, atol=1e-3 if isinstance(estimator, SVR) else 1e-8)


def test_a_kernel_on_row_numbers_knows_what_the_kernel_knows():
    kernel = TabulatedKernel(Linear(-1.0)(X), Linear(-1.0))
    assert kernel.definiteness == "indefinite"
    assert kernel.symmetric
    assert kernel.bind(TRAIN) is kernel
    assert clone(kernel) is kernel
    np.testing.assert_array_equal(kernel(TRAIN, TEST), Linear(-1.0)(X)[np.ix_(TRAIN, TEST)])
    np.testing.assert_array_equal(kernel.diagonal(TEST), kernel.table[TEST, TEST])
    assert TabulatedKernel(np.eye(3)).definiteness == "unknown"


def test_a_random_state_is_not_shared_between_copies():
    state = np.random.RandomState(0)
    model = Perceptron(random_state=state)
    assert unfitted(model).random_state is not state
    assert unfitted(SVC(RBF())).kernel == RBF()


# ---------------------------------------------------------------- stand-ins
class Quick(BaseEstimator):
    """A model that answers by row numbers."""

    classes_ = np.array([0, 1])

    def predict(self, numbers):
        return 100 + np.asarray(numbers)


def test_a_stand_in_knows_the_rows_it_was_told_and_fits_for_all_else():
    fits = []

    def fit():
        fits.append(1)
        return KernelRidge("linear", lam=0.1).fit(X, NUMBERS)

    rows = X[TEST]
    model = StandIn(FoldAnswers(Quick()), [(rows, TEST)], fit)
    np.testing.assert_array_equal(model.predict(rows), 100 + TEST)
    assert isinstance(model, Quick)
    check_is_fitted(model)
    assert model.classes_.tolist() == [0, 1]
    assert model.predict.__name__ == "predict"
    assert not fits
    np.testing.assert_array_equal(model.predict(rows.copy()), fit().predict(rows))
    assert model.lam == 0.1
    assert repr(model) == repr(KernelRidge("linear", lam=0.1))
    assert len(fits) == 2  # one here, one in the stand-in
    with pytest.raises(AttributeError, match="decision_function"):
        model.decision_function  # noqa: B018


def test_which_scorers_see_only_answers():
    svc = SVC()
    for scorer in ("accuracy", "roc_auc", "neg_log_loss"):
        assert sees_only_answers(get_scorer(scorer), svc)
    assert not sees_only_answers(lambda model, rows, y: 0.0, svc)


class LooksAtRows(SVC):
    """A class of a user whose score is not made of answers alone."""

    def score(self, X, y, sample_weight=None):
        return float(np.mean(X))


class OtherDefault(SVC):
    """A class of a user that changes no method of the library."""

    def double(self):
        return 2.0 * self.C


@pytest.mark.parametrize(("kind", "shared"), [(LooksAtRows, False), (OtherDefault, True)])
def test_classes_of_users_are_shared_only_if_they_change_no_method(kind, shared):
    ours, theirs = both(kind(), {"C": [1.0, 2.0]}, X, CLASSES)
    assert (ours.route_ == "shared Gram matrix") == shared
    assert_same(ours, theirs)


# ---------------------------------------------------------------- quick scores
SCORES = ["accuracy", "r2", "neg_mean_squared_error", "neg_mean_absolute_error"]


@pytest.mark.parametrize("name", SCORES)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), weighted=st.booleans())
def test_quick_scores_are_those_of_scikit_learn(name, seed, n, weighted):
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.1, 2.0, n) if weighted else None
    y, answer = rng.integers(0, 3, (2, n)).astype(int if name == "accuracy" else float)
    scorer = get_scorer(name)
    found = quick_score(scorer, SVC())(y, answer, weight)
    wanted = scorer._sign * scorer._score_func(y, answer, sample_weight=weight)
    if name == "r2" and np.ptp(y) == 0:
        assert np.isnan(found)  # scikit-learn has its own rule there, and is asked
    else:
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)


def test_what_has_no_quick_score():
    assert quick_score(get_scorer("roc_auc"), SVC()) is None
    assert quick_score(make_scorer(accuracy_score, normalize=False), SVC()) is None
    assert quick_score(make_scorer(accuracy_score, greater_is_better=False), SVC()) is None
    assert quick_score(lambda *_: 0.0, SVC()) is None


def test_a_constant_target_is_scored_by_scikit_learns_rule():
    y = NUMBERS.copy()
    y[:12] = 1.0  # the first fold
    ours, theirs = both(KernelRidge(lam=1.0), {"lam": [0.1, 1.0]}, X, y)
    assert_same(ours, theirs)


# ---------------------------------------------------------------- routes
class Constants:
    """A route that answers with ready values: the sign of the first column, times the fold's."""

    def __init__(self):
        self.groups = []

    independent = False

    def accepts(self, estimator):
        return isinstance(estimator, SVC)

    def run(self, group):
        self.groups.append(group)
        values = group.X.data[:, :1]
        for fold in group.folds:
            for candidate in reversed(group.candidates):
                if group.limits.stopped():
                    return
                model = unfitted(group.estimator)
                model.classes_ = np.unique(group.y)
                answers = FoldAnswers(model, values * candidate.params["C"])
                yield Outcome(candidate.number, fold.number, answers, 0.5)


@pytest.fixture
def constants(monkeypatch):
    route = Constants()
    monkeypatch.setattr(paths, "ROUTES", [route, *paths.ROUTES])
    return route


def test_a_special_route_comes_first(constants):
    grid = {"C": [1.0, -1.0], "kernel__gamma": [0.1, "scale"]}
    search = KernelSearchCV(SVC(RBF()), grid, cv=3, refit=False, return_train_score=True)
    search.fit(X, CLASSES)
    right = np.mean((X[:, 0] > 0) == (CLASSES == "low"))
    means = search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(means, [right, right, 1 - right, 1 - right])
    assert search.cv_results_["mean_fit_time"].tolist() == [0.5] * 4
    fixed, *scaled = constants.groups
    assert [fold.number for fold in fixed.folds] == [0, 1, 2]
    assert [[fold.number for fold in group.folds] for group in scaled] == [[0], [1], [2]]
    assert fixed.train_scores
    assert [c.params for c in fixed.candidates] == [{"C": 1.0}, {"C": -1.0}]


def test_a_group_has_the_gram_matrix_of_its_kernel(constants, monkeypatch):
    seen = []
    original = constants.run

    def run(group):
        seen.append((group.kernel, group.K.copy(), group.K.flags.writeable, group.fit_params))
        return original(group)

    monkeypatch.setattr(constants, "run", run)
    weight = np.arange(1.0, 61.0)
    search = KernelSearchCV(SVC(RBF()), {"C": [1.0], "kernel__gamma": [0.1, "scale"]}, cv=3)
    search.set_params(refit=False).fit(X, CLASSES, sample_weight=weight)
    assert len(seen) == 4
    for kernel, K, writeable, fit_params in seen:
        assert K.dtype == np.float64
        assert not writeable
        np.testing.assert_allclose(K, kernel(X), atol=1e-6)
        assert all(params["sample_weight"].shape == (40,) for params in fit_params)


def test_large_kernel_values_are_not_squeezed_into_single_precision(constants):
    KernelSearchCV(SVC("linear"), {"C": [1.0]}, cv=3, refit=False).fit(1e15 * X, CLASSES)
    assert constants.groups[0].K.dtype == np.float64


# neighbours at equal distance and a perceptron's mistakes hang on the last bit of a kernel value
FROM_SCRATCH = [(KNN(kernel="rbf"), {"n_neighbors": [1, 3]}), (Perceptron(), {"averaged": [True]})]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("estimator", "grid"), FROM_SCRATCH, ids=str)
def test_what_hangs_on_the_last_bit_is_fitted_from_scratch(estimator, grid):
    rows, y = make_moons(60, noise=0.1, random_state=0)
    if isinstance(estimator, Perceptron):
        estimator.set_params(random_state=0, max_iter=20)
    ours, theirs = both(estimator, grid, np.vstack([rows] * 2), np.tile(y, 2))
    assert ours.route_.startswith("ordinary cross-validation: ")
    assert_same(ours, theirs, atol=0.0)


# ---------------------------------------------------------------- generators
def test_generators_in_turns():
    assert list(in_turns([iter("abc"), iter("x"), iter("12")])) == list("ax1b2c")


@pytest.mark.parametrize("parts", [[], [3], [2, 0, 5]])
def test_generators_in_threads(parts):
    found = in_threads(lambda n: iter(range(n)), parts)
    assert sorted(found) == sorted(i for n in parts for i in range(n))


def test_an_error_in_a_thread_stops_the_others():
    done = []

    def work(part):
        for i in range(200):
            time.sleep(0.001)
            if part == "bad" and i == 3:
                raise KeyboardInterrupt
            done.append(part)
            yield i

    with pytest.raises(KeyboardInterrupt):
        list(in_threads(work, ["good", "bad"]))
    assert done.count("good") < 200


def test_a_generator_that_is_left_stops_the_threads():
    done = []

    def work(part):
        for i in range(200):
            time.sleep(0.001)
            done.append(part)
            yield i

    generator = in_threads(work, ["a", "b"])
    assert len(list(islice(generator, 3))) == 3
    generator.close()
    assert len(done) < 400


# ---------------------------------------------------------------- scikit-learn's contract
SEARCHES = [
    KernelSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=2),
    KernelSearchCV(KernelRidge(lam=1.0), {"lam": [0.1, 1.0]}, cv=2),
]


@parametrize_with_checks(SEARCHES)
def test_scikit_learn_has_no_objection(estimator, check):
    check(estimator)


def test_a_search_is_an_estimator_like_others():
    inner = KernelSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=3)
    rows = table(40, 2)
    y = (rows[:, 0] > 0).astype(int)
    outer = GridSearchCV(inner, {"cv": [2, 3]}, cv=2).fit(rows, y)
    assert outer.best_estimator_.best_params_["C"] in (0.1, 1.0)


# ---------------------------------------------------------------- every estimator of the library
SCORED = [e for e in ESTIMATORS if "kernel" in e.get_params(deep=False) and hasattr(e, "score")]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", SCORED, ids=repr)
def test_every_kernel_estimator_gets_the_scores_of_fits_from_scratch(estimator):
    y = CLASSES if is_classifier(estimator) else NUMBERS
    ours, theirs = both(estimator, {"kernel": [RBF(0.3), RBF()]}, X, y, cv=3, refit=False)
    shared = ours.route_ == "shared Gram matrix"
    assert shared != isinstance(estimator, SCRATCH)
    tolerance = 10.0 * getattr(estimator, "tol", 1e-9)
    for name, values in theirs.cv_results_.items():
        if name.startswith("split"):
            np.testing.assert_allclose(ours.cv_results_[name], values, atol=tolerance)


def test_machines_by_cells_are_searched_as_they_are_fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    grid, machine = {"C": [0.3, 30.0]}, SVC(RBF(gamma=2.0), route="cells", cell_size=30)
    ours = KernelSearchCV(machine, grid, cv=3).fit(X, y).cv_results_["mean_test_score"]
    theirs = GridSearchCV(machine, grid, cv=3).fit(X, y).cv_results_["mean_test_score"]
    exact = GridSearchCV(SVC(RBF(gamma=2.0)), grid, cv=3).fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(ours, theirs)
    assert not np.array_equal(ours, exact)
