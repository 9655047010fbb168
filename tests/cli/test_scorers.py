"""The scorers of the command: scikit-learn's figures, in searches and for any labels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics
from sklearn.model_selection import cross_val_score

from mercer import SVC, KernelRidge, KernelSearchCV, LogisticRegression, Ridge
from mercer.cli.scorers import scorer_of
from tests.cases import table

X = table(150, 3)
TWO = np.where(X[:, 0] + 0.5 * X[:, 1] > 0.9, "ill", "well")  # the rarer one sorts first
MANY = np.digitize(X[:, 0], [-0.5, 0.5]) * 10
PRICES = np.exp(X[:, 0])
LABELS = np.unique(TWO)
MODEL = LogisticRegression().fit(X, TWO)
P = MODEL.predict_proba(X)[:, 0]  # of "ill"

TRUTHS = {
    "f1": lambda: metrics.f1_score(TWO, MODEL.predict(X), pos_label="ill"),
    "auc": lambda: metrics.roc_auc_score(TWO == "ill", P),
    "average_precision": lambda: metrics.average_precision_score(TWO == "ill", P),
    "log_loss": lambda: -metrics.log_loss(TWO == "ill", P),
    "brier": lambda: -metrics.brier_score_loss(TWO == "ill", P),
    "uar": lambda: metrics.balanced_accuracy_score(TWO, MODEL.predict(X)),
}


@pytest.mark.parametrize("key", TRUTHS)
def test_two_classes(key):
    scorer = metrics.get_scorer(scorer_of(key, LABELS, "ill"))
    assert scorer(MODEL, X, TWO) == pytest.approx(TRUTHS[key]())


@pytest.mark.parametrize("key", ["auc", "average_precision", "log_loss", "brier"])
def test_several_classes(key):
    model = LogisticRegression().fit(X, MANY)
    P, own = model.predict_proba(X), np.unique(MANY) == MANY[:, None]
    wanted = {
        "auc": metrics.roc_auc_score(own, P),
        "average_precision": metrics.average_precision_score(own, P),
        "log_loss": -metrics.log_loss(MANY, P),
        "brier": -np.mean(((P - own) ** 2).sum(axis=1)),
    }
    assert scorer_of(key, np.unique(MANY))(model, X, MANY) == pytest.approx(wanted[key], rel=1e-6)


@pytest.mark.parametrize("positive", [0, 20])
def test_one_of_several_classes(positive):
    model, labels = LogisticRegression().fit(X, MANY), np.unique(MANY)
    place = labels.tolist().index(positive)
    own, score = positive == MANY, model.predict_proba(X)[:, place]
    found = scorer_of("average_precision", labels, positive)(model, X, MANY)
    assert found == pytest.approx(metrics.average_precision_score(own, score))


@pytest.mark.parametrize("key", ["rmse", "mae", "median_error", "mape", "rmsle"])
def test_numbers(key):
    model = Ridge().fit(X, PRICES)
    answer = model.predict(X)
    wanted = {
        "rmse": metrics.root_mean_squared_error(PRICES, answer),
        "mae": metrics.mean_absolute_error(PRICES, answer),
        "median_error": metrics.median_absolute_error(PRICES, answer),
        "mape": metrics.mean_absolute_percentage_error(PRICES, answer),
        "rmsle": metrics.root_mean_squared_log_error(PRICES, np.maximum(answer, 0)),
    }
    scorer = metrics.get_scorer(scorer_of(key))
    assert scorer(model, X, PRICES) == pytest.approx(-wanted[key])


@pytest.mark.parametrize("key", ["f1", "auc", "average_precision", "uar"])
def test_a_search_with_one_gram_matrix_has_the_scores_of_fits_from_scratch(key):
    scoring = scorer_of(key, LABELS, "ill")
    grid = {"C": [0.5, 5.0]}
    search = KernelSearchCV(SVC(), grid, scoring=scoring, cv=3).fit(X, TWO)
    assert search.route_ == "shared Gram matrix"
    for place, C in enumerate(grid["C"]):
        folds = search.cv_results_
        found = [folds[f"split{k}_test_score"][place] for k in range(3)]
        wanted = cross_val_score(SVC(C=C), X, TWO, scoring=scoring, cv=3)
        assert found == pytest.approx(wanted.tolist(), abs=1e-6)


def test_errors_of_numbers_decide_a_search_too():
    search = KernelSearchCV(KernelRidge(), {"lam": [1e-3, 1e3]}, scoring=scorer_of("rmsle"), cv=3)
    assert search.fit(X, PRICES).best_params_ == {"lam": 1e-3}
    assert search.best_score_ < 0
