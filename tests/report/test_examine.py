"""What a study says of every kind of model: scores, proof, words, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    KNN,
    PCA,
    SVC,
    KernelKMeans,
    KernelRidge,
    Nystrom,
    OneClassSVM,
    Ridge,
)
from mercer.report.examine import examine
from tests.report.subjects import (
    CANCER,
    DIABETES,
    IRIS,
    MODELS,
    every_model,
    halves,
    is_plain,
    scaled,
    study_of,
)


# ---------------------------------------------------------------- what every study holds
@every_model
def test_a_study_is_plain(studies, name):
    assert is_plain(studies[name])


@every_model
def test_every_section_is_there_or_says_why_not(studies, name):
    study = studies[name]
    sections = {"tuning": study.surface, "learning curve": study.curve, "map": study.cloud}
    missing = {section for section, found in sections.items() if found is None}
    assert missing == set(study.left_out) & set(sections)
    assert all(study.left_out.values())
    assert study.importances or "columns" in study.left_out


@every_model
def test_values_lie_in_their_intervals(studies, name):
    scores = [e for s in studies[name].scores for e in (s.model, *s.rivals.values())]
    assert all(e.low <= e.value <= e.high for e in scores)
    assert all(i.drop.low <= i.drop.high for i in studies[name].importances)


@every_model
def test_the_model_is_compared_with_a_baseline_and_a_linear_model(studies, name):
    rivals = list(studies[name].scores[0].rivals)
    assert rivals[0].startswith(("always", "the mean"))
    is_linear = name in ("LogisticRegression", "Ridge")
    assert ("linear model" in rivals) != is_linear


@every_model
def test_the_proof_is_that_of_the_estimator(studies, name):
    model, _ = MODELS[name]
    last = model[-1] if hasattr(model, "steps") else model
    certificate = getattr(last, "certificate_", None)
    assert studies[name].proof.ok == (certificate is not None and certificate.ok)
    if certificate is None:
        assert "no proof" in studies[name].proof.sentence


@every_model
def test_the_map_shows_rows_of_the_test_set(studies, name):
    cloud, (_, (X, y)) = studies[name].cloud, halves(MODELS[name][1])
    assert cloud.points.shape == (len(cloud.label), 2)
    assert np.isfinite(cloud.points).all()
    numbers = [int(row["row"]) for row in cloud.rows]
    assert np.array_equal(cloud.label, y[numbers])
    first = next(column for column in cloud.rows[0] if column.startswith("x"))
    assert cloud.rows[0][first] == f"{X[numbers[0], int(first[1:])]:.4g}"


# ---------------------------------------------------------------- scores
def test_scores_are_those_of_scikit_learn(studies):
    (model, data), study = MODELS["SVC"], studies["SVC"]
    _, (X, y) = halves(data)
    predicted, value = model.predict(X), {s.name: s.model.value for s in study.scores}
    assert value["accuracy"] == pytest.approx(accuracy_score(y, predicted))
    assert value["UAR"] == pytest.approx(balanced_accuracy_score(y, predicted))
    assert value["F1"] == pytest.approx(f1_score(y, predicted))
    assert value["AUC"] == pytest.approx(roc_auc_score(y, model.decision_function(X)))


def test_the_baseline_is_the_majority_of_the_training_rows(studies):
    (_, y_train), (_, y) = halves(CANCER)
    label = np.bincount(y_train).argmax()
    rival = studies["SVC"].scores[0].rivals[f"always {label}"]
    assert rival.value == pytest.approx(np.mean(y == label))
    auc = next(s for s in studies["SVC"].scores if s.name == "AUC")
    assert auc.rivals[f"always {label}"].value == 0.5


def test_without_training_rows_the_baseline_says_where_it_comes_from():
    study = study_of(SVC(), IRIS, train=None)
    assert list(study.scores[0].rivals) == ["always 0 (of these rows)"]
    assert any("no training rows were given" in sentence for sentence in study.sentences)
    assert study.left_out["learning curve"] == "no training rows were given"


def test_given_rivals_replace_the_usual_ones():
    train, test = halves(IRIS)
    rival = KNN(1).fit(*train)
    study = study_of(SVC(), IRIS, rivals={"nearest neighbour": rival})
    found = study.scores[0].rivals
    assert list(found) == ["nearest neighbour"]
    assert found["nearest neighbour"].value == pytest.approx(rival.score(*test))


def test_no_mistake_in_n_rows_does_not_mean_that_there_are_none():
    """Clopper and Pearson: the probability of n rows without a mistake is 2.5 % at the low end."""
    X = np.repeat([[0.0], [10.0]], 20, axis=0) + np.arange(40)[:, None] / 100
    y = np.repeat(["a", "b"], 20)
    study = examine(SVC().fit(X, y), X, y)
    accuracy = study.scores[0].model
    assert (accuracy.value, accuracy.high) == (1.0, 1.0)
    assert accuracy.low**40 == pytest.approx(0.025)
    assert any("interval of AUC and F1 has no length" in sentence for sentence in study.sentences)


def test_the_accuracy_of_a_constant_has_the_interval_of_a_share():
    """Draws keep the share of each class, which is all that such a model's accuracy is."""
    y = np.repeat(["a", "b"], [13, 27])
    X = np.arange(40.0)[:, None]
    study = examine(DummyClassifier().fit(X, y), X, y)
    accuracy = next(score.model for score in study.scores if score.name == "accuracy")
    exact = binomtest(27, 40).proportion_ci(0.95, "exact")
    assert (accuracy.low, accuracy.value, accuracy.high) == pytest.approx(
        (exact.low, 27 / 40, exact.high)
    )
    grouped = examine(DummyClassifier().fit(X, y), X, y, row_groups=np.arange(40) // 2)
    wider = next(score.model for score in grouped.scores if score.name == "accuracy")
    assert wider.low < accuracy.low
    assert wider.high > accuracy.high


def test_classes_that_the_model_has_never_seen_are_mistakes():
    X, y = IRIS
    study = examine(SVC().fit(X[:100], y[:100]), X, y)
    assert study.scores[0].model.value <= 2 / 3
    assert len(study.evaluation.labels) == 3
    assert "AUC" in study.left_out


def test_a_constant_target_has_no_r2():
    X, y = DIABETES
    study = examine(KernelRidge().fit(X, y), X[:50], np.ones(50))
    assert [s.name for s in study.scores] == [
        *("RMSE", "MAE", "median error", "MAPE"),
    ]
    assert "constant" in study.left_out["R²"]
    assert "same target" in study.left_out["columns"]


def test_a_single_row_can_be_judged():
    X, y = IRIS
    study = examine(SVC().fit(X, y), X[:1], y[:1])
    assert study.scores[0].model.value == 1.0
    assert study.scores[0].model.low == pytest.approx(0.025)
    assert {"map", "columns"} <= set(study.left_out)


# ---------------------------------------------------------------- words, command, environment
def test_words_of_the_caller_come_first():
    study = study_of(SVC(), IRIS, words=["read from iris.csv"], title="Iris", command="mercer fit")
    assert (study.sentences[0], study.title, study.command) == (
        "read from iris.csv",
        "Iris",
        "mercer fit",
    )


def test_the_command_makes_the_model_again():
    study = study_of(SVC(C=7.0, kernel="linear"), IRIS)
    line = next(line for line in study.command.splitlines() if line.startswith("model = "))
    assert eval(line.removeprefix("model = ")).get_params()["C"] == 7.0
    assert "train=(X_train, y_train)" in study.command


def test_the_environment_names_versions_and_the_machine(studies):
    found = studies["SVC"].environment
    assert found["NumPy"] == np.__version__
    assert {"mercer", "Python", "SciPy", "scikit-learn", "Numba", "processor", "date"} <= set(found)


def test_the_same_seed_gives_the_same_study():
    first, second = (study_of(scaled(SVC()), CANCER, random_state=5) for _ in range(2))
    assert first.scores == second.scores
    assert first.importances == second.importances
    assert np.array_equal(first.curve.test, second.curve.test)


# ---------------------------------------------------------------- what is refused
X_IRIS, Y_IRIS = IRIS

REFUSED = {
    "a transformer": (lambda: PCA().fit(X_IRIS), X_IRIS, Y_IRIS, {}, TypeError, "got PCA"),
    "a clusterer": (
        lambda: KernelKMeans(3, random_state=0).fit(X_IRIS),
        *(X_IRIS, Y_IRIS, {}, TypeError, "got KernelKMeans"),
    ),
    "an outlier detector": (
        lambda: OneClassSVM().fit(X_IRIS),
        *(X_IRIS, Y_IRIS, {}, TypeError, "classifier or regressor"),
    ),
    "other lengths": (
        lambda: SVC().fit(X_IRIS, Y_IRIS),
        *(X_IRIS, Y_IRIS[:9], {}, ValueError, "got 9 for 150 rows"),
    ),
    "text for numbers": (
        lambda: KernelRidge().fit(X_IRIS, Y_IRIS),
        *(X_IRIS, np.full(150, "a"), {}, TypeError, "y must be numbers"),
    ),
    "text for numbered classes": (
        lambda: SVC().fit(X_IRIS, Y_IRIS),
        *(X_IRIS, np.full(150, "a"), {}, TypeError, "classes like those of the model"),
    ),
    "no target at all": (
        lambda: SVC().fit(X_IRIS, Y_IRIS),
        *(X_IRIS, np.full(150, None), {}, ValueError, "y has no target"),
    ),
    "train that is no pair": (
        lambda: SVC().fit(X_IRIS, Y_IRIS),
        *(X_IRIS, Y_IRIS, {"train": X_IRIS}, TypeError, r"train must be a pair"),
    ),
    "no time": (
        lambda: SVC().fit(X_IRIS, Y_IRIS),
        *(X_IRIS, Y_IRIS, {"time_limit": 0}, ValueError, "time_limit must be"),
    ),
    "a search without a refit": (
        lambda: GridSearchCV(SVC(), {"C": [1, 2]}, cv=2, refit=False).fit(X_IRIS, Y_IRIS),
        *(X_IRIS, Y_IRIS, {}, ValueError, "refit=True"),
    ),
    "a rival of another kind": (
        lambda: SVC().fit(X_IRIS, Y_IRIS),
        *(X_IRIS, Y_IRIS, {"rivals": {"r": Ridge().fit(X_IRIS, Y_IRIS)}}, ValueError, "rivals"),
    ),
    "a table of three dimensions": (
        lambda: SVC().fit(X_IRIS, Y_IRIS),
        *(X_IRIS.reshape(150, 2, 2), Y_IRIS, {}, ValueError, "X must be a frame"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_says_why(case):
    make, X, y, settings, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        examine(make(), X, y, **settings)


class OnlyClasses(DummyClassifier):
    """A classifier without probabilities."""

    predict_proba = property(doc="not there")


def test_a_model_that_says_nothing_but_classes():
    study = study_of(OnlyClasses(strategy="most_frequent"), IRIS)
    assert "neither probabilities" in study.left_out["AUC"]
    assert [table.heading for table in study.cases] == ["wrong"]


def test_features_of_a_kernel_are_compared_with_a_linear_model_of_the_columns():
    train, (X, y) = halves(DIABETES)
    model = make_pipeline(StandardScaler(), Nystrom(50, random_state=0), Ridge(1.0)).fit(*train)
    study = examine(model, X, y, train=train)
    linear = make_pipeline(StandardScaler(), StandardScaler(), Ridge()).fit(*train)
    r2 = study.scores[0]
    assert r2.rivals["linear model"].value == pytest.approx(linear.score(X, y))
    assert r2.leads["linear model"].value == pytest.approx(model.score(X, y) - linear.score(X, y))


def test_shares_are_marked_as_such(studies):
    assert [score.unit for score in studies["SVC"].scores] == ["share", "share", "", "share"]
    units = {score.name: score.unit for score in studies["KernelRidge"].scores}
    assert [name for name, unit in units.items() if unit == "share"] == ["MAPE"]


def test_what_was_done_is_told_in_parts(studies):
    assert list(studies["SVC"].words) == ["The model", "The columns", "The test"]
    assert list(studies["KernelRidge"].words) == ["The model", "The test"]
    assert studies["KernelRidge"].words["The model"][-1].count("RBF") == 1
