"""A model that was saved and loaded is the same model."""

from __future__ import annotations

import warnings
from threading import Lock
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from sklearn import (
    compose,
    decomposition,
    dummy,
    feature_selection,
    impute,
    preprocessing,
)
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline

import mercer
from mercer import MDS, SVC, KernelMachine, KernelRidge, KernelSearchCV, TableEncoder, tune
from mercer.bayes import Gaussian
from mercer.kernels import RBF, FromFeatureMap, FromFunction, Linear, RankOne, VectorKernel
from mercer.losses import Huber
from mercer.norms import Lp, Mahalanobis, Norm, Quadratic
from tests.cases import ESTIMATORS, KERNELS
from tests.io.helpers import round_trip, same
from tests.test_estimators import NEW, X, Y, fitted, outcome, targets

FRAME, NEW_FRAME = (pd.DataFrame(rows, columns=["a", "b", "c"]) for rows in (X, NEW))
NOT_STORED = {"_held"}  # the rows of Ridge, of which it computes an error if it is asked for
FROM_FUNCTIONS = (FromFunction, FromFeatureMap, RankOne)


def has_function(kernel):
    return any(isinstance(leaf, FROM_FUNCTIONS) for leaf in kernel.leaves())


# ---------------------------------------------------------------- estimators
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_an_estimator_comes_back_as_it_was(estimator, tmp_path):
    model = fitted(estimator, FRAME, Y)
    again = round_trip(model, tmp_path)
    np.testing.assert_array_equal(outcome(again, NEW_FRAME), outcome(model, NEW_FRAME))
    assert same(vars(again), {k: v for k, v in vars(model).items() if k not in NOT_STORED})
    assert str(again.certificate_) == str(model.certificate_)
    assert repr(again.get_params()) == repr(model.get_params())
    refitted = clone(again).fit(FRAME, targets(model, Y))
    np.testing.assert_array_equal(outcome(refitted, NEW_FRAME), outcome(model, NEW_FRAME))


@pytest.mark.parametrize("estimator", [KernelRidge(), SVC(), MDS(transform="logarithm")], ids=repr)
def test_an_estimator_that_was_not_fitted_comes_back(estimator, tmp_path):
    assert same(vars(round_trip(estimator, tmp_path)), vars(estimator))


def test_a_generator_goes_on_where_it_stood(tmp_path):
    for random in (np.random.RandomState(3), np.random.default_rng(3)):
        random.normal(size=7)
        model = mercer.RandomFourier(random_state=random)
        again = round_trip(model, tmp_path).random_state
        assert type(again) is type(random)
        assert again.normal() == random.normal()


# ---------------------------------------------------------------- kernels, losses, norms
@pytest.mark.parametrize("kernel", [k for k in KERNELS.values() if not has_function(k)], ids=repr)
def test_a_kernel_comes_back_as_it_was(kernel, tmp_path):
    again = round_trip(kernel.bind(X), tmp_path)
    assert again == kernel.bind(X)
    np.testing.assert_array_equal(again(NEW, X), kernel.bind(X)(NEW, X))


@pytest.mark.parametrize("kernel", [k for k in KERNELS.values() if has_function(k)], ids=repr)
def test_a_kernel_from_a_function_is_refused_with_advice(kernel, tmp_path):
    model = KernelRidge(kernel)
    with pytest.raises(mercer.io.ModelFileError, match=r"(?s)KernelRidge\.kernel.*precomputed"):
        mercer.save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_the_error_says_where_the_function_is(tmp_path):
    model = make_pipeline(KernelRidge(2.0 * RBF() + FromFunction(lambda a, b: 1.0)))
    where = r"Pipeline\.steps\[0\]\[1\]\.kernel\.right\.function cannot be saved"
    with pytest.raises(mercer.io.ModelFileError, match=where):
        mercer.save(model, tmp_path / "m")


def test_a_sum_of_very_many_kernels_is_not_too_deep(tmp_path):
    kernel = Linear()
    for _ in range(1500):
        kernel = kernel + Linear()  # a path of 1500 steps, more than Python's stack
    again = round_trip(kernel, tmp_path)
    for _ in range(1500):
        again = again.left
    assert again == Linear()


def test_a_kernel_that_doubles_itself_stays_small(tmp_path):
    kernel = Linear()
    for _ in range(40):
        kernel = kernel + kernel  # a tree of 2⁴⁰ leaves, but only 41 objects
    again = round_trip(kernel, tmp_path)
    assert again.left is again.right


@pytest.mark.parametrize("norm", [Lp(1.5), Quadratic(np.diag([4.0, 1.0])), Mahalanobis(np.eye(2))])
def test_a_norm_comes_back_without_what_it_computed(norm, tmp_path):
    norm.dual()  # fills a cached property
    again = round_trip(norm, tmp_path)
    assert again([1.0, 2.0]) == norm([1.0, 2.0])
    assert "_dual" not in vars(again)


def test_losses_and_densities_come_back(tmp_path):
    model = fitted(KernelMachine(Huber(0.3)), X, Y)
    np.testing.assert_array_equal(round_trip(model, tmp_path).predict(NEW), model.predict(NEW))
    density = Gaussian([0.0, 1.0], [[2.0, 1.0], [1.0, 4.0]])
    assert round_trip(density, tmp_path).log_density([[1.0, 1.0]]) == density.log_density(
        [[1.0, 1.0]]
    )


# ---------------------------------------------------------------- proofs
def test_certificates_statuses_and_solutions_come_back(tmp_path):
    proof = fitted(SVC(), X, Y).certificate_
    again = round_trip(proof, tmp_path)
    assert again == proof
    assert isinstance(again.parts, MappingProxyType)
    assert type(vars(again)["parts"]) is dict
    assert again.gap == proof.gap
    for status in mercer.Status:
        assert round_trip(status, tmp_path) is status
    solution = mercer.Solution(np.arange(3.0), mercer.Status.STALLED, proof, stats={"steps": 2})
    assert same(vars(round_trip(solution, tmp_path)), vars(solution))


# ---------------------------------------------------------------- scikit-learn around it
def frame():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "size": rng.normal(size=60),
            "colour": rng.choice(["red", "green", "blue"], 60),
            "text": rng.choice(["a kernel trick", "margins of a machine", "some words"], 60),
        }
    )
    rows.loc[3, "size"] = np.nan
    return rows, np.where(rng.random(60) + (rows["colour"] == "red") > 0.7, "yes", "no")


def encoder():
    numbers = make_pipeline(
        impute.SimpleImputer(add_indicator=True), preprocessing.StandardScaler()
    )
    levels = preprocessing.OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2)
    return compose.ColumnTransformer(
        [
            ("numbers", numbers, ["size"]),
            ("levels", levels, compose.make_column_selector("colour")),
            ("words", TfidfVectorizer(), "text"),
        ],
        sparse_threshold=0.0,
    )


def test_a_pipeline_on_a_frame_comes_back(tmp_path):
    rows, y = frame()
    best = feature_selection.SelectKBest(feature_selection.f_classif, k=4)
    model = make_pipeline(encoder(), best, SVC()).fit(rows, y)
    again = round_trip(model, tmp_path)
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    assert list(again.feature_names_in_) == list(rows.columns)
    names = model[:-1].get_feature_names_out()
    np.testing.assert_array_equal(again[:-1].get_feature_names_out(), names)
    np.testing.assert_array_equal(again.fit(rows, y).predict(rows), model.predict(rows))


def test_an_encoder_of_tables_comes_back(tmp_path):
    rows, y = frame()
    model = make_pipeline(TableEncoder(), SVC()).fit(rows, y)
    again = round_trip(model, tmp_path)
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    assert again[0].describe() == model[0].describe()


SEARCHES = {
    "one score": {"cv": 3},
    "several": {"scoring": ["accuracy", "f1_macro"], "refit": "accuracy", "cv": StratifiedKFold(3)},
    "a scorer": {"scoring": make_scorer(fbeta_score, beta=2.0, pos_label="yes"), "cv": KFold(3)},
}


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES.keys())
@pytest.mark.parametrize("search", [KernelSearchCV, GridSearchCV])
def test_a_search_comes_back(search, options, tmp_path):
    rows, y = frame()
    model = Pipeline([("encode", encoder()), ("svc", SVC())])
    grid = {"svc__C": [0.5], "svc__kernel": ["rbf", "linear"]}
    found = search(model, grid, **options).fit(rows, y)
    again = round_trip(found, tmp_path)
    np.testing.assert_array_equal(again.predict(rows), found.predict(rows))
    assert again.best_params_ == found.best_params_
    assert again.score(rows, y) == found.score(rows, y)
    assert same(again.cv_results_, found.cv_results_)


def test_a_tuned_machine_comes_back(tmp_path):
    found = tune(SVC(), X, targets(SVC(), Y))
    again = round_trip(found, tmp_path)
    np.testing.assert_array_equal(again.predict(NEW), found.predict(NEW))
    assert same(again.cv_results_, found.cv_results_)


TRANSFORMERS = [
    FeatureUnion([("a", preprocessing.StandardScaler()), ("b", "passthrough")]),
    decomposition.PCA(2, random_state=0),
    decomposition.TruncatedSVD(2, random_state=0),
    feature_selection.SelectPercentile(feature_selection.mutual_info_regression),
    feature_selection.VarianceThreshold(),
    impute.MissingIndicator(features="all"),
    impute.SimpleImputer(strategy="most_frequent"),
    preprocessing.FunctionTransformer(),
    preprocessing.FunctionTransformer(np.square),
    preprocessing.KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"),
    preprocessing.MaxAbsScaler(),
    preprocessing.MinMaxScaler(),
    preprocessing.Normalizer(),
    preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    preprocessing.PolynomialFeatures(3),
    preprocessing.PowerTransformer(),
    preprocessing.QuantileTransformer(n_quantiles=10),
    preprocessing.RobustScaler(),
    preprocessing.StandardScaler(),
]


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda t: type(t).__name__)
def test_a_transformer_of_scikit_learn_comes_back(transformer, tmp_path):
    model = transformer.fit(X, Y)
    result, again = model.transform(NEW), round_trip(model, tmp_path).transform(NEW)
    assert same(result, again)


@pytest.mark.parametrize("vectorizer", [CountVectorizer(), HashingVectorizer(), TfidfVectorizer()])
def test_a_vectorizer_comes_back(vectorizer, tmp_path):
    texts = ["a kernel trick", "the margin of a machine", "kernel machine"]
    model = vectorizer.fit(texts)
    assert same(round_trip(model, tmp_path).transform(texts[:2]), model.transform(texts[:2]))


@pytest.mark.parametrize("model", [dummy.DummyClassifier(), dummy.DummyRegressor()], ids=repr)
def test_a_dummy_comes_back(model, tmp_path):
    model.fit(X, np.arange(len(X)) % 2)
    np.testing.assert_array_equal(round_trip(model, tmp_path).predict(NEW), model.predict(NEW))


@pytest.mark.parametrize("coder", [preprocessing.LabelEncoder(), preprocessing.LabelBinarizer()])
def test_a_coder_of_labels_comes_back(coder, tmp_path):
    labels = ["a", "b", "c", "a"]
    assert same(round_trip(coder.fit(labels), tmp_path).transform(labels), coder.transform(labels))


def test_a_pipeline_with_a_cache_of_pickles_is_refused(tmp_path):
    model = make_pipeline(KernelRidge(), memory=str(tmp_path / "cache"))
    with pytest.raises(mercer.io.ModelFileError, match=r"Pipeline\.memory must be None"):
        mercer.save(model, tmp_path / "m")


def test_another_version_of_scikit_learn_is_said(tmp_path, monkeypatch):
    model = make_pipeline(preprocessing.StandardScaler(), KernelRidge()).fit(X, Y)
    path = mercer.save(model, tmp_path / "m")
    monkeypatch.setattr("sklearn.__version__", "0.1.2")
    with pytest.warns(UserWarning, match=r"StandardScaler|Pipeline"):
        mercer.load(path)
    with warnings.catch_warnings():  # the classes of mercer do not depend on it
        warnings.simplefilter("error")
        round_trip(KernelRidge(), tmp_path)


# ---------------------------------------------------------------- classes of the user's own
class Cauchy(VectorKernel):
    """k(x, y) = 1 / (1 + ‖x − y‖²)."""

    statistic = "squared_distance"

    def __init__(self, scale: float = 1.0):
        self.scale = scale


def test_a_class_of_the_users_own_must_be_handed_over(tmp_path):
    path = mercer.save(KernelRidge(2.0 * Cauchy(3.0)), tmp_path / "m")
    with pytest.raises(
        mercer.io.ModelFileError, match=r"(?s)test_models\.Cauchy.*trusted=\[Cauchy\]"
    ):
        mercer.load(path)
    kernel = mercer.load(path, trusted=[Cauchy]).kernel
    assert type(kernel.right) is Cauchy
    assert kernel.right.scale == 3.0


class Remembering(KernelRidge):
    """Leaves a lock at home when it is stored."""

    def __getstate__(self):
        return {k: v for k, v in super().__getstate__().items() if k != "lock_"}


def test_an_object_may_say_what_it_stores(tmp_path):
    model = Remembering(lam=0.5)
    model.lock_ = Lock()
    again = round_trip(model, tmp_path, trusted=[Remembering])
    assert again.lam == 0.5
    assert not hasattr(again, "lock_")


def test_an_error_of_rows_left_out_is_stored_if_it_was_asked_for(tmp_path):
    model = fitted(mercer.Ridge(), X, Y)
    with pytest.raises(AttributeError, match="read loo_error_ first"):
        _ = round_trip(model, tmp_path).loo_error_
    wanted = model.loo_error_
    np.testing.assert_array_equal(round_trip(model, tmp_path).loo_error_, wanted)


class Sup(Norm):
    """max |x_i|, scaled; its one attribute has a slot."""

    __slots__ = ("scale",)

    def __init__(self, scale: float):
        self.scale = scale


def test_attributes_in_slots_come_back(tmp_path):
    norm = Sup(2.0)
    norm.note = "in the dict"
    again = round_trip(norm, tmp_path, trusted=[Sup])
    assert (again.scale, again.note) == (2.0, "in the dict")


@pytest.mark.parametrize("trusted", ["tests.Cauchy", ["tests.io.test_models.Cauchy"], Cauchy])
def test_trust_is_given_to_classes_not_to_names(trusted, tmp_path):
    path = mercer.save(KernelRidge(), tmp_path / "m")
    with pytest.raises(TypeError, match="trusted must be a list of classes"):
        mercer.load(path, trusted=trusted)


def test_what_is_not_plain_is_refused_with_its_place(tmp_path):
    model = KernelRidge()
    model.note_ = {"a": [1, {"b": memoryview(b"x")}]}
    where = r"KernelRidge\.note_\['a'\]\[1\]\['b'\] cannot be saved: it is a builtins\.memoryview"
    with pytest.raises(mercer.io.ModelFileError, match=where):
        mercer.save(model, tmp_path / "m")


def test_a_circle_is_refused(tmp_path):
    model = KernelRidge()
    model.self_ = [model]
    with pytest.raises(mercer.io.ModelFileError, match=r"KernelRidge\.self_\[0\] refers back"):
        mercer.save(model, tmp_path / "m")
