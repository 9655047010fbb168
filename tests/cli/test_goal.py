"""What a model is judged by: metrics, rare classes, thresholds, scales and ranges of targets."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import skew

pl = pytest.importorskip("polars")
pytest.importorskip("typer")

import mercer as library  # noqa: E402
from mercer._limits import Limits  # noqa: E402
from mercer.assess import evaluate  # noqa: E402
from mercer.cli.answers import best_threshold, better_scale, largest_f1, skewness  # noqa: E402
from mercer.cli.goal import OPTIONS, Wishes, goal_of  # noqa: E402
from mercer.cli.learn import Learner  # noqa: E402
from mercer.cli.problem import TableProblem  # noqa: E402
from mercer.cli.recipes import EFFORTS  # noqa: E402
from mercer.cli.screen import Screen  # noqa: E402
from mercer.datasets import load_file  # noqa: E402
from mercer.kernels import RBF  # noqa: E402
from mercer.linear import LogisticRegression, Ridge  # noqa: E402
from mercer.machines import KNN, LinearSVC  # noqa: E402
from mercer.meta import TargetRegressor, ThresholdClassifier, innermost  # noqa: E402
from mercer.report.examine import examine  # noqa: E402
from tests.cases import table  # noqa: E402

NO_LIMITS = Limits.of()


def problem(y, task="classify"):
    y = np.asarray(y)
    return TableProblem(np.zeros((len(y), 1)), y, "it", task, np.arange(len(y)))


RARE = problem(["fraud"] * 5 + ["fine"] * 95)
EVEN = problem(["a"] * 40 + ["b"] * 60)
THREE = problem([0] * 20 + [1] * 30 + [2] * 10)
PRICES = problem(np.exp(np.linspace(0, 5, 60)), "regress")


# ---------------------------------------------------------------- which metric
def test_a_rare_class_is_judged_by_itself_and_the_reason_is_said():
    goal = goal_of(Wishes(), RARE)
    assert goal.metric.key == "average_precision"
    assert (goal.positive, goal.rare, goal.threshold) == ("fraud", True, "auto")
    words = goal.words.replace("\u00a0", " ")
    assert "only 5.0 % of the rows are 'fraud'" in words
    assert "always 'fine' gets 95.0 % accuracy" in words


def test_even_classes_are_judged_by_accuracy():
    goal = goal_of(Wishes(), EVEN)
    assert (goal.metric.key, goal.positive, goal.rare, goal.threshold) == (
        *("accuracy", "b", False),
        None,
    )
    assert "F1 are of 'b'" in goal.words
    assert "rarer" not in goal.words
    assert goal_of(Wishes(), THREE).positive is None
    assert goal_of(Wishes(), THREE).words == ""


def test_a_positive_class_can_be_named():
    goal = goal_of(Wishes(positive="b"), EVEN)
    assert goal.positive == "b"
    assert goal_of(Wishes(positive="2", metric="f1"), THREE).positive == 2


@pytest.mark.parametrize(
    ("wishes", "rows", "message"),
    [
        (Wishes(metric="acuracy"), EVEN, "did you mean 'accuracy'"),
        (Wishes(metric="rmse"), EVEN, "--metric rmse is not for --task classify"),
        (Wishes(metric="auc"), PRICES, "--metric auc is not for --task regress"),
        (Wishes(metric="f1"), THREE, "name it by --positive"),
        (Wishes(positive="c"), EVEN, "has no value 'c'; there are 'a' or 'b'"),
        (Wishes(threshold="0.3"), THREE, "--threshold is for two classes"),
        (Wishes(threshold="2"), EVEN, "'2' is not a probability"),
        (Wishes(threshold="often"), EVEN, "'often' is not a probability"),
        (Wishes(class_weight="equal"), EVEN, "--class-weight"),
        (Wishes(threshold="0.5"), PRICES, "--threshold is for targets that are classes"),
        (Wishes(extrapolate=True), EVEN, "--extrapolate is for targets that are numbers"),
        (Wishes(metric="mape"), problem([0.0, 1.0, 2.5], "regress"), "needs targets above 0"),
        (Wishes(metric="rmsle"), problem([-1.0, 2.5], "regress"), "needs targets of 0 or more"),
        (Wishes(target_transform="log"), problem([-1.0, 2.5], "regress"), "needs targets of 0"),
    ],
)
def test_what_makes_no_sense_is_said(wishes, rows, message):
    with pytest.raises(Exception, match=message) as caught:
        goal_of(wishes, rows)
    assert caught.value.code == 2


@pytest.mark.parametrize(
    ("task", "name"), [(task, name) for task, names in OPTIONS.items() for name in names]
)
def test_every_metric_has_a_scorer_and_words(task, name):
    goal = goal_of(Wishes(metric=name), EVEN if task == "classify" else PRICES)
    assert goal.metric.key == OPTIONS[task][name]
    assert goal.told(-0.25 if goal.metric.falling else 0.25).count("25") == 1
    assert goal.scoring is None or callable(goal.scoring)


# ---------------------------------------------------------------- thresholds
@pytest.mark.parametrize("seed", range(5))
def test_no_threshold_has_a_larger_f1(seed):
    rng = np.random.default_rng(seed)
    positive = rng.random(200) < 0.15
    p = np.round(1 / (1 + np.exp(2 - 2 * positive - rng.normal(size=200))), 2)
    y, at = positive.astype(int), np.linspace(0, 1, 201)
    tried = evaluate(y, y, p).thresholds([largest_f1(p, positive), *at])
    assert tried.f1[0] == pytest.approx(np.nanmax(tried.f1))


def test_thresholds_come_from_rows_that_were_learned_from():
    X = table(400, 2)
    y = np.where(X[:, 0] + 0.7 * table(400, 1, seed=9)[:, 0] > 1.9, "fraud", "fine")
    learn = problem(y)
    goal = goal_of(Wishes(), learn)
    found = best_threshold(LogisticRegression(), X, learn, goal, 0, NO_LIMITS)
    assert 0.05 < found.value < 0.5  # one half is too high where few rows are positive
    assert "5 folds of 400 rows" in found.words
    assert found == best_threshold(LogisticRegression(), X, learn, goal, 0, NO_LIMITS)


def test_rows_of_a_group_do_not_help_to_choose_each_others_threshold():
    """Noise, each row ten times: only folds that keep to groups see that nothing is known."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(40, 2)), 10, axis=0), np.repeat(np.arange(40) % 8 == 0, 10)
    alone, together = problem(y), replace(problem(y), groups=np.repeat(np.arange(40), 10))
    goal = goal_of(Wishes(threshold="auto", positive="True"), alone)
    found = [best_threshold(KNN(1), X, rows, goal, 0, NO_LIMITS) for rows in (alone, together)]
    assert "F1, 100" in found[0].words
    assert "F1, 100" not in found[1].words


def test_too_few_rows_of_a_class_choose_no_threshold():
    goal = goal_of(Wishes(), RARE)
    y = np.array(["fine"] * 30 + ["fraud"])
    assert (
        best_threshold(LogisticRegression(), table(31, 2), problem(y), goal, 0, NO_LIMITS) is None
    )


def test_out_of_time_nothing_is_chosen():
    goal = goal_of(Wishes(), RARE)
    over = Limits.of(time_limit=1e-9)
    with pytest.raises(TimeoutError):
        best_threshold(LogisticRegression(), table(100, 2), RARE, goal, 0, over)


# ---------------------------------------------------------------- scales
def test_a_logarithm_is_taken_where_cross_validation_prefers_it():
    X = table(300, 2)
    prices = np.exp(2.0 * X[:, 0] + 1.0)
    given = problem(prices, "regress")
    goal = goal_of(Wishes(metric="mape"), given)
    scale, words = better_scale(Ridge(), X, given, goal, 0, NO_LIMITS)
    assert scale == "log"
    assert "MAPE" in words


def test_a_skewed_target_that_is_linear_in_its_columns_is_left_as_it_is():
    y = np.random.default_rng(0).lognormal(size=300)
    assert skewness(y) > 1
    given, columns = problem(y, "regress"), np.column_stack([table(300, 1), y])
    goal = goal_of(Wishes(), given)
    assert better_scale(Ridge(1e-6), columns, given, goal, 0, NO_LIMITS)[0] == "none"


def test_skewness_is_the_third_moment():
    y = np.random.default_rng(0).lognormal(size=50)
    assert skewness(y) == pytest.approx(skew(y))
    assert skewness(np.ones(5)) == 0.0


# ---------------------------------------------------------------- runs
@pytest.fixture(scope="module")
def payments():
    """A table with a rare class that two columns explain."""
    rng = np.random.default_rng(0)
    amount, hour = rng.lognormal(3, 1, 300), rng.integers(0, 24, 300)
    odds = 2.5 * (np.log(amount) - 4.7) + 1.5 * (hour < 6)
    fraud = rng.random(300) < 1 / (1 + np.exp(-2 * odds))
    return pl.DataFrame(
        {"amount": amount, "hour": hour, "fraud": np.where(fraud, "yes", "no"), "sum": amount * 2}
    )


@pytest.fixture
def file(payments, tmp_path):
    payments.write_csv(tmp_path / "payments.csv")
    return tmp_path / "payments.csv"


def learned(payments, target, model, **wishes):
    """Return what the command learns, without its report."""
    y = payments[target].to_numpy()
    task = "classify" if target == "fraud" else "regress"
    given = TableProblem(payments["amount", "hour"], y, target, task, np.arange(len(y)))
    how = {"kernel": RBF(), "effort": EFFORTS["quick"], "limits": NO_LIMITS, "seed": 0}
    goal = goal_of(Wishes(**wishes), given)
    return Learner(given, **how, screen=Screen(quiet=True), goal=goal).learn(model)


def test_a_rare_class_leads_the_scores_and_the_report(mercer, file, payments):
    truth = payments["fraud"].to_numpy() == "yes"
    assert 0.02 < truth.mean() < 0.1
    words = ("-t", "fraud", "--ignore", "sum", "--model", "logistic", "--effort", "quick")
    ended = mercer("fit", file, *words, "--json")
    assert ended.code == 0, ended.err
    result = json.loads(ended.out)
    assert (result["metric"], result["positive"]) == ("average_precision", "yes")
    names = list(result["scores"]["model"])
    assert names[0] == "average precision"
    assert names[-1] == "accuracy"
    page = (file.parent / "payments.report.html").read_text(encoding="utf-8")
    for told in ("Precision and recall", "Where to draw the line", "where always 'no' gets"):
        assert told in page.replace("&#x27;", "'")
    model, rows = library.load("payments.mercer"), load_file(file).X
    assert model[-1].threshold == result["threshold"] == result["best_threshold"]
    said = model.predict_proba(rows)[:, 1]  # of "yes"
    assert mercer("predict", "payments.mercer", file, "--out", "answers.csv", "-q").code == 0
    answers = pl.read_csv("answers.csv")["prediction"].to_numpy()
    np.testing.assert_array_equal(answers == "yes", said >= result["threshold"])
    judged = json.loads(mercer("evaluate", "payments.mercer", file, "--json").out)["scores"]
    assert judged["positive"] == "yes"
    wanted = evaluate(truth, truth, said).average_precision
    assert judged["average_precision"] == pytest.approx(wanted)


def test_the_saved_model_calls_rows_from_the_threshold_on(payments, tmp_path):
    found = learned(payments, "fraud", "logistic", threshold="0.2", class_weight="balanced")
    model = library.load(library.save(found.model, tmp_path / "m.mercer"))
    assert isinstance(model[-1], ThresholdClassifier)
    assert model[-1].estimator_.class_weight == "balanced"
    said = model.predict_proba(payments)[:, 1] >= 0.2
    np.testing.assert_array_equal(model.predict(payments) == "yes", said)
    np.testing.assert_array_equal(model.predict(payments), found.model.predict(payments))


def test_one_half_leaves_the_model_as_it_is(payments):
    found = learned(payments, "fraud", "logistic", threshold="0.5")
    assert isinstance(found.model[-1], LogisticRegression)
    assert "--threshold auto uses it" in found.threshold.words  # said, and not used


def test_a_machine_without_probabilities_has_no_threshold(payments):
    found = learned(payments, "fraud", "linear-svm")
    assert found.threshold is None
    assert isinstance(found.model[-1], LinearSVC)


def test_predictions_stay_within_what_was_seen(payments):
    far = payments.with_columns(amount=pl.lit(1e6))
    kept = learned(payments, "sum", "linear", target_transform="none")
    assert isinstance(kept.model[-1], TargetRegressor)
    assert kept.model.predict(far).max() == payments["sum"].max()
    assert any("predictions stay between" in told for told in kept.words)
    free = learned(payments, "sum", "linear", target_transform="none", extrapolate=True)
    assert free.model.predict(far).max() > payments["sum"].max()
    assert not any("predictions stay between" in told for told in free.words)


def test_a_logarithm_can_be_asked_for_and_comes_back_in_units(payments, tmp_path):
    found = learned(payments, "sum", "linear", target_transform="log", metric="mape")
    model = library.load(library.save(found.model, tmp_path / "m.mercer"))
    assert model[-1].target_transform == "log"
    assert innermost(model[-1]).certificate_.ok
    answers = model.predict(payments)
    np.testing.assert_array_equal(answers, found.model.predict(payments))
    assert evaluate(payments["sum"].to_numpy(), answers).mape < 0.5


def test_the_proof_of_a_model_inside_others_is_shown(payments):
    found = learned(payments, "sum", "ridge", target_transform="log")
    rows, y = payments["amount", "hour"], payments["sum"].to_numpy()
    study = examine(found.model, rows, y, rivals={}, metric="mae")
    assert study.proof.ok
    assert study.scores[0].name == "MAE"
    assert "KernelRidge" in " ".join(study.sentences)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "knn", "--class-weight", "balanced"), "'knn' cannot weigh classes"),
        (("--model", "ridge", "--metric", "log-loss"), "--metric log-loss needs probabilities"),
        (("--model", "linear-svm", "--threshold", "0.2"), "--threshold needs probabilities"),
        (("--metric", "acc"), "--metric"),
    ],
)
def test_a_model_that_cannot_do_it_is_refused_in_one_line(mercer, file, words, message):
    ended = mercer("fit", file, "-t", "fraud", *words)
    assert ended.code == 2
    assert message in ended.err
    assert len(ended.err.strip().splitlines()) == 1
